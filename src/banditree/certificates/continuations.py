"""Which lines matter: what a plan loses from each of its boxes on, beside the best that anyone could do from there.

Someone who arrives at a box knows that much: the weight of a task is its share times how often its cases get there.
Whoever goes on from there with these weights loses at least what `theory.limits` proves; the plan loses what it loses.
The difference is the most that the box, and all that follows it, loses beyond the best possible.
"""

from dataclasses import dataclass, replace

import numpy as np

from banditree.certificates.certify import certify
from banditree.certificates.outcomes import Claim
from banditree.certificates.watched_scores import unfold
from banditree.plans.plan import NONE, BoxKind, Form, Plan
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.theory.limits import continuations_of


@dataclass(frozen=True)
class Continuation:
    """From `box` on the plan loses `loses` per case; the best possible loses at least `at_least`. Cases come from the
    least favourable distribution over tasks, `reached` of them get there (a case that comes back counts again)."""

    box: int
    reached: float
    loses: float
    at_least: float

    @property
    def at_most_more(self) -> float:
        """How much more than the best possible the box and all that follows it lose at most."""
        return max(0.0, self.loses - self.at_least)


def continuations(
    plan: Plan, collection: Collection, horizon: int | None = None, *, effort: int
) -> list[Continuation] | None:
    """How much more than the best possible every test of the plan, with all that follows it, loses at most.

    None where the plan's own numbers are bounds. effort: additions, as in `theory.limits.limit`.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> [round(part.at_most_more, 1) for part in continuations(build_tree(two, 1000), two, effort=10_000_000)]
    [15.4]
    """
    written_out = unfold(plan)
    H = plan.horizon if horizon is None else horizon
    whole = certify(plan, collection, H)
    if whole.claim is not Claim.EXACT or whole.entered is None:
        return None
    best = continuations_of(collection, H, effort)
    early = certify(plan, collection, H - best.depth, must_rest=False) if best.depth < H else None
    shares = np.zeros(collection.n_tasks)
    shares[list(best.tasks)] = best.prior
    found = []
    for box in np.flatnonzero(plan.kind != BoxKind.EXPLOIT).tolist():
        weights = shares * whole.entered[:, box]
        known = shares * early.entered[:, box] if early is not None and early.entered is not None else 0 * shares
        loses = float(weights @ _from_box(written_out, box, collection, H))
        found.append(Continuation(box, float(weights.sum()), loses, best.at_least(known)))
    return found


def _from_box(plan: Plan, box: int, collection: Collection, horizon: int) -> FloatArray:
    """What the plan loses in each task over `horizon` rounds, begun at `box`."""
    return certify(begun_at(plan, box), collection, horizon, must_rest=False).regret


def begun_at(plan: Plan, box: int) -> Plan:
    """The plan that begins at `box`: that box first, then those it leads to, in their order."""
    if box == 0:
        return plan
    reached, waiting = {box}, [box]
    while waiting:
        new = [child for child in plan.links[waiting.pop()] if child not in reached]
        reached.update(new)
        waiting += new
    order = np.array([box, *sorted(reached - {box})])
    number = np.full(plan.n_boxes + 1, NONE)
    number[order] = np.arange(len(order))
    some = {name: getattr(plan, name)[order] for name in BY_BOX}
    several = {name: getattr(plan, name)[order] for name in MAYBE_BY_BOX if getattr(plan, name) is not None}
    links = {side: number[getattr(plan, side)[order]] for side in ("low", "high")}
    return replace(plan, form=Form.BOXES, **some, **several, **links)


BY_BOX = ("kind", "arm", "pulls", "threshold", "cuts", "points", "floor", "ceil", "cap", "task")
MAYBE_BY_BOX = ("among", "rates", "survivors", "grading")
