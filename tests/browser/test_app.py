"""The app of a plan: one file that follows cases in a real browser with the network off, and decides as the session."""

import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from browsing import DESK, PHONE, assert_fits, complaints, fill_in, looking, press, tap, text, until
from example_plans import protocol
from running_service import SHORT_PLAN

from banditree import Collection, build_tree, certify, save_plan
from banditree.errors import InvalidInput
from banditree.figures.app import MOST_BYTES, app_html
from banditree.files.collections import save_collection
from banditree.files.proofs import save_proof
from banditree.files.sessions import load_session
from banditree.plans.words import vocabulary_from
from banditree.policies.rounds import MISSING
from banditree.policies.starting import start_session
from banditree.service.cases.case import Case, Followed
from banditree.service.cases.following import policy_of

pytestmark = pytest.mark.slow

SIZES = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
UNHURRIED = "Date.now = () => 4e12;"  # long after whatever was reported
sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))


@pytest.fixture
def offline(chromium):
    """The browser without a network, and without what other tests kept."""
    chromium.execute_cdp_cmd("Network.enable", {})
    gone = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    chromium.execute_cdp_cmd("Network.emulateNetworkConditions", gone)
    yield chromium
    back = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    chromium.execute_cdp_cmd("Network.emulateNetworkConditions", back)
    chromium.execute_script("localStorage.clear()")


@pytest.fixture
def unhurried(offline):
    known = offline.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": UNHURRIED})
    yield offline
    offline.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", known)


def opened(window, plan, tmp_path):
    (tmp_path / "plan.html").write_text(app_html(plan), encoding="utf-8")
    window.get(f"file://{tmp_path}/plan.html")
    window.execute_script("localStorage.clear()")
    window.get(f"file://{tmp_path}/plan.html")
    return window


def start(window, label, never=()):
    fill_in(window, "form", label=label)
    for arm in never:
        press(window, "Must never get") if arm == never[0] else None
        tap(window, f'input[name=never][value="{arm}"]')
    press(window, "Start")


def given(window):
    return [one.text for one in window.find_elements("css selector", ".say strong")]


def exported(window, tmp_path, label="Export this case"):
    """What is saved as a file, without a file: the content of the link that is clicked."""
    window.execute_script(
        "window.saved = null; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return 'data:,'; };"
    )
    press(window, label)
    content = until(lambda: window.execute_script("return window.saved"))
    (tmp_path / "saved.json").write_text(content)
    return tmp_path / "saved.json"


@SIZES
def test_a_case_is_followed_without_a_network_and_kept(size, offline, tmp_path):
    plan = SHORT_PLAN
    with looking(offline, size) as window:
        opened(window, plan, tmp_path)
        assert complaints(window) == []
        assert_fits(window)
        start(window, "bed 12")
        until(lambda: given(window) == ["Alpha"])
        first = window.find_element("xpath", "//button[.='Recovery']")
        window.execute_script("arguments[0].click(); arguments[0].click()", first)  # before the page has changed
        until(lambda: "Saved. Round 1: recovery." in text(window, ".stay"))
        assert text(window, "main ol").count("Round 1: recovery.") == 1
        press(window, "Relapse")  # within a moment: it asks
        assert "Was round 2 really: relapse?" in text(window)
        press(window, "No, one tap too many")
        assert "Round 2 of 10" in text(window)
        press(window, "Undo")
        until(lambda: "the report was undone" in text(window, ".stay"))
        assert "Round 1 of 10" in text(window)
        assert complaints(window) == []
        assert_fits(window)
        window.get(f"file://{tmp_path}/plan.html")
        assert "bed 12\nAdminister Alpha" in text(window, "ul.cases")
        assert "http" not in window.page_source.split("</style>")[1].replace("json-schema.org", "")
        assert window.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_a_correction_withdraws_what_it_led_to_and_notes_stay(unhurried, tmp_path):
    tests = SHORT_PLAN.lines[0].counts.rounds
    with looking(unhurried, PHONE) as window:
        opened(window, SHORT_PLAN, tmp_path)
        start(window, "typo")
        for _ in range(tests):
            press(window, "Relapse")
        until(lambda: given(window) == ["Beta"])
        press(window, "Correct a report")
        fill_in(window, "details[open] form", reward="not known", text="the wrong button")
        tap(window, "details[open] form button")
        until(lambda: f"Changed: do not administer Beta (round {tests + 1})" in text(window))
        press(window, "Write a note")
        fill_in(window, "details[open] form", text="phoned the ward")
        tap(window, "details[open] form button")
        until(lambda: "Note: phoned the ward" in text(window))
        press(window, "What comes next?")
        until(lambda: given(window) == ["Alpha"])
        path = exported(window, tmp_path)
        case = load_session(SHORT_PLAN, path)
        assert [entry.reward for entry in case.rounds] == [0.0] * (tests - 1) + [MISSING, None]
        kinds = [event["kind"] for event in json.loads(path.read_text())["events"]]
        assert kinds[-4:] == ["asked", "corrected", "noted", "asked"]


