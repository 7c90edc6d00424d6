"""A mixture over individuals, fitted by EM from sums alone: which individuals respond alike.

No well-kept library fits one from sums per individual and arm: StepMix and scikit-learn's mixtures take rows of equal
length, one column per variable. Both families here are exponential, so one EM over a table of sufficient statistics
serves both: the log-likelihood of an individual is linear in its sums, and the M-step adds up weighted sums.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.one_thread import in_one_thread
from banditree.tasks.rewards import family_named
from banditree.training.grades import outcome_counts
from banditree.training.statistics import Statistics

MAX_STEPS = 300  # EM takes at most this many steps.
CLOSE = 1e-7  # EM stops when the relative gain in log-likelihood is below this, and with many individuals when
ENOUGH = 0.003  # the gain itself is below this: rates then move by less than their standard errors show.
CANDIDATES = 8  # Each class of a start is the best of this many individuals.
CHUNK = 500  # This many individuals are looked at at once, each as a class of its own,
BLOCK = 20_000  # or this many in the classes of a mixture.
MANY = 20_000  # With more individuals each step is slow, so that steps are extrapolated.
LONGEST = 64.0  # An extrapolation goes at most this many steps ahead.
EVERYONE = slice(None)
MOST_DENSE = 64  # With 64 numbers or fewer per individual, hardly any are 0.
FLOOR = 1e-6  # Rates are kept this far from 0 and 1.

Coefficients = Callable[[FloatArray], FloatArray]  # (C, K, q) sums per class and arm -> (K q, C)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sufficient statistics of U individuals: `table` is (U, K q), q numbers per arm; sparse where arms are many.

    0/1 rewards: q = 2, failures and successes. Linear-Gaussian: the products of (1, x, r), flat.
    `pooled` (K, q) is one row's worth of the whole log for each arm, which every class starts with, so that an arm that
    a class has hardly tried looks like everyone's. `coefficients` is the M-step.
    """

    table: Any
    pooled: FloatArray
    coefficients: Coefficients
    n_parameters: int  # of one class
    rho: float = 0.0  # n rows of an individual and arm count as n / (1 + (n - 1) rho)

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
        return replace(self, table=self.table[individuals])

    def counted(self) -> tuple[FloatArray, FloatArray]:
        """Rows and successes (U, K) of every individual, of 0/1 rewards."""
        table = _dense(self.table).astype(float)
        return table[:, 0::2] + table[:, 1::2], table[:, 1::2]

    def pairs(self) -> "Pairs":
        """The different pairs of rows and successes of an individual and arm."""
        return pairs_of(*self.counted())

    def discounted(self, rho: float) -> "Sums":
        """The same with n rows of an individual and arm counted as n / (1 + (n - 1) rho)."""
        return self if rho == 0 else replace(self, rho=rho)

    def rows(self, individuals: slice | IntArray = EVERYONE) -> Any:
        """What rows of some individuals count, as numbers to compute with."""
        table = self.table[individuals].astype(float)
        if self.rho == 0:
            return table
        dense = _dense(table)
        n = dense[:, 0::2] + dense[:, 1::2]
        factor = np.repeat(1 / (1 + np.maximum(n - 1, 0) * self.rho), 2, axis=1)
        return dense * factor if table is dense else table.multiply(factor).tocsr()


def _dense(table: Any) -> Any:
    return table if isinstance(table, np.ndarray) else table.toarray()


class Pairs(NamedTuple):
    """The P different pairs of rows `n` and successes `total` (P,), and which of them (U, K) each is.

    There are few, however many individuals there are, so that what depends on them is computed once for each.
    """

    n: FloatArray
    total: FloatArray
    place: IntArray

    def weighted(self, weights: FloatArray) -> FloatArray:
        """How much each pair weighs (P, K, C), if individuals weigh (U, C)."""
        columns = [[np.bincount(place, weight, len(self.n)) for weight in weights.T] for place in self.place.T]
        return np.array(columns).transpose(2, 0, 1)


def pairs_of(n: FloatArray, total: FloatArray) -> Pairs:
    """The pairs among rows and successes (U, K).

    >>> pairs_of(np.array([[3.0, 0.0], [3.0, 3.0]]), np.array([[1.0, 0.0], [1.0, 2.0]])).place.tolist()
    [[1, 0], [1, 2]]
    """
    width = int(total.max(initial=0)) + 1
    code = (n * width + total).astype(np.int64)
    present = np.unique(code)
    n_of, total_of = (np.asarray(part, float) for part in np.divmod(present, width))
    return Pairs(n_of, total_of, np.searchsorted(present, code))


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
    q, n_arms = values.shape[1], len(statistics.arms)
    total, rows = np.zeros((n_arms, q)), np.bincount(statistics.arm, statistics.count, n_arms)
    np.add.at(total, statistics.arm, values)
    pooled = total / np.maximum(rows, 1)[:, None]
    return Sums(_table(statistics, values), pooled, coefficients, n_parameters)


