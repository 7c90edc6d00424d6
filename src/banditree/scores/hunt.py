"""The search for a short protocol: make a longer one, improve it, shrink it; then chains of moves from the best few."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from banditree.scores.choices import Adding, Choice, Judge, Places, added, best_line
from banditree.scores.drafts import (
    HIGH, LOW, NO_RULE, Draft, affine_values, ancestors, drafted, empty_draft, ends, path_lengths, returns,
)
from banditree.scores.tables import Line, Tables
from banditree.scores.worlds import World
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from dataclasses import dataclass

LARGE = 1.6
TINY = 1e-6
MOST_RESTARTS = 0.9
MAX_ROWS = 8_000
LONGEST_TRIAL = 40
SHORT_SHARE = 2 / 3
POOL = 3.0
IDLE_TRIALS = 4
WORTH = 1e-3
COARSE, FINE = 0.02, 0.003
SHRINK = 0.9
ELITES = 4
FAILS = []
HOT = 0.01
P1, P2 = 0.4, 0.8
LOCAL = 8


@dataclass(frozen=True)
class Limits:
    lines: int
    longest_path: int | None = None
    rule: bool = True
    forward_only: bool = False
    links_back: bool = False


class Stopped(Exception):
    pass


@njit(cache=True, error_model="numpy")
def judge_rules(root, links, order, down, up, cost, rule_cost, rule_down, adding):
    """What each rule makes of a draft (R,)."""
    R, K, S = rule_cost.shape
    N = links.shape[0]
    out = np.empty(R)
    a, b = np.zeros((K + 1 + N, S)), np.zeros((K + 1 + N, S))
    b[K] = 1.0
    used = np.zeros(K, np.bool_)
    if root < K:
        used[root] = True
    for n in order:
        for c in range(2):
            if links[n, c] < K:
                used[links[n, c]] = True
    first = np.empty(S)
    for r in range(R):
        for k in range(K):
            if used[k]:
                a[k], b[k] = rule_cost[r, k], rule_down[r, k]
        for position in range(order.size - 1, -1, -1):
            n = order[position]
            low, high = links[n, 0], links[n, 1]
            for s in range(S):
                a[K + 1 + n, s] = cost[n, s] + up[n, s] * a[high, s] + down[n, s] * a[low, s]
                b[K + 1 + n, s] = up[n, s] * b[high, s] + down[n, s] * b[low, s]
        worst = 0.0
        for s in range(S):
            worst = max(worst, b[root, s])
            first[s] = a[root, s] / (1.0 - b[root, s])
        out[r] = added(first, adding) * (1.0 + 20.0 * max(0.0, worst - MOST_RESTARTS))
    return out


class Search:
    def __init__(self, tables, world, limits, *, power, seed, steps, on_progress=None):
        self.tables, self.world, self.limits = tables, world, limits
        self.adding = Adding(np.array(world.group), np.array(world.weight), np.array(world.share), float(power))
        self.power = float(power)
        self.rng = np.random.default_rng(seed)
        self.steps, self.last = 0, steps
        self.on_progress = on_progress
        leaf = ends(tables, NO_RULE)[0]
        arm = int(np.argmin([added(row, self.adding) for row in leaf]))
        self.nothing = empty_draft(tables, arm, limits.links_back)
        self.best = self.nothing
        self.trace = []

    # -- judging
    def objective(self, draft):
        key = self.adding.power
        cached = draft.__dict__.get("_objective")
        if cached is not None and cached[0] == key:
            return cached[1]
        value = self._objective(draft)
        draft.__dict__["_objective"] = (key, value)
        return value

    def _objective(self, draft):
        if draft.n_lines and self.limits.longest_path is not None and path_lengths(draft)[0].max() > self.limits.longest_path:
            return np.inf
        if not self.limits.links_back and returns(draft):
            return np.inf
        if not draft.values.settled:
            return np.inf
        return added(draft.regret, self.adding) * (1.0 + 20.0 * max(0.0, draft.restarts - MOST_RESTARTS))

    def gradient(self, draft, power=None):
        power = self.adding.power if power is None else power
        groups = self.world.by_group(draft.regret)
        felt = (groups / max(groups.max(), 1e-300)) ** (power - 1) * self.world.share
        weights = self.world.weight * felt[self.world.group]
        return np.maximum(weights / max(weights.sum(), 1e-300), 1e-6)

    def weights(self, draft):
        power = self.adding.power
        return self.gradient(draft, (1.0, (power + 1) / 2, power)[self.rng.integers(3)])

    def spend(self):
        self.steps += 1
        if self.steps >= self.last:
            raise Stopped

    def accept(self, draft):
        if draft.n_lines <= self.limits.lines and self.objective(draft) < self.objective(self.best):
            self.best = draft
            self.trace.append((self.steps, self.objective(draft)))
        return draft

    # -- moves
    def places(self, draft, n, new):
        P = draft.first_line + draft.n_lines
        allowed = np.ones(P, dtype=bool)
        allowed[draft.n_ends] = not self.limits.forward_only and n >= -1
        if n < 0:
            allowed[draft.n_ends] = not self.limits.forward_only
        else:
            lines = allowed[draft.first_line:]
            if self.limits.links_back:
                lines[n] = new
            else:
                lines &= ~ancestors(draft, n)
            if self.limits.longest_path is not None:
                before, after = path_lengths(draft)
                lines &= after <= self.limits.longest_path - before[n] - new
        number = np.flatnonzero(allowed)
        return Places(number, draft.values.a[number], draft.values.b[number], draft.place_values[number])

    def choose(self, draft, n, visits, rest_a, rest_b, present):
        self.spend()
        weights = self.weights(draft) * visits / (1.0 - draft.values.b[draft.root])
        weights = np.maximum(weights, 1e-12 * weights.max() + 1e-300)
        judge = Judge(rest_a, rest_b, visits, self.adding)
        R = len(self.tables.rows)
        start = int(self.rng.integers(max(1, R - MAX_ROWS + 1)))
        return best_line(self.tables, weights, self.places(draft, n, present is None), judge, start, MAX_ROWS, present)

    def improve(self, draft, n):
        v, place = draft.values, draft.first_line + n
        visits = v.visits[n]
        choice = self.choose(draft, n, visits, v.a[draft.root] - visits * v.a[place], v.b[draft.root] - visits * v.b[place], draft.line(n))
        if choice.judged < (1 - TINY) * self.objective(draft):
            changed = draft.with_line(n, choice.line, choice.exits, choice.links)
            if self.objective(changed) < self.objective(draft):
                return self.accept(changed)
        return draft

    def extend(self, draft, n, side):
        if n >= 0 and self.limits.longest_path is not None and path_lengths(draft)[0][n] >= self.limits.longest_path:
            return draft
        if n < 0 and self.limits.longest_path is not None and draft.n_lines and path_lengths(draft)[0].max() >= self.limits.longest_path:
            return draft
        v, flow, target = draft.values, draft.flow(n, side), draft.target(n, side)
        choice = self.choose(draft, n, flow, v.a[draft.root] - flow * v.a[target], v.b[draft.root] - flow * v.b[target], None)
        if choice.judged < (1 - TINY) * self.objective(draft):
            changed = draft.with_new(n, side, choice.line, choice.exits, choice.links)
            if self.objective(changed) < self.objective(draft):
                return self.accept(changed)
        return draft

    def sweep(self, draft):
        for n in self.rng.permutation(draft.n_lines):
            if n < draft.n_lines:
                draft = self.improve(draft, int(n))
        return self.ruled(draft)

    def ruled(self, draft):
        if not self.limits.rule or self.limits.forward_only or self.limits.links_back:
            return draft
        t = self.tables
        judged = judge_rules(draft.root, draft.links, draft.order, draft.down, draft.up, draft.cost, t.rule_cost, t.rule_down, self.adding)
        r = int(judged.argmin())
        if judged[r] < (1 - TINY) * self.objective(draft):
            changed = draft.with_rule(r)
            if self.objective(changed) < self.objective(draft):
                return self.accept(changed)
        return draft

    def costly(self, draft):
        if not draft.n_lines:
            return [(-1, HIGH)]
        w = self.weights(draft)
        visits = draft.values.visits / (1.0 - draft.values.b[draft.root])
        V = draft.place_values
        behind = np.concatenate([(visits * draft.down * V[draft.links[:, 0]]) @ w, (visits * draft.up * V[draft.links[:, 1]]) @ w])
        order = np.argsort(-behind, kind="stable")
        N = draft.n_lines
        out = [(int(i % N), int(i // N)) for i in order]
        return [(n, s) for n, s in out if s == LOW or draft.lines[n, 2] > 0]

    def grow(self, draft, lines):
        tried = set()
        while draft.n_lines < lines:
            link = next((l for l in self.costly(draft) if l not in tried), None)
            if link is None:
                break
            tried.add(link)
            draft = self.extend(draft, *link)
        return draft

    def settle(self, draft, lines, gain):
        before = np.inf
        while self.objective(draft) < (1 - gain) * before:
            before = self.objective(draft)
            draft = self.sweep(self.grow(draft, lines))
        return draft

    def shrink(self, draft, lines):
        while draft.n_lines > lines:
            changed = self.least_missed(draft)
            if changed is None:
                FAILS.append(draft)
                return None
            draft = self.accept(changed)
        return draft

    def least_missed(self, draft):
        K1, N, links = draft.first_line, draft.n_lines, draft.links
        w = self.gradient(draft)
        visits = draft.values.visits * w / (1.0 - draft.values.b[draft.root])
        cost = np.stack([(visits * draft.down) @ draft.place_values.T, (visits * draft.up) @ draft.place_values.T], axis=1)
        for n in range(N):
            allowed = np.zeros(K1 + N, dtype=bool)
            allowed[self.places(draft, n, False).number] = True
            cost[n][:, ~allowed] = np.inf
            if draft.lines[n, 2] == 0:
                cost[n, 1] = cost[n, 0]
        best, least = None, np.inf
        np.put_along_axis(cost, links[..., None], np.inf, axis=2)
        elsewhere = cost.argmin(axis=2)
        for n in range(N):
            place = K1 + n
            if draft.root == place:
                cands = [draft.with_links(links, int(c)) for c in set(links[n]) if c >= K1]
            else:
                cands = [draft.with_links(np.where(links == place, elsewhere, links))]
                for side in (0, 1) if draft.lines[n, 2] else (0,):
                    if links[n, side] != place:
                        cands.append(draft.with_links(np.where(links == place, links[n, side], links)))
            for changed in cands:
                if changed.n_lines < N and self.objective(changed) < least:
                    best, least = changed, self.objective(changed)
        return best

    # -- starts
    def explore(self, guess=None, rule=NO_RULE):
        pool = Pool(self, guess, rule)
        idle = 0
        try:
            while len(pool.lines) < POOL * self.limits.lines and idle < IDLE_TRIALS:
                before = len(pool.lines)
                pool.trial()
                idle = 0 if len(pool.lines) > before else idle + 1
        finally:
            found = pool.draft()
        return self.accept(found)

    def start(self):
        guess, rule = (None, NO_RULE) if self.best.n_lines == 0 else (self.best.regret, self.best.rule)
        draft = self.explore(guess, rule)
        draft = self.ruled(draft)
        return self.down(draft)

    def down(self, draft):
        draft = self.settle(draft, int(np.ceil(LARGE * self.limits.lines)), COARSE)
        while draft.n_lines > self.limits.lines:
            smaller = self.shrink(draft, max(self.limits.lines, int(draft.n_lines * SHRINK)))
            if smaller is None:
                return self.best
            draft = self.sweep(smaller)
        return self.settle(draft, self.limits.lines, FINE)

    def chain(self, draft):
        """A few new lines at costly exits, a sweep, and the least missed dropped."""
        more = 1 + int(self.rng.integers(3))
        links = self.costly(draft)
        p = 0.7 ** np.arange(len(links))
        for i in self.rng.choice(len(links), size=min(len(links), more), replace=False, p=p / p.sum()):
            n, side = links[i]
            if n < draft.n_lines:
                draft = self.extend(draft, n, side)
        draft = self.some(draft)
        smaller = self.shrink(draft, self.limits.lines)
        return self.some(smaller) if smaller is not None else None

    def some(self, draft):
        if draft.n_lines <= LOCAL:
            return self.sweep(draft)
        weights = self.gradient(draft)
        V = draft.values
        p = (V.visits / (1.0 - V.b[draft.root]) * draft.place_values[draft.first_line:]) @ weights
        p = p / p.sum() + 0.5 / len(p)
        for n in self.rng.choice(draft.n_lines, size=LOCAL, replace=False, p=p / p.sum()):
            if n < draft.n_lines:
                draft = self.improve(draft, int(n))
        return self.ruled(draft)

    def run(self, starts=0.3):
        with threadpool_limits(1, user_api="blas"), suppress(Stopped):
            self.accept(self.ruled(self.grow(self.nothing, self.limits.lines)))
            elites = []
            while self.steps < starts * self.last or not elites:
                elites.append(self.start())
            self.after_starts = self.objective(self.best)
            self.n_starts = len(elites)
            elites = sorted(elites, key=self.objective)[:ELITES]
            begin = self.steps
            self.chains = 0
            while True:
                share = (self.steps - begin) / (self.last - begin)
                power = self.power if self.power == 1 else self.power * (1 if share < P1 else 2 if share < P2 else 4)
                self.adding = self.adding._replace(power=power)
                keep = max(1, int(np.ceil(ELITES * (1 - share / 0.6))))
                elites = elites[:keep]
                i = int(self.rng.integers(len(elites)))
                new = self.chain(elites[i])
                self.chains += 1
                if new is None:
                    continue
                warm = HOT * (1 - share)
                if self.objective(new) < self.objective(elites[i]) * (1 + warm * self.rng.exponential()):
                    elites[i] = new
                if self.objective(elites[0]) > 1.05 * self.objective(self.best):
                    elites[0] = self.best
                elites.sort(key=self.objective)
        return self.best


class Pool:
    def __init__(self, search, guess, rule):
        self.search, self.rule = search, rule
        t = search.tables
        cost, back = ends(t, rule)
        S = cost.shape[1]
        self.restart = guess is not None and not search.limits.forward_only
        base = cost + back * (guess if guess is not None else 0.0)
        self.lines, self.links = [], []
        self.values = np.vstack([base, (guess if self.restart else np.full(S, 1e9))[None]])
        self.heights = np.zeros(len(self.values), np.int64)
        self.K = len(base)
        self.prior = search.gradient(search.best)
        self.adding = Adding(np.arange(S), np.ones(S), np.full(S, 1 / S), 1.0)

    def trial(self):
        search = self.search
        belief, path = (self.prior + self.prior.mean()) / (2 * self.prior.sum()), []
        room = search.limits.longest_path or LONGEST_TRIAL
        while room > 0:
            path.append((belief, room))
            choice = self.add_best(belief, room)
            if (self.values[: self.K] @ belief).min() <= choice.judged * (1 + 1e-9):
                break
            task = search.rng.choice(len(belief), p=belief)
            e = choice.exits
            u = search.rng.random()
            side = e.up if u < e.up[task] else e.down
            if u > e.up[task] + e.down[task]:
                break
            belief = belief * side / (belief @ side)
            # other cases meet beliefs closer to the start
            if search.rng.random() < 0.3:
                belief = (belief + self.prior / self.prior.sum()) / 2
            if belief.max() > 1 - 1e-7:
                break
            room -= 1
        for belief, room in reversed(path):
            self.add_best(belief, room)

    def add_best(self, belief, room):
        search = self.search
        search.spend()
        number = np.flatnonzero(self.heights < room)
        values = self.values[number]
        zero = np.zeros_like(belief)
        judge = Judge(zero, zero, belief * len(belief), self.adding)
        places = Places(number, values, np.zeros_like(values), values)
        R = len(search.tables.rows)
        start = int(search.rng.integers(max(1, R - MAX_ROWS + 1)))
        choice = best_line(search.tables, np.maximum(belief, 1e-12), places, judge, start, MAX_ROWS)
        if choice.judged < (1 - WORTH) * (self.values[self.heights <= room] @ belief).min():
            self.lines.append(choice.line)
            self.links.append(choice.links)
            e = choice.exits
            value = e.cost + e.up * self.values[choice.links[1]] + e.down * self.values[choice.links[0]]
            self.values = np.vstack([self.values, value])
            self.heights = np.append(self.heights, 1 + self.heights[list(choice.links)].max())
        return choice

    def draft(self):
        s = self.search
        within = self.heights <= (s.limits.longest_path or len(self.heights))
        within[self.K] = False
        judged = [added(v, s.adding) if w else np.inf for v, w in zip(self.values, within)]
        return drafted(s.tables, int(np.argmin(judged)), self.lines, self.links, self.rule, s.limits.links_back)
