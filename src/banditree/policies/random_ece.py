"""Randomised ECE: the tests are drawn from the most even mixture over the tasks that are left."""

import numpy as np

from banditree.policies.base import Policy
from banditree.policies.ece import (
    DONE,
    EceParams,
    EceState,
    choose_ece,
    commitment_ece,
    empty_state,
    explain_ece,
    keep_likely,
    make_ece,
    next_test,
    patience_ece,
    settle,
    tally,
)
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.theory.randomised import solve_game


def init_random_ece(params: EceParams) -> EceState:
    """All tasks possible, and the distribution of the first test."""
    state = empty_state(params)
    replan_random_ece(params, state)
    return state


def update_random_ece(params: EceParams, state: EceState, context: FloatArray, arm: int, reward: float) -> None:
    """As `update_ece`, with the next test left to `replan_random_ece`."""
    if tally(params, state, context, arm, reward):
        keep_likely(params, state, arm)
        next_test(state)
        state.weights[:] = 0.0


def replan_random_ece(params: EceParams, state: EceState) -> None:
    """After a test: the distribution p over tests that solves Eq. (3), max over p of min over i of E_p |S-bar(i)|."""
    if state.place[DONE] == 0 and not state.weights.any() and not settle(params, state):
        left = np.flatnonzero(state.survivors)
        counts = params.apart[:, left][:, :, left].sum(axis=2, dtype=np.int64)  # (T, survivors)
        state.weights[:] = most_even_mixture(counts)


def most_even_mixture(counts: IntArray) -> FloatArray:
    """The distribution (K,) over tests that maximises the least expected count; only tests that separate some pair.

    counts: (K, s), how many tasks each test separates from each.

    >>> most_even_mixture(np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]])).round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    useful = np.flatnonzero(counts.any(axis=1))
    weights = np.zeros(len(counts))
    weights[useful] = solve_game(counts[useful].T.astype(float)).distribution
    return weights


random_ece = Policy(
    "random-ece",
    make_ece,
    init_random_ece,
    choose_ece,
    update_random_ece,
    explain_ece,
    patience_ece,
    replan_random_ece,
    commitment_ece,
)
