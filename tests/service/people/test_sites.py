"""People of a site see what is of that site and of everybody, over every route, and nothing else."""

import json
import re

import httpx
import pytest
from running_service import CLINIC, in_thread, local

from banditree.files.collections import collection_document
from banditree.files.documents import dump
from banditree.files.plans import plan_json
from banditree.service.store.database import Database
from banditree.service.store.people import Role, add_user, hashed
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree

PASSWORD = "correct horse battery"
USERS = {
    "root": (Role.ADMIN, None),
    "nell": (Role.SIGNER, "north"),
    "nick": (Role.VIEWER, "north"),
    "sam": (Role.SIGNER, "south"),
    "olga": (Role.OPERATOR, None),
}
NORTH = Collection.bernoulli([[0.8, 0.2], [0.2, 0.7]], arms=["Xnorthine", "B"], tasks=["mild", "severe"])


def file_of(collection):
    return json.loads(dump(collection_document(collection)))


def plan_file(plan):
    return json.loads(plan_json(plan))


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    path = tmp_path_factory.mktemp("sites") / "cases.db"
    database = Database(local(path))
    with database.write() as connection:
        for name, (role, site) in USERS.items():
            add_user(connection, "test", name, role, hashed(PASSWORD), site)
    database.close()
    with in_thread(local(path, authentication=True, secure_cookies=False, sign_alone=True)) as running:
        yield running


@pytest.fixture(scope="module")
def people(running):
    """A client for each of the users."""
    clients = {}
    for name in USERS:
        http = clients[name] = httpx.Client(base_url=running[1].base_url, timeout=600)
        answer = http.post("/api/v1/login", json={"name": name, "password": PASSWORD}).json()["data"]
        http.headers["x-csrf-token"] = answer["csrf_token"]
        assert http.get("/api/v1/me").json()["data"]["site"] == USERS[name][1]
    yield clients
    for http in clients.values():
        http.close()


def post(http, path, **body):
    answer = http.post(f"/api/v1/{path}", json=body)
    return answer.json()["data"] if answer.status_code == 200 else answer.status_code


@pytest.fixture(scope="module")
def north(people):
    """What the north has: a collection, a plan, a case with an outcome, a certificate."""
    nell = people["nell"]
    collection = post(nell, "collections", name="north-rates", collection=file_of(NORTH))["id"]
    document = plan_file(build_tree(NORTH, 50))
    plan = post(nell, "plans", name="north-plan", plan=document, collection=collection, sign={"comment": "ours"})["id"]
    post(nell, "cases", plan=plan, id="north-1", label="north-bed")
    post(nell, "cases/north-1/ask")
    post(nell, "cases/north-1/tell", round=1, reward=1)
    assert nell.get(f"/api/v1/plans/{plan}/certificate").status_code == 200
    job = nell.get("/api/v1/jobs").json()["data"][0]["id"]
    file = nell.post("/api/v1/files?name=north-log.csv", content=b"task,arm\n1,2\n").json()["data"]["id"]
    search = nell.post("/api/v1/jobs", json={"kind": "learn", "settings": {"file": file}}).json()["data"]["id"]
    known = {"collection": collection, "plan": plan, "case": "north-1", "job": job, "document": document}
    return {**known, "file": file, "search": search}


def addresses(running, north):
    """Every address with an id of the north in it, and every list."""
    ids = {"cases": north["case"], "plans": north["plan"], "collections": north["collection"], "jobs": north["job"]}
    ids["files"] = north["file"]
    app, todo, found = running[0], list(running[0].routes), []
    while todo:
        route = todo.pop()
        if not hasattr(route, "methods"):
            todo += list(getattr(route, "routes", ())) or list(route.original_router.routes)
            continue
        path = route.path.replace("{what}", "events").replace("{job}", north["job"])
        kind = next((kind for kind in ids if f"/{kind}/" in path), None)
        path = path.replace("{id}", ids[kind]) if kind else path
        if "{" not in path and not re.search("login|logout|sign-on|static|password|tokens|users|openapi", path):
            found += [(method, path) for method in route.methods - {"HEAD"}]
    assert app is not None
    assert len(found) > 50
    return sorted(found)


REPORT = {"round": 1, "reward": 0}
BODIES = {  # what is right for a route, by how its path ends
    "cases/start": {"cases": [{"plan": "PLAN", "id": "s-1"}, {"plan": "PLAN", "id": "north-1"}]},
    "cases/ask": {"asks": [{"case": "north-1"}]},
    "cases/tell": {"tells": [{"case": "north-1", **REPORT}]},
    "north-1/tell": REPORT,
    "north-1/correct": {**REPORT, "reason": "x"},
    "north-1/undo": {"round": 1},
    "north-1/reopen": {"reason": "x"},
    "north-1/override": {"arm": "B", "reason": "x"},
    "north-1/note": {"text": "x"},
    "sign": {"comment": "x"},
    "split": {"new": "PLAN", "comment": "x"},
    "splits": {"old": "PLAN", "new": "x", "comment": "x"},
    "successor": {"job": "x", "name": "x"},
}


