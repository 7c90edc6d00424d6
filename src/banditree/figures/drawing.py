"""The flowchart as a scene, whole or cut into A4 pages, in the symbols of the Society for Medical Decision Making.

State: rounded box. Action: box. Decision: hexagon. Link: small oval.
"""

from collections.abc import Iterable
from dataclasses import replace

from banditree.figures.flowchart import FlowchartInfo, require_drawable
from banditree.figures.layout import (
    ACTION_LINE,
    ACTION_SIZE,
    BOX_WIDTH,
    HEXAGON_EDGE,
    NUMBER_WIDTH,
    OVAL_HEIGHT,
    OVAL_WIDTH,
    PART_HEADING,
    QUESTION_LINE,
    QUESTION_SIZE,
    ROW_GAP,
    STATE_LINE,
    STATE_SIZE,
    STEM,
    Glyph,
    Layout,
    Oval,
    Placed,
    cut_into_pages,
    layout,
)
from banditree.figures.scene import (
    GREY,
    INK,
    PAPER,
    Line,
    Polygon,
    Scene,
    Shape,
    Text,
    moved,
    rectangle,
    text_width,
    wrap,
)

A4 = (595.0, 842.0)
MARGIN = 28.0
SMALLEST = 0.6  # to fit one page, a chart is not drawn smaller than this: 6 point text
SPLIT_SCALE = 0.75  # of a chart that takes several pages anyway
STATE_FILL, ACTION_FILL, DECISION_FILL, END_FILL = "#eef1f4", "#dcecf7", "#fdf0d5", "#d9f0e6"
ACTION_INK, END_INK, DECISION_INK = "#0b5a8a", "#0a6b4f", "#8a5a00"


def flowchart_scene(info: FlowchartInfo) -> Scene:
    """The whole flowchart with title and legend, as large as it is."""
    require_drawable(info)
    return _page(info, [("", layout(info))], "")


def flowchart_pages(info: FlowchartInfo) -> list[Scene]:
    """The flowchart on A4 pages: one if it fits, upright or across, else several, linked by page numbers."""
    whole = flowchart_scene(info)
    fits = [(min((w - 2 * MARGIN) / whole.width, (h - 2 * MARGIN) / whole.height), w, h) for w, h in (A4, A4[::-1])]
    scale, width, height = max(fits)
    if scale >= SMALLEST:
        return [_on_paper(whole, width, height, min(scale, 1.0)), *_prediction_pages(info)]
    cuts = []
    for width, height in (A4, A4[::-1]):
        across, down = (width - 2 * MARGIN) / SPLIT_SCALE, (height - 2 * MARGIN) / SPLIT_SCALE
        cuts.append((cut_into_pages(info, across, down - _furniture_height(info, across)), width, height))
    pages, width, height = min(cuts, key=lambda cut: len(cut[0]))
    scenes = _linked_pages(info, pages, (width - 2 * MARGIN) / SPLIT_SCALE)
    return [*(_on_paper(scene, width, height, SPLIT_SCALE) for scene in scenes), *_prediction_pages(info)]


