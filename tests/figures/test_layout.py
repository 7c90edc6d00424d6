import itertools

import pytest
from figure_plans import MAKERS, made
from hypothesis import given, settings
from random_plans import cases

from banditree.errors import InvalidInput
from banditree.figures.drawing import A4, _glyph_shapes, _oval_shapes, flowchart_pages, flowchart_scene
from banditree.figures.flowchart import MANY_BOXES, BoxInfo, FlowchartInfo, flowchart_info
from banditree.figures.html import flowchart_html
from banditree.figures.layout import BOX_WIDTH, Glyph, Oval, cut_into_pages, layout
from banditree.figures.scene import Line, Polygon, Text, text_width


def rectangle_of(place):
    return place.left, place.top, place.left + place.width, place.top + place.item.height


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def box_of_text(text):
    width = text_width(text.text, text.size, text.bold)
    left = {"start": text.x, "middle": text.x - width / 2, "end": text.x - width}[text.anchor]
    return left, text.y - 0.75 * text.size, left + width, text.y + 0.1 * text.size


def check_apart(found):
    """No two boxes, links or labels share a point."""
    places = [rectangle_of(place) for place in found.places]
    assert not any(overlap(one, other) for one, other in itertools.combinations(places, 2))
    assert all(right <= found.width + 1e-6 and bottom <= found.height + 1e-6 for _, _, right, bottom in places)


def test_sizes_are_as_named():
    assert made("3 boxes")[0].n_boxes == 3
    assert 13 <= made("15 boxes")[0].n_boxes <= 18
    assert 55 <= made("60 boxes")[0].n_boxes <= 70


@pytest.mark.parametrize("name", MAKERS)
def test_boxes_links_and_labels_do_not_overlap(name):
    info = flowchart_info(made(name)[0])
    check_apart(layout(info))
    scene = flowchart_scene(info)
    texts = [box_of_text(shape) for shape in scene.shapes if isinstance(shape, Text)]
    assert not any(overlap(one, other) for one, other in itertools.combinations(texts, 2))
    assert all(left >= -1e-6 and right <= scene.width + 1e-6 for left, _, right, _ in texts)
    assert all(bottom <= scene.height + 1e-6 for *_, bottom in texts)


@pytest.mark.parametrize("name", MAKERS)
def test_text_stays_inside_its_box(name):
    for place in layout(flowchart_info(made(name)[0])).places:
        shapes = _glyph_shapes(place) if isinstance(place.item, Glyph) else _oval_shapes(place)
        left, top, right, bottom = rectangle_of(place)
        for text in (box_of_text(shape) for shape in shapes if isinstance(shape, Text)):
            assert left + 3 < text[0]
            assert text[2] < right - 3
            assert top < text[1]
            assert text[3] < bottom


@pytest.mark.parametrize("name", MAKERS)
def test_lines_cross_no_box_and_no_other_line(name):
    scene = flowchart_scene(flowchart_info(made(name)[0]))
    arrows = [shape for shape in scene.shapes if isinstance(shape, Line) and shape.arrow]
    segments = [pair for line in arrows for pair in itertools.pairwise(line.points)]
    spans = [(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1])) for a, b in segments]
    shapes = [shape for shape in scene.shapes if isinstance(shape, Polygon)]
    for span in spans:
        for shape in shapes:
            xs, ys = [x for x, _ in shape.points], [y for _, y in shape.points]
            inside = min(xs) + 1, min(ys) + 1, max(xs) - 1, max(ys) - 1  # lines end at the border
            assert not (span[0] < inside[2] and inside[0] < span[2] and span[1] < inside[3] and inside[1] < span[3])
    for one, other in itertools.combinations(arrows, 2):
        a, b = (
            {(min(p[0], q[0]), min(p[1], q[1]), max(p[0], q[0]), max(p[1], q[1]))
             for p, q in itertools.pairwise(line.points)} for line in (one, other)
        )  # fmt: skip
        assert not any(
            s[0] <= t[2] and t[0] <= s[2] and s[1] <= t[3] and t[1] <= s[3] for s, t in itertools.product(a, b)
        )


