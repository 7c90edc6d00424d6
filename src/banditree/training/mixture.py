"""A mixture over individuals, fitted by EM from sums alone: which individuals respond alike.

No well-kept library fits one from sums per individual and arm: StepMix and scikit-learn's mixtures take rows of equal
length, one column per variable. Both families here are exponential, so one EM over a table of sufficient statistics
serves both: the log-likelihood of an individual is linear in its sums, and the M-step adds up weighted sums.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.rewards import family_named
from banditree.training.grades import outcome_counts
from banditree.training.statistics import Statistics

MAX_STEPS = 300  # EM takes at most this many steps.
CLOSE = 1e-7  # EM stops when the relative gain in log-likelihood is below this.
CANDIDATES = 8  # Each class of a start is the best of this many individuals.
CHUNK = 500  # This many individuals are looked at at once.
FLOOR = 1e-6  # Rates are kept this far from 0 and 1.

Coefficients = Callable[[FloatArray], FloatArray]  # (C, K, q) sums per class and arm -> (K q, C)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sufficient statistics of U individuals: `table` is sparse, (U, K q), q numbers per arm.

    0/1 rewards: q = 2, failures and successes. Linear-Gaussian: the products of (1, x, r), flat.
    `pooled` (K, q) is one row's worth of the whole log for each arm, which every class starts with, so that an arm that
    a class has hardly tried looks like everyone's. `coefficients` is the M-step.
    """

    table: Any
    pooled: FloatArray
    coefficients: Coefficients
    n_parameters: int  # of one class

    @property
    def n_individuals(self) -> int:
        """U."""
        return int(self.table.shape[0])

    @property
    def is_counted(self) -> bool:
        """Whether the table holds failures and successes, so that classes have rates."""
        return self.coefficients in (bernoulli_coefficients, choice_coefficients)

    @property
    def is_choice(self) -> bool:
        """Whether one of the arms is a success each time, so that their rewards depend on each other."""
        return self.coefficients is choice_coefficients

    def only(self, individuals: IntArray) -> "Sums":
        """The same for some of the individuals."""
        return Sums(self.table[individuals], self.pooled, self.coefficients, self.n_parameters)

    def counted(self) -> tuple[FloatArray, FloatArray]:
        """Rows and successes (U, K) of every individual, of 0/1 rewards."""
        failures, successes = self.table[:, 0::2].toarray(), self.table[:, 1::2].toarray()
        return failures + successes, successes

    def discounted(self, rho: float) -> "Sums":
        """The same with n rows of an individual and arm counted as n / (1 + (n - 1) rho)."""
        if rho == 0:
            return self
        from scipy.sparse import csr_array

        n, _ = self.counted()
        factor = np.repeat(1 / (1 + np.maximum(n - 1, 0) * rho), 2, axis=1)
        return Sums(csr_array(self.table.multiply(factor)), self.pooled, self.coefficients, self.n_parameters)


@dataclass(frozen=True, eq=False)
class Mixture:
    """C classes: their shares (C,), coefficients (K q, C), and the log-likelihood they were fitted to.

    correlation: between two 0/1 rewards of one individual and arm, beyond its class (see `overdispersion`).
    strength: (C,) of the Dirichlet distributions around the rates, where one arm is a success each time.
    """

    shares: FloatArray
    coefficients: FloatArray
    log_likelihood: float
    is_counted: bool = False
    correlation: float = 0.0
    strength: FloatArray | None = None

    @property
    def rates(self) -> FloatArray | None:
        """The rate (C, K) of every class and arm, where rewards are 0 or 1."""
        if not self.is_counted:
            return None
        return np.asarray(np.exp(self.coefficients[1::2].T))

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.shares)

    def sorted(self, order: IntArray) -> "Mixture":
        """The same with the classes in another order."""
        strength = None if self.strength is None else self.strength[order]
        return replace(self, shares=self.shares[order], coefficients=self.coefficients[:, order], strength=strength)


