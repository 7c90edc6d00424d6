"""What the lists say about each case: what to give, since when, when the next visit is due, and whose the case is."""

from datetime import UTC, date, datetime, timedelta

import pytest
from running_service import SHORT_PLAN, TWO_GROUPS, add_signed_plan, client_of, clinic_plan, do, local

from banditree.files.plans import fingerprint
from banditree.policies.rounds import MISSING
from banditree.service.cases.calendar import calendar_text
from banditree.service.cases.desk import Desk
from banditree.service.cases.snapshots import EVERY
from banditree.service.client import ServiceError
from banditree.service.store import audit, case_lists
from banditree.service.store.database import Database

N_TESTS = SHORT_PLAN.lines[0].counts.rounds
TODAY = datetime.now(UTC).date()


def day(n):
    """The day n days from now."""
    return (TODAY + timedelta(n)).isoformat()


@pytest.fixture(scope="module")
def api(service):
    return client_of(service[1])


@pytest.fixture(scope="module")
def plan(api):
    return api.add_plan(SHORT_PLAN, "Short", api.add_collection(TWO_GROUPS, "Two groups"), sign="tested")


def line(api, id):
    return next(one for one in api.cases() if one.id == id)


def before_beta(api, plan, id):
    """A case whose last relapse has led to Beta."""
    api.start(plan, id=id)
    api.ask(id)
    for number in range(1, N_TESTS + 1):
        api.tell(id, number, 0, ask=1)
    assert line(api, id).gives == "Beta"


def test_after_an_undo_the_list_says_what_the_plan_gives(api, plan, service):
    before_beta(api, plan, "undone")
    asked = line(api, "undone").since
    api.undo("undone", N_TESTS)
    now = line(api, "undone")
    assert (now.gives, now.waiting) == ("Alpha", 1)
    assert now.since < asked  # Alpha was asked for before Beta
    row = service[1].get("/").text.partition('href="/cases/undone"')[2].partition("</li>")[0]
    assert "<strong>Alpha</strong> since" in row
    assert "Beta" not in row


def test_after_a_correction_the_list_says_what_the_plan_gives(api, plan):
    before_beta(api, plan, "corrected")
    api.correct("corrected", N_TESTS, MISSING, "typed wrongly")
    assert line(api, "corrected").gives is None
    api.ask("corrected")
    assert line(api, "corrected").gives == "Alpha"
    before_beta(api, plan, "other")
    api.override("other", "Alpha", "no Beta left", N_TESTS + 1)
    assert line(api, "other").gives == "Alpha"


def test_a_visit_is_due_some_days_after_the_last_or_on_a_day_that_was_set(api, plan):
    api.start(plan, id="due")
    assert (line(api, "due").due, line(api, "due").gives) == (None, None)
    assert api.set_interval(plan, 7)
    assert not api.set_interval(plan, 7)
    assert line(api, "due").due == day(7)
    api.ask("due")
    assert api.arrange("due", every=3)
    assert line(api, "due").due == day(3)
    assert api.arrange("due", due=day(-1))
    assert (line(api, "due").due, api.case("due").every) == (day(-1), 3)
    assert [one.id for one in api.cases(state="due")] == ["due"]
    api.tell("due", 1, 1, ask=1)
    assert line(api, "due").due == day(3)  # the day was that of the visit that has been
    api.undo("due", 1)
    assert line(api, "due").due == day(-1)
    api.tell("due", 1, 1)
    assert line(api, "due").due == day(3)  # also while nobody has asked what comes next
    assert api.arrange("due", every=None)
    assert not api.arrange("due", every=None, due=None)
    assert line(api, "due").due == day(7)
    api.set_interval(plan, None)
    assert line(api, "due").due is None
    assert [event.kind for event in api.events("due") if event.kind == "scheduled"] == ["scheduled"] * 3


def test_labels_and_owners_change_and_the_history_says_so(api, plan):
    api.start(plan, id="mine", label="bed 1")
    assert (line(api, "mine").owner, line(api, "mine").label) == ("local", "bed 1")
    assert api.arrange("mine", label="bed 9", owner="night shift")
    assert not api.arrange("mine", label="bed 9")
    assert (line(api, "mine").owner, line(api, "mine").label) == ("night shift", "bed 9")
    assert [one.id for one in api.cases(owner="night shift")] == ["mine"]
    assert api.arrange("mine", owner=None, label=None)
    assert (line(api, "mine").owner, line(api, "mine").label) == ("local", None)
    for wrong in ({"every": 0}, {"every": 1.5}, {"due": "soon"}, {"label": ""}, {"colour": "red"}):
        with pytest.raises(ServiceError):
            api.arrange("mine", **wrong)
    assert len(api.events("mine")) == 4


