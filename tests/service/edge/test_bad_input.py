"""Whatever is sent, the answer is never a 5xx: schemathesis over the whole OpenAPI document, and mangled uploads."""

import copy
import json
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from running_service import CLINIC, client_of, clinic_plan, in_thread, local, new_database

from banditree.errors import InvalidInput
from banditree.files.collections import CollectionFile, collection_document, collection_from_document
from banditree.files.documents import parse
from banditree.files.plans import PlanFile, plan_document, plan_from_document
from banditree.tasks.instances import linear

GOLDEN = Path(__file__).parents[2] / "golden" / "files"
ODD = [None, -1, 0, 1, 2**70, 1e308, -0.5, "", "x", "\u0000", "é" * 50, [], {}, [[]], [1, [2]], True, {"a": 1}]


@pytest.fixture(scope="module")
def open_service(postgres):
    """On PostgreSQL, which takes fewer texts and numbers than SQLite does."""
    with in_thread(local(new_database(postgres, "bad_input"), sign_alone=True)) as (_app, http):
        yield http


def checked(answer):
    """A response in one of the two shapes, and not a 5xx."""
    assert answer.status_code < 500, answer.text
    if answer.headers["content-type"] == "application/json" and "openapi" not in str(answer.url):
        assert list(answer.json()) == (["data"] if answer.status_code < 400 else ["error"])
    return answer


def sweep(http, n_examples):
    """Requests made up from the OpenAPI document, right and wrong ones, half of them about a case that exists."""
    import schemathesis  # here, because every test process would pay a second for it

    client = client_of(http)
    plan = client.add_plan(clinic_plan(90), "clinic", client.add_collection(CLINIC, "clinic"), sign="tested")
    schema = schemathesis.openapi.from_url(f"{http.base_url}/api/v1/openapi.json")
    statuses = Counter()
    for operation in (found.ok() for found in schema.get_all_operations()):
        existing = client.start(plan).id
        client.ask(existing, 2)
        for mode in schemathesis.GenerationMode:
            with suppress(Unsatisfiable):  # where nothing can be wrong
                try_out(operation.as_strategy(generation_mode=mode), existing, statuses, n_examples)
    return statuses


def try_out(requests, existing, statuses, n_examples):
    """Send some of these requests; about half of those about a case are about the existing one."""
    from schemathesis.checks import not_a_server_error

    @settings(max_examples=n_examples, suppress_health_check=list(HealthCheck))
    @given(request=requests, about_it=st.booleans())
    def check(request, about_it):
        if about_it and "id" in request.path_parameters:
            request.path_parameters["id"] = existing
        answer = request.call()
        request.validate_response(answer, checks=[not_a_server_error])
        statuses[answer.status_code] += 1

    check()


def mangled(document, rng):
    """A copy with one to three of its parts removed, doubled or replaced by something odd."""
    changed = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        parent = changed
        while True:
            keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(parent[key], dict | list) and parent[key] and rng.random() < 0.75:
                parent = parent[key]
                continue
            kind = rng.random()
            if kind < 0.2:
                del parent[key]
            elif kind < 0.3 and isinstance(parent, list):
                parent.append(copy.deepcopy(parent[key]))
            else:
                parent[key] = copy.deepcopy(rng.choice(ODD))
            break
    return changed


def uploads():
    plans = [json.loads(path.read_text()) for path in sorted(GOLDEN.glob("*.plan.json"))]
    plans.append(plan_document(clinic_plan()).model_dump(mode="json", by_alias=True, exclude_none=True))
    known = [CLINIC, linear(4, 5, 3, 0.2)]
    collections = [collection_document(one).model_dump(mode="json", by_alias=True, exclude_none=True) for one in known]
    return plans, collections


def fuzz(http, n, seed):
    """Upload mangled plans and collections; where a mangled plan is taken, follow it for a while."""
    rng, (plans, collections), taken = random.Random(seed), uploads(), 0
    for _ in range(n):
        new = {"name": "x", "plan": mangled(rng.choice(plans), rng), "sign": {"comment": "fuzz"}}
        answer = checked(http.post("/api/v1/plans", json=new))
        if answer.status_code == 200:
            taken += 1
            follow(http, answer.json()["data"]["id"])
        collection = mangled(rng.choice(collections), rng)
        checked(http.post("/api/v1/collections", json={"name": "x", "collection": collection}))
    return taken


def follow(http, plan):
    case = checked(http.post("/api/v1/cases", json={"plan": plan})).json()["data"]["id"]
    for _ in range(3):
        for step in checked(http.post(f"/api/v1/cases/{case}/ask", json={"n": 3})).json()["data"]:
            checked(http.post(f"/api/v1/cases/{case}/tell", json={"round": step["round"], "reward": 1}))
    checked(http.get(f"/api/v1/cases/{case}"))


@pytest.mark.slow
def test_no_request_the_document_can_describe_breaks_the_service(open_service):
    statuses = sweep(open_service, 2)
    print(statuses)
    assert min(statuses[200], statuses[404], statuses[422]) > 20


@pytest.mark.slow
def test_mangled_uploads_are_refused_or_work(open_service):
    assert fuzz(open_service, 100, seed=2) > 0


def test_mangled_files_are_read_or_refused_in_one_line():
    rng, (plans, collections), refusals = random.Random(3), uploads(), set()
    for _ in range(600):
        try:
            plan_from_document(parse(PlanFile, mangled(rng.choice(plans), rng), "it"), "it")
            collection_from_document(parse(CollectionFile, mangled(rng.choice(collections), rng), "it"), "it")
        except InvalidInput as refusal:
            refusals.add(str(refusal))
    assert len(refusals) > 50
    assert not any("\n" in refusal for refusal in refusals)


@pytest.mark.soak
def test_no_request_breaks_the_service_at_length(open_service):
    assert sweep(open_service, 500)[200] > 1000


@pytest.mark.soak
def test_mangled_uploads_at_length(open_service):
    assert fuzz(open_service, 20_000, seed=1) > 500
