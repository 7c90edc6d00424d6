"""A plan in the field: what is on record of its cases, and the jobs that compare it with its promise and relearn."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import groupby
from typing import Any

from banditree.cases.table import Cases, Seen, table_of
from banditree.cases.values import day_of
from banditree.figures.svg import svg
from banditree.files.collections import collection_document
from banditree.files.documents import dump
from banditree.files.plans import fingerprint, plan_document
from banditree.languages.catalogue import codes
from banditree.monitoring.following import observe
from banditree.plans.words import in_language
from banditree.service.cases.case import Followed, utc_now
from banditree.service.cases.events import Event
from banditree.service.cases.exports import LABELS, folded_rounds
from banditree.service.jobs.messages import Reports
from banditree.service.problems import NotFound, Refused
from banditree.service.store import jobs, records
from banditree.service.store.database import Connection, Database
from banditree.service.store.signing import PlanState
from banditree.service.store.sites import limited, site_of
from banditree.service.store.trail import lines_of, note_action
from banditree.training.settings import RelearnSettings

NAN = float("nan")
N_FIELDS = 2 + len(Event._fields)  # A row of events has the case, its plan and the event; then columns of the case.
NEWS = 20  # A plan is monitored again every day, and whenever its outcomes have grown by one part in this many.
TOLD = ("sentence", "group", "noticed", "arm", "where", "direction")  # What pages say about an alarm, and which it is.
ANSWERED = "answer alarm"  # The action of a line of the trail that answers an alarm.
KEPT = 7  # What was found out about a plan's cases is kept for this many days.


def monitoring_of(connection: Connection, plan: str, by: str | None, site: str | None) -> dict[str, Any]:
    """The settings of the job that monitors a plan: those of the last one, if it is of today and still up to date."""
    records.check_seen(connection, "plans", plan)
    told = records.n_outcomes(connection, plan=plan)
    if not told:
        raise NotFound(f"Plan {plan} has no outcomes yet: there is nothing to monitor.")
    if records.collection_id_of(connection, plan) is None:
        raise Refused(f"Plan {plan} was put on record without its collection, so nothing says what it promised.")
    day = datetime.now(UTC).date().isoformat()
    return {"plan": plan, "by": by, "site": site, "told": rounded(told), "day": day}


def rounded(told: int) -> int:
    """A number of outcomes in steps of a twentieth, so that a busy plan is not monitored again at every look.

    >>> rounded(7), rounded(1234)
    (7, 1220)
    """
    step = max(told // NEWS, 1)
    return told // step * step


def open_alarms(connection: Connection) -> list[dict[str, Any]]:
    """The alarms that the last look at the cases of each plan found and nobody has answered; the latest first."""
    return [one for one in alarms_of(connection) if one["answer"] is None]


def alarms_of(connection: Connection, plan: str | None = None) -> list[dict[str, Any]]:
    """The alarms about all plans that were signed, or one of them, with the line of the trail that answered each."""
    lines = records.documents(connection, "plans")
    signed = [line["id"] for line in lines if line["state"] != PlanState.DRAFT and plan in (None, line["id"])]
    found = jobs.last_found(connection, "monitor", signed, {"site": site_of(connection), "by": None})
    answers = {str(line["subject"]).partition(" ")[0]: line for line in lines_of(connection, ANSWERED)}
    alarms = [{"plan": id, "key": alarm_key(id, one), **one} for id, of_plan in found.items() for one in of_plan]
    answered = [{**one, "answer": answers.get(one["key"])} for one in alarms]
    return sorted(answered, key=lambda one: one["noticed"], reverse=True)


def alarm_key(plan: str, alarm: Mapping[str, Any]) -> str:
    """By which an alarm is known again: the plan, what it is about, and the day it was noticed."""
    said = [plan, *(alarm.get(name) for name in ("group", "arm", "where", "direction", "noticed"))]
    return sha256(json.dumps(said).encode()).hexdigest()[:16]


def answer_alarm(connection: Connection, actor: str, plan: str, key: str, comment: str) -> bool:
    """Put on record what somebody says to an alarm; False if it was answered before."""
    found = next((one for one in alarms_of(connection, plan) if one["key"] == key), None)
    if found is None:
        raise NotFound(f"Plan {plan} has no alarm {key}.")
    if found["answer"] is not None:
        return False
    note_action(connection, actor, ANSWERED, f"{key} plan {plan}: {comment}", None)
    return True


def forget_old(connection: Connection, subject: str) -> None:
    """Remove what was found out about the cases of a plan or split a week ago; it can be computed again at any time."""
    before = utc_now(ago=timedelta(days=KEPT))
    jobs.forget_found(connection, subject, ("monitor", "comparison"), before)


def cases_of_plan(connection: Connection, plan: str, arms: tuple[str, ...]) -> Cases:
    """The cases of a plan with what is known about them now.

    Rounds that wait for their outcome, and erased cases, are not among them.
    """
    rounds: list[Seen] = []
    began: dict[str, float] = {}
    labels: dict[str, dict[str, str]] = {name: {} for name in LABELS}
    rows = records.event_rows(connection, ("at", *LABELS), plan=plan)
    for (case, _plan, at, *told_apart), of_case in groupby(rows, key=lambda row: (*row[:2], *row[N_FIELDS:])):
        for number, entry in folded_rounds(Event(*row[2:N_FIELDS]) for row in of_case).items():
            if "reward" in entry and "arm" in entry:
                value = NAN if entry["reward"] is None else entry["reward"]
                told = Seen(case, number, arms.index(entry["arm"]), value, day_of(entry["at"]), entry["overridden"])
                rounds.append(told)
                began[case] = day_of(at)
        for name, label in zip(LABELS, told_apart, strict=True):
            labels[name][case] = label or ""
    return table_of(rounds, arms, began=began, labels=labels)


def observed_of(connection: Connection, followed: Followed) -> Cases:
    """What is on record of a plan's cases."""
    return observe(followed.plan, cases_of_plan(connection, followed.id, followed.plan.arms))


