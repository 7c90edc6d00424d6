"""Single sign-on, the whole way, against a provider."""

import re
import time
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import sqlalchemy as sa
from running_service import in_thread, local

from banditree.errors import InvalidInput
from banditree.service.pages.sign_on_pages import COOKIE
from banditree.service.settings import Settings
from banditree.service.store.database import Database
from banditree.service.store.people import Role, add_user, hashed
from banditree.service.store.schema import users

oidc = pytest.importorskip("oidc_provider_mock")

PASSWORD = "correct horse battery"
ROLES = {"ward-leads": "admin", "nurses": "operator"}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def provider():
    with oidc.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@contextmanager
def serving(path, provider, **options):
    with in_thread(
        local(
            path,
            authentication=True,
            secure_cookies=False,
            oidc_issuer=provider,
            oidc_client="plans",
            oidc_secret="s3cret",
            **{"oidc_roles": ROLES, **options},
        )
    ) as (app, http):
        yield app, http


@pytest.fixture(scope="module")
def service(tmp_path_factory, provider):
    path = tmp_path_factory.mktemp("sign-on") / "cases.db"
    opened = Database(local(path))
    with opened.write() as connection:
        add_user(connection, "test", "ada", Role.ADMIN, hashed(PASSWORD))
    opened.close()
    with serving(path, provider) as running:
        yield running


def person(provider, sub, **claims):
    assert httpx.put(f"{provider}/users/{sub}", json=claims).status_code < 300


def browser(service):
    return httpx.Client(base_url=service[1].base_url, headers={"accept": "text/html"})


def at_provider(http, sub, goal="/cases"):
    """Begin a sign-on and agree at the provider; the address that it sends the browser back to."""
    begun = http.get("/sign-on", params={"next": goal})
    assert begun.status_code == 303
    agreed = httpx.post(begun.headers["location"], data={"sub": sub})
    assert agreed.status_code == 302, agreed.text
    return agreed.headers["location"]


def sign_on(service, sub):
    with browser(service) as http:
        answer = http.get(at_provider(http, sub))
        return answer, http.get("/api/v1/me")


@pytest.mark.slow
def test_a_nurse_signs_on_and_is_an_operator(service, provider):
    person(provider, "n-1", preferred_username="nina", groups=["nurses", "tennis"])
    with browser(service) as http:
        assert "/sign-on?next=/plans" in http.get("/login?next=/plans").text
        begun = http.get("/sign-on", params={"next": "/plans"})
        asked = parse_qs(urlsplit(begun.headers["location"]).query)
        assert asked["code_challenge_method"] == ["S256"]
        assert asked["response_type"] == ["code"]
        assert asked["redirect_uri"] == [f"{service[1].base_url}/sign-on/back"]
        assert "SameSite=lax" in begun.headers["set-cookie"]
        assert "HttpOnly" in begun.headers["set-cookie"]
        answer = http.get(at_provider(http, "n-1", "/plans"))
        assert 'content="0; url=/plans"' in answer.text
        assert re.search("banditree_session=.*HttpOnly.*SameSite=strict", answer.headers["set-cookie"])
        me = http.get("/api/v1/me").json()["data"]
        assert (me["name"], me["role"]) == ("nina", "operator")
        token = {"x-csrf-token": me["csrf_token"]}
        made = http.post("/api/v1/tokens", json={"name": "script"}, headers=token).json()["data"]["token"]
    held = {"authorization": f"Bearer {made}"}
    assert httpx.get(f"{service[1].base_url}/api/v1/cases", headers=held).status_code == 200
    _again, me = sign_on(service, "n-1")  # the same user, and no second one
    assert me.json()["data"]["name"] == "nina"
    # losing the group ends what was given out before
    person(provider, "n-1", preferred_username="nina", groups=["tennis"])
    refused, me = sign_on(service, "n-1")
    assert (refused.status_code, me.status_code) == (403, 401)
    assert "None of your groups has a role, or a site, here" in refused.text
    time.sleep(1.1)  # for which a token is remembered
    assert httpx.get(f"{service[1].base_url}/api/v1/cases", headers=held).status_code == 401


