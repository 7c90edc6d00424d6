"""Which cases are learned from and which are held out: whole cases, drawn by the seed."""

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.nouns import counted
from banditree.tasks.arrays import IntArray

LEAST_HELD_OUT = 5  # With fewer cases, an interval over cases says next to nothing.


def hold_out(n_cases: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """The numbers of the cases to learn from and of those held out, each in their order.

    >>> learn, held = hold_out(30, 1 / 3, seed=0)
    >>> len(learn), len(held), sorted({*learn.tolist(), *held.tolist()}) == list(range(30))
    (20, 10, True)
    """
    if not 0 < share < 1:
        raise invalid("held_out", "a share between 0 and 1", share)
    n_held = round(share * n_cases)
    if min(n_held, n_cases - n_held) < LEAST_HELD_OUT:
        raise InvalidInput(
            f"The log has {counted(n_cases, 'case')}: too few to hold {share:.0%} of them out, with "
            f"{LEAST_HELD_OUT} at least on either side. Learn from all of them, and evaluate on cases that come later."
        )
    order = np.random.default_rng([seed, 2]).permutation(n_cases)
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def fold_numbers(n_cases: int, n_folds: int, seed: int) -> IntArray:
    """The fold (U,) of every case: each fold in turn is judged by plans made from the others."""
    if n_folds < 2:
        raise invalid("folds", "at least 2", n_folds)
    order = np.random.default_rng([seed, 3]).permutation(n_cases)
    fold = np.empty(n_cases, np.int64)
    fold[order] = np.arange(n_cases) % min(n_folds, n_cases)
    return fold
