"""Plans from lists of boxes."""

import pytest
from boxes import Box, arrays_of, assemble

from banditree.errors import InvalidInput
from banditree.plans.links import reading_order
from banditree.plans.plan import Form
from banditree.tasks.collection import Collection

TWO = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])


def test_unreached_boxes_are_left_out_and_links_back_kept():
    score = {"points": (-1, 1), "floor": 2, "ceil": 2}
    boxes = [Box(0, 3, 1, **score), Box(1, 0, 4, **score), Box(0, 3, 4, **score), Box(1), Box(0)]
    plan = assemble(boxes, TWO, horizon=10)
    assert plan.n_boxes == 4
    assert plan.has_links_back
    assert plan.depth == 2


def test_reading_order_goes_forward_except_on_a_return():
    links = [(1, 2), (3, 2), (3, 1), ()]
    order = reading_order(links)
    place = {box: index for index, box in enumerate(order)}
    assert order[0] == 0
    assert place[3] == 3


def test_a_link_to_nowhere_is_named():
    with pytest.raises(InvalidInput, match="the next box"):
        assemble([Box(0, 1, 7, pulls=3), Box(1)], TWO, horizon=10)


def test_points_need_one_cut_fewer():
    with pytest.raises(InvalidInput, match="cuts must be 2 increasing numbers"):
        assemble([Box(0, 1, 1, points=(-1, 0, 1), floor=1, ceil=1), Box(1)], TWO, horizon=10)


def test_lines_keep_their_order_and_ends_follow_once_per_arm():
    score = {"points": (-1, 1), "floor": 2, "ceil": 2}
    boxes = [Box(0, 3, 2, **score), Box(1), Box(0), Box(1, 4, 1, **score), Box(1), Box(0, 1, points=(-1, 1), floor=1)]
    plan = assemble(boxes, TWO, horizon=10, form=Form.LINES)
    assert arrays_of(plan).arm.tolist() == [0, 1, 0, 1]
    assert (arrays_of(plan).low.tolist(), arrays_of(plan).high.tolist()) == ([1, 3, -1, -1], [2, 3, -1, -1])
