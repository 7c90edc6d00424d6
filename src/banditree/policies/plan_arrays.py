"""A plan as compiled code takes it: its arrays, those of the rules of its kinds, and those of its gradings."""

from typing import NamedTuple

import numpy as np

from banditree.plans.by_context import PromiseTable
from banditree.plans.plan import NONE, Plan
from banditree.policies.base import Outcome
from banditree.policies.model import compiled_family
from banditree.tasks.arrays import ByteArray, FloatArray, IntArray, frozen
from banditree.tasks.rewards import Link

PERSON_NEEDED = int(Outcome.PERSON_NEEDED)


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
    """Points by how well an outcome fits, or by what was promised: number (N,) of each box's grading, -1 for none.

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


class FollowParams(NamedTuple):
    """The arrays of a Plan (see there); rule_floor is 0 for a plan without a safety rule. fallback: the arm that is
    given after a hand-over, or PERSON_NEEDED."""

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
    rule_points: IntArray
    rule_cuts: FloatArray
    rule_floor: int
    rule_cap: int
    rule_target: int
    fallback: int
    theta: FloatArray
    survivors: ByteArray
    n_tasks: int
    rules: RuleNodes
    gradings: Gradings


def follow_params(plan: Plan) -> FollowParams:
    """The plan's arrays. What a plan lacks is frozen as well, so that one compiled loop follows all plans."""
    theta = frozen(np.zeros((0, 0, 0)), float) if plan.theta is None else plan.theta
    survivors = frozen(np.zeros((0, 0)), np.uint8) if plan.survivors is None else plan.survivors
    rule = plan.rule
    return FollowParams(
        plan.kind,
        plan.arm,
        plan.task,
        plan.low,
        plan.high,
        plan.pulls,
        plan.threshold,
        plan.points,
        plan.cuts,
        plan.floor,
        plan.ceil,
        plan.cap,
        frozen([] if rule is None else rule.points, np.int64),
        frozen([] if rule is None else rule.cuts, float),
        0 if rule is None else rule.floor,
        0 if rule is None else rule.cap,
        plan.rule_target,
        PERSON_NEEDED if plan.fallback is None or plan.fallback.arm == NONE else plan.fallback.arm,
        theta,
        survivors,
        len(plan.tasks),
        _rule_nodes(plan),
        _gradings(plan),
    )


def _rule_nodes(plan: Plan) -> RuleNodes:
    """The nodes of all rules in one list, with links and features as they are there."""
    root, parts, so_far = [], [], 0
    for rule in plan.kind_rules or (None,) * len(plan.tasks):
        root.append(-1 if rule is None else so_far)
        if rule is not None:
            links = (rule.low + so_far, rule.high + so_far)
            parts.append((rule.feature, rule.cut, *links, rule.arm, rule.promise))
            so_far += len(rule.feature)
    columns = [np.concatenate([part[c] for part in parts]) if parts else np.zeros(0) for c in range(6)]
    whole = [frozen(columns[c], float if c in (1, 5) else np.int64) for c in range(6)]
    return RuleNodes(frozen(root, np.int64), *whole)


def _gradings(plan: Plan) -> Gradings:
    number = np.full(plan.n_boxes, -1) if plan.grading is None else plan.grading
    return Gradings(
        frozen(number, np.int64),
        frozen([getattr(one, "favoured", 0) for one in plan.gradings], np.int64),
        frozen([getattr(one, "other", 0) for one in plan.gradings], np.int64),
        frozen([getattr(one, "unit", 1.0) for one in plan.gradings], float),
        frozen([one.most for one in plan.gradings], np.int64),
        compiled_family(plan.rewards),
        float(plan.rewards.sigma),
        float(plan.rewards.low),
        float(plan.rewards.high),
        plan.rewards.link is Link.LOGISTIC,
        *_tables(plan),
    )


def _tables(plan: Plan) -> tuple[IntArray, FloatArray, IntArray]:
    """(n_rows, cuts, points) of the gradings."""
    tables = [one if isinstance(one, PromiseTable) else None for one in plan.gradings]
    n_rows = [0 if table is None else len(table.rows) for table in tables]
    R = max(n_rows, default=0) or 1
    cuts, points = np.full((len(tables), R - 1), np.inf), np.zeros((len(tables), R, 2))
    for number, table in enumerate(tables):
        if table is not None:
            cuts[number, : len(table.cuts)], points[number, : len(table.rows)] = table.cuts, table.rows
    return frozen(n_rows, np.int64), frozen(cuts, float), frozen(points, np.int64)
