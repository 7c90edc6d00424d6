"""The pages as forms and answers, without a browser: what they do, and what they refuse."""

import re

import httpx
import numpy as np
import pytest
from figure_plans import made
from running_service import CLINIC, client_of, clinic_plan, in_thread, local

from banditree.plans.words import vocabulary_from
from banditree.reports.certify import certificate_document, certificate_report
from banditree.scores.build import build_plan
from banditree.service.database import Database
from banditree.service.demo import clinic_protocol, fill
from banditree.service.people import Role, add_user, hashed
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear
from banditree.tasks.separation import least_separation
from banditree.trees.tree import build_tree

WORDS = vocabulary_from(
    {"arm": "treatment", "task": "patient group", "success": "recovery", "failure": "relapse", "give": "Administer"}
)
PASSWORD = "correct horse battery"
PAGE = {"accept": "text/html"}

# Each thing a form does and the route of the API that does the same.
SAME = {
    "POST /cases": ["POST /api/v1/cases", "POST /api/v1/cases/{id}/ask"],
    "POST /cases/{id}/ask": ["POST /api/v1/cases/{id}/ask"],
    "POST /cases/{id}/tell": ["POST /api/v1/cases/{id}/tell"],
    "POST /cases/{id}/override": ["POST /api/v1/cases/{id}/override"],
    "POST /cases/{id}/correct": ["POST /api/v1/cases/{id}/correct"],
    "POST /cases/{id}/note": ["POST /api/v1/cases/{id}/note"],
    "POST /cases/{id}/close": ["POST /api/v1/cases/{id}/close"],
    "POST /cases/{id}/erase": ["POST /api/v1/cases/{id}/erase"],
    "GET /cases": ["GET /api/v1/cases", "GET /api/v1/export/{what}"],
    "GET /cases/{id}": ["GET /api/v1/cases/{id}", "GET /api/v1/cases/{id}/outlook", "GET /api/v1/cases/{id}/events"],
    "POST /plans": ["POST /api/v1/plans"],
    "GET /plans": ["GET /api/v1/plans"],
    "GET /plans/{id}": [
        "GET /api/v1/plans/{id}",
        "GET /api/v1/plans/{id}/certificate",
    ],
    "POST /plans/{id}/sign": ["POST /api/v1/plans/{id}/sign"],
    "GET /plans/{id}/sign": ["GET /api/v1/plans/{id}/changes"],
    "GET /plans/{id}/card": ["GET /api/v1/plans/{id}/card"],
    "POST /cases/{id}/move": ["POST /api/v1/cases/{id}/move"],
    "GET /jobs": ["GET /api/v1/jobs"],
    "GET /jobs/{id}": ["GET /api/v1/jobs/{id}", "GET /api/v1/jobs/{id}/events", "GET /api/v1/jobs/{id}/file"],
    "POST /jobs/{id}/end": ["POST /api/v1/jobs/{id}/end"],
    "POST /jobs/{id}/again": ["POST /api/v1/jobs/{id}/again"],
    "GET /plans/{id}/compare": ["GET /api/v1/plans/{id}/certificate"],
    "GET /plans/{id}/field": ["GET /api/v1/plans/{id}/monitor", "GET /api/v1/plans/{id}/digest"],
    "POST /plans/{id}/relearn": ["POST /api/v1/plans/{id}/relearn"],
    "GET /plans/{id}/relearned/{job}": ["GET /api/v1/jobs/{id}"],
    "POST /plans/{id}/relearned/{job}": ["POST /api/v1/plans/{id}/successor"],
    "POST /collections": ["POST /api/v1/collections"],
    "GET /collections": ["GET /api/v1/collections"],
    "GET /collections/{id}": ["GET /api/v1/collections/{id}", "GET /api/v1/collections/{id}/separation"],
    "GET /login": ["GET /api/v1/me"],
    "POST /login": ["POST /api/v1/login"],
    "POST /logout": ["POST /api/v1/logout"],
    "GET /users": ["GET /api/v1/users"],
    "POST /users": ["POST /api/v1/users"],
    "POST /users/{name}": ["PATCH /api/v1/users/{name}"],
    "GET /tokens": ["GET /api/v1/tokens"],
    "POST /tokens": ["POST /api/v1/tokens"],
    "POST /password": ["POST /api/v1/me/password"],
    "POST /tokens/{id}/revoke": ["DELETE /api/v1/tokens/{id}"],
    "GET /audit": ["GET /api/v1/audit"],
    "GET /studio": ["GET /api/v1/files"],
    "POST /studio": ["POST /api/v1/files"],
    "GET /studio/example.csv": [],
    "GET /studio/{id}": [],
    "POST /studio/{id}/delete": ["DELETE /api/v1/files/{id}"],
    "GET /studio/{id}/know": ["GET /api/v1/files"],
    "POST /studio/{id}/know": ["POST /api/v1/files"],
    "POST /studio/{id}/file": ["POST /api/v1/files"],
    "GET /studio/{id}/kinds": ["POST /api/v1/jobs", "GET /api/v1/jobs/{id}"],
    "POST /studio/{id}/kinds": ["POST /api/v1/jobs", "POST /api/v1/collections"],
    "GET /studio/{id}/plan": ["GET /api/v1/jobs/{id}", "GET /api/v1/jobs/{id}/events"],
    "POST /studio/{id}/plan": ["POST /api/v1/jobs", "POST /api/v1/jobs/{id}/end", "POST /api/v1/plans"],
    "GET /studio/{id}/trust": ["GET /api/v1/plans/{id}/certificate", "POST /api/v1/jobs"],
    "GET /studio/{id}/report": ["POST /api/v1/jobs", "GET /api/v1/jobs/{id}/file"],
    "GET /studio/{id}/sign": ["GET /api/v1/plans/{id}/changes"],
    "POST /studio/{id}/sign": ["POST /api/v1/plans/{id}/sign"],
}
ONLY_FOR_PROGRAMS = {"POST /api/v1/cases/start", "POST /api/v1/cases/ask", "POST /api/v1/cases/tell"}


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


