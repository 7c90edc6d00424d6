"""A file of a newer banditree is refused in a sentence, whatever its kind."""

import re

import pytest

from banditree.errors import InvalidInput
from banditree.files.collections import load_collection, save_collection
from banditree.files.plans import load_plan, save_plan
from banditree.files.results import load_results, save_results
from banditree.files.sessions import load_session, save_session
from banditree.files.statistics import load_statistics, save_statistics
from banditree.policies.starting import resume_session, start_session
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.training.simulators import TaskSimulator, train
from banditree.trees.tree import build_tree

COINS = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]])
PLAN = build_tree(COINS, 50)
KINDS = {
    "collection": (lambda path: save_collection(COINS, path), load_collection),
    "plan": (lambda path: save_plan(PLAN, path), load_plan),
    "case": (lambda path: save_session(start_session(PLAN), path), lambda path: load_session(PLAN, path)),
    "results": (lambda path: save_results(simulate(COINS, ["uniform"], horizon=5, runs=2), path), load_results),
    "statistics": (
        lambda path: save_statistics(train([TaskSimulator(COINS, i) for i in (0, 1)], 5, arms=COINS.arms), path),
        load_statistics,
    ),
}


@pytest.mark.parametrize(("save", "load"), KINDS.values(), ids=KINDS)
def test_a_newer_file_is_refused_in_a_sentence(tmp_path, save, load):
    path = tmp_path / "file.json"
    save(path)
    text = path.read_text()
    newer = re.sub(r'("schema": "banditree/\w+)/\d+"', r'\1/99"', text, count=1)
    assert newer != text
    path.write_text(newer)
    with pytest.raises(InvalidInput, match=r"file.json was written by a newer banditree .* Upgrade it"):
        load(path)


def test_a_newer_results_table_is_refused_in_a_sentence(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "results.parquet"
    save_results(simulate(COINS, ["uniform"], horizon=5, runs=2), path)
    table = pq.read_table(path)
    metadata = {
        key: value.replace(b"banditree/results/1", b"banditree/results/99")
        for key, value in table.schema.metadata.items()
    }
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(InvalidInput, match="written by a newer banditree"):
        load_results(path)


def test_a_newer_snapshot_is_refused_in_a_sentence():
    snapshot = start_session(PLAN).snapshot() | {"schema": "banditree/session/99"}
    with pytest.raises(InvalidInput, match="The snapshot was taken by a newer banditree"):
        resume_session(PLAN, snapshot)
