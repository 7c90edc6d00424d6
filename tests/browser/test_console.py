"""The console in a real browser: cases followed by mouse, by keyboard and on a phone, alone and together."""

import re

import pytest
from browsing import DESK, PHONE, assert_fits, complaints, fill_in, looking, press, tap, text, until
from running_service import SHORT_PLAN as PLAN
from running_service import in_thread, local

from banditree.service.demo import fill
from banditree.service.store.database import Database
from banditree.service.store.people import Role, add_user, hashed

pytestmark = pytest.mark.slow

SIZES = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
PASSWORD = "correct horse battery"
TESTS = PLAN.lines[0].counts.rounds


def current_box(window):
    return window.execute_script("return document.querySelector('[aria-current=step]').dataset.box")


@SIZES
def test_a_whole_case_by_mouse(size, chromium, console):
    api, _ = console
    address = str(api.http.base_url)
    with looking(chromium, size) as window:
        window.get(f"{address}/cases")
        press(window, "Start a case")
        fill_in(window, "form[method=post]", plan="Short", label=f"mouse {size[0]}")
        tap(window, "form[method=post] button.main")
        until(lambda: "Administer Alpha" in text(window, "#next"))
        id = window.current_url.split("/")[-1].split("#")[0]
        for number in range(1, TESTS + 1):
            until(lambda n=number: f"Round {n} of 10" in text(window, "#next"))
            assert current_box(window) == "1"
            assert_fits(window)
            press(window, "Relapse")
        until(lambda: "Administer Beta" in text(window, "#next"))
        assert "leaves one patient group: severe" in text(window, "#kinds")
        assert "above 99%" in text(window, "#kinds")
        assert current_box(window) == str(PLAN.lines[0].below)
        way = "return [...document.querySelectorAll('.rung.taken .box[id], .way.came')].map(n => n.dataset.box)"
        assert window.execute_script(way) == ["1", str(PLAN.lines[0].below)]
        for number in range(TESTS + 1, 11):
            until(lambda n=number: f"Round {n} of 10" in text(window, "#next"))
            press(window, "Recovery")
        until(lambda: "All rounds of this case have been used." in text(window, "#next"))
        press(window, "Close the case")
        press(window, "Close")
        until(lambda: "This case is closed." in text(window, "#next"))
    told = [event.reward for event in api.events(id) if event.kind == "told"]
    assert told == [0.0] * TESTS + [1.0] * (10 - TESTS)


def test_a_whole_case_by_keyboard(chromium, console):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    api, plan = console
    api.start(plan, id="keys")
    with looking(chromium) as window:
        window.get(f"{api.http.base_url}/cases?search=keys")

        def tab_to(label, most=40):
            for _ in range(most):
                ActionChains(window).send_keys(Keys.TAB).perform()
                now = window.switch_to.active_element
                name = (now.get_attribute("aria-label") or now.text or "").strip()
                if name.startswith(label):  # the box to choose a case names it too
                    return now
            raise AssertionError(f"{label} was not reached")

        def enter():
            ActionChains(window).send_keys(Keys.ENTER).perform()

        tab_to("keys")
        enter()
        until(lambda: "Ask what to do next." in text(window, "#next"))
        tab_to("What comes next?")
        enter()
        for number in range(1, 11):
            until(lambda n=number: f"Round {n} of 10" in text(window, "#next"))
            tab_to(f"Round {number}: recovery", most=3)  # one is put before the buttons, not before the navigation
            enter()
        until(lambda: "All rounds of this case have been used." in text(window, "#next"))
    assert api.case("keys").rounds == 10


def test_two_browsers_on_one_case(chromium, console, second_chromium):
    api, plan = console
    api.start(plan, id="shared")
    address = f"{api.http.base_url}/cases/shared"
    with looking(chromium) as mine, looking(second_chromium) as yours:
        mine.get(address)
        press(mine, "What comes next?")
        until(lambda: "Round 1 of 10" in text(mine, "#next"))
        yours.get(address)
        until(lambda: "Round 1 of 10" in text(yours, "#next"))
        press(yours, "Write a note")
        fill_in(yours, 'form[action$="/note"]', text="half a sentence")
        for number in range(1, TESTS + 1):
            press(mine, "Relapse")
            until(lambda n=number: f"Round {n + 1} of 10" in text(mine, "#next"))
        until(lambda: "Administer Beta" in text(yours, "#next"))
        until(lambda: "worked on this case" in text(yours, "#live"))
        assert current_box(yours) == current_box(mine) == str(PLAN.lines[0].below)
        assert f"Round {TESTS}: relapse." in text(yours, "#history")
        note = yours.find_element("css selector", "textarea[name=text]")
        assert note.get_attribute("value") == "half a sentence"  # what is being typed is left alone
        press(yours, "Recovery")
        until(lambda: f"Round {TESTS + 1}: recovery." in text(mine, "#history"))
    assert api.case("shared").rounds == TESTS + 2


