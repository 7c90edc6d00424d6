"""The ladder as a scene, whole or on pages of paper; lines and words carry everything, so that it can be copied."""

from dataclasses import replace

from banditree.figures.ladder import LadderInfo, Leads, Way, require_drawable
from banditree.figures.layout import (
    LANE,
    LINE_HEIGHT,
    NUMBER_WIDTH,
    PAD,
    ROW_GAP,
    SMALL_LINE,
    SMALL_SIZE,
    TEXT_SIZE,
    Columns,
    Jump,
    Layout,
    PlacedRow,
    PlacedWay,
    layout,
    page_breaks,
)
from banditree.figures.scene import GREY, INK, PAPER, Line, Scene, Shape, Text, moved, rectangle, scaled, wrap

A4, LETTER = (595.0, 842.0), (612.0, 792.0)
MARGIN = 28.0
SCENE_WIDTH = A4[0] - 2 * MARGIN
SMALLEST = 0.7  # To fit one page, a ladder is not drawn smaller than this, which makes 6.3 point text.
SPLIT_SCALE = 0.8  # A ladder that takes several pages anyway is drawn at this scale.
ACTION_FILL, END_FILL, RULE_FILL = "#eaf3fa", "#dff2e9", "#fdf3dc"
ACTION_INK, END_INK, RULE_INK = "#0b5a8a", "#0a6b4f", "#8a5a00"
ENTRY = 9.0  # A jump comes in so far below the upper edge of a row.


def ladder_scene(info: LadderInfo, width: float = SCENE_WIDTH) -> Scene:
    """The whole ladder with title, rule and notes, as high as it is."""
    require_drawable(info)
    return _page(info, layout(info, width), width, title=info.title, foot=True)


def ladder_pages(info: LadderInfo, size: tuple[float, float] = A4) -> list[Scene]:
    """The ladder on pages of this size: one if it fits, else several that name each other's pages."""
    across, down = size[0] - 2 * MARGIN, size[1] - 2 * MARGIN
    for scale in (1.0, 0.9, 0.8, SMALLEST):
        whole = ladder_scene(info, across / scale)
        if whole.height * scale <= down:
            return [_on_paper(whole, size, scale), *_prediction_pages(info, size)]
    width, height = across / SPLIT_SCALE, down / SPLIT_SCALE
    room = height - _furniture_height(info, width)
    pages = page_breaks(info, width, room)
    page_of = {info.rows[place].number: n for n, (a, b) in enumerate(pages, 1) for place in range(a, b)}
    scenes = [
        _page(info, layout(_told(info, n, page_of), width, a, b), width,
              title=info.title if n == 1 else "",
              note=info.words.say("Page {n} of {pages}", n=n, pages=len(pages)), foot=n == len(pages))
        for n, (a, b) in enumerate(pages, 1)
    ]  # fmt: skip
    return [*(_on_paper(scene, size, SPLIT_SCALE) for scene in scenes), *_prediction_pages(info, size)]


def _told(info: LadderInfo, page: int, page_of: dict[int, int]) -> LadderInfo:
    """The same ladder, whose ways to another page name it."""

    def told(way: Way) -> Way:
        where = page_of.get(way.box, page)
        if way.leads is Leads.END or where == page:
            return way
        leads = Leads.SKIP if way.leads is Leads.NEXT else way.leads
        then = info.words.say("{then}, page {page}", then=way.then, page=where)
        return replace(way, then=then, leads=leads)

    rows = tuple(replace(row, ways=tuple(map(told, row.ways))) for row in info.rows)
    return replace(info, rows=rows)


def _on_paper(scene: Scene, size: tuple[float, float], scale: float) -> Scene:
    """`scene` scaled on a sheet, in its upper left corner."""
    shapes = tuple(moved(shape, MARGIN, MARGIN) for shape in scaled(scene.shapes, scale))
    return Scene(*size, shapes, scene.description)


