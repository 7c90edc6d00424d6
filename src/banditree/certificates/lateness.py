"""What it costs that outcomes come late, or in batches, if nobody waits for them.

A case goes on with the option of the line that the outcomes known so far lead to. When more of them come in, they are
counted in the order of their rounds, each of them if the line where the case then stands gives its option; once a line
is left for one with another option, what is still under way of the old one is recorded and counts for nothing. (That is
what `Session` does with `ask(wait=False)`.)

So what is under way is always of one option, and late outcomes are an exact delay: with outcomes d rounds late, a line
with another option counts nothing for its first d rounds; in batches of b, nothing until the batch is complete.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditree.certificates.certify import Certificate, certify, thompson_losses
from banditree.certificates.outcomes import Claim, Outcomes, box_outcomes
from banditree.certificates.to_the_horizon import boxes_under
from banditree.errors import InvalidInput, invalid
from banditree.plans.counts import Counting
from banditree.plans.gives import HAND_OVER, NONE
from banditree.plans.machine import Machine, machine_of
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection

if TYPE_CHECKING:
    from scipy import sparse

    from banditree.certificates.propagation import Boxes

MOST_WORK = 4e9  # Scores moved by one round, over all tasks: about 10 s; with more work there is only a bound.
# What a claim becomes where there is only a bound.
BOUNDS = {Claim.UP_TO_THOMPSON: Claim.BOUND_UP_TO_THOMPSON, Claim.ESTIMATE: Claim.BOUND_WITH_ESTIMATE}
AT_REST = 1e-12  # A smaller chance of not being at rest for good is counted as the dearest option.


@dataclass(frozen=True, eq=False)
class Lateness:
    """What a plan loses in each task (M,) when every outcome comes `late` rounds late, or in batches of `batch` rounds.

    claim: what `regret` is. at_estimates: the rates of the collection are estimates, and were taken at their word.
    at_once: (M,), the loss where every outcome is known before the next round, which is also the
    loss of whoever waits. moves: (M,), how often a case moves on to another option, on average. within: (M,), half the
    95% interval of the regret where it was simulated.
    """

    late: int
    batch: int
    regret: FloatArray
    at_once: FloatArray
    moves: FloatArray
    claim: Claim
    at_estimates: bool
    within: FloatArray | None = None


def with_late_outcomes(
    plan: Plan,
    collection: Collection,
    *,
    late: int = 0,
    batch: int = 1,
    horizon: int | None = None,
    most_work: float = MOST_WORK,
) -> Lateness:
    """The loss with outcomes that come `late` rounds late, or in batches of `batch` rounds, if nobody waits.

    Exact, but for what Thompson sampling loses where it chooses; an upper bound where that takes more than `most_work`.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> plan = build_tree(two, horizon=1000)
    >>> with_late_outcomes(plan, two, late=10).regret.round(1).tolist()  # 28.8 at once, and 10 times 0.3
    [0.0, 31.8]
    """
    check_delay(late, batch)
    if plan.theta is not None:
        raise InvalidInput("There is no exact loss of plans that look at contexts. See simulation.late.")
    sure = replace(collection, radius=np.zeros(())) if collection.is_estimated else collection
    certificate = certify(plan, sure, horizon, must_rest=False)
    if certificate.exits is None:
        raise InvalidInput(f"There is no exact loss with late outcomes: {'; '.join(certificate.reasons)}.")
    outcomes = box_outcomes(plan, sure)
    delay = Delay(late, batch)
    regret = _exact(plan, sure, outcomes, certificate.horizon, delay, most_work)
    if regret is not None and certificate.by_odds is not None:
        regret = regret + certificate.by_odds
    moves = moves_of(machine_of(plan), certificate)
    return Lateness(
        late,
        batch,
        regret=_bound(certificate, outcomes, moves, delay) if regret is None else regret,
        at_once=certificate.regret,
        moves=moves.sum(axis=1),
        claim=certificate.claim if regret is not None else BOUNDS.get(certificate.claim, Claim.UPPER_BOUND),
        at_estimates=collection.is_estimated,
    )


class Delay(NamedTuple):
    """Outcomes come `late` rounds late, or in batches of `batch` rounds."""

    late: int
    batch: int


def check_delay(late: int, batch: int) -> None:
    """Refuse what cannot be: outcomes before their round, and two questions at once."""
    if late < 0:
        raise invalid("late", "at least 0", late)
    if batch < 1:
        raise invalid("batch", "at least 1", batch)
    if late and batch > 1:
        raise invalid("late and batch", "asked about one at a time", (late, batch))


def _in_force(machine: Machine) -> IntArray:
    """The option (N,) that each box gives; negative where what was learned or a person chooses."""
    fallback = HAND_OVER if machine.fallback == NONE else machine.fallback
    return np.asarray(np.where(machine.arm == HAND_OVER, fallback, machine.arm))


def moves_of(machine: Machine, certificate: Certificate) -> FloatArray:
    """How often (M, N) a case leaves each box for another option."""
    assert certificate.exits is not None
    return np.asarray((certificate.exits * machine.turns).sum(axis=2))


def _bound(certificate: Certificate, outcomes: Outcomes, moves: FloatArray, delay: Delay) -> FloatArray:
    """At most this is lost (M,): every move comes later by all rounds that may be under way.

    They go to the old option, and what is pushed past the end of the horizon by them is not taken off.
    """
    overrun = max(delay.late, delay.batch - 1)
    most = certificate.horizon * outcomes.cost.max(axis=1)
    return np.asarray(np.minimum(certificate.regret + overrun * (moves * outcomes.cost).sum(axis=1), most))


def _exact(
    plan: Plan, collection: Collection, outcomes: Outcomes, horizon: int, delay: Delay, most_work: float
) -> FloatArray | None:
    """The loss (M,), or None where it takes too much work."""
    machine, losses, found, work = machine_of(plan), thompson_losses(plan, collection, horizon), [], 0.0
    for task in range(collection.n_tasks):
        chain = _chain(machine, boxes_under(machine, outcomes, task, horizon), delay)
        work += chain.move.nnz * float(horizon)
        if work > most_work:
            return None
        found.append(_follow(chain, horizon, delay, losses[task]))
    return np.array(found)


class Chain(NamedTuple):
    """Where a case may stand under one task: the scores of every box, and the ways to another option.

    move: (S, S), what one more round does, transposed. release: the same at the end of a batch. cost: (S,), of the
    option that is given. box: (S,). rest: the states that are never left. leak: (S,), the chance of leaving them after
    all. start: where a case begins.
    """

    move: "sparse.csr_array"
    release: "sparse.csr_array | None"
    cost: FloatArray
    box: IntArray
    rest: IntArray
    leak: FloatArray
    start: int


def _chain(machine: Machine, boxes: "Boxes", delay: Delay) -> Chain:
    from scipy.sparse import csr_array

    n, kind = machine.n_rows, machine.kind
    watched = kind == Counting.WATCH
    walks = watched | (kind == Counting.SCORE)
    inside = np.where(walks, boxes.floor - 1 + boxes.height, np.where(kind == Counting.FIXED, boxes.pulls, 1))
    first = np.cumsum(inside + watched) - (inside + watched)  # a watch line has one more state: to stay for good
    entry = first + np.where(walks, boxes.floor - 1, 0)
    ways = _Ways(machine, delay, entry, int((inside + watched).sum()))
    rows, to, chance = [], [], []

    def add(source: IntArray, target: IntArray | int, p: FloatArray | float) -> None:
        rows.append(source)
        to.append(np.broadcast_to(target, source.shape))
        chance.append(np.broadcast_to(p, source.shape))

    for box in range(n):
        scores = first[box] + np.arange(inside[box])
        if kind[box] == Counting.EXPLOIT:
            add(scores, scores, 1.0)
        elif kind[box] == Counting.FIXED:
            add(scores[:-1], scores[1:], 1.0)
            for side, next_box in enumerate((machine.low[box], machine.high[box])):
                add(scores[-1:], ways.to(box, int(next_box)), boxes.chance[box, side])
        else:
            _add_walk(machine, boxes, box, scores, ways, add)
    stays = first[watched] + inside[watched]
    add(stays, stays, 1.0)
    for source, target in ways.steps:
        add(np.array([source]), target, 1.0)
    size = ways.size
    move = csr_array((np.concatenate(chance), (np.concatenate(to), np.concatenate(rows))), shape=(size, size))
    leak = np.zeros(size)
    leak[stays] = boxes.leak[watched]
    owner = np.concatenate([np.repeat(np.arange(n), inside + watched), np.array(ways.box, np.int64)])
    rest = np.concatenate([first[kind == Counting.EXPLOIT], stays])
    return Chain(move, ways.release(), boxes.cost[owner], owner, rest, leak, int(entry[0]))


def _add_walk(machine: Machine, boxes: "Boxes", box: int, scores: IntArray, ways: "_Ways", add: object) -> None:
    """One round of a score: within the box, out of it below or above, or to where a watched one stays for good."""
    assert callable(add)
    n, places = len(scores), np.arange(len(scores))
    capped = 0 < boxes.cap[box] < boxes.height[box]
    for points, p in zip(boxes.points[box].tolist(), boxes.chance[box].tolist(), strict=True):
        if p == 0.0:
            continue
        after = np.minimum(places + points, n - 1) if capped else places + points
        below, above = after < 0, after >= n
        add(scores[~below & ~above], scores[after[~below & ~above]], p)
        if below.any():
            add(scores[below], ways.to(box, int(machine.low[box])), p)
        if above.any():
            stays = machine.kind[box] == Counting.WATCH
            add(scores[above], scores[-1] + 1 if stays else ways.to(box, int(machine.high[box])), p)


class _Ways:
    """The states in which a case has been led to another option and counts nothing yet.

    Outcomes that are late: one state for each round, at the cost of the new option, as what is given is what was due so
    many rounds before (see `_follow`). Batches: one state for each old option, left when the batch is complete.
    """

    def __init__(self, machine: Machine, delay: Delay, entry: IntArray, size: int) -> None:
        self.arm, self.delay, self.entry, self.size = _in_force(machine), delay, entry, size
        self.box: list[int] = []
        self.steps: list[tuple[int, int]] = []
        self.known: dict[tuple[int, int], int] = {}

    def to(self, box: int, following: int) -> int:
        """The state that leaving `box` for the box `following` leads to."""
        late, batch = self.delay
        same = self.arm[box] == self.arm[following] and self.arm[following] >= 0
        if same or (late == 0 and batch == 1):
            return int(self.entry[following])
        key = (0 if late else int(self.arm[box]), following)
        if key not in self.known:
            self.known[key] = self.size
            states = list(range(self.size, self.size + max(late, 1)))
            self.box += [following if late else box] * len(states)
            self.size += len(states)
            ends = [*states[1:], int(self.entry[following]) if late else states[-1]]
            self.steps += list(zip(states, ends, strict=True))
        return self.known[key]

    def release(self) -> "sparse.csr_array | None":
        """What the end of a batch does, transposed."""
        from scipy.sparse import csr_array

        if self.delay.batch == 1:
            return None
        to = np.arange(self.size)
        for (_, following), state in self.known.items():
            to[state] = self.entry[following]
        return csr_array((np.ones(self.size), (to, np.arange(self.size))), shape=(self.size, self.size))


def _follow(chain: Chain, horizon: int, delay: Delay, losses: FloatArray) -> float:
    """The loss up to the horizon.

    What is given in a round is what the outcomes of all rounds but the last `late` lead to. So the first `late` rounds
    cost as much as the first of all, and the others what the states of a case cost that is as many rounds younger.
    """
    late, batch = min(delay.late, horizon), delay.batch
    here = np.zeros(len(chain.cost))
    here[chain.start] = 1.0
    regret, rounds, t = late * float(chain.cost[chain.start]), horizon - late, 0
    while t < rounds and 1.0 - here[chain.rest].sum() > AT_REST:
        regret += float(here @ chain.cost)
        here = np.asarray(chain.move @ here)
        t += 1
        if chain.release is not None and t % batch == 0:
            here = np.asarray(chain.release @ here)
    dearest = float(chain.cost.max())
    regret += (rounds - t) * float(here @ chain.cost) + AT_REST * dearest * (rounds - t)
    return regret + float(here @ chain.leak) * dearest * horizon + float(here @ losses[chain.box])
