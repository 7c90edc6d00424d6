"""Following a tree that is computed box by box, as the case goes on."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.policies.base import NO_TASK, UNDECIDED, Facts, Policy, Rng
from banditree.policies.follow import ARM_NOT_AVAILABLE, TOTAL_SLACK, UNLIMITED, best_prediction
from banditree.tasks.arrays import BoolArray, ByteArray, FloatArray, IntArray
from banditree.trees.tree import LazyTree


class LazyParams(NamedTuple):
    """A tree that is computed as the case goes on."""

    tree: LazyTree
    pulls: int
    theta: FloatArray


class LazyState(NamedTuple):
    """survivors (M,) of 0 and 1; test: (arm, pulls so far or -1 when exploiting); sums: (total, threshold)."""

    survivors: ByteArray
    test: IntArray
    sums: FloatArray


ARM, DONE = 0, 1  # The entries of LazyState.test.


def make_lazy(tree: LazyTree, horizon: int, options: Mapping[str, Any]) -> LazyParams:
    """The tree, with the pulls per test that its deepest possible path needs."""
    theta = tree.collection.theta
    return LazyParams(tree, tree.pulls, np.zeros((0, 0, 0)) if theta is None else theta)


def init_lazy(params: LazyParams) -> LazyState:
    """All tasks possible, and the first test laid out."""
    state = LazyState(np.ones(params.tree.collection.n_tasks, np.uint8), np.zeros(2, np.int64), np.zeros(2))
    _lay_out_test(params, state, params.tree.start)
    return state


def choose_lazy(params: LazyParams, state: LazyState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The arm of the test at hand, or the best one of the task that is left."""
    arm = int(state.test[ARM])
    if arm < 0:
        arm = best_prediction(params.theta, int(np.flatnonzero(state.survivors)[0]), context)
        if arm < 0:
            return arm
    return arm if available[arm] else ARM_NOT_AVAILABLE


def update_lazy(params: LazyParams, state: LazyState, context: FloatArray, arm: int, reward: float) -> None:
    """Tally the reward of a test."""
    if state.test[DONE] >= 0:
        state.test[DONE] += 1
        state.sums[0] += reward


def replan_lazy(params: LazyParams, state: LazyState) -> None:
    """After the last pull of a test: keep the tasks on its side, and lay out the next test."""
    if state.test[DONE] != params.pulls:
        return
    split = params.tree.split(np.flatnonzero(state.survivors))
    assert split is not None
    left = split.low if state.sums[0] <= state.sums[1] + TOTAL_SLACK else split.high
    state.survivors[:] = 0
    state.survivors[left] = 1
    _lay_out_test(params, state, left)


def _lay_out_test(params: LazyParams, state: LazyState, members: IntArray) -> None:
    split = params.tree.split(members)
    state.sums[:] = 0.0
    if split is None:
        contextual = params.tree.collection.theta is not None
        state.test[ARM] = -1 if contextual else params.tree.shared_arm(members)
        state.test[DONE] = -1
        return
    state.test[ARM], state.test[DONE] = split.arm, 0
    state.sums[1] = params.tree.total_at_most(split, params.pulls)


def patience_lazy(params: LazyParams, state: LazyState) -> int:
    """Pulls until the end of the test at hand."""
    return UNLIMITED if state.test[DONE] < 0 else int(params.pulls - state.test[DONE])


def commitment_lazy(params: LazyParams, state: LazyState) -> int:
    """The task that is left once the tests are over."""
    if state.test[DONE] >= 0:
        return UNDECIDED
    left = np.flatnonzero(state.survivors)
    return int(left[0]) if len(left) == 1 else NO_TASK


def explain_lazy(params: LazyParams, state: LazyState) -> Facts:
    """The test at hand, its tally, and the tasks still possible."""
    exploiting = bool(state.test[DONE] < 0)
    arm = int(state.test[ARM])
    return Facts(
        exploiting=exploiting,
        arm=None if arm < 0 else arm,
        possible=tuple(np.flatnonzero(state.survivors).tolist()),
        pulls=0 if exploiting else int(state.test[DONE]),
        total=float(state.sums[0]),
        details={} if exploiting else {"pulls": params.pulls, "at_most": float(state.sums[1])},
    )


follow_lazily = Policy(
    "follow-lazily",
    make_lazy,
    init_lazy,
    choose_lazy,
    update_lazy,
    explain_lazy,
    patience_lazy,
    replan_lazy,
    commitment_lazy,
)
