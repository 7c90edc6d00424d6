"""CDS Hooks 2.0, asked as clinical systems ask: the requests are shaped as those of the public sandbox."""

import base64
import json
import time
import uuid

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet
from running_service import SHORT_PLAN, in_thread, local

from banditree.errors import InvalidInput
from banditree.files.plans import plan_json
from banditree.service.settings import Settings
from banditree.service.store.database import Database
from banditree.service.store.people import Role, add_user, change_user, give_secret, hashed

PUBLIC = "https://plans.clinic.example"
EHR = "https://ehr.clinic.example"
KEY = ECKey.generate_key("P-384", {"kid": "one"})
STRANGER = ECKey.generate_key("P-384", {"kid": "one"})


def token(path, key=KEY, seconds=300, **changes):
    now = int(time.time())
    claims = {"iss": EHR, "sub": "client", "aud": f"{PUBLIC}{path}", "exp": now + seconds, "iat": now}
    header = {"alg": "ES384", "typ": "JWT", "kid": "one", "jku": f"{EHR}/.well-known/jwks.json"}
    return jwt.encode(header, {**claims, "jti": str(uuid.uuid4()), **changes}, key, algorithms=["ES384"])


class Asker:
    """A clinical system that calls a running service."""

    def __init__(self, app, http, admin):
        self.app, self.http, self.admin = app, http, {"authorization": f"Bearer {admin}"}
        sent = {"name": "ward", "plan": json.loads(plan_json(SHORT_PLAN)), "sign": {"comment": "tested"}}
        self.plan = self.api("plans", sent)["id"]

    def api(self, path, body=None):
        call = (lambda url: self.http.get(url, headers=self.admin)) if body is None else self.post_as_admin(body)
        answer = call(f"/api/v1/{path}")
        assert answer.is_success, answer.text
        return answer.json()["data"]

    def post_as_admin(self, body):
        return lambda url: self.http.post(url, json=body, headers=self.admin)

    def start(self, id):
        self.api("cases", {"plan": self.plan, "id": id, "label": "Jane Doe, bed 12"})

    def call(self, path, body=None, given=None, **headers):
        signed = token(path) if given is None else given
        return self.http.request(
            "GET" if body is None else "POST",
            path,
            json=body,
            headers={"accept": "application/json", "authorization": f"Bearer {signed}", **headers},
        )

    def cards(self, *ids, **changes):
        return self.call("/cds-services/next-step", opened(*ids, **changes))

    def card(self, id):
        (card,) = self.cards(id).json()["cards"]
        return card

    def feedback(self, card, **answer):
        sent = {"feedback": [{"card": card["uuid"], "outcomeTimestamp": "2026-11-19T05:00:00Z", **answer}]}
        return self.call("/cds-services/next-step/feedback", sent)

    def history(self, id):
        return self.api(f"cases/{id}/events")


def opened(*ids, patient=None, **changes):
    """A request of the public sandbox when a chart is opened."""
    identifiers = [{"system": f"{PUBLIC}/cases", "value": id} for id in ids]
    resource = {
        "resourceType": "Patient",
        "id": "1288992",
        "identifier": [{"use": "usual", "system": "urn:oid:1.2.36.146.595.217.0.1", "value": "12345"}, *identifiers],
        "name": [{"use": "official", "family": "Adams", "given": ["Daniel", "X."]}],
        "gender": "male",
        "birthDate": "1925-12-23",
    }
    return {
        "hookInstance": str(uuid.uuid4()),
        "hook": "patient-view",
        "fhirServer": "https://launch.smarthealthit.org/v/r4/fhir",
        "context": {"patientId": "1288992", "userId": "Practitioner/COREPRACTITIONER1"},
        "fhirAuthorization": {
            "access_token": "t",
            "token_type": "Bearer",
            "expires_in": 300,
            "scope": "",
            "subject": "c",
        },
        "prefetch": {"patient": resource if patient is None else patient},
        **changes,
    }


@pytest.fixture(scope="module")
def asker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cds")
    systems = folder / "systems.json"
    keys = KeySet([KEY]).as_dict(private=False)
    systems.write_text(json.dumps({EHR: {"user": "ehr", "keys": keys}}))
    opened = Database(local(folder / "cases.db"))
    with opened.write() as connection:
        add_user(connection, "test", "ada", Role.ADMIN, hashed("correct horse battery"))
        add_user(connection, "test", "ehr", Role.OPERATOR, hashed("correct horse battery"))
        _, admin = give_secret(connection, "token", "ada", Role.ADMIN, "test", None)
    opened.close()
    options = {"authentication": True, "secure_cookies": False, "sign_alone": True, "public_url": PUBLIC}
    with in_thread(local(folder / "cases.db", **options, cds_clients=str(systems))) as (app, http):
        yield Asker(app, http, admin)