def test_roles_follow_the_groups(service, provider):
    person(provider, "r-1", preferred_username="rita", groups="ward-leads")
    assert sign_on(service, "r-1")[1].json()["data"]["role"] == "admin"
    person(provider, "r-1", preferred_username="rita", groups=["nurses"])
    assert sign_on(service, "r-1")[1].json()["data"]["role"] == "operator"


def test_sites_follow_the_groups(tmp_path, provider):
    with serving(tmp_path / "cases.db", provider, oidc_sites={"ward-3": "north", "ward-4": "south"}) as service:
        person(provider, "w-1", preferred_username="wim", groups=["nurses", "ward-4"])
        assert sign_on(service, "w-1")[1].json()["data"]["site"] == "south"
        person(provider, "w-1", preferred_username="wim", groups=["nurses", "ward-3"])
        assert sign_on(service, "w-1")[1].json()["data"]["site"] == "north"
        person(provider, "w-1", preferred_username="wim", groups=["nurses"])
        assert sign_on(service, "w-1")[0].status_code == 403  # of no site is not of every site
        person(provider, "w-2", preferred_username="wilma", groups=["ward-leads"])
        assert sign_on(service, "w-2")[1].json()["data"]["site"] is None


def test_local_users_are_the_fallback_and_cannot_be_taken_over(service, provider):
    person(provider, "evil", preferred_username="ada", groups=["ward-leads"])
    answer, me = sign_on(service, "evil")
    assert answer.status_code == 409
    assert me.status_code == 401
    with browser(service) as http:
        assert http.post("/api/v1/login", json={"name": "ada", "password": PASSWORD}).status_code == 200


def test_who_signs_on_has_no_password(service, provider):
    person(provider, "p-1", preferred_username="paul", groups=["nurses"])
    assert sign_on(service, "p-1")[0].status_code == 200
    with browser(service) as http:
        assert http.post("/api/v1/login", json={"name": "paul", "password": "x" * 12}).status_code == 401


def test_who_is_kept_out_stays_out(service, provider):
    person(provider, "k-1", preferred_username="kim", groups=["nurses"])
    assert sign_on(service, "k-1")[0].status_code == 200
    with service[0].state.desk.database.write() as connection:
        connection.execute(sa.update(users).where(users.c.name == "kim").values(disabled=True))
    answer, me = sign_on(service, "k-1")
    assert "account here is disabled" in answer.text
    assert me.status_code == 401


@pytest.mark.parametrize("name", ["service", "Nobody", "local", "watch", "sign-on"])
def test_names_that_the_trail_itself_uses_are_nobodys(service, provider, name):
    person(provider, f"r-{name}", preferred_username=name, groups=["nurses"])
    answer, me = sign_on(service, f"r-{name}")
    assert "Nobody can be called" in answer.text
    assert me.status_code == 401


@pytest.mark.parametrize("groups", [5, "nurses", {"nurses": 1}, [["nurses"], 7], None])
def test_groups_of_any_shape_are_read_or_refused(service, provider, groups):
    person(provider, "g-1", preferred_username="gus", groups=groups)
    answer, me = sign_on(service, "g-1")
    assert (answer.status_code, me.status_code) == ((200, 200) if groups == "nurses" else (403, 401))


def test_the_way_back_leads_to_this_service_only(service, provider):
    person(provider, "w-1", preferred_username="wim", groups=["nurses"])
    with browser(service) as http:
        back = at_provider(http, "w-1")
        state, nonce, verifier, _goal = http.cookies[COOKIE].split(".", 3)
        http.cookies.clear()
        answer = http.get(back, headers={"cookie": f"{COOKIE}={state}.{nonce}.{verifier}.https%3A%2F%2Fevil.example"})
        assert answer.status_code == 200
        assert "evil.example" not in answer.text
        assert http.get("/sign-on", headers={"host": "evil.example"}).status_code == 422


