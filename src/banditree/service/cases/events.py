"""What can happen to a case: one class per kind of event, with its fields, how it changes the case, and its sentence.

A new kind is a new class; the store, the fold, the exports and the pages learn of it from there.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from banditree.languages.dates import day_in
from banditree.plans.case_wording import outcome_text
from banditree.plans.plan import Plan
from banditree.plans.wording import either
from banditree.policies.rounds import MISSING, Round

if TYPE_CHECKING:
    from banditree.service.cases.case import Case

# Fields with a column of their own in the table of events; the others share one column, as JSON.
COLUMNS = ("round", "arm", "reward")


class Event(NamedTuple):
    """One line of a case's history, as it is on record; details: the fields without a column, as JSON."""

    seq: int
    kind: str
    round: int | None
    arm: str | None
    reward: float | None
    details: str | None
    at: str
    actor: str


@dataclass(frozen=True)
class Happening:
    """Something that happened to a case. reports: it gives a round its outcome, which only one event may do.

    plays_again: the case is played again from its beginning.
    """

    kind: ClassVar[str]
    reports: ClassVar[bool] = False
    plays_again: ClassVar[bool] = False

    def change(self, case: "Case") -> None:
        """Bring a case from before the event to after it."""

    def decision(self) -> dict[str, Any]:
        """What the event says about the row of its round in the export of decisions."""
        return {}

    def sentence(self, plan: Plan) -> str:
        """The event in the words of the plan."""
        raise NotImplementedError


@dataclass(frozen=True)
class Restricted(Happening):
    """The case was started without some arms: it follows the page of the plan for such a case."""

    kind = "restricted"
    missing: list[str]

    def change(self, case: "Case") -> None:
        """It is on that page."""
        case.turn_to(self.missing)

    def sentence(self, plan: Plan) -> str:
        """What it must not get."""
        return plan.vocabulary.say("Must not get {names}.", names=either(plan.vocabulary, self.missing))


@dataclass(frozen=True)
class Asked(Happening):
    """A round was opened with the plan's arm. context: as the plan sees it; given: as it was named.

    without: how many outcomes were out that somebody chose not to wait for.
    """

    kind = "asked"
    round: int
    arm: str
    context: list[float] | None = None
    given: Mapping[str, Any] | None = None
    without: int | None = None

    def change(self, case: "Case") -> None:
        """One more open round."""
        case.session.rounds.append(Round(case.session.arms.index(self.arm), self.context))

    def decision(self) -> dict[str, Any]:
        """Its arm, and the context it was chosen in."""
        return {"arm": self.arm, "overridden": False, "context": self.context, "given": self.given}

    def sentence(self, plan: Plan) -> str:
        """What was to be given, and in which context."""
        words = plan.vocabulary
        parts = [words.say("Round {round}: {give} {arm}.", round=self.round, give=words.to_give, arm=self.arm)]
        if self.given:
            parts.append(f"{', '.join(f'{name}: {value}' for name, value in self.given.items())}.")
        if self.without:
            parts.append(
                words.count(self.without, "Without waiting for {n} outcome.", "Without waiting for {n} outcomes.")
            )
        return " ".join(parts)


@dataclass(frozen=True)
class Told(Happening):
    """The outcome of a round was reported."""

    kind, reports = "told", True
    round: int
    reward: float

    def change(self, case: "Case") -> None:
        """The round has its outcome."""
        case.take(self.reward, self.round)

    def decision(self) -> dict[str, Any]:
        """Its outcome."""
        return {"reward": self.reward}

    def sentence(self, plan: Plan) -> str:
        """What the outcome was."""
        outcome = outcome_text(plan, self.reward)
        return plan.vocabulary.say("Round {round}: {outcome}.", round=self.round, outcome=outcome)


@dataclass(frozen=True)
class Missed(Happening):
    """The outcome of a round will never be known."""

    kind, reports = "missing", True
    round: int

    def change(self, case: "Case") -> None:
        """The round is used up."""
        case.take(MISSING, self.round)

    def decision(self) -> dict[str, Any]:
        """No outcome."""
        return {"reward": None}

    def sentence(self, plan: Plan) -> str:
        """That it will not be known."""
        return plan.vocabulary.say("Round {round}: the outcome will not be known.", round=self.round)


@dataclass(frozen=True)
class Overridden(Happening):
    """A person gave an arm other than the plan's."""

    kind = "overridden"
    round: int
    arm: str
    reason: str
    context: list[float] | None = None
    given: Mapping[str, Any] | None = None

    def change(self, case: "Case") -> None:
        """An open round, or a new one, has this arm."""
        opened = self.round <= len(case.session.rounds)
        case.session.override(self.arm, self.round if opened else None, context=self.context)

    def decision(self) -> dict[str, Any]:
        """Its arm; the context only where it was given anew."""
        known = {"context": self.context, "given": self.given} if self.context is not None else {}
        return {"arm": self.arm, "overridden": True, **known}

    def sentence(self, plan: Plan) -> str:
        """What was given, and why."""
        words = plan.vocabulary
        place = {"round": self.round, "arm": self.arm, "word": words.arm, "text": self.reason}
        return words.say("Round {round}: {arm} in place of the plan's {word}. Reason: {text}", **place)