def _table(statistics: Statistics, values: FloatArray) -> Any:
    """The values (C, q) of cells as a table of individuals; counts of a few million are exact in half the memory."""
    (U, K), q = (len(statistics.tasks), len(statistics.arms)), values.shape[1]
    if K * q <= MOST_DENSE:
        kind = np.float32 if q == 2 and values.max(initial=0) < 2**24 else np.float64
        table = np.zeros((U, K, q), kind)
        table[statistics.task, statistics.arm] = values
        return table.reshape(U, K * q)
    from scipy.sparse import csr_array

    column = (statistics.arm[:, None] * q + np.arange(q)).ravel()
    row = np.repeat(statistics.task, q)
    return csr_array((values.ravel(), (row, column)), shape=(U, K * q))


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
    found, total = np.empty((sums.n_individuals, mixture.n_classes)), 0.0
    sums = sums.discounted(mixture.correlation)
    with in_one_thread():
        for first in range(0, sums.n_individuals, BLOCK):
            block = slice(first, first + BLOCK)
            found[block], evidence = _beliefs(sums.rows(block), mixture)
            total += evidence
    return found, total


def _beliefs(table: Any, mixture: Mixture) -> tuple[FloatArray, float]:
    """The same of some individuals."""
    joint = np.ascontiguousarray((table @ mixture.coefficients).T) + np.log(mixture.shares)[:, None]
    largest = joint.max(axis=0)
    chances = np.exp(joint - largest, out=joint)
    size = chances.sum(axis=0)
    return (chances / size).T, float((np.log(size) + largest).sum())


def fit_mixture(sums: Sums, n_classes: int, n_starts: int, rng: np.random.Generator) -> Mixture:
    """The best of `n_starts` runs of EM."""
    with in_one_thread():
        runs = [_run_em(sums, _start(sums, n_classes, rng)) for _ in range(n_starts if n_classes > 1 else 1)]
    return max(runs, key=lambda run: run.log_likelihood)


def refine_mixture(sums: Sums, mixture: Mixture) -> Mixture:
    """The mixture after EM on these individuals, started from one that was fitted to others."""
    with in_one_thread():
        return _run_em(sums, posterior(sums, mixture)[0])


def _run_em(sums: Sums, chances: FloatArray) -> Mixture:
    """EM from the chances (U, C) of a start until the likelihood no longer grows."""
    return climb(sums, totals(sums.rows(), chances), hurries=sums.is_counted and sums.n_individuals > MANY)


def climb(sums: Sums, at: FloatArray, *, hurries: bool) -> Mixture:
    """EM from what the classes add up to (see `totals`).

    hurries: extrapolate from every two steps (SQUAREM, Varadhan and Roland 2008), unless that makes it worse.
    """
    before, safe = -np.inf, at
    path: list[FloatArray] = []
    for _ in range(MAX_STEPS):
        mixture = mixture_of(sums, at)
        reached, now = _expected(sums, mixture)
        if now < before and not path:
            at = safe
            continue
        if now - before <= min(CLOSE * abs(now), ENOUGH):
            break
        before, path, at = now, [*path, at], reached
        if hurries and len(path) == 2:
            safe, at, path = reached, _ahead(path[0], path[1], reached), []
    return replace(mixture, log_likelihood=now)


def _ahead(start: FloatArray, once: FloatArray, twice: FloatArray) -> FloatArray:
    """Where EM goes from its last two steps, at most so far that nothing that is counted becomes negative."""
    step = once - start
    bend = twice - once - step
    size = np.sqrt((step**2).sum() / max((bend**2).sum(), 1e-300))
    length = float(np.clip(size, 1.0, LONGEST))
    while length > 1.0:
        found = start + 2 * length * step + length**2 * bend
        if (found > 0)[start > 0].all():
            return np.asarray(found)
        length = max(1.0, length / 2)
    return twice


def totals(table: Any, chances: FloatArray) -> FloatArray:
    """What classes add up to (C, K q + 1) if individuals are divided by chances (U, C): sums, and how many they are."""
    return np.column_stack([(table.T @ chances).T, chances.sum(axis=0)])


def _expected(sums: Sums, mixture: Mixture) -> tuple[FloatArray, float]:
    """What the classes add up to if individuals are divided by a mixture, and its log-likelihood."""
    found, total = np.zeros((mixture.n_classes, sums.table.shape[1] + 1)), 0.0
    for first in range(0, sums.n_individuals, BLOCK):
        table = sums.rows(slice(first, first + BLOCK))
        chances, evidence = _beliefs(table, mixture)
        found += totals(table, chances)
        total += evidence
    return found, total


def mixture_of(sums: Sums, at: FloatArray) -> Mixture:
    """The mixture of classes that add up to this, with one row's worth of the whole log for each arm."""
    shares = np.maximum(at[:, -1], 1e-9)
    by_class = at[:, :-1].reshape(-1, *sums.pooled.shape) + sums.pooled
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
    own = _dense(sums.rows(slice(individual, individual + 1))).reshape(1, n_arms, q) + sums.pooled
    return np.asarray(sums.rows() @ sums.coefficients(own)).ravel()


def _own_fit(sums: Sums) -> FloatArray:
    """The log-likelihood (U,) of everyone as a class of their own, the most that any start can reach."""
    n_arms, q = sums.pooled.shape
    found = []
    for first in range(0, sums.n_individuals, CHUNK):
        own = _dense(sums.rows(slice(first, first + CHUNK)))
        coefficients = sums.coefficients(own.reshape(-1, n_arms, q) + sums.pooled)
        found.append((own * coefficients.T).sum(axis=1))
    return np.concatenate(found)