def sums_of(statistics: Statistics, family: str) -> Sums:
    """The table for a mixture over the tasks of `statistics`, which are individuals here.

    0/1 rewards without contexts are Bernoulli, or multinomial where one arm is a success each time; graded ones are
    categorical; all others linear-Gaussian with an intercept.
    """
    if family_named(family).by_chances:
        values = np.column_stack(list(outcome_counts(statistics).values()))
        return _sums(statistics, values, chance_coefficients, len(statistics.arms) * (values.shape[1] - 1))
    if family_named(family).counts and not statistics.features:
        successes = statistics.sums[:, 0]
        values = np.column_stack([statistics.count - successes, successes])
        if one_each_time(statistics):
            return _sums(statistics, values, choice_coefficients, len(statistics.arms))  # K - 1 rates and a strength
        return _sums(statistics, values, bernoulli_coefficients, len(statistics.arms))
    p = statistics.sums.shape[1] + 1
    values = np.empty((len(statistics.count), p, p))
    values[:, 0, 0] = statistics.count
    values[:, 0, 1:] = values[:, 1:, 0] = statistics.sums
    values[:, 1:, 1:] = statistics.products
    flat = values.reshape(len(values), p * p)
    return _sums(statistics, flat, gaussian_coefficients, len(statistics.arms) * (p - 1))


def one_each_time(statistics: Statistics) -> bool:
    """Whether every occasion shows all arms, exactly one of them a success: what was bought, of all that was there.

    Seen from the sums: an individual has as many rows of every arm, and as many successes in all. Rows of one occasion
    then depend on each other, and counting them as independent would take each purchase for K pieces of evidence.
    """
    U, K = len(statistics.tasks), len(statistics.arms)
    if K < 2 or len(statistics.count) != U * K:
        return False
    count, successes = np.zeros((U, K)), np.zeros((U, K))
    count[statistics.task, statistics.arm] = statistics.count
    successes[statistics.task, statistics.arm] = statistics.sums[:, 0]
    return bool((count == count[:, :1]).all() and (successes.sum(axis=1) == count[:, 0]).all())


def _sums(statistics: Statistics, values: FloatArray, coefficients: Coefficients, n_parameters: int) -> Sums:
    from scipy.sparse import csr_array

    q = values.shape[1]
    n_arms = len(statistics.arms)
    column = (statistics.arm[:, None] * q + np.arange(q)).ravel()
    row = np.repeat(statistics.task, q)
    table = csr_array((values.ravel(), (row, column)), shape=(len(statistics.tasks), n_arms * q))
    total, rows = np.zeros((n_arms, q)), np.zeros(n_arms)
    np.add.at(total, statistics.arm, values)
    np.add.at(rows, statistics.arm, statistics.count)
    return Sums(table, total / np.maximum(rows, 1)[:, None], coefficients, n_parameters)


def chance_coefficients(sums: FloatArray) -> FloatArray:
    """The log of the chance of every value, of every class and arm."""
    chance = np.maximum(sums / np.maximum(sums.sum(axis=2, keepdims=True), 1e-300), FLOOR)
    return np.asarray(np.log(chance).reshape(len(sums), -1).T)


def bernoulli_coefficients(sums: FloatArray) -> FloatArray:
    """log(1 - rate) and log(rate) of every class and arm."""
    rate = np.clip(sums[:, :, 1] / np.maximum(sums.sum(axis=2), 1e-300), FLOOR, 1 - FLOOR)
    return np.asarray(np.log(np.stack([1 - rate, rate], axis=2)).reshape(len(sums), -1).T)


def choice_coefficients(sums: FloatArray) -> FloatArray:
    """0 and log(rate) of every class and arm: the rates of a class add up to 1, and a failure tells nothing more."""
    rate = np.maximum(sums[:, :, 1], FLOOR * np.maximum(sums[:, :, 1].sum(axis=1, keepdims=True), 1e-300))
    rate /= rate.sum(axis=1, keepdims=True)
    return np.asarray(np.stack([np.zeros_like(rate), np.log(rate)], axis=2).reshape(len(sums), -1).T)


def gaussian_coefficients(sums: FloatArray) -> FloatArray:
    """The log-density as a form in the products of (1, x, r): theta by least squares, one sigma for all."""
    n_classes, n_arms, q = sums.shape
    p = int(np.sqrt(q))
    products = sums.reshape(n_classes, n_arms, p, p)
    gram = products[:, :, :-1, :-1]
    size = np.einsum("ckii->ck", gram)[:, :, None, None] / (p - 1)
    gram = gram + 1e-9 * size * np.eye(p - 1) + 1e-300 * np.eye(p - 1)
    theta = np.linalg.solve(gram, products[:, :, :-1, -1:])[..., 0]
    direction = np.concatenate([-theta, np.ones((n_classes, n_arms, 1))], axis=2)
    left = np.einsum("cki,ckij,ckj->ck", direction, products, direction)
    variance = max(float(left.sum() / products[:, :, 0, 0].sum()), 1e-300)
    form = -0.5 * direction[:, :, :, None] * direction[:, :, None, :] / variance
    form[:, :, 0, 0] -= 0.5 * np.log(2 * np.pi * variance)  # times the count, the product of 1 and 1
    return np.asarray(form.reshape(n_classes, n_arms * q).T)