@settings(max_examples=60)
@given(cases())
def test_any_plan_can_be_laid_out(case):
    info = flowchart_info(case[0])
    found = layout(info)
    check_apart(found)
    drawn = {place.item.box.number for place in found.places if isinstance(place.item, Glyph)}
    assert drawn == set(range(1, len(info.boxes) + 1))
    tests = [p.item.box.number for p in found.places if isinstance(p.item, Glyph) and not p.item.box.is_leaf]
    assert len(tests) == len(set(tests))  # only leaves are drawn more than once


@pytest.mark.parametrize("name", MAKERS)
def test_yes_leads_right_and_no_leads_down(name):
    found = layout(flowchart_info(made(name)[0]))
    by_number = {p.item.box.number: p for p in found.places if isinstance(p.item, Glyph) and not p.item.box.is_leaf}
    for place in found.places:
        if place.below is None:
            continue
        parent = by_number[place.below[0]]
        if place.below[1] == "yes":
            assert place.column == parent.column + 1
        else:
            assert (place.column, place.top >= parent.top + parent.item.height) == (parent.column, True)


@pytest.mark.parametrize("name", MAKERS)
def test_pages_fit_a4_and_hold_every_box(name):
    info = flowchart_info(made(name)[0])
    pages = flowchart_pages(info)
    for page in pages:
        assert sorted((page.width, page.height)) == sorted(A4)
        for shape in page.shapes:
            box = box_of_text(shape) if isinstance(shape, Text) else None
            points = [(box[0], box[1]), (box[2], box[3])] if box else shape.points
            assert all(-1e-6 <= x <= page.width and -1e-6 <= y <= page.height for x, y in points)
    numbers = [shape.text for page in pages for shape in page.shapes if isinstance(shape, Text)]
    assert {str(box.number) for box in info.boxes} <= set(numbers)


def test_small_plans_take_one_page_and_large_ones_are_linked():
    assert len(flowchart_pages(flowchart_info(made("3 boxes")[0]))) == 1
    assert len(flowchart_pages(flowchart_info(made("15 boxes")[0]))) == 1
    info = flowchart_info(made("40 tasks")[0])
    pages = flowchart_pages(info)
    assert 5 < len(pages) < 15
    texts = [[shape.text for shape in page.shapes if isinstance(shape, Text)] for page in pages]
    for number, page in enumerate(texts, 1):
        assert f"Page {number} of {len(pages)}" in page
        for text in page:
            if text.startswith("box ") and ", p. " in text:
                target, where = text.removeprefix("box ").split(", p. ")
                assert target in texts[int(where) - 1]
            elif text.startswith("box "):
                assert text.removeprefix("box ") in page  # a link without a page stays on its own
            elif text.startswith("From box "):
                source, where = text.removeprefix("From box ").split(", page ")
                assert source in texts[int(where) - 1]


def test_parts_are_cut_so_that_they_fit():
    info = flowchart_info(made("40 tasks")[0])
    pages = cut_into_pages(info, 3 * BOX_WIDTH + 100, 700.0)
    roots = {root: page for page, starts in enumerate(pages) for root in starts}
    for starts in pages:
        for root in starts:
            part = layout(info, root, {other: 1 for other in roots if other != root})
            check_apart(part)
            assert part.width <= 3 * BOX_WIDTH + 100
            assert part.height <= 700
    assert all(isinstance(place.item, Glyph | Oval) for place in part.places)


def test_a_very_deep_plan_is_laid_out_without_recursion():
    from banditree.figures.flowchart import Branch

    boxes = [
        BoxInfo(n, "", f"Give {n}", "At most 1?", (Branch("yes", n + 1, True), Branch("no", 700, True)), None)
        for n in range(1, 700)
    ]
    info = FlowchartInfo("deep", (*boxes, BoxInfo(700, "", "Give 1", "", (), None)), ("a",), "task", ())
    assert len(layout(info).places) == 2 * 699 + 1
    assert len(flowchart_pages(info)) > 10


def test_plans_too_large_to_draw_are_refused():
    leaf = BoxInfo(1, "", "Give 1", "", (), None)
    large = FlowchartInfo("large", (leaf,) * (MANY_BOXES + 1), ("a",), "task", ())
    for draw in (flowchart_scene, flowchart_pages, flowchart_html):
        with pytest.raises(InvalidInput, match="Show it as text"):
            draw(large)