def _prediction_pages(info: FlowchartInfo) -> list[Scene]:
    """How the arm of a contextual plan is found, line by line."""
    lines = [part for line in info.predictions for part in wrap(line, A4[0] - 2 * MARGIN, 8.0, most=20)]
    per_page = int((A4[1] - 2 * MARGIN) // 12)
    return [
        Scene(*A4, tuple(Text(MARGIN, MARGIN + 12 * row, line, 8.0) for row, line in enumerate(part, 1)))
        for part in (lines[start : start + per_page] for start in range(0, len(lines), per_page))
    ]


def _linked_pages(info: FlowchartInfo, pages: list[list[int]], width: float) -> list[Scene]:
    roots = {root: page for page, roots in enumerate(pages, 1) for root in roots}
    parents = {b.target: box.number for box in info.boxes for b in box.branches if b.hangs}
    page_of = _pages_of_boxes(parents, roots, len(info.boxes))
    scenes = []
    for page, starts in enumerate(pages, 1):
        parts = []
        for root in starts:
            others = {other: number for other, number in roots.items() if other != root}
            title = f"From box {parents[root]}, page {page_of[parents[root]]}" if root != 1 else ""
            parts.append((title, _with_pages(layout(info, root, others), page, page_of)))
        scenes.append(_page(info, parts, f"Page {page} of {len(pages)}", width))
    return scenes


def _pages_of_boxes(parents: dict[int, int], numbers: dict[int, int], count: int) -> dict[int, int]:
    page_of: dict[int, int] = {}
    for number in range(1, count + 1):
        chain = [number]
        while chain[-1] not in page_of and chain[-1] not in numbers:
            chain.append(parents[chain[-1]])
        page = page_of.get(chain[-1]) or numbers[chain[-1]]
        page_of.update(dict.fromkeys(chain, page))
    return page_of


def _with_pages(places: Layout, page: int, page_of: dict[int, int]) -> Layout:
    """The ovals told on which page their box is, if on another."""

    def told(place: Placed) -> Placed:
        if isinstance(place.item, Glyph) or page_of[place.item.target] == page:
            return place
        oval = Oval(place.item.target, page_of[place.item.target])
        return Placed(oval, place.column, place.top, place.below)

    return Layout(tuple(told(place) for place in places.places), places.width, places.height)


def scaled(shapes: Iterable[Shape], scale: float) -> list[Shape]:
    """The shapes larger or smaller, text and lines too."""
    changed: list[Shape] = []
    for shape in shapes:
        if isinstance(shape, Text):
            changed.append(replace(shape, x=shape.x * scale, y=shape.y * scale, size=shape.size * scale))
            continue
        points = tuple((x * scale, y * scale) for x, y in shape.points)
        if isinstance(shape, Polygon):
            changed.append(replace(shape, points=points, width=shape.width * scale, radius=shape.radius * scale))
        else:
            dash = tuple(length * scale for length in shape.dash)
            changed.append(replace(shape, points=points, width=shape.width * scale, dash=dash))
    return changed


def _on_paper(scene: Scene, width: float, height: float, scale: float) -> Scene:
    """`scene` scaled on a sheet, in its upper left corner."""
    shapes = tuple(moved(shape, MARGIN, MARGIN) for shape in scaled(scene.shapes, scale))
    return Scene(width, height, shapes, scene.description)


def _furniture_height(info: FlowchartInfo, width: float) -> float:
    """What title, note and legend take on a page."""
    return 14.0 * len(wrap(info.title, width, 10.0)) + 22 + 2 * 34


def _page(info: FlowchartInfo, parts: list[tuple[str, Layout]], note: str, least_width: float = 430.0) -> Scene:
    """Title, the parts of the chart one below the other, each with a heading, and the legend."""
    width = max(least_width, *(places.width for _, places in parts))
    shapes: list[Shape] = []
    top = 10.0
    for line in wrap(info.title, width, 10.0):
        shapes.append(Text(0, top, line, 10.0, GREY))
        top += 14.0
    if note:
        shapes.append(Text(0, top, note, 10.0, INK, bold=True))
        top += 14.0
    for heading, places in parts:
        top += 8.0
        if heading:
            shapes.append(Text(0, top + 6, heading, 9.0, GREY, bold=True))
            top += PART_HEADING - 8
        shapes += [moved(shape, 0, top) for shape in _chart(places)]
        top += places.height + ROW_GAP
    legend, height = legend_shapes(info, width)
    shapes += [moved(shape, 0, top) for shape in legend]
    return Scene(width, top + height, tuple(shapes), info.title)


def _chart(places: Layout) -> list[Shape]:
    by_number = {place.item.box.number: place for place in places.places if isinstance(place.item, Glyph)}
    shapes: list[Shape] = []
    for place in places.places:
        if place.below is not None:
            shapes += _connection(by_number[place.below[0]], place, place.below[1])
    for place in places.places:
        shapes += _glyph_shapes(place) if isinstance(place.item, Glyph) else _oval_shapes(place)
    return shapes


def _connection(parent: Placed, child: Placed, answer: str) -> list[Shape]:
    assert isinstance(parent.item, Glyph)
    if answer == "yes":
        x, y = parent.left + BOX_WIDTH, parent.top + parent.item.exit
        end, entry = child.left, child.top + child.item.entry
        middle = end - 11
        bend = () if abs(entry - y) < 0.5 else ((middle, y), (middle, entry))
        line = Line(((x, y), *bend, (end, entry)), GREY, 1.3, arrow=True)
        return [line, Text(x + 4, y - 4, "yes", 9.0, INK, bold=True)]
    x, bottom = parent.left + OVAL_WIDTH / 2, parent.top + parent.item.height
    return [
        Line(((x, bottom), (x, child.top)), GREY, 1.3, arrow=True),
        Text(x + 6, bottom + 11, "no", 9.0, INK, bold=True),
    ]


def _glyph_shapes(place: Placed) -> list[Shape]:
    item, x, y = place.item, place.left, place.top
    assert isinstance(item, Glyph)
    leaf = item.box.is_leaf
    shapes: list[Shape] = []
    if item.state:
        state = rectangle(x, y, BOX_WIDTH, item.state_height, fill=STATE_FILL, stroke=GREY, width=0.8, radius=8)
        shapes.append(state)
        shapes += _lines(item.state, x + 10, y + 4, STATE_LINE, STATE_SIZE, INK, bold=leaf)
        y += item.state_height
    ink, fill = (END_INK, END_FILL) if leaf else (ACTION_INK, ACTION_FILL)
    width = 1.8 if leaf else 1.0
    shapes += [
        rectangle(x, y, BOX_WIDTH, item.action_height, fill=fill, stroke=ink, width=width),
        rectangle(x, y, NUMBER_WIDTH, item.action_height, fill=ink, stroke=ink, width=width),
        Text(x + NUMBER_WIDTH / 2, y + item.action_height / 2 + 4, str(item.box.number), 11, PAPER, True, "middle"),
    ]
    shapes += _lines(item.action, x + NUMBER_WIDTH + 9, y + 5, ACTION_LINE, ACTION_SIZE, INK, bold=True)
    y += item.action_height
    if item.question:
        shapes.append(Line(((x + BOX_WIDTH / 2, y), (x + BOX_WIDTH / 2, y + STEM)), GREY, 1.3))
        shapes.append(_hexagon(x, y + STEM, BOX_WIDTH, item.question_height))
        left = x + HEXAGON_EDGE + 4
        shapes += _lines(item.question, left, y + STEM + 6, QUESTION_LINE, QUESTION_SIZE, INK)
    return shapes


def _hexagon(x: float, y: float, width: float, height: float) -> Polygon:
    edge, middle = min(HEXAGON_EDGE, height / 2), y + height / 2
    right = x + width
    points = ((x, middle), (x + edge, y), (right - edge, y), (right, middle), (right - edge, y + height))
    return Polygon((*points, (x + edge, y + height)), DECISION_FILL, DECISION_INK, 1.0)


def _oval_shapes(place: Placed) -> list[Shape]:
    assert isinstance(place.item, Oval)
    text = f"box {place.item.target}" + (f", p. {place.item.page}" if place.item.page else "")
    x, y = place.left, place.top
    outline = rectangle(x, y, OVAL_WIDTH, OVAL_HEIGHT, fill=PAPER, stroke=INK, radius=OVAL_HEIGHT / 2)
    return [outline, Text(x + OVAL_WIDTH / 2, y + OVAL_HEIGHT / 2 + 3.5, text, 9.5, INK, True, "middle")]


def _lines(
    lines: list[str], x: float, y: float, leading: float, size: float, colour: str, bold: bool = False
) -> list[Shape]:
    baseline = (leading + size * 0.72) / 2
    return [Text(x, y + baseline + leading * n, line, size, colour, bold) for n, line in enumerate(lines)]


def legend_shapes(info: FlowchartInfo, width: float) -> tuple[list[Shape], float]:
    """The four symbols with what they mean, in rows of at most `width`, and the height they take."""
    shapes: list[Shape] = []
    x = y = 0.0
    for symbol, meaning in info.legend:
        needed = 30 + 8 + text_width(meaning, 9.0) + 22
        if x and x + needed > width:
            x, y = 0.0, y + 24.0
        shapes += [moved(shape, x, y) for shape in _symbol(symbol)]
        shapes.append(Text(x + 38, y + 11, meaning, 9.0, GREY))
        x += needed
    return shapes, y + 18.0


def _symbol(kind: str) -> list[Shape]:
    if kind == "state":
        return [rectangle(0, 0, 30, 15, fill=STATE_FILL, stroke=GREY, width=0.8, radius=6)]
    if kind == "action":
        return [rectangle(0, 0, 30, 15, fill=ACTION_FILL, stroke=ACTION_INK)]
    if kind == "decision":
        return [_hexagon(0, 0, 30, 15)]
    return [rectangle(0, 0, 30, 15, fill=PAPER, stroke=INK, radius=7.5)]
