"""A draft as compiled loops have it: flat arrays, tidied and weighed in place.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from typing import NamedTuple

import numpy as np

from banditree.certificates.lean import inlined, inner, lean
from banditree.tasks.arrays import FloatArray, IntArray

N_LINES, ROOT, RULE = 0, 1, 2  # Entries of `Sheet.numbers`.
ORDER, BEFORE, AFTER = 0, 1, 2  # Rows of `Sheet.paths`.
DOWN, UP, COST, REST = 0, 1, 2, 3  # Rows of `Sheet.exits`.
A, B, VALUE = 0, 1, 2  # Parts of `Sheet.places`.
SETTLED, CIRCLING, RETURNS = 0, 1, 2  # Entries of `Sheet.scores`.
AGAIN, ENDS = 2, 3  # Rows of `Sheet.passed`, after COST and REST.
PASS_COST, PASS_REST = 0, 1
MAX_PASSES = 400  # A draft with links back that has not settled after this many passes is refused.
STILL = 1e-7  # The passes end when they change less than this share of the regret of the worst scenario.
NEGLIGIBLE = 1e-6  # A number of visits below this is rounding; a negative one means that cases circle for ever.


class Sheet(NamedTuple):
    """A draft with room for C lines, over K ends under S scenarios. The numbers of places are those of `Draft`.

    numbers: the lines, the root and the rule (-1: none). lines: (C, 4) and links: (C, 2), as in `Draft`. exits: (4, C,
    S), the chances down and up, the cost and the chance of never leaving. What `weigh` fills in: paths: (3, C), the
    lines in reading order, and the most lines on a path to and from each. places: (3, K + 1 + C, S), the value of each
    place as a + b V1, and that value. visits: (C, S), of each line in one pass, or in all of them with links back,
    where b is zero. passed: (3 + K, S), what one pass from line 1 costs without the ends, how often it comes to rest on
    a watch line, starts again by itself, and ends at each end. first: (S,), V1. above: (C, C), 1 for the lines that can
    reach a line (itself included), links back aside. scores: whether passes over links back came to an end, the chance
    of going round in circles, and whether some link leads back.
    """

    numbers: IntArray
    lines: IntArray
    links: IntArray
    exits: FloatArray
    paths: IntArray
    places: FloatArray
    visits: FloatArray
    passed: FloatArray
    first: FloatArray
    above: IntArray
    scores: FloatArray


class Ends(NamedTuple):
    """What the ends cost (K, S) without a rule, what they cost and how they are left with each of R rules (R, K, S),
    the arms of the W ways, what changes of arm cost (K, S) and leave, and how many ends are arms."""

    cost: FloatArray
    rule_cost: FloatArray
    rule_down: FloatArray
    rule_rest: FloatArray
    arm: IntArray
    moving: FloatArray
    kept: FloatArray
    is_free: bool
    n_arms: int


class Bench(NamedTuple):
    """To work with: chain (3, C, S) and ends (2, K, S) with what changes of arm cost, a system (C, C + 1), a stack."""

    chain: FloatArray
    ends: FloatArray
    system: FloatArray
    stack: IntArray


def empty_bench(n_lines: int, n_ends: int, n_scenarios: int) -> Bench:
    """What weighing needs."""
    C, S = n_lines, n_scenarios
    return Bench(np.zeros((3, C, S)), np.zeros((2, n_ends, S)), np.zeros((C, C + 1)), np.zeros(4 * C + 3, np.int64))


@lean()
def weigh(sheet: Sheet, ends: Ends, bench: Bench) -> None:
    """Take the lines out of a draft that cannot be reached, and fill in its values; only restarts lead back."""
    tidy(sheet, ends.cost.shape[0] + 1, bench.stack)
    prepare(sheet, ends, bench)
    pass_once(sheet, bench)
    what_is_passed(sheet, bench)
    sheet.scores[CIRCLING] = circling(sheet, ends)


@lean()
def weigh_with_links_back(sheet: Sheet, ends: Ends, bench: Bench) -> None:
    """The same for a draft whose links may lead back to any line."""
    tidy(sheet, ends.cost.shape[0] + 1, bench.stack)
    prepare(sheet, ends, bench)
    pass_again_and_again(sheet, bench)
    what_is_passed(sheet, bench)
    if sheet.numbers[ROOT] < ends.cost.shape[0]:
        sheet.scores[CIRCLING] = circling(sheet, ends)
        return
    most = 1.0
    for s in range(sheet.first.size):
        most = max(most, most_visits(sheet, s, ends, bench.system))
    sheet.scores[CIRCLING] = 1.0 - 1.0 / most


@inlined()
def tidy(sheet: Sheet, first: int, stack: IntArray) -> None:
    """Find the reading order, in which links lead to later lines except where they return; drop lines that no link
    leads to; find the most lines on a path to and from each of the others, itself included, links back aside."""
    numbers, links, paths, room = sheet.numbers, sheet.links, sheet.paths, sheet.links.shape[0]
    N, order = numbers[N_LINES], paths[ORDER]
    state = stack[3 * room + 3 :]
    count, top = N, 0
    for n in range(N):
        state[n] = 0
    if numbers[ROOT] >= first:
        stack[0], top = numbers[ROOT] - first, 1
    while top > 0:
        line = stack[top - 1]
        if state[line] == 0:
            state[line] = 1
            for side in range(2):
                child = links[line, side] - first
                if child >= 0 and state[child] == 0:
                    stack[top] = child
                    top += 1
        else:
            top -= 1
            if state[line] == 1:
                state[line] = 2
                count -= 1
                order[count] = line
    for i in range(N - count):
        order[i] = order[count + i]
    if count > 0:
        drop(sheet, first, state)
    find_paths(sheet, first, stack)


@inlined()
def drop(sheet: Sheet, first: int, state: IntArray) -> None:
    """Drop the lines whose state is not 2."""
    numbers, lines, links, exits, paths = sheet.numbers, sheet.lines, sheet.links, sheet.exits, sheet.paths
    N, order, number = numbers[N_LINES], paths[ORDER], paths[BEFORE]
    kept = 0
    for n in range(N):
        number[n] = kept
        if state[n] == 2:
            if kept < n:
                for i in range(4):
                    lines[kept, i] = lines[n, i]
                    for s in range(exits.shape[2]):
                        exits[i, kept, s] = exits[i, n, s]
                links[kept, 0], links[kept, 1] = links[n, 0], links[n, 1]
            kept += 1
    for n in range(kept):
        order[n] = number[order[n]]
        for side in range(2):
            if links[n, side] >= first:
                links[n, side] = first + number[links[n, side] - first]
    if numbers[ROOT] >= first:
        numbers[ROOT] = first + number[numbers[ROOT] - first]
    numbers[N_LINES] = kept


@inlined()
def find_paths(sheet: Sheet, first: int, rank: IntArray) -> None:
    """What can reach each line, and the most lines on a path to and from it, itself included, links back aside."""
    N, order, links, above = sheet.numbers[N_LINES], sheet.paths[ORDER], sheet.links, sheet.above
    before, after = sheet.paths[BEFORE], sheet.paths[AFTER]
    sheet.scores[RETURNS] = 0.0
    for i in range(N):
        rank[order[i]] = i
        before[i] = after[i] = 1
        for n in range(N):
            above[i, n] = 1 if i == n else 0
    for i in range(N):
        for side in range(2):
            child = links[order[i], side] - first
            if child >= 0 and rank[child] > i:
                before[child] = max(before[child], before[order[i]] + 1)
                for n in range(N):
                    above[child, n] |= above[order[i], n]
            elif child >= 0:
                sheet.scores[RETURNS] = 1.0
    for i in range(N - 1, -1, -1):
        for side in range(2):
            child = links[order[i], side] - first
            if child >= 0 and rank[child] > i:
                after[order[i]] = max(after[order[i]], after[child] + 1)


@inlined()
def prepare(sheet: Sheet, ends: Ends, bench: Bench) -> None:
    """The lines and the ends, with what exits to other arms cost."""
    exits, links, rule = sheet.exits, sheet.links, sheet.numbers[RULE]
    K, S = ends.cost.shape
    root = arm_of(sheet, sheet.numbers[ROOT], ends)
    for k in range(K):
        turns = not ends.is_free and arm_of(sheet, k, ends) != root
        for s in range(S):
            cost, back = ends.cost[k, s], 0.0
            if rule >= 0:
                cost, back = ends.rule_cost[rule, k, s], ends.rule_down[rule, k, s]
            if turns:
                cost += back * ends.moving[root, s]
                back *= ends.kept[root, s]
            bench.ends[0, k, s], bench.ends[1, k, s] = cost, back
    for n in range(sheet.numbers[N_LINES]):
        for s in range(S):
            for part in range(3):
                bench.chain[part, n, s] = exits[part, n, s]
        for side in range(2):
            if ends.is_free:
                break
            to = arm_of(sheet, links[n, side], ends)
            if to < 0 or to != ends.arm[sheet.lines[n, 0]]:
                for s in range(S):
                    bench.chain[COST, n, s] += exits[side, n, s] * ends.moving[to if to >= 0 else K - 1, s]
                    bench.chain[side, n, s] *= ends.kept[to if to >= 0 else K - 1, s]


@inner()
def arm_of(sheet: Sheet, place: int, ends: Ends) -> int:
    """The arm of an end, of line 1 for a restart, or of a line; -1 where others choose."""
    K = ends.cost.shape[0]
    if place == K:
        place = sheet.numbers[ROOT]
    if place > K:
        return int(ends.arm[sheet.lines[place - K - 1, 0]])
    return place if place < ends.n_arms else -1


@inlined()
def pass_once(sheet: Sheet, bench: Bench) -> None:
    """Values where the only links back are restarts: one pass from the last line to the first, and one forth."""
    N, root, links, order = sheet.numbers[N_LINES], sheet.numbers[ROOT], sheet.links, sheet.paths[ORDER]
    a, b, visits, first = sheet.places[A], sheet.places[B], sheet.visits, sheet.first
    down, up, cost = bench.chain[DOWN], bench.chain[UP], bench.chain[COST]
    K, S = bench.ends.shape[1], first.size
    for s in range(S):
        a[K, s], b[K, s] = 0.0, 1.0
        for k in range(K):
            a[k, s], b[k, s] = bench.ends[0, k, s], bench.ends[1, k, s]
    for i in range(N - 1, -1, -1):
        n = order[i]
        low, high = links[n, 0], links[n, 1]
        for s in range(S):
            a[K + 1 + n, s] = cost[n, s] + up[n, s] * a[high, s] + down[n, s] * a[low, s]
            b[K + 1 + n, s] = up[n, s] * b[high, s] + down[n, s] * b[low, s]
            visits[n, s] = 0.0
    for s in range(S):
        first[s] = a[root, s] / (1.0 - b[root, s])
        for p in range(K + 1 + N):
            sheet.places[VALUE, p, s] = a[p, s] + b[p, s] * first[s]
        if root > K:
            visits[root - K - 1, s] = 1.0
    for i in range(N):
        n = order[i]
        for side in range(2):
            to = links[n, 1 - side] - K - 1
            if to >= 0:
                for s in range(S):
                    visits[to, s] += visits[n, s] * bench.chain[1 - side, n, s]
    sheet.scores[SETTLED] = 1.0


@inlined()
def pass_again_and_again(sheet: Sheet, bench: Bench) -> None:
    """Values with any links back: passes over the lines until nothing changes."""
    N, root, links, order = sheet.numbers[N_LINES], sheet.numbers[ROOT], sheet.links, sheet.paths[ORDER]
    a, visits, arriving = sheet.places[A], sheet.visits, sheet.places[VALUE]
    down, up, cost, at_ends = bench.chain[DOWN], bench.chain[UP], bench.chain[COST], bench.ends
    K, S = at_ends.shape[1], sheet.first.size
    for s in range(S):
        for p in range(K + 1 + N):
            a[p, s] = at_ends[0, p, s] if p < K else 0.0
            sheet.places[B, p, s], arriving[p, s] = 0.0, 0.0
        for n in range(N):
            visits[n, s] = 0.0
    settled = False
    for _ in range(MAX_PASSES):
        change, most = 0.0, 0.0
        for s in range(S):
            a[K, s] = a[root, s]
            for k in range(K):
                a[k, s] = at_ends[0, k, s] + at_ends[1, k, s] * a[K, s]
        for i in range(N - 1, -1, -1):
            n = order[i]
            for s in range(S):
                value = cost[n, s] + up[n, s] * a[links[n, 1], s] + down[n, s] * a[links[n, 0], s]
                change = max(change, abs(value - a[K + 1 + n, s]))
                a[K + 1 + n, s] = value
        for s in range(S):
            most = max(most, a[root, s])
        if change <= STILL * most:
            settled = True
            break
    for s in range(S):
        sheet.first[s] = a[root, s]
        if root > K:
            arriving[root, s] = 1.0
    for _ in range(MAX_PASSES):
        most = 0.0
        for i in range(N):
            n = order[i]
            for s in range(S):
                here = arriving[K + 1 + n, s]
                arriving[K + 1 + n, s] = 0.0
                visits[n, s] += here
                for side in range(2):
                    to, chance = links[n, side], here * bench.chain[side, n, s]
                    if to <= K:
                        chance *= 1.0 if to == K else at_ends[1, to, s]
                        to = root
                    arriving[to, s] += chance
        for n in range(N):
            for s in range(S):
                most = max(most, arriving[K + 1 + n, s])
        if settled and most < STILL:
            break
    for p in range(K + 1 + N):
        for s in range(S):
            arriving[p, s] = a[p, s]
    sheet.scores[SETTLED] = 1.0 if settled else 0.0


@inlined()
def what_is_passed(sheet: Sheet, bench: Bench) -> None:
    """Fill in what one pass leads to, from how often each line is visited."""
    passed, visits, links, exits = sheet.passed, sheet.visits, sheet.links, sheet.exits
    K, S, root = bench.ends.shape[1], sheet.first.size, sheet.numbers[ROOT]
    for row in range(3 + K):
        for s in range(S):
            passed[row, s] = 1.0 if root < K and row == ENDS + root else 0.0
    for n in range(sheet.numbers[N_LINES]):
        for s in range(S):
            passed[PASS_COST, s] += visits[n, s] * bench.chain[COST, n, s]
            passed[PASS_REST, s] += visits[n, s] * exits[REST, n, s]
        for side in range(2):
            to = links[n, side]
            if to <= K:
                row = AGAIN if to == K else ENDS + to
                for s in range(S):
                    passed[row, s] += visits[n, s] * bench.chain[side, n, s]


@inlined()
def circling(sheet: Sheet, ends: Ends) -> float:
    """The largest chance, over the scenarios, that a pass leads back to line 1 rather than to rest."""
    (K, S), root, rule, most = ends.cost.shape, sheet.numbers[ROOT], sheet.numbers[RULE], 0.0
    for s in range(S):
        again, rests = sheet.places[B, root, s], sheet.passed[PASS_REST, s]
        if root < K:
            again = 0.0 if rule < 0 else 1.0 - ends.rule_rest[rule, root, s]
            rests = 1.0 - again
        else:
            for k in range(K):
                rests += sheet.passed[ENDS + k, s] * (1.0 if rule < 0 else ends.rule_rest[rule, k, s])
        most = max(most, again / max(again + rests, 1e-300))
    return most


@inlined()
def most_visits(sheet: Sheet, s: int, ends: Ends, system: FloatArray) -> float:
    """How often a case comes to the line that it comes to most often, if the horizon does not end before it rests."""
    N, rule, K = sheet.numbers[N_LINES], sheet.numbers[RULE], ends.cost.shape[0]
    exits, links, start = sheet.exits, sheet.links, sheet.numbers[ROOT] - K - 1
    for i in range(N):
        for j in range(N + 1):
            system[i, j] = 1.0 if i == j or (j == N and i == start) else 0.0
    for n in range(N):
        left = max(exits[DOWN, n, s] + exits[UP, n, s] + exits[REST, n, s], 1e-300)
        for side in range(2):
            to, chance = links[n, side] - K - 1, exits[side, n, s] / left
            if to < 0:
                k, to = to + K + 1, start
                if k < K:
                    back = 0.0 if rule < 0 else ends.rule_down[rule, k, s]
                    rest = 1.0 if rule < 0 else ends.rule_rest[rule, k, s]
                    chance *= back / max(back + rest, 1e-300)
            system[to, n] -= chance
    return solved_most(system, N)


@inlined()
def solved_most(system: FloatArray, n: int) -> float:
    """The largest unknown of n equations, given as rows with their right sides; infinite where one is negative or
    nothing solves them."""
    for i in range(n):
        pivot = i
        for j in range(i + 1, n):
            if abs(system[j, i]) > abs(system[pivot, i]):
                pivot = j
        if system[pivot, i] == 0.0:
            return np.inf
        for j in range(i, n + 1):
            system[i, j], system[pivot, j] = system[pivot, j], system[i, j]
        for row in range(n):
            if row != i and system[row, i] != 0.0:
                factor = system[row, i] / system[i, i]
                for j in range(i, n + 1):
                    system[row, j] -= factor * system[i, j]
    most = 0.0
    for i in range(n):
        value = system[i, n] / system[i, i]
        if not value >= -NEGLIGIBLE:
            return np.inf
        most = max(most, value)
    return most
