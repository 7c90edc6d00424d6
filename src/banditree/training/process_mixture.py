"""Kinds of cases that nobody wrote down, found as a mixture (EM): each has its own chances of what follows what."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from banditree.errors import invalid
from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import FloatArray
from banditree.training.classes import HELD_OUT, PATIENCE, Criterion, Trial

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_KINDS = 12  # At most this many kinds are tried.
STARTS = 8  # A mixture is fitted from 8 random beginnings, the best of which goes on.
FIRST, MOST = 15, 500  # Steps of every beginning, and of the best one at most.
SETTLED = 1e-8  # A smaller relative gain of the log-likelihood ends a fit.
PRIOR = 1.0  # The rows of the log as a whole that every kind is thought to have, so that no chance is 0.
MOST_PARAMETERS = 2_000  # With more than these, errors are those of known kinds.
FLAT = 1e-6  # A direction with less than this part of the greatest curvature counts as unknown.


@dataclass(frozen=True, eq=False)
class ProcessMixture:
    """M kinds found among U cases: shares (M,), chances (U, M) of each case's kind, and the standard errors (M, C) of
    the shares of columns within their groups, which allow for not knowing who is of which kind."""

    shares: FloatArray
    chances: FloatArray
    log_likelihood: float
    trials: tuple[Trial, ...] = ()
    criterion: Criterion = Criterion.BIC
    errors: FloatArray | None = None


def find_processes(
    counts: "csr_matrix",
    groups: list[slice],
    *,
    n_kinds: int | None = None,
    criterion: Criterion = Criterion.BIC,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> ProcessMixture:
    """The kinds of cases with these counts (U, C), of which one column of each group is counted at a time.

    n_kinds: how many; by default ever more are tried until three in a row are no better by `criterion`.
    """
    U, criterion = counts.shape[0], Criterion(criterion)
    if n_kinds is not None and not 1 <= n_kinds <= U:
        raise invalid("kinds", f"in [1, {U}]", n_kinds)
    tried = [n_kinds] if n_kinds is not None else list(range(1, min(MOST_KINDS, U) + 1))
    trials, mixtures = list[Trial](), list[ProcessMixture]()
    for done, number in enumerate(tried, 1):
        mixtures.append(fit_processes(counts, groups, number, np.random.default_rng([seed, number])))
        score = _score(counts, groups, mixtures[-1], criterion, seed)
        trials.append(Trial(number, mixtures[-1].log_likelihood, score))
        lead = min(range(len(trials)), key=lambda index: trials[index].score)
        if not goes_on(on_progress, done, len(tried), trials[lead].score, f"{number} kinds"):
            break
        if len(trials) - 1 - lead >= PATIENCE:
            break
    best = mixtures[min(range(len(trials)), key=lambda index: trials[index].score)]
    order = np.argsort(-best.shares, kind="stable")
    chances = best.chances[:, order]
    errors = _errors(counts, groups, chances)
    return ProcessMixture(best.shares[order], chances, best.log_likelihood, tuple(trials), criterion, errors)


def fit_processes(counts: "csr_matrix", groups: list[slice], n_kinds: int, rng: np.random.Generator) -> ProcessMixture:
    """The likeliest mixture of N kinds, from random beginnings."""
    U, starts = counts.shape[0], STARTS if n_kinds > 1 else 1
    fits = []
    for _ in range(starts):
        chances = rng.dirichlet(np.full(n_kinds, 0.3), U)
        fits.append(_climbed(counts, groups, chances, FIRST))
    best = max(fits, key=lambda one: one.log_likelihood)
    return _climbed(counts, groups, best.chances, MOST)


def _climbed(counts: "csr_matrix", groups: list[slice], chances: FloatArray, steps: int) -> ProcessMixture:
    before = -np.inf
    for _ in range(steps):
        shares, logs = _maximised(counts, groups, chances)
        each, chances = _expected(counts, shares, logs)
        total = float(each.sum())
        if total - before < SETTLED * abs(total):
            break
        before = total
    return ProcessMixture(shares, chances, total)


def _maximised(counts: "csr_matrix", groups: list[slice], chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(shares, logarithms (M, C) of the chances) that fit cases of these kinds best."""
    columns, whole = np.asarray(chances.T @ counts), np.asarray(counts.sum(axis=0)).ravel()
    logs = np.zeros(columns.shape)
    for group in groups:
        everyone = whole[group] + 1e-9
        own = columns[:, group] + PRIOR * everyone / everyone.sum()
        logs[:, group] = np.log(own / own.sum(axis=1, keepdims=True))
    return (chances.sum(axis=0) + 1e-9) / (len(chances) + 1e-9 * chances.shape[1]), logs


