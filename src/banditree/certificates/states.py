"""The certificate of a plan with states: (line, state, score) carried forward round by round, exactly."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from banditree.certificates.certify import Certificate
from banditree.certificates.outcomes import Claim
from banditree.certificates.state_margins import within_margins
from banditree.certificates.tallies import certify_tallies
from banditree.errors import InvalidInput, TooLong, invalid
from banditree.plans.counts import Counting
from banditree.plans.plan import Plan
from banditree.plans.state_machine import StateMachine, state_machine_of
from banditree.plans.tally_machine import tallies_of
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.optimal_states import Optimal, missed, optimal, stationary_gain
from banditree.tasks.states import StateCollection

if TYPE_CHECKING:
    from banditree.certificates.state_propagation import Carried, Walk

TINY = 1e-18  # Chances of single scores below this are dropped, and counted as an error.
WIDE = 200  # About how many of the scores of a line hold anyone.
MOST_WORK = 1e11  # More moves of scores than this, some minutes, are not computed.
AT_ESTIMATES = "This is at the estimated chances; what their margins allow may be worse."
MOST_WORST = 3e9  # More steps for the worst case within the margins than this, about half a minute, are not computed.
MOST_PAIRS = 1e8  # Chances of pairs of next states: 800 MB.
NO_BOUND = 0.5  # A bound above this share of the horizon says nothing.
SAME = 1e-9  # An end or watch line that loses more than this per round in the long run has a wrong rule.


def certify_states(plan: Plan, collection: StateCollection, horizon: int | None = None) -> Certificate:
    """What a plan with states loses in every task against its optimal policy from the same start, exactly.

    wrong_arm: the chance of being, when the horizon ends, at an end or watch line whose rule earns less in the long run
    than the best; wrong_task: at one that treats as another task. regret_at: the loss of the rounds at each row, by
    what each option gives up against the optimal policy with the rounds that are left.
    """
    H = plan.horizon if horizon is None else horizon
    if H < 1:
        raise invalid("horizon", "at least 1", H)
    check_about(plan, collection)
    if tallies_of(plan) is not None:
        return _at_estimates(certify_tallies(plan, collection, H), collection)
    machine = state_machine_of(plan)
    best = optimal(collection, H)
    costs = missed(collection, best, H)
    walks = [_walk(machine, collection, costs[:, i], i, H) for i in range(collection.n_tasks)]
    work = float(H) * collection.n_tasks * machine.n_states**2 * float(np.minimum(walks[0].size, WIDE).sum())
    if work > MOST_WORK:
        raise TooLong(
            f"A certificate over {H:,} rounds of this plan would take minutes. Give a shorter horizon, or caps."
        )
    from banditree.certificates.state_propagation import carry_states

    found = [_nothing(machine.n_rows, H) for _ in walks]
    for walk, out in zip(walks, found, strict=True):
        carry_states(walk, collection.start, H, TINY, out)
    rest = machine.kind != Counting.SCORE
    M, N = collection.n_tasks, machine.n_rows
    wrong = np.array(
        [[rest[n] and _loses(collection, best, i, machine.options[n]) for n in range(N)] for i in range(M)]
    )
    other = rest & (machine.task != np.arange(collection.n_tasks)[:, None])
    at_end, spent = np.array([out.at_end for out in found]), np.array([out.spent for out in found])
    error = np.array([out.error[0] for out in found])
    found_all = Certificate(
        tasks=collection.tasks,
        horizon=H,
        claim=Claim.EXACT,
        regret=np.array([out.regret.sum() for out in found]) + H * error,
        pulls=spent[:, ~rest].sum(axis=1),
        wrong_arm=(at_end * wrong).sum(axis=1),
        wrong_task=(at_end * other).sum(axis=1),
        undecided=at_end[:, ~rest].sum(axis=1),
        at_end=at_end,
        entered=np.array([out.entered for out in found]),
        exits=np.array([np.stack([out.below, out.above], axis=1) for out in found]),
        error=error,
        regret_at=np.array([out.regret for out in found]),
        shares=collection.shares,
    )
    steps = float(H) * collection.n_tasks * machine.n_states**2 * 2 * float(walks[0].size.sum())
    pairs = float(H) * collection.n_tasks * (machine.n_states**2 * collection.n_arms) ** 2
    if not collection.is_estimated or max(steps, pairs) > MOST_WORST or pairs / H > MOST_PAIRS:
        return _at_estimates(found_all, collection)
    most = within_margins(machine, collection, best, walks, H)
    worst = int(most.argmax())
    said = f"at most {most[worst]:,.1f} is lost in the worst kind ({collection.tasks[worst]}), which may be loose"
    if most[worst] > NO_BOUND * H:
        said = "nothing useful can be proven: they are too wide"
    sentence = f"These are the losses at the estimated chances. At any chances within the margins {said}."
    return replace(found_all, within_margins=most, remarks=(*found_all.remarks, sentence))


def _at_estimates(found: Certificate, collection: StateCollection) -> Certificate:
    return replace(found, remarks=(*found.remarks, AT_ESTIMATES)) if collection.is_estimated else found


def check_about(plan: Plan, collection: StateCollection) -> None:
    """Refuse a plan that is not about this collection."""
    for word, mine, theirs in (
        ("arms", plan.arms, collection.arms),
        ("tasks", plan.tasks, collection.tasks),
        ("states", plan.states or collection.states, collection.states),
    ):
        if mine != theirs:
            raise InvalidInput(
                f"The plan is about the {word} {', '.join(mine[:5])}, the collection about {', '.join(theirs[:5])}. "
                "Certify a plan with the collection it was made for."
            )


def _loses(collection: StateCollection, best: Optimal, task: int, options: IntArray) -> bool:
    return bool(stationary_gain(collection, task, options) < best.gain[task] - SAME)


def _nothing(n_rows: int, horizon: int) -> "Carried":
    from banditree.certificates.state_propagation import Carried

    regret, spent, entered, below, above, at_end = np.zeros((6, n_rows))
    return Carried(regret, spent, entered, below, above, at_end, np.zeros(1), np.zeros(horizon + 1))


def _walk(machine: StateMachine, collection: StateCollection, costs: FloatArray, task: int, horizon: int) -> "Walk":
    """What a round does in one task; costs (H, S, K)."""
    from banditree.certificates.state_propagation import Walk

    N, every = machine.n_rows, np.arange(machine.n_states)
    size = np.array([_places(machine, n, horizon) for n in range(N)], np.int64)
    cost = np.stack([costs[:, every, machine.options[n]] for n in range(N)], axis=1)
    return Walk(
        machine.kind,
        machine.low,
        machine.high,
        machine.floor,
        np.cumsum(size) - size,
        size,
        machine.outcomes,
        machine.moves,
        collection.rates[task][every, machine.options],
        collection.moves[task][every, machine.options],
        np.ascontiguousarray(cost),
    )


def _places(machine: StateMachine, n: int, horizon: int) -> int:
    """How many scores a row has: those between its levels, up to the cap, or as high as a score can get."""
    kind = machine.kind[n]
    if kind == Counting.EXPLOIT:
        return 1
    below = int(machine.floor[n]) - 1
    if kind == Counting.SCORE:
        return below + int(machine.ceil[n])
    if machine.cap[n]:
        return below + 1 + int(machine.cap[n])
    most = int((machine.outcomes[n].max(axis=1) + machine.moves[n].max(axis=1)).max())
    return below + 1 + most * horizon
