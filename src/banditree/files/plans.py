"""Plans in files: JSON with one object per line, in the words of its parts (`plans.line`), names and all."""

import hashlib
from pathlib import Path
from typing import Literal

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
from banditree.plans.gives import NONE
from banditree.plans.kind_rule import KindRule
from banditree.plans.line import Line
from banditree.plans.plan import Fallback, OnHarm, Origin, Page, Plan, SafetyRule
from banditree.plans.words import Vocabulary


class RuleNode(Part):
    """A question of the rule of a task (a `feature` up to `cut` leads to node `low`, above it to node `high`, counted
    from 1), or an `arm`."""

    feature: int | None = Field(None, description="number of the feature, counted from 1")
    cut: float | None = None
    low: int | None = None
    high: int | None = None
    arm: str | None = None
    promise: float | None = Field(None, description="chance of success that a leaf promises")


class KindRulePart(Part):
    """The best arm of a task at a context; `loss`: what the rule gives away per round against the predictions."""

    task: str
    loss: float = 0.0
    nodes: list[RuleNode]


class PlanFile(Document):
    """An exploration plan: its lines in reading order, starting at line 1, and what they are about."""

    schema_: Literal["banditree/plan/4"] = Field("banditree/plan/4", alias="schema")
    origin: Origin
    horizon: int
    arms: list[str]
    tasks: list[str]
    rewards: RewardsPart
    vocabulary: Vocabulary
    features: list[FeaturePart] = Field(default_factory=list)
    lines: list[Line]
    rule: SafetyRule | None = None
    on_harm: OnHarm | None = None
    fallback: Fallback | None = None
    theta: list[list[list[float]]] | None = None
    kind_rules: list[KindRulePart] | None = None
    pages: list[Page] | None = None
    washout: int | None = Field(None, description="rounds after a change of arm that are given and not counted")


def load_plan(path: str | Path) -> Plan:
    """The plan in a JSON file."""
    path = Path(path)
    return plan_from_document(parse(PlanFile, read_json(path), str(path)), str(path))


def save_plan(plan: Plan, path: str | Path) -> None:
    """Write a plan as JSON."""
    write_text(Path(path), plan_json(plan))


def plan_json(plan: Plan) -> str:
    """The text of a plan file."""
    return dump(plan_document(plan))


def fingerprint(plan: Plan) -> str:
    """A short name for exactly this plan, which a case keeps to be sure that it goes on with the same one."""
    return hashlib.sha256(plan_json(plan).encode()).hexdigest()[:16]


def plan_document(plan: Plan) -> PlanFile:
    """The plan as it is written."""
    rules = zip(plan.tasks, plan.kind_rules, strict=False)
    return PlanFile(
        origin=plan.origin,
        horizon=plan.horizon,
        arms=list(plan.arms),
        tasks=list(plan.tasks),
        rewards=rewards_part(plan.rewards),
        vocabulary=plan.vocabulary.own,
        features=features_part(plan.features),
        lines=list(plan.lines),
        rule=plan.rule,
        on_harm=plan.on_harm,
        fallback=plan.fallback,
        theta=None if plan.theta is None else plan.theta.tolist(),
        kind_rules=[_rule_part(plan, task, rule) for task, rule in rules if rule is not None] or None,
        pages=list(plan.pages) or None,
        washout=plan.washout or None,
    )


def _rule_part(plan: Plan, task: str, rule: KindRule) -> KindRulePart:
    columns = (rule.feature, rule.cut, rule.low, rule.high, rule.arm, rule.promise)
    nodes = [
        RuleNode(arm=plan.arms[arm], promise=float(promise) or None)
        if feature < 0
        else RuleNode(feature=int(feature) + 1, cut=float(cut), low=int(low) + 1, high=int(high) + 1)
        for feature, cut, low, high, arm, promise in zip(*columns, strict=True)
    ]
    return KindRulePart(task=task, loss=rule.loss, nodes=nodes)


def plan_from_document(document: PlanFile, source: str) -> Plan:
    """The plan that a file describes; `source` names the file in errors."""
    try:
        return Plan(
            lines=tuple(document.lines),
            arms=tuple(document.arms),
            tasks=tuple(document.tasks),
            rewards=rewards_from_part(document.rewards),
            horizon=document.horizon,
            rule=document.rule,
            on_harm=document.on_harm,
            fallback=document.fallback,
            features=features_from_part(document.features),
            theta=None if document.theta is None else np.array(document.theta),
            kind_rules=_kind_rules(document),
            vocabulary=document.vocabulary,
            origin=document.origin,
            pages=tuple(document.pages or ()),
            washout=document.washout or 0,
        )
    except (ValueError, OverflowError) as problem:  # InvalidInput, or numpy's of ragged lists and huge numbers
        raise InvalidInput(f"{source}: {problem}") from None


def _kind_rules(document: PlanFile) -> tuple[KindRule | None, ...]:
    if document.kind_rules is None:
        return ()
    rules = {part.task: part for part in document.kind_rules}
    if unknown := sorted(rules.keys() - set(document.tasks)):
        raise InvalidInput(f"A rule is about the task {unknown[0]!r}, which the plan does not have.")
    return tuple(_kind_rule(rules[task], document.arms) if task in rules else None for task in document.tasks)


def _kind_rule(part: KindRulePart, arms: list[str]) -> KindRule:
    for node in part.nodes:
        if node.arm is None and None in (node.feature, node.cut, node.low, node.high):
            raise InvalidInput(f"A node of the rule of task {part.task!r} has neither an arm nor a whole question.")
        if node.arm is not None and node.arm not in arms:
            raise InvalidInput(f"The rule of task {part.task!r} names the arm {node.arm!r}, which the plan lacks.")
    return KindRule(
        np.array([NONE if node.arm is not None else (node.feature or 0) - 1 for node in part.nodes]),
        np.array([node.cut or 0.0 for node in part.nodes]),
        np.array([(node.low or 0) - 1 for node in part.nodes]),
        np.array([(node.high or 0) - 1 for node in part.nodes]),
        np.array([NONE if node.arm is None else arms.index(node.arm) for node in part.nodes]),
        part.loss,
        np.array([node.promise or 0.0 for node in part.nodes]),
    )
