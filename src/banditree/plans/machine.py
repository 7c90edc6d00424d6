"""Machine: a plan as computers run it, flat arrays over rows; `machine_of` is the only road from lines to it.

The safety rule is written out: an end that it scores is a row that watches a score and leads back to row 0, or to where
cases are handed over. Where line 1 may be begun only a few times, there are rows for each time.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.counts import Numbers, Pause
from banditree.plans.gives import HAND_OVER, NONE, BestOf
from banditree.plans.plan import Plan, chosen_from
from banditree.plans.points import ByOutcome, Fit, Points, PromiseTable
from banditree.tasks.arrays import BoolArray, ByteArray, FloatArray, IntArray, frozen
from banditree.tasks.rewards import Link
from banditree.tasks.rewards.compiled import compiled_family


class RuleNodes(NamedTuple):
    """The nodes of all rules of kinds in one list: root (M,) is where each rule begins, -1 for a kind without one."""

    root: IntArray
    feature: IntArray
    cut: FloatArray
    low: IntArray
    high: IntArray
    arm: IntArray
    promise: FloatArray


class Gradings(NamedTuple):
    """Points by how well an outcome fits, or by what was promised: number (N,) of each row's grading, -1 for none.

    Of the gradings (G,): n_rows is 0 for those by fit; those by promise have cuts (G, R-1) and points (G, R, 2).
    """

    number: IntArray
    favoured: IntArray
    other: IntArray
    unit: FloatArray
    most: IntArray
    family: int
    sigma: float
    lowest: float
    highest: float
    logistic: bool
    n_rows: IntArray
    cuts: FloatArray
    points: IntArray


class Machine(NamedTuple):
    """N rows, starting at row 0; where a case stands is (row, pulls, total), the tally fresh on entry. (N,) each:

    kind: a `Counting`. arm: what is given, NONE for "treat as the task", HAND_OVER, or SEVERAL. task: the one that
    is treated as or found, or NONE. low, high: the next rows, NONE where there is none.
    pulls, threshold (FIXED): after n pulls, a total of at most the threshold leads to low, else to high.
    points (N, B), cuts (N, B-1): the bin of a reward gives the points. floor, ceil, cap: a score of at most -floor
    leads to low, of at least ceil (SCORE) to high; a WATCH score is never counted above its cap (0: no cap).
    line: the line that a row came from, NONE for an end, to which several lines may lead.
    hand_over: the row that hands over, or NONE. fallback: the arm that is given there, or NONE where none is for sure.
    chooses: where the outcomes so far choose; among (N, K): the arms they choose from; rates (N, K): the expected means
    of these, each as if from `worth` rounds; worth is 0 where there are none. theta: (M, K, d), of size 0 without
    contexts. survivors: packed bits (N, ceil(M/8)) of the tasks still possible, of size 0 where the plan does not say.
    """

    kind: IntArray
    arm: IntArray
    task: IntArray
    low: IntArray
    high: IntArray
    pulls: IntArray
    threshold: FloatArray
    points: IntArray
    cuts: FloatArray
    floor: IntArray
    ceil: IntArray
    cap: IntArray
    line: IntArray
    hand_over: int
    fallback: int
    chooses: BoolArray
    among: BoolArray
    rates: FloatArray
    worth: float
    theta: FloatArray
    survivors: ByteArray
    n_tasks: int
    rules: RuleNodes
    gradings: Gradings

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.kind)

    @property
    def links(self) -> list[list[int]]:
        """For each row those that it leads to, low first, where the safety rule leads among them."""
        return [
            [side for side in both if side != NONE] for both in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]

    @property
    def turns(self) -> FloatArray:
        """1 where leaving a row below or above leads to another arm (N, 2), also where others may choose another."""
        arm = np.where(self.arm == HAND_OVER, HAND_OVER if self.fallback == NONE else self.fallback, self.arm)
        sides = np.stack([self.low, self.high], axis=1)
        return np.asarray((sides >= 0) & ((arm[sides] != arm[:, None]) | (arm[sides] < 0)), float)

    def arms_at(self, row: int | np.integer[Any]) -> IntArray:
        """The arms among which the outcomes so far choose at a row."""
        return np.flatnonzero(self.among[row])


@lru_cache(maxsize=32)  # A plan is certified, drawn and followed one after the other: its machine is made once.
def machine_of(plan: Plan) -> Machine:
    """The machine of a plan. What a plan lacks is an empty array, so that one compiled loop runs all machines.

    >>> from banditree.plans.counts import Watch
    >>> from banditree.plans.gives import Give
    >>> from banditree.plans.line import Line
    >>> from banditree.plans.plan import SafetyRule, make_plan
    >>> from banditree.tasks.collection import Collection
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> lines = [Line(Give("A"), Watch(ByOutcome((-2, 1)), 4), below=Line(Give("B")))]
    >>> machine = machine_of(make_plan(lines, two, 100, rule=SafetyRule((-3, 1), 6)))
    >>> machine.low.tolist(), machine.floor.tolist(), machine.line.tolist()
    ([1, 0], [4, 6], [0, -1])
    """
    refuse_states(plan)
    rows, N = plan.rows, plan.n_boxes
    by_rule = [plan.is_ruled(row) for row in rows]
    counts = [plan.counting(row) for row in rows]
    numbers = _columns([one.numbers for one in counts])
    gives = np.array([row.gives.numbers(plan) for row in rows], dtype=np.int64)
    found = [plan.task_numbers[row.found] if row.found is not None else NONE for row in rows]
    leads = [links or ([plan.rule_target] if ruled else []) for links, ruled in zip(plan.links, by_rule, strict=True)]
    sides = [[plan.goes_to(row, place) for place in both] for row, both in enumerate(leads)]
    points, cuts, gradings = _points(plan, [one.points for one in counts])
    fallback = None if plan.fallback is None else plan.fallback.arm
    return Machine(
        numbers.pop("kind"),
        frozen(gives[:, 0], np.int64),
        frozen(found, np.int64),
        frozen([side[0] if side else NONE for side in sides], np.int64),
        frozen([side[1] if len(side) > 1 else NONE for side in sides], np.int64),
        numbers.pop("pulls"),
        numbers.pop("threshold"),
        points,
        cuts,
        **numbers,
        line=frozen([_line_of(plan, row) for row in range(N)], np.int64),
        hand_over=NONE if plan.hand_over is None else plan.hand_over,
        fallback=NONE if fallback is None else plan.arm_numbers[fallback],
        **_choosers(plan),
        theta=frozen(np.zeros((0, 0, 0)), float) if plan.theta is None else plan.theta,
        survivors=_survivors(plan),
        n_tasks=len(plan.tasks),
        rules=_rule_nodes(plan),
        gradings=gradings,
    )


def refuse_states(plan: Plan) -> None:
    """Say so where something that does not know of states is given a plan with states."""
    if plan.states:
        raise InvalidInput(
            f"This is for plans without states, and the plan treats by state ({', '.join(plan.states[:5])}). With "
            "states there are: sessions, certify, simulate_states, and the commands show, certify, run and analyze "
            "(docs/states.md)."
        )


def _line_of(plan: Plan, row: int) -> int:
    """The line that a row is of, also of a pause before it and of each further time; NONE for an end."""
    place = plan.links[row][0] if isinstance(plan.rows[row].counts, Pause) else plan.place_of(row)
    return place if place < len(plan.lines) else NONE


def _columns(numbers: list[Numbers]) -> dict[str, Any]:
    kinds = (float if name == "threshold" else np.int64 for name in Numbers._fields)
    return {name: frozen(column, kind) for name, column, kind in zip(Numbers._fields, zip(*numbers), kinds)}  # noqa: B905


def _points(plan: Plan, points: list[Points | None]) -> tuple[IntArray, FloatArray, Gradings]:
    """(points (N, B), cuts (N, B-1), gradings) of all rows. Where points look at the context, those of the rule are a
    table of one row."""
    most = next((len(one.bins) // 2 for one in points if one is not None and one.looks_at_context), 0)
    if most:
        points = [_table(one, most) if isinstance(one, ByOutcome) else one for one in points]
    used = list(dict.fromkeys(one for one in points if one is not None and one.looks_at_context))
    place = {one: number for number, one in enumerate(used)}
    B = max((len(one.bins) for one in points if one is not None), default=1)
    bins = [one.bins if one is not None else (0,) * B for one in points]
    cuts = [one.cuts if isinstance(one, ByOutcome) else (0.0,) * (B - 1) for one in points]
    number = [NONE if one is None else place.get(one, NONE) for one in points]
    return (
        frozen(np.array(bins).reshape(len(points), B), np.int64),
        frozen(np.array(cuts).reshape(len(points), B - 1), float),
        _gradings(plan, frozen(number, np.int64), used),
    )


def _table(points: ByOutcome, most: int) -> PromiseTable:
    failure, success = points.points
    return PromiseTable((), ((failure, success),), most)


def _gradings(plan: Plan, number: IntArray, used: list[Points]) -> Gradings:
    fits = [one if isinstance(one, Fit) else None for one in used]
    tables = [one if isinstance(one, PromiseTable) else None for one in used]
    n_rows = [0 if table is None else len(table.rows) for table in tables]
    R = max(n_rows, default=0) or 1
    cuts, points = np.full((len(tables), R - 1), np.inf), np.zeros((len(tables), R, 2))
    for place, table in enumerate(tables):
        if table is not None:
            cuts[place, : len(table.cuts)], points[place, : len(table.rows)] = table.cuts, table.rows
    return Gradings(
        number,
        frozen([0 if fit is None else plan.task_numbers[fit.favoured] for fit in fits], np.int64),
        frozen([0 if fit is None else plan.task_numbers[fit.other] for fit in fits], np.int64),
        frozen([1.0 if fit is None else fit.unit for fit in fits], float),
        frozen([len(one.bins) // 2 for one in used], np.int64),
        compiled_family(plan.rewards),
        float(plan.rewards.sigma),
        float(plan.rewards.low),
        float(plan.rewards.high),
        plan.rewards.link is Link.LOGISTIC,
        frozen(n_rows, np.int64),
        frozen(cuts, float),
        frozen(points, np.int64),
    )


def _choosers(plan: Plan) -> dict[str, Any]:
    """Where the outcomes so far choose, among which arms, and what is expected of them."""
    chosen = [chosen_from(plan, row) for row in range(plan.n_boxes)]
    some, ends = any(arms is not None for arms in chosen), [row.gives for row in plan.rows]
    worth = max((end.worth for end in ends if isinstance(end, BestOf)), default=0)
    among = np.zeros((plan.n_boxes if some else 0, len(plan.arms)), dtype=bool)
    rates = np.zeros((plan.n_boxes if worth else 0, len(plan.arms)))
    for row, (arms, end) in enumerate(zip(chosen, ends, strict=True)):
        if arms is not None:
            among[row, [plan.arm_numbers[arm] for arm in arms]] = True
        if isinstance(end, BestOf) and end.expected:
            rates[row, end.arms_in(plan)] = end.expected
    chooses = frozen([arms is not None for arms in chosen], bool)
    return {"chooses": chooses, "among": frozen(among, bool), "rates": frozen(rates, float), "worth": float(worth)}


def _survivors(plan: Plan) -> ByteArray:
    if any(row.possible is None for row in plan.rows):
        return frozen(np.zeros((0, 0)), np.uint8)
    bits = np.zeros((plan.n_boxes, len(plan.tasks)), dtype=bool)
    for row, line in enumerate(plan.rows):
        bits[row, [plan.task_numbers[task] for task in line.possible or ()]] = True
    return frozen(np.packbits(bits, axis=1), np.uint8)


def _rule_nodes(plan: Plan) -> RuleNodes:
    """The nodes of all rules in one list, with links and features as they are there."""
    root, parts, before = [], [], 0
    for rule in plan.kind_rules or (None,) * len(plan.tasks):
        root.append(NONE if rule is None else before)
        if rule is not None:
            parts.append((rule.feature, rule.cut, rule.low + before, rule.high + before, rule.arm, rule.promise))
            before += len(rule.feature)
    columns = [np.concatenate([part[c] for part in parts]) if parts else np.zeros(0) for c in range(6)]
    whole = [frozen(columns[c], float if c in (1, 5) else np.int64) for c in range(6)]
    return RuleNodes(frozen(root, np.int64), *whole)