def test_the_service_is_found_with_a_token(asker):
    (service,) = asker.call("/cds-services").json()["services"]
    assert service["hook"] == "patient-view"
    assert service["id"] == "next-step"
    assert service["prefetch"] == {"patient": "Patient/{{context.patientId}}"}
    assert f"{PUBLIC}/cases" in service["usageRequirements"]


def test_a_card_says_the_next_step_why_and_where(asker):
    asker.start("bed-1")
    card = asker.card("bed-1")
    assert card["summary"] == "Administer Alpha (round 1 of 10)"
    assert "Administer Alpha 7 times" in card["detail"]
    assert card["indicator"] == "info"
    assert card["links"] == [{"label": "Open the case", "url": f"{PUBLIC}/cases/bed-1", "type": "absolute"}]
    assert card["source"] == {"label": "banditree", "url": f"{PUBLIC}/plans/{asker.plan}"}
    assert card["selectionBehavior"] == "at-most-one"
    assert card["suggestions"][0]["label"] == "Administer Alpha"
    assert card["overrideReasons"][0]["display"] == "Beta was given instead"
    assert "Jane" not in json.dumps(card)
    assert asker.history("bed-1") == []  # looking opened nothing
    asker.api("cases/bed-1/ask", {})
    assert asker.card("bed-1")["summary"] == "Administer Alpha (round 1 of 10)"


def test_an_accepted_card_opens_its_round_once_however_often_that_is_told(asker):
    asker.start("bed-2")
    card = asker.card("bed-2")
    answer = {"outcome": "accepted", "acceptedSuggestions": [{"id": card["suggestions"][0]["uuid"]}]}
    for _ in range(3):
        assert asker.feedback(card, **answer).status_code == 200
    told = asker.history("bed-2")
    assert [(event["kind"], event["actor"]) for event in told] == [("noted", "ehr"), ("asked", "ehr")]
    assert told[0]["details"] == {"text": "At the point of care the next step was accepted, 2026-11-19 05:00."}


def test_reasons_are_on_record_with_the_case_and_the_arm_given_instead(asker):
    asker.start("bed-3")
    asker.api("cases/bed-3/ask", {})
    card = asker.card("bed-3")
    instead = {name: card["overrideReasons"][0][name] for name in ("code", "system")}
    reason = {"reason": instead, "userComment": "Alpha is out of stock"}
    assert asker.feedback(card, outcome="overridden", overrideReason=reason).status_code == 200
    told = asker.history("bed-3")
    assert [event["kind"] for event in told] == ["asked", "noted", "overridden"]
    assert told[2]["arm"] == "Beta"
    assert "Alpha is out of stock" in told[2]["details"]["reason"]
    assert "Alpha is out of stock" in told[1]["details"]["text"]


def test_an_answer_to_a_card_that_time_has_passed_is_a_note_and_changes_nothing(asker):
    asker.start("bed-4")
    asker.api("cases/bed-4/ask", {})
    card = asker.card("bed-4")
    asker.api("cases/bed-4/tell", {"round": 1, "reward": 1})
    reason = {"reason": card["overrideReasons"][0]}
    assert asker.feedback(card, outcome="overridden", overrideReason=reason).status_code == 200
    assert [event["kind"] for event in asker.history("bed-4")] == ["asked", "told", "noted"]


def test_a_patient_without_our_identifier_has_no_card_and_a_wrong_one_is_said(asker):
    assert asker.cards().json() == {"cards": []}
    (card,) = asker.cards("nobody").json()["cards"]
    assert (card["summary"], card["indicator"]) == ("There is no case nobody", "warning")
    asker.start("bed-5")
    assert len(asker.cards("bed-5", "bed-1").json()["cards"]) == 2
    asker.api("cases/bed-5/close", {})
    assert asker.cards("bed-5").json() == {"cards": []}


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"patient": {"resourceType": "Observation", "id": "1288992"}}, 422, "type Patient. Got 'Observation'"),
        ({"patient": "Patient/1288992"}, 422, "type Patient"),
        ({"patient": {"resourceType": "Patient", "id": "another"}}, 422, "the patient of the context"),
        ({"patient": {"resourceType": "Patient", "id": "1288992", "identifier": 5}}, 422, "a list as its identifier"),
        ({"prefetch": {}}, 412, "nothing is read from FHIR servers"),
        ({"prefetch": None}, 412, "nothing is read from FHIR servers"),
        ({"hook": "order-sign"}, 422, "patient-view"),
        ({"context": {}}, 422, "context.patientId"),
    ],
)
def test_what_is_no_patient_gets_a_sentence(asker, changes, status, said):
    answer = asker.cards("bed-1", **changes)
    assert (answer.status_code, said in answer.json()["error"]["message"]) == (status, True), answer.text


@pytest.mark.parametrize("value", [None, 5, {}, "two words", "x" * 65])
def test_an_identifier_that_is_no_id_of_a_case_gets_a_sentence(asker, value):
    answer = asker.cards(value)
    assert (answer.status_code, "the id of a case" in answer.text) == (422, True)


