"""The exact values of a draft: what each place costs, how often each line is visited, where a pass leads.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

MAX_PASSES = 400  # A draft with links back that has not settled after this many passes is refused.
SETTLED = 1e-7  # The passes end when they change less than this share of the regret of the worst scenario.


class Values(NamedTuple):
    """a, b: (P, S), the value of each place as a + b V1. visits: (N, S), of each line in one pass, or in all of them
    where b is zero. first: (S,), V1. settled: whether passes over links back came to an end.
    """

    a: FloatArray
    b: FloatArray
    visits: FloatArray
    first: FloatArray
    settled: bool


Solved = tuple[FloatArray, FloatArray, FloatArray, FloatArray, bool]  # the fields of Values, as compiled code has them


class Chain(NamedTuple):
    """Where lines lead: the place to start, links (N, 2), the lines in reading order, and down, up, cost (N, S)."""

    root: int
    links: IntArray
    order: IntArray
    down: FloatArray
    up: FloatArray
    cost: FloatArray


class Passed(NamedTuple):
    """What one pass from line 1 leads to: its cost (S,) without the ends, how often it ends at each (K, S), starts
    again by itself and comes to rest on a watch line, (S,) each. Where visits are those of all passes, so is this."""

    cost: FloatArray
    ends: FloatArray
    again: FloatArray
    rest: FloatArray


@njit(cache=True, error_model="numpy")
def affine_values(chain: Chain, end_cost: FloatArray, end_back: FloatArray) -> Solved:
    """`Values` of a draft whose only links back are restarts: one pass from the last line to the first."""
    root, links, order, down, up, cost = chain
    K, S = end_cost.shape
    N = links.shape[0]
    a, b = np.zeros((K + 1 + N, S)), np.zeros((K + 1 + N, S))
    for s in range(S):
        b[K, s] = 1.0
        for k in range(K):
            a[k, s], b[k, s] = end_cost[k, s], end_back[k, s]
    for position in range(order.size - 1, -1, -1):
        n = order[position]
        low, high = links[n, 0], links[n, 1]
        for s in range(S):
            a[K + 1 + n, s] = cost[n, s] + up[n, s] * a[high, s] + down[n, s] * a[low, s]
            b[K + 1 + n, s] = up[n, s] * b[high, s] + down[n, s] * b[low, s]
    visits, first = np.zeros((N, S)), np.empty(S)
    for s in range(S):
        first[s] = a[root, s] / (1.0 - b[root, s])
        if root > K:
            visits[root - K - 1, s] = 1.0
    for n in order:
        low, high = links[n, 0] - K - 1, links[n, 1] - K - 1
        for s in range(S):
            if high >= 0:
                visits[high, s] += visits[n, s] * up[n, s]
            if low >= 0:
                visits[low, s] += visits[n, s] * down[n, s]
    return a, b, visits, first, True


@njit(cache=True)
def one_pass(
    chain: Chain, rest: FloatArray, visits: FloatArray, K: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The fields of `Passed`, from how often each line is visited (N, S)."""
    N, S = visits.shape
    cost, rests, places = np.zeros(S), np.zeros(S), np.zeros((K + 1, S))
    for s in range(S):
        if chain.root <= K:
            places[chain.root, s] = 1.0
    for n in range(N):
        low, high = chain.links[n, 0], chain.links[n, 1]
        for s in range(S):
            cost[s] += visits[n, s] * chain.cost[n, s]
            rests[s] += visits[n, s] * rest[n, s]
            if low <= K:
                places[low, s] += visits[n, s] * chain.down[n, s]
            if high <= K:
                places[high, s] += visits[n, s] * chain.up[n, s]
    return cost, places[:K], places[K], rests


@njit(cache=True)
def pass_values(chain: Chain, end_cost: FloatArray, end_back: FloatArray) -> Solved:
    """`Values` of a draft with any links back: passes over the lines until nothing changes."""
    root, links, order, down, up, cost = chain
    N, (K, S) = links.shape[0], end_cost.shape
    a, b = np.zeros((K + 1 + N, S)), np.zeros((K + 1 + N, S))
    for k in range(K):
        for s in range(S):
            a[k, s] = end_cost[k, s]
    settled = False
    for _ in range(MAX_PASSES):
        change = 0.0
        for s in range(S):
            a[K, s] = a[root, s]
            for k in range(K):
                a[k, s] = end_cost[k, s] + end_back[k, s] * a[K, s]
        for position in range(order.size - 1, -1, -1):
            n = order[position]
            low, high = links[n, 0], links[n, 1]
            for s in range(S):
                value = cost[n, s] + up[n, s] * a[high, s] + down[n, s] * a[low, s]
                change = max(change, abs(value - a[K + 1 + n, s]))
                a[K + 1 + n, s] = value
        if change <= SETTLED * a[root].max():
            settled = True
            break
    visits, arriving = np.zeros((N, S)), np.zeros((N, S))
    if root > K:
        arriving[root - K - 1] = 1.0
    for _ in range(MAX_PASSES):
        if N == 0 or (settled and arriving.max() < SETTLED):
            break
        for n in order:
            low, high = links[n, 0], links[n, 1]
            for s in range(S):
                here = arriving[n, s]
                arriving[n, s] = 0.0
                visits[n, s] += here
                for place, chance in ((low, down[n, s]), (high, up[n, s])):
                    if place > K:
                        arriving[place - K - 1, s] += here * chance
                    elif root > K:
                        again = 1.0 if place == K else end_back[place, s]
                        arriving[root - K - 1, s] += here * chance * again
    return a, b, visits, a[root].copy(), settled
