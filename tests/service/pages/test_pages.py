"""The pages as forms and answers, without a browser: what they do, and what they refuse."""

import re
from pathlib import Path

import numpy as np
import pytest
from boxes import Box, arrays_of, assemble
from figure_plans import made
from running_service import CLINIC, client_of, clinic_plan, in_thread, local

from banditree.certificates.certify import certify
from banditree.plans.plan import Form
from banditree.plans.words import amount, vocabulary_from
from banditree.protocols.build import build_plan
from banditree.reports.certify import certificate_document, certificate_report
from banditree.service.demo import clinic_protocol, fill
from banditree.tasks.changes import with_case_features
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear
from banditree.tasks.separation import least_separation
from banditree.trees.tree import build_tree

WORDS = vocabulary_from(
    {"arm": "treatment", "task": "patient group", "success": "recovery", "failure": "relapse", "give": "Administer"}
)


@pytest.fixture
def service(tmp_path):
    """A new open service: these tests count what is in it."""
    with in_thread(local(tmp_path / "cases.db")) as running:
        yield running


@pytest.fixture
def http(service):
    _, http = service
    http.headers["accept"] = "text/html"
    http.follow_redirects = True
    return http


@pytest.fixture
def case(http):
    """A case of a plan with its collection and words of its own."""
    api = client_of(http)
    known = api.add_collection(CLINIC, "clinic")
    plan = api.add_plan(build_tree(CLINIC, 100, vocabulary=WORDS), "clinic", known, sign="tested")
    assert "Administer <strong>A</strong>" in http.post("/cases", data={"plan": plan, "id": "p-1"}).text
    return "p-1"


def test_a_case_by_forms(http, case):
    api = client_of(http)
    page = http.post(f"/cases/{case}/tell", data={"round": "1", "reward": "1", "ask": "next"}).text
    assert "Round 2 of 100" in page
    assert "1 recovery, 0 relapses" in page
    assert api.case(case).open_rounds == [2]
    again = http.post(f"/cases/{case}/tell", data={"round": "1", "reward": "1", "ask": "next"})
    assert again.status_code == 200  # the same report again changes nothing
    page = http.post(f"/cases/{case}/override", data={"round": "2", "arm": "B", "reason": "A is <out>"}).text
    assert "not as planned" in page
    assert "Round 2: B in place of the plan&#39;s treatment. Reason: A is &lt;out&gt;" in page
    http.post(f"/cases/{case}/tell", data={"round": "2", "reward": "0", "ask": "next"})
    page = http.post(f"/cases/{case}/correct", data={"round": "1", "reward": "0", "reason": "typo"}).text
    assert "Round 1 corrected: it was relapse. Reason: typo" in page
    assert "0 recoveries, 1 relapse (1 of" in page
    assert "Note: felt better" in http.post(f"/cases/{case}/note", data={"text": "felt better"}).text
    page = http.post(f"/cases/{case}/tell", data={"round": "3", "reward": "missing", "ask": "next"}).text
    assert "Round 3: the outcome will not be known." in page
    assert "This case is closed." in http.post(f"/cases/{case}/close", data={}).text
    kinds = [event.kind for event in api.events(case)]
    assert kinds == [
        *("asked", "told", "asked", "overridden", "told", "asked", "corrected", "noted", "missing", "asked", "closed")
    ]
    assert http.post(f"/cases/{case}/erase", data={"again": "p-2"}).status_code == 422
    assert "This case was erased." in http.post(f"/cases/{case}/erase", data={"again": case}).text


def test_an_outcome_that_hardly_any_case_gives_is_asked_about_before_it_counts(http):
    api = client_of(http)
    tasks = Collection.gaussian([[30, 40], [45, 35]], sigma=4, arms=["A", "B"])
    plan = api.add_plan(build_tree(tasks, 100), "minutes", api.add_collection(tasks, "minutes"), sign="tested")
    http.post("/cases", data={"plan": plan, "id": "m-1"})
    page = http.post("/cases/m-1/tell", data={"round": "1", "reward": "315", "typed": "yes", "ask": "next"}).text
    assert "Outcomes from 10 to 65 are to be expected, and 315 is none." in page
    assert "Was round 1 really: 315?" in page
    assert api.case("m-1").open_rounds == [1]
    page = http.post("/cases/m-1/tell", data={"round": "1", "reward": "31,5", "ask": "next"}).text
    assert "Round 2 of 100" in page
    wrong = {"round": "1", "reward": "315", "reason": "typo"}
    assert "Is round 1 to be corrected to: 315?" in http.post("/cases/m-1/correct", data=wrong).text
    assert [event.kind for event in api.events("m-1")] == ["asked", "told", "asked"]
    http.post("/cases/m-1/correct", data={**wrong, "sure": "1"})
    assert "corrected" in [event.kind for event in api.events("m-1")]