@pytest.mark.parametrize("path", ["/cds-services", "/cds-services/next-step", "/cds-services/next-step/feedback"])
def test_nothing_leaves_without_a_token_of_a_known_system(asker, path):
    body = None if path == "/cds-services" else opened("bed-1")
    old, far = int(time.time()) - 3600, {"seconds": 86_400}
    wrong = {
        "nothing": "nothing",
        "an API token": asker.admin["authorization"].removeprefix("Bearer "),
        "another key": token(path, STRANGER),
        "another address": token("/cds-services/other"),
        "another system": token(path, iss="https://elsewhere.example"),
        "it is over": token(path, exp=old),
        "it is valid for a day": token(path, **far),
        "no number of its own": token(path, jti=None),
        "unsigned": jwt_without_signature(path),
        "rubbish": "a.b.c",
    }
    for why, given in wrong.items():
        answer = asker.call(path, body, given)
        assert (answer.status_code, "cards" in answer.text) == (401, False), (why, answer.text)
    assert asker.http.request("GET" if body is None else "POST", path, json=body).status_code == 401
    used = token(path)
    assert asker.call(path, body, used).status_code != 401
    assert "used before" in asker.call(path, body, used).text
    assert (
        asker.http.get("/api/v1/cases", headers={"authorization": f"Bearer {token('/api/v1/cases')}"}).status_code
        == 401
    )


def test_a_token_counts_once_on_all_servers_and_after_a_restart(asker):
    path, used, other = "/cds-services", token("/cds-services"), token("/cds-services")
    assert asker.call(path, None, used).status_code == 200
    again = Asker.__new__(Asker)
    for _ in range(2):
        with in_thread(asker.app.state.settings) as (_, again.http):
            refused = again.call(path, None, used)
            assert (refused.status_code, "used before" in refused.text) == (401, True)
            again.call(path, None, other)
    assert asker.call(path, None, other).status_code == 401
    assert asker.call(path).status_code == 200


def jwt_without_signature(path):
    _head, payload, _signature = token(path).split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').decode().rstrip("=")
    return f"{none}.{payload}."


def test_a_card_of_another_service_is_refused_and_changes_nothing(asker):
    for card in ("x", str(uuid.uuid4()), "00000000-0000-8000-8000-000000000000"):
        answer = asker.feedback({"uuid": card}, outcome="accepted")
        assert (answer.status_code, "There was no card" in answer.text) == (404, True)


def test_pages_of_a_known_system_may_call_in_a_browser_and_others_may_not(asker):
    ask = {"origin": EHR, "access-control-request-method": "POST"}
    first = asker.http.options("/cds-services/next-step", headers=ask)
    assert first.headers["access-control-allow-origin"] == EHR
    answer = asker.call("/cds-services/next-step", opened(), origin=EHR)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, EHR)
    other = {**ask, "origin": "https://elsewhere.example"}
    assert "access-control-allow-origin" not in asker.http.options("/cds-services/next-step", headers=other).headers
    assert asker.call("/cds-services/next-step", opened(), origin=other["origin"]).status_code == 403


def test_reads_are_noted_and_a_user_who_is_kept_out_ends_the_system(asker):
    asker.start("bed-6")
    asker.card("bed-6")
    for _ in range(50):
        lines = asker.api("audit?limit=1000")
        if any("next step of bed-6" in (line["subject"] or "") for line in lines):
            break
        time.sleep(0.1)
    else:
        raise AssertionError(lines)
    with asker.app.state.desk.database.write() as connection:
        change_user(connection, "test", "ehr", None, None, disabled=True)
    assert asker.cards("bed-6").status_code == 401
    with asker.app.state.desk.database.write() as connection:
        change_user(connection, "test", "ehr", None, None, disabled=False)


def test_names_of_options_are_no_markdown():
    from banditree.service.point_of_care.cards import _plain

    assert _plain("[x](http://a) <b>*y*") == "\\[x\\](http://a) \\<b\\>\\*y\\*"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no json", "must be a file in JSON"),
        ("[]", "must hold an object"),
        ('{"ehr": {"user": "ehr", "keys": {"keys": []}}}', "by the address in 'iss'"),
        (f'{{"{EHR}": {{"user": "ehr"}}}}', "a user and keys"),
        (f'{{"{EHR}": {{"user": "ehr", "keys": 5}}}}', "not a JSON Web Key Set"),
        (json.dumps({EHR: {"user": "ehr", "keys": KeySet([KEY]).as_dict(private=True)}}), "must be public ones"),
    ],
)
def test_a_file_of_systems_that_cannot_be_used_is_refused(tmp_path, content, said):
    from banditree.service.point_of_care.systems import read_systems

    (tmp_path / "systems.json").write_text(content)
    with pytest.raises(InvalidInput, match=said):
        read_systems(str(tmp_path / "systems.json"))


def test_systems_need_log_in_and_an_address():
    with pytest.raises(InvalidInput, match="cds_clients must be given together with"):
        Settings(cds_clients="systems.json")
