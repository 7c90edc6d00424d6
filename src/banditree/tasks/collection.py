"""Collection: the M tasks a case may belong to, as far as they are known."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from banditree.errors import InvalidInput, check_texts, invalid
from banditree.tasks.arrays import FloatArray, IntArray, frozen, frozen_numbers
from banditree.tasks.contexts import ContextKind, Contexts, Feature, averaging_rows
from banditree.tasks.predictions import MUCH, clipped_share, mean_rewards, predict, sub_gaussian_variance
from banditree.tasks.rewards import BERNOULLI, Bounded, Cells, Gaussian, Graded, Rewards


@dataclass(frozen=True, eq=False)
class Collection:
    """M tasks x K arms: mean rewards, names, reward family, contexts, and how well all this is known.

    `means` (M, K) are the mean rewards, over contexts if there are any; `theta` (M, K, d) the linear parameters of
    contextual tasks, or None. `radius` (M, K) bounds how far each mean may be from the truth (0: known),
    `counts` (M, K) how many rewards each was estimated from (None: unknown), and `provenance` says where the numbers
    came from. `shares` (M,) are the shares of the tasks among cases (None: unknown, all alike), and `spread` (M, K) the
    standard deviation of a case's own mean around that of its task (None: all cases of a task are alike).
    `chances` (M, K, G) are those of the values of graded rewards, from which their means follow. Where x'theta leaves
    the range of the rewards it counts as the nearest end: means follow from theta and the contexts then.
    `theta_error` (M, K, d, d): with the confidence of the radius, the true x'theta is within sqrt(x'E x) of the
    estimated one at every context x at once; None: within the radius at every context.
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
    theta_error: FloatArray | None = None

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
        if self.theta_error is not None:
            object.__setattr__(self, "theta_error", frozen(self.theta_error, float))
        if self.counts is not None:
            object.__setattr__(self, "counts", frozen(self.counts, np.int64))
        if self.shares is not None:
            object.__setattr__(self, "shares", _checked_shares(self.shares, means.shape[0]))
        if self.spread is not None:
            object.__setattr__(self, "spread", frozen_numbers("spread", self.spread, 2))
        _check(self)
        if self.theta is not None and self.contexts is not None and self.rewards.has_range:
            object.__setattr__(self, "means", frozen(mean_rewards(self.theta, self.contexts, self.rewards), float))

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
        theta_error: Any = None,
    ) -> "Collection":
        """Contextual tasks: the mean reward of arm k of task i at context x is x'theta[i, k] (theta: M, K, d).

        Within the range of the rewards: a prediction above or below it counts as its end.
        """
        theta = frozen_numbers("theta", theta, 3)
        if theta.shape[2] != contexts.n_features:
            raise invalid("theta", f"of shape (tasks, arms, {contexts.n_features}), as the contexts are", theta.shape)
        names_tasks, names_arms = _names(tasks, "task", theta.shape[0]), _names(arms, "arm", theta.shape[1])
        means = mean_rewards(theta, contexts, rewards)
        more = {"shares": shares, "theta_error": theta_error}
        return cls(means, names_tasks, names_arms, rewards, contexts, theta, radius, provenance, **more)

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
        if self.theta is None or self.contexts is None or self.contexts.kind is ContextKind.FIXED:
            return frozen(self.means.max(axis=1), float)
        rows = averaging_rows(self.contexts)
        return frozen([predict(task, rows, self.rewards).max(axis=1).mean() for task in self.theta], float)

    @cached_property
    def gaps(self) -> FloatArray:
        """What one pull of each arm costs in each task on average (M, K): the best policy's reward less the arm's."""
        if self.theta is None or self.contexts is None or self.contexts.kind is ContextKind.FIXED:
            return frozen(np.maximum(self.values[:, None] - self.means, 0.0), float)
        rows, found = averaging_rows(self.contexts), []
        for task in self.theta:  # both over the same contexts, so that their errors cancel
            predicted = predict(task, rows, self.rewards)
            found.append((predicted.max(axis=1, keepdims=True) - predicted).mean(axis=0))
        return frozen(found, float)

    @cached_property
    def context_scale(self) -> float:
        """The largest sub-Gaussian scale of x'theta over contexts, of any task and arm, at the worst theta."""
        contexts, theta = self.contexts, self.theta
        if theta is None or contexts is None:
            return 0.0
        if contexts.rows is None:
            spread = np.einsum("ikd,de,ike->ik", theta, contexts.covariance, theta)
            return float((np.sqrt(np.maximum(spread, 0.0)) + _deviation_margin(self, contexts)).max())
        most = 0.0
        for arm in range(self.n_arms):
            values = contexts.rows @ theta[:, arm].T
            doubt = margin_at(self, contexts.rows, arm).max(axis=0)
            for task in range(self.n_tasks):
                if np.ptp(values[:, task]) / 2 + doubt[task] > most:  # else it cannot be the largest
                    most = max(most, float(np.sqrt(sub_gaussian_variance(values[:, task])) + doubt[task]))
        return most

    @cached_property
    def clipped(self) -> FloatArray:
        """The share of contexts (M, K) at which x'theta is outside the range of the rewards."""
        if self.theta is None or self.contexts is None:
            return frozen(np.zeros(self.means.shape), float)
        return frozen(clipped_share(self.theta, self.contexts, self.rewards), float)

    def __str__(self) -> str:
        known = f"means within {self.radius.max():.3g}" if self.is_estimated else "means known"
        context = f", {self.contexts.n_features} context features" if self.contexts is not None else ""
        outside = ""
        if self.clipped.max() >= MUCH:
            outside = (
                f"; x'theta is outside [{self.rewards.low:g}, {self.rewards.high:g}] at up to "
                f"{self.clipped.max():.0%} of the contexts and counts as the nearest end there"
            )
        return (
            f"Collection of {self.n_tasks} tasks and {self.n_arms} arms, "
            f"{self.rewards.family} rewards{context}, {known}{outside}"
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


def with_case_features(collection: Collection, names: Sequence[str]) -> Collection:
    """The collection in which these columns of the context stay the same for a whole case.

    >>> from banditree.tasks.contexts import gaussian_contexts
    >>> ages = gaussian_contexts([50.0], [[100.0]], ["age"])
    >>> two = Collection.linear([[[0.002], [0.001]], [[0.001], [0.002]]], ages, BERNOULLI)
    >>> with_case_features(two, ["age"]).features[0].per_case
    True
    """
    contexts = collection.contexts
    columns = [] if contexts is None else sorted({feature.name for feature in contexts.features})
    if contexts is None or set(names) - set(columns):
        known = ", ".join(columns) or "the context, and there is none"
        raise invalid("the features of a case", f"some of {known}", names)
    features = tuple(replace(feature, per_case=feature.name in names) for feature in contexts.features)
    return replace(collection, contexts=replace(contexts, features=features))


TRUSTED = "estimates taken at their word"  # what marks a collection whose margins were set to zero


def trust_estimates(collection: Collection) -> Collection:
    """The collection as if its estimates were exact: shorter plans, without the promise; its provenance says so.

    >>> trust_estimates(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], radius=0.1)).provenance
    'known, estimates taken at their word'
    """
    if not collection.is_estimated:
        return collection
    provenance = f"{collection.provenance}, {TRUSTED}"
    return replace(collection, radius=np.zeros_like(collection.radius), theta_error=None, provenance=provenance)


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
    spread, doubt, rows = np.zeros(collection.means.shape), np.zeros(collection.means.shape), None
    if contexts is not None and theta is not None:
        spread = np.einsum("ikd,de,ike->ik", theta, contexts.covariance, theta)
        doubt = _deviation_margin(collection, contexts)
        if contexts.rows is not None and not collection.rewards.has_range:
            every = [(np.moveaxis(theta[:, k] @ contexts.rows.T, -1, 0), k) for k in range(collection.n_arms)]
            rows = np.stack([np.stack([value, margin_at(collection, contexts.rows, k)]) for value, k in every], axis=3)
            rows = rows[..., arms]
    return Cells(
        collection.parameters[:, arms],
        collection.radius[:, arms],
        spread[:, arms],
        contexts is None or contexts.kind is not ContextKind.SAMPLE,
        reward_variance(collection),
        doubt[:, arms],
        rows,
    )


def margin_at(collection: Collection, rows: FloatArray, arm: int) -> FloatArray:
    """How far x'theta of an arm may be off at each of the contexts `rows` (n, d), for every task: (n, M)."""
    if collection.theta_error is None or not collection.is_estimated:
        return np.broadcast_to(collection.radius[:, arm], (len(rows), collection.n_tasks))
    return _lengths(collection.theta_error[:, arm], rows)


def _lengths(error: FloatArray, rows: FloatArray) -> FloatArray:
    """sqrt(x'E x) for rows x (n, d) and matrices E (M, d, d)."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("nd,mde,ne->nm", rows, error, rows, optimize=True), 0.0)))


def _deviation_margin(collection: Collection, contexts: Contexts) -> FloatArray:
    """How far the standard deviation of x'theta over contexts may be off (M, K)."""
    if collection.theta_error is None or not collection.is_estimated:
        return np.zeros(collection.means.shape)
    return np.asarray(np.sqrt(np.maximum(np.einsum("de,iked->ik", contexts.covariance, collection.theta_error), 0.0)))


def reward_variance(collection: Collection) -> float:
    """The sub-Gaussian variance s^2 of one reward of a fixed arm around its mean, contexts included (NOTES 4).

    Bounded and Bernoulli rewards: (high - low)^2/4 whatever the contexts. Gaussian ones: sigma^2, plus the largest
    sub-Gaussian variance of x'theta: theta'Cov theta where contexts are normal, or count as normal because only their
    moments are known; over a sample, that of its rows. Where theta is estimated, at its worst.

    >>> reward_variance(Collection.gaussian([[0.0, 1.0], [1.0, 0.0]], sigma=2.0))
    4.0
    """
    noise = collection.rewards.variance_proxy
    contexts, theta = collection.contexts, collection.theta
    if collection.rewards.has_range or contexts is None or theta is None:
        return noise
    return noise + collection.context_scale**2


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
    error = collection.theta_error
    if error is not None and (collection.theta is None or error.shape != (*collection.theta.shape, error.shape[-1])):
        raise invalid("theta_error", "of shape (tasks, arms, features, features), beside theta", error.shape)
    if error is not None and not np.isfinite(error).all():
        raise invalid("theta_error", "finite everywhere", "a number that is not")
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
