"""Jobs: long work on record in the database, one queue for all servers, taken up again after a restart.

A job is what to do (a kind of `work.KINDS` and its settings, seed included), within which limits, how far it is, and
what came of it. Only the worker that holds a job writes to it, its result and its state in one transaction, so nothing
half-made is ever on record. The functions here are the statements; `worker` runs the work itself.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

import sqlalchemy as sa

from banditree.languages.language import message
from banditree.progress import Progress
from banditree.service.cases.case import MAX_NUMBER, utc_now
from banditree.service.problems import Conflict, NotFound
from banditree.service.store.schema import collections, files, jobs, plans
from banditree.service.store.seals import keeping_seal
from banditree.service.store.sites import seen, sees, site_of
from banditree.service.store.trail import note_action

MOST_TRIES = 2  # A job that was begun so often is called interrupted: it may be what ends its workers.
SILENCE = 20  # A worker without a sign of life for this many seconds is taken to be gone.
MOST_WAITING = 2_000  # With this many jobs in line, another one is refused.
MOST_EACH = 20  # This many jobs that one person asked for may wait or run.
MOST_PAGES = 50  # This many jobs that the pages of one person wait for may wait or run.
GIVEN_UP = timedelta(days=3)  # A message that nobody takes for this long is given up, and later ones are sent.
WATCH = "watch"  # Who has every signed plan monitored, however many there are.


MESSAGES = ("webhook", "mail")  # The kinds of the jobs that send messages.
PARSED = ("settings", "state", "progress", "result", "found")  # The fields of a job that are not columns as they are.


class State(StrEnum):
    """How a job stands. interrupted: its workers ended under it, again and again."""

    WAITING = message("waiting")
    RUNNING = message("running")
    DONE = message("done")
    FAILED = message("failed")
    CANCELLED = message("cancelled")
    INTERRUPTED = message("interrupted")

    @property
    def is_final(self) -> bool:
        """Whether nothing changes any more."""
        return self not in (State.WAITING, State.RUNNING)


class Lane(StrEnum):
    """Jobs that pages wait for, each computed once, and jobs that people ask for: neither waits for the other."""

    PAGES = "pages"
    ASKED = "asked"


IN_LANE = {Lane.PAGES: jobs.c.key.is_not(None), Lane.ASKED: jobs.c.key.is_(None)}


class Wish(StrEnum):
    """What was asked of a running job: end with the best so far, or end with nothing."""

    STOP = "stop"
    CANCEL = "cancel"


class Job(NamedTuple):
    """A job as it stands. found: JSON data of what it found on the way, which may grow as long as it runs.

    result: JSON data, of a job that is done. problem: a sentence, of one that failed.
    """

    number: int
    id: str
    kind: str
    subject: str | None
    settings: dict[str, Any]
    seconds: int
    megabytes: int
    state: State
    tries: int
    progress: Progress
    result: Any
    problem: str | None
    at: str
    actor: str
    began: str | None
    ended: str | None
    site: str | None
    found: list[dict[str, Any]]


def key_of(kind: str, settings: Mapping[str, Any]) -> str:
    """What the same work has in common, however often it is asked for."""
    return sha256(json.dumps([kind, dict(settings)], sort_keys=True).encode()).hexdigest()


def add_job(
    connection: sa.Connection,
    actor: str,
    kind: str,
    settings: Mapping[str, Any],
    *,
    seconds: int,
    megabytes: int,
    subject: str | None = None,
    once: bool = False,
) -> str:
    """Put a job in line; its id. subject: what it is about. once: where the same was asked before, that job's id."""
    key = key_of(kind, settings) if once else None
    if key is not None and (found := find_by_key(connection, key)) is not None:
        return found.id
    _check_room(connection, actor, key)
    id = secrets.token_hex(8)
    row = {"id": id, "kind": kind, "key": key, "subject": subject, "settings": json.dumps(dict(settings))}
    row |= {"seconds": seconds, "megabytes": megabytes, "at": utc_now(), "actor": actor}  # type: ignore[dict-item]
    row["site"] = _site(connection, settings, site_of(connection) if key is None else settings.get("site"))
    begun = {"state": State.WAITING.value, "tries": 0, "done": 0, "total": 0, "text": ""}
    connection.execute(sa.insert(jobs), {**row, **begun})
    note_action(connection, actor, "add job", id, None)
    return id


