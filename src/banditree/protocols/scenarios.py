"""The rates, within what is known about them, at which a given draft does worst.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np

from banditree.certificates.discounted import NO_CAP, score_exits, watch_exits
from banditree.protocols.draft import NO_RULE, Draft
from banditree.protocols.moving import moving_to
from banditree.protocols.scoring import bin_chances
from banditree.protocols.sheets import Ends
from banditree.protocols.tables import HANDS_OVER
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.changes import with_parameters
from banditree.tasks.collection import Collection

PASSES = 2  # The arms are gone through so often; a third time changes next to nothing.
AS_GIVEN, LOW_END, HIGH_END = 0, 1, 2


def hardest_parameters(collection: Collection) -> FloatArray:
    """The means or chances at which tasks are hardest to tell apart: best arms low, others high."""
    sign = np.ones_like(collection.means)
    sign[np.arange(collection.n_tasks), collection.best_arms] = -1.0
    return collection.rewards.shifted(collection.parameters, sign * collection.radius)


def worst_parameters(draft: Draft, collection: Collection) -> FloatArray:
    """Means or chances within the radius of the estimates, at which each task's regret is as high as could be found.

    Arm by arm, the mean goes to the end of its interval that costs more: a local search, so that the true worst may
    cost a little more.
    """
    corners = Corners(draft, collection)
    chosen = np.full((collection.n_tasks, collection.n_arms), AS_GIVEN)
    worst = corners.regret(chosen)
    for _ in range(PASSES):
        for arm in range(collection.n_arms):
            for end in (LOW_END, HIGH_END):
                other = chosen.copy()
                other[:, arm] = end
                regret = corners.regret(other)
                chosen[regret > worst] = other[regret > worst]
                worst = np.maximum(worst, regret)
    return corners.parameters(chosen)


class Corners:
    """A draft under rates that are each as given, or at the low or high end of their intervals.

    down, up, rounds: (3, N, M) of the lines; end_down, end_rounds: (3, K, M).
    """

    def __init__(self, draft: Draft, collection: Collection) -> None:
        self.draft, self.collection = draft, collection
        shifted = collection.rewards.shifted
        known, radius = collection.parameters, collection.radius
        self.ends = np.stack([known, shifted(known, -radius), shifted(known, radius)])
        worlds = [with_parameters(collection, parameters) for parameters in self.ends]
        self.worths = np.stack([world.round_worth for world in worlds])
        chances = [bin_chances(world, draft.tables.templates.cuts) for world in worlds]
        lines = [[self._line(n, chance) for n in range(draft.n_lines)] for chance in chances]
        shape = (3, draft.n_lines, collection.n_tasks)
        self.down, self.up, self.rounds = (
            np.array([[exits[part] for exits in row] for row in lines]).reshape(shape) for part in range(3)
        )
        ends = [[self._end(arm, chance) for arm in range(collection.n_arms)] for chance in chances]
        self.end_down, self.end_rounds = (np.array([[exits[part] for exits in row] for row in ends]) for part in (0, 1))

    def _line(self, n: int, chance: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        tables, line = self.draft.tables, self.draft.line(n)
        template, arm, floor = tables.template[line.way], tables.arm[line.way], np.array([line.floor])
        points = tables.templates.points[template]
        if line.ceil:
            exits = score_exits(points, chance[template, arm], tables.going, floor, np.array([line.ceil]))
            return exits[0][0, 0], exits[1][0, 0], exits[2][0, 0]
        down, rounds = watch_exits(points, chance[template, arm], tables.going, floor, np.array([line.cap or NO_CAP]))
        return down[0, 0], np.zeros_like(down[0, 0]), rounds[0, 0]

    def _end(self, arm: int, chance: FloatArray) -> tuple[FloatArray, FloatArray]:
        tables, rule = self.draft.tables, self.draft.rule
        M = self.collection.n_tasks
        if rule == NO_RULE:
            return np.zeros(M), np.full(M, 1.0 / (1.0 - tables.going))
        template, floor, cap, _level, _over = tables.rules[rule]
        down, rounds = watch_exits(
            tables.templates.points[template],
            chance[template, arm],
            tables.going,
            np.array([floor]),
            np.array([cap or NO_CAP]),
        )
        return down[0, 0], rounds[0, 0]

    def regret(self, chosen: IntArray) -> FloatArray:
        """The regret (M,) at the chosen ends of the intervals (M, K)."""
        draft, tables = self.draft, self.draft.tables
        M, K = chosen.shape
        worths = np.take_along_axis(self.worths, chosen[None], axis=0)[0]
        gaps = worths.max(axis=1, keepdims=True) - worths
        arm = tables.arm[draft.lines[:, 0]]
        line = (chosen[:, arm].T, np.arange(draft.n_lines)[:, None], np.arange(M))
        end = (chosen.T, np.arange(K)[:, None], np.arange(M))
        exits = np.stack(
            [self.down[line], self.up[line], self.rounds[line] * gaps[:, arm].T, np.zeros((draft.n_lines, M))]
        )
        cost, down = self._with_choosers(self.end_rounds[end] * gaps.T, self.end_down[end])
        missed = np.hstack([gaps, np.zeros((M, tables.n_ends - K))])
        moving = moving_to(missed, self.collection.change_cost, tables.going, tables.moving.washout)
        rests = cost[None], down[None], np.zeros_like(cost)[None]
        ends = Ends(cost, *rests, tables.arm, moving.cost, moving.kept, moving.is_free, tables.n_arms)
        links = draft.lines.copy(), draft.links.copy()
        return Draft(tables, draft.root, *links, exits, rule=0, back=draft.back, ends=ends).regret

    def _with_choosers(self, cost: FloatArray, down: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Costs and chances of starting again (K, M) of all ends; where others choose, as at the given rates."""
        tables, M = self.draft.tables, self.collection.n_tasks
        if tables.n_ends == tables.n_arms:
            return cost, down
        lost = tables.stays.resting[:M, tables.n_arms :].T / (1.0 - tables.going)
        if self.draft.rule != NO_RULE and tables.rules[self.draft.rule, HANDS_OVER]:
            cost, down = cost + down * lost[-1], np.zeros_like(down)
        return np.vstack([cost, lost]), np.vstack([down, np.zeros_like(lost)])

    def parameters(self, chosen: IntArray) -> FloatArray:
        """The means or chances at the chosen ends."""
        tasks, arms = np.indices(chosen.shape)
        return np.asarray(self.ends[chosen, tasks, arms])
