"""Pictures as they were written by earlier versions. Refresh with: python tests/golden/test_figures.py"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from example_plans import protocol, score_plan

from banditree.certificates.certify import certify
from banditree.cli.demo import demo_plan
from banditree.figures.drawing import ladder_scene
from banditree.figures.heat_map import heat_map_info
from banditree.figures.ladder import ladder_info
from banditree.figures.reach import reach_info
from banditree.figures.sources import dot, mermaid
from banditree.figures.spending import spending_info
from banditree.figures.svg import svg
from banditree.figures.text import ladder_text
from banditree.figures.timeline import course_info, survivors_info
from banditree.files.clinic import clinic
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree

FILES = Path(__file__).parent / "files"
PICTURE = Path(__file__).parents[2] / "docs" / "plan.svg"
PLANS = {"rand-10-20": lambda: build_tree(rand(10, 20, 0.4), 10_000, 0.4), "score": score_plan, "five-lines": protocol}


def info_text(info):
    return "\n".join(json.dumps(asdict(row)) for row in info.rows) + "\n"


WRITERS = {"flow.txt": lambda info: ladder_text(info) + "\n", "mmd": mermaid, "dot": dot, "flow.jsonl": info_text}


def rounded(value):
    """Numbers to nine digits, so that the last bits of another machine do not matter."""
    if hasattr(value, "tolist"):
        return rounded(value.tolist())
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def charts():
    """The data of every other figure of one small plan."""
    known = Collection.bernoulli(
        [[0.8, 0.3, 0.5], [0.2, 0.7, 0.5], [0.4, 0.3, 0.9]], tasks=["one", "two", "three"], arms=["A", "B", "C"]
    )
    plan = build_tree(known, 40, 0.4)
    infos = {
        "heat map": heat_map_info(known),
        "course": course_info(plan, known),
        "survivors": survivors_info(plan, known),
        "spending": spending_info(plan, certify(plan, known)),
        "reach": reach_info(plan, known),
    }
    return {name: rounded(asdict(info)) for name, info in infos.items()}


def clinic_plan():
    """The plan of `banditree demo`, as the pages of the project show it, and its picture."""
    plan = demo_plan(clinic())
    return plan, svg(ladder_scene(ladder_info(plan, reach_info(plan, clinic()))))


@pytest.mark.slow
def test_the_plan_and_the_picture_on_the_pages_are_those_of_the_demo():
    plan, picture = clinic_plan()
    assert picture == PICTURE.read_text()
    heading, _, lines = str(plan).partition("\n\n")
    assert lines in PICTURE.parents[1].joinpath("README.md").read_text(), heading


@pytest.mark.filterwarnings("ignore::banditree.errors.PlanWarning")
def test_data_of_the_charts():
    assert charts() == json.loads((FILES / "charts.json").read_text())


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("name", PLANS)
def test_picture(name, kind):
    assert WRITERS[kind](ladder_info(PLANS[name]())) == (FILES / f"{name}.{kind}").read_text()


if __name__ == "__main__":
    for name, make in PLANS.items():
        for kind, write in WRITERS.items():
            (FILES / f"{name}.{kind}").write_text(write(ladder_info(make())))
    PICTURE.write_text(clinic_plan()[1])
    lines = [f"{json.dumps(name)}: {json.dumps(info)}" for name, info in charts().items()]
    (FILES / "charts.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
