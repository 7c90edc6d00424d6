"""Collection: the M tasks a case may belong to, as far as they are known."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from banditree.errors import invalid
from banditree.nouns import counted
from banditree.tasks.arrays import FloatArray, IntArray, frozen, frozen_numbers
from banditree.tasks.collection_checks import check_collection, checked_chances, checked_noise, checked_shares
from banditree.tasks.contexts import ContextKind, Contexts, Feature, averaging_rows
from banditree.tasks.harm import Harm
from banditree.tasks.predictions import MUCH, clipped_share, mean_rewards, predict, sub_gaussian_variance
from banditree.tasks.reward_cells import deviation_margin, margin_at
from banditree.tasks.rewards import BERNOULLI, Bounded, Gaussian, Graded, Link, Rewards, UnevenGaussian
from banditree.tasks.worth import Worth

if TYPE_CHECKING:
    from banditree.tasks.states import StateCollection


class Known(TypedDict, total=False):
    """What may be known of tasks besides their rewards: names, margins (M, K) or one for all, where they come from, how
    frequent each task is (M,), how much cases of one task differ (M, K), and what outcomes are worth."""

    tasks: Sequence[str] | None
    arms: Sequence[str] | None
    radius: Any
    provenance: str
    shares: Any
    spread: Any
    worth: Worth | None


@dataclass(frozen=True, eq=False)
class Collection:
    """M tasks x K arms: mean rewards, names, reward family, contexts, and how well all this is known.

    `means` (M, K) are the mean rewards, over contexts if there are any; `theta` (M, K, d) the linear parameters of
    contextual tasks, or None. `radius` (M, K) bounds how far each mean may be from the truth (0: known),
    `counts` (M, K) how many rewards each was estimated from (None: unknown), and `provenance` says where the numbers
    came from. `shares` (M,) are the shares of the tasks among cases (None: unknown, all alike), and `spread` (M, K) the
    standard deviation of a case's own mean around that of its task (None: all cases of a task are alike).
    `chances` (M, K, G) are those of the values of graded rewards, from which their means follow. Where x'theta leaves
    the range of the rewards it counts as the nearest end, or lies on a logistic curve if the rewards have that link:
    means follow from theta and the contexts then.
    `noise` (M, K) are the standard deviations of Gaussian rewards where they differ (None: all have the family's).
    `theta_error` (M, K, d, d): with the confidence of the radius, the true x'theta is within sqrt(x'E x) of the
    estimated one at every context x at once; None: within the radius at every context.
    `worth`: what each outcome of each arm is worth, and what a change of arm costs; None: outcomes are worth what they
    are. Best arms, values and gaps are in its unit, and come from `round_worth`; what outcomes say about a case never
    does.
    `harm`: the chances of a second outcome such as a side effect, None where nothing is known of any.
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
    noise: FloatArray | None = None
    worth: Worth | None = None
    harm: Harm | None = None

    def __post_init__(self) -> None:
        if self.rewards.by_chances:
            object.__setattr__(self, "chances", checked_chances(self.rewards, self.chances))
            object.__setattr__(self, "means", self.rewards.means(self.parameters))
        means = frozen_numbers("means", self.means, 2)
        object.__setattr__(self, "means", means)
        if self.noise is not None:
            object.__setattr__(self, "noise", checked_noise(self, self.noise))
            object.__setattr__(self, "rewards", UnevenGaussian(sigma=float(np.max(self.noise))))
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
            object.__setattr__(self, "shares", checked_shares(self.shares, means.shape[0]))
        if self.spread is not None:
            object.__setattr__(self, "spread", frozen_numbers("spread", self.spread, 2))
        check_collection(self)
        if self.theta is not None and self.contexts is not None and self.rewards.has_range:
            object.__setattr__(self, "means", frozen(mean_rewards(self.theta, self.contexts, self.rewards), float))

    @classmethod
    def bernoulli(cls, means: Any, **known: Unpack[Known]) -> "Collection":
        """Tasks whose rewards are 0 or 1, with these chances of a 1 (M, K)."""
        return cls._named(means, BERNOULLI, **known)

    @classmethod
    def gaussian(cls, means: Any, sigma: Any, **known: Unpack[Known]) -> "Collection":
        """Tasks whose rewards are normal around these means (M, K).

        sigma: the standard deviation of the noise, one for all or an array (M, K).

        >>> Collection.gaussian([[0, 1], [1, 0]], [[1.0, 2.0], [1.0, 3.0]]).rewards.sigma
        3.0
        """
        uneven = np.ndim(sigma) > 0
        return cls._named(means, Gaussian(sigma=1.0 if uneven else sigma), sigma if uneven else None, **known)

    @classmethod
    def bounded(cls, means: Any, low: float = 0.0, high: float = 1.0, **known: Unpack[Known]) -> "Collection":
        """Tasks whose rewards are known only by their means (M, K) and range [low, high]."""
        return cls._named(means, Bounded(low=low, high=high), **known)

    @classmethod
    def graded(
        cls, chances: Any, values: Sequence[float], *, names: Sequence[str] = (), **known: Unpack[Known]
    ) -> "Collection":
        """Tasks whose rewards are one of G increasing `values`, with these chances (M, K, G); names: of the values.

        A radius says that the chance of any set of values is known within radius / (greatest - least value).

        >>> Collection.graded([[[0.5, 0.5, 0], [0, 0.5, 0.5]], [[0, 0, 1], [1, 0, 0]]], [1, 2, 3]).means.tolist()
        [[1.5, 2.5], [3.0, 1.0]]
        """
        rewards = Graded(values=tuple(values), names=tuple(names))
        chances = frozen_numbers("chances", chances, 3)
        return cls._named(np.zeros(chances.shape[:2]), rewards, chances=chances, **known)

    @classmethod
    def _named(
        cls,
        means: Any,
        rewards: Rewards,
        noise: Any = None,
        *,
        tasks: Sequence[str] | None = None,
        arms: Sequence[str] | None = None,
        **more: Any,
    ) -> "Collection":
        """Tasks without contexts, with names for those that have none."""
        means = frozen_numbers("means", means, 2)
        named = _names(tasks, "task", means.shape[0]), _names(arms, "arm", means.shape[1])
        return cls(means, *named, rewards, noise=noise, **more)

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
        noise: Any = None,
    ) -> "Collection":
        """Contextual tasks: the mean reward of arm k of task i at context x is x'theta[i, k] (theta: M, K, d).

        Within the range of the rewards: a prediction above or below it counts as its end. With a logistic link
        (`Bernoulli(link="logistic")`) x'theta is the logarithm of the odds of a 1. noise: the standard deviations
        (M, K) of normal rewards where they differ.
        """
        theta = frozen_numbers("theta", theta, 3)
        if theta.shape[2] != contexts.n_features:
            raise invalid("theta", f"of shape (tasks, arms, {contexts.n_features}), as the contexts are", theta.shape)
        names_tasks, names_arms = _names(tasks, "task", theta.shape[0]), _names(arms, "arm", theta.shape[1])
        means = mean_rewards(theta, contexts, rewards)
        more = {"shares": shares, "theta_error": theta_error, "noise": noise}
        return cls(means, names_tasks, names_arms, rewards, contexts, theta, radius, provenance, **more)

    @classmethod
    def states(
        cls,
        rates: Any,
        moves: Any,
        *,
        states: Sequence[str] | None = None,
        start: Any = None,
        tasks: Sequence[str] | None = None,
        arms: Sequence[str] | None = None,
        shares: Any = None,
        provenance: str = "known",
        rate_margin: Any = None,
        move_margin: Any = None,
    ) -> "StateCollection":
        """Tasks whose cases are in one of several states, which changes with what is given (`tasks.states`).

        rates: (M, S, K), the chance of a success. moves: (M, S, K, S), the chance of each next state. start: the name
        of the first state or the chance of each, by default the first of the states. rate_margin, move_margin: how far
        estimated chances may be off.
        """
        from banditree.tasks.states import with_states

        names = {"tasks": tasks, "arms": arms, "states": states}
        margins = {"rate_margin": rate_margin, "move_margin": move_margin}
        return with_states(rates, moves, **names, **margins, start=start, shares=shares, provenance=provenance)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns of a context, none without contexts; plans have the same property."""
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
        """What the reward family needs to know about each task and arm: the means (M, K), or the chances (M, K, G).

        Where the noise of normal rewards differs: means and deviations (M, K, 2).
        """
        if self.noise is not None:
            return np.stack([self.means, self.noise], axis=-1)
        return self.means if self.chances is None else self.chances

    def parameters_at(self, means: FloatArray, arms: Any) -> FloatArray:
        """What the reward family needs to know where arms have these means (M, ...) at a context."""
        return means if self.noise is None else np.stack([means, self.noise[:, arms]], axis=-1)

    @property
    def varies(self) -> bool:
        """Whether cases of one task differ from each other."""
        return self.spread is not None and bool(self.spread.max() > 0)

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of each task in a mean over tasks (M,): its share, or 1/M where shares are unknown."""
        return frozen(np.full(self.n_tasks, 1 / self.n_tasks) if self.shares is None else self.shares, float)

    @cached_property
    def best_single_arm(self) -> int:
        """The one arm to give everyone: that worth most over tasks, each counted by its share.

        >>> Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], shares=[0.2, 0.8]).best_single_arm
        1
        """
        return int((self.weights @ self.round_worth).argmax())

    @cached_property
    def round_worth(self) -> FloatArray:
        """What a round of each arm is worth in each task on average (M, K): its mean reward where no worth is given.

        >>> from dataclasses import replace
        >>> from banditree.tasks.worth import Worth
        >>> two = Collection.bernoulli([[0.7, 0.5], [0.3, 0.6]], arms=["A", "B"])
        >>> priced = replace(two, worth=Worth(((-30.0, 70.0), (0.0, 100.0)), unit="EUR"))
        >>> priced.round_worth.round(9).tolist(), priced.best_arms.tolist(), two.best_arms.tolist()
        ([[40.0, 50.0], [0.0, 60.0]], [1, 1], [0, 1])
        """
        if self.worth is None:
            return self.means
        return frozen(self.worth.expected(self.rewards, self.means, self.chances), float)

    def worth_within(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the most (M, K) that a round of each arm may be worth where means are within a radius."""
        if not radius.any():
            return self.round_worth, self.round_worth
        (low, high), off = self.worth_range, radius * self.worth_per_reward
        return np.clip(self.round_worth - off, low, high), np.clip(self.round_worth + off, low, high)

    @property
    def worth_per_reward(self) -> FloatArray:
        """How much of the worth of each arm (K,) is uncertain for each 1 of its radius."""
        return np.ones(self.n_arms) if self.worth is None else self.worth.per_reward(self.rewards)

    @property
    def worth_range(self) -> tuple[FloatArray, FloatArray]:
        """The least and the most that an outcome of each arm (K,) is worth."""
        ends = np.tile([self.rewards.low, self.rewards.high], (self.n_arms, 1))
        if self.worth is not None and self.rewards.has_range:
            ends = np.array(self.worth.outcomes)
        return ends.min(axis=1), ends.max(axis=1)

    def earned(self, arm: IntArray, reward: FloatArray) -> FloatArray:
        """What some outcomes (n,) of some arms (n,) are worth."""
        return reward if self.worth is None else self.worth.of(self.rewards, arm, reward)

    @property
    def unit(self) -> str | None:
        """What worth is counted in; None where outcomes are worth what they are."""
        return None if self.worth is None else self.worth.unit

    @property
    def change_cost(self) -> float:
        """What a change of arm costs."""
        return 0.0 if self.worth is None else self.worth.change

    @cached_property
    def best_arms(self) -> IntArray:
        """The arm (M,) worth most in each task, the first among equals."""
        return frozen(self.round_worth.argmax(axis=1), np.int64)

    @cached_property
    def values(self) -> FloatArray:
        """What a round of each task's best policy is worth (M,): of its best arm, or argmax x'theta at every context.

        For contexts that vary the average is over 20,000 contexts drawn with a fixed seed (all rows of a sample).
        """
        if self.theta is None or self.contexts is None or self.contexts.kind is ContextKind.FIXED:
            return frozen(self.round_worth.max(axis=1), float)
        rows = averaging_rows(self.contexts)
        return frozen([predict(task, rows, self.rewards).max(axis=1).mean() for task in self.theta], float)

    @cached_property
    def gaps(self) -> FloatArray:
        """What one pull of each arm costs in each task on average (M, K): the best policy's worth less the arm's."""
        if self.theta is None or self.contexts is None or self.contexts.kind is ContextKind.FIXED:
            return frozen(np.maximum(self.values[:, None] - self.round_worth, 0.0), float)
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
            return float((np.sqrt(np.maximum(spread, 0.0)) + deviation_margin(self, contexts)).max())
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
        context += "" if self.rewards.link is Link.LINEAR else f", {self.rewards.link} link"
        outside, worth = "", "" if self.worth is None else f", worth in {self.worth.unit}"
        if self.clipped.max() >= MUCH:
            outside = (
                f"; x'theta is outside [{self.rewards.low:g}, {self.rewards.high:g}] at up to "
                f"{self.clipped.max():.0%} of the contexts and counts as the nearest end there"
            )
        return (
            f"Collection of {counted(self.n_tasks, 'task')} and {counted(self.n_arms, 'arm')}, "
            f"{self.rewards.family} rewards{context}, {known}{outside}{worth}"
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from banditree.figures.notebook import collection_bundle

        return collection_bundle(self)


def _names(given: Sequence[str] | None, word: str, count: int) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{word} {index + 1}" for index in range(count))
    return tuple(given)
