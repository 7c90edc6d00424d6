"""Plans in files: JSON with one object per box, numbered and named as a person sees them."""

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from banditree.errors import InvalidInput
from banditree.files.collections import (
    FeaturePart,
    RewardsPart,
    features_from_part,
    features_part,
    rewards_from_part,
    rewards_part,
)
from banditree.files.documents import Document, Part, dump, parse, read_json, write_text
from banditree.plans.assemble import Box, from_boxes
from banditree.plans.by_context import Grading, KindRule
from banditree.plans.plan import (
    HAND_OVER,
    NONE,
    SEVERAL,
    BoxKind,
    Decider,
    Fallback,
    Form,
    Plan,
    SafetyRule,
    Vocabulary,
    pack_survivors,
)

SCHEMA: Literal["banditree/plan/3"] = "banditree/plan/3"
SECOND_SCHEMA: Literal["banditree/plan/2"] = "banditree/plan/2"
# A plan that an earlier version can say is still written as that version: an older banditree reads it, and a case that
# keeps its fingerprint finds the same plan.
FIRST_SCHEMA: Literal["banditree/plan/1"] = "banditree/plan/1"
Points = Annotated[list[int], Field(min_length=2)]
Number = Annotated[int, Field(ge=1)]  # of a box, as a person sees it


class FixedBox(Part):
    """Pull the arm so many times; a total of at most `at_most` leads to box `low`, else to box `high`."""

    kind: Literal["fixed"] = "fixed"
    box: int
    arm: str
    pulls: Annotated[int, Field(ge=1)]
    at_most: float
    low: Number
    high: Number
    possible: list[str] | None = None


class FitPart(Part):
    """Points by how much better an outcome fits one task than another at its context: the logarithm of the ratio of
    its chances, one point per `unit`, rounded, at most `most` up or down."""

    favoured: str
    other: str
    unit: float
    most: Annotated[int, Field(ge=1)]


class RuleNode(Part):
    """A question of the rule of a task (a `feature` up to `cut` leads to node `low`, above it to node `high`, counted
    from 1), or an `arm`."""

    feature: int | None = Field(None, description="number of the feature, counted from 1")
    cut: float | None = None
    low: int | None = None
    high: int | None = None
    arm: str | None = None


class KindRulePart(Part):
    """What is best for a task at a context; `loss`: what the rule gives away per round against the predictions."""

    task: str
    loss: float = 0.0
    nodes: list[RuleNode]


class ScoreBox(Part):
    """Pull the arm until the score is at most -`floor` (box `low`) or at least `ceil` (box `high`)."""

    kind: Literal["score"] = "score"
    box: int
    arm: str | None = None
    task: str | None = Field(None, description="without an arm: give what is best for this task at the context")
    fit: FitPart | None = Field(None, description="points that look at the context, in place of cuts")
    cuts: list[float] = Field(description="a reward above this many cuts ...")
    points: Points = Field(description="... scores the points of that number")
    floor: int
    ceil: int
    low: Number
    high: Number
    possible: list[str] | None = None


class WatchBox(Part):
    """Use the arm for as long as the score stays above -`floor`, then go to box `low`; the score stops at `cap`."""

    kind: Literal["watch"] = "watch"
    box: int
    arm: str | None = None
    task: str | None = None
    fit: FitPart | None = None
    cuts: list[float]
    points: Points
    floor: int
    cap: int | None = None
    low: Number
    possible: list[str] | None = None


class ExploitBox(Part):
    """Use the arm from now on; without one, the arm with the highest prediction for the task."""

    kind: Literal["exploit"] = "exploit"
    box: int
    arm: str | None = None
    task: str | None = None
    possible: list[str] | None = None


class SeveralBox(Part):
    """From now on Thompson sampling chooses between some arms, having learned from the first round."""

    kind: Literal["several"] = "several"
    box: int
    arms: Annotated[list[str], Field(min_length=2)]
    possible: list[str] | None = None


class HandOverBox(Part):
    """The case fits no task: from now on the fallback of the plan decides."""

    kind: Literal["hand over"] = "hand over"
    box: int
    possible: list[str] | None = None


BoxPart = FixedBox | ScoreBox | WatchBox | ExploitBox | SeveralBox | HandOverBox


class RulePart(Part):
    """The safety rule: every exploit box is scored from 0; at -`floor` the case starts again at box 1, or is handed
    over."""

    cuts: list[float]
    points: Points
    floor: int
    cap: int | None = None
    hands_over: Literal[True] | None = None


class FallbackPart(Part):
    """Who decides after a hand-over: Thompson sampling, an arm, or a person."""

    to: Decider
    arm: str | None = None


class VocabularyPart(Part):
    """The words a person reads in place of arm, task, success, failure, reward and give."""

    arm: str
    task: str
    success: str
    failure: str
    reward: str
    give: str


