import json

import jsonschema
import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.files.collections import load_collection, save_collection
from banditree.files.schemas import json_schema
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import Feature, moment_contexts, sampled_contexts
from banditree.tasks.instances import linear, rand
from banditree.tasks.rewards import Gaussian

GAUSSIAN = Gaussian(sigma=0.5)
COLLECTIONS = {
    "bernoulli": rand(5, 6, 0.3),
    "estimated": Collection.bernoulli([[0.1, 0.2], [0.8, 0.9]], radius=[[0.1, 0.2], [0.3, 0.4]], provenance="a log"),
    "gaussian": Collection.gaussian([[1.5, -2.0], [0.1, 1 / 3]], 0.7, tasks=["é", "b"], arms=["c", 'quote "d"']),
    "bounded": Collection.bounded([[1.5, 2.0], [0.1, 0.2]], 0, 5),
    "in shares": Collection.bernoulli([[0.1, 0.2], [0.8, 0.9]], shares=[0.3, 0.7], spread=[[0.1, 0.0], [0.2, 0.1]]),
    "linear": linear(3, 4, 3, 0.1),
    "sample": Collection.linear(
        np.random.default_rng(0).random((2, 2, 2)), sampled_contexts([[1.0, 0.3], [1.0, 0.8]]), GAUSSIAN
    ),
    "moments": Collection.linear(
        np.random.default_rng(0).random((2, 2, 2)),
        moment_contexts([0.4, 0.3], np.eye(2), [Feature("sex", "f"), Feature("age")]),
        GAUSSIAN,
    ),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_round_trip(name, tmp_path):
    collection, path = COLLECTIONS[name], tmp_path / "tasks.json"
    save_collection(collection, path)
    jsonschema.validate(json.loads(path.read_text()), json_schema("collection"))
    again = load_collection(path)
    for field in ("means", "radius", "theta", "shares", "spread"):
        assert np.array_equal(getattr(again, field), getattr(collection, field)), field
    assert (again.tasks, again.arms, again.rewards) == (collection.tasks, collection.arms, collection.rewards)
    assert again.provenance == collection.provenance
    if collection.contexts is not None:
        assert again.contexts.features == collection.contexts.features
        assert np.array_equal(again.contexts.covariance, collection.contexts.covariance)
        assert np.array_equal(again.contexts.rows, collection.contexts.rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "banditree/collection/3"}, "written by a newer banditree"),
        ({"schema": "banditree/plan/1"}, "is a plan file, and a collection file is needed"),
        ({"schema": None}, "is not a collection file of banditree"),
        ({"means": [[0.1, 0.2], [0.3]]}, "Row 2 has 1 numbers"),
        ({"means": [[0.1, "x"], [0.3, 0.4]]}, "means.0.1: Input should be a valid number"),
        ({"means": [[0.1, 2.0], [0.3, 0.4]]}, r"must be in \[0, 1\]. Got 2"),
        ({"colour": 3}, "colour: Extra inputs are not permitted"),
        ({"rewards": {"family": "poisson"}}, "rewards.family"),
        ({"arms": ["A", "A"]}, "arms must be all different"),
        ({"theta": [[[1.0]]]}, "theta and contexts must be given together"),
    ],
)
def test_a_wrong_file_is_named(change, message, tmp_path):
    path = tmp_path / "tasks.json"
    save_collection(Collection.bernoulli([[0.1, 0.2], [0.3, 0.4]]), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InvalidInput, match=message) as problem:
        load_collection(path)
    assert str(problem.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON: .* at line 1, column 2"),
        ("[]", "is not a collection file"),
        ('{"schema": "banditree/collection/1", "means": [[NaN]]}', "tasks: Field required"),
    ],
)
def test_what_is_no_document_is_named(text, message, tmp_path):
    path = tmp_path / "tasks.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load_collection(path)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(InvalidInput, match="no such file"):
        load_collection(tmp_path / "nothing.json")
    with pytest.raises(InvalidInput, match=r"a .json or a .csv file"):
        load_collection(tmp_path / "means.xlsx")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InvalidInput, match="is a folder"):
        load_collection(tmp_path / "folder.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="not a text file in UTF-8"):
        load_collection(tmp_path / "binary.json")
    with pytest.raises(InvalidInput, match="cannot be written"):
        save_collection(COLLECTIONS["bernoulli"], tmp_path / "missing" / "tasks.json")
    with pytest.raises(InvalidInput, match="cannot be written"):
        save_collection(COLLECTIONS["bernoulli"], tmp_path / "folder.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["binary.json", "folder.json"]
