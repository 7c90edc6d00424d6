"""Plans for other programs: the rows that computers follow, safety rule written out, with the words of each row.

docs/travel.md says what following means; `conformance/` has plans in this form and what is to happen on them.
"""

from typing import Literal

from pydantic import Field

from banditree.files.collections import FeaturePart
from banditree.files.documents import Document, Part, dump
from banditree.files.plans import KindRulePart, fingerprint, plan_document
from banditree.plans.counts import Counts
from banditree.plans.gives import NONE, Gives, HandOver
from banditree.plans.machine import Machine, machine_of
from banditree.plans.pages import given_arms, page
from banditree.plans.plan import Fallback, OnHarm, Plan, right_kinds
from banditree.plans.wording import box_sentence, fallback_sentence, outcome_names, place_name, plan_text, rule_sentence
from banditree.plans.words import Vocabulary
from banditree.policies.following import policy_for
from banditree.tasks.rewards import Family, Link


class OutcomePart(Part):
    """A possible outcome and what a person calls it."""

    value: float
    name: str


class OutcomesPart(Part):
    """What a round may bring. outcomes: all of them, the best first; none where a number is reported.

    sigma: the standard deviation of normal rewards. variance: what Thompson sampling takes for that of one reward.
    """

    family: Family
    low: float | None = None
    high: float | None = None
    sigma: float = 0.0
    variance: float
    logistic: bool = Field(False, description="whether predictions lie on a logistic curve")
    outcomes: list[OutcomePart] = Field(default_factory=list)


class RowPart(Part):
    """A place where a case can stand: what it gives, how it counts, and the rows (counted from 0) that it leads to.

    low: on leaving below, high: above; omitted where there is no such exit. place, says: in words.
    """

    place: str
    says: str
    gives: Gives = Field(discriminator="kind")
    counts: Counts = Field(discriminator="kind")
    low: int | None = None
    high: int | None = None
    fall: int | None = Field(None, description="the most that a score falls in one round")
    climb: int | None = Field(None, description="the most that it climbs")
    rightly: list[int] | None = Field(
        None, description="the tasks (from 0) of the cases that rightly stand here, for the odds of the fallback"
    )


class PagePart(Part):
    """The rows for cases that must not get the `missing` arms; none for the first page."""

    missing: list[str]
    gives: list[str] = Field(description="the arms that are given on the page, by themselves and not among several")
    rows: list[RowPart]


class MachineFile(Document):
    """A plan for programs that follow it. A case starts at row 0 of its page with nothing tallied."""

    schema_: Literal["banditree/machine/1"] = Field("banditree/machine/1", alias="schema")
    plan: str = Field(description="fingerprint of the plan")
    policy: str = Field(description="what case files of this plan say that they follow")
    horizon: int
    arms: list[str]
    tasks: list[str]
    rewards: OutcomesPart
    vocabulary: Vocabulary
    text: list[str] = Field(description="the plan as it is printed, line by line")
    pages: list[PagePart]
    on_harm: OnHarm | None = None
    fallback: Fallback | None = None
    features: list[FeaturePart] = Field(default_factory=list)
    theta: list[list[list[float]]] | None = None
    kind_rules: list[KindRulePart] | None = None


def machine_json(plan: Plan) -> str:
    """The text of a machine file."""
    return dump(machine_document(plan))


def machine_document(plan: Plan) -> MachineFile:
    """The machine of a plan as it is written."""
    written, rewards = plan_document(plan), plan.rewards
    return MachineFile(
        plan=fingerprint(plan),
        policy=policy_for(plan).name,
        horizon=plan.horizon,
        arms=written.arms,
        tasks=written.tasks,
        rewards=OutcomesPart(
            family=rewards.family,
            low=rewards.low if rewards.has_range else None,
            high=rewards.high if rewards.has_range else None,
            sigma=rewards.sigma,
            variance=rewards.variance_proxy,
            logistic=rewards.link is Link.LOGISTIC,
            outcomes=[OutcomePart(value=value, name=name) for value, name in outcome_names(plan)],
        ),
        vocabulary=plan.vocabulary,
        text=plan_text(plan).split("\n"),
        pages=[_page(page(plan, number)) for number in range(1, len(plan.pages) + 2)],
        on_harm=plan.on_harm,
        fallback=plan.fallback,
        features=written.features,
        theta=written.theta,
        kind_rules=written.kind_rules,
    )


def _page(plan: Plan) -> PagePart:
    return PagePart(missing=list(plan.missing), gives=sorted(given_arms(plan)), rows=_rows(plan))


def _rows(plan: Plan) -> list[RowPart]:
    machine, right = machine_of(plan), right_kinds(plan)
    by_odds = plan.fallback is not None and plan.fallback.odds > 0
    return [
        _row(plan, machine, row, right[row].nonzero()[0].tolist() if by_odds else None) for row in range(len(right))
    ]


def _row(plan: Plan, machine: Machine, row: int, rightly: list[int] | None) -> RowPart:
    line, low, high = plan.rows[row], int(machine.low[row]), int(machine.high[row])
    counts = plan.counting(line).followed
    says = fallback_sentence(plan) if isinstance(line.gives, HandOver) else box_sentence(plan, row)
    steps = machine.points[row].tolist() if counts.points is not None else None
    return RowPart(
        place=place_name(plan, row),
        says=f"{says} {rule_sentence(plan)}" if plan.is_ruled(line) else says,
        gives=line.gives,
        counts=counts,
        low=None if low == NONE else low,
        high=None if high == NONE else high,
        fall=None if steps is None else -min(steps),
        climb=None if steps is None else max(steps),
        rightly=rightly,
    )