def test_what_the_pages_do_is_in_the_api_and_the_reverse(service):
    app, http = service
    document = http.get("/api/v1/openapi.json").json()["paths"]
    api = {f"{method.upper()} {path}" for path, methods in document.items() for method in methods}
    forms = {f"{method} {route.path}" for route in _routes(app) for method in route.methods - {"HEAD"}} - api
    alone = {"GET /", "GET /static/{name}", "GET /api/v1/openapi.json", "GET /sign-on", "GET /sign-on/back"}
    assert forms - alone == set(SAME)
    same = {route for routes in SAME.values() for route in routes}
    assert same <= api
    assert {route for route in api if "/api/" in route} - same == ONLY_FOR_PROGRAMS


def _routes(app):
    found, todo = [], list(app.routes)
    while todo:
        route = todo.pop()
        if hasattr(route, "methods") and hasattr(route, "path"):
            found.append(route)
        else:
            todo += list(getattr(route, "routes", [])) or list(route.original_router.routes)
    return found


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
    n = int(plan.pulls[0])
    for number in range(1, n + 1):
        api.tell(case, number, 1, ask=1)
    outlook = http.get(f"/api/v1/cases/{case}/outlook").json()["data"]
    assert outlook["path"] == [1, int(plan.high[0]) + 1]
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
    assert "Line 1: Give Alpha; recovery +1, relapse -1. At +8: stay with Alpha. At -3: next line." in page
    assert '<li class="rung taken here">' in page
    assert 'aria-label="Score +1, between -3 and +8"' in page
    for number in range(4, 12):
        api.tell("p", number, 1, ask=1)
    page = http.get("/cases/p").text
    assert '<li class="way end came here"' in page
    assert "The case is at an end." in page
    assert "At -8 start again at line 1." in page