def posterior(sums: Sums, mixture: Mixture) -> tuple[FloatArray, float]:
    """The chance (U, C) of every class for every individual, and the log-likelihood of all."""
    from scipy.special import logsumexp

    joint = sums.discounted(mixture.correlation).table @ mixture.coefficients + np.log(mixture.shares)
    evidence = logsumexp(joint, axis=1)
    return np.exp(joint - evidence[:, None]), float(evidence.sum())


def fit_mixture(sums: Sums, n_classes: int, n_starts: int, rng: np.random.Generator) -> Mixture:
    """The best of `n_starts` runs of EM."""
    runs = [_run_em(sums, _start(sums, n_classes, rng)) for _ in range(n_starts if n_classes > 1 else 1)]
    return max(runs, key=lambda run: run.log_likelihood)


def refine_mixture(sums: Sums, mixture: Mixture) -> Mixture:
    """The mixture after EM on these individuals, started from one that was fitted to others."""
    return _run_em(sums, posterior(sums, mixture)[0])


def _run_em(sums: Sums, chances: FloatArray) -> Mixture:
    """EM from the chances (U, C) of a start until the likelihood no longer grows."""
    before = -np.inf
    mixture = _maximise(sums, chances)
    for _ in range(MAX_STEPS):
        chances, now = posterior(sums, mixture)
        if now - before <= CLOSE * abs(now):
            break
        before, mixture = now, _maximise(sums, chances)
    return replace(mixture, log_likelihood=now)


def _maximise(sums: Sums, chances: FloatArray) -> Mixture:
    n_arms, q = sums.pooled.shape
    by_class = (sums.table.T @ chances).T.reshape(-1, n_arms, q) + sums.pooled
    shares = np.maximum(chances.sum(axis=0), 1e-9)
    return Mixture(shares / shares.sum(), sums.coefficients(by_class), -np.inf, sums.is_counted)


def _start(sums: Sums, n_classes: int, rng: np.random.Generator) -> FloatArray:
    """A start in the manner of greedy k-means++: each class begins as one individual that those before fit badly.

    Of a few such individuals, the one is taken that as a class would raise the likelihood of all the most.
    """
    best_possible = _own_fit(sums)
    fits = [_fit_to(sums, int(rng.integers(sums.n_individuals)))]
    best = fits[0]
    while len(fits) < n_classes:
        loss = np.maximum(best_possible - best, 0.0) + 1e-12
        drawn = rng.choice(sums.n_individuals, CANDIDATES, p=loss / loss.sum())
        candidates = [_fit_to(sums, int(individual)) for individual in drawn]
        fits.append(max(candidates, key=lambda fit: float(np.maximum(best, fit).sum())))
        best = np.maximum(best, fits[-1])
    chances = np.zeros((sums.n_individuals, n_classes))
    chances[np.arange(sums.n_individuals), np.argmax(fits, axis=0)] = 1.0
    return chances


def _fit_to(sums: Sums, individual: int) -> FloatArray:
    """The log-likelihood (U,) of everyone if they all responded like one individual."""
    n_arms, q = sums.pooled.shape
    own = sums.table[[individual]].toarray().reshape(1, n_arms, q) + sums.pooled
    return np.asarray(sums.table @ sums.coefficients(own)).ravel()


def _own_fit(sums: Sums) -> FloatArray:
    """The log-likelihood (U,) of everyone as a class of their own, the most that any start can reach."""
    n_arms, q = sums.pooled.shape
    found = []
    for first in range(0, sums.n_individuals, CHUNK):
        own = sums.table[first : first + CHUNK].toarray()
        coefficients = sums.coefficients(own.reshape(-1, n_arms, q) + sums.pooled)
        found.append((own * coefficients.T).sum(axis=1))
    return np.concatenate(found)
