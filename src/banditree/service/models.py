"""What goes in and out over HTTP. Success is {"data": ...}, an error is {"error": {"code", "message"}}."""

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Strict, StringConstraints, model_validator

from banditree.service.cases import MAX_NUMBER
from banditree.service.people import USER_NAME

Data = TypeVar("Data")
MOST_OPENED = 1000  # rounds that one request opens; each takes the one writer about 30 microseconds
NO_NUL = r"^[^\x00]*$"  # which PostgreSQL does not keep

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=NO_NUL)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=NO_NUL)]
ArmName = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=NO_NUL)]
RoundNumber = Annotated[int, Strict(), Field(ge=1, le=MAX_NUMBER)]
Number = Annotated[float, Strict()]
Reward = Number | Literal["missing"]
Context = dict[ArmName, Number | ArmName] | list[Number]
CardFormat = Literal["pdf", "html"]
PaperName = Literal["a4", "letter"]
RoleName = Literal["viewer", "operator", "signer", "admin"]
Password = Annotated[str, StringConstraints(min_length=10, max_length=200, pattern=NO_NUL)]


class Shape(BaseModel):
    """A body: nothing unknown in it, and no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


Batch = TypeVar("Batch", bound=Shape)


def _opening_few(batch: Batch, n: int) -> Batch:
    if n > MOST_OPENED:
        raise ValueError(f"a batch may open at most {MOST_OPENED:,} rounds, and this one asks for {n:,}")
    return batch


class Answer(Shape, Generic[Data]):
    """The one shape of success."""

    data: Data


class Problem(Shape):
    """What went wrong: a code for programs, a sentence for people."""

    code: str
    message: str


class Failure(Shape):
    """The one shape of an error."""

    error: Problem


class NewCollection(Shape):
    """A collection file with a name."""

    name: Name
    collection: dict[str, Any] = Field(description='the content of a collection file ("banditree/collection/2")')


class SignPlan(Shape):
    """A signature under a plan. replaces: another plan than the draft names."""

    comment: Words
    replaces: Id | None = None


class NewPlan(Shape):
    """A plan file with a name, and the collection it was made from where the alarm is wanted.

    It is a draft, on which no case can start, until it is signed: later, or with `sign` in the same request by
    somebody who may. replaces: the plan whose place it is to take.
    """

    name: Name
    plan: dict[str, Any] = Field(description='the content of a plan file ("banditree/plan/2")')
    collection: Id | None = None
    replaces: Id | None = None
    sign: SignPlan | None = None


class TakeSuccessor(Shape):
    """The job that learned from a plan's cases, and the name of the collection and the draft that it proposes."""

    job: Id
    name: Name


class Created(Shape):
    """The id of what is on record now."""

    id: str


class DocumentLine(Shape):
    """A plan or collection on record."""

    id: str
    name: str
    at: str
    actor: str
    collection: str | None = None
    site: str | None = None


class FileLine(Shape):
    """A file on record."""

    id: str
    name: str
    size: int
    at: str
    actor: str
    site: str | None


class PlanLine(DocumentLine):
    """A plan on record. replaced: a signed plan, `replaced_by`, took its place, and it starts no more cases."""

    state: Literal["draft", "signed", "replaced"]
    signed_at: str | None
    signed_by: str | None
    comment: str | None
    replaces: str | None
    replaced_by: str | None


class ChangedLine(Shape):
    """A line of a plan or of the one that it replaces: in both, only in the old one, or only in the new one."""

    kind: Literal["same", "gone", "new"]
    text: str


class NewCase(Shape):
    """A case to start. id: yours (a pseudonym), or omitted for a random one; the same id again is the same case."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"plan": "4f1c9a7be0d2c3a5", "label": "bed 12"}]})
    plan: Id
    id: Id | None = None
    label: Name | None = None


class NewCases(Shape):
    """Many cases to start."""

    cases: list[NewCase] = Field(min_length=1, max_length=1000)


class MoveCase(Shape):
    """Where a case is to go on. plan: that which replaced its own, when omitted. id: of the new case."""

    plan: Id | None = None
    id: Id | None = None


class Ask(Shape):
    """What to do next. n: rounds to open at once. available: the arms that can be given now; by default all."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"n": 5, "available": ["A", "B"]}]})
    n: Annotated[int, Strict(), Field(ge=1, le=MOST_OPENED)] = 1
    context: Context | None = None
    available: list[ArmName] | None = Field(None, max_length=10_000)


class AskCase(Ask):
    """What to do next in one of many cases."""

    case: Id


class AskMany(Shape):
    """Many cases to ask for; together they may open as many rounds as one may."""

    asks: list[AskCase] = Field(min_length=1, max_length=1000)

    @model_validator(mode="after")
    def opens_few(self) -> "AskMany":
        """Refuse what would keep others waiting."""
        return _opening_few(self, sum(one.n for one in self.asks))