def test_finished_and_closed_cases_leave_the_worklist(api, plan, service):
    database = service[0].state.desk.database

    def listed(owner=None):
        with database.read() as connection:
            return [one["id"] for one in case_lists.worklist(connection, owner)]

    api.start(plan, id="ends")
    assert "ends" in listed()
    api.arrange("ends", owner="ada")
    assert listed("ada") == ["ends"]
    for number in range(1, 11):
        api.ask("ends")
        api.tell("ends", number, 1)
    assert "ends" not in listed()
    assert line(api, "ends").finished
    api.start(plan, id="stays")
    api.end("stays")
    assert "stays" not in listed()
    api.reopen("stays", "by mistake")
    assert "stays" in listed()


def test_many_are_handed_over_and_moved_and_each_stands_on_its_own(api, plan, service):
    http, old = service[1], api.add_plan(clinic_plan(90), "Old", sign="x")
    for id in ("m1", "m2"):
        api.start(old, id=id)
    form = {"case": ["m1", "m2", "nobody"], "do": "hand", "owner": "ada"}
    answer = http.post("/cases/many", data=form)
    assert answer.status_code == 409
    assert "2 of 3 cases were changed. nobody: There is no case nobody." in answer.text
    assert "Nothing was changed" not in answer.text
    assert {line(api, id).owner for id in ("m1", "m2")} == {"ada"}
    new = api.add_plan(clinic_plan(80), "New", sign="x", replaces=old)
    api.arrange("m1", due=day(4), every=2)
    assert http.post("/cases/many", data={"case": ["m1", "m2"], "do": "move"}).status_code == 303
    moved = line(api, "m1-v2")
    assert (moved.plan, moved.owner, moved.due) == (new, "ada", day(4))
    assert line(api, "m1").state == line(api, "m2").state == "closed"
    assert http.post("/cases/many", data={"do": "move"}).status_code == 422
    assert http.post("/cases/many", data={"case": "m1-v2", "do": "hand"}).status_code == 422
    batch = {"arrangements": [{"case": "m1-v2", "owner": "bob"}, {"case": "nobody", "owner": "bob"}]}
    first, second = http.post("/api/v1/cases/arrange", json=batch).json()["data"]
    assert (first["data"], second["error"]["code"]) == ({"done": True}, "not_found")


def test_what_was_arranged_survives_a_snapshot_a_restart_and_the_audit_and_not_an_erasure(tmp_path):
    long, database = clinic_plan(400), Database(local(tmp_path / "cases.db"))

    def play(case):
        case.arrange("ada", owner="ward", every=5, due=day(9), label="bed 3")
        for number in range(1, EVERY):
            case.ask("ada", 1, None, None)
            if number < EVERY - 1:
                case.tell("ada", number, float(number % 2))

    def row():
        with database.read() as connection:
            assert audit.verify(connection).problems == []
            return case_lists.lines_of(connection, ["a"])[0]

    do(
        Desk(database),
        lambda now: add_signed_plan(now.connection, "t", "long", fingerprint(long), long, None),
        alone=True,
    )
    do(Desk(database), lambda now: play(now.start("ada", "a", fingerprint(long), None)), "a")
    before, restarted = row(), Desk(database)
    assert (before["owner"], before["due"], before["label"]) == ("ward", day(5), "bed 3")
    do(restarted, lambda now: now.case("a").note("ada", "again"), "a")  # from its snapshot
    assert row() == before
    do(restarted, lambda now: now.case("a").undo("ada", EVERY - 2), "a")  # from all its events
    assert row()["since"] < before["since"]
    do(restarted, lambda now: now.erase("ada", "a"), "a")
    blank = row()
    assert {blank[name] for name in ("gives", "since", "label", "due")} == {None}
    assert blank["owner"] == "ada"  # who started it
    database.close()


def test_a_calendar_file_is_read_back(api, plan, service):
    hostile = "bed 2\r\nEND:VCALENDAR; left, " + "ü" * 60
    api.start(plan, id="cal", label="bed 2; left, " + "ü" * 60)
    api.arrange("cal", due=day(-2), owner="cal owner")
    text = api.calendar("cal owner")
    assert text.count("BEGIN:VEVENT") == 1
    assert all(len(part.encode()) <= 75 for part in text.split("\r\n"))
    unfolded = text.replace("\r\n ", "")
    assert f"DTSTART;VALUE=DATE:{date.fromisoformat(day(-2)):%Y%m%d}" in unfolded
    assert f"SUMMARY:bed 2\\; left\\, {'ü' * 60} cal (overdue)" in unfolded
    assert f"URL:{service[1].base_url}".rstrip("/") in unfolded
    assert service[1].get("/due.ics", params={"whose": "cal owner"}).text.count("BEGIN:VEVENT") == 1
    visit = {"id": "x", "label": hostile, "gives": "A", "due": "2026-05-04", "owner": "a\nb"}
    assert calendar_text([visit], "https://x.example", "2026-05-01T00:00:00.0Z").count("\r\nEND:VCALENDAR") == 1
