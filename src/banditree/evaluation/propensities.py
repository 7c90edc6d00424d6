"""The chances of a log's options where it does not give them: estimated from what came before and from contexts.

One logistic curve for each option, made from other cases: the option before and what came of it, how often the case
had each option and what it gave on the whole, the day, and the contexts. What decided and is not among these stays
unseen.
"""

from dataclasses import replace

import numpy as np

from banditree.cases.design import Design, LogDesign, find_design
from banditree.cases.table import Cases
from banditree.evaluation.splits import fold_numbers
from banditree.tasks.arrays import FloatArray
from banditree.training.logistic import fit_curve

FOLDS = 5
LEAST_CHANCE = 0.05  # A log whose options come with smaller chances than this does not show what a plan gives.
RARE = 0.01  # This part of the chances may be smaller; they count as that.
MOST_ROUNDS = 100_000  # What options were chosen by is found out on this many rounds.
FIRM = 2.0  # Shares and means of a case start with this many rounds of everyone's.


def understood(cases: Cases, stated: str | LogDesign | None, seed: int) -> tuple[Cases, LogDesign]:
    """The log with the chances of its options, where they are to be estimated, and its design."""
    made = stated if isinstance(stated, LogDesign) else find_design(cases, stated)
    if made.design is not Design.SEEN or cases.chances is not None:
        return cases, made
    chances = estimated_chances(cases, seed)
    if np.quantile(chances.min(axis=1), RARE) < LEAST_CHANCE:
        return cases, made
    given = chances[np.arange(len(cases.arm)), cases.arm]
    every = np.maximum(chances, LEAST_CHANCE)
    known = replace(cases, chances=np.maximum(given, LEAST_CHANCE), every_chance=every)
    return known, replace(made, is_estimated=True)


def estimated_chances(cases: Cases, seed: int) -> FloatArray:
    """The chance (R, K) of every option in every round, by curves that were fitted to other cases."""
    x, fold = _telling(cases, _seen_before(cases), seed), fold_numbers(cases.n_cases, FOLDS, seed)[cases.owner]
    found = np.zeros((len(x), len(cases.arms)))
    for number in range(int(fold.max()) + 1):
        here = fold == number
        for k in range(len(cases.arms)):
            theta = fit_curve(x[~here], (cases.arm[~here] == k).astype(float)).theta
            found[here, k] = 1 / (1 + np.exp(-x[here] @ theta))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _telling(cases: Cases, every: list[FloatArray], seed: int) -> FloatArray:
    """Those columns of what was seen by which options were chosen, after a constant one.

    A group of columns is dropped for as long as that lowers BIC: what has no influence would only make chances vary.
    """
    rows = np.sort(np.random.default_rng([seed, 11]).permutation(len(cases.arm))[:MOST_ROUNDS])
    given = np.eye(len(cases.arms))[cases.arm[rows]]

    def bic(groups: list[FloatArray]) -> float:
        x = np.hstack([np.ones((len(rows), 1)), *(one[rows] for one in groups)])
        scores = x @ np.array([fit_curve(x, one).theta for one in given.T]).T
        loss = (np.logaddexp(0, scores) - given * scores).sum()
        return float(2 * loss + x.shape[1] * given.shape[1] * np.log(len(x)))

    kept, best = every, bic(every)
    while kept:
        fewer = [[one for one in kept if one is not group] for group in kept]
        scores = [bic(groups) for groups in fewer]
        if min(scores) > best:
            break
        kept, best = fewer[int(np.argmin(scores))], min(scores)
    return np.hstack([np.ones((len(cases.arm), 1)), *kept])


def _seen_before(cases: Cases) -> list[FloatArray]:
    """What was known of the case before each round, in groups of columns (R, q)."""
    given = np.eye(len(cases.arms))[cases.arm]
    reward = np.nan_to_num(cases.reward) - np.nanmean(cases.reward)
    began, first = cases.place == 0, cases.first[:-1][cases.owner]

    def before(values: FloatArray) -> FloatArray:
        sums = np.cumsum(values, axis=0) - values
        return np.asarray(sums - sums[first])

    place = cases.place[:, None] + FIRM
    share = (before(given) + FIRM * given.mean(axis=0)) / place
    mean = before(reward[:, None]) / place
    last = np.where(began[:, None], 0.0, np.roll(given, 1, axis=0))
    came = np.where(began, 0.0, np.roll(reward, 1))[:, None]
    groups = [np.hstack([last[:, 1:], came, last[:, 1:] * came]), share[:, 1:], mean]
    if np.isfinite(cases.at).all() and cases.at.std() > 0:
        day = ((cases.at - cases.at.mean()) / cases.at.std())[:, None]
        groups += [np.hstack([day, day**2])]
    if cases.contexts is not None:
        names = np.array([one.name for one in cases.features] or range(cases.contexts.shape[1]))
        groups += [cases.contexts[:, names == name] for name in dict.fromkeys(names.tolist())]
    return groups
