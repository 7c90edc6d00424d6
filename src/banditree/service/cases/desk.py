"""The desk: the one thread of a server that decides and writes, many requests per transaction.

Requests wait in line while the previous transaction goes to disk; then all of them are decided against the current
state and written together. So a busy server syncs once for many reports, no two requests of one server ever race, and
an answer goes out only after its transaction is on disk. Other servers on the same database are noticed twice: each
transaction begins by reading the events that are new, and events carry numbers that can be taken only once. If another
server was faster after all, the commands are decided again, one by one.
"""

import asyncio
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from banditree.errors import InvalidInput
from banditree.service.cases.case import Case, Followed
from banditree.service.cases.events import KINDS, Event
from banditree.service.cases.snapshots import EVERY, Forgotten, fill_from_snapshot, snapshot_document
from banditree.service.problems import Conflict, NotFound, Refused, Unavailable
from banditree.service.store import records
from banditree.service.store.database import Clash, Connection, Database
from banditree.service.store.erasure import erase_content
from banditree.service.store.signing import check_starts_cases
from banditree.service.store.sites import limited, sees
from banditree.service.store.splits import open_split, was_given
from banditree.service.store.trail import note_action

MOST_TOGETHER = 256  # One transaction holds at most this many commands.
MOST_PLANS = 64  # At most this many plans are kept in memory.
PATIENCE = 0.25  # A transaction waits for further commands for this share of the time that the last one took.
WEIGHT = 10  # A case takes about as much memory as this many rounds, besides its own rounds.
STOPPING = "The service is shutting down. Send the request again."
IN_HAND = "The service stopped while it had this in hand. Look whether it is on record before you send it again."
SCRUB_AGAIN = 0.5  # Clearing away what was erased is tried again after this many seconds.
TRIES = 5  # A command that other servers get in the way of is tried this many times before it is refused.


@dataclass(eq=False)
class Command:
    """Something to decide and write. cases: the ids it is about; None: it needs a transaction of its own.

    site: of the person who asks for it; None for whoever sees everything.
    """

    act: Callable[["Transaction"], Any]
    cases: tuple[str, ...] | None = ()
    site: str | None = None
    answer: asyncio.Future[Any] | None = None
    result: Any = None
    error: Exception | None = None


class Transaction:
    """What a command sees: the connection, and the cases as they are now."""

    def __init__(self, desk: "Desk", connection: Connection) -> None:
        self._desk, self.connection = desk, connection
        self.touched: dict[str, Case] = {}
        self.erased = False

    def case(self, id: str) -> Case:
        """A case, current with everything on record and decided so far."""
        case = self.touched.get(id)
        if case is None or not sees(self.connection, case.site):
            raise NotFound(f"There is no case {id}.")
        return case

    def start(
        self,
        actor: str,
        id: str,
        plan: str,
        label: str | None,
        without: Sequence[str] = (),
        *,
        by_chance: bool = True,
    ) -> Case:
        """A new case; one that exists already, if it was started on the same plan without the same arms.

        by_chance: it is given one of two plans where the new cases of this one are split.
        """
        if (case := self.touched.get(id)) is not None:
            if not sees(self.connection, case.site):
                raise Conflict(f"There is already a case {id}. Choose another id.")
            if case.followed.id != plan and not was_given(self.connection, case.number, plan):
                raise Conflict(f"Case {id} exists and follows plan {case.followed.id}.")
            case.restrict(actor, without)
            return case
        check_starts_cases(self.connection, plan)
        split = open_split(self.connection, plan) if by_chance else None
        followed = self._desk.followed(self.connection, plan if split is None else split.plan_of(id))
        followed.page_for(without)  # what it has no page for is refused before anything is written
        case = records.add_case(self.connection, actor, id, followed, label, split and split.id)
        case.restrict(actor, without)
        self.touched[id] = case
        return case

    def followed(self, plan: str) -> Followed:
        """A plan on record."""
        return self._desk.followed(self.connection, plan)

    def events(self, case: Case) -> list[Event]:
        """The events of a case that are on record."""
        return records.events_after(self.connection, case.number, 0)

    def adopt(self, case: Case) -> bool:
        """Take a case on which something was done beside the desk; False if it has changed meanwhile."""
        if self.case(case.id).seq != case.seq - len(case.new):
            return False
        self.touched[case.id] = case
        return True

    def erase(self, actor: str, id: str, held_by: Sequence[str] = ()) -> bool:
        """Erase the content of a case and mark it; False if it was already. held_by: the files that hold it."""
        case = self.case(id)
        if not case.erase(actor):
            return False
        records.add_events(self.connection, [case])
        case.new.clear()
        erase_content(self.connection, actor, case, held_by)
        note_action(self.connection, actor, "erase case", id, None)
        self.erased = True
        return True


