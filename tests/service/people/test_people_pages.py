"""The pages where people log in: who sees what, users and tokens by form, and forms of other sites."""

import re

import httpx
import pytest
from running_service import in_thread, local

from banditree.service.store.database import Database
from banditree.service.store.people import Role, add_user, hashed

PASSWORD = "correct horse battery"
PAGE = {"accept": "text/html"}


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
    assert '<span class="chip closed">disabled</span>' in ada.post("/users/ned", data={"disabled": "yes", **sent}).text
    assert ned.get("/cases").url.path == "/login"
    assert ada.post("/users/ned", data={"role": "operator", **sent}).status_code == 200
    assert "change user" in ada.get("/audit").text
    assert ada.post("/logout", data=sent).url.path == "/login"
    assert ada.get("/cases").url.path == "/login"