def monitor(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """What a plan promised against what was observed: as data, as Markdown, and as charts."""
    from banditree.figures.monitoring import monitor_scenes
    from banditree.monitoring.monitor import monitor as monitor_cases
    from banditree.reports.monitor import (
        alarm_sentence,
        monitor_document,
        monitor_markdown,
        monitor_page,
        verdict,
    )

    with database.read(seconds=None) as whole:
        connection = limited(whole, settings["site"])
        followed = records.followed_of(connection, settings["plan"])
        observed = observed_of(connection, followed)
    assert followed.collection is not None
    found = monitor_cases(followed.plan, followed.collection, observed, by=settings["by"])
    plan = followed.plan
    charts = [svg(scene, background=None) for scene in monitor_scenes(plan, found)]
    document = monitor_document(plan, found)
    read_in = {code: in_language(plan, code) for code in codes()}
    alarms = [{code: alarm_sentence(said, found, one) for code, said in read_in.items()} for one in found.alarms]
    for alarm, said in zip(document["alarms"], alarms, strict=True):
        reports.found({**{name: alarm[name] for name in TOLD}, "said": said})
    return {
        "document": document,
        "markdown": monitor_markdown(plan, found),
        "tables": {code: monitor_page(said, found) for code, said in read_in.items()},
        "alarms": alarms,
        "verdict": {code: verdict(said, found) for code, said in read_in.items()},
        "charts": charts,
    }


def relearn(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """A new collection from the one of a plan and the cases of all plans made from it, and the plan that may follow."""
    from banditree.evaluation.succession import judge_succession
    from banditree.reports.relearn import relearned_document, relearned_text, succeed, succession_text
    from banditree.training.relearning import case_statistics
    from banditree.training.relearning import relearn as relearn_from

    with database.read(seconds=None) as whole:
        connection = limited(whole, settings["site"])
        followed = records.followed_of(connection, settings["plan"])
        if followed.collection is None:
            raise Refused(f"Plan {followed.id} was put on record without its collection: there is nothing to add to.")
        arms, mine = followed.plan.arms, records.collection_id_of(connection, followed.id)
        assert mine is not None
        same = records.plans_made_from(connection, mine)
        cases = [cases_of_plan(connection, id, arms) for id in same]
    sums = case_statistics(cases, followed.collection.rewards, settings["since"])
    asked = RelearnSettings.among(settings)
    found = relearn_from(followed.collection, sums, **asked)
    judge = partial(judge_succession, followed.plan, followed.collection, sums, **asked)
    following = succeed(followed.plan, found.collection, reports, judge)
    return {
        "collection": json.loads(dump(collection_document(found.collection))),
        "plan": json.loads(dump(plan_document(following.new))),
        "id": fingerprint(following.new),
        "document": relearned_document(found, following),
        "text": "\n\n".join(parts := [relearned_text(found), succession_text(following)]),
        "parts": parts,
    }


def take_relearned(connection: Connection, actor: str, old: str, name: str, collection: Any, document: Any) -> str:
    """Put what was relearned on record: the collection, and the plan as a draft that replaces the old one; its id."""
    id, text = records.read_collection(collection)
    records.add_collection(connection, actor, name, id, text)
    plan_id, plan = records.read_plan(document)
    return records.add_plan(connection, actor, name, plan_id, plan, id, None, old)