def test_two_people_who_report_the_same_round_differently(chromium, console):
    api, plan = console
    api.start(plan, id="race")
    api.ask("race")
    with looking(chromium) as window:
        window.get(f"{api.http.base_url}/cases/race")
        window.execute_script("for (let i = 1; i < 9999; i++) clearTimeout(i)")  # a page that has not followed yet
        api.tell("race", 1, 1)
        press(window, "Relapse")
        until(lambda: "That did not work" in text(window))
        assert "already told" in text(window)
        press(window, "Go back")
        until(lambda: "Where it stands" in text(window))
        assert "1 recovery, 0 relapses" in text(window, "#stand")
        refused = window.get_log("browser")  # the browser itself notes that the answer was a 409
        assert [entry for entry in refused if "409" not in entry["message"]] == []


def test_an_override_and_a_correction(chromium, console):
    api, plan = console
    api.start(plan, id="strayed")
    api.ask("strayed")
    with looking(chromium, PHONE) as window:
        window.get(f"{api.http.base_url}/cases/strayed")
        press(window, "Give a different treatment")
        fill_in(window, 'form[action$="/override"]', arm="Beta", reason="allergic to Alpha")
        press(window, "Override")
        until(lambda: "in place of the plan's treatment" in text(window, "#next"))
        assert "not as planned" in text(window, "#headline")
        assert "Beta" in text(window, "#next")
        press(window, "Recovery")
        until(lambda: "Round 2 of 10" in text(window, "#next"))
        assert "0 recoveries, 0 relapses" in text(window, "#stand")  # recorded, not tallied
        press(window, "Recovery")
        until(lambda: "1 recovery, 0 relapses" in text(window, "#stand"))
        press(window, "Correct a report")
        fill_in(window, 'form[action$="/correct"]', reward="relapse", reason="the wrong button")
        press(window, "Correct")
        until(lambda: "0 recoveries, 1 relapse" in text(window, "#stand"))
        history = text(window, "#history")
        assert "Round 2 corrected: it was relapse. Reason: the wrong button" in history
        assert "Round 2: recovery." in history
        assert "Reason: allergic to Alpha" in history
        assert_fits(window)
    assert [event.kind for event in api.events("strayed")][-1] == "corrected"


def test_a_number_is_reported_and_the_alarm_is_seen(chromium, console):
    api, _ = console
    with looking(chromium) as window:
        window.get(f"{api.http.base_url}/cases/demo-9")
        before = api.case("demo-9").rounds
        window.find_element("css selector", "#next .tell input[name=reward]:not([type])").send_keys("31,5")
        press(window, "Report")
        until(lambda: f"Round {before + 1} of" in text(window, "#next"))
        assert f"Round {before}: 31.5." in text(window, "#history")
        window.get(f"{api.http.base_url}/cases/demo-6")
        assert "Alarm. The evidence fits none of the 5 patient groups" in text(window, "#headline")


def test_without_scripts(chromium, console):
    api, plan = console
    api.start(plan, id="plain")
    with looking(chromium, PHONE) as window:
        window.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            window.get(f"{api.http.base_url}/cases/plain")
            window.find_element("css selector", ".ask > button").click()
            until(lambda: "Round 1 of 10" in text(window, "#next"))
            window.find_element("css selector", ".tell .good").click()
            until(lambda: "Round 2 of 10" in text(window, "#next"))
            assert " UTC" in text(window, "#history")
            assert window.find_elements("css selector", ".here")
        finally:
            window.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert api.case("plain").rounds == 2


def test_times_are_those_of_the_reader(chromium, console):
    api, _ = console
    with looking(chromium) as window:
        try:
            shown = []
            for zone in ("Asia/Tokyo", "America/Lima"):
                window.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": zone})
                window.get(f"{api.http.base_url}/cases/demo-1")
                shown.append(text(window, "#headline time"))
                utc = window.find_element("css selector", "#headline time").get_attribute("datetime")
                expected = window.execute_script(
                    "return new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'short', "
                    f"timeZone: '{zone}'}}).format(new Date('{utc}'))"
                )
                assert shown[-1] == expected
            assert shown[0] != shown[1]
        finally:
            window.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_printing_a_case_leaves_the_forms_out(chromium, console):
    api, _ = console
    with looking(chromium) as window:
        window.get(f"{api.http.base_url}/cases/demo-3")
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert not window.find_element("css selector", "#next form").is_displayed()
        assert not window.find_element("css selector", ".top").is_displayed()
        assert window.find_element("css selector", ".flow").is_displayed()
        assert window.find_element("css selector", "#history").is_displayed()


