"""Rewards with normal noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards.base import (
    LOG_FLOOR,
    MOST,
    Bounds,
    Cells,
    Family,
    Rewards,
    Scoring,
    between_edges,
    hoeffding_totals,
)

FOUR_BINS = (-3, -1, 1, 3)  # The points of a normal reward, close to its best four-level rounding ...
BIN_WIDTH = 0.98  # ... with cuts this many standard deviations from the middle one.
FAR, FINE = 7.0, 0.02  # For bounds from below, outcomes are listed this far out and this close, in standard deviations.
CENTRES = 6  # This many middle cuts are tried per arm.


@dataclass(frozen=True)
class Gaussian(Rewards):
    """Normal rewards around the mean of each task and arm, all with the standard deviation `sigma`.

    `sigma` stands for the paper's bound on sigma_ik; `UnevenGaussian` has each of them.

    >>> Gaussian(sigma=2.0).variance_proxy
    4.0
    """

    family: ClassVar[Family] = Family.GAUSSIAN
    low: ClassVar[float] = -np.inf  # type: ignore[misc]
    high: ClassVar[float] = np.inf  # type: ignore[misc]
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.sigma <= MOST:
            raise invalid("sigma", f"a number above 0, at most {MOST:g}, for Gaussian rewards", self.sigma)

    @property
    def rule(self) -> str:
        """What a reward must be."""
        return f"a finite number of size at most {MOST:g}"

    def impossible(self, reward: Any) -> Any:
        """Nothing is."""
        return False

    @property
    def variance_proxy(self) -> float:
        """sigma^2."""
        return self.sigma**2

    def deviation(self, parameters: FloatArray) -> Any:
        """The standard deviation of the noise in each cell."""
        return self.sigma

    def sample(self, parameters: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Normal draws."""
        return np.asarray(rng.normal(self.means(parameters), self.deviation(parameters)))

    def log_density(self, reward: float | FloatArray, parameters: FloatArray) -> FloatArray:
        """The normal log-density."""
        sigma = self.deviation(parameters)
        z = (np.asarray(reward) - self.means(parameters)) / sigma
        value = -0.5 * z * z - np.log(sigma * np.sqrt(2 * np.pi))
        return np.asarray(np.maximum(value, LOG_FLOOR), dtype=np.float64)

    def log_predictive(
        self, reward: FloatArray, parameters: FloatArray, spread: FloatArray, n: FloatArray, total: FloatArray
    ) -> FloatArray:
        """Cases vary as a normal distribution with that mean and standard deviation."""
        noise, means = self.deviation(parameters) ** 2, self.means(parameters)
        weight = spread**2 / (noise + n * spread**2)  # of what is known about the case, per reward
        z = np.asarray(reward) - means - weight * (total - n * means)
        variance = noise * (1 + weight)
        value = -0.5 * z * z / variance - 0.5 * np.log(2 * np.pi * variance)
        return np.asarray(np.maximum(value, LOG_FLOOR), dtype=np.float64)

    def kl(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """(p - q)^2 / (2 sigma^2), and what differing noise adds."""
        first, second, apart = self.deviation(p), self.deviation(q), self.means(p) - self.means(q)
        ratio = first / second
        return np.asarray(apart**2 / (2 * second**2) + (ratio**2 - 1) / 2 - np.log(ratio))

    def hellinger_squared(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """1 - exp(-(p - q)^2 / (8 sigma^2)), and what differing noise adds."""
        first, second, apart = self.deviation(p), self.deviation(q), self.means(p) - self.means(q)
        both = first**2 + second**2
        uneven = 0.5 * np.log1p(-((first - second) ** 2) / both)
        return np.asarray(-np.expm1(uneven - apart**2 / (4 * both)))

    def hellinger_over_contexts(
        self, centre: FloatArray, spread: FloatArray, p: FloatArray, q: FloatArray
    ) -> FloatArray | None:
        """1 - E exp(-z^2/(8 sigma^2)) for normal z = x'(theta_i - theta_j), and what differing noise adds."""
        first, second = self.deviation(p), self.deviation(q)
        both = first**2 + second**2
        more = spread / (2 * both)
        uneven = 0.5 * np.log1p(-((first - second) ** 2) / both)
        exponent = uneven - centre**2 / (4 * both * (1.0 + more)) - 0.5 * np.log1p(more)
        return np.asarray(-np.expm1(exponent))

    def outcomes_from_below(self, parameters: FloatArray) -> FloatArray:
        """Rewards on a fine grid per arm, which are seen a little too rarely.

        What is lost from weights w on is concave in w, grows with w and is proportional to it. Between two grid points
        every task's density is at least (1 - e) times the straight line between its ends; so the loss after a reward in
        between is at least (1 - e) times the mixture of those at the ends. e: the curvature over the least density.
        """
        means, sigma = self.means(parameters), np.broadcast_to(self.deviation(parameters), parameters.shape[:2])
        low, high = (means - FAR * sigma).min(axis=0), (means + FAR * sigma).max(axis=0)  # (K,)
        G = int(np.ceil(((high - low) / sigma.min(axis=0)).max() / FINE)) + 1
        width = (high - low) / (G - 1)
        z = ((low + width * np.arange(G)[:, None])[:, None] - means) / sigma  # (G, M, K)
        density = np.exp(-0.5 * z * z) / (sigma * np.sqrt(2 * np.pi))
        first, second = density[:-1], density[1:]
        bend = np.maximum(np.maximum(z[:-1] ** 2, z[1:] ** 2) - 1, 0.0) * np.maximum(first, second) / sigma**2
        # A density that small counts as 0: less weight, less loss. The straight line down to 0 is below it, since FAR
        # times FINE is less than 1.
        near = np.abs(z) <= FAR
        error = np.where(near[:-1] & near[1:], width**2 / 8 * bend / np.maximum(np.minimum(first, second), 1e-300), 0.0)
        seen = np.maximum(1 - 1e-9 - error.max(axis=1, keepdims=True), 0.0) * width / 2  # (G - 1, 1, K)
        edge = np.zeros((1, 1, len(width)))
        return np.asarray(near * density * (np.concatenate([edge, seen]) + np.concatenate([seen, edge])))

    def totals(self, cells: Cells, pulls: FloatArray, limit: FloatArray) -> Bounds:
        """Normal, at both ends of the mean; sub-Gaussian bounds if contexts are not known to be normal."""
        from scipy.special import ndtr

        means = self.means(cells.parameters)
        low, high = means - cells.radius, means + cells.radius
        if not cells.normal_contexts:
            return hoeffding_totals(low, high, cells.variance, pulls, limit)
        spreads = [deviation * np.sqrt(pulls) for deviation in self._deviations(cells)]
        at_most = np.stack([ndtr((limit - pulls * mu) / spread) for mu in (low, high) for spread in spreads])
        above = np.stack([ndtr((pulls * mu - limit) / spread) for mu in (low, high) for spread in spreads])
        least, most = (np.stack([end(at_most, axis=0), end(above, axis=0)], axis=-1) for end in (np.min, np.max))
        return least, most

    def bins(self, cells: Cells, cuts: FloatArray) -> Bounds:
        """Normal chances of intervals, averaged over the contexts of a sample where there is one."""
        if cells.rows is not None:
            noise = (np.asarray(self.deviation(cells.parameters)),)
            each = [self._bins(mu, doubt, noise, cuts) for mu, doubt in zip(*cells.rows, strict=True)]
            return np.mean([least for least, _ in each], axis=0), np.mean([most for _, most in each], axis=0)
        return self._bins(self.means(cells.parameters), cells.radius, self._deviations(cells), cuts)

    @staticmethod
    def _bins(means: FloatArray, radius: FloatArray, deviations: Sequence[FloatArray], cuts: FloatArray) -> Bounds:
        """The chance of a bin grows as the mean comes closer to its middle, at each of the deviations."""
        if len(deviations) == 1 and not np.any(radius):
            chance = _between((cuts - means[..., None]) / deviations[0][..., None])
            return chance, chance
        left, right = between_edges(cuts)
        low, high = ((means + sign * radius)[..., None] for sign in (-1, 1))
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isinf(left), -np.inf, np.where(np.isinf(right), np.inf, (left + right) / 2))
        nearest = np.clip(middle, low, high)
        least, most = [], []
        for deviation in deviations:
            ends = [_interval(left, right, mu, deviation[..., None]) for mu in (low, high, nearest)]
            least.append(np.minimum(ends[0], ends[1]))
            most.append(ends[2])
        if len(deviations) > 1:  # in between, the chance of an interval beside the mean may be larger still
            likeliest = np.clip(_likeliest(left - nearest, right - nearest), *(d[..., None] for d in deviations))
            most.append(_interval(left, right, nearest, likeliest))
        return np.min(least, axis=0), np.max(most, axis=0)

    def ratio_bins(
        self, cells: Cells, by: Rewards, first: FloatArray, second: FloatArray, unit: float, most: int
    ) -> Bounds:
        """The points grow (or fall) with the reward, so that their bins are intervals of it."""
        apart, middle = first - second, (first + second) / 2
        edges = (np.arange(-most, most) + 0.5) * unit * by.variance_proxy
        with np.errstate(divide="ignore"):
            cuts = middle[..., None] + edges / np.abs(apart)[..., None]
        noise = np.asarray(self.deviation(cells.parameters))
        bounds = self._bins(self.means(cells.parameters), cells.radius, (noise,), cuts)
        falls = (apart < 0)[..., None]
        least, highest = (np.where(falls, bound[..., ::-1], bound) for bound in bounds)
        return least, highest

    def log_ratio(self, reward: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """(first - second) (reward - their middle) / sigma^2."""
        return np.asarray((first - second) * (reward - (first + second) / 2) / self.sigma**2)

    def doubts(self, cells: Cells, totals: bool = True) -> tuple[str, ...]:
        """Totals over contexts that are not normal, which are bounded by their sub-Gaussian variance."""
        if cells.normal_contexts or not totals:
            return ()
        return ("totals are bounded by the sub-Gaussian scale of the sampled contexts",)

    def _deviations(self, cells: Cells) -> tuple[FloatArray, ...]:
        """The standard deviation of a reward, contexts included: the least and the most where it is not known."""
        noise = self.deviation(cells.parameters) ** 2
        root, doubt = np.sqrt(np.maximum(cells.context_variance, 0.0)), np.asarray(cells.deviation_margin)
        if not doubt.any():
            return (np.asarray(np.sqrt(noise + root**2)),)
        ends = (np.maximum(root - doubt, 0.0), root + doubt)
        return tuple(np.asarray(np.sqrt(noise + end**2)) for end in ends)

    def scorings(self, parameters: Sequence[FloatArray]) -> list[list[Scoring]]:
        """Four bins around a middle cut, at each of a few quantiles of the arm's means."""
        found = []
        for own in parameters:
            sigma = float(np.sqrt(np.mean(np.square(self.deviation(own)))))
            digit = 10.0 ** np.floor(np.log10(sigma / 10))
            width = float(f"{BIN_WIDTH * sigma:.2g}")
            centres = np.quantile(self.means(own), (np.arange(CENTRES) + 0.5) / CENTRES)
            middle = np.round(centres / digit) * digit
            cuts = np.round(middle[:, None] + width * np.array([-1.0, 0.0, 1.0]), 12)
            found.append([Scoring(FOUR_BINS, tuple(row)) for row in cuts.tolist()])
        return found

    @classmethod
    def unknown(cls, values: Sequence[float] = ()) -> Self:
        """Any sigma will do to add up a log."""
        return cls(sigma=1.0)

    @classmethod
    def fitted(cls, scatter: FloatArray, freedom: FloatArray, values: Sequence[float] = ()) -> Self:
        """The pooled sigma of all cells.

        A cell noisier than the pooled sigma can explain (one in 10,000) counts by itself: sigma is to bound them all.
        """
        used = freedom > 0
        if not used.any():
            raise InvalidInput("sigma cannot be estimated: no task and arm has rows to spare. Give more rows.")
        from scipy.special import gammaincinv

        pooled = scatter[used].sum() / freedom[used].sum()
        if not pooled > 0:
            raise InvalidInput(
                "The rewards of every task and arm are all the same, so there is no noise to estimate. Give sigma."
            )
        noisy = used & (scatter > pooled * 2 * gammaincinv(np.maximum(freedom, 1) / 2, 1 - 1e-4 / used.sum()))
        worst = (scatter[noisy] / freedom[noisy]).max(initial=0.0)
        return cls(sigma=float(np.sqrt(max(pooled, worst))))


@dataclass(frozen=True)
class UnevenGaussian(Gaussian):
    """Normal rewards whose noise differs by task and arm: the parameters (..., 2) are the mean and its deviation.

    `sigma` bounds them all. What a plan keeps of the rewards is that bound.

    >>> UnevenGaussian(sigma=2.0).kl(np.array([0.0, 1.0]), np.array([0.0, 2.0])).round(4).tolist()
    0.3181
    """

    def means(self, parameters: FloatArray) -> FloatArray:
        """The first of both."""
        return np.asarray(parameters[..., 0])

    def deviation(self, parameters: FloatArray) -> Any:
        """The second of both."""
        return parameters[..., 1]

    @property
    def of_a_plan(self) -> Rewards:
        """Normal rewards with the bound of the noise."""
        return Gaussian(sigma=self.sigma)

    def shifted(self, parameters: FloatArray, shift: FloatArray) -> FloatArray:
        """Other means with the same noise."""
        return np.stack(np.broadcast_arrays(parameters[..., 0] + shift, parameters[..., 1]), axis=-1)


def _interval(left: FloatArray, right: FloatArray, mu: FloatArray, deviation: FloatArray) -> FloatArray:
    """The chance that a normal reward is between two numbers."""
    from scipy.special import ndtr

    a, b = (left - mu) / deviation, (right - mu) / deviation
    return np.asarray(np.where(a > 0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a)))


def _between(edges: FloatArray) -> FloatArray:
    """The chances (..., B) that a standard normal number is between increasing edges (..., B-1), with all their digits.

    Each edge is looked up once from either side, and the side away from the middle is subtracted.
    """
    from scipy.special import ndtr

    ends = np.zeros((*edges.shape[:-1], 1))
    below = np.concatenate([ends, ndtr(edges), ends + 1.0], axis=-1)
    above = np.concatenate([ends + 1.0, ndtr(-edges), ends], axis=-1)
    right_of_middle = np.concatenate([ends > 0, edges > 0], axis=-1)
    return np.asarray(np.where(right_of_middle, above[..., :-1] - above[..., 1:], below[..., 1:] - below[..., :-1]))


def _likeliest(left: FloatArray, right: FloatArray) -> FloatArray:
    """The standard deviation at which a normal reward of mean 0 is most often between two numbers of the same sign."""
    near, far = np.minimum(np.abs(left), np.abs(right)), np.maximum(np.abs(left), np.abs(right))
    beside = (left * right > 0) & np.isfinite(far)
    near, far = np.where(beside, near, 1.0), np.where(beside, far, 2.0)
    return np.asarray(np.where(beside, np.sqrt((far**2 - near**2) / (2 * np.log(far / near))), 1.0))
