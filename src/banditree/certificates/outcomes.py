"""What each box of a plan does under each task: chances of its outcomes and the cost of a pull, or bounds of them."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.plan import NONE, BoxKind, Plan
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.tasks.collection import N_VALUE_CONTEXTS, Collection, reward_variance
from banditree.tasks.contexts import ContextKind, draw_contexts
from banditree.tasks.rewards import Family

SAME_VALUE = 1e-12  # two arms whose means differ by less are equally good


class Claim(StrEnum):
    """What a number is: exact for these means, or at least as large as the truth."""

    EXACT = "exact"
    UPPER_BOUND = "upper bound"


@dataclass(frozen=True, eq=False)
class Laws:
    """M tasks, N boxes, B outcomes: bounds of the chances (equal where the law is known) and the costs.

    least, most: (M, N, B), for the two sides of a FIXED box, low first, or the bins of one pull of a SCORE box.
    cost: (M, N), of one pull at a test or one round at a leaf. wrong_arm: (M, N), a leaf whose arm is not the best.
    wrong_task: (M, N), or None if some leaf names no task. reasons: why the numbers are bounds; empty if exact.
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
        """Whether what is computed from these laws is exact."""
        return Claim.UPPER_BOUND if self.reasons else Claim.EXACT


def box_laws(plan: Plan, collection: Collection) -> Laws:
    """The laws of all boxes of `plan` under all tasks of `collection`, which must have the same arms and rewards."""
    _check_match(plan, collection)
    M, N, B = collection.n_tasks, plan.n_boxes, max(2, plan.points.shape[1])
    least, most = np.zeros((M, N, B)), np.zeros((M, N, B))
    for kind, chances in ((BoxKind.FIXED, _fixed_chances), (BoxKind.SCORE, _bin_chances)):
        boxes = np.flatnonzero(plan.kind == kind)
        if boxes.size:
            low, high = chances(plan, collection, boxes)
            least[:, boxes, : low.shape[2]], most[:, boxes, : low.shape[2]] = low, high
    cost, remarks = _costs(plan, collection)
    leaf = plan.kind == BoxKind.EXPLOIT
    # A rate above rounding error means another arm is better; for estimates this is asked of the estimates.
    at_estimates = cost if not collection.is_estimated else _costs(plan, collection, certain=True)[0]
    wrong_task = None
    if (plan.task[leaf] != NONE).all():
        named = np.array([plan.tasks[task] if task != NONE else "" for task in plan.task])
        wrong_task = (named[None, :] != np.array(collection.tasks)[:, None]) & leaf
    wrong_arm = (at_estimates > SAME_VALUE) & leaf
    return Laws(least, most, cost, wrong_arm, wrong_task, _reasons(plan, collection), remarks)


def _check_match(plan: Plan, collection: Collection) -> None:
    if plan.rule is not None or (plan.kind == BoxKind.WATCH).any():
        raise InvalidInput("Watch lines and safety rules cannot be certified yet. Simulate the plan.")
    if plan.arms != collection.arms:
        raise InvalidInput(
            f"The plan is about the arms {', '.join(plan.arms[:5])}... and the collection about "
            f"{', '.join(collection.arms[:5])}... Certify a plan with a collection of the same arms in the same order."
        )
    if plan.rewards.family is not collection.rewards.family:
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
            f"the means are known to within {collection.radius.max():.3g}, and every box takes its worst means"
        )
    if collection.rewards.family is Family.BOUNDED:
        reasons.append("of the rewards only the means and the range are known")
    elif collection.rewards.family is Family.GAUSSIAN and not _normal_totals(collection):
        reasons.append("the law of the contexts is known by its moments or a sample only")
    return tuple(reasons)


def _normal_totals(collection: Collection) -> bool:
    """Whether a reward of a fixed arm is normal once contexts are averaged out."""
    contexts = collection.contexts
    normal = contexts is None or contexts.kind in (ContextKind.FIXED, ContextKind.GAUSSIAN)
    return collection.rewards.family is Family.GAUSSIAN and normal


def _deviation(collection: Collection) -> FloatArray:
    """The standard deviation (M, K) of a normal reward, contexts included."""
    variance = np.full(collection.means.shape, collection.rewards.sigma**2)
    if collection.contexts is not None and collection.theta is not None:
        theta = collection.theta
        variance = variance + np.einsum("ikd,de,ike->ik", theta, collection.contexts.covariance, theta)
    return np.asarray(np.sqrt(variance))


