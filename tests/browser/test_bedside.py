"""Where a plan meets a person: what is said is right, and what was reported by mistake can be taken back."""

import json
import re

import pytest
import sqlalchemy as sa
from browsing import DESK, PHONE, assert_fits, complaints, fill_in, looking, press, reading, tap, text, until
from running_service import SHORT_PLAN as PLAN
from running_service import TWO_GROUPS, client_of, in_thread, local

from banditree.policies.rounds import MISSING
from banditree.service.field.monitoring import ANSWERED
from banditree.service.pages import case_pages
from banditree.service.store import jobs, schema
from banditree.service.store.database import Database
from banditree.service.store.people import Role, add_user, hashed
from banditree.trees.tree import build_tree

pytestmark = pytest.mark.slow

SIZES = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
TESTS = PLAN.lines[0].counts.rounds
IN_VIEW = """
const box = document.querySelector(arguments[0]).getBoundingClientRect();
const top = document.elementFromPoint(box.left + 5, box.top + box.height / 2);
return box.top >= 0 && box.bottom <= innerHeight && document.querySelector(arguments[0]).contains(top);
"""


DARK = """
const all = [...document.querySelectorAll(".issue svg polygon")].slice(1).map((one) => one.getBBox());
const one = Math.min(...all.map((box) => box.width));
return all.reduce((sum, box) => sum + Math.round(box.width / one), 0);
"""


def in_view(window, selector):
    """Whether a person sees it without scrolling, and nothing lies over it."""
    return window.execute_script(IN_VIEW, selector)


def at_last_test(api, plan, id):
    """A case whose next relapse leads to Beta, and whose next recovery does not."""
    api.start(plan, id=id, label=f"bed {id}")
    api.ask(id)
    for number in range(1, TESTS):
        api.tell(id, number, 0, ask=1)


@SIZES
def test_a_corrected_typo_withdraws_what_it_led_to(size, chromium, console):
    api, plan = console
    id = f"typo-{size[0]}"
    at_last_test(api, plan, id)
    with looking(chromium, size) as window:
        window.get(f"{api.http.base_url}/cases/{id}")
        press(window, "Relapse")
        until(lambda: "Administer Beta" in text(window, "#next"))
        press(window, "Correct a report")
        fill_in(window, 'form[action$="/correct"]', reward="not known", reason="the wrong button")
        press(window, "Correct")
        until(lambda: "Changed: do not administer Beta (round" in text(window, "#next"))
        assert "Administer Alpha" in text(window, "#next")
        assert "administer Alpha" in text(window, "#stand").replace("Administer", "administer")
        assert f"Withdrawn: round {TESTS + 1}, administer Beta." in text(window, "#history")
        assert_fits(window)
        assert complaints(window) == []
        press(window, "Relapse")
        until(lambda: "Administer Beta" in text(window, "#next"))
        assert "Changed" not in text(window, "#next")


def test_what_was_given_already_stays(chromium, console):
    api, plan = console
    at_last_test(api, plan, "given")
    api.tell("given", TESTS, 0, ask=1)
    with looking(chromium, PHONE) as window:
        window.get(f"{api.http.base_url}/cases/given")
        press(window, "Correct a report")
        fill_in(window, 'form[action$="/correct"]', reward="not known", reason="the wrong button")
        tap(window, "input[name=given]")
        press(window, "Correct")
        until(lambda: "corrected" in text(window, "#stay"))
        assert "Administer Beta" in text(window, "#next")
        assert "Changed" not in text(window, "#next")


