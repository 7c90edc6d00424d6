"""Who gets in, and what they may do."""

import re
import time
from datetime import timedelta

import httpx
import pytest
from running_service import client_of, clinic_plan, in_thread, local

from banditree.errors import InvalidInput
from banditree.service.app import create_app
from banditree.service.client import Client
from banditree.service.people.senders import COOKIE
from banditree.service.settings import Settings
from banditree.service.store.database import Database
from banditree.service.store.people import SESSION, TOKEN, Role, add_user, give_secret, hashed, who

PASSWORD = "correct horse battery"
NAMES = {"ada": Role.ADMIN, "oli": Role.OPERATOR, "vic": Role.VIEWER}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A service where people log in."""
    path = tmp_path_factory.mktemp("access") / "cases.db"
    opened = Database(local(path))
    with opened.write() as connection:
        for name, role in NAMES.items():
            add_user(connection, "test", name, role, hashed(PASSWORD))
    opened.close()
    settings = local(path, authentication=True, secure_cookies=False, sign_alone=True, login_attempts=3)
    with in_thread(settings) as (_app, http):
        yield str(http.base_url)


@pytest.fixture
def anybody(address):
    with httpx.Client(base_url=address) as http:
        yield http


def log_in(http, name, password=PASSWORD):
    answer = http.post("/api/v1/login", json={"name": name, "password": password})
    if answer.status_code == 200:
        http.headers["x-csrf-token"] = answer.json()["data"]["csrf_token"]
    return answer


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


@pytest.fixture(scope="module")
def described(address):
    """The description of the API, which those who have logged in may read."""
    with httpx.Client(base_url=address) as http:
        assert log_in(http, "vic").status_code == 200
        return http.get("/api/v1/openapi.json").json()


def test_strangers_read_the_description_only_where_it_is_open(anybody, tmp_path):
    assert code(anybody.get("/api/v1/openapi.json")) == (401, "not_logged_in")
    opened = Database(local(tmp_path / "open.db"))
    with opened.write() as connection:
        add_user(connection, "test", "ada", Role.ADMIN, hashed(PASSWORD))
    opened.close()
    with in_thread(local(tmp_path / "open.db", authentication=True, open_description=True)) as (_app, http):
        assert http.get("/api/v1/openapi.json").status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "clinic.example", "::"])
def test_an_open_service_only_listens_on_this_computer(host):
    with pytest.raises(InvalidInput, match="Add authentication=True, or omit the host"):
        Settings(host=host)
    assert Settings(host=host, authentication=True).host == host
    assert Settings(host="127.0.0.2").hosts == ("localhost", "127.0.0.1", "[::1]")


def test_a_service_nobody_can_log_in_to_does_not_start(tmp_path):
    with pytest.raises(InvalidInput, match="Make the first admin: banditree db add-user"):
        create_app(local(tmp_path / "empty.db", authentication=True))


def test_strangers_see_only_that_it_is_alive(anybody, described):
    assert anybody.get("/health").status_code == anybody.get("/ready").status_code == 200
    routes = [
        (method, path)
        for path, methods in described["paths"].items()
        for method in methods
        if path not in ("/health", "/ready", "/api/v1/login")
    ]
    assert len(routes) > 25
    for method, path in routes:
        answer = anybody.request(method.upper(), re.sub(r"{\w+}", "events", path), json={})
        assert code(answer) == (401, "not_logged_in"), (method, path)
    for headers in ({"authorization": "Bearer nonsense"}, {"cookie": f"{COOKIE}=nonsense"}):
        assert code(anybody.get("/api/v1/cases", headers=headers)) == (401, "not_logged_in")


def test_logging_in_and_out(anybody):
    answer = log_in(anybody, "oli")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert anybody.get("/api/v1/me").json()["data"]["role"] == "operator"
    token = anybody.headers.pop("x-csrf-token")
    assert code(anybody.post("/api/v1/logout")) == (403, "forbidden")
    anybody.headers["x-csrf-token"] = token[:-1] + ("0" if token[-1] != "0" else "1")
    assert code(anybody.post("/api/v1/logout")) == (403, "forbidden")
    anybody.headers["x-csrf-token"] = token
    kept = dict(anybody.cookies)
    assert anybody.post("/api/v1/logout").status_code == 200
    assert code(httpx.get(f"{anybody.base_url}/api/v1/me", cookies=kept)) == (401, "not_logged_in")


def test_cookies_are_secure_unless_told_otherwise(tmp_path):
    path = tmp_path / "secure.db"
    opened = Database(local(path))
    with opened.write() as connection:
        add_user(connection, "test", "ada", Role.ADMIN, hashed(PASSWORD))
    opened.close()
    with in_thread(local(path, authentication=True)) as (_app, http):
        assert "secure" in log_in(http, "ada").headers["set-cookie"].lower()


def test_wrong_passwords_have_to_wait(anybody):
    for _ in range(3):
        assert code(log_in(anybody, "mallory", "wrong password")) == (401, "not_logged_in")
    answer = log_in(anybody, "mallory", "wrong password")
    assert code(answer) == (429, "too_many")
    assert answer.headers["retry-after"]
    assert log_in(anybody, "vic").status_code == 200


def test_roles(address, anybody):
    log_in(anybody, "ada")
    plan = client_of(anybody).add_plan(clinic_plan(), "clinic", sign="tested")
    case = client_of(anybody).start(plan).id
    with httpx.Client(base_url=address) as viewer, httpx.Client(base_url=address) as operator:
        log_in(viewer, "vic")
        log_in(operator, "oli")
        assert viewer.get(f"/api/v1/cases/{case}").status_code == 200
        assert code(viewer.post(f"/api/v1/cases/{case}/ask", json={})) == (403, "forbidden")
        assert code(viewer.get("/api/v1/export/events")) == (403, "forbidden")
        assert operator.post(f"/api/v1/cases/{case}/ask", json={}).status_code == 200
        for path in (f"/api/v1/cases/{case}/erase", "/api/v1/users"):
            body = {"name": "eve", "role": "admin", "password": PASSWORD}
            assert code(operator.post(path, json=body)) == (403, "forbidden")
        assert code(operator.get("/api/v1/audit")) == (403, "forbidden")
        assert code(operator.post("/api/v1/tokens", json={"name": "x", "role": "admin"})) == (403, "forbidden")
    assert client_of(anybody).events(case)[0].actor == "oli"
    actions = [(line["actor"], line["action"]) for line in anybody.get("/api/v1/audit").json()["data"]]
    assert ("ada", "add plan") in actions
    assert ("oli", "log in") in actions


def test_tokens(address, anybody):
    log_in(anybody, "oli")
    made = anybody.post("/api/v1/tokens", json={"name": "script", "role": "viewer"}).json()["data"]
    with Client(address, made["token"]) as script:
        assert script.cases() is not None
        assert code(script.http.post("/api/v1/cases", json={"plan": "x"})) == (403, "forbidden")
        listed = anybody.get("/api/v1/tokens").json()["data"]
        assert [(line["name"], line["revoked"]) for line in listed] == [("script", False)]
        assert made["token"] not in str(listed)
        assert anybody.delete(f"/api/v1/tokens/{made['id']}").status_code == 200
        assert code(script.http.get("/api/v1/cases")) == (401, "not_logged_in")


def test_logging_out_ends_the_tokens_made_during_the_log_in(address, anybody):
    log_in(anybody, "oli")
    made = anybody.post("/api/v1/tokens", json={"name": "script"}).json()["data"]["token"]
    with Client(address, made) as script:
        child = script.http.post("/api/v1/tokens", json={"name": "its own"}).json()["data"]["token"]
        assert anybody.post("/api/v1/logout").status_code == 200
        assert code(script.http.get("/api/v1/cases")) == (401, "not_logged_in")
    with Client(address, child) as script:
        assert code(script.http.get("/api/v1/cases")) == (401, "not_logged_in")


def test_a_token_outlasts_a_log_in_that_is_only_over(tmp_path):
    database = Database(local(tmp_path / "cases.db"))
    with database.write() as connection:
        add_user(connection, "test", "oli", Role.OPERATOR, hashed(PASSWORD))
        _, session = give_secret(connection, SESSION, "oli", Role.OPERATOR, "log-in", timedelta(seconds=-1))
        _, token = give_secret(connection, TOKEN, "oli", Role.OPERATOR, "script", timedelta(days=1), session)
    with database.read() as connection:
        assert who(connection, token, by_cookie=False).name == "oli"


@pytest.mark.parametrize("name", ["service", "Nobody", "local", "watch", "sign-on"])
def test_names_that_the_trail_itself_uses_are_nobodys(anybody, name):
    log_in(anybody, "ada")
    answer = anybody.post("/api/v1/users", json={"name": name, "role": "viewer", "password": PASSWORD})
    assert code(answer) == (422, "invalid")


def test_an_admin_lets_people_in_and_out(address, anybody):
    log_in(anybody, "ada")
    body = {"name": "new", "role": "viewer", "password": PASSWORD}
    assert anybody.post("/api/v1/users", json=body).status_code == 200
    assert code(anybody.post("/api/v1/users", json=body)) == (409, "conflict")
    with httpx.Client(base_url=address) as new:
        log_in(new, "new")
        assert new.get("/api/v1/cases").status_code == 200
        assert anybody.patch("/api/v1/users/new", json={"disabled": True}).status_code == 200
        assert code(new.get("/api/v1/cases")) == (401, "not_logged_in")
        assert code(log_in(new, "new")) == (401, "not_logged_in")
    assert code(anybody.patch("/api/v1/users/ada", json={"role": "viewer"})) == (409, "conflict")
    assert code(anybody.patch("/api/v1/users/nobody", json={"role": "viewer"})) == (404, "not_found")
    users = {line["name"]: line for line in anybody.get("/api/v1/users").json()["data"]}
    assert users["new"]["disabled"]
    assert "password" not in users["new"]


def test_an_open_service_has_no_log_in(service):
    http = service[1]
    assert http.get("/api/v1/me").json()["data"] == {"name": "local", "role": "admin", "csrf_token": None, "site": None}
    assert code(http.post("/api/v1/login", json={"name": "ada", "password": "x"})) == (409, "conflict")
    assert code(http.post("/api/v1/tokens", json={"name": "x"})) == (409, "conflict")


def test_the_description_says_what_each_operation_must_carry(anybody, described):
    assert set(described["components"]["securitySchemes"]) == {"token", "session", "csrf"}
    checked = 0
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            filled = re.sub(r"{\w+}", "x1", path).replace("export/x1", "export/events")
            answer = anybody.request(method, filled, json=None if method == "get" else {})
            assert (operation["security"] == []) == (answer.status_code != 401 or path == "/api/v1/login"), path
            if operation["security"]:
                token, cookie = operation["security"]
                assert token == {"token": []}
                assert ("csrf" in cookie) == (method != "get")
                assert operation["x-role"] in ("viewer", "operator", "signer", "admin")
                checked += 1
    assert checked > 30


def test_an_open_service_asks_for_nothing(tmp_path):
    with in_thread(local(tmp_path / "cases.db")) as (_app, http):
        assert "securitySchemes" not in http.get("/api/v1/openapi.json").json()["components"]


def test_a_request_is_known_by_its_id_in_the_answer_and_the_log(tmp_path, caplog):
    with in_thread(local(tmp_path / "cases.db")) as (_app, http), caplog.at_level("INFO", "banditree.service"):
        assert http.get("/health", headers={"x-request-id": "proxy-7:a"}).headers["x-request-id"] == "proxy-7:a"
        made = [http.get("/nowhere", headers={"x-request-id": "a b"}).headers["x-request-id"] for _ in range(2)]
        refused = http.get("/health", headers={"host": "evil.example"}).headers["x-request-id"]
        for _ in range(10_000):
            lines = {line.fields["id"]: line.fields for line in caplog.records if hasattr(line, "fields")}
            if refused in lines:
                break
            time.sleep(0.02)
    assert made[0] != made[1]
    assert {"proxy-7:a", *made, refused} <= set(lines)
    assert all(fields["address"] == "127.0.0.1" for fields in lines.values() if "route" in fields)
