"""Every statement over collections, plans, cases and events; connections come from `Database`."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, Literal

import sqlalchemy as sa

from banditree.files.collections import CollectionFile, collection_document, collection_from_document
from banditree.files.documents import dump, parse
from banditree.files.plans import PlanFile, fingerprint, plan_from_document, plan_json
from banditree.plans.plan import Plan
from banditree.service.cases.case import Case, Followed, utc_now
from banditree.service.cases.events import Event, Renamed
from banditree.service.cases.following import policy_of
from banditree.service.problems import Conflict, NotFound, Refused, Unavailable
from banditree.service.store.schema import (
    DERIVED,
    cases,
    collections,
    events,
    files,
    jobs,
    plans,
    secrets,
    snapshots,
    splits,
    studies,
    users,
)
from banditree.service.store.seals import keeping_seal
from banditree.service.store.signing import REPLACED_BY, STATE, check_replaceable
from banditree.service.store.sites import seen, sees, site_of
from banditree.service.store.trail import cover, note_action
from banditree.tasks.collection import Collection

Row = sa.RowMapping
Kept = Literal["plans", "collections", "files"]
TABLES: dict[Kept, sa.Table] = {"plans": plans, "collections": collections, "files": files}
ROWS_TOGETHER = 20_000  # Long lists of events are read in groups of this many.
UNLISTED = ("document", "content", "gave_way_to", "proof")  # Lists omit what is long, and what `replaced_by` says.
MAY_BE_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
IDS = [table.c.id for table in (cases, collections, plans, splits, files, jobs, studies, secrets)] + [users.c.name]
IDS_TOGETHER = 500  # This many are looked up in one statement.
EVENT_COLUMNS = [events.c[name] for name in Event._fields]

_last_seq = sa.select(sa.func.max(events.c.seq)).where(events.c.case == cases.c.number).scalar_subquery()
LAST_SEQS = sa.select(cases.c.number, _last_seq).where(cases.c.number.in_(sa.bindparam("numbers", expanding=True)))
LAST_SEQ = sa.select(sa.func.max(events.c.seq)).where(events.c.case == sa.bindparam("number"))
CASES_BY_ID = sa.select(cases).where(cases.c.id.in_(sa.bindparam("ids", expanding=True)))
EVENTS_OF = (
    sa.select(events.c.case, *EVENT_COLUMNS)
    .where(events.c.case.in_(sa.bindparam("numbers", expanding=True)))
    .order_by(events.c.case, events.c.seq)
)
EVENTS_AFTER = (
    sa.select(*EVENT_COLUMNS)
    .where(events.c.case == sa.bindparam("number"), events.c.seq > sa.bindparam("after"))
    .order_by(events.c.seq)
)
ADD_EVENT = sa.insert(events)
SET_STATE = keeping_seal(
    sa.update(cases).where(cases.c.number == sa.bindparam("of")).values({name: sa.bindparam(name) for name in DERIVED})
)


def on_record(connection: sa.Connection, names: Iterable[str]) -> set[str]:
    """Which of these are ids of something on record, or names of users."""
    asked, found = [name for name in names if MAY_BE_ID.fullmatch(name)], set[str]()
    for start in range(0, len(asked), IDS_TOGETHER):
        some = asked[start : start + IDS_TOGETHER]
        found |= set(connection.execute(sa.union(*(sa.select(id).where(id.in_(some)) for id in IDS))).scalars())
    return found


def read_collection(document: Any) -> tuple[str, str]:
    """(id, text) of a collection that was given as its file."""
    collection = collection_from_document(parse(CollectionFile, document, "The collection"), "The collection")
    text = dump(collection_document(collection))
    return _digest(text)[:16], text


def read_plan(document: Any) -> tuple[str, Plan]:
    """(id, plan) of a plan that was given as its file."""
    plan = plan_from_document(parse(PlanFile, document, "The plan"), "The plan")
    return fingerprint(plan), plan


def add_collection(connection: sa.Connection, actor: str, name: str, id: str, text: str) -> str:
    """Put a collection on record; the same again keeps the first name."""
    _add_once(connection, collections, {"id": id, "name": name, "document": text}, actor)
    return id


def add_plan(
    connection: sa.Connection,
    actor: str,
    name: str,
    id: str,
    plan: Plan,
    collection: str | None,
    text: str | None = None,
    replaces: str | None = None,
) -> str:
    """Put a plan on record as a draft; the same again must come with the same collection.

    text: its file, where it is known. replaces: the plan whose place it is to take.
    """
    if collection is not None:
        _check_collection(plan, collection_of(connection, collection))
    check_replaceable(connection, id, replaces)
    if is_of_other_data(connection, id, collection):
        known = collection_id_of(connection, id)
        raise Conflict(f"Plan {id} is on record with collection {known}, and its cases count on that.")
    row = {"id": id, "name": name, "document": text or plan_json(plan), "collection": collection, "replaces": replaces}
    _add_once(connection, plans, row, actor)
    return id


def is_of_other_data(connection: sa.Connection, id: str, collection: str | None) -> bool:
    """Whether a plan is on record, with another collection than this one."""
    found = connection.execute(sa.select(plans.c.collection, plans.c.site).where(plans.c.id == id)).first()
    return found is not None and found[0] != collection and sees(connection, found[1])


def set_interval(connection: sa.Connection, actor: str, id: str, every: int | None) -> bool:
    """Set the days from one visit to the next for the cases of a plan; False if it was so before."""
    check_seen(connection, "plans", id)
    if connection.execute(sa.select(plans.c.every).where(plans.c.id == id)).scalar() == every:
        return False
    connection.execute(sa.update(plans).where(plans.c.id == id).values(every=every))
    note_action(connection, actor, "set interval", f"{id}: {every}", None)
    return True


def _check_collection(plan: Plan, collection: Collection) -> None:
    if plan.arms != collection.arms or plan.tasks != collection.tasks or plan.rewards != collection.rewards:
        raise Refused("The plan and the collection must have the same arms, tasks and kind of rewards.")


def _add_once(connection: sa.Connection, table: sa.Table, row: dict[str, Any], actor: str) -> None:
    what, id, mine = table.name[:-1], row["id"], site_of(connection)
    found = connection.execute(sa.select(table.c.site).where(table.c.id == id)).first()
    theirs = _site(connection, collections, row.get("collection"))
    if found is None:
        connection.execute(sa.insert(table), {**row, "at": utc_now(), "actor": actor, "site": mine or theirs})
        note_action(connection, actor, f"add {what}", id, None)
    elif not sees(connection, found[0]):
        raise Conflict(f"This {what} is on record for another site. Ask a user without a site to share it.")
    elif mine is None and found[0] is not None and theirs is None:
        connection.execute(sa.update(table).where(table.c.id == id).values(site=None))
        note_action(connection, actor, f"share {what}", id, None)


def collection_of(connection: sa.Connection, id: str) -> Collection:
    """The collection of an id."""
    text = document_of(connection, "collections", id)
    return collection_from_document(parse(CollectionFile, json.loads(text), id), id)


def followed_of(connection: sa.Connection, id: str) -> Followed:
    """The plan of an id with the policy that follows it."""
    plan = plan_from_document(parse(PlanFile, json.loads(document_of(connection, "plans", id)), id), id)
    known = collection_id_of(connection, id)
    collection = None if known is None else collection_of(connection, known)
    return Followed(id, plan, policy_of(plan, collection), collection)


def collection_id_of(connection: sa.Connection, plan: str) -> str | None:
    """The id of the collection that a plan was put on record with."""
    query = sa.select(plans.c.collection).where(plans.c.id == plan, seen(connection, plans))
    found: str | None = connection.execute(query).scalar()
    return found


def check_seen(connection: sa.Connection, what: Kept, id: str) -> None:
    """Refuse a plan, collection or file that is not there, or is another site's."""
    table = TABLES[what]
    if connection.execute(sa.select(table.c.id).where(table.c.id == id, seen(connection, table))).first() is None:
        raise NotFound(f"There is no {table.name[:-1]} {id}.")


