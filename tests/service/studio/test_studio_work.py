"""The jobs of the studio: what kinds are worth, and what is lost without a plan."""

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from running_service import local
from tables_to_bring import LOG

from banditree.evaluation.settings import StudySettings
from banditree.files.documents import dump
from banditree.files.plans import fingerprint, plan_document
from banditree.languages.language import Language
from banditree.progress import Progress
from banditree.protocols.build import build_plan
from banditree.protocols.objectives import Objective
from banditree.reports.beside import Lost
from banditree.service.jobs.work import KINDS
from banditree.service.pages.studio import plan as plan_page
from banditree.service.pages.studio.picture import picture
from banditree.service.store import records
from banditree.service.store.database import Database
from banditree.service.store.files import add_file
from banditree.service.store.jobs import State
from banditree.service.studio import work
from banditree.service.studio.asking import learn_settings, worth_settings
from banditree.service.studio.content import Log, Parts, Reading, Roles
from banditree.service.studio.kinds import as_document, without_options
from banditree.service.studio.splitting import split
from banditree.service.studio.tables import read_table, written
from banditree.service.studio.understanding import understood
from banditree.tasks.collection import Collection

CLINIC = Collection.bernoulli(
    [[0.9, 0.1, 0.5], [0.2, 0.8, 0.4]], radius=0.05, shares=[0.75, 0.25], arms=["A", "B", "C"]
)


class Listener:
    """Hears how far a job is."""

    def __init__(self):
        self.heard = []

    def __call__(self, progress: Progress) -> bool:
        self.heard.append(progress)
        return True


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return Database(local(tmp_path_factory.mktemp("work") / "cases.db"))


def on_record(database, collection):
    with database.write() as connection:
        return records.add_collection(connection, "test", "x", *records.read_collection(as_document(collection)))


def test_what_kinds_are_worth_is_known_by_number(database):
    with database.write() as connection:
        file = add_file(connection, "test", "visits.parquet", written(understood(read_table(LOG), Reading()).table))
    roles = {"individual": "patient", "arm": "treatment", "reward": "recovered", "time": None, "propensity": None}
    settings = {"file": file, **roles, "rewards": "bernoulli", "drop_bad_rows": False, "kinds": [2, 3], "seed": 0}
    listener = Listener()
    found = KINDS["worth"](database, settings, listener)
    assert [one["n_kinds"] for one in found] == [1, 2, 3]
    assert found[0]["gain"]["value"] == 0
    assert [(now.done, now.total) for now in listener.heard] == [(n, 5) for n in range(1, 6)]


def test_what_kinds_are_worth_where_contexts_decide_is_more_than_one_option(database):
    """A below a price of 2 and B above, whoever it is."""
    rng = np.random.default_rng(0)
    case, price, arm = np.repeat(np.arange(60), 8), rng.uniform(1, 3, 480).round(2), rng.integers(0, 2, 480)
    bought = (rng.random(480) < np.where((price < 2) == (arm == 0), 0.9, 0.1)).astype(int)
    rows = [f"C{c},{'AB'[a]},{y},{x}" for c, a, y, x in zip(case, arm, bought, price, strict=True)]
    content = read_table("\n".join(["customer,offer,bought,price", *rows]).encode())
    log = Log(file="x", roles=Roles(individual="customer", arm="offer", reward="bought"), contexts=["price"])
    parts = split(content, log)
    with database.write() as connection:
        file = add_file(connection, "test", "offers.parquet", parts.learn)
    settings = worth_settings(log, Parts(learn=file))
    found = KINDS["worth"](database, {**settings, "kinds": [2]}, Listener())
    assert found[1]["gain"]["low"] > 0.2
    assert learn_settings(log, Parts(learn=file), None)["context"] == ["price"]


