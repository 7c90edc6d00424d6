"""The exit distributions of all lines that a protocol may use, under every scenario.

A way is an arm with a template of its templates. Compiled by numba: import this module where it is used, not at the top
of another one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from banditree.certificates.discounted import NO_CAP, score_exits, watch_exits
from banditree.errors import InvalidInput, TooLong
from banditree.protocols.moving import Moving, moving_to
from banditree.protocols.scoring import Templates, levels_for, templates_of
from banditree.protocols.screening import Screened, SingleArray
from banditree.protocols.sheets import Ends
from banditree.protocols.worlds import World, resting_costs
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.rewards.base import Scoring

COARSE = 2  # Every second level is looked at first; those between are for refining.
RISES = 1e-9  # A score that drifts upwards by less, which may be rounding, is left some day.
HANDS_OVER = 4  # The column of `Tables.rules` that says whether a rule hands over.
# What a case that is still tested at the horizon costs, as a share of one with a wrong arm. It is small: the tables end
# a case at a random round, which comes during a test far more often than the horizon does.
TESTED = 0.03
BYTES, MOST_BYTES = 15.0, 8e9  # Of all tables, for each way, two levels and scenario; more than that is refused.
CAPS = (0, 20)  # The score of a watch line or of the safety rule may be capped at one of these; 0 is no cap.


Watched = Callable[[int, int], tuple[FloatArray, FloatArray]]


class Line(NamedTuple):
    """What a line does: the way (arm and scoring), its levels (ceil 0: a watch line) and its cap (0: none)."""

    way: int
    floor: int
    ceil: int
    cap: int = 0


class Stays(NamedTuple):
    """What a round with each arm costs under each scenario, (S, K) each, on a score line, and on a watch line or at an
    end; and the chance of going on, and in sight, after it."""

    gaps: FloatArray
    resting: FloatArray
    on_line: FloatArray
    at_rest: FloatArray


class Ways(NamedTuple):
    """How the lines of W ways are left at the L levels, times the unit of the way, as compiled code takes it.

    up, rounds: (W, L, L, S) of score lines, by ceil and floor. watch_down, watch_rounds: (W, caps, L, S) of watch
    lines. gaps, resting, stopping: (W, S), what a round on a score line and on a watch line costs, and the chance that
    the former is the last in sight.
    """

    up: SingleArray
    rounds: SingleArray
    watch_down: FloatArray
    watch_rounds: FloatArray
    gaps: FloatArray
    resting: FloatArray
    stopping: FloatArray


@dataclass(frozen=True, eq=False)
class Tables:
    """W ways at L levels, S scenarios, K arms.

    arm, template: (W,). going: the chance of going on after a round.
    Rules: (R, K, S) each, rule_down, rule_cost and rule_rest of ends, with `rules` (R, 5): template, floor, cap, the
    number of the level, and 1 where the rule hands over. After the arms, the K ends are those at which others choose,
    the hand-over last. rows: (n, 3), the score lines that are screened (way, ceil, floor, as numbers of levels), in
    random order; watch_rows: (n, 3), the watch lines (way, cap, floor). rule_allowed: (R,), which rules may be used.
    moving: what it takes to move on to another arm. known: exits that were computed before.
    """

    templates: Templates
    levels: IntArray
    going: float
    stays: Stays
    arm: IntArray
    template: IntArray
    ways: Ways
    rules: IntArray
    rule_down: FloatArray
    rule_cost: FloatArray
    rule_rest: FloatArray
    rows: IntArray
    screened: Screened
    watch_rows: IntArray
    watch_screened: Screened
    rule_allowed: BoolArray
    moving: Moving
    known: dict[Line, FloatArray] = field(default_factory=dict)

    def line(self, way: int, ceil: int, floor: int, cap: int = 0) -> Line:
        """The line with these numbers of levels (ceil -1: a watch line) and of its cap."""
        unit = int(self.templates.unit[self.template[way]])
        top = int(self.levels[ceil]) * unit if ceil >= 0 else 0
        return Line(way, int(self.levels[floor]) * unit, top, 0 if top else CAPS[cap])

    @property
    def n_arms(self) -> int:
        """The ends that are arms."""
        return int(self.templates.chance.shape[1])

    @property
    def n_ends(self) -> int:
        """K: the arms, and the ends at which others choose."""
        return int(self.stays.gaps.shape[1])

    @cached_property
    def ends(self) -> Ends:
        """The ends as drafts are weighed with them."""
        alone = np.ascontiguousarray((self.stays.resting / (1.0 - self.stays.at_rest)).T)
        rules, moving = (self.rule_cost, self.rule_down, self.rule_rest), self.moving
        return Ends(alone, *rules, self.arm, moving.cost, moving.kept, moving.is_free, self.n_arms)

    def exits(self, line: Line) -> FloatArray:
        """How a line with any levels is left under each scenario, in full precision (4, S): the discounted chances of
        the low and the high exit, what its rounds cost, and the chance that it is never left, if its score drifts
        upwards; otherwise it is left some day."""
        if line not in self.known:
            self.known[line] = self._exits(line)
        return self.known[line]

    def _exits(self, line: Line) -> FloatArray:
        arm, template = int(self.arm[line.way]), self.template[line.way]
        points, chance = self.templates.points[template], self.templates.chance[template, arm]
        floors = np.array([line.floor])
        if line.ceil:
            down, up, rounds = score_exits(points, chance, self.stays.on_line[:, arm], floors, np.array([line.ceil]))
            cost = rounds[0, 0] * self.stays.gaps[:, arm]
            return np.stack([down[0, 0], up[0, 0], cost, np.zeros_like(cost)])
        level = np.flatnonzero(self.levels * self.templates.unit[template] == line.floor)
        if level.size:  # one of those that the tables hold in full precision
            at = line.way, CAPS.index(line.cap), int(level[0])
            down, rounds = self.ways.watch_down[at], self.ways.watch_rounds[at]
        else:
            caps, going = np.array([line.cap or NO_CAP]), self.stays.at_rest[:, arm]
            down, rounds = (part[0, 0] for part in watch_exits(points, chance, going, floors, caps))
        rest = np.where(points @ chance > RISES, 1.0 - down, 0.0)
        return np.stack([down, np.zeros_like(rest), rounds * self.stays.resting[:, arm], rest])


def build_tables(
    world: World,
    horizon: int,
    wrong_price: float = 0.0,
    more: Sequence[Scoring] = (),
    longer: float = 1.0,
    harm_price: float = 0.0,
) -> Tables:
    """All tables. wrong_price: what having a wrong arm in force at the horizon costs, or none, once. more: ways to
    score. longer: how many times the horizon a case lasts on average. harm_price: what one harm costs."""
    scenarios = world.scenarios
    care, going = world.care, 1.0 - 1.0 / (longer * horizon)
    missed = np.hstack([scenarios.gaps, np.zeros((scenarios.n_tasks, len(world.choosers)))])
    moving = moving_to(missed, scenarios.change_cost, going, world.washout, care)
    templates, levels = world.templates or templates_of(scenarios, more), levels_for(horizon)
    gaps = scenarios.gaps
    at_rest, losses = resting_costs(world, horizon)
    resting = at_rest + np.where(gaps > 1e-12, wrong_price / horizon, 0.0)
    gaps = gaps + TESTED * wrong_price / horizon  # still tested when the horizon ends: no arm is in force
    if harm_price and scenarios.harm is not None:
        gaps, resting = (cost + harm_price * scenarios.harm.rates for cost in (gaps, resting))
    if world.choosers:  # What an end costs once is spread over the rounds, as for every end.
        gaps, resting = np.hstack([gaps, losses.T / horizon]), np.hstack([resting, losses.T / horizon])
    template, arm = np.nonzero(templates.usable)
    if not len(arm):
        raise InvalidInput("All tasks have the same means, so there is nothing to find out. Merge them.")
    stays = Stays(
        *(care.with_bearable(cost) for cost in (gaps, resting)), *(going * care.seen(cost) for cost in (gaps, resting))
    )
    _refuse_too_large(len(arm), len(levels), len(stays.gaps))
    templates = replace(templates, chance=care.each(templates.chance, axis=3))
    watched = _watched(templates, levels, stays)
    ways = _ways(templates, levels, template, arm, stays, watched)
    rules, rule_down, rule_cost = _rules(templates, levels, stays, watched)
    drift = np.einsum("tb,tkbs->tks", templates.points, templates.chance)[rules[:, 0]]
    rule_rest = np.where(drift > RISES, 1.0 - rule_down, 0.0)
    if world.choosers:
        rules, rule_down, rule_cost, rule_rest = _with_choosers(
            rules, rule_down, rule_cost, rule_rest, care.with_bearable(losses, axis=1)
        )
    return Tables(
        templates,
        levels,
        going,
        stays,
        arm,
        template,
        ways,
        rules,
        rule_down,
        rule_cost,
        rule_rest,
        *_screened(ways),
        np.ones(len(rules), dtype=bool),
        moving,
    )


def _refuse_too_large(n_ways: int, n_levels: int, n_scenarios: int) -> None:
    """An error where tables would not fit into the memory of most machines."""
    size = BYTES * n_ways * n_levels**2 * n_scenarios
    if size > MOST_BYTES:
        raise TooLong(
            f"The tables of all lines would take {size / 1e9:,.0f} GB: {n_scenarios:,} tasks, or rates of tasks to "
            f'allow for, by {n_ways:,} ways to score an arm. Merge tasks or drop arms, or use method="tree".'
        )


def _watched(templates: Templates, levels: IntArray, stays: Stays) -> Watched:
    """(down, rounds), (caps, L, S) each, of watching an arm by a template: of a line, and of an end under a rule."""

    @cache
    def exits(template: int, arm: int) -> tuple[FloatArray, FloatArray]:
        here = levels * templates.unit[template]
        own = templates.points[template], templates.chance[template, arm]
        return watch_exits(*own, stays.at_rest[:, arm], here, _caps())

    return exits


def _ways(
    templates: Templates,
    levels: IntArray,
    template: IntArray,
    arm: IntArray,
    stays: Stays,
    watched: Watched,
) -> Ways:
    W, n, S = len(arm), len(levels), len(stays.gaps)
    up, rounds = np.empty((W, n, n, S), np.float32), np.empty((W, n, n, S), np.float32)
    watch_down, watch_rounds = np.empty((W, len(CAPS), n, S)), np.empty((W, len(CAPS), n, S))
    for way in range(W):
        here = levels * templates.unit[template[way]]
        points, chance = templates.points[template[way]], templates.chance[template[way], arm[way]]
        _down, up[way], rounds[way] = score_exits(points, chance, stays.on_line[:, arm[way]], here, here)
        watch_down[way], watch_rounds[way] = watched(int(template[way]), int(arm[way]))
    costs = (np.ascontiguousarray(part.T[arm]) for part in (stays.gaps, stays.resting, 1.0 - stays.on_line))
    return Ways(up, rounds, watch_down, watch_rounds, *costs)


def _caps() -> IntArray:
    return np.array([cap or NO_CAP for cap in CAPS])


def _rules(
    templates: Templates, levels: IntArray, stays: Stays, watched: Watched
) -> tuple[IntArray, FloatArray, FloatArray]:
    """(rules, rule_down, rule_cost) for all common templates, floors and caps."""
    (S, _), K = stays.resting.shape, templates.chance.shape[1]
    rules, downs, costs = [], [], []
    for template in np.flatnonzero(templates.common):
        here = levels * templates.unit[template]
        exits = [watched(int(template), k) for k in range(K)]
        for c, cap in enumerate(CAPS):
            for level, floor in enumerate(here):
                rules.append((template, floor, cap, level, 0))
                downs.append([down[c, level] for down, _rounds in exits])
                costs.append([exits[k][1][c, level] * stays.resting[:, k] for k in range(K)])
    return np.array(rules, np.int64).reshape(-1, 5), np.reshape(downs, (-1, K, S)), np.reshape(costs, (-1, K, S))


def _with_choosers(
    rules: IntArray, down: FloatArray, cost: FloatArray, rest: FloatArray, losses: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """The rules, which leave ends where others choose alone, and as many more that hand over; losses: (E, S)."""
    R, K, S = down.shape
    E = len(losses)
    lost = np.broadcast_to(losses, (R, E, S))
    stays, never = np.ones((R, E, S)), np.zeros((R, E, S))
    over = rules.copy()
    over[:, HANDS_OVER] = 1
    return (
        np.vstack([rules, over]),
        np.concatenate([np.concatenate([down, never], axis=1), np.zeros((R, K + E, S))]),
        np.concatenate([np.concatenate([part, lost], axis=1) for part in (cost, cost + down * losses[-1])]),
        np.concatenate([np.concatenate([rest, stays], axis=1), np.ones((R, K + E, S))]),
    )


def _screened(ways: Ways) -> tuple[IntArray, Screened, IntArray, Screened]:
    """(rows, screened, watch_rows, watch_screened) of the tables: every other level of all ways."""
    rng, (W, n) = np.random.default_rng(0), ways.up.shape[:2]
    coarse, caps = range(0, n, COARSE), range(len(CAPS))
    rows = rng.permutation([(way, a, b) for way in range(W) for a in coarse for b in coarse])
    watch_rows = rng.permutation([(way, cap, b) for way in range(W) for cap in caps for b in coarse])
    way, watch_way = rows[:, 0], watch_rows[:, 0]
    at, watch_at = tuple(rows.T), tuple(watch_rows.T)
    score = Screened(*_columns(ways.up[at], ways.rounds[at] * ways.gaps[way]))
    watch = Screened(*_columns(ways.watch_down[watch_at], ways.watch_rounds[watch_at] * ways.resting[watch_way]))
    return rows, score, watch_rows, watch


def _columns(*tables: FloatArray | SingleArray) -> list[SingleArray]:
    """Tables (n, S) as (S, n) in single precision."""
    return [np.ascontiguousarray(table.T, np.float32) for table in tables]
