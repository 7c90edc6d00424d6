"""Plans as they were printed and written by earlier versions. Refresh with: python tests/golden/test_golden.py"""

from pathlib import Path

import pytest
from example_plans import handing_over, protocol

from banditree.files.collections import load_collection
from banditree.files.plans import load_plan, plan_json
from banditree.tasks.instances import hard, linear, rand
from banditree.trees.tree import build_tree

FILES = Path(__file__).parent / "files"
PLANS = {
    "hard-5-10": lambda: build_tree(hard(5, 10, 0.4, 0.01), 4000, 0.4),
    "rand-10-20": lambda: build_tree(rand(10, 20, 0.4), 10_000, 0.4),
    "linear-4-5-3": lambda: build_tree(linear(4, 5, 3, 0.2), 5000, 0.2),
    "protocol": lambda: protocol(cap=20),  # the first of version 2; those above are of version 1
    "handing-over": handing_over,  # the first of version 3
}


@pytest.mark.parametrize("name", PLANS)
def test_text(name):
    assert f"{PLANS[name]()}\n" == (FILES / f"{name}.txt").read_text()


# score-boxes: version 1, made by a search that is no more.
@pytest.mark.parametrize("name", [*PLANS, "score-boxes"])
def test_old_files_are_read(name):
    assert str(load_plan(FILES / f"{name}.plan.json")) + "\n" == (FILES / f"{name}.txt").read_text()


def test_an_old_collection_is_read():
    assert load_collection(FILES / "linear-4-5-3.json").theta.shape == (4, 5, 3)


if __name__ == "__main__":
    from banditree.files.collections import save_collection

    for name, make in PLANS.items():
        (FILES / f"{name}.txt").write_text(f"{make()}\n")
        (FILES / f"{name}.plan.json").write_text(plan_json(make()))
    save_collection(linear(4, 5, 3, 0.2), FILES / "linear-4-5-3.json")