@SIZES
def test_the_name_and_what_was_saved_stay_in_view_with_undo(size, chromium, console):
    api, plan = console
    id = f"undo-{size[0]}"
    at_last_test(api, plan, id)
    before = api.case(id)
    with looking(chromium, size) as window:
        window.get(f"{api.http.base_url}/cases/{id}")
        press(window, "Relapse")
        until(lambda: "Administer Beta" in text(window, "#next"))
        assert text(window, "#stay h1") == f"bed {id} {id}"
        assert f"Saved. Round {TESTS}: relapse." in text(window, "#stay")
        for part in ("#stay h1", "#stay .saved p", "#stay button", "#next .say"):
            assert in_view(window, part), part
        window.execute_script("scrollTo(0, document.body.scrollHeight)")
        for part in ("#stay h1", "#stay .saved p", "#stay button"):
            assert in_view(window, part), part
        press(window, "Undo")
        until(lambda: "the report was undone" in text(window, "#stay"))
        assert "Administer Alpha" in text(window, "#next")
        assert f"Round {TESTS} of 10" in text(window, "#next")
        assert "Changed: do not administer Beta" in text(window, "#next")
        now = api.case(id)
        assert (now.rounds, now.open_rounds, now.arm, now.total) == (TESTS, [TESTS], "Alpha", before.total)
        assert not window.find_elements("css selector", "#stay button")  # what was undone is not undone again
        press(window, "Recovery")
        until(lambda: f"Saved. Round {TESTS}, reported again: recovery." in text(window, "#stay"))


@SIZES
def test_a_second_tap_asks_and_records_nothing(size, chromium, console, monkeypatch):
    api, plan = console
    id = f"twice-{size[0]}"
    api.start(plan, id=id)
    api.ask(id)
    with looking(chromium, size) as window:
        window.get(f"{api.http.base_url}/cases/{id}")
        monkeypatch.setattr(case_pages, "SOON", 600.0)
        press(window, "Relapse")
        until(lambda: "Round 2 of 10" in text(window, "#next"))
        press(window, "Relapse")
        until(lambda: "Was round 2 (Alpha) really: relapse?" in text(window, "#next"))
        assert "A moment ago: Round 1: relapse." in text(window, "#next")
        assert in_view(window, "#next a.button")
        assert (api.case(id).rounds, api.case(id).open_rounds) == (2, [2])
        assert_fits(window)
        assert complaints(window) == []
        press(window, "No, it was one tap too many")
        until(lambda: "What happened?" in text(window, "#next"))
        press(window, "Relapse")
        until(lambda: "Was round 2" in text(window, "#next"))
        press(window, "Yes, report round 2")
        until(lambda: "Round 3 of 10" in text(window, "#next"))
    assert [event.round for event in api.events(id) if event.kind == "told"] == [1, 2]


def test_a_page_that_shows_a_withdrawn_round_cannot_report_it(chromium, console):
    api, plan = console
    at_last_test(api, plan, "stale")
    api.tell("stale", TESTS, 0, ask=1)
    with looking(chromium, PHONE) as window:
        window.get(f"{api.http.base_url}/cases/stale")
        window.execute_script("for (let i = 1; i < 9999; i++) clearTimeout(i)")  # a page that has not followed yet
        api.correct("stale", TESTS, MISSING, "typed wrongly")
        api.ask("stale")
        press(window, "Recovery")
        until(lambda: f"Round {TESTS + 1} is Alpha now, not Beta." in text(window))
        assert "409" in str(window.get_log("browser"))
    assert api.case("stale").open_rounds == [TESTS + 1]


@SIZES
def test_late_outcomes_and_cases_closed_by_mistake(size, chromium, console):
    api, plan = console
    id = f"late-{size[0]}"
    api.start(plan, id=id)
    api.ask(id)
    api.tell(id, 1, 1, ask=1)
    with looking(chromium, size) as window:
        window.get(f"{api.http.base_url}/cases/{id}")
        press(window, "Close the case")
        press(window, "Close")
        until(lambda: "This case is closed." in text(window, "#next"))
        assert text(window, "#went") == "2 rounds: 1 recovery, 0 relapses, 1 outcome not known. Alpha from round 1 on."
        assert "Late outcome of Alpha" in text(window, "#next")
        assert_fits(window)
        assert complaints(window) == []
        press(window, "Relapse")
        until(lambda: "1 recovery, 1 relapse." in text(window, "#went"))
        assert api.case(id).state == "closed"
        press(window, "Reopen the case")
        fill_in(window, 'form[action$="/reopen"]', reason="closed by mistake")
        press(window, "Reopen")
        until(lambda: "Ask what to do next." in text(window, "#next"))
        assert "Reopened. Reason: closed by mistake" in text(window, "#history")