def test_without_a_collection_the_page_says_what_it_cannot_say(http):
    plan = client_of(http).add_plan(clinic_plan(), "bare", sign="tested")
    page = http.post("/cases", data={"plan": plan, "id": "p"}).text
    assert "The plan was put on record without its collection." in page
    assert "<meter" not in page
    assert "without its collection: say which one" in http.get(f"/plans/{plan}").text


def test_an_unavailable_arm_is_waited_for_or_overridden(http):
    plan = client_of(http).add_plan(build_tree(CLINIC, 100, vocabulary=WORDS), "clinic", sign="tested")
    client_of(http).start(plan, id="p")
    page = http.post("/cases/p/ask", data={"absent": "A"}).text
    assert "The treatment that comes next is not available. Wait until it is, or override." in page
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


def test_a_contextual_protocol_asks_for_the_context_before_every_round(http):
    plan = build_plan(linear(2, 3, 2, 0.3), 60, steps=100)
    id = client_of(http).add_plan(plan, "as kinds", sign="tested")
    page = http.post("/cases", data={"plan": id, "id": "k"}).text
    names = re.findall(r'name="(context-[^"]*)"', page)
    assert names
    for number in range(1, 4):
        page = http.post("/cases/k/ask", data=dict.fromkeys(names, "0.5")).text
        assert "What happened?" in page
        page = http.post("/cases/k/tell", data={"round": str(number), "reward": "0.4"}).text
        assert "What comes next?" in page
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


def test_certificates_and_separations_over_http(http):
    api = client_of(http)
    known = api.add_collection(CLINIC, "clinic")
    id = api.add_plan(clinic_plan(), "clinic", known, sign="tested")
    expected = certificate_document(certificate_report(clinic_plan(), CLINIC))
    assert http.get(f"/api/v1/plans/{id}/certificate").json()["data"] == expected
    other = Collection.bernoulli([[0.8, 0.1], [0.2, 0.8]], arms=["A", "B"], tasks=["mild", "severe"])
    elsewhere = api.add_collection(other, "other")
    answer = http.get(f"/api/v1/plans/{id}/certificate", params={"collection": elsewhere}).json()["data"]
    assert answer == certificate_document(certificate_report(clinic_plan(), other))
    closest = least_separation(CLINIC)
    answer = http.get(f"/api/v1/collections/{known}/separation").json()["data"]
    assert answer == {"value": closest.value, "tasks": list(closest.tasks), "arm": closest.arm}


def test_comparing_two_plans(http):
    api = client_of(http)
    known = api.add_collection(CLINIC, "clinic")
    first, second = (api.add_plan(clinic_plan(h), f"plan {h}", known, sign="tested") for h in (100, 200))
    page = http.get(f"/plans/{first}/compare", params={"other": second}).text
    certificate = certificate_report(clinic_plan(200), CLINIC).certificate
    assert f"{certificate.regret[0]:,.3f}" in page
    assert f"{certificate.worst_regret:,.3f}" in page
    page = http.get(f"/plans/{second}").text
    assert f"It loses {certificate.worst_regret:,.3g} " in page
    assert "In their worst " in page
    assert http.get(f"/plans/{first}/compare", params={"other": "none"}).status_code == 404


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


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """The address of a service where people log in, with one case."""
    path = tmp_path_factory.mktemp("pages") / "cases.db"
    opened = Database(local(path))
    with opened.write() as connection:
        for name, role in {"ada": Role.ADMIN, "oli": Role.OPERATOR, "vic": Role.VIEWER}.items():
            add_user(connection, "test", name, role, hashed(PASSWORD))
    opened.close()
    with in_thread(local(path, authentication=True, secure_cookies=False, login_attempts=50)) as (_app, http):
        http.follow_redirects, http.headers["accept"] = True, "text/html"
        yield str(http.base_url)


@pytest.fixture
def person(guarded):
    opened = []

    def enter(name):
        http = httpx.Client(base_url=guarded, follow_redirects=True, headers=PAGE)
        opened.append(http)
        if name:
            answer = http.post("/login", data={"name": name, "password": PASSWORD, "next": "/plans"})
            assert answer.url.path == "/plans"
        return http

    yield enter
    for http in opened:
        http.close()


