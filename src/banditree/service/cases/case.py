"""A case: the fold of a plan and a list of events.

Everything a case does is one or more events; `Case.fold` applies an event that is on record, the other methods decide
whether something may happen, do it, and put the events on the list `new`, which the desk writes down. Both go through
the same Session, so a case rebuilt from its events is the case that was.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

from banditree.certificates.waiting import WaitingCosts
from banditree.errors import InvalidInput
from banditree.plans.pages import page_for
from banditree.plans.plan import Plan
from banditree.policies.base import Outcome, Policy
from banditree.policies.rounds import Missing, Round, Step
from banditree.policies.session import Session
from banditree.service.cases.events import (
    Asked,
    Closed,
    Corrected,
    Erased,
    Event,
    Handed,
    Happening,
    Harmed,
    Missed,
    Noted,
    Overridden,
    Renamed,
    Reopened,
    Restricted,
    Retold,
    Scheduled,
    Told,
    Undone,
    columns_of,
    happening_of,
)
from banditree.service.cases.following import policy_of
from banditree.service.problems import Conflict
from banditree.tasks.collection import Collection

NOW = timedelta()  # This long ago.
OPENING = (Asked.kind, Overridden.kind)  # The kinds of events that open a round.
VISITS = (*OPENING, Told.kind, Missed.kind, Retold.kind)  # What happens when a case is seen.
MOST_TIMES = 16  # The times of at least this many rounds are kept before those that nobody needs are dropped.
MOST_NAMED = 3  # Lists name this many different arms of the open rounds of a case.
MAX_NUMBER = 2**31 - 1  # The largest number that an integer column of any of the databases holds.


@dataclass(frozen=True)
class Followed:
    """A plan on record and the policy that follows it; with its collection it notices a case that fits no task."""

    id: str
    plan: Plan
    policy: Policy
    collection: Collection | None = None

    @cached_property
    def waiting_costs(self) -> WaitingCosts | None:
        """What it costs to go on without outcomes still awaited, where the rates are known; worked out when asked."""
        if self.collection is None or self.plan.features or self.plan.states:
            return None
        return WaitingCosts(self.plan, self.collection)

    def page_for(self, missing: Iterable[str]) -> "Followed":
        """The page that a case follows which must not get some arms."""
        plan = page_for(self.plan, missing)
        return replace(self, plan=plan, policy=policy_of(plan, self.collection))

    @property
    def has_alarm(self) -> bool:
        """Whether a case that fits no task is noticed."""
        return self.collection is not None and not self.plan.states


class Arranged(NamedTuple):
    """What people arranged for a case. due: the day of the next visit, until more than `n_told` outcomes are known.

    every: days from one visit to the next. owner: who looks after it.
    """

    owner: str | None = None
    every: int | None = None
    due: str | None = None
    n_told: int = 0


class Report(NamedTuple):
    """The last report of a case: its round, and how many rounds there were then."""

    round: int
    n_rounds: int


class Case:
    """One case on record. `seq` is the number of its last event; `new` are the events that are not written yet."""

    def __init__(self, number: int, id: str, followed: Followed, label: str | None, at: str, site: str | None) -> None:
        self.number, self.id, self.followed, self.label, self.at, self.site = number, id, followed, label, at, site
        self.on_record = self.first_page = followed  # the plan with all its pages, and where the case begins
        self.without: tuple[str, ...] = ()  # the arms that it must never get
        self.session = self._new_session()
        self.seq = self.weight = self.snapshot_seq = 0
        self.ahead: Any = None  # its outlook as far as it was computed
        self.closed = self.erased = False
        self.last_report: Report | None = None  # as long as it can be undone
        self.undone: set[int] = set()  # rounds of which a report was undone
        self.arranged = Arranged()
        self.opened: dict[int, str] = {}  # when rounds were asked for: those open, and the last one reported
        self.visited = at  # when something was last asked for or reported
        self.new: list[Event] = []

    @property
    def state(self) -> str:
        """open, closed or erased."""
        return "erased" if self.erased else "closed" if self.closed else "open"

    @property
    def never(self) -> tuple[str, ...]:
        """The arms that it must not get: from the start, or since they harmed it."""
        return tuple(sorted({*self.without, *(self.session.arms[arm] for arm in self.session.harmful)}))

    @property
    def rings(self) -> bool:
        """Whether the case is open and its alarm went off: the evidence fits no task."""
        alarm = getattr(self.session.state, "alarm", None)
        return self.state == "open" and alarm is not None and bool(alarm.alarmed[0])

    @property
    def n_told(self) -> int:
        """How many rounds have an outcome, or never will."""
        return len(self.session.rounds) - len(self.session.open_rounds)

    @property
    def gives(self) -> str | None:
        """The arms of the open rounds, as a person reads them; None where no round is open."""
        given = [self.session.arms[self.session.rounds[number - 1].arm] for number in self.session.open_rounds]
        names = list(dict.fromkeys(given))
        return ", ".join([*names[:MOST_NAMED], *(["..."] if names[MOST_NAMED:] else [])]) or None

    @property
    def since(self) -> str:
        """When the first open round was asked for; where none is open, when something was last reported."""
        number = next(iter(self.session.open_rounds), None)
        return self.visited if number is None else self.opened.get(number, self.visited)

    @property
    def due(self) -> str | None:
        """The day that a person set for the next visit, until that has been."""
        return self.arranged.due if self.n_told <= self.arranged.n_told else None

    def arrange(self, actor: str, **changes: Any) -> bool:
        """Change its label, owner, due or every, those that are given; False if nothing changes."""
        self._must_not_be_erased()
        before, seq = self.arranged._replace(due=self.due), self.seq
        if changes.get("label", self.label) != self.label:
            self._change(actor, Renamed(changes["label"] is not None, changes["label"]))
        if changes.get("owner", before.owner) != before.owner:
            self._change(actor, Handed(changes["owner"] is not None, changes["owner"]))
        due, every = changes.get("due", before.due), changes.get("every", before.every)
        if (due, every) != (before.due, before.every):
            self._change(actor, Scheduled(due is not None or every is not None, due, every))
        return self.seq > seq

    def _change(self, actor: str, happening: Happening) -> None:
        happening.change(self)
        self._record(actor, happening)

    def fold(self, events: Sequence[Event]) -> None:
        """Apply events that are on record. Nothing follows an erasure, and what it blanked cannot be folded."""
        for event in events[-1:] if events and events[-1].kind == Erased.kind else events:
            happening = happening_of(event)
            assert happening is not None, "an event on record lacks what its kind needs"
            happening.change(self)
            self._note_time(event)
        self.seq = events[-1].seq if events else self.seq

    def ask(
        self, actor: str, n: int | None, context: Any, available: Iterable[str] | None, *, wait: bool = True
    ) -> list[Step]:
        """The open rounds, up to n, opened as far as the plan allows, or further; each new one is an event."""
        self._must_be_open()
        before, out = len(self.session.rounds), len(self.session.open_rounds)
        steps = self.session.ask(n or 1, context=context, available=available, wait=wait)
        for number in range(before + 1, len(self.session.rounds) + 1):
            entry, under_way = self.session.rounds[number - 1], out + number - before - 1
            arm = self.session.arms[entry.arm]
            without = under_way if not wait and under_way else None
            self._record(actor, Asked(number, arm, entry.context, _given(entry, context), without))
        return steps

    def preview(self) -> Step:
        """The first open round, or the one that asking would open; nothing is opened by looking."""
        before = len(self.session.rounds)
        step = self.session.ask()
        while len(self.session.rounds) > before:
            self.session.rounds.pop()
        return step

    @property
    def person_decides(self) -> bool:
        """Whether the plan has handed the case over to a person, as far as that is known before a round is asked."""
        try:
            return self.state == "open" and self.preview().outcome is Outcome.PERSON_NEEDED
        except InvalidInput:  # it depends on what has to be given first
            return False

    def restrict(self, actor: str, without: Iterable[str]) -> None:
        """Begin on the page for a case that must never get some arms."""
        arms = tuple(sorted(set(without)))
        if arms and not self.seq:
            self.turn_to(arms)
            self._record(actor, Restricted(list(arms)))
        elif arms != self.without:
            self._must_not_be_erased()
            raise Conflict(f"Case {self.id} was started without {', '.join(self.without) or 'leaving anything out'}.")

    def turn_to(self, without: Iterable[str]) -> None:
        """Turn to the page for a case that must never get some arms, where nothing has happened yet."""
        self.without = tuple(without)
        self.followed = self.first_page = self.on_record.page_for(self.without)
        self.session = self._new_session()

    def tell(
        self, actor: str, round: int, reward: float | Missing, arm: str | None = None, harm: bool | None = None
    ) -> bool:
        """Report the outcome of a round, of a closed case too; False if exactly this was on record already.

        arm: the one that was given as far as the sender knows; refused where the round has another by now.
        harm: whether it did harm, which may be reported later.
        """
        fresh = self._tell_reward(actor, round, reward, arm)
        return self._tell_harm(actor, round, harm) or fresh

    def _tell_harm(self, actor: str, round: int, harm: bool | None) -> bool:
        """Record that a round did harm; that it did none is on record only where harm was before."""
        if harm is None or harm == bool(self.session.rounds[round - 1].harm):
            return False
        if not harm:
            raise Conflict(f"Round {round} was reported with harm. Correct it, and say why.")
        self._record_harm(actor, round, harm)
        return True

    def _record_harm(self, actor: str, round: int, harm: bool) -> None:
        self.take_harm(round, harm)
        withdrawn = self._open_rounds_from(self._first_astray())
        self.withdraw(withdrawn)
        self._record(actor, Harmed(round, harm, withdrawn or None))

    def _tell_reward(self, actor: str, round: int, reward: float | Missing, arm: str | None) -> bool:
        self._must_not_be_erased()
        told, undone = self._told(round), round in self.undone
        if arm is not None and 1 <= round <= len(self.session.rounds):
            planned = self.session.arms[self.session.rounds[round - 1].arm]
            if arm != planned:
                raise Conflict(f"Round {round} is {planned} now, not {arm}. Look at the case again.")
        try:
            self.take(reward, round)
        except InvalidInput as problem:
            raise Conflict(str(problem)) if told is not None else problem from None
        if told is not None:
            return False
        value = None if isinstance(reward, Missing) else float(reward)
        first = Missed(round) if value is None else Told(round, value)
        self._record(actor, Retold(round, value is not None, value) if undone else first)
        return True

    def override(self, actor: str, arm: str, reason: str, round: int | None, context: Any) -> Step:
        """Give an arm other than the plan's, in an open round or a new one."""
        self._must_be_open()
        if round is not None and self._told(round) is not None:
            raise Conflict(f"Round {round} has its outcome already. Correct the outcome, or override the next round.")
        step = self.session.override(arm, round, context=context)
        if step.name is not None:
            entry = self.session.rounds[step.round - 1]
            given = _given(entry, context)
            self._record(actor, Overridden(step.round, step.name, reason, entry.context, given))
        return step

    def correct(
        self,
        actor: str,
        round: int,
        reward: float | Missing,
        reason: str,
        *,
        given: bool = False,
        harm: bool | None = None,
    ) -> None:
        """Replace the outcome of a round by a new event; the case is folded again.

        Open rounds that the plan would not give any more are withdrawn. given: no, since they were given already. harm:
        whether it did harm, where that was reported wrongly.
        """
        self._must_not_be_erased()
        self.replace_outcome(reward, round)
        withdrawn = {} if given else self._open_rounds_from(self._first_astray())
        self.withdraw(withdrawn)
        value = None if isinstance(reward, Missing) else float(reward)
        self._record(actor, Corrected(round, reason, value, withdrawn or None))
        if harm is not None and harm != bool(self.session.rounds[round - 1].harm):
            self._record_harm(actor, round, harm)

    def undo(self, actor: str, round: int) -> None:
        """Take the last report back, with the rounds that were opened after it, as if it had not been sent."""
        self._must_be_open()
        if self.last_report is None or self.last_report.round != round:
            last = "" if self.last_report is None else f" The last report was of round {self.last_report.round}."
            raise Conflict(f"The report of round {round} cannot be undone now.{last} Correct it instead.")
        withdrawn = self._open_rounds_from(self.last_report.n_rounds + 1)
        self.take_back(round)
        self.withdraw(withdrawn)
        self._record(actor, Undone(round, withdrawn or None))

    def note(self, actor: str, text: str) -> None:
        """Write something down that changes nothing else."""
        self._must_not_be_erased()
        self._record(actor, Noted(text))

    def close(self, actor: str, reason: str | None) -> bool:
        """End the case; False if it was closed already."""
        self._must_not_be_erased()
        if self.closed:
            return False
        self.closed = True
        self._record(actor, Closed(reason))
        return True

    def reopen(self, actor: str, reason: str) -> bool:
        """Go on with a case that was closed; False if it is open."""
        self._must_not_be_erased()
        if not self.closed:
            return False
        self.closed = False
        self._record(actor, Reopened(reason))
        return True

    def erase(self, actor: str) -> bool:
        """Mark the case as erased; False if it was already. The desk blanks its content in the same transaction."""
        if self.erased:
            return False
        self.erased, self.label = True, None
        self._record(actor, Erased())
        return True

    def take(self, reward: float | Missing, round: int) -> None:
        """Give a round its outcome, and remember that this was the last report."""
        fresh = self._told(round) is None
        self.session.tell(reward, round)
        self.turn_page()
        if fresh:
            self.last_report = Report(round, len(self.session.rounds))

    def take_harm(self, round: int, harm: bool) -> None:
        """Give a round with an outcome its harm, or take it back."""
        entry = self.session.rounds[round - 1]
        if entry.harm is None and harm and entry.reward is not None:
            self.session.tell(entry.reward, round, harm=True)
        elif entry.reward is not None:
            self.session.correct(entry.reward, round, harm=harm)
        self.ahead = None
        self.turn_page()

    def turn_page(self) -> None:
        """Keep the page that is shown the one that the session is on."""
        if isinstance(self.session.subject, Plan) and self.session.subject is not self.followed.plan:
            self.followed = replace(self.on_record, plan=self.session.subject, policy=self.session.policy)
            self.ahead = None

    def replace_outcome(self, reward: float | Missing, round: int) -> None:
        """Play the case again, with another outcome of a round."""
        self.session.correct(reward, round)
        self.turn_page()
        self.last_report = self.ahead = None

    def take_back(self, round: int) -> None:
        """Play the case again, with one round open whose outcome was told."""
        told = [None if number == round else entry.reward for number, entry in enumerate(self.session.rounds, 1)]
        entries = [replace(entry, reward=None, tallied=False) for entry in self.session.rounds]
        entries[round - 1].harm = None
        self.session = self._new_session()
        self.session.rounds = entries
        for number, reward in enumerate(told, 1):
            if reward is not None:
                self.session.tell(reward, number)
        self.turn_page()
        self.last_report = self.ahead = None
        self.undone.add(round)

    def withdraw(self, withdrawn: Mapping[str, str] | None) -> None:
        """Take open rounds back, as if they had not been asked for."""
        if withdrawn:
            n_left = min(map(int, withdrawn)) - 1
            del self.session.rounds[n_left:]
            if self.last_report is not None:  # what is opened from here on came after it
                self.last_report = self.last_report._replace(n_rounds=min(self.last_report.n_rounds, n_left))

    def _open_rounds_from(self, first: int) -> dict[str, str]:
        """The arms, by round, of the rounds at the end, from this one on, that are open and that no person chose."""
        rounds, arms = self.session.rounds, self.session.arms
        last = len(rounds)
        while last >= max(first, self.session.n_applied + 1) and rounds[last - 1].reward is None:
            if rounds[last - 1].overridden:
                break
            last -= 1
        return {str(number): arms[rounds[number - 1].arm] for number in range(last + 1, len(rounds) + 1)}

    def _first_astray(self) -> int:
        """The first of the open rounds at the end that the plan would not give any more; one after the last if none."""
        session, n = self.session, len(self.session.rounds)
        for number, arm in ((int(number), arm) for number, arm in self._open_rounds_from(1).items()):
            kept = session.rounds[number - 1 :]
            del session.rounds[number - 1 :]
            step = session.ask(context=kept[0].context, available=[arm], wait=False)
            session.rounds[number - 1 :] = kept
            if step.name != arm:
                return number
        return n + 1

    def _new_session(self) -> Session:
        followed = self.first_page
        horizon, costs = min(followed.plan.horizon, MAX_NUMBER), followed.waiting_costs
        session = Session(followed.policy, followed.plan, horizon=horizon, waiting_costs=costs)
        session.without = tuple(followed.plan.arm_numbers[arm] for arm in self.without)
        self.may_turn(session)
        return session

    def may_turn(self, session: Session) -> None:
        """Let a session turn to another page of the plan after harm."""
        session.whole = self.on_record.plan
        session.policy_for = lambda page: policy_of(page, self.on_record.collection)

    def _told(self, number: int) -> float | Missing | None:
        return self.session.rounds[number - 1].reward if 1 <= number <= len(self.session.rounds) else None

    def _must_not_be_erased(self) -> None:
        if self.erased:
            raise Conflict(f"Case {self.id} was erased.")

    def _must_be_open(self) -> None:
        self._must_not_be_erased()
        if self.closed:
            raise Conflict(f"Case {self.id} is closed. It takes late outcomes, notes and corrections; or reopen it.")

    def record(self, actor: str, happening: Happening, at: str | None) -> None:
        """Write down what has happened. at: when, if that was not just now."""
        self.seq += 1
        self.new.append(Event(seq=self.seq, **columns_of(happening), at=at or utc_now(), actor=actor))
        self._note_time(self.new[-1])

    def _note_time(self, event: Event) -> None:
        """Remember when rounds were asked for, of those whose time may be asked for again."""
        if event.kind in VISITS:
            self.visited = event.at
        if event.round is None or event.kind not in OPENING:
            return
        if event.kind == Asked.kind or event.round not in self.opened:
            self.opened[event.round] = event.at
        if len(self.opened) > MOST_TIMES + 2 * len(self.session.open_rounds):
            self.opened = self.times

    @property
    def times(self) -> dict[int, str]:
        """When the open rounds were asked for, and the one whose report can be undone."""
        last = [] if self.last_report is None else [self.last_report.round]
        return {number: self.opened[number] for number in (*self.session.open_rounds, *last) if number in self.opened}

    def _record(self, actor: str, happening: Happening) -> None:
        self.record(actor, happening, None)


def utc_now(ago: timedelta = NOW) -> str:
    """The time, or an earlier one, as it is kept: UTC, to the microsecond."""
    return (datetime.now(UTC) - ago).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _given(entry: Round, context: Any) -> dict[str, Any] | None:
    """The context of a round as it was given, where that was by names."""
    return dict(context) if entry.context is not None and isinstance(context, Mapping) else None
