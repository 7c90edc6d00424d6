"""Every statement over drafts of the studio.

A draft carries the number of its version. Whoever changes it says which version they saw: a change of an older one is
refused with a sentence, so that two people in the same draft lose nothing. Its files are deleted with it.
"""

import secrets
from collections.abc import Mapping
from typing import NamedTuple

import sqlalchemy as sa

from banditree.service.cases.case import utc_now
from banditree.service.problems import Conflict, NotFound
from banditree.service.store.files import add_file, delete_file
from banditree.service.store.schema import studies
from banditree.service.store.sites import n_of_site, seen, site_of
from banditree.service.store.trail import note_action
from banditree.service.studio.content import Content, Parts
from banditree.service.studio.splitting import Split

MOST_STUDIES = 500  # At most this many drafts of one site are on record.


class Study(NamedTuple):
    """A draft as it stands."""

    id: str
    name: str
    version: int
    content: Content
    at: str
    actor: str
    changed: str
    changed_by: str


def add_study(connection: sa.Connection, actor: str, name: str, content: Content, table: bytes | None) -> str:
    """Put a draft on record with the table that was brought; its id."""
    if n_of_site(connection, studies) >= MOST_STUDIES:
        raise Conflict(f"There are already {MOST_STUDIES} drafts. Delete some that are no longer needed.")
    content = with_table(connection, actor, content, table)
    id, now = secrets.token_hex(8), utc_now()
    row = {"id": id, "name": name, "version": 1, "content": content.model_dump_json()}
    who = {"at": now, "actor": actor, "changed": now, "changed_by": actor, "site": site_of(connection)}
    connection.execute(sa.insert(studies), {**row, **who})
    note_action(connection, actor, "add draft", id, None)
    return id


def find_study(connection: sa.Connection, id: str) -> Study:
    """The draft of an id."""
    columns = [studies.c[name] for name in Study._fields]
    row = connection.execute(sa.select(*columns).where(studies.c.id == id, seen(connection, studies))).first()
    if row is None:
        raise NotFound(f"There is no draft {id}.")
    return _study(row._asdict())


def list_studies(connection: sa.Connection) -> list[Study]:
    """The drafts, the latest changed first."""
    columns = [studies.c[name] for name in Study._fields]
    query = sa.select(*columns).where(seen(connection, studies)).order_by(studies.c.changed.desc())
    return [_study(row._asdict()) for row in connection.execute(query)]


def _study(row: Mapping[str, str]) -> Study:
    return Study(**{**row, "content": Content.model_validate_json(row["content"])})  # type: ignore[arg-type]


def change_study(connection: sa.Connection, actor: str, id: str, version: int, content: Content) -> None:
    """Write a draft as it is now; refused where somebody changed it since `version`."""
    before = find_study(connection, id)
    changes = {"content": content.model_dump_json(), "version": version + 1, "changed": utc_now(), "changed_by": actor}
    same = studies.c.id == id, studies.c.version == version
    if connection.execute(sa.update(studies).where(*same).values(changes)).rowcount == 0:
        raise Conflict(changed_meanwhile(before))
    for file in set(before.content.files) - set(content.files):
        delete_file(connection, actor, file)


def replace_table(connection: sa.Connection, actor: str, study: Study, content: Content, table: bytes | None) -> None:
    """Let a draft begin again with another table."""
    change_study(connection, actor, study.id, study.version, with_table(connection, actor, content, table))


def with_table(connection: sa.Connection, actor: str, content: Content, table: bytes | None) -> Content:
    """The content, with the table of its log on record."""
    if content.log is None or table is None:
        return content
    file = add_file(connection, actor, f"{content.log.file[-80:]}.parquet", table)
    return content.model_copy(update={"log": content.log.model_copy(update={"table": file})})


def save_with_parts(connection: sa.Connection, actor: str, study: Study, content: Content, parts: Split) -> None:
    """Write a draft whose log was split, with its two parts on record."""
    assert content.log is not None
    stem = content.log.file.rpartition(".")[0][-60:] or "log"
    learn = add_file(connection, actor, f"{stem}-learned-from.parquet", parts.learn)
    held = None if parts.held is None else add_file(connection, actor, f"{stem}-held-out.parquet", parts.held)
    both = Parts(learn=learn, held=held, n_learn=parts.n_learn, n_held=parts.n_held)
    change_study(connection, actor, study.id, study.version, content.model_copy(update={"parts": both}))


def save_with_held(connection: sa.Connection, actor: str, study: Study, content: Content, held: bytes | None) -> None:
    """Write a draft, with another held-out part if there is one."""
    if held is not None and content.parts is not None:
        file = add_file(connection, actor, "held-out.parquet", held)
        content = content.model_copy(update={"parts": content.parts.model_copy(update={"held": file})})
    change_study(connection, actor, study.id, study.version, content)


def changed_meanwhile(study: Study) -> str:
    """What somebody is told whose change came after somebody else's."""
    return (
        f"{study.changed_by} changed this draft since you opened it, so your change was not saved. Go back, look at "
        "what it is now, and make your change again."
    )


def delete_study(connection: sa.Connection, actor: str, id: str) -> None:
    """Remove a draft and its files; the collection and the plan that came of it stay."""
    study = find_study(connection, id)
    connection.execute(sa.delete(studies).where(studies.c.id == id))
    for file in study.content.files:
        delete_file(connection, actor, file)
    note_action(connection, actor, "delete draft", id, None)
