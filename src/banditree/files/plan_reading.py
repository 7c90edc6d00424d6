"""From the parts of a plan file to the plan."""

from typing import Any

import numpy as np

from banditree.errors import InvalidInput
from banditree.files.collections import features_from_part, rewards_from_part
from banditree.files.plan_parts import (
    BoxPart,
    ExploitBox,
    FallbackPart,
    FixedBox,
    HandOverBox,
    PlanFile,
    PromiseRow,
    SeveralBox,
    WatchBox,
)
from banditree.plans.assemble import Box, from_boxes
from banditree.plans.by_context import AnyGrading, Grading, KindRule, PromiseTable
from banditree.plans.plan import HAND_OVER, NONE, SEVERAL, Fallback, Form, Plan, SafetyRule, Vocabulary, pack_survivors


def plan_from_document(document: PlanFile, source: str) -> Plan:
    """The plan that a file describes; `source` names the file in errors."""
    try:
        return _plan(document)
    except (ValueError, OverflowError) as problem:  # InvalidInput, or numpy's of ragged lists and huge numbers
        raise InvalidInput(f"{source}: {problem}") from None


def _plan(document: PlanFile) -> Plan:
    boxes, n = document.boxes, len(document.boxes)
    if [box.box for box in boxes] != list(range(1, n + 1)):
        raise InvalidInput("boxes must be numbered 1, 2, 3, ... in order.")
    arms, tasks = _numbers(document.arms, "arm"), _numbers(document.tasks, "task")
    rule, fallback = document.rule, document.fallback
    gradings: list[AnyGrading] = []
    return from_boxes(
        [_box(part, arms, tasks, gradings) for part in boxes],
        gradings=gradings,
        kind_rules=_kind_rules(document, arms, tasks),
        rule=None
        if rule is None
        else SafetyRule(tuple(rule.points), rule.floor, tuple(rule.cuts), rule.cap or 0, bool(rule.hands_over)),
        fallback=None if fallback is None else _fallback(fallback, arms),
        worth=document.worth or 0,
        kinds=None if fallback is None or fallback.kinds is None else np.array(fallback.kinds, dtype=np.float64),
        form=Form.BOXES if document.form is None else Form(document.form),
        arms=tuple(document.arms),
        tasks=tuple(document.tasks),
        rewards=rewards_from_part(document.rewards),
        horizon=document.horizon,
        method=document.method,
        survivors=_survivors(document, tasks),
        theta=None if document.theta is None else np.array(document.theta),
        features=features_from_part(document.features),
        separation=document.separation,
        radius=document.radius,
        seed=document.seed,
        vocabulary=Vocabulary(**document.vocabulary.model_dump()),
        versions=document.versions,
    )


def _kind_rules(document: PlanFile, arms: dict[str, int], tasks: dict[str, int]) -> tuple[KindRule | None, ...]:
    if document.kind_rules is None:
        return ()
    found: list[KindRule | None] = [None] * len(tasks)
    for part in document.kind_rules:
        leaf = [node.arm is not None for node in part.nodes]
        for node, is_leaf in zip(part.nodes, leaf, strict=True):
            if not is_leaf and None in (node.feature, node.cut, node.low, node.high):
                raise InvalidInput(f"A node of the rule of task {part.task!r} has neither an arm nor a whole question.")
        found[_look_up(tasks, part.task, "task", 1)] = KindRule(
            np.array([NONE if node.arm is not None else (node.feature or 0) - 1 for node in part.nodes]),
            np.array([node.cut or 0.0 for node in part.nodes]),
            np.array([(node.low or 0) - 1 for node in part.nodes]),
            np.array([(node.high or 0) - 1 for node in part.nodes]),
            np.array([NONE if node.arm is None else _look_up(arms, node.arm, "arm", 1) for node in part.nodes]),
            part.loss,
            np.array([node.promise or 0.0 for node in part.nodes]),
        )
    return tuple(found)


def _fallback(part: FallbackPart, arms: dict[str, int]) -> Fallback:
    if part.arm is not None and part.arm not in arms:
        raise InvalidInput(f"The fallback names the arm {part.arm!r}, which the plan does not have.")
    return Fallback(part.to, NONE if part.arm is None else arms[part.arm], part.odds or 0, part.allow or 0.0)


def _box(part: BoxPart, arms: dict[str, int], tasks: dict[str, int], gradings: list[AnyGrading]) -> Box:
    if isinstance(part, HandOverBox):
        return Box(HAND_OVER)
    if isinstance(part, SeveralBox):
        return _several(part, arms)
    arm = NONE if part.arm is None else _look_up(arms, part.arm, "arm", part.box)
    if isinstance(part, ExploitBox):
        return Box(arm, task=NONE if part.task is None else _look_up(tasks, part.task, "task", part.box))
    low = part.low - 1
    if isinstance(part, FixedBox):
        return Box(arm, low, part.high - 1, pulls=part.pulls, threshold=part.at_most)
    shared: dict[str, Any] = {"points": tuple(part.points), "cuts": tuple(part.cuts), "floor": part.floor}
    shared["task"] = NONE if part.task is None else _look_up(tasks, part.task, "task", part.box)
    if part.fit is not None:
        favoured, other = (_look_up(tasks, name, "task", part.box) for name in (part.fit.favoured, part.fit.other))
        shared["grading"] = len(gradings)
        gradings.append(Grading(favoured, other, part.fit.unit, part.fit.most))
    elif part.table is not None:
        shared["grading"] = len(gradings)
        gradings.append(_table(part.table, (len(part.points) - 1) // 2, part.box))
    if isinstance(part, WatchBox):
        return Box(arm, low, cap=part.cap or 0, **shared)
    return Box(arm, low, part.high - 1, ceil=part.ceil, **shared)


def _table(rows: list[PromiseRow], most: int, box: int) -> PromiseTable:
    cuts = [row.at_least for row in rows[1:]]
    if not rows or rows[0].at_least is not None or None in cuts:
        raise InvalidInput(f"Box {box} has a table of points in which a row does not say from which promise.")
    return PromiseTable(
        tuple(cut for cut in cuts if cut is not None), tuple((row.failure, row.success) for row in rows), most
    )


def _several(part: SeveralBox, arms: dict[str, int]) -> Box:
    if part.expected is None:
        return Box(SEVERAL, among=tuple(sorted({_look_up(arms, name, "arm", part.box) for name in part.arms})))
    if len(part.expected) != len(part.arms):
        raise InvalidInput(f"Box {part.box} must have an expected mean for each of its {len(part.arms)} arms.")
    numbers = [_look_up(arms, name, "arm", part.box) for name in part.arms]
    expected = dict(zip(numbers, part.expected, strict=True))
    return Box(SEVERAL, among=tuple(sorted(expected)), rates=tuple(expected[arm] for arm in sorted(expected)))


def _survivors(document: PlanFile, tasks: dict[str, int]) -> np.ndarray | None:
    if any(box.possible is None for box in document.boxes):
        return None
    sets = [
        np.array([_look_up(tasks, name, "task", box.box) for name in box.possible or []], dtype=np.int64)
        for box in document.boxes
    ]
    return pack_survivors(sets, len(tasks))


def _numbers(names: list[str], word: str) -> dict[str, int]:
    numbers = {name: index for index, name in enumerate(names)}
    if len(numbers) != len(names):
        raise InvalidInput(f"{word}s must have different names.")
    return numbers


def _look_up(numbers: dict[str, int], name: str, word: str, box: int) -> int:
    if name not in numbers:
        raise InvalidInput(f"Box {box} names the {word} {name!r}, which the plan does not have.")
    return numbers[name]