def _mean_bounds(collection: Collection) -> tuple[FloatArray, FloatArray]:
    rewards = collection.rewards
    low = np.clip(collection.means - collection.radius, rewards.low, rewards.high)
    high = np.clip(collection.means + collection.radius, rewards.low, rewards.high)
    return low, high


def _fixed_chances(plan: Plan, collection: Collection, boxes: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Bounds (M, boxes, 2) of the chances that a total is at most, or above, the threshold."""
    from scipy.special import bdtr, bdtrc, ndtr

    n, limit, arm = plan.pulls[boxes], plan.threshold[boxes], plan.arm[boxes]
    means = [mean[:, arm] for mean in _mean_bounds(collection)]
    if collection.rewards.family is Family.BERNOULLI:
        k = np.clip(limit, 0, n).astype(float)
        at_most = [np.where(limit < 0, 0.0, bdtr(k, n, p)) for p in means]
        above = [np.where(limit < 0, 1.0, np.where(limit >= n, 0.0, bdtrc(k, n, p))) for p in means]
    elif _normal_totals(collection):
        spread = _deviation(collection)[:, arm] * np.sqrt(n)
        at_most = [ndtr((limit - n * mu) / spread) for mu in means]
        above = [ndtr((n * mu - limit) / spread) for mu in means]
    else:
        s2 = reward_variance(collection)
        tails = [np.exp(-((n * mu - limit) ** 2) / (2 * n * s2)) for mu in means]
        at_most_most = np.where(n * means[0] > limit, tails[0], 1.0)
        above_most = np.where(n * means[1] < limit, tails[1], 1.0)
        return np.stack([1 - above_most, 1 - at_most_most], axis=2), np.stack([at_most_most, above_most], axis=2)
    return np.stack([at_most[1], above[0]], axis=2), np.stack([at_most[0], above[1]], axis=2)


def _bin_chances(plan: Plan, collection: Collection, boxes: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Bounds (M, boxes, B) of the chances of the bins of one reward."""
    from scipy.special import ndtr

    arm, cuts = plan.arm[boxes], plan.cuts[boxes]
    low, high = (mean[:, arm, None] for mean in _mean_bounds(collection))
    if collection.rewards.family is Family.BERNOULLI:
        bins = np.arange(cuts.shape[1] + 1)
        zero, one = ((cuts < value).sum(axis=1)[:, None] == bins for value in (0.0, 1.0))
        both = zero & one
        return np.maximum(zero * (1 - high) + one * low, both), np.minimum(zero * (1 - low) + one * high, 1.0)
    edges = np.concatenate([np.full((len(boxes), 1), -np.inf), cuts, np.full((len(boxes), 1), np.inf)], axis=1)
    left, right = edges[:, :-1], edges[:, 1:]
    if _normal_totals(collection):
        spread = _deviation(collection)[:, arm, None]

        def chance(mu: FloatArray) -> FloatArray:
            a, b = (left - mu) / spread, (right - mu) / spread
            return np.asarray(np.where(a > 0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a)))

        # The chance of a bin grows as the mean comes closer to its middle.
        middle = np.where(np.isinf(left), -np.inf, np.where(np.isinf(right), np.inf, (left + right) / 2))
        return np.minimum(chance(low), chance(high)), chance(np.clip(middle, low, high))
    return _mean_only_bins(collection, left, right, low, high)


def _mean_only_bins(
    collection: Collection, left: FloatArray, right: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Markov's inequality: what the mean alone says of the chances of the bins."""
    if collection.rewards.family is not Family.BOUNDED:
        raise InvalidInput(
            "A plan that scores rewards cannot be certified when contexts are known by their moments or a sample only: "
            "the chance of a single reward is then unknown. Use the method tree."
        )
    bottom, top = collection.rewards.low, collection.rewards.high
    with np.errstate(divide="ignore", invalid="ignore"):
        above_left = np.where(left <= bottom, 1.0, np.clip((high - bottom) / (left - bottom), 0.0, 1.0))
        at_most_right = np.where(right >= top, 1.0, np.clip((top - low) / (top - right), 0.0, 1.0))
    most = np.minimum(above_left, at_most_right)
    others = most.sum(axis=2, keepdims=True) - most
    return np.maximum(1.0 - others, 0.0), most


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