class Tell(Shape):
    """What happened in a round. ask: also say what to do next, in the same answer."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"round": 1, "reward": 1}, {"round": 2, "reward": "missing"}]}
    )
    round: RoundNumber
    reward: Reward
    ask: Ask | None = None


class TellCase(Tell):
    """What happened in a round of one of many cases."""

    case: Id


class TellMany(Shape):
    """Many outcomes to report; what they ask for may open as many rounds as one may."""

    tells: list[TellCase] = Field(min_length=1, max_length=1000)

    @model_validator(mode="after")
    def opens_few(self) -> "TellMany":
        """Refuse what would keep others waiting."""
        return _opening_few(self, sum(one.ask.n for one in self.tells if one.ask is not None))


class Override(Shape):
    """Another arm than the plan's, and why. round: an open one; a new one is opened where none is open."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"arm": "B", "reason": "A is out of stock"}]})
    arm: ArmName
    reason: Words
    round: RoundNumber | None = None
    context: Context | None = None


class Correct(Shape):
    """The right outcome of a round that was told wrongly, and why."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"round": 3, "reward": 0, "reason": "typed wrongly"}]})
    round: RoundNumber
    reward: Reward
    reason: Words


class Note(Shape):
    """Something to write down."""

    text: Words


class Close(Shape):
    """The end of a case."""

    reason: Words | None = None


class StepOut(Shape):
    """A round and its arm, or the outcome that says why there is none."""

    round: int
    arm: str | None = None
    outcome: str | None = None
    message: str


class TellOut(Shape):
    """recorded: false if exactly this was on record already. steps: what to do next, where that was asked."""

    recorded: bool
    steps: list[StepOut] | None = None


class Done(Shape):
    """done: false if it was so already."""

    done: bool


class AlarmOut(Shape):
    """Whether the evidence fits no task, and what is done about it."""

    ringing: bool
    message: str


class Standing(Shape):
    """Where a case stands and why. box is counted from 1. as_planned: nobody gave another arm than the plan's."""

    id: str
    plan: str
    label: str | None
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
    description: str


class TaskChance(Shape):
    """How likely a task is for a case."""

    task: str
    chance: float


class Outlook(Shape):
    """The boxes a case went through, counted from 1, and how likely each task is now; note: from what, or why not."""

    path: list[int]
    chances: list[TaskChance] | None
    note: str


class SeparationOut(Shape):
    """The two tasks that are hardest to tell apart: no arm separates their means by more than `value`."""

    value: float
    tasks: tuple[str, str]
    arm: str


class CaseLine(Shape):
    """A case in a list; number orders the list and is where the next page begins. rings: its alarm went off."""

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


class JobOut(Shape):
    """Long work: how it stands, how far it is, what it found so far, and what came of it or why nothing did."""

    id: str
    kind: str
    subject: str | None
    settings: dict[str, Any]
    state: Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]
    done: int
    total: int
    best: float | None
    text: str
    found: list[dict[str, Any]] = Field(default_factory=list)
    result: Any = None
    problem: str | None
    seconds: int
    megabytes: int
    at: str
    actor: str
    began: str | None
    ended: str | None


class EndJob(Shape):
    """How to end a job. best_so_far: keep what it has by now; when omitted, only searches do."""

    best_so_far: bool | None = None


class Login(Shape):
    """A name and a password."""

    name: Name
    password: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NO_NUL)]


class Me(Shape):
    """Who you are. csrf_token: to be sent as X-CSRF-Token with every change, where you logged in with a cookie."""

    name: str
    role: RoleName
    csrf_token: str | None = None
    site: str | None = None


class NewUser(Shape):
    """A user to let in."""

    name: Annotated[str, StringConstraints(pattern=f"^{USER_NAME}$")]
    role: RoleName
    password: Password
    site: Id | None = Field(None, description="what the user belongs to and sees; every site when omitted")


class ChangeUser(Shape):
    """What to change of a user."""

    role: RoleName | None = None
    password: Password | None = None
    disabled: bool | None = None
    site: Id | Literal[""] | None = Field(None, description="empty for one who sees every site")


class UserLine(Shape):
    """A user."""

    name: str
    role: RoleName
    disabled: bool
    at: str
    site: str | None = None


class NewToken(Shape):
    """An API token to make: a name to know it by, a role not above yours."""

    name: Name
    role: RoleName = "operator"
    days: Annotated[int, Field(ge=1, le=366, description="until it expires")] = 90


class NewPassword(Shape):
    """Your password now, and the one from now on."""

    old: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NO_NUL)]
    new: Password


class TokenOut(Shape):
    """A new token; it is shown this once."""

    id: str
    token: str


class TokenLine(Shape):
    """A token, without its secret."""

    id: str
    user: str
    role: RoleName
    name: str
    at: str
    expires: str | None
    revoked: bool


class AuditLine(Shape):
    """Who did what."""

    number: int
    at: str
    actor: str
    action: str
    subject: str | None
    address: str | None
    chain: str | None = Field(description="the hash over this line and the one before; none in lines from before that")
