"""Did what is seen move? The cases that began in a month beside all that began before, over their first rounds.

What a plan assumes need not be wrong for that, and where the shares of the kinds absorb a change, no test of the
assumed rates says a word. Cases are compared over as many first rounds as half of the newer ones have, so that young
cases are not held against old ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, stdtrit

from banditree.cases.table import Cases
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection

LEVEL = 0.05  # The chance of ever saying that something moved where nothing did, over all months together.
LEAST_CASES = 15  # Fewer cases of a month, or before it, are not compared.


@dataclass(frozen=True)
class Move:
    """What moved (the reward per round, the share of a kind, the outcome of an option; `name` says which of these), how
    it was before and is now, and the interval of the difference."""

    what: str
    name: str | None
    before: float
    now: float
    low: float
    high: float


def moves(observed: Cases, collection: Collection, month: IntArray, number: int) -> tuple[Move, ...]:
    """What moved with the cases that began in month `number`; month: (U,)."""
    lengths = np.bincount(observed.owner[observed.told], minlength=observed.n_cases)
    new, old = month == number, month < number
    if not new.any():
        return ()
    first = max(1, int(np.median(lengths[new])))
    new, old = new & (lengths >= first), old & (lengths >= first)
    if min(new.sum(), old.sum()) < LEAST_CASES:
        return ()
    every = list(_measures(observed, collection, first))
    level = LEVEL / (number * (number + 1)) / len(every)
    found = (_moved(what, name, total, n, old, new, level) for what, name, total, n in every)
    return tuple(move for move in found if move is not None and (move.low > 0 or move.high < 0))


def _measures(
    observed: Cases, collection: Collection, first: int
) -> Iterator[tuple[str, str | None, FloatArray, FloatArray]]:
    """What is compared: its name, and the total and the rounds (U,) of every case."""
    U, told = observed.n_cases, np.flatnonzero(observed.told)
    place = np.arange(len(told)) - np.searchsorted(observed.owner[told], np.arange(U))[observed.owner[told]]
    rows = told[place < first]
    owner, reward, arm = observed.owner[rows], observed.reward[rows], observed.arm[rows]
    yield "reward", None, np.bincount(owner, reward, U).astype(float), np.bincount(owner, minlength=U).astype(float)
    joint = np.tile(np.log(np.maximum(collection.weights, 1e-9))[:, None], (1, U))
    for task, each in zip(joint, collection.rewards.log_density(reward, collection.parameters[:, arm]), strict=True):
        np.add.at(task, owner, each)
    belief = np.exp(joint - logsumexp(joint, axis=0))  # at the shares that are assumed, so that cases stay independent
    for task, share in zip(collection.tasks, belief, strict=True):
        yield "share", task, share, np.ones(U)
    for k, name in enumerate(observed.arms):
        mine = arm == k
        n = np.bincount(owner[mine], minlength=U).astype(float)
        yield "option", name, np.bincount(owner[mine], reward[mine], U).astype(float), n


def _moved(
    what: str, name: str | None, total: FloatArray, n: FloatArray, old: BoolArray, new: BoolArray, level: float
) -> Move | None:
    """The change of a ratio of totals between two groups of cases, by linearisation, with Student's quantile."""
    values, errors, sizes = [], [], []
    for group in (old & (n > 0), new & (n > 0)):
        if group.sum() < LEAST_CASES:
            return None
        value = float(total[group].sum() / n[group].sum())
        values.append(value)
        errors.append(float((((total - value * n)[group] / n[group].sum()) ** 2).sum()))
        sizes.append(int(group.sum()))
    errors[1] = max(errors[1], errors[0] * sizes[0] / sizes[1])  # a few cases may be alike by chance
    reach = -float(stdtrit(min(sizes) - 1, level / 2)) * float(np.sqrt(sum(errors)))
    change = values[1] - values[0]
    return Move(what, name, values[0], values[1], change - reach, change + reach)
