"""Collection: the M tasks a case may belong to, as far as they are known."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from banditree.errors import InvalidInput, check_texts, invalid
from banditree.tasks.arrays import FloatArray, IntArray, frozen, frozen_numbers
from banditree.tasks.contexts import ContextKind, Contexts, Feature, draw_contexts
from banditree.tasks.rewards import BERNOULLI, Bounded, Cells, Gaussian, Graded, Rewards

N_VALUE_CONTEXTS = 20_000  # contexts over which the value of the best policy of a task is averaged


@dataclass(frozen=True, eq=False)
class Collection:
    """M tasks x K arms: mean rewards, names, reward family, contexts, and how well all this is known.

    `means` (M, K) are the mean rewards, over contexts if there are any; `theta` (M, K, d) the linear parameters of
    contextual tasks, or None. `radius` (M, K) bounds how far each mean may be from the truth (0: known),
    `counts` (M, K) how many rewards each was estimated from (None: unknown), and `provenance` says where the numbers
    came from. `shares` (M,) are the shares of the tasks among cases (None: unknown, all alike), and `spread` (M, K) the
    standard deviation of a case's own mean around that of its task (None: all cases of a task are alike).
    `chances` (M, K, G) are those of the values of graded rewards, from which their means follow.
    Frozen, with read-only arrays: checked once, here.
    Use `Collection.bernoulli`, `.gaussian`, `.graded`, `.bounded` or `.linear`.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    >>> two.n_tasks, two.n_arms, [two.arms[k] for k in two.best_arms]
    (2, 2, ['A', 'B'])
    """

    means: FloatArray
    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    rewards: Rewards = BERNOULLI
    contexts: Contexts | None = None
    theta: FloatArray | None = None
    radius: FloatArray = field(default_factory=lambda: np.zeros(()))
    provenance: str = "known"
    counts: IntArray | None = None
    shares: FloatArray | None = None
    spread: FloatArray | None = None
    chances: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.rewards.by_chances:
            object.__setattr__(self, "chances", _checked_chances(self.rewards, self.chances))
            object.__setattr__(self, "means", self.rewards.means(self.parameters))
        means = frozen_numbers("means", self.means, 2)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "tasks", tuple(str(name) for name in self.tasks))
        object.__setattr__(self, "arms", tuple(str(name) for name in self.arms))
        try:
            radius = frozen(np.broadcast_to(np.asarray(self.radius, float), means.shape), float)
        except (ValueError, TypeError):
            raise invalid("radius", f"a number or an array of shape {means.shape}", self.radius) from None
        object.__setattr__(self, "radius", radius)
        if self.theta is not None:
            object.__setattr__(self, "theta", frozen_numbers("theta", self.theta, 3))
        if self.counts is not None:
            object.__setattr__(self, "counts", frozen(self.counts, np.int64))
        if self.shares is not None:
            object.__setattr__(self, "shares", _checked_shares(self.shares, means.shape[0]))
        if self.spread is not None:
            object.__setattr__(self, "spread", frozen_numbers("spread", self.spread, 2))
        _check(self)

    @classmethod
    def bernoulli(
        cls,
        means: Any,
        *,
        tasks: Sequence[str] | None = None,
        arms: Sequence[str] | None = None,
        radius: Any = 0.0,
        provenance: str = "known",
        shares: Any = None,
        spread: Any = None,
    ) -> "Collection":
        """Tasks whose rewards are 0 or 1, with these chances of a 1 (M, K)."""
        return _without_contexts(means, BERNOULLI, tasks, arms, radius, provenance, shares, spread)

    @classmethod
    def gaussian(
        cls,
        means: Any,
        sigma: float,
        *,
        tasks: Sequence[str] | None = None,
        arms: Sequence[str] | None = None,
        radius: Any = 0.0,
        provenance: str = "known",
        shares: Any = None,
        spread: Any = None,
    ) -> "Collection":
        """Tasks whose rewards are normal around these means (M, K), with standard deviation `sigma`."""
        return _without_contexts(means, Gaussian(sigma=sigma), tasks, arms, radius, provenance, shares, spread)

    @classmethod
    def bounded(
        cls,
        means: Any,
        low: float = 0.0,
        high: float = 1.0,
        *,
        tasks: Sequence[str] | None = None,
        arms: Sequence[str] | None = None,
        radius: Any = 0.0,
        provenance: str = "known",
        shares: Any = None,
        spread: Any = None,
    ) -> "Collection":
        """Tasks of whose rewards only the means (M, K) and the range [low, high] are known."""
        return _without_contexts(means, Bounded(low=low, high=high), tasks, arms, radius, provenance, shares, spread)

    @classmethod
    def graded(
        cls,
        chances: Any,
        values: Sequence[float],
        *,
        names: Sequence[str] = (),
        tasks: Sequence[str] | None = None,
        arms: Sequence[str] | None = None,
        radius: Any = 0.0,
        provenance: str = "known",
        shares: Any = None,
        spread: Any = None,
    ) -> "Collection":
        """Tasks whose rewards are one of G increasing `values`, with these chances (M, K, G); names: of the values.

        A radius says that the chance of any set of values is known within radius / (greatest - least value).

        >>> Collection.graded([[[0.5, 0.5, 0], [0, 0.5, 0.5]], [[0, 0, 1], [1, 0, 0]]], [1, 2, 3]).means.tolist()
        [[1.5, 2.5], [3.0, 1.0]]
        """
        rewards = Graded(values=tuple(values), names=tuple(names))
        chances = frozen_numbers("chances", chances, 3)
        M, K = chances.shape[:2]
        names_tasks, names_arms = _names(tasks, "task", M), _names(arms, "arm", K)
        return cls(
            np.zeros((M, K)),
            names_tasks,
            names_arms,
            rewards,
            radius=radius,
            provenance=provenance,
            shares=shares,
            spread=spread,
            chances=chances,
        )

    @classmethod
    def linear(
        cls,
        theta: Any,
        contexts: Contexts,
        rewards: Rewards,
        *,
        tasks: Sequence[str] | None = None,
        arms: Sequence[str] | None = None,
        radius: Any = 0.0,
        provenance: str = "known",
        shares: Any = None,
    ) -> "Collection":
        """Contextual tasks: the mean reward of arm k of task i at context x is x'theta[i, k] (theta: M, K, d)."""
        theta = frozen_numbers("theta", theta, 3)
        if theta.shape[2] != contexts.n_features:
            raise invalid("theta", f"of shape (tasks, arms, {contexts.n_features}), as the contexts are", theta.shape)
        names_tasks, names_arms = _names(tasks, "task", theta.shape[0]), _names(arms, "arm", theta.shape[1])
        means = theta @ contexts.mean
        return cls(means, names_tasks, names_arms, rewards, contexts, theta, radius, provenance, shares=shares)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns of a context, none without contexts; a plan answers alike."""
        return () if self.contexts is None else self.contexts.features

    @property
    def n_tasks(self) -> int:
        """M, the number of tasks."""
        return int(self.means.shape[0])

    @property
    def n_arms(self) -> int:
        """K, the number of arms."""
        return int(self.means.shape[1])

    @property
    def is_estimated(self) -> bool:
        """Whether any mean is known only up to a radius."""
        return bool(self.radius.max() > 0)

    @property
    def parameters(self) -> FloatArray:
        """What the reward family knows of each task and arm: the means (M, K), or the chances (M, K, G)."""
        return self.means if self.chances is None else self.chances

    @property
    def varies(self) -> bool:
        """Whether cases of one task differ from each other."""
        return self.spread is not None and bool(self.spread.max() > 0)

    @cached_property
    def weights(self) -> FloatArray:
        """What each task counts in a mean over tasks (M,): its share, or 1/M where shares are unknown."""
        return frozen(np.full(self.n_tasks, 1 / self.n_tasks) if self.shares is None else self.shares, float)

    @cached_property
    def best_single_arm(self) -> int:
        """The one arm to give everyone: that with the highest mean over tasks, each counted by its share.

        >>> Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], shares=[0.2, 0.8]).best_single_arm
        1
        """
        return int((self.weights @ self.means).argmax())

    @cached_property
    def best_arms(self) -> IntArray:
        """The arm (M,) with the highest mean of each task, the first among equals."""
        return frozen(self.means.argmax(axis=1), np.int64)

    @cached_property
    def values(self) -> FloatArray:
        """The mean reward (M,) of each task's best policy: its best arm, or argmax x'theta at every context.

        For contexts that vary the average is over 20,000 contexts drawn with a fixed seed (all rows of a sample).
        """
        contexts, theta = self.contexts, self.theta
        if theta is None or contexts is None or contexts.kind is ContextKind.FIXED:
            return frozen(self.means.max(axis=1), float)
        rows = contexts.rows
        if rows is None:
            rows = draw_contexts(contexts, N_VALUE_CONTEXTS, np.random.default_rng(0))
        return frozen([(rows @ task.T).max(axis=1).mean() for task in theta], float)

    @cached_property
    def gaps(self) -> FloatArray:
        """What one pull of each arm costs in each task on average (M, K): value of the best policy less the mean."""
        return frozen(np.maximum(self.values[:, None] - self.means, 0.0), float)

    def __str__(self) -> str:
        known = f"means within {self.radius.max():.3g}" if self.is_estimated else "means known"
        context = f", {self.contexts.n_features} context features" if self.contexts is not None else ""
        return (
            f"Collection of {self.n_tasks} tasks and {self.n_arms} arms, "
            f"{self.rewards.family} rewards{context}, {known}"
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from banditree.figures.notebook import collection_bundle

        return collection_bundle(self)


def with_parameters(collection: Collection, parameters: FloatArray, **changes: Any) -> Collection:
    """The collection with other means or chances, (M, K) or (M, K, G), known exactly; `changes` to other fields."""
    chances = parameters if collection.rewards.by_chances else None
    means = collection.rewards.means(parameters)
    return replace(collection, means=means, chances=chances, **{"radius": np.zeros(()), **changes})


def _checked_chances(rewards: Rewards, given: Any) -> FloatArray:
    """The chances (M, K, G), each row adding up to 1."""
    if not rewards.support:
        raise invalid("the values of graded rewards", "given", ())
    if given is None:
        raise invalid("chances", f"given for {rewards.family} rewards", None, "Use Collection.graded.")
    chances = frozen_numbers("chances", given, 3)
    G, total = len(rewards.support), chances.sum(axis=2)
    if chances.shape[2] != G:
        raise invalid("chances", f"of shape (tasks, arms, {G}), one per value", chances.shape)
    if chances.min() < 0 or not np.allclose(total, 1.0, rtol=0, atol=1e-6):
        raise invalid("chances", "at least 0 and 1 in all for each task and arm", float(total.ravel()[0]))
    exact = np.abs(total - 1) <= 1e-12  # as good as it gets: what a file brings back is not touched again
    return frozen(chances / np.where(exact, 1.0, total)[:, :, None], float)


def _without_contexts(
    means: Any,
    rewards: Rewards,
    tasks: Sequence[str] | None,
    arms: Sequence[str] | None,
    radius: Any,
    provenance: str,
    shares: Any,
    spread: Any,
) -> Collection:
    means = frozen_numbers("means", means, 2)
    return Collection(
        means,
        _names(tasks, "task", means.shape[0]),
        _names(arms, "arm", means.shape[1]),
        rewards,
        radius=radius,
        provenance=provenance,
        shares=shares,
        spread=spread,
    )


def with_shares(collection: Collection, shares: Sequence[float] | Mapping[str, float]) -> Collection:
    """The collection with these shares of its tasks: in their order, or by name.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], tasks=["mild", "severe"])
    >>> with_shares(two, {"severe": 0.8, "mild": 0.2}).weights.tolist()
    [0.2, 0.8]
    """
    if not isinstance(shares, Mapping):
        return replace(collection, shares=np.asarray(shares))
    if set(shares) != set(collection.tasks):
        raise invalid("shares", f"of {', '.join(collection.tasks)}", sorted(shares))
    return replace(collection, shares=np.array([shares[task] for task in collection.tasks]))


TRUSTED = "estimates taken at their word"  # what marks a collection whose margins were set to zero


def trust_estimates(collection: Collection) -> Collection:
    """The collection as if its estimates were exact: shorter plans, without the promise; its provenance says so.

    >>> trust_estimates(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], radius=0.1)).provenance
    'known, estimates taken at their word'
    """
    if not collection.is_estimated:
        return collection
    provenance = f"{collection.provenance}, {TRUSTED}"
    return replace(collection, radius=np.zeros_like(collection.radius), provenance=provenance)


def _checked_shares(given: Any, n_tasks: int) -> FloatArray:
    """Shares that add up to 1 exactly; what was rounded to two digits may be off by that much."""
    shares = frozen_numbers("shares", given, 1)
    if shares.shape != (n_tasks,):
        raise invalid("shares", f"{n_tasks} numbers, one per task", shares.tolist())
    if shares.min() < 0 or abs(shares.sum() - 1) > 0.01:
        raise invalid("shares", "at least 0 and add up to 1", shares.tolist())
    return frozen(shares / shares.sum(), float)


def _names(given: Sequence[str] | None, word: str, count: int) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{word} {index + 1}" for index in range(count))
    return tuple(given)


def cells_of(collection: Collection, arms: IntArray) -> Cells:
    """What is known of the rewards of these arms (N,), as the reward families ask for it, of shape (M, N)."""
    contexts, theta = collection.contexts, collection.theta
    spread = np.zeros(collection.means.shape)
    if contexts is not None and theta is not None:
        spread = np.einsum("ikd,de,ike->ik", theta, contexts.covariance, theta)
    normal = contexts is None or contexts.kind in (ContextKind.FIXED, ContextKind.GAUSSIAN)
    return Cells(
        collection.parameters[:, arms],
        collection.radius[:, arms],
        spread[:, arms],
        normal,
        reward_variance(collection),
    )


def reward_variance(collection: Collection) -> float:
    """The sub-Gaussian variance s^2 of one reward of a fixed arm around its mean, contexts included (NOTES 4).

    Bounded and Bernoulli rewards: (high - low)^2/4 whatever the contexts. Gaussian ones: sigma^2, plus the variance of
    x'theta over contexts: the largest theta'Cov theta, and at least 1/4 (x'theta anywhere in [0, 1]) unless the
    contexts are Gaussian or fixed.

    >>> reward_variance(Collection.gaussian([[0.0, 1.0], [1.0, 0.0]], sigma=2.0))
    4.0
    """
    noise = collection.rewards.variance_proxy
    contexts, theta = collection.contexts, collection.theta
    if collection.rewards.has_range or contexts is None or theta is None:
        return noise
    spread = float(np.einsum("ikd,de,ike->ik", theta, contexts.covariance, theta).max())
    if contexts.kind in (ContextKind.FIXED, ContextKind.GAUSSIAN):
        return noise + spread
    return noise + max(spread, 0.25)


def _check(collection: Collection) -> None:
    M, K = collection.means.shape
    for count, name, word, why in (
        (M, "tasks", "task", "With one kind of case there is nothing to find out: use its best arm."),
        (K, "arms", "arm", "With one arm there is nothing to choose."),
    ):
        if count < 2:
            raise invalid(f"the number of {name}", "at least 2", count, why)
        names = getattr(collection, name)
        if len(names) != count:
            raise invalid(f"{name}", f"{count} names, one per {word}", len(names))
        if repeated := [given for given, times in Counter(names).items() if times > 1]:
            raise invalid(f"{name}", "all different", repeated, f"Give each {word} a name of its own.")
        if any(not given.strip() for given in names):
            raise invalid(f"{name}", "non-empty names", names)
        check_texts(name, names)
    _check_means(collection)
    if (collection.theta is None) != (collection.contexts is None):
        raise InvalidInput("theta and contexts must be given together. Use Collection.linear.")
    if collection.theta is not None and collection.chances is not None:
        raise InvalidInput("Graded rewards are for tasks without contexts. Use Gaussian or bounded rewards.")
    if collection.theta is not None and collection.theta.shape[:2] != (M, K):
        raise invalid("theta", f"of shape ({M}, {K}, features)", collection.theta.shape)
    if not (np.isfinite(collection.radius).all() and collection.radius.min() >= 0):
        raise invalid("radius", "finite and at least 0 everywhere", float(collection.radius.min()))
    if collection.spread is not None:
        _check_spread(collection, collection.spread)
    counts = collection.counts
    if counts is not None and (counts.shape != (M, K) or counts.min() < 0):
        raise invalid("counts", f"of shape {(M, K)} and at least 0", counts.shape)


def _check_spread(collection: Collection, spread: FloatArray) -> None:
    if spread.shape != collection.means.shape or spread.min() < 0:
        raise invalid("spread", f"of shape {collection.means.shape} and at least 0", spread.shape)
    most = (collection.rewards.high - collection.rewards.low) / 2
    if spread.max() > most:
        raise invalid("spread", f"at most {most:g}, half the range of the rewards", float(spread.max()))
    if collection.theta is not None:
        raise InvalidInput("spread must be omitted with contexts: cases that vary are drawn without them.")


def _check_means(collection: Collection) -> None:
    low, high = collection.rewards.low, collection.rewards.high
    outside = np.argwhere((collection.means < low) | (collection.means > high))
    if outside.size:
        i, k = outside[0]
        raise InvalidInput(
            f"means of {collection.rewards.family} rewards must be in [{low:g}, {high:g}]. Got "
            f"{collection.means[i, k]:g} for task {collection.tasks[i]!r}, arm {collection.arms[k]!r} "
            f"({len(outside)} such in all). Correct them, or use another reward family."
        )