def _prediction_pages(info: LadderInfo, size: tuple[float, float]) -> list[Scene]:
    """How the arm of a contextual plan is found, line by line."""
    lines = [part for line in info.predictions for part in wrap(line, size[0] - 2 * MARGIN, 8.0, most=20)]
    per_page = int((size[1] - 2 * MARGIN) // 12)
    return [
        Scene(*size, tuple(Text(MARGIN, MARGIN + 12 * row, line, 8.0) for row, line in enumerate(part, 1)))
        for part in (lines[start : start + per_page] for start in range(0, len(lines), per_page))
    ]


def _furniture_height(info: LadderInfo, width: float) -> float:
    """What title, rule and notes take on a page."""
    lines = [
        *wrap(info.title, width, TEXT_SIZE),
        *(part for note in info.notes for part in wrap(note, width, SMALL_SIZE)),
    ]
    return LINE_HEIGHT * (len(lines) + len(wrap(info.rule, width - 2 * PAD, TEXT_SIZE))) + 80


def _page(info: LadderInfo, places: Layout, width: float, title: str = "", note: str = "", foot: bool = True) -> Scene:
    """Title, rows, and at the foot the rule and how to read it."""
    shapes: list[Shape] = []
    top = 0.0
    for line in wrap(title, width, TEXT_SIZE) if title else []:
        top += LINE_HEIGHT + 1
        shapes.append(Text(0, top - 4, line, TEXT_SIZE, GREY))
    if note:
        top += LINE_HEIGHT + 1
        shapes.append(Text(0, top - 4, note, TEXT_SIZE, INK, bold=True))
    top += 8.0
    shapes += [moved(shape, 0, top) for shape in _ladder(places)]
    top += places.height + ROW_GAP
    if foot and info.rule:
        band, height = _band(info.rule, places.columns)
        shapes += [moved(shape, 0, top) for shape in band]
        top += height + ROW_GAP
    for line in [part for text in info.notes for part in wrap(text, width, SMALL_SIZE)] if foot else []:
        shapes.append(Text(0, top + SMALL_SIZE - 4, line, SMALL_SIZE, GREY))
        top += SMALL_LINE + 1
    return Scene(width, top, tuple(shapes), info.title)


def _band(rule: str, columns: Columns) -> tuple[list[Shape], float]:
    lines = wrap(rule, columns.right - columns.left - 2 * PAD - 4, TEXT_SIZE, bold=True)
    height = len(lines) * LINE_HEIGHT + 2 * PAD
    frame = rectangle(
        columns.left, 0, columns.right - columns.left, height, fill=RULE_FILL, stroke=RULE_INK, width=1.4, radius=6
    )
    return [frame, *_lines(lines, columns.left + PAD + 2, PAD, LINE_HEIGHT, TEXT_SIZE, bold=True)], height


def _ladder(places: Layout) -> list[Shape]:
    shapes: list[Shape] = []
    for row, below in zip(places.rows, [*places.rows[1:], None], strict=True):
        shapes += _row_shapes(row, places.columns)
        if below is not None and any(placed.way.leads is Leads.NEXT for placed in row.ways):
            x = places.columns.left + NUMBER_WIDTH / 2
            shapes.append(Line(((x, row.top + row.height), (x, below.top)), INK, 1.3, arrow=True))
    return [*shapes, *(shape for jump in places.jumps for shape in _jump_shapes(jump, places))]


def _row_shapes(row: PlacedRow, columns: Columns) -> list[Shape]:
    is_end = not row.ways
    ink, fill = (END_INK, END_FILL) if is_end else (ACTION_INK, ACTION_FILL)
    left, top, across = columns.left, row.top, columns.right - columns.left
    shapes: list[Shape] = [
        rectangle(left, top, across, row.height, fill=PAPER, stroke=ink, width=1.2),
        rectangle(left, top, (columns.right if is_end else columns.when) - left, row.height, fill=fill),
        rectangle(left, top, NUMBER_WIDTH, row.height, fill=ink, stroke=ink, width=1.2),
        Text(left + NUMBER_WIDTH / 2, top + row.height / 2 + 4, str(row.row.number), 11, PAPER, True, "middle"),
        rectangle(left, top, across, row.height, stroke=ink, width=1.2),
    ]
    shapes += _lines(row.possible, 0, top + 3, SMALL_LINE, SMALL_SIZE, colour=GREY)
    slack = (row.height - len(row.action) * LINE_HEIGHT) / 2
    shapes += _lines(row.action, columns.action + PAD, top + slack, LINE_HEIGHT, TEXT_SIZE, bold=True)
    used = row.ways[-1].top + row.ways[-1].height + PAD if row.ways else 0.0
    drop = (row.height - used) / 2
    for placed in row.ways:
        shapes += [moved(shape, 0, top + drop) for shape in _way_shapes(placed, columns)]
    return shapes


def _way_shapes(placed: PlacedWay, columns: Columns) -> list[Shape]:
    middle = placed.top + placed.height / 2
    start = middle - len(placed.when) * SMALL_LINE / 2
    shapes: list[Shape] = list(_lines(placed.when, columns.when + PAD, start, SMALL_LINE, SMALL_SIZE, bold=True))
    if placed.way.leads is Leads.NEXT:
        x = columns.then + PAD + 4
        return [*shapes, Line(((x, middle - 6), (x, middle + 6)), INK, 1.5, arrow=True)]
    end = placed.way.leads is Leads.END
    style = {"fill": END_FILL, "stroke": END_INK, "width": 1.6} if end else {"fill": PAPER, "stroke": INK, "width": 1.0}
    across = columns.right - PAD - columns.then
    shapes.append(rectangle(columns.then, placed.top, across, placed.height, radius=3 if end else 8, **style))
    start = middle - len(placed.then) * SMALL_LINE / 2
    return [*shapes, *_lines(placed.then, columns.then + PAD, start, SMALL_LINE, SMALL_SIZE, bold=True)]


def _jump_shapes(jump: Jump, places: Layout) -> list[Shape]:
    """Stubs from the ways to the lane, the lane, and an arrow into the target; a jump back is dashed."""
    edge, lane = places.columns.right, places.columns.right + PAD + jump.lane * LANE + LANE / 2
    dash = (3.0, 2.5) if jump.back else ()
    target = places.rows[jump.target].top + ENTRY * (2 if jump.back and jump.target else 1)
    shapes: list[Shape] = []
    for place, which in jump.sources:
        row = places.rows[place]
        used = row.ways[-1].top + row.ways[-1].height + PAD
        way = row.ways[which]
        y = row.top + (row.height - used) / 2 + way.top + way.height / 2
        points = ((edge - PAD, y), (lane, y), (lane, target), (edge, target))
        shapes.append(Line(points, INK, 1.2, arrow=True, dash=dash))
    return shapes


def _lines(
    lines: list[str], x: float, y: float, leading: float, size: float, colour: str = INK, bold: bool = False
) -> list[Shape]:
    baseline = (leading + size * 0.72) / 2
    return [Text(x, y + baseline + leading * n, line, size, colour, bold) for n, line in enumerate(lines)]