@dataclass(frozen=True)
class Harmed(Happening):
    """It was reported that the arm of a round did harm, or that it did none after all; withdrawn: as in Corrected."""

    kind = "harmed"
    round: int
    harm: bool
    withdrawn: Mapping[str, str] | None = None

    def change(self, case: "Case") -> None:
        """The round has its harm, and the case may be on another page."""
        case.take_harm(self.round, self.harm)
        case.withdraw(self.withdrawn)

    def decision(self) -> dict[str, Any]:
        """Whether there was harm."""
        return {"harm": self.harm}

    def sentence(self, plan: Plan) -> str:
        """What was reported, and what is not to be given any more."""
        words = plan.vocabulary
        if self.harm:
            found = words.say("Round {round}: {outcome}.", round=self.round, outcome=words.harmful)
        else:
            found = words.say("Round {round}: no {harm}.", round=self.round)
        return f"{found}{withdrawn_sentence(self.withdrawn, plan)}"


@dataclass(frozen=True)
class Corrected(Happening):
    """A wrong outcome was replaced; reward: None where it is not known.

    withdrawn: the arms, by round, of the open rounds that the plan would no longer give, and that nobody had given.
    """

    kind, plays_again = "corrected", True
    round: int
    reason: str
    reward: float | None = None
    withdrawn: Mapping[str, str] | None = None

    def change(self, case: "Case") -> None:
        """The case is played again with the right outcome."""
        case.replace_outcome(MISSING if self.reward is None else self.reward, self.round)
        case.withdraw(self.withdrawn)

    def decision(self) -> dict[str, Any]:
        """The right outcome."""
        return {"reward": self.reward}

    def sentence(self, plan: Plan) -> str:
        """What it was, why that is known only now, and what is not to be given any more."""
        outcome = outcome_text(plan, self.reward)
        told = plan.vocabulary.say("Round {round} corrected: it was {outcome}.", round=self.round, outcome=outcome)
        return f"{told}{withdrawn_sentence(self.withdrawn, plan)}{_because(self.reason, plan)}"


@dataclass(frozen=True)
class Undone(Happening):
    """The last report was taken back, and with it the rounds that were opened after it; withdrawn: as in Corrected."""

    kind, plays_again = "undone", True
    round: int
    withdrawn: Mapping[str, str] | None = None

    def change(self, case: "Case") -> None:
        """The round waits for its outcome again."""
        case.take_back(self.round)
        case.withdraw(self.withdrawn)

    def decision(self) -> dict[str, Any]:
        """No outcome yet."""
        return {"reward": None}

    def sentence(self, plan: Plan) -> str:
        """Which report was taken back, and what is not to be given any more."""
        told = plan.vocabulary.say("Round {round}: the report was undone.", round=self.round)
        return f"{told}{withdrawn_sentence(self.withdrawn, plan)}"


@dataclass(frozen=True)
class Retold(Happening):
    """A round whose report was undone has its outcome after all; known: false where it will never be."""

    kind = "retold"
    round: int
    known: bool
    reward: float | None = None

    def change(self, case: "Case") -> None:
        """The round has its outcome."""
        case.take(MISSING if self.reward is None else self.reward, self.round)

    def decision(self) -> dict[str, Any]:
        """Its outcome."""
        return {"reward": self.reward}

    def sentence(self, plan: Plan) -> str:
        """What the outcome was."""
        say = plan.vocabulary.say
        if self.reward is None:
            return say("Round {round}, reported again: the outcome will not be known.", round=self.round)
        outcome = outcome_text(plan, self.reward)
        return say("Round {round}, reported again: {outcome}.", round=self.round, outcome=outcome)


@dataclass(frozen=True)
class Noted(Happening):
    """Somebody wrote something down."""

    kind = "noted"
    text: str

    def sentence(self, plan: Plan) -> str:
        """What was written."""
        return plan.vocabulary.say("Note: {text}", text=self.text)


@dataclass(frozen=True)
class Renamed(Happening):
    """The case has another label, or (not named) none any more."""

    kind = "renamed"
    named: bool
    label: str | None = None

    def change(self, case: "Case") -> None:
        """It is shown by its new label."""
        case.label = self.label

    def sentence(self, plan: Plan) -> str:
        """The new label."""
        say = plan.vocabulary.say
        return say("Its label is now {label}.", label=self.label) if self.label else say("It has no label any more.")


@dataclass(frozen=True)
class Handed(Happening):
    """The case is looked after by somebody else, or (not named) by whoever has time."""

    kind = "handed"
    named: bool
    owner: str | None = None

    def change(self, case: "Case") -> None:
        """It is on the list of that person."""
        case.arranged = case.arranged._replace(owner=self.owner)

    def sentence(self, plan: Plan) -> str:
        """Who looks after it."""
        say = plan.vocabulary.say
        if self.owner:
            return say("Handed over to {owner}.", owner=self.owner)
        return say("Nobody in particular looks after it any more.")