def test_a_case_goes_on_without_an_outcome_and_says_what_that_costs(http):
    """The same sentence on the page, in the answers and where the case stands; the history says it too."""
    api = client_of(http)
    lines = [Box(0, low=1, points=(-2, 1), floor=3), Box(1, low=0, points=(-2, 1), floor=3)]
    plan = api.add_plan(
        assemble(lines, CLINIC, 50, form=Form.LINES, vocabulary=WORDS),
        "lines",
        api.add_collection(CLINIC, "clinic"),
        sign="tested",
    )
    page = http.post("/cases", data={"plan": plan, "id": "p-9"}).text
    assert "One more round of A without it costs nothing" in page  # one relapse is not enough
    page = http.post("/cases/p-9/ask", data={"n": "2", "wait": "no"}).text
    sentence = "2 outcomes are still awaited. One more round of A without them loses at most 0.57 recoveries more"
    assert sentence in page
    assert sentence in api.case("p-9").description
    assert [step.going_on is None for step in api.ask("p-9", 2)] == [True, False]
    assert sentence in api.ask("p-9")[0].going_on.message
    assert [step.round for step in api.ask("p-9", 3)] == [1, 2]  # the plan waits
    assert [step.round for step in api.ask("p-9", 3, wait=False)] == [1, 2, 3]
    assert "Round 3: administer A. Without waiting for 2 outcomes." in http.get("/cases/p-9").text
    for number in (1, 2, 3):
        api.tell("p-9", number, 0)
    assert (api.case("p-9").arm, api.case("p-9").off_plan_rounds) == ("B", [3])


def test_a_click_is_one_trip_to_the_desk_and_one_transaction(service, http, case):
    desk = service[0].state.desk
    http.follow_redirects = False
    before = (desk.n_commands, desk.n_events)
    http.post(f"/cases/{case}/tell", data={"round": "1", "reward": "1", "ask": "next"})
    assert (desk.n_commands - before[0], desk.n_events - before[1]) == (1, 2)
    before = (desk.n_commands, desk.n_events)
    http.post("/cases", data={"plan": client_of(http).case(case).plan, "id": "p-2"})
    assert (desk.n_commands - before[0], desk.n_events - before[1]) == (2, 1)  # the look at the case is the other one


def test_the_case_page_says_how_likely_each_task_is(http, case):
    page = http.post(f"/cases/{case}/tell", data={"round": "1", "reward": "1", "ask": "next"}).text
    assert re.findall(r'<meter [^>]*value="([^"]*)" aria-label="Chance of (\w+)"', page) == [
        ("0.9000", "mild"),
        ("0.1000", "severe"),
    ]
    outlook = http.get(f"/api/v1/cases/{case}/outlook").json()["data"]
    assert outlook["path"] == [1]
    assert [one["chance"] for one in outlook["chances"]] == pytest.approx([0.9, 0.1])


def test_the_outlook_follows_the_case_to_its_end(http, case):
    api = client_of(http)
    plan = build_tree(CLINIC, 100, vocabulary=WORDS)
    n = int(arrays_of(plan).pulls[0])
    for number in range(1, n + 1):
        api.tell(case, number, 1, ask=1)
    outlook = http.get(f"/api/v1/cases/{case}/outlook").json()["data"]
    assert outlook["path"] == [1, int(arrays_of(plan).high[0]) + 1]
    likelihood = np.array([0.9**n, 0.1**n])
    assert [one["chance"] for one in outlook["chances"]] == pytest.approx((likelihood / likelihood.sum()).tolist())
    page = http.get(f"/cases/{case}").text
    assert re.search(r'<li class="way end came here"', page)
    assert page.count('aria-current="step"') == 1


