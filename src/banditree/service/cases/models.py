"""Cases over HTTP: what starts, asks, tells and ends one, and what is answered."""

from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, Strict, StringConstraints, model_validator

from banditree.service.cases.case import MAX_NUMBER
from banditree.service.edge.models import NO_NUL, Days, Id, Name, Shape, Words

MOST_OPENED = 1000  # One request opens at most this many rounds; each takes the one writer about 30 microseconds.
ArmName = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=NO_NUL)]
RoundNumber = Annotated[int, Strict(), Field(ge=1, le=MAX_NUMBER)]
Number = Annotated[float, Strict()]
Reward = Number | Literal["missing"]
Context = dict[ArmName, Number | ArmName] | list[Number]
Without = Annotated[list[ArmName], Field(max_length=10_000)]
Batch = TypeVar("Batch", bound=Shape)
ARRANGED = ("label", "owner", "due", "every")


def _opening_few(batch: Batch, n: int) -> Batch:
    if n > MOST_OPENED:
        raise ValueError(f"a batch may open at most {MOST_OPENED:,} rounds, and this one asks for {n:,}")
    return batch


class NewCase(Shape):
    """A case to start. id: yours (a pseudonym), or omitted for a random one; the same id again is the same case.

    without: the arms that the case must never get; it follows the page of the plan for such a case.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"plan": "4f1c9a7be0d2c3a5", "label": "bed 12"}]})
    plan: Id
    id: Id | None = None
    label: Name | None = None
    without: Without = []  # noqa: RUF012


class NewCases(Shape):
    """Many cases to start."""

    cases: list[NewCase] = Field(min_length=1, max_length=1000)


class CaseFiles(Shape):
    """Case files of the app of a plan, or of `banditree run`; each needs an id of its own."""

    files: list[dict[str, Any]] = Field(min_length=1, max_length=1000)


class TakenUp(Shape):
    """A case that was taken up, and how many of its events are on record only now."""

    id: str
    recorded: int


class MoveCase(Shape):
    """Where a case goes on. plan: by default the one that replaced its own. id: of the new case.

    without: the arms that it must not get from now on, by default those of before; where these change, it may stay on
    its plan.
    """

    plan: Id | None = None
    id: Id | None = None
    without: Without | None = None


class Ask(Shape):
    """What to do next. n: rounds to have open at once. available: the arms that can be given now; by default all.

    wait: false to open rounds although outcomes still awaited may change what comes next.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"n": 5, "available": ["A", "B"]}]})
    n: Annotated[int, Strict(), Field(ge=1, le=MOST_OPENED)] = 1
    context: Context | None = None
    available: list[ArmName] | None = Field(None, max_length=10_000)
    wait: Annotated[bool, Strict()] = True


class AskCase(Ask):
    """What to do next in one of many cases."""

    case: Id


class AskMany(Shape):
    """Many cases to ask for; together they may open only as many rounds as one request for one case."""

    asks: list[AskCase] = Field(min_length=1, max_length=1000)

    @model_validator(mode="after")
    def opens_few(self) -> "AskMany":
        """Refuse what would keep others waiting."""
        return _opening_few(self, sum(one.n for one in self.asks))


class Tell(Shape):
    """What happened in a round. ask: also say what to do next, in the same answer.

    arm: the one that was given; refused if the round has another by now. By default it is not compared. harm: whether
    it did harm, such as a side effect; it may be reported later, with the same outcome.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"round": 1, "reward": 1}, {"round": 2, "reward": "missing"}]}
    )
    round: RoundNumber
    reward: Reward
    arm: ArmName | None = None
    harm: Annotated[bool, Strict()] | None = None
    ask: Ask | None = None


class TellCase(Tell):
    """What happened in a round of one of many cases."""

    case: Id


class TellMany(Shape):
    """Many outcomes to report; what they ask for may open only as many rounds as one request for one case."""

    tells: list[TellCase] = Field(min_length=1, max_length=1000)

    @model_validator(mode="after")
    def opens_few(self) -> "TellMany":
        """Refuse what would keep others waiting."""
        return _opening_few(self, sum(one.ask.n for one in self.tells if one.ask is not None))


class Override(Shape):
    """An arm other than the plan's, and why. round: an open one; by default a new one if none is open."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"arm": "B", "reason": "A is out of stock"}]})
    arm: ArmName
    reason: Words
    round: RoundNumber | None = None
    context: Context | None = None