def test_nobody_of_the_south_sees_or_changes_anything_of_the_north(running, people, north):
    sam, nell = people["sam"], people["nell"]
    before = nell.get("/api/v1/cases/north-1/events").json()
    ids = {north["plan"], north["collection"], north["job"], north["file"], "north-1"}
    secrets = ("north-rates", "north-log", north["search"], "north-plan", "north-bed", "Xnorthine", *ids)
    for method, path in addresses(running, north):
        parts = path.split("/")
        body = BODIES.get("/".join(parts[-2:])) or BODIES.get(parts[-1], {})
        body = json.loads(json.dumps(body).replace("PLAN", north["plan"]))
        if method == "GET":
            answer = sam.get(path)
        elif path.startswith("/api"):
            answer = sam.request(method, path, json=body)
        else:
            filled = {name: str(value) for name, value in body.items()}
            answer = sam.post(path, data={**filled, "csrf_token": sam.headers["x-csrf-token"]})
        sent = set(path.split("/")) & ids | {id for id in ids if id in json.dumps(body)}
        told = [word for word in secrets if word in answer.text and word not in sent]
        assert not told, (method, path, told)
        if ids & set(path.split("/")):
            refusals = (404,) if path.startswith("/api") and "erase" not in path else (403, 404)
            going = path.endswith("/compare")  # without another plan it goes back to the first one's page
            assert answer.status_code in refusals or going, (method, path, answer.status_code, answer.text[:200])
    assert nell.get("/api/v1/cases/north-1/events").json() == before


@pytest.mark.slow
def test_ids_in_bodies_and_queries_lead_nowhere(people, north):
    sam = people["sam"]
    assert post(sam, "cases", plan=north["plan"], id="s-2") == 404
    assert post(sam, "cases", plan=north["plan"], id="north-1") == 409
    mine = post(sam, "plans", name="mine", plan=plan_file(build_tree(NORTH, 60)), collection=north["collection"])
    assert mine == 404
    for path in ("cases", "export/decisions", "export/events"):
        assert "north-1" not in sam.get(f"/api/v1/{path}", params={"plan": north["plan"]}).text
    south = post(sam, "collections", name="south-rates", collection=file_of(CLINIC))["id"]
    plan = post(sam, "plans", name="south-plan", plan=plan_file(build_tree(CLINIC, 50)), collection=south)["id"]
    other = {"collection": north["collection"]}
    assert sam.get(f"/api/v1/plans/{plan}/certificate", params=other).status_code == 404
    assert "Xnorthine" not in sam.get(f"/plans/{plan}/compare", params={"other": north["plan"]}).text


def test_the_refusal_is_that_of_what_is_not_there(people, north):
    there, nowhere = (people["sam"].get(f"/api/v1/cases/{id}").json() for id in ("north-1", "nowhere"))
    assert there["error"]["message"].replace("north-1", "nowhere") == nowhere["error"]["message"]


def test_those_of_the_site_and_of_none_see_it(people, north):
    for name in ("nell", "nick", "olga", "root"):
        http = people[name]
        line = next(one for one in http.get("/api/v1/cases").json()["data"] if one["id"] == "north-1")
        assert line["site"] == "north"
        for path in [f"{kind}s/{north[kind]}" for kind in ("plan", "collection", "case", "job")]:
            assert http.get(f"/api/v1/{path}").status_code == 200, (name, path)
        assert http.get("/cases/north-1").status_code == 200
    assert "Xnorthine" in people["nell"].get("/api/v1/export/events").text
    assert "(viewer, north)" in people["nick"].get("/cases").text


def test_what_somebody_of_no_site_starts_on_a_plan_of_a_site_is_of_that_site(people, north):
    post(people["olga"], "cases", plan=north["plan"], id="olgas")
    assert people["nell"].get("/api/v1/cases/olgas").status_code == 200
    assert people["sam"].get("/api/v1/cases/olgas").status_code == 404


def test_the_same_plan_at_two_sites_is_shared_by_somebody_of_no_site(people):
    document = plan_file(build_tree(CLINIC, 77))
    plan = post(people["nell"], "plans", name="first", plan=document)["id"]
    assert post(people["sam"], "plans", name="second", plan=document) == 409
    assert people["sam"].get(f"/api/v1/plans/{plan}").status_code == 404
    assert post(people["olga"], "plans", name="third", plan=document)["id"] == plan
    assert people["sam"].get(f"/api/v1/plans/{plan}").status_code == 200
    assert post(people["sam"], "plans", name="second", plan=document)["id"] == plan


def test_admins_belong_to_no_site_and_move_people(people):
    root = people["root"]
    new = {"name": "max", "role": "operator", "password": PASSWORD, "site": "north"}
    assert root.post("/api/v1/users", json={**new, "role": "admin"}).status_code == 422
    assert root.post("/api/v1/users", json=new).status_code == 200
    assert root.patch("/api/v1/users/max", json={"role": "admin"}).status_code == 422
    form = {"csrf_token": root.headers["x-csrf-token"]}
    sites = []
    for site in ("south", ""):
        assert root.post("/users/max", data={**form, "site": site}).status_code == 303
        users = {one["name"]: one["site"] for one in root.get("/api/v1/users").json()["data"]}
        sites.append(users["max"])
    assert sites == ["south", None]
    assert root.patch("/api/v1/users/max", json={"role": "admin"}).status_code == 200


@pytest.mark.slow
def test_what_is_monitored_over_all_sites_is_for_those_who_see_all(people, north):
    """A job over the cases of all sites is not shown to those of one."""
    found = people["olga"].get(f"/api/v1/plans/{north['plan']}/monitor")
    assert found.status_code in (200, 202, 404)
    jobs = [job["id"] for job in people["olga"].get("/api/v1/jobs").json()["data"] if job["kind"] == "monitor"]
    mine = {job["id"] for job in people["nell"].get("/api/v1/jobs").json()["data"]}
    assert not mine & set(jobs)