def _site(connection: sa.Connection, table: sa.Table, id: str | None) -> str | None:
    found: str | None = connection.execute(sa.select(table.c.site).where(table.c.id == id)).scalar()
    return found


def document_of(connection: sa.Connection, what: Kept, id: str) -> str:
    """The file of a plan or collection, as text."""
    table = TABLES[what]
    text = connection.execute(sa.select(table.c.document).where(table.c.id == id, seen(connection, table))).scalar()
    if text is None:
        raise NotFound(f"There is no {table.name[:-1]} {id}.")
    if _digest(text)[: len(id)] != id:  # the id of a plan or collection is the hash of its content
        raise Unavailable(
            f"The content of {table.name[:-1]} {id} was changed behind the service's back, so nothing is told from it. "
            "Restore it from a backup, and see what else `banditree db audit` finds."
        )
    return str(text)


def documents(connection: sa.Connection, what: Kept) -> Sequence[Row]:
    """What there is of plans or collections or files, without their content, oldest first."""
    table = TABLES[what]
    columns: list[sa.ColumnElement[Any]] = [one for one in table.c if one.name not in UNLISTED]
    columns += [STATE, REPLACED_BY] if table is plans else []
    query = sa.select(*columns).where(seen(connection, table)).order_by(table.c.at, table.c.id)
    return connection.execute(query).mappings().all()