class Correct(Shape):
    """The right outcome of a round that was reported wrongly, and why.

    Open rounds that the plan would not give after the right outcome are withdrawn. given: they were given already, so
    they stay. ask: also open the next round, where none is open. harm: whether there was harm, if that was wrong.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"round": 3, "reward": 0, "reason": "typed wrongly"}]})
    round: RoundNumber
    reward: Reward
    reason: Words
    harm: Annotated[bool, Strict()] | None = None
    given: Annotated[bool, Strict()] = False
    ask: Annotated[bool, Strict()] = False


class Arrange(Shape):
    """What is to be changed about how a case is looked after; what is omitted stays, and null takes it away.

    owner: who looks after it. due: the day of the next visit. every: days from one visit to the next, in place of the
    plan's.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"owner": "ada", "due": "2026-05-04"}, {"every": 7}]})
    label: Name | None = None
    owner: Name | None = None
    due: date | None = None
    every: Days | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """What was given, as a case takes it."""
        given: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set & set(ARRANGED)}
        if given.get("due") is not None:
            given["due"] = given["due"].isoformat()
        return given


class ArrangeCase(Arrange):
    """What is to be changed about how one of many cases is looked after."""

    case: Id


class ArrangeMany(Shape):
    """Many cases to be looked after in another way."""

    arrangements: list[ArrangeCase] = Field(min_length=1, max_length=1000)


class MoveCases(Shape):
    """Many cases that go on elsewhere. plan: by default, for each, the one that replaced its own."""

    cases: list[Id] = Field(min_length=1, max_length=1000)
    plan: Id | None = None


class Undo(Shape):
    """The round of the last report, which is to be taken back together with the rounds that were opened after it."""

    round: RoundNumber


class Reopen(Shape):
    """Why a case that was closed goes on."""

    reason: Words


class Note(Shape):
    """Something to write down."""

    text: Words


class Close(Shape):
    """The end of a case."""

    reason: Words | None = None


class GoingOnOut(Shape):
    """What one more round of `arm` now costs, without the outcomes still awaited, against waiting for them.

    chance: that they lead to another arm, and loss, at most, in the worst task; at_estimates: at the estimated rates.
    """

    outcomes: int
    arm: str
    chance: float
    loss: float
    at_estimates: bool
    message: str


class StepOut(Shape):
    """A round and its arm, or the outcome that says why there is none.

    going_on: where rounds were open already, what it costs to go on without their outcomes (`"wait": false`).
    """

    round: int
    arm: str | None = None
    outcome: str | None = None
    message: str
    going_on: GoingOnOut | None = None


class TellOut(Shape):
    """recorded: false if exactly this was already on record. steps: what to do next, if that was asked for."""

    recorded: bool
    steps: list[StepOut] | None = None


class AlarmOut(Shape):
    """Whether the evidence fits no task, and what is done about it."""

    ringing: bool
    message: str


class Standing(Shape):
    """Where a case stands and why. box is counted from 1. as_planned: every arm given was the plan's.

    without: the arms that the case must never get; the box is on the page of the plan for such a case. barred: those
    that it does not get any more since they harmed it. owner, due, every: as people arranged them.
    """

    id: str
    plan: str
    label: str | None
    owner: str | None = None
    due: str | None = None
    every: int | None = None
    without: list[str] = Field(default_factory=list)
    barred: list[str] = Field(default_factory=list)
    at: str
    state: Literal["open", "closed", "erased"]
    events: int
    rounds: int
    horizon: int
    open_rounds: list[int]
    box: int | None = None
    exploiting: bool = False
    arm: str | None = None
    pulls: int | None = None
    total: float | None = None
    possible: list[str] | None = None
    as_planned: bool = True
    off_plan_rounds: list[int] = Field(default_factory=list)
    certificate: Literal["as planned", "not as planned"] = "as planned"
    alarm: AlarmOut | None = None
    going_on: GoingOnOut | None = None
    description: str


class TaskChance(Shape):
    """How likely a task is for a case."""

    task: str
    chance: float


class Outlook(Shape):
    """The boxes a case went through, counted from 1, and how likely each task is now. note: what the chances are based
    on, or why there are none."""

    path: list[int]
    chances: list[TaskChance] | None
    note: str


class CaseLine(Shape):
    """A case in a list; number orders the list and is where the next page begins. rings: its alarm went off.

    gives: the arms of its open rounds, asked for on `since`. due: the day of the next visit, if that is known.
    finished: all its rounds are used.
    """

    number: int
    id: str
    plan: str
    label: str | None
    at: str
    actor: str
    state: Literal["open", "closed", "erased"]
    rounds: int
    waiting: int
    site: str | None = None
    rings: bool = False
    finished: bool = False
    gives: str | None = None
    since: str | None = None
    owner: str | None = None
    due: str | None = None


class EventOut(Shape):
    """One line of a case's history."""

    seq: int
    kind: str
    round: int | None
    arm: str | None
    reward: float | None
    details: dict[str, Any] | None
    at: str
    actor: str