def test_a_passphrase_locks_what_is_kept(offline, tmp_path):
    with looking(offline, PHONE) as window:
        opened(window, SHORT_PLAN, tmp_path)
        start(window, "secret bed")
        press(window, "‹ All cases")
        press(window, "Lock with a passphrase")
        fill_in(window, "details[open] form", passphrase="correct horse")
        press(window, "Lock")
        until(lambda: window.execute_script("return Object.values(localStorage).join('')").count("salt") == 1)
        assert "secret" not in window.execute_script("return Object.values(localStorage).join('')")
        window.get(f"file://{tmp_path}/plan.html")
        assert "secret" not in text(window)
        fill_in(window, "form", passphrase="wrong horse")
        press(window, "Unlock")
        until(lambda: "That is not the passphrase." in text(window))
        fill_in(window, "form", passphrase="correct horse")
        press(window, "Unlock")
        until(lambda: "secret bed" in text(window))


def test_case_files_come_and_go_and_nothing_is_doubled(unhurried, tmp_path):
    with looking(unhurried, PHONE) as window:
        opened(window, SHORT_PLAN, tmp_path)
        start(window, "travelling")
        press(window, "Recovery")
        first = exported(window, tmp_path).read_text()
        press(window, "Recovery")
        second = exported(window, tmp_path).read_text()
        window.execute_script("localStorage.clear()")
        for name, content in (("first", first), ("second", second), ("other", first.replace('"plan":"', '"plan":"x'))):
            (tmp_path / f"{name}.json").write_text(content)
        window.get(f"file://{tmp_path}/plan.html")
        chosen = "input[type=file]"
        for name, said in (
            ("first", "1 new, 0 continued, 0 known"),
            ("second", "0 new, 1 continued, 0 known"),
            ("first", "0 new, 0 continued, 1 known"),
            ("other", "is a case of another plan"),
        ):
            window.find_element("css selector", chosen).send_keys(str(tmp_path / f"{name}.json"))
            until(lambda said=said: said in text(window))
        assert len(window.find_elements("css selector", "ul.cases li")) == 1


def test_its_numbers_are_checked_in_the_browser(offline, tmp_path):
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    plan, files = build_tree(two, horizon=400), [tmp_path / f"{name}.json" for name in ("plan", "collection", "proof")]
    save_plan(plan, files[0])
    save_collection(two, files[1])
    save_proof(plan, two, certify(plan, two), files[2], files[:2])
    with looking(offline, PHONE) as window:
        opened(window, plan, tmp_path)
        picker = window.find_elements("css selector", "input[type=file]")[1]

        def checked(says):
            window.execute_script("arguments[0].value = ''", picker)
            picker.send_keys("\n".join(map(str, files)))
            until(lambda: says in text(window))

        checked("Proven for severe, expected loss: at least")
        assert_fits(window)
        files[2].write_text(files[2].read_text().replace('"regret": ', '"regret": 1'))
        checked("Not proven. The proof was changed")
        files[0].write_text(files[0].read_text().replace("mild", "light"))
        checked("Not proven. These are files of another plan.")


def walked():
    from plans import plans

    wanted = ("score lines", "fixed numbers", "grades", "a page for", "pages, and what did harm", "a hand-over to one")
    return [(about, plan) for about, plan in plans() if about.startswith(wanted)]


def first_astray(plan, session):
    """The first open round that the plan would not give any more, as the service has it."""
    case = Case(0, "case", Followed("", plan, policy_of(plan, None)), None, "", None)
    case.session = session
    return case._first_astray()


