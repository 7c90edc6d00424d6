"""Plans in files: JSON with one object per box, numbered and named as a person sees them."""

import hashlib
from pathlib import Path
from typing import Annotated, Literal

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
from banditree.plans.plan import NONE, BoxKind, Plan, Vocabulary, pack_survivors


class FixedBox(Part):
    """Pull the arm so many times; a total of at most `at_most` leads to box `low`, else to box `high`."""

    kind: Literal["fixed"] = "fixed"
    box: int
    arm: str
    pulls: int
    at_most: float
    low: int
    high: int
    possible: list[str] | None = None


class ScoreBox(Part):
    """Pull the arm until the score is at most -`floor` (box `low`) or at least `ceil` (box `high`)."""

    kind: Literal["score"] = "score"
    box: int
    arm: str
    cuts: list[float] = Field(description="a reward above this many cuts ...")
    points: list[int] = Field(description="... scores the points of that number")
    floor: int
    ceil: int
    low: int
    high: int
    possible: list[str] | None = None


class ExploitBox(Part):
    """Use the arm from now on; without one, the arm with the highest prediction for the task."""

    kind: Literal["exploit"] = "exploit"
    box: int
    arm: str | None = None
    task: str | None = None
    possible: list[str] | None = None


Box = Annotated[FixedBox | ScoreBox | ExploitBox, Field(discriminator="kind")]


class VocabularyPart(Part):
    """The words a person reads in place of arm, task, success, failure, reward and give."""

    arm: str
    task: str
    success: str
    failure: str
    reward: str
    give: str


class PlanFile(Document):
    """An exploration plan: numbered boxes, starting at box 1."""

    schema_: Literal["banditree/plan/1"] = Field("banditree/plan/1", alias="schema")
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
    boxes: list[Box]
    theta: list[list[list[float]]] | None = None


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
    return PlanFile(
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
        boxes=[_box_part(plan, box) for box in range(plan.n_boxes)],
        theta=None if plan.theta is None else plan.theta.tolist(),
    )


def _box_part(plan: Plan, box: int) -> FixedBox | ScoreBox | ExploitBox:
    members = plan.survivors_at(box)
    possible = None if members is None else [plan.tasks[i] for i in members]
    kind, arm, task = BoxKind(plan.kind[box]), int(plan.arm[box]), int(plan.task[box])
    if kind is BoxKind.EXPLOIT:
        return ExploitBox(
            box=box + 1,
            arm=None if arm == NONE else plan.arms[arm],
            task=None if task == NONE else plan.tasks[task],
            possible=possible,
        )
    low, high = int(plan.low[box]) + 1, int(plan.high[box]) + 1
    if kind is BoxKind.FIXED:
        pulls, at_most = int(plan.pulls[box]), float(plan.threshold[box])
        return FixedBox(
            box=box + 1, arm=plan.arms[arm], pulls=pulls, at_most=at_most, low=low, high=high, possible=possible
        )
    return ScoreBox(
        box=box + 1,
        arm=plan.arms[arm],
        cuts=plan.cuts[box].tolist(),
        points=plan.points[box].tolist(),
        floor=int(plan.floor[box]),
        ceil=int(plan.ceil[box]),
        low=low,
        high=high,
        possible=possible,
    )


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
    bins = max((len(box.points) for box in boxes if isinstance(box, ScoreBox)), default=1)
    kind, arm, low, high, task = (np.full(n, NONE, dtype=np.int64) for _ in range(5))
    pulls, floor, ceil = (np.zeros(n, dtype=np.int64) for _ in range(3))
    threshold, cuts, points = np.zeros(n), np.zeros((n, bins - 1)), np.zeros((n, bins), dtype=np.int64)
    for index, box in enumerate(boxes):
        kind[index] = BoxKind[box.kind.upper()]
        if box.arm is not None:
            arm[index] = _look_up(arms, box.arm, "arm", box.box)
        if isinstance(box, ExploitBox):
            task[index] = NONE if box.task is None else _look_up(tasks, box.task, "task", box.box)
            continue
        low[index], high[index] = box.low - 1, box.high - 1
        if isinstance(box, FixedBox):
            pulls[index], threshold[index] = box.pulls, box.at_most
        else:
            if len(box.points) != bins or len(box.cuts) != bins - 1:
                raise InvalidInput(f"Box {box.box} must have {bins} points and {bins - 1} cuts, as the others do.")
            cuts[index], points[index], floor[index], ceil[index] = box.cuts, box.points, box.floor, box.ceil
    return Plan(
        kind=kind,
        arm=arm,
        low=low,
        high=high,
        pulls=pulls,
        threshold=threshold,
        cuts=cuts,
        points=points,
        floor=floor,
        ceil=ceil,
        task=task,
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
