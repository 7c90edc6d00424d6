"""Erasure: the registry of the places where a case's content can be, and how each of them is emptied.

What a person can write about a case is in its label and its events. Copies of that come to be elsewhere: in snapshots,
in jobs over cases, in files that hold exported cases, and in the drafts and jobs made from these. A column that is
neither in the registry nor among those that say nothing about a case fails a test.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from banditree.service.cases.case import Case
from banditree.service.store.answers import forget_answers
from banditree.service.store.files import delete_file
from banditree.service.store.schema import cases, events, files, jobs, snapshots
from banditree.service.store.studies import delete_study, list_studies
from banditree.service.store.trail import content_digest

REACHED = {
    "cases.label",
    "cases.gives",
    "cases.since",
    "cases.owner",
    "cases.every",
    "cases.due",
    "events.arm",
    "events.reward",
    "events.details",
    "snapshots.content",
    "jobs.result",
    "jobs.problem",
    "jobs.found",
    "jobs.text",
    "files.content",
    "studies.content",
    "answers.content",
}
OVER_CASES = ("monitor", "comparison", "relearn")  # The kinds of jobs that look at the cases on record.


def erase_content(connection: sa.Connection, actor: str, case: Case, held_by: Sequence[str]) -> None:
    """Remove the content of a case wherever it is, and keep its events. held_by: the files that hold the case."""
    _blank(connection, case)
    forget_answers(connection, case.id)
    split = sa.select(cases.c.split).where(cases.c.number == case.number).scalar_subquery()
    about = sa.or_(jobs.c.subject == case.followed.id, jobs.c.subject == split)
    # Those that run lose their job, so that what they saw before the erasure is not written after it.
    connection.execute(sa.delete(jobs).where(jobs.c.kind.in_(OVER_CASES), about))
    for study in list_studies(connection):
        if set(study.content.files) & set(held_by):
            delete_study(connection, actor, study.id)
    for id in connection.execute(sa.select(files.c.id).where(files.c.id.in_(held_by))).scalars().all():
        delete_file(connection, actor, id)
    for id in held_by:
        connection.execute(sa.delete(jobs).where(jobs.c.settings.contains(f'"{id}"', autoescape=True)))


def _blank(connection: sa.Connection, case: Case) -> None:
    mine = events.c.case == case.number
    one = sa.update(events).where(mine, events.c.seq == sa.bindparam("of")).values(proof=sa.bindparam("digest"))
    said = connection.execute(sa.select(events).where(mine)).mappings().all()
    connection.execute(one, [{"of": event["seq"], "digest": content_digest(event)} for event in said])
    nothing = {"arm": None, "reward": None, "details": None}
    connection.execute(sa.update(events).where(mine).values(nothing))
    connection.execute(sa.update(cases).where(cases.c.number == case.number).values(label=None))
    connection.execute(sa.delete(snapshots).where(snapshots.c.case == case.number))
