"""Plans in files: JSON with one object per box, numbered and named as a person sees them."""

import hashlib
from pathlib import Path
from typing import Any, Literal

from banditree.files.collections import features_part, rewards_part
from banditree.files.documents import dump, parse, read_json, write_text
from banditree.files.plan_parts import (
    FIRST_SCHEMA,
    SCHEMA,
    SECOND_SCHEMA,
    BoxPart,
    ExploitBox,
    FallbackPart,
    FitPart,
    FixedBox,
    HandOverBox,
    KindRulePart,
    PlanFile,
    PromiseRow,
    RuleNode,
    RulePart,
    ScoreBox,
    SeveralBox,
    VocabularyPart,
    WatchBox,
)
from banditree.files.plan_reading import plan_from_document
from banditree.plans.by_context import Grading, PromiseTable
from banditree.plans.plan import HAND_OVER, NONE, SEVERAL, BoxKind, Fallback, Form, Plan, SafetyRule


def load_plan(path: str | Path) -> Plan:
    """The plan in a JSON file."""
    path = Path(path)
    return plan_from_document(parse(PlanFile, read_json(path), str(path)), str(path))


def save_plan(plan: Plan, path: str | Path) -> None:
    """Write a plan as JSON."""
    write_text(Path(path), dump(plan_document(plan)))


def plan_json(plan: Plan) -> str:
    """The text of a plan file."""
    return dump(plan_document(plan))


def fingerprint(plan: Plan) -> str:
    """A short name for exactly this plan, which a case keeps to be sure that it goes on with the same one."""
    return hashlib.sha256(plan_json(plan).encode()).hexdigest()[:16]


def plan_document(plan: Plan) -> PlanFile:
    """The plan as it is written."""
    boxes, rule = [_box_part(plan, box) for box in range(plan.n_boxes)], plan.rule
    return PlanFile(
        schema_=_version(plan, boxes),
        form="lines" if plan.form is Form.LINES else None,
        method=plan.method,
        horizon=plan.horizon,
        arms=list(plan.arms),
        tasks=list(plan.tasks),
        rewards=rewards_part(plan.rewards),
        separation=plan.separation,
        radius=plan.radius,
        seed=plan.seed,
        vocabulary=VocabularyPart(**vars(plan.vocabulary)),
        versions=plan.versions,
        features=features_part(plan.features),
        boxes=boxes,
        rule=None if rule is None else _rule_part(rule),
        fallback=None if plan.fallback is None else _fallback_part(plan, plan.fallback),
        worth=plan.worth or None,
        theta=None if plan.theta is None else plan.theta.tolist(),
        kind_rules=[_kind_rule(plan, task) for task, rule in enumerate(plan.kind_rules) if rule is not None] or None,
    )


def _version(plan: Plan, boxes: list[BoxPart]) -> Literal["banditree/plan/1", "banditree/plan/2", "banditree/plan/3"]:
    """The earliest version that can say the plan."""
    scored = [box for box in boxes if isinstance(box, ScoreBox | WatchBox)]
    by_others = plan.fallback is not None or plan.among is not None
    by_context = any(box.arm is None or box.fit is not None or box.table is not None for box in scored)
    if by_others or plan.kind_rules or by_context:
        return SCHEMA
    first = plan.form is Form.BOXES and plan.rule is None and not any(isinstance(box, WatchBox) for box in boxes)
    return FIRST_SCHEMA if first else SECOND_SCHEMA


def _kind_rule(plan: Plan, task: int) -> KindRulePart:
    rule = plan.kind_rules[task]
    assert rule is not None
    columns = (rule.feature, rule.cut, rule.low, rule.high, rule.arm, rule.promise)
    nodes = [
        RuleNode(arm=plan.arms[arm], promise=float(promise) or None)
        if feature < 0
        else RuleNode(feature=int(feature) + 1, cut=float(cut), low=int(low) + 1, high=int(high) + 1)
        for feature, cut, low, high, arm, promise in zip(*columns, strict=True)
    ]
    return KindRulePart(task=plan.tasks[task], loss=rule.loss, nodes=nodes)


def _fit_part(plan: Plan, box: int) -> FitPart | None:
    grading = plan.grading_of(box)
    if not isinstance(grading, Grading):
        return None
    favoured, other = plan.tasks[grading.favoured], plan.tasks[grading.other]
    return FitPart(favoured=favoured, other=other, unit=grading.unit, most=grading.most)


def _table_part(plan: Plan, box: int) -> list[PromiseRow] | None:
    table = plan.grading_of(box)
    if not isinstance(table, PromiseTable):
        return None
    asked = (None, *table.cuts)
    return [
        PromiseRow(at_least=cut, failure=failure, success=success)
        for cut, (failure, success) in zip(asked, table.rows, strict=True)
    ]


def _rule_part(rule: SafetyRule) -> RulePart:
    return RulePart(
        cuts=list(rule.cuts),
        points=list(rule.points),
        floor=rule.floor,
        cap=rule.cap or None,
        hands_over=True if rule.hands_over else None,
    )


def _fallback_part(plan: Plan, fallback: Fallback) -> FallbackPart:
    return FallbackPart(
        to=fallback.to,
        arm=None if fallback.arm == NONE else plan.arms[fallback.arm],
        odds=fallback.odds or None,
        allow=fallback.allow or None,
        kinds=None if plan.kinds is None else plan.kinds.tolist(),
    )


def _box_part(plan: Plan, box: int) -> BoxPart:
    members = plan.survivors_at(box)
    possible = None if members is None else [plan.tasks[i] for i in members]
    kind, arm, task = BoxKind(plan.kind[box]), int(plan.arm[box]), int(plan.task[box])
    if arm == HAND_OVER:
        return HandOverBox(box=box + 1, possible=possible)
    if arm == SEVERAL:
        expected = None if plan.rates is None else plan.rates[box, plan.arms_at(box)].tolist()
        names = [plan.arms[k] for k in plan.arms_at(box)]
        return SeveralBox(box=box + 1, arms=names, expected=expected, possible=possible)
    if kind is BoxKind.EXPLOIT:
        return ExploitBox(
            box=box + 1,
            arm=None if arm == NONE else plan.arms[arm],
            task=None if task == NONE else plan.tasks[task],
            possible=possible,
        )
    shared: dict[str, Any] = {"box": box + 1, "low": int(plan.low[box]) + 1, "possible": possible}
    if kind is BoxKind.FIXED:
        pulls, at_most = int(plan.pulls[box]), float(plan.threshold[box])
        return FixedBox(arm=plan.arms[arm], pulls=pulls, at_most=at_most, high=int(plan.high[box]) + 1, **shared)
    shared |= {"arm": None if arm == NONE else plan.arms[arm], "task": None if task == NONE else plan.tasks[task]}
    shared |= {"fit": _fit_part(plan, box), "table": _table_part(plan, box)}
    shared |= {"cuts": plan.cuts[box].tolist(), "points": plan.points[box].tolist(), "floor": int(plan.floor[box])}
    if kind is BoxKind.WATCH:
        return WatchBox(cap=int(plan.cap[box]) or None, **shared)
    return ScoreBox(ceil=int(plan.ceil[box]), high=int(plan.high[box]) + 1, **shared)
