"""The certificate of a plan that treats as the leader: (tallies, state) carried forward, exactly; where there are too
many tallies, cases are simulated, and it says so."""

import numpy as np

from banditree.certificates.certify import Certificate
from banditree.certificates.outcomes import Claim
from banditree.plans.plan import Plan
from banditree.plans.tally_machine import TallyMachine, tally_machine_of
from banditree.tasks.arrays import FloatArray
from banditree.tasks.optimal_states import missed, optimal, stationary_gain
from banditree.tasks.states import StateCollection

MOST = 20_000  # This many different tallies are followed at once.
MOST_EXACT = 2e8  # More moves of tallies than this, some seconds, are not computed.
RUNS = 10_000  # Cases of each task that are simulated where tallies are too many.
World = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
SAME = 1e-9  # A leader whose rule loses more than this per round in the long run is wrong.


def certify_tallies(plan: Plan, collection: StateCollection, horizon: int, *, runs: int = RUNS) -> Certificate:
    """What a plan that treats as the leader loses in every task against its optimal policy.

    Exact where all tallies that can come up are few. Otherwise an estimate from `runs` simulated cases of each task,
    whose standard error is in the reasons.
    """
    machine, M = tally_machine_of(plan), collection.n_tasks
    best = optimal(collection, horizon)
    costs = missed(collection, best, horizon)
    worlds = worlds_of(collection, costs)
    found = _carried(machine, worlds)
    exact, reasons = found is not None, tuple[str, ...]()
    if found is None:
        drawn = simulated(machine, worlds, runs)
        lost, error = drawn[..., 0].mean(axis=1), drawn[..., 0].std(axis=1, ddof=1) / np.sqrt(runs)
        leads = np.array([np.bincount(one.astype(int), minlength=M) / runs for one in drawn[..., 1]])
        worst = int(lost.argmax())
        reasons = (
            f"not computed but simulated, with {runs:,} cases of each kind, as tallies are too many to follow: "
            f"{lost[worst]:,.3f} ± {1.96 * error[worst]:.3f} in the worst kind (95%)",
        )
    else:
        lost, leads = found
    none = np.zeros((M, 1))
    return Certificate(
        tasks=collection.tasks,
        horizon=horizon,
        claim=Claim.EXACT if exact else Claim.ESTIMATE,
        regret=lost,
        pulls=np.zeros(M),
        wrong_arm=(leads * _wrong(machine, collection, best.gain)).sum(axis=1),
        wrong_task=(leads * ~np.eye(M, dtype=bool)).sum(axis=1),
        undecided=np.zeros(M),
        at_end=none + 1.0,
        entered=none + 1.0,
        exits=np.zeros((M, 1, 2)),
        error=np.zeros(M),
        regret_at=lost[:, None],
        remarks=tuple(f"These losses are {reason}." for reason in reasons),
        reasons=reasons,
        shares=collection.shares,
    )


def worlds_of(collection: StateCollection, costs: FloatArray) -> list[World]:
    """(start, rates, chances of next states, costs) of every task; costs (H, M, S, K)."""
    M, own = collection.n_tasks, np.ascontiguousarray
    return [(collection.start, collection.rates[i], collection.moves[i], own(costs[:, i])) for i in range(M)]


def _carried(machine: TallyMachine, worlds: list[World]) -> tuple[FloatArray, FloatArray] | None:
    """(losses (M,), chances (M, M) that a task leads in the end); None where tallies are too many."""
    from banditree.certificates.tally_propagation import Course, carry_tallies, nothing_held

    (M, S), most = machine.options.shape, int(machine.most[0])
    horizon = len(worlds[0][3])
    tallies = float(most + 1) ** M - float(most) ** M
    if tallies > MOST or tallies * horizon * M * 2 * S**2 > MOST_EXACT * M:
        return None
    out = Course(np.zeros((M, 1)), np.zeros((M, M)))
    for i, world in enumerate(worlds):
        rooms = [nothing_held(int(tallies), M, S) for _ in range(2)]
        own = Course(out.lost[i], out.leads[i])
        carry_tallies(machine.options, machine.outcomes, machine.moves, most, *world, rooms[0], rooms[1], own)
    return out.lost[:, 0], out.leads


def simulated(machine: TallyMachine, worlds: list[World], runs: int, seed: int = 0) -> FloatArray:
    """What each simulated case loses, and the task that leads in the end (M, R, 2)."""
    from banditree.certificates.tally_propagation import play_tallies

    drawn = np.zeros((len(worlds), runs, 2))
    for i, world in enumerate(worlds):
        rng = np.random.default_rng([seed, i])
        play_tallies(machine.options, machine.outcomes, machine.moves, int(machine.most[0]), *world, rng, drawn[i])
    return drawn


def _wrong(machine: TallyMachine, collection: StateCollection, gain: FloatArray) -> FloatArray:
    """Whether treating a task as another (M, M) loses in the long run."""
    M = collection.n_tasks
    gains = [[stationary_gain(collection, i, machine.options[j]) for j in range(M)] for i in range(M)]
    return np.asarray(np.array(gains) < gain[:, None] - SAME, float)
