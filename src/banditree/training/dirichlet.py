"""Kinds of individuals that take one of the options each time, with a taste of their own around that of their kind.

The tastes of a kind are Dirichlet: rates times a strength; the smaller the strength, the more its individuals differ.
Totals of an individual are then Dirichlet-multinomial, and EM finds rates and strengths together (Minka 2000,
"Estimating a Dirichlet distribution"). Individuals with the same totals are looked at together.
"""

from dataclasses import replace

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.training.mixture import CLOSE, FLOOR, Mixture, Sums

MAX_STEPS = 60  # EM takes at most this many steps, from a mixture that is already close.
INNER = 2  # Each of them takes this many fixed-point steps for the rates and strengths.
LEAST, MOST = 0.05, 2_000.0  # Strengths from "nearly everyone takes one option only" to "hardly any difference at all".


def fit_tastes(sums: Sums, mixture: Mixture) -> Mixture:
    """The Dirichlet mixture that EM finds from a mixture of individuals who are alike within their kinds."""
    rates = mixture.rates
    assert rates is not None
    totals, count = np.unique(sums.counted()[1], axis=0, return_counts=True)
    weight = count.astype(float)
    rho = max(mixture.correlation, 1.0 / (1.0 + MOST))
    shares, alpha, before = mixture.shares, rates * (1 - rho) / rho, -np.inf
    for _ in range(MAX_STEPS):
        joint = taste_likelihoods(totals, alpha) + np.log(shares)
        chances, now = _normalised(joint, weight)
        if now - before <= CLOSE * abs(now):
            break
        before = now
        shares = np.maximum(chances.sum(axis=0), 1e-9)
        shares = shares / shares.sum()
        for _ in range(INNER):
            alpha = _step(totals, chances, alpha, sums.pooled[:, 1])
    return _as_mixture(mixture, shares, alpha, now)


def taste_likelihoods(totals: FloatArray, alpha: FloatArray) -> FloatArray:
    """The log-chance (U, C) of what every individual took (U, K), in one order, for each kind's alpha (C, K)."""
    from scipy.special import gammaln

    n, strength = totals.sum(axis=1)[:, None], alpha.sum(axis=1)
    own = (gammaln(totals[:, None] + alpha) - gammaln(alpha)).sum(axis=2)
    return np.asarray(own + gammaln(strength) - gammaln(n + strength))


def taste_spread(rates: FloatArray, strength: FloatArray) -> FloatArray:
    """The standard deviation (C, K) of an individual's own rates around those of its kind."""
    return np.asarray(np.sqrt(rates * (1 - rates) / (1 + strength[:, None])))


def _normalised(joint: FloatArray, weight: FloatArray) -> tuple[FloatArray, float]:
    """The chances (U, C) times the weights (U,), and the log-likelihood."""
    from scipy.special import logsumexp

    evidence = logsumexp(joint, axis=1)
    return weight[:, None] * np.exp(joint - evidence[:, None]), float(weight @ evidence)


def _step(totals: FloatArray, chances: FloatArray, alpha: FloatArray, pooled: FloatArray) -> FloatArray:
    """One fixed-point step for every kind, to whose purchases one of everyone's is added: no rate falls to zero."""
    from scipy.special import psi

    n, strength = totals.sum(axis=1)[:, None], alpha.sum(axis=1)
    above = np.einsum("uc,uck->ck", chances, psi(totals[:, None] + alpha) - psi(alpha)) + pooled / strength[:, None]
    below = (chances * (psi(n + strength) - psi(strength))).sum(axis=0) + 1.0 / strength
    moved = alpha * above / below[:, None]
    rates = np.maximum(moved / moved.sum(axis=1, keepdims=True), FLOOR)
    return np.asarray(rates * np.clip(moved.sum(axis=1), LEAST, MOST)[:, None])


def _as_mixture(mixture: Mixture, shares: FloatArray, alpha: FloatArray, log_likelihood: float) -> Mixture:
    strength = alpha.sum(axis=1)
    log_rates = np.log(alpha / strength[:, None])
    coefficients = np.stack([np.zeros_like(log_rates), log_rates], axis=2).reshape(len(alpha), -1).T
    rho = float(shares @ (1.0 / (1.0 + strength)))
    return replace(
        mixture,
        shares=shares,
        coefficients=coefficients,
        log_likelihood=log_likelihood,
        correlation=rho,
        strength=strength,
    )