@dataclass(frozen=True)
class Scheduled(Happening):
    """When the next visit is due: on a day, or some days after the last one; if neither is set, as the plan says."""

    kind = "scheduled"
    set: bool
    due: str | None = None
    every: int | None = None

    def change(self, case: "Case") -> None:
        """The day counts until the next outcome is reported, the days until they are changed."""
        case.arranged = case.arranged._replace(due=self.due, every=self.every, n_told=case.n_told)

    def sentence(self, plan: Plan) -> str:
        """The day and the days."""
        words = plan.vocabulary
        day = ""
        if self.due:
            due = day_in(words.language, date.fromisoformat(self.due))
            day = words.say("The next visit is on {day}.", day=due)
        days = words.count(self.every, "A visit every day.", "A visit every {n} days.") if self.every else ""
        return " ".join(filter(None, (day, days))) or words.say("Visits are due as the plan says.")


@dataclass(frozen=True)
class Closed(Happening):
    """The case ended."""

    kind = "closed"
    reason: str | None = None

    def change(self, case: "Case") -> None:
        """Only late outcomes, notes and corrections are taken from now on."""
        case.closed = True

    def sentence(self, plan: Plan) -> str:
        """That it ended, and why."""
        return f"{plan.vocabulary.say('Closed.')}{_because(self.reason, plan)}"


@dataclass(frozen=True)
class Reopened(Happening):
    """A case that was closed goes on."""

    kind = "reopened"
    reason: str

    def change(self, case: "Case") -> None:
        """Rounds are asked again."""
        case.closed = False

    def sentence(self, plan: Plan) -> str:
        """That it goes on, and why."""
        return f"{plan.vocabulary.say('Reopened.')}{_because(self.reason, plan)}"


@dataclass(frozen=True)
class Erased(Happening):
    """The content of the case was erased; nothing follows."""

    kind = "erased"

    def change(self, case: "Case") -> None:
        """Nothing is taken any more."""
        case.erased, case.label = True, None

    def sentence(self, plan: Plan) -> str:
        """That it was erased."""
        return plan.vocabulary.say("Erased.")


KINDS: dict[str, type[Happening]] = {shape.kind: shape for shape in Happening.__subclasses__()}
REPORTS = tuple(kind for kind, shape in KINDS.items() if shape.reports)


@cache
def fields_of(kind: str) -> dict[str, bool]:
    """The fields of a kind, and whether an event of it cannot be without them."""
    return {field.name: field.default is NO_DEFAULT for field in fields(KINDS[kind])}


def happening_of(event: Event) -> Happening | None:
    """What an event on record says; None where its content was erased.

    >>> happening_of(Event(2, "told", 1, None, 0.5, None, "2026-03-01T09:30:00.000000Z", "ada"))
    Told(round=1, reward=0.5)
    """
    known: dict[str, Any] = {"round": event.round, "arm": event.arm, "reward": event.reward}
    if event.details is not None:
        known |= json.loads(event.details)
    given: dict[str, Any] = {}
    for name, needed in fields_of(event.kind).items():
        if (value := known.get(name)) is not None:
            given[name] = value
        elif needed:
            return None
    return KINDS[event.kind](**given)


def columns_of(happening: Happening) -> dict[str, Any]:
    """What is written into the table of events for something that happened.

    >>> columns_of(Corrected(round=3, reason="typo"))
    {'kind': 'corrected', 'round': 3, 'arm': None, 'reward': None, 'details': '{"reason": "typo"}'}
    """
    given = {name: getattr(happening, name) for name in fields_of(happening.kind)}
    rest = {name: value for name, value in given.items() if name not in COLUMNS and value is not None}
    details = json.dumps(rest, ensure_ascii=False) if rest else None
    return {"kind": happening.kind, **{name: given.get(name) for name in COLUMNS}, "details": details}


def sentence_of(plan: Plan, event: Event) -> str:
    """An event on record in the words of the plan."""
    happening = happening_of(event)
    if happening is not None:
        return happening.sentence(plan)
    return f"{event.kind.capitalize()}; what it said was erased."


def _because(reason: str | None, plan: Plan) -> str:
    return f" {plan.vocabulary.say('Reason: {text}', text=reason)}" if reason else ""


def withdrawn_sentence(withdrawn: Mapping[str, str] | None, plan: Plan) -> str:
    """What is no longer to be given, by round, or ""."""
    if not withdrawn:
        return ""
    words = plan.vocabulary
    listed = [
        words.say("round {round}, {give} {arm}", round=number, give=words.to_give, arm=arm)
        for number, arm in withdrawn.items()
    ]
    return f" {words.say('Withdrawn: {rounds}.', rounds=', '.join(listed))}"