def token(http, path="/plans"):
    return re.search(r'name="csrf_token" value="(\w+)"', http.get(path).text)[1]


def test_strangers_are_asked_to_log_in(person):
    nobody = person(None)
    for path in ("/", "/cases", "/plans", "/collections", "/users", "/tokens", "/audit", "/cases/x"):
        answer = nobody.get(path)
        assert answer.url.path == "/login"
        assert "<h1>Log in</h1>" in answer.text
    assert nobody.post("/cases", data={"plan": "x"}).url.path == "/login"
    answer = nobody.post("/login", data={"name": "ada", "password": "wrong"})
    assert answer.status_code == 401
    assert "The name or the password is wrong." in answer.text


@pytest.mark.parametrize("goal", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_a_log_in_never_leads_to_another_site(guarded, goal):
    with httpx.Client(base_url=guarded) as http:
        answer = http.post("/login", data={"name": "ada", "password": PASSWORD, "next": goal})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/"


def test_a_form_of_another_site_is_refused(person):
    ada = person("ada")
    form = {"name": "eve", "role": "admin", "password": PASSWORD}
    assert ada.post("/users", data=form).status_code == 403
    assert ada.post("/users", data={**form, "csrf_token": "0" * 64}).status_code == 403
    other = ada.post("/users", data={**form, "csrf_token": token(ada)}, headers={"origin": "https://evil.example"})
    assert other.status_code == 403
    assert "eve" not in ada.get("/users").text


def test_roles_on_the_pages(person):
    ada, oli, vic = person("ada"), person("oli"), person("vic")
    assert "Start a case" in oli.get("/cases").text
    assert "Start a case" not in vic.get("/cases").text
    for http in (oli, vic):
        assert http.get("/users").status_code == http.get("/audit").status_code == 403
        assert "/users" not in http.get("/cases").text
    assert ada.get("/users").status_code == ada.get("/audit").status_code == 200
    assert vic.post("/cases", data={"plan": "x", "csrf_token": token(vic)}).status_code == 403


def test_users_and_tokens_by_form(person):
    ada = person("ada")
    sent = {"csrf_token": token(ada)}
    new = {"name": "ned", "role": "viewer", "password": PASSWORD, **sent}
    assert "ned" in ada.post("/users", data=new).text
    ned = person("ned")
    page = ned.post("/tokens", data={"name": "laptop", "role": "viewer", "csrf_token": token(ned)}).text
    secret = re.search(r'id="new-token">(bt_[\w-]+)<', page)[1]
    bearer = {"authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=ada.base_url, headers=bearer) as program:
        assert program.get("/api/v1/me").json()["data"]["name"] == "ned"
        revoke = re.search(r'action="(/tokens/\w+/revoke)"', page)[1]
        assert "revoked" in ned.post(revoke, data={"csrf_token": token(ned)}).text
        assert program.get("/api/v1/me").status_code == 401
    assert "kept out" in ada.post("/users/ned", data={"disabled": "yes", **sent}).text
    assert ned.get("/cases").url.path == "/login"
    assert ada.post("/users/ned", data={"role": "operator", **sent}).status_code == 200
    assert "change user" in ada.get("/audit").text
    assert ada.post("/logout", data=sent).url.path == "/login"
    assert ada.get("/cases").url.path == "/login"


def test_the_demo_has_a_case_in_every_state(tmp_path):
    fill(local(tmp_path / "demo.db"))
    with in_thread(local(tmp_path / "demo.db")) as (_app, http):
        http.headers["accept"] = "text/html"
        pages = [http.get(f"/cases/demo-{number}").text for number in range(1, 10)]
        assert all("Next step" in page for page in pages)
        for text in ("chip closed", "chip strayed", "chip rings", "corrected: it was", "Show <strong>"):
            assert any(text in page for page in pages), text
        assert http.get("/plans").text.count('class="card row"') == 4


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