def plans_made_from(connection: sa.Connection, collection: str) -> Sequence[str]:
    """The ids of the plans that were put on record with a collection."""
    query = sa.select(plans.c.id).where(plans.c.collection == collection, seen(connection, plans))
    return connection.execute(query).scalars().all()


def add_case(
    connection: sa.Connection, actor: str, id: str, followed: Followed, label: str | None, split: str | None = None
) -> Case:
    """A new case on record. split: the one that gave it its plan."""
    site = site_of(connection) or _site(connection, plans, followed.id)
    row = {"id": id, "plan": followed.id, "label": label, "at": utc_now(), "actor": actor, "site": site}
    row |= {"split": split, "since": row["at"]}
    number = connection.execute(sa.insert(cases).returning(cases.c.number), row).scalar_one()
    return Case(number, id, followed, label, row["at"] or "", site)


def history(connection: sa.Connection, id: str, after: int, limit: int) -> list[Event]:
    """Some events of a case, in order."""
    rows = case_rows(connection, [id])
    if not rows:
        raise NotFound(f"There is no case {id}.")
    page = EVENTS_AFTER.limit(limit)
    return [Event(*row) for row in connection.execute(page, {"number": rows[0]["number"], "after": after})]


def last_events(connection: sa.Connection, id: str, n: int) -> list[Event]:
    """The last events of a case, the newest first."""
    rows = case_rows(connection, [id])
    if not rows:
        raise NotFound(f"There is no case {id}.")
    last = sa.select(*EVENT_COLUMNS).where(events.c.case == rows[0]["number"]).order_by(events.c.seq.desc()).limit(n)
    return [Event(*row) for row in connection.execute(last)]


def n_outcomes(connection: sa.Connection, **of: str) -> int:
    """How many outcomes are on record of the cases of a plan, or of a split."""
    told = sa.select(sa.func.sum(cases.c.rounds - cases.c.waiting)).where(seen(connection, cases)).filter_by(**of)
    return int(connection.execute(told).scalar() or 0)


def event_rows(
    connection: sa.Connection, columns: Sequence[str] = (), *, plan: str | None = None, split: str | None = None
) -> Iterator[list[Any]]:
    """Every event, ordered by case and number: id and plan of its case, the fields of `Event`, and columns of its case.

    plan, split: only of the cases of this plan, and of those that were given it in this split.
    """
    shown = [cases.c.id, cases.c.plan, *EVENT_COLUMNS, *(cases.c[name] for name in columns)]
    query = sa.select(*shown).join(cases, cases.c.number == events.c.case).where(seen(connection, cases))
    query = query.order_by(events.c.case, events.c.seq)
    if plan is not None:
        query = query.where(cases.c.plan == plan)
    if split is not None:
        query = query.where(cases.c.split == split)
    for row in connection.execution_options(yield_per=ROWS_TOGETHER).execute(query):
        yield list(row)