@SIZES
def test_whoever_made_a_plan_cannot_sign_it(size, chromium, tmp_path):
    opened, password = Database(local(tmp_path / "cases.db")), "correct horse battery"
    with opened.write() as connection:
        for name in ("ada", "bob"):
            add_user(connection, "test", name, Role.ADMIN, hashed(password))
    opened.close()
    settings = local(tmp_path / "cases.db", authentication=True, secure_cookies=False)
    with in_thread(settings) as (_app, http), looking(chromium, size) as window:
        answer = http.post("/api/v1/login", json={"name": "ada", "password": password})
        http.headers["x-csrf-token"] = answer.json()["data"]["csrf_token"]
        draft = client_of(http).add_plan(PLAN, "Draft")
        for name, may in (("ada", False), ("bob", True)):
            window.delete_all_cookies()
            window.get(f"{http.base_url}/plans/{draft}/sign")
            fill_in(window, "form", name=name, password=password)
            press(window, "Log in")
            until(lambda: "What is signed" in text(window))
            assert bool(window.find_elements("css selector", "textarea[name=comment]")) == may
            assert ("You made this plan, so somebody else must sign it." in text(window)) != may
            assert "This plan was not judged on cases that it was not made from." in text(window, ".verdict")
            assert_fits(window)
            assert complaints(window) == []
        fill_in(window, "form[action$='/sign']", comment="Read and agreed.")
        press(window, "Sign")
        until(lambda: "Signed by bob" in text(window))


ALARM = {"sentence": "Treatment Alpha gives recovery less often.", "group": None, "noticed": "2026-01-05"}
ALARM |= {"arm": "Alpha", "where": None, "direction": "less"}


@pytest.fixture
def alarmed(console):
    """The id of a plan with an alarm that was noticed long ago."""
    api, plan = console
    database = Database(local(api.path))
    given = {"plan": plan, "by": None, "site": None, "told": 1, "day": "2026-01-05"}
    with database.write() as connection:
        job = jobs.add_job(connection, "watch", "monitor", given, subject=plan, once=True, seconds=9, megabytes=99)
        done = {"state": "done", "found": json.dumps([ALARM])}
        connection.execute(sa.update(schema.jobs).where(schema.jobs.c.id == job).values(done))
    yield plan
    with database.write() as connection:
        connection.execute(sa.delete(schema.jobs).where(schema.jobs.c.id == job))
        connection.execute(sa.delete(schema.audit).where(schema.audit.c.action == ANSWERED))
    database.close()


@SIZES
def test_an_alarm_stays_until_somebody_answers_it(size, chromium, console, alarmed):
    address = str(console[0].http.base_url)
    with looking(chromium, size) as window:
        window.get(f"{address}/")
        assert ALARM["sentence"] in text(window)
        window.get(f"{address}/plans")
        assert "alarm" in text(window, f"a[href='/plans/{alarmed}'] .rings")
        window.get(f"{address}/plans/{alarmed}")
        assert ALARM["sentence"] in text(window, "#alarms .alarm")
        assert_fits(window)
        assert complaints(window) == []
        press(window, "Answer it")
        fill_in(window, "#alarms form", comment="A new batch; sent back")
        press(window, "Answer")
        until(lambda: "Answered by local" in text(window, "#alarms"))
        assert "A new batch; sent back" in text(window, "#alarms")
        for page in ("/", "/plans"):
            window.get(f"{address}{page}")
            assert ALARM["sentence"] not in text(window)
            assert not window.find_elements("css selector", f"a[href='/plans/{alarmed}'] .rings")


