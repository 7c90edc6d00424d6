"""Where everything goes: nothing overlaps, nothing sticks out, jumps keep to their lanes, pages are full and linked."""

import itertools
import re

import pytest
from figure_plans import MAKERS, box_of_text, made, of_lines
from hypothesis import given, settings
from random_plans import cases, protocols

from banditree.errors import InvalidInput
from banditree.figures.drawing import A4, LETTER, ladder_pages, ladder_scene
from banditree.figures.html import ladder_html
from banditree.figures.ladder import MANY_ROWS, LadderInfo, Row, ladder_info
from banditree.figures.layout import MOST_LANES, jumps, layout, page_breaks
from banditree.figures.scene import Line, Polygon, Text

PAPER = pytest.mark.parametrize("size", [A4, LETTER], ids=["A4", "letter"])


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def box_of(shape):
    xs, ys = zip(*shape.points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def check_scene(scene):
    """Texts apart and inside, and every text inside each frame that it touches."""
    texts = [box_of_text(shape) for shape in scene.shapes if isinstance(shape, Text)]
    assert not any(overlap(one, other) for one, other in itertools.combinations(texts, 2))
    assert all(left >= -1e-6 and right <= scene.width + 1e-6 for left, _, right, _ in texts)
    assert all(top >= -1e-6 and bottom <= scene.height + 1e-6 for _, top, _, bottom in texts)
    frames = [box_of(shape) for shape in scene.shapes if isinstance(shape, Polygon) and shape.stroke]
    for text, frame in itertools.product(texts, frames):
        if overlap(text, frame):
            assert frame[0] < text[0] < text[2] < frame[2]
            assert frame[1] < text[1] < text[3] < frame[3]


def test_sizes_are_as_named():
    assert made("3 boxes")[0].n_boxes == 3
    assert 13 <= made("15 boxes")[0].n_boxes <= 18
    assert 55 <= made("60 boxes")[0].n_boxes <= 70


@pytest.mark.parametrize("name", MAKERS)
def test_texts_are_apart_and_inside_their_frames(name):
    check_scene(ladder_scene(ladder_info(made(name)[0])))


@settings(max_examples=60, deadline=None)
@given(protocols())
def test_any_protocol_can_be_drawn(plan):
    info = ladder_info(plan)
    check_scene(ladder_scene(info))
    assert "</ol>" in ladder_html(info)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_any_plan_can_be_drawn(case):
    info = ladder_info(case[0])
    check_scene(ladder_scene(info))
    for jump in jumps(info.rows):
        for place, which in jump.sources:
            assert info.rows[place].ways[which].box == info.rows[jump.target].number
            assert (jump.target <= place) == jump.back


@pytest.mark.parametrize("name", MAKERS)
def test_jumps_in_a_lane_do_not_meet(name):
    info = ladder_info(made(name)[0])
    lanes = {}
    for jump in jumps(info.rows):
        assert jump.lane < MOST_LANES
        places = [jump.target, *(place for place, _ in jump.sources)]
        lanes.setdefault(jump.lane, []).append((min(places), max(places)))
    for spans in lanes.values():
        assert not any(a[0] <= b[1] and b[0] <= a[1] for a, b in itertools.combinations(spans, 2))


def test_jumps_run_beside_the_rows():
    info = ladder_info(made("protocol")[0])
    found = layout(info, 500)
    scene = ladder_scene(info, 500)
    lines = [shape for shape in scene.shapes if isinstance(shape, Line) and len(shape.points) == 4]
    assert len(lines) == 2
    assert all(points[1][0] > found.columns.right for points in (line.points for line in lines))
    assert [bool(line.dash) for line in lines] == [True, False]


@PAPER
@pytest.mark.parametrize("name", MAKERS)
def test_pages_fit_their_paper_and_hold_every_row(name, size):
    info = ladder_info(made(name)[0])
    pages = ladder_pages(info, size)
    for page in pages:
        assert (page.width, page.height) == size
        for shape in page.shapes:
            left, top, right, bottom = box_of_text(shape) if isinstance(shape, Text) else box_of(shape)
            assert left >= -1e-6
            assert top >= -1e-6
            assert right <= page.width
            assert bottom <= page.height
    numbers = [shape.text for page in pages for shape in page.shapes if isinstance(shape, Text)]
    assert {str(row.number) for row in info.rows} <= set(numbers)


@PAPER
def test_fifteen_lines_fit_one_page(size):
    (page,) = ladder_pages(of_lines(15), size)
    smallest = min(shape.size for shape in page.shapes if isinstance(shape, Text))
    assert smallest >= 6.2
    check_scene(page)


def test_large_plans_take_pages_that_name_each_other():
    info = ladder_info(made("40 tasks")[0])
    pages = ladder_pages(info)
    assert 3 < len(pages) < 15
    texts = [[shape.text for shape in page.shapes if isinstance(shape, Text)] for page in pages]
    for number, page in enumerate(texts, 1):
        assert f"Page {number} of {len(pages)}" in page
        for target, where in re.findall(r"go to box (\d+), page (\d+)", " ".join(page)):
            assert target in texts[int(where) - 1]


def test_pages_are_full_and_no_row_is_cut():
    info = ladder_info(made("40 tasks")[0])
    breaks = page_breaks(info, 600, 700)
    assert [first for first, _ in breaks[1:]] == [last for _, last in breaks[:-1]]
    assert (breaks[0][0], breaks[-1][1]) == (0, len(info.rows))
    assert all(layout(info, 600, first, last).height <= 700 for first, last in breaks)


def test_plans_too_large_to_draw_are_refused():
    row = Row(1, "", "Give 1", (), None)
    large = LadderInfo("large", (row,) * (MANY_ROWS + 1), MANY_ROWS + 1, "box", "", (), ("a",), "task")
    for draw in (ladder_scene, ladder_pages, ladder_html):
        with pytest.raises(InvalidInput, match="Show it as text"):
            draw(large)