def _check_room(connection: sa.Connection, actor: str, key: str | None) -> None:
    waiting = sa.select(sa.func.count()).where(jobs.c.state == State.WAITING)
    if connection.execute(waiting).scalar_one() >= MOST_WAITING:
        raise Conflict(f"{MOST_WAITING} jobs are already waiting. Try again when some are done.")
    todo = jobs.c.state.in_((State.WAITING, State.RUNNING))
    most, lane = (MOST_EACH, Lane.ASKED) if key is None else (MOST_PAGES, Lane.PAGES)
    theirs = sa.select(sa.func.count()).where(todo, jobs.c.actor == actor, IN_LANE[lane])
    if actor != WATCH and connection.execute(theirs).scalar_one() >= most:
        raise Conflict(f"{most} of your jobs are already waiting or running. Try again when some are done.")


def find_job(connection: sa.Connection, id: str) -> Job:
    """The job of an id."""
    row = connection.execute(sa.select(jobs).where(jobs.c.id == id)).mappings().first()
    if row is None or not _seen(connection, _job(row)):
        raise NotFound(f"There is no job {id}.")
    return _job(row)


def _seen(connection: sa.Connection, job: Job) -> bool:
    """Whether a job, and the plan and collection that it is about, may be seen."""
    if site_of(connection) is None:
        return True
    if not sees(connection, job.site) or job.settings.get("site", site_of(connection)) != site_of(connection):
        return False  # what was computed over the cases of all sites is for those who see all of them
    for table, name in ((plans, "plan"), (collections, "collection")):
        id = job.settings.get(name)
        rows = sa.select(table.c.id).where(table.c.id == id, seen(connection, table))
        if id is not None and connection.execute(rows).first() is None:
            return False
    return True


def _site(connection: sa.Connection, settings: Mapping[str, Any], site: str | None) -> str | None:
    """The site of a job: that of the person who asks, or of what it is about, even after that was deleted."""
    for table, name in ((plans, "plan"), (collections, "collection"), (files, "file")):
        if site is None and (id := settings.get(name)) is not None:
            site = connection.execute(sa.select(table.c.site).where(table.c.id == id)).scalar()
    return site


def find_by_key(connection: sa.Connection, key: str) -> Job | None:
    """The job that was asked for once, if it was."""
    row = connection.execute(sa.select(jobs).where(jobs.c.key == key)).mappings().first()
    return None if row is None else _job(row)


def list_jobs(
    connection: sa.Connection, *, state: str | None = None, limit: int = 100, asked: bool = False
) -> list[Job]:
    """Jobs, the newest first, without what they found and their results. asked: only those that somebody asked for."""
    columns = [column for column in jobs.c if column.name not in ("result", "found")]
    nothing = (sa.null().label("result"), sa.null().label("found"))
    query = sa.select(*columns, *nothing).order_by(jobs.c.number.desc()).limit(limit)
    if state is not None:
        query = query.where(jobs.c.state == state)
    if asked:
        query = query.where(jobs.c.key.is_(None))
    found = [_job(row) for row in connection.execute(query).mappings().all()]
    return [job for job in found if _seen(connection, job)]


def newest(connection: sa.Connection, kind: str, subject: str) -> Job | None:
    """The last job of a kind about a subject, as far as it is; None if there was none."""
    query = sa.select(jobs).where(jobs.c.kind == kind, jobs.c.subject == subject).order_by(jobs.c.number.desc())
    row = connection.execute(query.limit(1)).mappings().first()
    return None if row is None else _job(row)