def test_a_case_on_a_protocol_is_marked_on_its_line_with_its_score(http):
    api = client_of(http)
    api.start(api.add_plan(clinic_protocol(), "protocol", sign="tested"), id="p")
    api.ask("p")
    for number, reward in enumerate([1, 1, 0], 1):
        api.tell("p", number, reward, ask=1)
    page = http.get("/cases/p").text
    assert "Line 1: Give E; recovery +1, relapse -1. At +8: line 4. At -3: next line." in page
    assert '<li class="rung taken here">' in page
    assert 'aria-label="Score +1, between -3 and +8"' in page
    for number, reward in enumerate([1] * 7 + [0] * 9, 4):  # at +8 to line 4, then down to the end of line 5
        api.tell("p", number, reward, ask=1)
    page = http.get("/cases/p").text
    assert '<li class="way end came here"' in page
    assert "The case is at an end." in page
    assert "At -20 start again at line 1." in page


def test_without_a_collection_the_page_says_what_it_cannot_say(http):
    plan = client_of(http).add_plan(clinic_plan(), "bare", sign="tested")
    page = http.post("/cases", data={"plan": plan, "id": "p"}).text
    assert "The plan was put on record without its collection." in page
    assert "<meter" not in page
    assert "without its collection. Name the collection." in http.get(f"/plans/{plan}").text


def test_an_unavailable_arm_is_waited_for_or_overridden(http):
    plan = client_of(http).add_plan(build_tree(CLINIC, 100, vocabulary=WORDS), "clinic", sign="tested")
    client_of(http).start(plan, id="p")
    page = http.post("/cases/p/ask", data={"absent": "A"}).text
    assert (
        "The treatment that comes next is not available. Wait until it is, or override; a case that must never" in page
    )
    assert http.post("/cases/p/ask", data={"n": "3"}).text.count("What happened?") == 3


def test_a_contextual_plan_asks_for_the_context(http):
    plan, _ = made("contextual")
    id = client_of(http).add_plan(plan, "contextual", sign="tested")
    page = http.post("/cases", data={"plan": id, "id": "c"}).text
    names = re.findall(r'name="(context-[^"]*)"', page)
    assert names
    page = http.post("/cases/c/ask", data={name: "0.5" for name in names}).text
    assert "What happened?" in page
    page = http.post("/cases/c/tell", data={"round": "1", "reward": "0.25"}).text
    assert "What comes next?" in page
    assert http.post("/cases/c/ask", data={names[0]: "warm"}).status_code == 422


@pytest.mark.slow
def test_a_contextual_protocol_asks_for_the_context_before_every_round(http):
    plan = build_plan(with_case_features(linear(2, 3, 3, 0.3), ["x2"]), 60, steps=100)
    id = client_of(http).add_plan(plan, "as kinds", sign="tested")
    page = http.post("/cases", data={"plan": id, "id": "k"}).text
    assert set(re.findall(r'name="(context-[^"]*)"', page)) == {"context-x1", "context-x2"}
    for number in range(1, 4):
        names = re.findall(r'name="(context-[^"]*)"', page)
        page = http.post("/cases/k/ask", data=dict.fromkeys(names, "0.5")).text
        assert "What happened?" in page
        page = http.post("/cases/k/tell", data={"round": str(number), "reward": "0.4"}).text
        assert "What comes next?" in page
        assert set(re.findall(r'name="(context-[^"]*)"', page)) == {"context-x1"}  # x2 stays the same for a case
    assert "reat as task" in page
    assert "Fit of one task over another" in http.get(f"/plans/{id}").text


def test_searching_cases(http, case):
    api = client_of(http)
    plan = api.case(case).plan
    api.start(plan, id="q-100", label="Bed 12")

    def found(**query):
        return re.findall(r'href="/cases/([^"?]+)"', http.get("/cases", params=query).text)

    assert found() == ["q-100", "p-1"]  # the newest first
    assert found(search="bed") == ["q-100"]
    assert found(search="P-1") == ["p-1"]
    assert found(search="%") == []
    assert found(state="waiting") == ["p-1"]
    assert found(state="closed") == []
    assert found(plan=plan, search="q") == ["q-100"]
    assert http.get("/cases", params={"state": "odd"}).status_code == 422


