"""How often, at most, the odds of a fallback hand over a case of a known task.

While a case is where its task may lead, the odds against that task have to be reached, which happens with a chance of
at most 1/odds over its whole course (Ville's inequality, `theory.doubt`). At an end to which its task hardly ever
leads, the odds against other tasks are enough: that is counted as if every such case were handed over.
"""

import numpy as np

from banditree.plans.plan import Plan, right_kinds
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.tasks.collection import Collection

SAME_RATE = 1e-9  # Rates that are off by no more than this besides what is allowed are those of a task.


def has_odds(plan: Plan) -> bool:
    """Whether the odds of a fallback may hand a case over from anywhere."""
    return plan.fallback is not None and plan.fallback.odds > 0


def rightly_at(plan: Plan, collection: Collection) -> BoolArray:
    """Whether a case of each task of the collection is rightly at each box (M, N) of a plan with odds.

    It is where some task of the plan may lead whose rates, off by what the plan allows, may be its own. A task that is
    none of the plan's is nowhere.
    """
    if plan.fallback is None or not has_odds(plan):
        return np.ones((collection.n_tasks, plan.n_boxes), dtype=bool)
    radius = np.broadcast_to(collection.radius, collection.means.shape)
    off = np.abs(collection.means[:, None] - np.array(plan.fallback.means)) + radius[:, None]
    alike = np.asarray((off <= plan.fallback.allow + SAME_RATE).all(axis=2))
    return np.asarray((alike[:, None] & right_kinds(plan)).any(axis=2))


def moved_by_odds(plan: Plan, right: BoolArray, wrongly: FloatArray) -> FloatArray:
    """The chance (M, N), at most, that the odds move a case to a box, which is always the hand-over.

    wrongly: (M,), the chance of ever being where the case is not rightly. Nothing is said of a task that is none of
    the plan's.
    """
    moved = np.zeros(right.shape)
    if plan.fallback is not None and has_odds(plan) and plan.hand_over is not None:
        chance = np.minimum(1.0 / plan.fallback.odds + wrongly, 1.0)
        moved[:, plan.hand_over] = np.where(right.any(axis=1), chance, 0.0)
    return moved