@SIZES
def test_the_worklist_says_what_to_give_since_when_until_when_and_whose(size, chromium, console):
    api, plan = console
    first, second = (f"twin-{size[0]}-{letter}" for letter in "ab")
    for id in (first, second):
        api.start(plan, id=id, label="bed 7")
        api.ask(id)
    api.arrange(second, owner="night shift", due="2026-01-05")
    with looking(chromium, size) as window:
        window.get(f"{api.http.base_url}/")
        row = text(window, f"a[href='/cases/{first}']")
        assert f"bed 7 {first}" in row
        assert "Alpha since " in row
        assert "local · Short · 1 round" in row
        assert "due" not in row
        late = text(window, "#worklist li:first-child")  # those due first
        assert f"bed 7 {second}" in late
        assert re.search(r"overdue since .*5.*2026", late)
        assert "night shift" in late
        fill_in(window, "form.filter", whose="night shift")
        press(window, "Show")
        until(lambda: "Under way: 1 case" in text(window))
        assert not window.find_elements("css selector", f"a[href='/cases/{first}']")
        assert "BEGIN:VEVENT" in api.http.get("/due.ics?whose=night shift").text
        assert_fits(window)
        assert complaints(window) == []
        api.end(second)
        api.tell(first, 1, 1)
        window.get(f"{api.http.base_url}/")
        assert "Ask what to do next. Last seen" in text(window, f"a[href='/cases/{first}']")
        assert not window.find_elements("css selector", f"a[href='/cases/{second}']")
        api.end(first)


@SIZES
def test_a_report_that_was_undone_is_not_on_the_worklist(size, chromium, console):
    api, plan = console
    id = f"listed-{size[0]}"
    at_last_test(api, plan, id)
    with looking(chromium, size) as window:
        window.get(f"{api.http.base_url}/cases/{id}")
        press(window, "Relapse")
        until(lambda: "Administer Beta" in text(window, "#next"))
        press(window, "Undo")
        until(lambda: "the report was undone" in text(window, "#stay"))
        window.get(f"{api.http.base_url}/")
        assert "Alpha since" in text(window, f"a[href='/cases/{id}']")
    api.end(id)


@SIZES
def test_labels_visits_and_owners_are_changed_one_by_one_and_in_bulk(size, chromium, console):
    api, plan = console
    ids = [f"bulk-{size[0]}-{letter}" for letter in "abc"]
    for id in ids:
        api.start(plan, id=id, label="bed 7")
    with looking(chromium, size) as window:
        window.get(f"{api.http.base_url}/cases/{ids[0]}")
        press(window, "Label, next visit, and who looks after it")
        fill_in(window, "#arrange form", label="bed 8", owner="ward 3", every="14")
        assert_fits(window)
        assert complaints(window) == []
        press(window, "Save")
        until(lambda: text(window, "#stay h1") == f"bed 8 {ids[0]}")
        until(lambda: re.search(r"due .*ward 3", text(window, "#arranged")))
        until(lambda: "Handed over to ward 3." in text(window, "#history"))
        window.get(f"{api.http.base_url}/cases?search=bulk-{size[0]}")
        for id in ids[1:]:
            tap(window, f"input[value='{id}']")
        press(window, "Change the chosen cases")
        fill_in(window, "#many", owner=f"ward {size[0]}")
        assert_fits(window)
        assert complaints(window) == []
        press(window, "Hand over")
        until(lambda: "2 cases were changed." in text(window))
    assert [one.id for one in api.cases(owner=f"ward {size[0]}")] == ids[1:]
    for id in ids:
        api.end(id)


