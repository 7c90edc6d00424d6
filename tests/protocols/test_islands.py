"""Islands share the steps of a search and exchange their best: the plan depends on their number, not on who works."""

import sys
import threading
import warnings

import pytest

from banditree.cli.app import main
from banditree.errors import InvalidInput
from banditree.files.collections import save_collection
from banditree.files.plans import load_plan
from banditree.progress import Progress
from banditree.protocols.build import build_plan
from banditree.tasks.instances import rand

KINDS = rand(4, 4, 0.2, seed=2)
HOW = {"horizon": 500, "steps": 300, "islands": 3, "seed": 5}


def test_the_plan_does_not_depend_on_threads() -> None:
    found = [build_plan(KINDS, **HOW, workers=workers) for workers in (1, 2, None)]
    assert len({str(plan) for plan in found}) == 1
    assert str(found[0]) != str(build_plan(KINDS, **{**HOW, "seed": 6}, workers=1))


@pytest.mark.slow
def test_two_dask_workers_find_the_same_plan(tmp_path) -> None:
    from distributed import Client, LocalCluster
    from joblib import parallel_config

    def has_searched():  # here, so that it travels whole
        return "banditree.protocols.islands" in sys.modules

    save_collection(KINDS, tmp_path / "tasks.json")
    asked = ["--horizon", "500", "--steps", "300", "--islands", "3", "--seed", "5", "-o", str(tmp_path / "plan.json")]
    with (
        warnings.catch_warnings(),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        parallel_config(backend="dask"),
    ):
        warnings.simplefilter("ignore")  # of other packages, as they start and stop
        there = build_plan(KINDS, **HOW, workers="joblib")
        searched = client.run(has_searched)
        with pytest.raises(SystemExit) as ended:
            main(["plan", str(tmp_path / "tasks.json"), *asked, "--dask", cluster.scheduler_address])
    assert ended.value.code == 0
    assert len(searched) == 2
    assert all(searched.values())
    here = build_plan(KINDS, **HOW, workers=1)
    assert str(there) == str(here)
    assert load_plan(tmp_path / "plan.json").lines == here.lines


@pytest.mark.slow
def test_reports_come_to_the_thread_that_asked_and_stop_all_islands() -> None:
    seen: list[tuple[Progress, int]] = []

    def listen(progress: Progress) -> bool:
        seen.append((progress, threading.get_ident()))
        return progress.done < 100

    before = threading.active_count()
    plan = build_plan(KINDS, **{**HOW, "steps": 2_000_000}, workers=2, on_progress=listen)
    assert plan.n_tests > 0
    assert {thread for _progress, thread in seen} == {threading.get_ident()}
    assert seen[-1][0].done < 1_000_000
    assert threading.active_count() <= before


@pytest.mark.slow
def test_an_error_of_a_listener_ends_all_islands() -> None:
    def listen(progress: Progress) -> bool:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        build_plan(KINDS, **{**HOW, "steps": 2_000_000}, workers=2, on_progress=listen)


def test_seconds_hold_for_islands_one_after_the_other() -> None:
    plan = build_plan(KINDS, 500, seconds=1.0, islands=3, workers=1)
    assert plan.n_tests > 0
    assert plan.origin.versions["search"] == "ended after 1 seconds"


def test_what_cannot_be() -> None:
    with pytest.raises(InvalidInput, match="workers must be"):
        build_plan(KINDS, **HOW, workers=0)