def _expected(counts: "csr_matrix", shares: FloatArray, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(log-likelihood of each case, chances (U, M) of its kind)."""
    each = np.asarray(counts @ logs.T) + np.log(shares)
    most = each.max(axis=1, keepdims=True)
    total = most + np.log(np.exp(each - most).sum(axis=1, keepdims=True))
    return total.ravel(), np.exp(each - total)


def _score(
    counts: "csr_matrix", groups: list[slice], mixture: ProcessMixture, criterion: Criterion, seed: int
) -> float:
    """BIC, or -2 log L of held-out cases: the less the better."""
    M, U = len(mixture.shares), counts.shape[0]
    if criterion is Criterion.BIC:
        whole = np.asarray(counts.sum(axis=0)).ravel()
        free = sum(max(int((whole[group] > 0).sum()) - 1, 0) for group in groups)
        return float(-2 * mixture.log_likelihood + (M * (free + 1) - 1) * np.log(U))
    order, held = np.random.default_rng([seed, 0]).permutation(U), max(1, round(HELD_OUT * U))
    rest = counts[order[held:]]
    fitted = fit_processes(rest, groups, min(M, rest.shape[0]), np.random.default_rng([seed, 1]))
    return float(-2 * _expected(counts[order[:held]], *_maximised(rest, groups, fitted.chances))[0].sum())


def _errors(counts: "csr_matrix", groups: list[slice], chances: FloatArray) -> FloatArray | None:
    """The standard errors (M, C), by the squared scores of the cases (the outer product of gradients)."""
    M, size = chances.shape[1], counts.shape[1]
    used = np.flatnonzero(np.asarray(counts.sum(axis=0)).ravel())
    if M * len(used) > MOST_PARAMETERS or M < 2:
        return None
    columns = np.asarray(chances.T @ counts)
    share, slope = np.zeros((M, size)), np.zeros((M, size, size))
    left_over = np.zeros((len(chances), M, size))
    dense = np.asarray(counts.todense())
    for group in groups:
        n = np.maximum(columns[:, group].sum(axis=1, keepdims=True), 1e-9)
        share[:, group] = columns[:, group] / n
        for i in range(M):
            p = share[i, group]
            slope[i, group, group] = np.diag(p) - np.outer(p, p)
            left_over[:, i, group] = dense[:, group] - dense[:, group].sum(axis=1, keepdims=True) * p
    scores = (chances[:, :, None] * left_over)[:, :, used].reshape(len(chances), -1)
    scores = np.concatenate([scores, (chances - chances.mean(axis=0))[:, :-1]], axis=1)
    values, vectors = np.linalg.eigh(scores.T @ scores)
    real = values > values.max() * 1e-12  # groups add up to one, so that many directions are empty
    inverse = (vectors[:, real] / np.maximum(values[real], FLAT * np.median(values[real]))) @ vectors[:, real].T
    found = np.zeros((M, size))
    for i in range(M):
        own = slice(i * len(used), (i + 1) * len(used))
        by = slope[i][np.ix_(used, used)]
        found[i, used] = np.sqrt(np.maximum((by @ inverse[own, own] @ by).diagonal(), 0.0))
    return found