class Desk:
    """Runs commands in their own thread (`submit`), or in this one (`run`)."""

    def __init__(self, database: Database, *, cached_rounds: int = 200_000, waiting: int = 10_000) -> None:
        self.database, self.cached_rounds = database, cached_rounds
        self.n_transactions = self.n_commands = self.n_events = 0
        self._cases: OrderedDict[str, Case] = OrderedDict()
        self._plans: OrderedDict[str, Followed] = OrderedDict()
        self._rounds = 0
        self._n_opened = 0
        self._line: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._waiting = waiting
        self._one_at_a_time = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="desk", daemon=True)
        self._closed = self._ended = False
        self._in_hand: list[Command] = []
        self._unscrubbed = False
        self._pace = 0.0  # seconds per command in the last transaction
        self._whole: set[str] = set()  # cases that are needed from their beginning

    def open(self, on_death: Callable[[BaseException], None] = lambda error: None) -> "Desk":
        """Start the thread. on_death: called if it ends before `close`."""
        self._on_death = on_death
        self._thread.start()
        return self

    def close(self) -> None:
        """Finish what is in line, then stop."""
        self._closed = True
        self._line.put(None)
        if self._thread.is_alive():
            self._thread.join()

    @property
    def n_waiting(self) -> int:
        """Commands in line."""
        return self._line.qsize()

    @property
    def n_cached(self) -> int:
        """Cases in memory."""
        return len(self._cases)

    async def submit(
        self, act: Callable[[Transaction], Any], cases: tuple[str, ...] | None = (), site: str | None = None
    ) -> Any:
        """What `act` returns, once it is on disk."""
        return await self.enqueue(act, cases, site)

    def enqueue(
        self, act: Callable[[Transaction], Any], cases: tuple[str, ...] | None = (), site: str | None = None
    ) -> "asyncio.Future[Any]":
        """A future with what `act` returns, done once it is on disk."""
        answer = asyncio.get_running_loop().create_future()
        if self._closed:
            raise Unavailable(STOPPING)
        if self._line.qsize() >= self._waiting:
            wait = self._line.qsize() * self._pace
            raise Unavailable("Too many requests are waiting. Send the request again.", wait)
        self._line.put(Command(act, cases, site, answer))
        if self._ended:  # meanwhile: nobody else takes it out of the line
            self._refuse_line()
        return answer

    def run(self, commands: Sequence[Command]) -> None:
        """Decide and write some commands; each then has its result or its error."""
        with self._one_at_a_time:
            for group in _groups(commands):
                self._run_group(group)

    def read_whole(self, id: str) -> Case:
        """A case from its beginning, read beside the desk: what is done to it counts once a transaction adopts it."""
        with self.database.read(seconds=None) as connection:
            rows = records.case_rows(connection, [id])
            if not rows:
                raise NotFound(f"There is no case {id}.")
            followed = records.followed_of(connection, rows[0]["plan"])
            case = Case(rows[0]["number"], id, followed, rows[0]["label"], rows[0]["at"], rows[0]["site"])
            case.fold(records.events_after(connection, case.number, 0))
        return case

    def followed(self, connection: Connection, id: str) -> Followed:
        """A plan on record, from memory where it is there: plans never change."""
        if id not in self._plans:
            self._plans[id] = records.followed_of(connection, id)
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        self._plans.move_to_end(id)
        return self._plans[id]

    def _serve(self) -> None:
        try:
            self._work()
        except BaseException as error:  # whatever it is: those who wait are told, and the process is to stop
            self._closed = True
            self._on_death(error)
        finally:
            self._ended = True
            _refuse(self._in_hand, IN_HAND)
            self._refuse_line()

    def _work(self) -> None:
        expected, took = 1, 0.0
        while (first := self._next()) is not None:
            self._in_hand.append(first)
            self._gather(self._in_hand, expected, PATIENCE * took)
            began = time.monotonic()
            self.run(self._in_hand)
            expected, took = len(self._in_hand), time.monotonic() - began
            self._pace = took / expected
            _deliver(self._in_hand)
            self._in_hand = []

    def _refuse_line(self) -> None:
        waiting = []
        with suppress(queue.Empty):
            while True:
                waiting.append(self._line.get_nowait())
        _refuse([one for one in waiting if one is not None], STOPPING)

    def _next(self) -> Command | None:
        """The next in line. Until it comes, what was erased is cleared away as soon as nobody reads it any more."""
        while self._unscrubbed:
            try:
                return self._line.get(timeout=SCRUB_AGAIN)
            except queue.Empty:
                self._scrub()
        return self._line.get()

    def _scrub(self) -> None:
        with suppress(Unavailable):
            self._unscrubbed = not self.database.scrub()

    def _gather(self, commands: list[Command], expected: int, seconds: float) -> None:
        """Add what is in line. Those just answered often come back at once, so as many are waited for, for a moment."""
        until = time.monotonic() + seconds
        while len(commands) < MOST_TOGETHER:
            left = until - time.monotonic() if len(commands) < expected else 0.0
            try:
                following = self._line.get(timeout=left) if left > 0 else self._line.get_nowait()
            except queue.Empty:
                break
            if following is None:
                self._line.put(None)
                break
            commands.append(following)

    def _run_group(self, commands: Sequence[Command]) -> None:
        try:
            self._attempt(commands)
        except Unavailable as error:
            for command in commands:
                command.error = error
        except Exception as error:  # one of them stands in the way of the others
            if not (isinstance(error, _Undone) and len(commands) == 1):
                for command in commands:
                    self._run_alone(command)

    def _run_alone(self, command: Command) -> None:
        for _ in range(TRIES):
            try:
                return self._attempt([command])
            except Clash:
                command.error = Unavailable("Others are changing the same. Send the request again.")
            except Forgotten:
                self._whole.update(command.cases or ())
            except _Undone:
                return None
            except Exception as error:
                command.error = error
                return None
        return None

    def _attempt(self, commands: Sequence[Command]) -> None:
        ids = {id for command in commands for id in command.cases or ()}
        transaction = None
        try:
            with self.database.write() as connection:
                self._forget_what_may_be_lost()
                transaction = Transaction(self, connection)
                transaction.touched = self._current(connection, ids)
                for command in commands:
                    self._act(command, transaction)
                written = records.add_events(connection, transaction.touched.values())
                self._take_snapshots(connection, transaction.touched.values())
        except BaseException:
            for id in ids | (set() if transaction is None else set(transaction.touched)):
                self._forget(id)
            raise
        try:
            self._remember(transaction, ids, len(commands), written)
        except Exception as error:
            raise Broken from error

    def _remember(self, transaction: Transaction, ids: set[str], n_commands: int, n_events: int) -> None:
        """Bring what is in memory up to what is now on disk."""
        self.n_transactions, self.n_commands = self.n_transactions + 1, self.n_commands + n_commands
        self.n_events += n_events
        self._keep(transaction.touched)
        self._whole -= ids
        if transaction.erased or self._unscrubbed:
            self._unscrubbed = True
            self._scrub()

    def _act(self, command: Command, transaction: Transaction) -> None:
        """Run one command. If it fails after having changed something, the whole transaction is undone."""
        mine = [transaction.touched[id] for id in command.cases or () if id in transaction.touched]
        before = [len(case.new) for case in mine]
        limited(transaction.connection, command.site)
        try:
            command.result, command.error = command.act(transaction), None
        except (Clash, Forgotten):
            raise
        except Exception as error:
            command.error = error
            changed = command.cases is None or before != [len(case.new) for case in mine]
            if changed or not isinstance(error, Refused | InvalidInput):
                raise _Undone from error

    def _current(self, connection: Connection, ids: set[str]) -> dict[str, Case]:
        """The cases of these ids that exist, brought up to date."""
        known = {id: self._cases[id] for id in ids if id in self._cases}
        self._refresh(connection, known.values())
        cold = ids - known.keys()
        return {**known, **self._load(connection, cold)} if cold else known

    def _refresh(self, connection: Connection, known: Iterable[Case]) -> None:
        by_number = {case.number: case for case in known}
        for number, seq in records.last_seqs(connection, list(by_number)):
            case = by_number[number]
            if seq is not None and seq != case.seq:
                case.fold(records.events_after(connection, number, case.seq))

    def _load(self, connection: Connection, ids: set[str]) -> dict[str, Case]:
        found: dict[int, Case] = {}
        for row in records.case_rows(connection, ids):
            followed = self.followed(connection, row["plan"])
            found[row["number"]] = Case(row["number"], row["id"], followed, row["label"], row["at"], row["site"])
        whole = self._fold_ends(connection, found)
        if whole:
            for number, events in records.events_of(connection, whole):
                found[number].fold(events)
        return {case.id: case for case in found.values()}

    def _fold_ends(self, connection: Connection, found: dict[int, Case]) -> list[int]:
        """Fold what came after their snapshots into the cases that have one; the numbers of the others."""
        short = [number for number, case in found.items() if case.id not in self._whole]
        for number, (seq, content) in records.snapshots_of(connection, short).items() if short else ():
            case = found[number]
            if fill_from_snapshot(case, seq, content):
                try:
                    case.fold(records.events_after(connection, number, seq))
                except Forgotten:
                    found[number] = Case(number, case.id, case.followed, case.label, case.at, case.site)
        return [number for number, case in found.items() if case.seq == 0]

    def _take_snapshots(self, connection: Connection, touched: Iterable[Case]) -> None:
        for case in touched:
            played_again = any(KINDS[event.kind].plays_again for event in case.new)
            long = case.seq - case.snapshot_seq >= EVERY
            if not case.erased and (long or (played_again and case.seq >= EVERY)):
                records.put_snapshot(connection, case, snapshot_document(case))

    def _keep(self, touched: Mapping[str, Case]) -> None:
        for id, case in touched.items():
            self._forget(id)
            case.new.clear()
            if case.state == "open":  # the others are hardly ever asked about: they are read again when they are
                case.weight = len(case.session.rounds) + WEIGHT
                self._cases[id] = case
                self._rounds += case.weight
        while self._rounds > self.cached_rounds:
            self._forget(next(iter(self._cases)))

    def _forget_what_may_be_lost(self) -> None:
        """After a new connection, read everything anew: a standby that took over may lack the last transactions."""
        if self._n_opened != self.database.n_opened:
            self._n_opened = self.database.n_opened
            self._plans.clear()
            self._cases.clear()
            self._rounds = 0

    def _forget(self, id: str) -> None:
        if (case := self._cases.pop(id, None)) is not None:
            self._rounds -= case.weight