def test_another_browser_cannot_finish_what_one_began(service, provider):
    person(provider, "n-2", preferred_username="nora", groups=["nurses"])
    with browser(service) as one, browser(service) as other:
        back = at_provider(one, "n-2")
        assert other.get(back).status_code == 403  # began nothing
        at_provider(other, "n-2")
        assert other.get(back).status_code == 403  # began another one
        assert "banditree_session" not in other.cookies
        assert one.get(back).status_code == 200
        assert one.get(back).status_code == 403  # a code counts once


def test_a_token_for_another_sign_on_is_refused(service, provider):
    person(provider, "n-3", preferred_username="nils", groups=["nurses"])
    with browser(service) as http:
        back = at_provider(http, "n-3")
        state, nonce, verifier, goal = http.cookies[COOKIE].split(".", 3)
        http.cookies.clear()
        answer = http.get(back, headers={"cookie": f"{COOKIE}={state}.{'x' * len(nonce)}.{verifier}.{goal}"})
        assert answer.status_code == 403
        assert "token is not valid" in answer.text


def test_no_is_an_answer(service, provider):
    with browser(service) as http:
        begun = http.get("/sign-on")
        denied = httpx.post(begun.headers["location"], data={"action": "deny"}).headers["location"]
        state = http.cookies[COOKIE].split(".")[0]
        answer = http.get(denied if "state=" in denied else f"{denied}&state={state}")
        assert answer.status_code == 403
        assert "access_denied" in answer.text


@pytest.mark.parametrize("name", ["", "../x", "a b", "x" * 65])
def test_strange_names_are_refused(service, provider, name):
    person(provider, "s-1", preferred_username=name, groups=["nurses"])
    answer, me = sign_on(service, "s-1")
    assert (answer.status_code, me.status_code) == (422, 401)
    assert "oidc_name" in answer.text


@pytest.mark.parametrize("goal", ["//evil.example", "https://evil.example", "javascript:alert(1)"])
def test_nobody_is_sent_elsewhere(service, provider, goal):
    person(provider, "g-1", preferred_username="gina", groups=["nurses"])
    with browser(service) as http:
        assert 'content="0; url=/"' in http.get(at_provider(http, "g-1", goal)).text


def test_a_provider_that_is_gone_is_named(tmp_path):
    with serving(tmp_path / "cases.db", "http://localhost:9") as (_app, http):
        answer = http.get("/sign-on")
        assert answer.status_code == 503
        assert http.get("/login").status_code == 200


def test_a_provider_that_calls_itself_otherwise_is_refused(tmp_path, provider):
    other = provider.replace("localhost", "127.0.0.1") + "/"
    with serving(tmp_path / "cases.db", other) as (_app, http):
        assert http.get("/sign-on").status_code == 503


def test_the_address_people_see_is_the_one_they_come_back_to(tmp_path, provider):
    with serving(tmp_path / "cases.db", provider, public_url="https://plans.clinic.example/") as (_app, http):
        asked = parse_qs(urlsplit(http.get("/sign-on").headers["location"]).query)
        assert asked["redirect_uri"] == ["https://plans.clinic.example/sign-on/back"]


def test_without_a_provider_there_is_no_sign_on(tmp_path):
    with in_thread(local(tmp_path / "cases.db")) as (_app, http):
        assert http.get("/sign-on").status_code == 404


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"oidc_issuer": "http://id.clinic.example"}, "must be an address that begins with https://"),
        ({"oidc_client": ""}, "must be given together with authentication=True"),
        ({"authentication": False}, "must be given together with authentication=True"),
        (
            {"oidc_roles": {"nurses": "boss"}},
            "must be made of values that are each 'viewer', .* or 'admin'. Got 'boss'",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(options, message):
    given = {"authentication": True, "oidc_issuer": "https://id.clinic.example", "oidc_client": "plans"}
    with pytest.raises(InvalidInput, match=message):
        Settings(**{**given, "oidc_roles": ROLES, **options})


def test_the_secret_is_not_printed():
    assert "s3cret" not in repr(Settings(oidc_secret="s3cret"))
