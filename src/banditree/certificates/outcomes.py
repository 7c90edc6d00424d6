"""What each box of a plan does under each task: chances of its outcomes and the cost of a pull, or bounds of them."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.plan import NONE, BoxKind, Plan
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.tasks.collection import N_VALUE_CONTEXTS, Collection, cells_of
from banditree.tasks.contexts import ContextKind, draw_contexts
from banditree.tasks.rewards.base import Bounds

SAME_VALUE = 1e-12  # two arms whose means differ by less are equally good


class Claim(StrEnum):
    """What a number is: exact for these means, or at least as large as the truth."""

    EXACT = "exact"
    UPPER_BOUND = "upper bound"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """M tasks, N boxes, B outcomes: bounds of the chances (equal where the distribution is known) and the costs.

    least, most: (M, N, B), for the two sides of a FIXED box, low first, or the bins of one pull of a score.
    cost: (M, N), of one round at a box. wrong_arm: (M, N), an end or a watch line whose arm is not the best.
    wrong_task: (M, N), or None if one of those names no task. reasons: why the numbers are bounds; empty if exact.
    """

    least: FloatArray
    most: FloatArray
    cost: FloatArray
    wrong_arm: BoolArray
    wrong_task: BoolArray | None
    reasons: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def claim(self) -> Claim:
        """Whether what is computed from these outcomes is exact."""
        return Claim.UPPER_BOUND if self.reasons else Claim.EXACT


def box_outcomes(plan: Plan, collection: Collection) -> Outcomes:
    """What all boxes of `plan` do under all tasks of `collection`, which must have the same arms and rewards."""
    _check_match(plan, collection)
    M, N, B = collection.n_tasks, plan.n_boxes, max(2, plan.points.shape[1])
    least, most = np.zeros((M, N, B)), np.zeros((M, N, B))
    scored = (plan.kind == BoxKind.SCORE) | (plan.kind == BoxKind.WATCH)
    for wanted, chances in ((plan.kind == BoxKind.FIXED, _fixed_chances), (scored, _bin_chances)):
        boxes = np.flatnonzero(wanted)
        if boxes.size:
            low, high = chances(plan, collection, boxes)
            least[:, boxes, : low.shape[2]], most[:, boxes, : low.shape[2]] = low, high
    cost, remarks = _costs(plan, collection)
    rest = (plan.kind == BoxKind.EXPLOIT) | (plan.kind == BoxKind.WATCH)
    # A rate above rounding error means another arm is better; for estimates this is asked of the estimates.
    at_estimates = cost if not collection.is_estimated else _costs(plan, collection, certain=True)[0]
    wrong_task = None
    if (plan.task[rest] != NONE).all():
        named = np.array([plan.tasks[task] if task != NONE else "" for task in plan.task])
        wrong_task = (named[None, :] != np.array(collection.tasks)[:, None]) & rest
    wrong_arm = (at_estimates > SAME_VALUE) & rest
    return Outcomes(least, most, cost, wrong_arm, wrong_task, _reasons(plan, collection), remarks)


def _check_match(plan: Plan, collection: Collection) -> None:
    if plan.arms != collection.arms:
        raise InvalidInput(
            f"The plan is about the arms {', '.join(plan.arms[:5])}... and the collection about "
            f"{', '.join(collection.arms[:5])}... Certify a plan with a collection of the same arms in the same order."
        )
    if not plan.rewards.matches(collection.rewards):
        raise InvalidInput(
            f"The plan is for {plan.rewards.family} rewards and the collection has {collection.rewards.family} ones. "
            "Certify a plan with the rewards it was made for."
        )
    if (plan.theta is None) != (collection.theta is None):
        raise InvalidInput("Either both the plan and the collection have contexts, or neither has.")


def _reasons(plan: Plan, collection: Collection) -> tuple[str, ...]:
    reasons = []
    if collection.is_estimated:
        reasons.append(
            f"the estimated means are within {collection.radius.max():.3g}, and every box takes its worst means"
        )
    reasons += collection.rewards.doubts(cells_of(collection, plan.arm[:1]))
    return tuple(reasons)


def _fixed_chances(plan: Plan, collection: Collection, boxes: np.ndarray) -> Bounds:
    """Bounds (M, boxes, 2) of the chances that a total is at most, or above, the threshold."""
    cells = cells_of(collection, plan.arm[boxes])
    return collection.rewards.totals(cells, plan.pulls[boxes], plan.threshold[boxes])


def _bin_chances(plan: Plan, collection: Collection, boxes: np.ndarray) -> Bounds:
    """Bounds (M, boxes, B) of the chances of the bins of one reward."""
    return collection.rewards.bins(cells_of(collection, plan.arm[boxes]), plan.cuts[boxes])


def _costs(plan: Plan, collection: Collection, certain: bool = False) -> tuple[FloatArray, tuple[str, ...]]:
    """What a pull or a round costs at each box (M, N), at the worst means unless `certain`; and remarks on it."""
    radius = np.zeros_like(collection.radius) if certain else collection.radius
    upper = collection.means + radius
    # For each arm, the best that the others may be.
    rival = np.stack([np.delete(upper, k, axis=1).max(axis=1) for k in range(collection.n_arms)], axis=1)
    gaps = np.maximum(rival - (collection.means - radius), 0.0)
    if collection.theta is not None:
        gaps = collection.gaps + radius + radius.max()
    by_context = (plan.kind == BoxKind.EXPLOIT) & (plan.arm == NONE)
    cost = gaps[:, np.where(by_context, 0, plan.arm)].copy()
    if not by_context.any():
        return cost, ()
    cost[:, by_context] = _policy_gaps(plan, collection)[:, plan.task[by_context]]
    remarks = []
    if collection.contexts is not None and collection.contexts.kind not in (ContextKind.FIXED, ContextKind.SAMPLE):
        remarks.append(f"The cost of a chosen arm is an average over {N_VALUE_CONTEXTS:,} drawn contexts.")
    if collection.is_estimated:
        remarks.append("Exploitation by context is charged at the estimated parameters.")
    return cost, tuple(remarks)


def _policy_gaps(plan: Plan, collection: Collection) -> FloatArray:
    """What "argmax of x'theta of task j of the plan" costs per round in task i of the collection, (M, tasks)."""
    contexts, theta = collection.contexts, collection.theta
    assert contexts is not None
    assert theta is not None
    assert plan.theta is not None
    rows = contexts.rows
    if rows is None:
        n = 1 if contexts.kind is ContextKind.FIXED else N_VALUE_CONTEXTS
        rows = draw_contexts(contexts, n, np.random.default_rng(0))
    choices = np.stack([(rows @ task.T).argmax(axis=1) for task in plan.theta])
    gaps = np.empty((len(theta), len(choices)))
    for i, task in enumerate(theta):
        predicted = rows @ task.T
        best = predicted.max(axis=1)
        for j, choice in enumerate(choices):
            gaps[i, j] = (best - predicted[np.arange(len(rows)), choice]).mean()
    return gaps