class _Undone(Exception):
    """A command failed after it had changed something."""


class Broken(BaseException):
    """Something failed after a commit: commands must not be tried again, and memory may not be what is on disk."""


def _groups(commands: Sequence[Command]) -> Iterator[list[Command]]:
    """Commands about cases together, every other one by itself, in order."""
    for together, group in groupby(commands, key=lambda command: command.cases is not None):
        if together:
            yield list(group)
        else:
            yield from ([command] for command in group)


def _deliver(commands: Iterable[Command]) -> None:
    """Hand the answers over to the event loops that wait for them, each woken once."""
    waiting: dict[asyncio.AbstractEventLoop, list[Command]] = {}
    for command in commands:
        if command.answer is not None:
            waiting.setdefault(command.answer.get_loop(), []).append(command)
    for loop, theirs in waiting.items():
        with suppress(RuntimeError):  # a loop that is gone has nobody waiting
            loop.call_soon_threadsafe(_settle, theirs)


def _refuse(commands: Sequence[Command], why: str) -> None:
    for command in commands:
        command.error = Unavailable(why)
    _deliver(commands)


def _settle(commands: Iterable[Command]) -> None:
    for command in commands:
        if command.answer is None or command.answer.done():
            continue  # whoever asked has hung up
        if command.error is not None:
            command.answer.set_exception(command.error)
        else:
            command.answer.set_result(command.result)