@pytest.mark.parametrize(("about", "plan"), walked(), ids=lambda given: given if isinstance(given, str) else "")
def test_it_decides_as_the_session(about, plan, unhurried, tmp_path):
    rng, words = random.Random(about), plan.vocabulary
    names = {value: name for value, name in plan.rewards.outcomes(words.success, words.failure)}
    never = ["A"] if plan.pages else []
    with looking(unhurried, DESK) as window:
        opened(window, plan, tmp_path)
        start(window, "case", never)
        case = start_session(plan, without=never)
        case.ask()
        for _ in range(14):
            assert given(window) == [case.arms[case.rounds[n - 1].arm] for n in case.open_rounds]
            if rng.random() < 0.2:
                press(window, "Another round before the outcome is known")
                press(window, "Go on now")
                case.ask(wait=False)
                continue
            if not case.open_rounds:
                break
            round = rng.choice(case.open_rounds)
            harm = rng.random() < 0.2 if plan.on_harm else None
            if harm:
                tap(window, f'[data-harm="{round}"]')
            reward = rng.choice([*names, MISSING])
            label = names.get(reward, "The outcome will not be known")
            tap(window, f'[aria-label="Round {round}: {label}"]')
            case.tell(reward, round, harm=harm)
            if harm:
                del case.rounds[first_astray(plan, case) - 1 :]
            if not case.open_rounds:
                case.ask()
        path = exported(window, tmp_path)
        kept = load_session(plan, path)
        assert kept.snapshot() == case.snapshot()


def test_what_did_harm_is_not_given_in_a_round_that_is_open_already(unhurried, tmp_path):
    (plan,) = (plan for about, plan in walked() if about.startswith("pages, and what did harm"))
    with looking(unhurried, PHONE) as window:
        opened(window, plan, tmp_path)
        start(window, "two at once")
        press(window, "Another round before the outcome is known")
        press(window, "Go on now")
        until(lambda: given(window) == ["A", "A"])
        tap(window, '[data-harm="1"]')
        tap(window, ".step .good")
        until(lambda: given(window) == ["D"])
        assert "Changed: do not give A (round 2)" in text(window)
        press(window, "Undo")
        until(lambda: given(window) == ["A"])
        assert "Round 1 of 40" in text(window)


def test_what_cannot_be_kept_is_not_locked_away(offline, tmp_path):
    with looking(offline, PHONE) as window:
        opened(window, SHORT_PLAN, tmp_path)
        window.execute_script("Storage.prototype.setItem = () => { throw new Error('full'); }")
        start(window, "not kept")
        press(window, "‹ All cases")
        assert "not kept" in text(window, "ul.cases")
        assert "Lock with a passphrase" not in text(window)


def test_large_plans_are_refused_in_a_sentence():
    large = replace(protocol(), vocabulary=vocabulary_from({"success": "x" * 100_000}))
    with pytest.raises(InvalidInput, match="at most 300,000"):
        app_html(large)
    assert len(app_html(protocol()).encode()) < MOST_BYTES / 4


def test_it_installs_from_the_console_opens_without_a_network_and_its_cases_are_taken_up(chromium, console, tmp_path):
    api, plan = console
    url = api.http.base_url
    with looking(chromium, PHONE) as window:
        window.get(f"{url}/plans/{plan}")
        press(window, "App: follow it without a network")
        until(lambda: "Nothing leaves this device" in text(window))
        ready = "navigator.serviceWorker.ready.then(() => arguments[0](true))"
        assert window.execute_async_script(ready)
        link = window.find_element("css selector", "link[rel=manifest]")
        assert link.get_attribute("crossorigin") == "use-credentials"  # else a browser asks for it as a stranger
        manifest = window.execute_script("return document.querySelector('link[rel=manifest]').href")
        assert api.http.get(manifest).json()["start_url"] == f"/plans/{plan}/app"
        window.execute_cdp_cmd("Network.enable", {})
        gone = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        window.execute_cdp_cmd("Network.emulateNetworkConditions", gone)
        window.get(f"{url}/plans/{plan}/app")
        start(window, "bed 77")
        press(window, "Recovery")
        path = exported(window, tmp_path)
        logged = [line["message"] for line in window.get_log("browser")]
        assert [one for one in logged if "ERR_INTERNET_DISCONNECTED" not in one] == []
        back = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        window.execute_cdp_cmd("Network.emulateNetworkConditions", back)
        for _ in range(2):  # the same file again changes nothing
            window.get(f"{url}/cases")
            press(window, "Take up cases from files")
            window.find_element("css selector", "input[name=files]").send_keys(str(path))
            press(window, "Take up")
            until(lambda: "bed 77" in text(window, ".list"))
        (line,) = [one for one in api.http.get("/api/v1/cases", params={"search": "bed 77"}).json()["data"]]
        assert (line["rounds"], line["waiting"]) == (2, 1)
        assert complaints(window) == []
        assert_fits(window)
