"""Which lines matter: what a plan loses from each of its boxes on, beside the best that anyone could do from there.

Someone who arrives at a box knows that much: the weight of a task is its share times how often its cases get there.
Whoever goes on from there with these weights loses at least what `theory.limits` proves; the plan loses what it loses.
The difference is the most that the box, and all that follows it, loses beyond the best possible.
"""

from dataclasses import dataclass

import numpy as np

from banditree.certificates.certify import certify
from banditree.certificates.outcomes import Claim, Outcomes, box_outcomes
from banditree.certificates.to_the_horizon import begun_at, carry
from banditree.plans.links import reached
from banditree.plans.machine import Machine, machine_of
from banditree.plans.plan import Plan, by_place
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
    machine, outcomes = machine_of(plan), box_outcomes(plan, collection)
    H = plan.horizon if horizon is None else horizon
    whole = certify(plan, collection, H)
    if whole.claim is not Claim.EXACT or whole.entered is None:
        return None
    best = continuations_of(collection, H, effort)
    early = certify(plan, collection, H - best.depth, must_rest=False) if best.depth < H else None
    shares = np.zeros(collection.n_tasks)
    shares[list(best.tasks)] = best.prior
    found, entered = [], by_place(plan, whole.entered)
    soon = None if early is None or early.entered is None else by_place(plan, early.entered)
    for box in plan.tests:
        weights = shares * entered[:, box]
        known = shares * soon[:, box] if soon is not None else 0 * shares
        loses = float(weights @ [carried.regret for carried in carry(*_begun_at(machine, outcomes, box), H)])
        found.append(Continuation(box, float(weights.sum()), loses, best.at_least(known)))
    return found


def _begun_at(machine: Machine, outcomes: Outcomes, row: int) -> tuple[Machine, Outcomes]:
    """The machine that begins at a row, and what its rows do: that row first, then those it leads to, in order."""
    return begun_at(machine, outcomes, np.array([row, *sorted(reached([row], machine.links) - {row})]))
