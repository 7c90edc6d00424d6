"""A case: the fold of a plan and a list of events.

Everything a case does is one or more events; `Case.fold` applies an event that is on record, the other methods decide
whether something may happen, do it, and put the events on the list `new`, which the desk writes down. Both go through
the same Session, so a case rebuilt from its events is the case that was.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.policies.base import Policy
from banditree.policies.session import MISSING, Missing, Round, Session, Step
from banditree.service.problems import Conflict
from banditree.tasks.collection import Collection

Value = TypeVar("Value")
MAX_NUMBER = 2**31 - 1  # of what a database column of whole numbers holds


class Kind(StrEnum):
    """What can happen to a case."""

    ASKED = "asked"
    TOLD = "told"
    MISSING = "missing"
    OVERRIDDEN = "overridden"
    CORRECTED = "corrected"
    NOTED = "noted"
    CLOSED = "closed"
    ERASED = "erased"


class Event(NamedTuple):
    """One line of a case's history; details: context, reason or text, as JSON."""

    seq: int
    kind: str
    round: int | None
    arm: str | None
    reward: float | None
    details: str | None
    at: str
    actor: str


@dataclass(frozen=True)
class Followed:
    """A plan on record and the policy that follows it; with its collection it notices a case that fits no task."""

    id: str
    plan: Plan
    policy: Policy
    collection: Collection | None = None

    @property
    def has_alarm(self) -> bool:
        """Whether a case that fits no task is noticed."""
        return self.collection is not None


class Case:
    """One case on record. `seq` is the number of its last event; `new` are the events that are not written yet."""

    def __init__(self, number: int, id: str, followed: Followed, label: str | None, at: str) -> None:
        self.number, self.id, self.followed, self.label, self.at = number, id, followed, label, at
        self.session = Session(followed.policy, followed.plan, horizon=min(followed.plan.horizon, MAX_NUMBER))
        self.seq = self.weight = 0
        self.closed = self.erased = False
        self.new: list[Event] = []

    @property
    def state(self) -> str:
        """open, closed or erased."""
        return "erased" if self.erased else "closed" if self.closed else "open"

    def fold(self, events: Sequence[Event]) -> None:
        """Apply events that are on record. Nothing follows an erasure, and what it blanked cannot be folded."""
        if events and events[-1].kind == Kind.ERASED:
            self.erased, self.label = True, None
        else:
            for event in events:
                self._fold(event)
        self.seq = events[-1].seq if events else self.seq

    def _fold(self, event: Event) -> None:
        kind, session = event.kind, self.session
        if kind == Kind.ASKED:
            session.rounds.append(Round(session.arms.index(_given(event.arm)), _details(event).get("context")))
        elif kind in (Kind.TOLD, Kind.MISSING):
            session.tell(_outcome(event), _given(event.round))
        elif kind == Kind.OVERRIDDEN:
            number, context = _given(event.round), _details(event).get("context")
            session.override(_given(event.arm), number if number <= len(session.rounds) else None, context=context)
        elif kind == Kind.CORRECTED:
            session.correct(_outcome(event), _given(event.round))
        elif kind == Kind.CLOSED:
            self.closed = True

    def ask(self, actor: str, n: int | None, context: Any, available: Iterable[str] | None) -> list[Step]:
        """The open rounds, up to n, opened as far as the plan allows; each new one is an event."""
        self._must_be_open()
        before = len(self.session.rounds)
        steps = self.session.ask(n or 1, context=context, available=available)
        for number in range(before + 1, len(self.session.rounds) + 1):
            entry = self.session.rounds[number - 1]
            details = _context_details(entry, context)
            self._record(Kind.ASKED, actor, number, arm=self.session.arms[entry.arm], details=details)
        return steps

    def tell(self, actor: str, round: int, reward: float | Missing) -> bool:
        """Report the outcome of a round; False if exactly this was on record already."""
        self._must_be_open()
        told = self._told(round)
        try:
            self.session.tell(reward, round)
        except InvalidInput as problem:
            raise Conflict(str(problem)) if told is not None else problem from None
        if told is not None:
            return False
        kind, value = (Kind.MISSING, None) if isinstance(reward, Missing) else (Kind.TOLD, float(reward))
        self._record(kind, actor, round, reward=value)
        return True

    def override(self, actor: str, arm: str, reason: str, round: int | None, context: Any) -> Step:
        """Give another arm than the plan's, in an open round or a new one."""
        self._must_be_open()
        if round is not None and self._told(round) is not None:
            raise Conflict(f"Round {round} has its outcome already. Correct the outcome, or override the next round.")
        step = self.session.override(arm, round, context=context)
        if step.outcome is None:
            entry = self.session.rounds[step.round - 1]
            details = {"reason": reason, **(_context_details(entry, context) or {})}
            self._record(Kind.OVERRIDDEN, actor, step.round, arm=step.name, details=details)
        return step

    def correct(self, actor: str, round: int, reward: float | Missing, reason: str) -> None:
        """Replace the outcome of a round by a new event; the case is folded again."""
        self._must_not_be_erased()
        self.session.correct(reward, round)
        value = None if isinstance(reward, Missing) else float(reward)
        self._record(Kind.CORRECTED, actor, round, reward=value, details={"reason": reason})

    def note(self, actor: str, text: str) -> None:
        """Write something down that changes nothing else."""
        self._must_not_be_erased()
        self._record(Kind.NOTED, actor, details={"text": text})

    def close(self, actor: str, reason: str | None) -> bool:
        """End the case; False if it was closed already."""
        self._must_not_be_erased()
        if self.closed:
            return False
        self.closed = True
        self._record(Kind.CLOSED, actor, details=None if reason is None else {"reason": reason})
        return True

    def erase(self, actor: str) -> bool:
        """Mark the case as erased; False if it was already. The desk blanks its content in the same transaction."""
        if self.erased:
            return False
        self.erased, self.label = True, None
        self._record(Kind.ERASED, actor)
        return True

    def _told(self, number: int) -> float | Missing | None:
        return self.session.rounds[number - 1].reward if 1 <= number <= len(self.session.rounds) else None

    def _must_not_be_erased(self) -> None:
        if self.erased:
            raise Conflict(f"Case {self.id} was erased.")

    def _must_be_open(self) -> None:
        self._must_not_be_erased()
        if self.closed:
            raise Conflict(f"Case {self.id} is closed. It still takes notes and corrections.")

    def _record(
        self,
        kind: Kind,
        actor: str,
        round: int | None = None,
        arm: str | None = None,
        reward: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.seq += 1
        text = None if details is None else json.dumps(details, ensure_ascii=False)
        self.new.append(Event(self.seq, kind.value, round, arm, reward, text, utc_now(), actor))


def utc_now() -> str:
    """The time as it is kept: UTC, to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _context_details(entry: Round, given: Any) -> dict[str, Any] | None:
    """The context as the plan sees it and, where it was given by names, as it was given."""
    if entry.context is None:
        return None
    return {"context": entry.context, **({"given": dict(given)} if isinstance(given, Mapping) else {})}


def _details(event: Event) -> dict[str, Any]:
    return {} if event.details is None else dict(json.loads(event.details))


def _outcome(event: Event) -> float | Missing:
    return MISSING if event.reward is None else event.reward


def _given(value: Value | None) -> Value:
    assert value is not None, "an event on record lacks what its kind needs"
    return value
