import json

import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.files.statistics import load_statistics, save_statistics
from banditree.tasks.contexts import Feature
from banditree.training.statistics import Statistics, collect


def both_kinds():
    rng = np.random.default_rng(0)
    tasks, arms = rng.choice(["a", "b"], 50), rng.choice(["x", "y"], 50)
    plain = collect(tasks, arms, rng.normal(size=50), rng.normal(size=(50, 2)), [Feature("age"), Feature("sex", "f")])
    bare = collect(tasks, arms, rng.normal(size=50), shift=[0.1])
    cells = (bare.task, bare.arm, bare.count, bare.sums, bare.products, bare.shift)
    return [plain, Statistics(bare.tasks, bare.arms, (), *cells, rng.random((len(bare.count), 5)))]


@pytest.mark.parametrize("statistics", both_kinds())
def test_what_is_written_is_read_back_bit_for_bit(statistics, tmp_path):
    save_statistics(statistics, tmp_path / "s.json")
    again = load_statistics(tmp_path / "s.json")
    assert (again.tasks, again.arms, again.features) == (statistics.tasks, statistics.arms, statistics.features)
    for name in ("task", "arm", "count", "sums", "products", "shift"):
        assert (getattr(again, name) == getattr(statistics, name)).all()
    if statistics.weighted is not None:
        assert (again.weighted == statistics.weighted).all()


def test_a_damaged_file_is_refused_in_one_line(tmp_path):
    path = tmp_path / "s.json"
    save_statistics(both_kinds()[0], path)
    document = json.loads(path.read_text())
    document["cells"][0]["products"].pop()
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInput, match="s.json"):
        load_statistics(path)