def test_more_cases_than_a_page_holds(http):
    api = client_of(http)
    plan = api.add_plan(clinic_plan(), "clinic", sign="tested")
    for number in range(55):
        api.start(plan, id=f"c-{number}")
    page = http.get("/cases").text
    older = re.search(r'href="(/cases\?[^"]*after=[^"]*)"', page)[1].replace("&amp;", "&")
    rest = http.get(older).text
    seen = re.findall(r'href="/cases/(c-\d+)"', page + rest)
    assert seen == [f"c-{number}" for number in reversed(range(55))]


@pytest.mark.slow
def test_certificates_and_separations_over_http(http, quick_limits, monkeypatch):
    for name, thorough in quick_limits.items():  # jobs are processes of their own, which look for limits in full
        monkeypatch.setattr(f"banditree.reports.limits.{name}", thorough)
    api = client_of(http)
    known = api.add_collection(CLINIC, "clinic")
    id = api.add_plan(clinic_plan(), "clinic", known, sign="tested")
    expected = certificate_document(certificate_report(clinic_plan(), CLINIC))
    assert http.get(f"/api/v1/plans/{id}/certificate").json()["data"] == expected
    other = Collection.bernoulli([[0.8, 0.1], [0.2, 0.8]], arms=["A", "B"], tasks=["mild", "severe"])
    elsewhere = api.add_collection(other, "other")
    answer = http.get(f"/api/v1/plans/{id}/certificate", params={"collection": elsewhere}).json()["data"]
    assert [task["regret"] for task in answer["tasks"]] == certify(clinic_plan(), other).regret.tolist()
    closest = least_separation(CLINIC)
    answer = http.get(f"/api/v1/collections/{known}/separation").json()["data"]
    assert answer == {"value": closest.value, "tasks": list(closest.tasks), "arm": closest.arm}


@pytest.mark.slow
def test_comparing_two_plans(http):
    api = client_of(http)
    known = api.add_collection(CLINIC, "clinic")
    first, second = (api.add_plan(clinic_plan(h), f"plan {h}", known, sign="tested") for h in (100, 200))
    page = http.get(f"/plans/{first}/compare", params={"other": second}).text
    certificate = certificate_report(clinic_plan(200), CLINIC).certificate
    assert f"<td>{amount(certificate.regret[0])}</td>" in page
    assert amount(certificate.worst_regret) in page
    assert "egret" not in page
    page = http.get(f"/plans/{second}").text
    assert f"It loses {certificate.worst_regret:,.3g} " in page
    assert "In their worst " in page
    assert http.get(f"/plans/{first}/compare", params={"other": "none"}).status_code == 404


@pytest.mark.slow
def test_uploads_by_form(http, tmp_path):
    from banditree.files.collections import save_collection
    from banditree.files.plans import save_plan

    save_collection(CLINIC, tmp_path / "c.json")
    save_plan(clinic_plan(), tmp_path / "p.json")
    files = {"file": ("c.json", (tmp_path / "c.json").read_bytes())}
    answer = http.post("/collections", data={"name": "The clinic"}, files=files)
    assert "<h1>The clinic</h1>" in answer.text
    known = answer.url.path.split("/")[-1]
    files = {"file": ("p.json", (tmp_path / "p.json").read_bytes())}
    answer = http.post("/plans", data={"name": "The plan", "collection": known}, files=files)
    assert "<h1>The plan</h1>" in answer.text
    for content in (b"nonsense", b"[1]", b"{}", b""):
        answer = http.post("/plans", data={"name": "bad"}, files={"file": ("p.json", content)})
        assert answer.status_code == 422
        assert "That did not work" in answer.text
    assert http.post("/plans", data={"name": "none"}).status_code == 422


@pytest.mark.slow
def test_nothing_that_people_type_becomes_markup(http):
    nasty = '<img src=x onerror="alert(1)">'
    tasks = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=[nasty, "B"], tasks=[nasty, "severe"])
    api = client_of(http)
    known = api.add_collection(tasks, nasty)
    plan = api.add_plan(build_tree(tasks, 100), nasty, known, sign="tested")
    api.start(plan, id="p", label=nasty)
    api.ask("p")
    api.note("p", nasty)
    pages = ["/cases", "/cases/p", "/plans", f"/plans/{plan}", "/collections", f"/collections/{known}"]
    for path in [*pages, f"/plans/{plan}/compare?other={plan}", f"/cases?search={nasty}"]:
        page = http.get(path).text
        assert "<img" not in page, path
        assert "img src=x" in page, path