@SIZES
def test_a_tap_after_the_log_in_has_ended_is_kept_and_sent_when_somebody_says_so(size, chromium, tmp_path):
    opened, password = Database(local(tmp_path / "cases.db")), "correct horse battery"
    with opened.write() as connection:
        add_user(connection, "test", "ada", Role.ADMIN, hashed(password))
    opened.close()
    settings = local(tmp_path / "cases.db", authentication=True, secure_cookies=False)
    with in_thread(settings) as (_app, http), looking(chromium, size) as window:
        answer = http.post("/api/v1/login", json={"name": "ada", "password": password})
        http.headers["x-csrf-token"] = answer.json()["data"]["csrf_token"]
        api = client_of(http)
        api.start(api.add_plan(PLAN, "Plan", sign="tested"), id="c")
        api.ask("c")
        window.get(f"{http.base_url}/login?next=/cases/c")
        fill_in(window, "form", name="ada", password=password)
        press(window, "Log in")
        until(lambda: "Round 1 of 10" in text(window, "#next"))
        window.execute_script("for (let i = 1; i < 9999; i++) clearTimeout(i)")
        window.delete_all_cookies()
        press(window, "Relapse")
        until(lambda: "Not saved. Your log-in had ended" in text(window))
        fill_in(window, "form", name="ada", password=password)
        press(window, "Log in")
        until(lambda: "Round 1 of 10" in text(window, "#next"))
        assert "told" not in [event.kind for event in api.events("c")]
        assert "Kept on this device: Round 1: relapse. The log-in had ended" in text(window, "#next .kept")
        assert_fits(window)
        assert complaints(window) == []
        press(window, "Send it now")
        until(lambda: "Round 2 of 10" in text(window, "#next"))
        assert not window.find_elements("css selector", ".kept")
        assert [event.reward for event in api.events("c") if event.kind == "told"] == [0.0]
        window.get_log("browser")


@SIZES
def test_a_case_is_followed_in_the_language_of_the_browser_or_another(size, chromium, console):
    api, plan = console
    id = f"sprache-{size[0]}"
    api.start(plan, id=id, label="Bett 7")
    address = str(api.http.base_url)
    with looking(chromium, size) as window, reading(window, "de-CH"):
        window.get(f"{address}/cases/{id}")
        press(window, "Was kommt als Nächstes?")
        until(lambda: "Runde 1 von 10. Was ist geschehen?" in text(window, "#next"))
        press(window, "Relapse")
        until(lambda: "Gespeichert. Runde 1: relapse." in text(window, "#stay"))
        assert re.search(r"begonnen \d+\.\d+\.20\d\d", text(window, "#headline"))
        assert "Next" not in text(window, "#next")
        for path in (f"/cases/{id}", "/", "/cases", "/help", f"/plans/{plan}"):
            window.get(f"{address}{path}")
            window.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert_fits(window)
            assert complaints(window) == [], path
        window.get(f"{address}/cases/{id}")
        press(window, "Español")
        until(lambda: "Ronda 2 de 10" in text(window, "#next"))
        assert window.execute_script("return document.documentElement.lang") == "es"
    api.end(id)


def test_a_card_says_which_version_it_is_who_signed_it_and_whether_it_is_old(chromium, tmp_path):
    import segno

    database = tmp_path / "cases.db"
    with in_thread(local(database, public_url="https://plans.clinic.example")) as (_app, http):
        api = client_of(http)
        old = api.add_plan(PLAN, "Clinic, spring", sign="tested")
        first = api.card(old, "html")
        new = api.add_plan(build_tree(TWO_GROUPS, 12), "Clinic, autumn", sign="tested", replaces=old)
        then = api.card(old, "html").decode()
        assert api.card(old).startswith(b"%PDF")
    (tmp_path / "card.html").write_bytes(first)
    for size in (PHONE, DESK):
        with looking(chromium, size) as window:
            window.get((tmp_path / "card.html").as_uri())
            said = text(window, ".issue")
            assert f"Clinic, spring, version {old}." in said
            assert "Patient or case, date:" in said
            assert re.search(r"Signed by local, \d+ \w+ 20\d\d\.", said)
            assert "This plan was not judged on cases that it was not made from." in text(window)
            drawn = window.execute_script(DARK)
            assert_fits(window)
    mark = segno.make(f"https://plans.clinic.example/plans/{old}", micro=False, error="m")
    assert drawn == sum(map(sum, mark.matrix))
    assert f"REPLACED by version {new}: not for new cases." in then
