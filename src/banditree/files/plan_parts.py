"""What a plan file is made of: the shapes that its JSON Schema is generated from, one per kind of box."""

from typing import Annotated, Literal

from pydantic import Field

from banditree.files.collections import FeaturePart, RewardsPart
from banditree.files.documents import Document, Part
from banditree.plans.checks import LARGEST
from banditree.plans.plan import Decider

SCHEMA: Literal["banditree/plan/3"] = "banditree/plan/3"
SECOND_SCHEMA: Literal["banditree/plan/2"] = "banditree/plan/2"
# A plan that an earlier version can say is still written as that version: an older banditree reads it, and a case that
# keeps its fingerprint finds the same plan.
FIRST_SCHEMA: Literal["banditree/plan/1"] = "banditree/plan/1"
Level = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Points = Annotated[list[Level], Field(min_length=2)]
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


class PromiseRow(Part):
    """The points of an outcome where at least so much was promised, and no more than the next row asks for."""

    at_least: float | None = Field(None, description="chance of success; absent in the first row")
    failure: Level
    success: Level


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
    table: list[PromiseRow] | None = Field(None, description="points by what was promised, in place of cuts")
    cuts: list[float] = Field(description="a reward above this many cuts ...")
    points: Points = Field(description="... scores the points of that number")
    floor: Level
    ceil: Level
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
    table: list[PromiseRow] | None = None
    cuts: list[float]
    points: Points
    floor: Level
    cap: Level | None = None
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
    """From now on what was learned since the first round chooses between some arms: by expected means, if these are
    given, or by Thompson sampling."""

    kind: Literal["several"] = "several"
    box: int
    arms: Annotated[list[str], Field(min_length=2)]
    expected: list[float] | None = Field(None, description="the mean that each arm is expected to have")
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
    floor: Level
    cap: Level | None = None
    hands_over: Literal[True] | None = None


class FallbackPart(Part):
    """Who decides after a hand-over: Thompson sampling, an arm, or a person."""

    to: Decider
    arm: str | None = None
    odds: int | None = Field(None, description="to one against every task, from which on a case is handed over")
    allow: float | None = Field(None, description="how far off the rates of a task may be")
    kinds: list[list[float]] | None = Field(None, description="the mean of every arm (inner) of every task (outer)")


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
    worth: Annotated[int, Field(ge=1)] | None = Field(None, description="rounds that each expected mean counts for")
    theta: list[list[list[float]]] | None = None
    kind_rules: list[KindRulePart] | None = None