@pytest.mark.slow
def test_the_content_security_policy_holds_on_every_page(http):
    """No script or style inside a page, since the policy would stop it; and the policy allows none."""
    policy = http.get("/cases").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    plan, known = made("40 tasks")
    api = client_of(http)
    id = api.add_plan(plan, "large", api.add_collection(known, "large"), sign="tested")
    api.start(id, id="p")
    for path in ("/cases", "/cases/p", f"/plans/{id}", "/plans", "/collections", "/tokens"):
        page = http.get(path).text
        assert not re.search(r"\sstyle=|<style|\son\w+=|javascript:", page), path
        for script in re.findall(r"<script[^>]*>", page):
            assert "src=" in script or 'type="application/json"' in script


def test_errors_are_pages_for_people_and_json_for_programs(http):
    assert "<h1>That did not work</h1>" in http.get("/cases/none").text
    assert http.get("/cases/none").status_code == 404
    assert "<h1>That did not work</h1>" in http.get("/nowhere").text
    assert http.get("/cases/none", headers={"accept": "*/*"}).json()["error"]["code"] == "not_found"
    assert http.get("/api/v1/cases/none").json()["error"]["code"] == "not_found"
    assert http.post("/cases", data={"plan": "none"}).status_code == 404
    assert http.post("/cases/none/tell", data={"round": "x", "reward": "1", "ask": "next"}).status_code == 422
    assert http.post("/cases/none/tell", data={"round": "1", "reward": "much", "ask": "next"}).status_code == 422
    assert http.get("/static/none.js").status_code == 404


def test_a_report_that_contradicts_changes_nothing(http, case):
    http.post(f"/cases/{case}/tell", data={"round": "1", "reward": "1", "ask": "next"})
    answer = http.post(f"/cases/{case}/tell", data={"round": "1", "reward": "0", "ask": "next"})
    assert answer.status_code == 409
    assert "already told" in answer.text
    assert f'href="/cases/{case}"' in answer.text
    assert len(client_of(http).events(case)) == 3


def test_the_demo_has_a_case_in_every_state(tmp_path):
    fill(local(tmp_path / "demo.db"))
    with in_thread(local(tmp_path / "demo.db")) as (_app, http):
        http.headers["accept"] = "text/html"
        pages = [http.get(f"/cases/demo-{number}").text for number in range(1, 10)]
        assert all("Next step" in page for page in pages)
        for text in ("chip closed", "chip strayed", "chip rings", "corrected: it was", "Show <strong>"):
            assert any(text in page for page in pages), text
        assert http.get("/plans").text.count('class="card row"') == 4


def test_the_plan_of_the_demo_is_the_one_on_the_first_page():
    """The console shows the plan of `banditree demo`, and so its loss, and not a poor one made by hand."""
    readme = Path(__file__).parents[3].joinpath("README.md").read_text(encoding="utf-8")
    assert str(clinic_protocol()).partition("\n\n")[2] in readme


def test_graded_outcomes_have_a_button_each(http):
    chances = [[[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]], [[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]]
    known = Collection.graded(chances, [0, 0.5, 1], names=["none", "partial", "full"], arms=["A", "B"])
    plan = client_of(http).add_plan(build_tree(known, 200), "recovery", sign="tested")
    page = http.post("/cases", data={"plan": plan, "id": "g-1"}).text
    buttons = re.findall(r'name="reward" value="([\d.]+)"[^>]*>([^<]+)</button>', page)
    assert buttons == [("1", "Full"), ("0.5", "Partial"), ("0", "None")]
    assert "Round 1: partial." in http.post("/cases/g-1/tell", data={"round": "1", "reward": "0.5"}).text
    assert http.post("/cases/g-1/ask", data={}).status_code == 200
    assert "one of 0, 0.5, 1" in http.post("/cases/g-1/tell", data={"round": "2", "reward": "0.7"}).text
