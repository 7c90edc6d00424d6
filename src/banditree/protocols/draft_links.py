"""Where the lines of a draft lead: their reading order, what reaches what, how long paths are."""

import numpy as np
from numba import njit

from banditree.tasks.arrays import BoolArray, IntArray


@njit(cache=True)
def leads_back(links: IntArray, order: IntArray) -> bool:
    """Whether some line leads to one that is not after it in the order."""
    rank = np.zeros(len(links), np.int64)
    for position in range(order.size):
        rank[order[position]] = position
    for line in order:
        for child in links[line]:
            if child >= 0 and rank[child] <= rank[line]:
                return True
    return False


@njit(cache=True)
def reading_order(root: int, links: IntArray) -> IntArray:
    """The lines reached from `root`, so that links lead to later ones except where they return."""
    n = len(links)
    finished, stack, state = np.empty(n, np.int64), np.empty(3 * n + 3, np.int64), np.zeros(n, np.int8)
    count, top = 0, 0
    if root >= 0:
        stack[0], top = root, 1
    while top > 0:
        line = stack[top - 1]
        if state[line] == 0:
            state[line] = 1
            for child in links[line]:
                if child >= 0 and state[child] == 0:
                    stack[top] = child
                    top += 1
        else:
            top -= 1
            if state[line] == 1:
                state[line] = 2
                finished[count] = line
                count += 1
    return finished[:count][::-1].copy()


@njit(cache=True)
def reaching(links: IntArray, line: int) -> BoolArray:
    """Which lines (N,) can reach a line, itself included."""
    found = np.zeros(len(links), np.bool_)
    found[line] = True
    grown = True
    while grown:
        grown = False
        for other in range(len(links)):
            low, high = links[other]
            if not found[other] and ((low >= 0 and found[low]) or (high >= 0 and found[high])):
                found[other] = True
                grown = True
    return found


@njit(cache=True)
def all_reaching(links: IntArray, order: IntArray) -> BoolArray:
    """Which lines (N, N) can reach each line, itself included, of lines that never lead back."""
    n = len(links)
    found = np.zeros((n, n), np.bool_)
    for line in range(n):
        found[line, line] = True
    for line in order:
        for child in links[line]:
            if child >= 0:
                for before in range(n):
                    found[child, before] |= found[line, before]
    return found


@njit(cache=True)
def path_lengths_of(links: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """(before, after), (N,) each: the most lines on a path to and from each line, itself included."""
    n = len(links)
    rank, before, after = np.zeros(n, np.int64), np.ones(n, np.int64), np.ones(n, np.int64)
    for position in range(order.size):
        rank[order[position]] = position
    for line in order:
        for child in links[line]:
            if child >= 0 and rank[child] > rank[line]:
                before[child] = max(before[child], before[line] + 1)
    for line in order[::-1]:
        for child in links[line]:
            if child >= 0 and rank[child] > rank[line]:
                after[line] = max(after[line], after[child] + 1)
    return before, after