@SIZES
def test_a_draft_is_read_and_signed_and_a_case_moved(size, chromium, tmp_path):
    fill(local(tmp_path / "cases.db"))
    with in_thread(local(tmp_path / "cases.db")) as (_app, http), looking(chromium, size) as window:
        window.get(f"{http.base_url}/")
        window.get(window.find_element("css selector", 'a[href$="/sign"]').get_attribute("href"))
        until(lambda: "What changes from Clinic, protocol" in text(window))
        assert "no longer: 2. Give D for as long as the score (+1/-3) stays above -5. Then: next line." in text(window)
        if "is being worked out" in text(window):  # nothing is signed before what it loses is on the page
            assert not window.find_elements("css selector", "textarea[name=comment]")
        until(lambda: "loses" in text(window) and window.find_elements("css selector", "textarea[name=comment]"))
        assert not re.search(r"reading load|regret|mTS", text(window))
        assert complaints(window) == []
        assert_fits(window)
        fill_in(window, 'form[method="post"]', comment="Seen by two of us.")
        press(window, "Sign")
        until(lambda: "Seen by two of us." in text(window))
        window.get(f"{http.base_url}/cases/demo-2")
        press(window, "Move it to the new plan")
        press(window, "Move this case")
        until(lambda: window.current_url.split("#")[0].endswith("/cases/demo-2-v2"))
        assert "Moved from case demo-2" in text(window)


def test_the_page_of_a_job_follows_it(chromium, console):
    api, _ = console
    known = api.http.get("/api/v1/collections").json()["data"][0]["id"]
    with looking(chromium, PHONE) as window:
        job = api.add_job("search", collection=known, horizon=50, steps=10_000_000).id
        window.get(f"{api.http.base_url}/jobs/{job}")
        until(lambda: "plans of at most" in text(window, "#status"))
        press(window, "Stop with the best so far")
        until(lambda: "The one that loses least, in words:" in text(window))


def paths(api):
    clinic, careful, shop, draft, *_ = (line["id"] for line in api.http.get("/api/v1/plans").json()["data"])
    known = [line["id"] for line in api.http.get("/api/v1/collections").json()["data"]]
    return [
        *("/cases", "/cases/demo-2", "/cases/demo-6", "/cases/demo-9", "/cases/demo-7", "/cases?state=erased"),
        *("/", "/jobs", f"/plans/{draft}/sign", f"/plans/{draft}", f"/jobs/{search_of(api, known[0])}"),
        *("/plans", f"/plans/{clinic}", f"/plans/{clinic}/compare?other={careful}", f"/plans/{shop}"),
        *(f"/plans/{clinic}/split", f"/plans/{clinic}/field", "/help", "/studio", "/cases/nobody", "/login"),
        *("/collections", f"/collections/{known[0]}", f"/collections/{known[1]}", "/tokens", "/users", "/audit"),
    ]


def search_of(api, collection):
    """The id of a small search that is done."""
    job = api.add_job("search", collection=collection, horizon=20, lines=1, steps=10)
    assert api.wait(job.id).problem is None
    return job.id


@pytest.mark.parametrize(("size", "dark"), [(PHONE, False), (DESK, True)], ids=["phone, light", "desk, dark"])
def test_every_page_is_accessible_and_fits(dark, size, chromium, console):
    api, _ = console
    with looking(chromium, size, dark) as window:
        for path in paths(api):
            window.get(f"{api.http.base_url}{path}")
            window.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert_fits(window)
            assert complaints(window) == [], path
        window.get_log("browser")  # the browser notes that an answer was 404


def test_log_in_and_roles(chromium, tmp_path):
    path = tmp_path / "cases.db"
    opened = Database(local(path))
    with opened.write() as connection:
        for name, role in {"ada": Role.ADMIN, "vic": Role.VIEWER}.items():
            add_user(connection, "test", name, role, hashed(PASSWORD))
    opened.close()
    settings = local(path, authentication=True, secure_cookies=False)
    with in_thread(settings) as (_app, http), looking(chromium, PHONE) as window:
        address = str(http.base_url)

        def log_in(name, password):
            fill_in(window, "form", name=name, password=password)
            press(window, "Log in")

        window.get(f"{address}/users")
        assert window.current_url == f"{address}/login?next=/users"
        assert complaints(window) == []
        log_in("ada", "not the password")
        until(lambda: "The name or the password is wrong." in text(window))
        log_in("ada", PASSWORD)
        until(lambda: window.current_url == f"{address}/users")
        press(window, "Add a user")
        fill_in(window, 'form[action="/users"]', name="oli", role="operator", password=PASSWORD)
        press(window, "Add")
        until(lambda: "oli" in text(window))
        assert_fits(window)
        assert complaints(window) == []
        press(window, "Log out")
        until(lambda: "/login" in window.current_url)
        log_in("vic", PASSWORD)
        until(lambda: window.current_url == f"{address}/")
        assert "Nothing needs attention now." in text(window)
        window.get(f"{address}/cases")
        assert "Start a case" not in text(window)
        assert "Users" not in text(window, "header")
        window.get(f"{address}/users")
        assert "This needs the role admin" in text(window)
        codes = [entry["message"] for entry in window.get_log("browser")]
        # the browser itself notes that pages were refused
        assert [message for message in codes if "401" not in message and "403" not in message] == []