def test_what_is_lost_without_a_plan(database, monkeypatch):
    monkeypatch.setattr(work, "thompson_loss", lambda *_: Lost(3.0, 2.0, 1000))
    logged = on_record(database, replace(CLINIC, counts=np.array([[10, 0, 10], [0, 20, 0]])))
    single, as_logged, mts = KINDS["beside"](database, {"collection": logged, "horizon": 100}, None)
    assert single["name"] == "C for all"  # loses 40 in both kinds
    assert (single["worst"], single["mean"]) == (pytest.approx(40), pytest.approx(40))
    assert (as_logged["worst"], as_logged["mean"]) == (pytest.approx(20), pytest.approx(15))
    assert (mts["worst"], mts["mean"]) == (3.0, 2.0)
    known = KINDS["beside"](database, {"collection": on_record(database, CLINIC), "horizon": 100}, None)
    assert [one["short"] for one in known] == ["C for all", "a computer"]


@pytest.mark.slow
def test_a_study_says_how_many_cases_and_months_it_takes(database):
    known = Collection.bernoulli([[0.8, 0.3], [0.3, 0.8]], arms=["A", "B"])
    with database.write() as connection:
        collection = records.add_collection(connection, "test", "x", *records.read_collection(as_document(known)))
        plan = build_plan(known, horizon=8, lines=2, steps=50)
        id = records.add_plan(connection, "test", "x", fingerprint(plan), plan, collection)
    asked = StudySettings(cases_per_month=10).model_dump(mode="json")
    found = KINDS["study"](database, {"plan": id, **asked}, None)
    cases = found["document"]["plan_shown"]["cases"]
    assert found["sentences"][0].startswith(f"{cases:,} cases, ")
    assert "months: with a chance of 80%" in found["sentences"][0]
    assert found["picture"].startswith("<svg")


def test_options_that_may_not_be_used_are_left_out_everywhere():
    fewer = without_options(CLINIC, ["C"])
    assert (fewer.arms, fewer.means.tolist()) == (("A", "B"), [[0.9, 0.1], [0.2, 0.8]])
    assert fewer.radius.shape == (2, 2)
    assert fewer.shares.tolist() == [0.75, 0.25]


def test_the_table_of_what_is_lost_says_for_every_row_what_the_unlucky_lose():
    """Of what is done without a plan that is not known, and said with a dash."""
    plan = json.loads(dump(plan_document(build_plan(CLINIC, 50, steps=50))))
    rated = {"lines": 1, "loss": 2.0, "worst_regret": 2.0, "mean_regret": 1.0, "unlucky": 9.0, "wrong_arm": 0.01}
    job = SimpleNamespace(found=[{**rated, "at_estimates": None, "plan": plan}])
    without = {"name": "C for all", "short": "C for all", "worst": 50.0, "mean": 45.0}
    beside = SimpleNamespace(state=State.DONE, result=[without])
    shown = plan_page._shown(Language(), None, Objective.WORST, job, beside, None)
    assert [row["one_in_100"] for row in shown["lost"]] == [9.0, None]


def test_the_picture_has_a_dot_per_plan_and_a_line_per_alternative():
    found = [
        {"lines": 0, "loss": 50.0},
        {"lines": 1, "loss": 20.0},
        {"lines": 2, "loss": 25.0},
        {"lines": 3, "loss": 2.0},
    ]
    others = [
        {"short": "C for all", "worst": 50.0, "mean": 45.0},
        {"short": "as logged", "worst": 49.5, "mean": 44.0},
        {"short": "mTS", "worst": 1.5, "mean": 1.0},
    ]
    drawn = picture(found, others, "worst", 1)
    dots = sorted(drawn.dots)
    assert [dot.is_unbeaten for dot in dots] == [True, True, False, True]
    assert drawn.dots[-1].is_chosen  # on top
    assert [dot.x for dot in dots] == sorted(dot.x for dot in dots)
    assert dots[0].y == pytest.approx(next(level.y for level in drawn.levels if level.name == "C for all"))
    assert all(0 < dot.y < drawn.height for dot in dots)
    names = sorted(level.name_y for level in drawn.levels)
    assert all(below - above > 15 for above, below in pairwise(names))
    assert [label for _, label in drawn.up] == ["2", "5", "10", "20", "50"]
    nothing_lost = picture([{"lines": 0, "loss": 0.0}], [], "worst", 0)
    assert nothing_lost.dots[0].y == pytest.approx(drawn.height - 52)
