"""The generators of the experiments, `hard`, `rand` and `linear`, as NOTES 12 fixes what the paper leaves open."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import INTERCEPT, gaussian_contexts
from banditree.tasks.rewards import Gaussian
from banditree.tasks.separation import closest_rows

T = TypeVar("T")
MAX_DRAWS = 10_000  # Collections that are drawn before a wanted separation is called out of reach.


def hard(n_tasks: int, n_arms: int, separation: float, epsilon: float, seed: int = 0) -> Collection:
    """The collection of Section 3.1, where the good arms tell nothing and the telling arms are bad.

    Arm i < M is the best arm of task i (mean 3/4 + 10 epsilon, 3/4 in the other tasks); each of the other K - M arms
    has mean 1/2 + separation/2 or 1/2 - separation/2, at random.

    >>> hard(5, 10, separation=0.4, epsilon=0.01).means[0, [0, 1]].tolist()
    [0.85, 0.75]
    """
    _check_sizes(n_tasks, n_arms, separation)
    n_telling = n_arms - n_tasks
    if n_telling < 1 or 2**n_telling < n_tasks:
        raise invalid(
            "n_arms",
            f"large enough that {n_tasks} tasks differ on the arms beyond the first {n_tasks}",
            n_arms,
        )
    if not (0 < epsilon <= 1 / 40):
        raise invalid("epsilon", "above 0 and at most 1/40, so that 3/4 + 10 epsilon is a mean", epsilon)
    if separation >= 0.5 + 20 * epsilon:
        raise invalid("separation", f"below 1/2 + 20 epsilon = {0.5 + 20 * epsilon:g}", separation)
    rng = np.random.default_rng(seed)
    signs = _draw_until(
        lambda: rng.integers(0, 2, (n_tasks, n_telling)) * 2 - 1,
        lambda drawn: len(np.unique(drawn, axis=0)) == n_tasks,
        "tasks that all differ on the telling arms",
    )
    means = np.full((n_tasks, n_arms), 0.75)
    means[np.arange(n_tasks), np.arange(n_tasks)] = 0.75 + 10 * epsilon
    means[:, n_tasks:] = 0.5 + signs * separation / 2
    provenance = f"hard-{n_tasks}-{n_arms}, separation {separation:g}, epsilon {epsilon:g}, seed {seed}"
    return Collection.bernoulli(means, provenance=provenance)


def rand(n_tasks: int, n_arms: int, separation: float, seed: int = 0) -> Collection:
    """Uniform means, drawn whole again until every pair of tasks has an arm with a gap above `separation`.

    >>> rand(10, 20, separation=0.4).means.shape
    (10, 20)
    """
    _check_sizes(n_tasks, n_arms, separation)
    rng = np.random.default_rng(seed)
    collection = _draw_until(
        lambda: Collection.bernoulli(
            rng.random((n_tasks, n_arms)),
            provenance=f"rand-{n_tasks}-{n_arms}, separation {separation:g}, seed {seed}",
        ),
        lambda drawn: closest_rows(drawn.means, np.nextafter(separation, 1.0)) is None,
        f"a random collection of {n_tasks} tasks and {n_arms} arms with separation {separation:g}",
    )
    return collection


def linear(
    n_tasks: int, n_arms: int, n_features: int, separation: float, seed: int = 0, sigma: float = 0.1
) -> Collection:
    """Random contextual tasks with an intercept and normal features, mean-separated by more than `separation`.

    The mean rewards are uniform in [0.2, 0.8]; the slopes move x'theta by 0.05 in standard deviation, so that it leaves
    [0, 1] for fewer than one context in 10,000. The best arm of a task still changes with the context.

    >>> linear(4, 5, 3, separation=0.2).theta.shape
    (4, 5, 3)
    """
    _check_sizes(n_tasks, n_arms, separation)
    if n_features < 2:
        raise invalid("n_features", "at least 2, an intercept and a feature", n_features)
    rng = np.random.default_rng(seed)
    covariance = np.diag([0.0] + [1.0] * (n_features - 1))
    mean = np.eye(n_features)[0]
    names = [INTERCEPT] + [f"x{index}" for index in range(1, n_features)]
    contexts = gaussian_contexts(mean, covariance, names)

    def draw() -> Collection:
        slopes = rng.standard_normal((n_tasks, n_arms, n_features - 1))
        slopes *= 0.05 / np.linalg.norm(slopes, axis=2, keepdims=True)
        intercepts = 0.2 + 0.6 * rng.random((n_tasks, n_arms, 1))
        return Collection.linear(
            np.concatenate([intercepts, slopes], axis=2),
            contexts,
            Gaussian(sigma=sigma),
            provenance=f"linear-{n_tasks}-{n_arms}-{n_features}, separation {separation:g}, seed {seed}",
        )

    return _draw_until(
        draw,
        lambda drawn: closest_rows(drawn.means, np.nextafter(separation, 1.0)) is None,
        f"a linear collection of {n_tasks} tasks and {n_arms} arms with separation {separation:g}",
    )


def _draw_until(draw: Callable[[], T], good: Callable[[T], bool], wanted: str) -> T:
    for _ in range(MAX_DRAWS):
        drawn = draw()
        if good(drawn):
            return drawn
    raise InvalidInput(
        f"{MAX_DRAWS:,} draws did not give {wanted}. Ask for a smaller separation, fewer tasks or more arms."
    )


def _check_sizes(n_tasks: int, n_arms: int, separation: float) -> None:
    if n_tasks < 2:
        raise invalid("n_tasks", "at least 2", n_tasks)
    if n_arms < 2:
        raise invalid("n_arms", "at least 2", n_arms)
    if not 0 < separation < 1:
        raise invalid("separation", "between 0 and 1", separation)
