"""Reading load, against numbers worked out by hand."""

from boxes import Box, assemble
from example_plans import protocol, score_plan

from banditree.plans.plan import Form
from banditree.plans.reading_load import reading_load
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree

TWO = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
LINE = {"points": (-1, 1), "floor": 2}


def of(*boxes, form=Form.LINES):
    return reading_load(assemble(boxes, TWO, 1000, form=form))


def test_the_five_lines_have_six():
    """2 score lines and 3 watch lines (4.25), a skip and a restart (0.5), +60 (0.25), 3 ways of scoring (1.0)."""
    assert reading_load(protocol(rule=None)) == 6.0
    assert reading_load(protocol()) == 6.0 + 1.0 + 0.5  # the rule, and its own points


def test_one_option_for_all_is_half_a_line():
    assert of(Box(0)) == 0.5


def test_each_part_counts_as_the_page_says():
    base = of(Box(0, low=1, high=2, ceil=5, **LINE), Box(1), Box(0))
    assert base == 1.0
    assert of(Box(0, low=1, high=2, ceil=21, **LINE), Box(1), Box(0)) == base + 0.25
    assert of(Box(0, low=1, high=2, ceil=101, **LINE), Box(1), Box(0)) == base + 0.5
    assert of(Box(0, low=1, **LINE), Box(1)) == 0.75
    assert of(Box(0, low=0, high=1, ceil=5, **LINE), Box(1)) == base + 0.25  # starts again
    boxes = of(Box(0, low=1, high=2, ceil=5, **LINE), Box(1), Box(0), form=Form.BOXES)
    assert boxes == base + 2 * 0.25 + 0.25  # two ends in boxes of their own, one of which is not the next box


def test_a_jump_back_that_is_no_restart_weighs_more():
    first, second = Box(0, low=1, high=2, ceil=5, **LINE), Box(1, low=1, high=2, ceil=5, **LINE)
    assert of(first, second, Box(0)) == 1 + 0.0 + 1 + 1.0
    assert reading_load(score_plan()) == 3 + 3 * 0.25 + 0.25 + 3 * 0.25 + 0.5  # three skips, and one restart


def test_the_tree_of_the_demo_has_nine():
    """4 tests, 4 skips (1.0), 5 ends (1.25), and 143 and about 80 in each (3.0)."""
    clinic = Collection.bernoulli(
        [
            [0.85, 0.4, 0.25, 0.6, 0.3],
            [0.3, 0.8, 0.35, 0.55, 0.7],
            [0.35, 0.25, 0.85, 0.6, 0.75],
            [0.25, 0.35, 0.3, 0.2, 0.75],
            [0.7, 0.75, 0.3, 0.9, 0.25],
        ]
    )
    assert reading_load(build_tree(clinic, 1000)) == 9.25