def last_found(
    connection: sa.Connection, kind: str, subjects: Sequence[str], settings: Mapping[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    """What the last job of a kind found about each of some subjects, of those that are done and have these settings."""
    done = jobs.c.kind == kind, jobs.c.state == State.DONE, jobs.c.subject.in_(subjects)
    rows = connection.execute(sa.select(jobs.c.number, jobs.c.subject, jobs.c.settings).where(*done))
    last: dict[str, int] = {}
    for number, subject, text in sorted(rows):
        if settings.items() <= json.loads(text).items():
            last[subject] = number
    found = sa.select(jobs.c.subject, jobs.c.found).where(jobs.c.number.in_(last.values()))
    return {subject: json.loads(text or "[]") for subject, text in connection.execute(found)}


def forget_found(connection: sa.Connection, subject: str, kinds: Sequence[str], before: str) -> None:
    """Remove what jobs of some kinds found out about a subject, and ended before a time."""
    old = jobs.c.kind.in_(kinds), jobs.c.subject == subject, jobs.c.ended < before
    connection.execute(sa.delete(jobs).where(*old))


def unfinished(connection: sa.Connection) -> set[Lane]:
    """The lanes in which there is something to do."""
    todo = jobs.c.state.in_((State.WAITING, State.RUNNING))
    found = connection.execute(sa.select(jobs.c.key.is_(None)).where(todo).distinct()).scalars()
    return {Lane.ASKED if asked else Lane.PAGES for asked in found}


def wish(connection: sa.Connection, actor: str, id: str, wanted: Wish) -> bool:
    """Ask a job to end; False if it has ended. One that waits is cancelled at once."""
    job = find_job(connection, id)
    if job.state.is_final:
        return False
    changes: dict[str, Any] = {"wish": wanted.value}
    if job.state is State.WAITING:
        changes |= {"state": State.CANCELLED.value, "ended": utc_now()}
    still = sa.update(jobs).where(jobs.c.number == job.number, jobs.c.state == job.state)
    changed = connection.execute(still.values(changes)).rowcount == 1
    note_action(connection, actor, f"{wanted.value} job", id, None)
    return changed


def try_again(connection: sa.Connection, actor: str, id: str) -> bool:
    """Put a job back in line that failed, was cancelled or interrupted; False if there is nothing to try again."""
    job = find_job(connection, id)
    if not job.state.is_final or job.state is State.DONE:
        return False
    fresh = {"state": State.WAITING.value, "tries": 0, "wish": None, "problem": None, "began": None, "ended": None}
    connection.execute(sa.update(jobs).where(jobs.c.number == job.number).values(**fresh, done=0, total=0, text=""))
    note_action(connection, actor, "try job again", id, None)
    return True


def claim(connection: sa.Connection, worker: str, lane: Lane | None = None) -> Job | None:
    """The next job of a lane, or of any, now this worker's; None if none waits.

    People take turns: it is the oldest job of the person whose last turn is longest ago. Messages go out in order.
    """
    earlier = jobs.alias()
    last_turn = sa.select(sa.func.max(earlier.c.began)).where(earlier.c.actor == jobs.c.actor).scalar_subquery()
    waiting = sa.select(jobs).where(jobs.c.state == State.WAITING, sa.true() if lane is None else IN_LANE[lane])
    sent_first = earlier.c.kind == jobs.c.kind, earlier.c.number < jobs.c.number, _not_through(earlier)
    blocked = sa.and_(jobs.c.kind.in_(MESSAGES), sa.select(earlier.c.number).where(*sent_first).exists())
    waiting = waiting.where(sa.not_(blocked))
    fair = waiting.order_by(sa.func.coalesce(last_turn, ""), jobs.c.number).limit(1)
    row = connection.execute(fair.with_for_update(skip_locked=True, of=jobs)).mappings().first()
    if row is None:
        return None
    now = utc_now()
    mine = {"state": State.RUNNING.value, "worker": worker, "beat": now, "began": now, "tries": row["tries"] + 1}
    mine["found"] = None
    connection.execute(keeping_seal(sa.update(jobs).where(jobs.c.number == row["number"]).values(mine)))
    return _job({**row, **mine})


def _not_through(job: Any) -> sa.ColumnElement[bool]:
    """Whether a message was not sent and is not given up."""
    left = job.c.state.in_((State.WAITING, State.RUNNING, State.FAILED, State.INTERRUPTED))
    return sa.and_(left, job.c.at >= utc_now(ago=GIVEN_UP))


def to_send_again(connection: sa.Connection, before: str) -> Sequence[str]:
    """The messages that are not given up and could not be sent, last tried before a time; the oldest first."""
    failed = jobs.c.state.in_((State.FAILED, State.INTERRUPTED)), jobs.c.ended < before
    query = sa.select(jobs.c.id).where(jobs.c.kind.in_(MESSAGES), *failed, _not_through(jobs)).order_by(jobs.c.number)
    return connection.execute(query).scalars().all()


def beat(
    connection: sa.Connection, number: int, worker: str, progress: Progress, found: Sequence[Any] | None = None
) -> Wish | None:
    """A sign of life with the progress so far; what is wished, or `CANCEL` where the job is no longer this worker's.

    found: what was found so far, where that has changed.
    """
    told = {"beat": utc_now(), "done": min(progress.done, MAX_NUMBER), "total": min(progress.total, MAX_NUMBER)}
    told |= {} if found is None else {"found": json.dumps(found)}
    held = sa.update(jobs).where(*_held(number, worker)).values(**told, best=progress.best, text=progress.text[:500])
    row = connection.execute(keeping_seal(held).returning(jobs.c.wish)).first()
    if row is None:
        return Wish.CANCEL
    return None if row[0] is None else Wish(row[0])


def finish(
    connection: sa.Connection,
    number: int,
    worker: str,
    state: State,
    *,
    result: str | None,
    problem: str | None,
    found: Sequence[Any] = (),
) -> bool:
    """Write down what came of a job; False where it is no longer this worker's, and nothing is written."""
    ended = {"state": state.value, "result": result, "problem": problem, "ended": utc_now()}
    ended |= {"found": json.dumps(found)} if found else {}
    return connection.execute(sa.update(jobs).where(*_held(number, worker)).values(ended)).rowcount == 1


def hand_back(connection: sa.Connection, gone: Sequence[str], *, told: bool = False) -> int:
    """Put the jobs of workers that are gone back in line; those that were tried too often are called interrupted.

    told: the workers were told to end, so that this was no try.
    """
    running = sa.select(jobs.c.number, jobs.c.tries).where(jobs.c.state == State.RUNNING, jobs.c.worker.in_(gone))
    rows = connection.execute(running.with_for_update(skip_locked=True)).all()
    for number, tries in rows:
        again: dict[str, Any] = {"state": State.WAITING.value, "worker": None, "tries": tries - told}
        if tries >= MOST_TRIES and not told:
            again = {"state": State.INTERRUPTED.value, "ended": utc_now()}
            again["problem"] = (
                f"It was begun {tries} times, and each time its worker ended before it did. Try a smaller one."
            )
        connection.execute(sa.update(jobs).where(jobs.c.number == number).values(again))
    return len(rows)


def holders(connection: sa.Connection) -> list[tuple[str, bool]]:
    """(worker, whether it has been silent for too long) of every worker that holds a job."""
    since = utc_now(ago=timedelta(seconds=SILENCE))
    query = sa.select(jobs.c.worker, sa.func.max(jobs.c.beat)).where(jobs.c.state == State.RUNNING)
    return [(worker, last < since) for worker, last in connection.execute(query.group_by(jobs.c.worker))]


def _held(number: int, worker: str) -> tuple[sa.ColumnElement[bool], ...]:
    return jobs.c.number == number, jobs.c.state == State.RUNNING, jobs.c.worker == worker


def _job(row: Mapping[str, Any] | sa.RowMapping) -> Job:
    known = {name: row[name] for name in Job._fields if name in row and name not in PARSED}
    return Job(
        **known,
        settings=json.loads(row["settings"]),
        state=State(row["state"]),
        progress=Progress(row["done"], row["total"], row["best"], row["text"]),
        result=None if row["result"] is None else json.loads(row["result"]),
        found=[] if row["found"] is None else json.loads(row["found"]),
    )
