"""What each box of a plan does under each task: chances of its outcomes and the cost of a pull, or bounds of them."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.plan import NONE, BoxKind, Plan
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.tasks.collection import Collection, cells_of, margin_at
from banditree.tasks.contexts import N_AVERAGED, ContextKind, averaging_rows
from banditree.tasks.rewards.base import Bounds

SAME_VALUE = 1e-12  # two arms whose means differ by less are equally good


class Claim(StrEnum):
    """What a number is: exact for these means, or at least as large as the truth.

    AS_IF_GAUSSIAN: exact if the contexts, of which only the moments are known, are normal.
    """

    EXACT = "exact"
    AS_IF_GAUSSIAN = "exact as if contexts were Gaussian"
    UPPER_BOUND = "upper bound"

    @property
    def is_exact(self) -> bool:
        """Whether it is no bound."""
        return self is not Claim.UPPER_BOUND


@dataclass(frozen=True, eq=False)
class Outcomes:
    """M tasks, N boxes, B outcomes: bounds of the chances (equal where the distribution is known) and the costs.

    least, most: (M, N, B), for the two sides of a FIXED box, low first, or the bins of one pull of a score.
    cost: (M, N), of one round at a box. wrong_arm: (M, N), an end or a watch line whose arm is not the best.
    wrong_task: (M, N), or None if one of those names no task. reasons: why the numbers are bounds; empty if exact.
    by_moments: whether contexts of which only the moments are known were taken for normal.
    """

    least: FloatArray
    most: FloatArray
    cost: FloatArray
    wrong_arm: BoolArray
    wrong_task: BoolArray | None
    reasons: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    by_moments: bool = False

    @property
    def claim(self) -> Claim:
        """Whether what is computed from these outcomes is exact."""
        if self.reasons:
            return Claim.UPPER_BOUND
        return Claim.AS_IF_GAUSSIAN if self.by_moments else Claim.EXACT


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
    by_moments = collection.contexts is not None and collection.contexts.kind is ContextKind.MOMENTS
    return Outcomes(least, most, cost, wrong_arm, wrong_task, _reasons(plan, collection), remarks, by_moments)


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
        slopes = "" if collection.theta_error is None else ", and so are the slopes within theirs"
        reasons.append(
            f"the estimated means are within {collection.radius.max():.3g}{slopes}, and every box takes its worst means"
        )
    totals = bool((plan.kind == BoxKind.FIXED).any())
    reasons += collection.rewards.doubts(cells_of(collection, plan.arm[:1]), totals)
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
    by_context = (plan.kind == BoxKind.EXPLOIT) & (plan.arm == NONE)
    arm = np.where(by_context, 0, plan.arm)
    if collection.theta is None:
        radius = np.zeros_like(collection.radius) if certain else collection.radius
        return _arm_gaps(collection.means, radius)[:, arm], ()
    by_arm, by_task = context_gaps(plan, collection, certain)
    cost = by_arm[:, arm]
    cost[:, by_context] = by_task[:, plan.task[by_context]]
    return cost, _context_remarks(collection)


def _arm_gaps(means: FloatArray, radius: FloatArray) -> FloatArray:
    """How much better than each arm another one may be, (M, K)."""
    upper = means + radius
    rival = np.stack([np.delete(upper, k, axis=1).max(axis=1) for k in range(means.shape[1])], axis=1)
    return np.asarray(np.maximum(rival - (means - radius), 0.0))


def context_gaps(plan: Plan, collection: Collection, certain: bool) -> tuple[FloatArray, FloatArray]:
    """What each arm (M, K), and "the best for task j of the plan" (M, tasks), costs per round in each task.

    Unless `certain`, at every context the predictions take their worst values within their margins.
    """
    contexts, theta = collection.contexts, collection.theta
    assert contexts is not None
    assert theta is not None
    assert plan.theta is not None
    rows = averaging_rows(contexts)
    choices = [(rows @ task.T).argmax(axis=1) for task in plan.theta]
    margins = np.zeros((collection.n_arms, len(rows), collection.n_tasks))
    if collection.is_estimated and not certain:
        margins = np.stack([margin_at(collection, rows, k) for k in range(collection.n_arms)])
    low, high, each = collection.rewards.low, collection.rewards.high, np.arange(len(rows))
    by_arm, by_task = np.empty(collection.means.shape), np.empty((collection.n_tasks, len(choices)))
    for i, task in enumerate(theta):
        predicted, margin = rows @ task.T, margins[:, :, i].T
        upper = np.clip(predicted + margin, low, high)
        rival = np.repeat(upper.max(axis=1, keepdims=True), upper.shape[1], axis=1)
        rival[each, upper.argmax(axis=1)] = np.partition(upper, -2, axis=1)[:, -2]
        cost = np.maximum(rival - np.clip(predicted - margin, low, high), 0.0)
        by_arm[i] = cost.mean(axis=0)
        by_task[i] = [cost[each, choice].mean() for choice in choices]
    return by_arm, by_task


def _context_remarks(collection: Collection) -> tuple[str, ...]:
    contexts, remarks = collection.contexts, []
    assert contexts is not None
    if contexts.kind not in (ContextKind.FIXED, ContextKind.SAMPLE):
        remarks.append(f"The cost of an arm is an average over {N_AVERAGED:,} drawn contexts, known to about 1%.")
    if contexts.kind is ContextKind.MOMENTS:
        remarks.append("Of the contexts only the moments are known: the numbers hold as if they were Gaussian.")
    if collection.is_estimated and collection.theta_error is None:
        remarks.append("Nothing is known of how far slopes may be off: they are taken as given.")
    return tuple(remarks)
