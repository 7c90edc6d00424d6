"""Individuals of one kind vary: a mixture of kinds whose 0/1 rewards agree within an individual more than by chance.

With a correlation rho between two rewards of one individual, kind and arm, n rewards tell as much as
n / (1 + (n - 1) rho) independent ones. Counting them so keeps EM as it is, and keeps variation within a kind from
being taken for kinds of its own. rho is estimated by moments; numbers of kinds are compared by the beta-binomial
likelihood, which is that of rates drawn for every individual. Where one arm is a success each time, individuals
are few purchases each and kinds are Dirichlet (see `dirichlet`).
"""

from dataclasses import replace

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.training.dirichlet import fit_tastes, taste_likelihoods
from banditree.training.mixture import Mixture, Sums, fit_mixture, posterior, refine_mixture

ROUNDS = 4  # rho and the kinds are estimated in turn this many times; they settle in two or three rounds.
MAX_FITTED = 5_000  # EM is started from this many individuals at most; the best run then goes on with all.
MOST = 0.95  # With a larger rho, further rewards of an individual would say hardly anything.


def fit_kinds(sums: Sums, n_classes: int, n_starts: int, rng: np.random.Generator) -> Mixture:
    """The best mixture of the given number of kinds, allowing for variation within kinds where rewards are 0 or 1.

    Of more than 5,000 individuals, 5,000 say where to start, and the best mixture is then fitted to all.
    """
    if sums.n_individuals > MAX_FITTED:
        some = sums.only(rng.choice(sums.n_individuals, MAX_FITTED, replace=False))
        return refine_kinds(sums, fit_kinds(some, n_classes, n_starts, rng))
    mixture = fit_mixture(sums, n_classes, n_starts, rng)
    if mixture.rates is None:
        return mixture
    mixture = replace(mixture, correlation=within_correlation(sums, mixture))
    if mixture.correlation > 0:
        other = fit_mixture(sums.discounted(mixture.correlation), n_classes, n_starts, rng)
        mixture = replace(other, correlation=mixture.correlation)
    return refine_kinds(sums, mixture)


def refine_kinds(sums: Sums, mixture: Mixture) -> Mixture:
    """The mixture after EM on these individuals, with rho estimated from them as well."""
    if mixture.rates is None:
        return refine_mixture(sums, mixture)
    for _ in range(ROUNDS):
        rho = within_correlation(sums, mixture)
        mixture = replace(refine_mixture(sums.discounted(rho), replace(mixture, correlation=0.0)), correlation=rho)
    if sums.is_choice:
        return fit_tastes(sums, mixture)
    return replace(mixture, log_likelihood=log_likelihood(sums, mixture))


def kind_chances(sums: Sums, mixture: Mixture) -> FloatArray:
    """The chance (U, C) of every kind for every individual."""
    if mixture.strength is None:
        return posterior(sums, mixture)[0]
    joint = _taste_joint(sums, mixture)
    chances = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _taste_joint(sums: Sums, mixture: Mixture) -> FloatArray:
    assert mixture.rates is not None
    assert mixture.strength is not None
    return taste_likelihoods(sums.counted()[1], mixture.rates * mixture.strength[:, None]) + np.log(mixture.shares)


def within_correlation(sums: Sums, mixture: Mixture) -> float:
    """rho by moments: (total - n rate)^2 is n rate (1 - rate) (1 + (n - 1) rho) on average."""
    assert mixture.rates is not None
    pairs = sums.pairs()
    weight = pairs.weighted(posterior(sums, mixture)[0])  # (P, K, C)
    rate, n, total = mixture.rates.T, pairs.n[:, None, None], pairs.total[:, None, None]
    variance = rate * (1 - rate)
    above = float((weight * ((total - n * rate) ** 2 - n * variance)).sum())
    below = float((weight * n * (n - 1) * variance).sum())
    return float(np.clip(above / below, 0.0, MOST)) if below > 0 else 0.0


def log_likelihood(sums: Sums, mixture: Mixture) -> float:
    """The log-likelihood of the individuals: beta-binomial where kinds have a rho, else that of the mixture."""
    return float(log_likelihoods(sums, mixture).sum())


def log_likelihoods(sums: Sums, mixture: Mixture) -> FloatArray:
    """The same of each individual (U,)."""
    from scipy.special import logsumexp

    if mixture.strength is not None:
        return np.asarray(logsumexp(_taste_joint(sums, mixture), axis=1))
    if mixture.correlation == 0 or mixture.rates is None:
        return np.asarray(logsumexp(sums.table @ mixture.coefficients + np.log(mixture.shares), axis=1))
    n, total, place = sums.pairs()
    arms = np.arange(place.shape[1])
    each = [_beta_binomial(n[:, None], total[:, None], rate, mixture.correlation) for rate in mixture.rates]
    joint = np.column_stack([found[place, arms].sum(axis=1) for found in each])
    return np.asarray(logsumexp(joint + np.log(mixture.shares), axis=1))


def _beta_binomial(n: FloatArray, total: FloatArray, rate: FloatArray, rho: float) -> FloatArray:
    """The log-chance of the rewards in one order, when the rate is drawn from a beta distribution around `rate`."""
    from scipy.special import betaln

    strength = (1 - rho) / rho
    a, b = strength * rate, strength * (1 - rate)
    return np.asarray(betaln(total + a, n - total + b) - betaln(a, b))