class PlanFile(Document):
    """An exploration plan: numbered boxes, starting at box 1. In the form "lines" they are the lines of a protocol in
    reading order, and after them the exploit boxes that end it."""

    schema_: Literal["banditree/plan/1", "banditree/plan/2", "banditree/plan/3"] = Field(SCHEMA, alias="schema")
    form: Literal["lines"] | None = Field(None, description="absent where the plan is read box by box")
    method: str
    horizon: int
    arms: list[str]
    tasks: list[str]
    rewards: RewardsPart
    separation: float | None = None
    radius: float = 0.0
    seed: int | None = None
    vocabulary: VocabularyPart
    versions: dict[str, str]
    features: list[FeaturePart] = Field(default_factory=list)
    boxes: list[Annotated[BoxPart, Field(discriminator="kind")]]
    rule: RulePart | None = None
    fallback: FallbackPart | None = None
    theta: list[list[list[float]]] | None = None
    kind_rules: list[KindRulePart] | None = None


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
        theta=None if plan.theta is None else plan.theta.tolist(),
        kind_rules=[_kind_rule(plan, task) for task, rule in enumerate(plan.kind_rules) if rule is not None] or None,
    )


def _version(plan: Plan, boxes: list[BoxPart]) -> Literal["banditree/plan/1", "banditree/plan/2", "banditree/plan/3"]:
    """The earliest version that can say the plan."""
    scored = [box for box in boxes if isinstance(box, ScoreBox | WatchBox)]
    by_others = plan.fallback is not None or plan.among is not None
    if by_others or plan.kind_rules or any(box.arm is None or box.fit is not None for box in scored):
        return SCHEMA
    first = plan.form is Form.BOXES and plan.rule is None and not any(isinstance(box, WatchBox) for box in boxes)
    return FIRST_SCHEMA if first else SECOND_SCHEMA


def _kind_rule(plan: Plan, task: int) -> KindRulePart:
    rule = plan.kind_rules[task]
    assert rule is not None
    columns = (rule.feature, rule.cut, rule.low, rule.high, rule.arm)
    nodes = [
        RuleNode(arm=plan.arms[arm])
        if feature < 0
        else RuleNode(feature=int(feature) + 1, cut=float(cut), low=int(low) + 1, high=int(high) + 1)
        for feature, cut, low, high, arm in zip(*columns, strict=True)
    ]
    return KindRulePart(task=plan.tasks[task], loss=rule.loss, nodes=nodes)


def _fit_part(plan: Plan, box: int) -> FitPart | None:
    grading = plan.grading_of(box)
    if grading is None:
        return None
    favoured, other = plan.tasks[grading.favoured], plan.tasks[grading.other]
    return FitPart(favoured=favoured, other=other, unit=grading.unit, most=grading.most)


def _rule_part(rule: SafetyRule) -> RulePart:
    return RulePart(
        cuts=list(rule.cuts),
        points=list(rule.points),
        floor=rule.floor,
        cap=rule.cap or None,
        hands_over=True if rule.hands_over else None,
    )


def _fallback_part(plan: Plan, fallback: Fallback) -> FallbackPart:
    return FallbackPart(to=fallback.to, arm=None if fallback.arm == NONE else plan.arms[fallback.arm])


def _box_part(plan: Plan, box: int) -> BoxPart:
    members = plan.survivors_at(box)
    possible = None if members is None else [plan.tasks[i] for i in members]
    kind, arm, task = BoxKind(plan.kind[box]), int(plan.arm[box]), int(plan.task[box])
    if arm == HAND_OVER:
        return HandOverBox(box=box + 1, possible=possible)
    if arm == SEVERAL:
        return SeveralBox(box=box + 1, arms=[plan.arms[k] for k in plan.arms_at(box)], possible=possible)
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
    shared |= {"fit": _fit_part(plan, box)}
    shared |= {"cuts": plan.cuts[box].tolist(), "points": plan.points[box].tolist(), "floor": int(plan.floor[box])}
    if kind is BoxKind.WATCH:
        return WatchBox(cap=int(plan.cap[box]) or None, **shared)
    return ScoreBox(ceil=int(plan.ceil[box]), high=int(plan.high[box]) + 1, **shared)


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
    gradings: list[Grading] = []
    return from_boxes(
        [_box(part, arms, tasks, gradings) for part in boxes],
        gradings=gradings,
        kind_rules=_kind_rules(document, arms, tasks),
        rule=None
        if rule is None
        else SafetyRule(tuple(rule.points), rule.floor, tuple(rule.cuts), rule.cap or 0, bool(rule.hands_over)),
        fallback=None if fallback is None else _fallback(fallback, arms),
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
        )
    return tuple(found)


def _fallback(part: FallbackPart, arms: dict[str, int]) -> Fallback:
    if part.arm is not None and part.arm not in arms:
        raise InvalidInput(f"The fallback names the arm {part.arm!r}, which the plan does not have.")
    return Fallback(part.to, NONE if part.arm is None else arms[part.arm])


def _box(part: BoxPart, arms: dict[str, int], tasks: dict[str, int], gradings: list[Grading]) -> Box:
    if isinstance(part, HandOverBox):
        return Box(HAND_OVER)
    if isinstance(part, SeveralBox):
        return Box(SEVERAL, among=tuple(sorted({_look_up(arms, name, "arm", part.box) for name in part.arms})))
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
    if isinstance(part, WatchBox):
        return Box(arm, low, cap=part.cap or 0, **shared)
    return Box(arm, low, part.high - 1, ceil=part.ceil, **shared)


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
