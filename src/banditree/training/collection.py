"""From estimates to a collection, when some arm was never tried for some task."""

from enum import StrEnum

import numpy as np

from banditree.errors import InvalidInput
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.tasks.collection import Collection
from banditree.training.estimates import Estimates, estimate
from banditree.training.regression import Outcome
from banditree.training.statistics import Statistics, group_tasks


class Untried(StrEnum):
    """What to do about an arm that was not tried enough for some task."""

    REFUSE = "refuse"
    DROP_ARM = "drop-arm"
    DROP_TASK = "drop-task"
    BORROW = "borrow"


def to_collection(
    estimates: Estimates,
    statistics: Statistics,
    *,
    untried: Untried = Untried.REFUSE,
    provenance: str = "estimated",
    shares: FloatArray | None = None,
    spread: FloatArray | None = None,
) -> Collection:
    """The collection of the estimates, with what is missing refused, dropped, or borrowed from the other tasks.

    A borrowed mean is that of the arm over all tasks. Nothing is known about how far this task is from it: its radius
    is the whole range of rewards (Gaussian: of all means estimated), which keeps it from being used as a test.
    shares: (M,) of the tasks among cases; those of dropped tasks are spread over the others. spread: (M, K), how much
    cases of a task differ.
    """
    untried = Untried(untried)
    fine = estimates.outcomes == Outcome.FINE
    tasks, arms = np.arange(len(estimates.tasks)), np.arange(len(estimates.arms))
    means, radius, theta, chances = estimates.means, estimates.radius, estimates.theta, estimates.chances
    if not fine.all():
        if untried is Untried.REFUSE:
            raise _missing_error(estimates)
        if untried is Untried.DROP_ARM:
            arms = np.flatnonzero(fine.all(axis=0))
        elif untried is Untried.DROP_TASK:
            tasks = np.flatnonzero(fine.all(axis=1))
        else:
            means, radius, theta, chances = _borrow(estimates, statistics)
    kept, error = np.ix_(tasks, arms), _known_error(estimates, fine)
    return Collection(
        means[kept],
        tuple(estimates.tasks[i] for i in tasks),
        tuple(estimates.arms[k] for k in arms),
        estimates.rewards,
        estimates.contexts,
        None if theta is None else theta[kept],
        radius[kept],
        provenance,
        estimates.counts[kept],
        None if shares is None else shares[tasks] / shares[tasks].sum(),
        None if spread is None else spread[kept],
        chances=None if chances is None else chances[kept],
        theta_error=None if error is None else error[kept],
    )


def _known_error(estimates: Estimates, fine: BoolArray) -> FloatArray | None:
    """theta_error, where a borrowed theta may be off at any context by as much as its mean."""
    error, contexts = estimates.theta_error, estimates.contexts
    if error is None or contexts is None or fine.all():
        return error
    # A borrowed x'theta is known as badly as can be: the squared length of x in the metric of the contexts is about d.
    metric = np.linalg.pinv(contexts.second_moment)
    widest = estimates.rewards.width if estimates.rewards.has_range else np.nanmax(np.ptp(estimates.means)) * 2
    return np.where(fine[:, :, None, None], error, widest**2 * len(metric) * metric)


def _missing_error(estimates: Estimates) -> InvalidInput:
    missing = estimates.missing
    named = "; ".join(f"{arm!r} for task {task!r}: {outcome}" for task, arm, outcome in missing[:5])
    more = f"; and {len(missing) - 5} more" if len(missing) > 5 else ""
    return InvalidInput(
        f"Some arms have no estimate. {named}{more}. Drop these arms or these tasks, or borrow the estimate over all "
        'tasks: untried="drop-arm", untried="drop-task" or untried="borrow".'
    )


def _borrow(
    estimates: Estimates, statistics: Statistics
) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray | None]:
    """Means, radii, theta and chances with the gaps filled from the rows of all tasks together."""
    everyone = group_tasks(statistics, np.zeros(len(statistics.tasks), int), ["all tasks"])
    pooled = estimate(everyone, estimates.rewards, intercept=estimates.intercept, ridge=estimates.ridge)
    gaps = estimates.outcomes != Outcome.FINE
    hopeless = gaps.any(axis=0) & (pooled.outcomes[0] != Outcome.FINE)
    if hopeless.any():
        arm = estimates.arms[int(hopeless.argmax())]
        raise InvalidInput(f"Arm {arm!r} has too few rows over all tasks together to borrow from. Drop it.")
    family = estimates.rewards
    low, high = family.low, family.high
    if not family.has_range:
        low = float(np.nanmin(estimates.means - estimates.radius))
        high = float(np.nanmax(estimates.means + estimates.radius))
    means = np.where(gaps, pooled.means, estimates.means)
    radius = np.where(gaps, np.maximum(means - low, high - means), estimates.radius)
    theta = estimates.theta
    if theta is not None and pooled.theta is not None:
        theta = np.where(gaps[:, :, None], pooled.theta, theta)
    chances = estimates.chances
    if chances is not None and pooled.chances is not None:
        chances = np.where(gaps[:, :, None], pooled.chances, chances)
    return means, radius, theta, chances
