"""The plan that remembers: it treats as the leader by tallies for all kinds."""

from dataclasses import replace

import numpy as np

from banditree.certificates.tallies import simulated, worlds_of
from banditree.plans.gives import SheetRow, TreatAsLeader, TreatByState
from banditree.plans.line import Line
from banditree.plans.plan import Origin, Plan, make_plan
from banditree.plans.tally_machine import tally_machine_of
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.optimal_states import missed, optimal
from banditree.tasks.states import StateCollection

# Nats of evidence per point, and the most that a tally counts, from the coarsest: short numbers are easier to add up.
SCALES = ((0.5, 20), (0.35, 40), (0.25, 40), (0.125, 60))
AS_GOOD = 1.01  # A coarser sheet is taken that loses at most this much more than the best.
RUNS = 1000  # Cases of each task by which sheets are compared.
MOST_NATS = 4.2  # No outcome and no move counts more against a kind: odds of 67 to 1.
IMPOSSIBLE = 1e-9  # A smaller chance counts as this one.


def build_leader(collection: StateCollection, horizon: int) -> tuple[FloatArray, Plan]:
    """(what it loses in each task (M,), the plan that treats as the kind against which least has been seen).

    How fine the points are is chosen by simulated cases, and the losses are theirs.

    >>> from banditree.tasks.state_instances import rand_states
    >>> lost, plan = build_leader(rand_states(2, 2, 2), 100)
    >>> lost.shape, plan.states, len(plan.lines)
    ((2,), ('state 1', 'state 2'), 1)
    """
    best = optimal(collection, horizon)
    costs = missed(collection, best, horizon)
    worlds = worlds_of(collection, costs)
    lines = [Line(leader(collection, best.options, unit, most)) for unit, most in SCALES]
    plans = [make_plan([line], collection, horizon) for line in lines]
    lost = [simulated(tally_machine_of(plan), worlds, RUNS)[..., 0].mean(axis=1) for plan in plans]
    most = AS_GOOD * min(one.max() for one in lost)
    losses, chosen = next((own, plan) for own, plan in zip(lost, plans, strict=True) if own.max() <= most)
    return losses, replace(chosen, origin=Origin("remember"))


def leader(collection: StateCollection, options: IntArray, unit: float, most: int) -> TreatAsLeader:
    """The tally sheet with points of `unit` nats, over all that the best options (M, S) may lead to."""
    states, arms = collection.states, collection.arms
    rules = tuple(
        TreatByState(task, states, tuple(arms[k] for k in own))
        for task, own in zip(collection.tasks, options, strict=True)
    )
    rows = []
    for s, state in enumerate(states):
        for k in sorted(set(options[:, s].tolist())):
            rates = collection.rates[:, s, k]
            failure, success = _against(1 - rates, unit), _against(rates, unit)
            moves = tuple(_against(collection.moves[:, s, k, to], unit) for to in range(len(states)))
            rows.append(SheetRow(state, arms[k], failure, success, moves))
    return TreatAsLeader(rules, tuple(rows), most)


def _against(chances: FloatArray, unit: float) -> tuple[int, ...]:
    """The points against each task (M,) where this is seen: none against the one that expects it most."""
    logs = np.log(np.maximum(chances, IMPOSSIBLE))
    if chances.max() < IMPOSSIBLE:
        return (0,) * len(chances)
    points = np.clip(np.floor((logs.max() - logs) / unit + 0.5), 0, round(MOST_NATS / unit))
    return tuple(int(point) for point in points)
