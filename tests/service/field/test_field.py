"""A plan in the field: monitored, shown, relearned and succeeded, over the API and on the pages."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import sqlalchemy as sa
from running_service import CLINIC, client_of, clinic_plan, in_thread, local

from banditree.cli.app import main
from banditree.files.collections import save_collection
from banditree.files.plans import save_plan
from banditree.service.field.monitoring import forget_old
from banditree.service.jobs import routes as job_routes
from banditree.service.jobs.worker import Worker
from banditree.service.settings import Settings
from banditree.service.store.database import Database
from banditree.service.store.schema import jobs
from banditree.tasks.collection import Collection

ESTIMATED = Collection.bernoulli(CLINIC.means, arms=CLINIC.arms, tasks=CLINIC.tasks, radius=0.05)


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    """A plan with cases; gives the client, the plan's id, and what does the jobs in line."""
    with in_thread(local(tmp_path_factory.mktemp("field") / "cases.db", workers=0)) as (app, http):
        worker = Worker(app.state.settings)

        def work():
            while worker.step():
                pass

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(job_routes, "PATIENCE", 0.0)
            client = client_of(http)
            client.database = app.state.settings.database
            collection = client.add_collection(ESTIMATED, "clinic")
            plan = client.add_plan(clinic_plan(60), "clinic", collection, sign="as agreed")
            follow(client, plan, 12)
            yield client, http, plan, work
        worker.database.close()


def follow(client, plan, n):
    """Cases of either kind in turn, ten rounds each; one outcome is missing, one round is overridden."""
    rng = np.random.default_rng(0)
    for number in range(n):
        case = client.start(plan, id=f"p-{plan}-{number}", label=f"ward {number % 2}").id
        step = client.ask(case)[0]
        for turn in range(10):
            arm = CLINIC.arms.index(step.arm)
            if number == 3 and turn == 8:
                client.override(case, "A" if step.arm == "B" else "B", "wished for", step.round)
            outcome = "missing" if number == 2 and turn == 4 else int(rng.random() < CLINIC.means[number % 2, arm])
            step = client.tell(case, step.round, outcome, ask=1).steps[0]


@pytest.mark.slow
def test_a_plan_is_monitored(field):
    _client, http, plan, work = field
    assert http.get(f"/api/v1/plans/{plan}/monitor").status_code == 202
    work()
    found = http.get(f"/api/v1/plans/{plan}/monitor").json()["data"]
    whole = found["parts"][0]
    assert (whole["cases"], whole["rounds"], whole["missing"], whole["overridden"]) == (12, 119, 1, 1)
    assert found["alarms"] == []
    http.get(f"/api/v1/plans/{plan}/monitor", params={"by": "label"})
    work()
    parts = http.get(f"/api/v1/plans/{plan}/monitor", params={"by": "label"}).json()["data"]["parts"]
    assert [part["group"] for part in parts] == [None, "ward 0", "ward 1"]
    digest = http.get(f"/api/v1/plans/{plan}/digest")
    assert digest.headers["content-type"].startswith("text/markdown")
    assert digest.text.startswith("# Weekly digest")


@pytest.mark.slow
def test_the_page_shows_alarms_charts_and_tables(field):
    _client, http, plan, work = field
    http.get(f"/plans/{plan}/field")
    work()
    text = http.get(f"/plans/{plan}/field").text
    assert "No alarm" in text
    assert text.count("<svg") == 4
    assert "Learn from these cases" in text
    assert http.get("/plans/nothing/field", headers={"accept": "text/html"}).status_code == 404


def test_what_was_found_out_long_ago_is_forgotten(field):
    client, http, plan, work = field
    http.get(f"/api/v1/plans/{plan}/monitor")
    work()
    with Database(Settings(database=client.database)).write() as connection:
        before = connection.execute(sa.update(jobs).where(jobs.c.kind == "monitor").values(ended="2020-01-01")).rowcount
        forget_old(connection, plan)
        left = connection.execute(sa.select(sa.func.count()).where(jobs.c.kind == "monitor")).scalar_one()
    assert before > 0
    assert left == 0


@pytest.mark.slow
@pytest.mark.parametrize("place", ["address", "database"])
def test_the_command_reads_the_cases_of_a_service(field, place, tmp_path, capsys):
    _client, http, _plan, _work = field
    save_plan(clinic_plan(60), tmp_path / "plan.json")
    save_collection(ESTIMATED, tmp_path / "tasks.json")
    where = [str(http.base_url)] if place == "address" else ["--database", field[0].database]
    with pytest.raises(SystemExit) as ended:
        main(["monitor", str(tmp_path / "plan.json"), str(tmp_path / "tasks.json"), *where, "--by", "label", "--json"])
    assert ended.value.code == 0
    told, *by_label = json.loads(capsys.readouterr().out)["parts"]
    assert [part["group"] for part in by_label] == ["ward 0", "ward 1"]
    assert (told["cases"], told["rounds"], told["overridden"]) == (12, 119, 1)
    assert told["missing"] == (0 if place == "address" else 1)  # an export has the outcomes that are known


def test_a_plan_without_outcomes_has_nothing_to_monitor(field):
    client, http, _plan, _work = field
    other = client.add_plan(clinic_plan(61), "new", client.add_collection(ESTIMATED, "clinic"), sign="fine")
    answer = http.get(f"/api/v1/plans/{other}/monitor")
    assert answer.status_code == 404
    assert "no outcomes yet" in answer.json()["error"]["message"]
    assert "no outcomes yet" in http.get(f"/plans/{other}/field").text


@pytest.mark.slow
def test_cases_become_a_draft_that_replaces_the_plan_once_signed(field):
    client, http, plan, work = field
    today = datetime.now(UTC).date()
    late = http.post(f"/api/v1/plans/{plan}/relearn", json={"since": str(today + timedelta(days=2)), "log_weight": 0.1})
    work()
    assert "nothing to learn from" in client.job(late.json()["data"]["id"]).problem
    page = http.post(
        f"/plans/{plan}/relearn",
        data={"since": str(today - timedelta(days=2)), "percent": "50"},
        headers={"origin": str(http.base_url).rstrip("/")},
    )
    assert page.status_code in (200, 303)
    job = next(job for job in client.jobs() if job.kind == "relearn").id
    work()
    shown = http.get(f"/plans/{plan}/relearned/{job}").text
    assert "Rates that changed" in shown
    assert "the log counts 50%" in shown
    document = client.job(job).result["document"]
    kept = "is not shown to be better" if document["held_out"] else "is no better"
    assert (kept in shown) is not document["new_is_better"]
    taken = http.post(f"/api/v1/plans/{plan}/successor", json={"job": job, "name": "clinic, second"})
    draft = taken.json()["data"]["id"]
    line = next(one for one in http.get("/api/v1/plans").json()["data"] if one["id"] == draft)
    assert (line["state"], line["replaces"]) == ("draft", plan)
    http.post(f"/api/v1/plans/{draft}/sign", json={"comment": "better"})
    assert http.post("/api/v1/cases", json={"plan": plan, "id": "late"}).status_code == 409
    wrong = http.post(f"/api/v1/plans/{draft}/successor", json={"job": job, "name": "x"})
    assert wrong.status_code == 409