def events_after(connection: sa.Connection, number: int, after: int) -> list[Event]:
    """The events of a case that come after one of its events."""
    return [Event(*row) for row in connection.execute(EVENTS_AFTER, {"number": number, "after": after})]


def events_of(connection: sa.Connection, numbers: list[int]) -> Iterator[tuple[int, list[Event]]]:
    """(number of the case, its events) of some cases."""
    rows = connection.execute(EVENTS_OF, {"numbers": numbers})
    for number, of_case in groupby(rows, key=lambda row: int(row[0])):
        yield number, [Event(*row[1:]) for row in of_case]


def case_rows(connection: sa.Connection, ids: Iterable[str]) -> Sequence[Row]:
    """The rows of cases by id, without those that do not exist."""
    query = CASES_BY_ID.where(seen(connection, cases))
    return connection.execute(query, {"ids": list(ids)}).mappings().all()


def case_ids(connection: sa.Connection, numbers: Iterable[int]) -> dict[int, str]:
    """The ids of cases by their numbers, of those that exist and may be seen."""
    query = sa.select(cases.c.number, cases.c.id).where(cases.c.number.in_(list(numbers)), seen(connection, cases))
    return {number: id for number, id in connection.execute(query)}


def started_by(connection: sa.Connection, id: str) -> str:
    """Who started a case."""
    return str(case_rows(connection, [id])[0]["actor"])


def last_seqs(connection: sa.Connection, numbers: list[int]) -> Sequence[tuple[int, int | None]]:
    """(case, number of its last event) for some cases; the query for one is the cheaper one."""
    if len(numbers) == 1:
        return [(numbers[0], connection.execute(LAST_SEQ, {"number": numbers[0]}).scalar())]
    return [(number, seq) for number, seq in connection.execute(LAST_SEQS, {"numbers": numbers})] if numbers else []


def add_events(connection: sa.Connection, written: Iterable[Case]) -> int:
    """Write down what is new in some cases, in the order of the keys, so that servers cannot block each other."""
    cases_of = sorted(written, key=lambda case: case.number)
    rows = [{"case": case.number, **event._asdict()} for case in cases_of for event in case.new]
    if rows:
        cover(connection, rows, {case.number: (case.id, case.followed.id) for case in cases_of})
        connection.execute(ADD_EVENT, rows)
        connection.execute(SET_STATE, [state_of(case) for case in cases_of if case.new])
        for case in cases_of:
            if any(event.kind == Renamed.kind for event in case.new):
                connection.execute(sa.update(cases).where(cases.c.number == case.number).values(label=case.label))
    return len(rows)


def state_of(case: Case) -> dict[str, Any]:
    """What the row of a case says about its events."""
    if case.erased:
        nothing = {"rounds": 0, "waiting": 0, "rings": False, "finished": False}
        return {**dict.fromkeys(DERIVED), **nothing, "of": case.number, "state": case.state}
    n_rounds, n_open = len(case.session.rounds), len(case.session.open_rounds)
    known = {"of": case.number, "state": case.state, "rings": case.rings, "rounds": n_rounds}
    known["waiting"] = n_open if case.state == "open" else 0
    known["finished"] = n_rounds >= case.session.horizon and not n_open
    known |= {"gives": case.gives if case.state == "open" else None, "since": case.since, "due": case.due}
    return {**known, "owner": case.arranged.owner, "every": case.arranged.every}


def put_snapshot(connection: sa.Connection, case: Case, content: str) -> None:
    """Keep where a case stands, in place of where it stood before."""
    connection.execute(sa.delete(snapshots).where(snapshots.c.case == case.number))
    row = {"case": case.number, "seq": case.seq, "content": content, "hash": _digest(content)}
    connection.execute(sa.insert(snapshots), row)
    case.snapshot_seq = case.seq


def snapshots_of(connection: sa.Connection, numbers: list[int]) -> dict[int, tuple[int, str]]:
    """(number of the last event, content) of the snapshots that some cases have, without damaged ones."""
    query = sa.select(snapshots).where(snapshots.c.case.in_(numbers))
    rows = connection.execute(query)
    return {number: (seq, content) for number, seq, content, hash in rows if _digest(content) == hash}


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
