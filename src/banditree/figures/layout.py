"""Where the rows of a ladder go: one below the other, their ways out inside at the right, jumps in lanes at the side.

Nothing overlaps by construction: a row is as high as its text, and two jumps share a lane only where they do not meet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from banditree.figures.ladder import LadderInfo, Leads, Row, Way
from banditree.figures.scene import text_width, wrap

NUMBER_WIDTH = 26.0  # The width of the cell with the number of a row.
POSSIBLE_WIDTH = 92.0  # The width of the column left of the rows that says who may still be there.
COLUMN_GAP, ROW_GAP, WAY_GAP, LANE = 8.0, 13.0, 3.0, 11.0
PAD = 6.0
TEXT_SIZE, LINE_HEIGHT = 10.0, 13.0
SMALL_SIZE, SMALL_LINE = 9.0, 11.5
MOST_LANES = 8  # Jumps that find no lane are told by their words alone.
WHEN_SHARE, THEN_SHARE = 0.24, 0.36  # The shares of a row's width for conditions and for what follows from them.


@dataclass(frozen=True)
class PlacedWay:
    """A way out with its wrapped texts, relative to the top of its row."""

    way: Way
    when: list[str]
    then: list[str]
    top: float
    height: float


@dataclass(frozen=True)
class PlacedRow:
    """A row with its wrapped texts and its upper edge."""

    row: Row
    possible: list[str]
    action: list[str]
    ways: tuple[PlacedWay, ...]
    top: float
    height: float


@dataclass(frozen=True)
class Jump:
    """All ways that lead from some rows to one other: a line in a lane, from the rows' right edges to the target's."""

    sources: tuple[tuple[int, int], ...]  # (place of the row, which of its ways)
    target: int
    lane: int
    back: bool


@dataclass(frozen=True)
class Columns:
    """Where the columns of a ladder begin and end."""

    left: float
    action: float
    when: float
    then: float
    right: float


@dataclass(frozen=True)
class Layout:
    """The rows of one page with their columns and jumps."""

    columns: Columns
    rows: tuple[PlacedRow, ...]
    jumps: tuple[Jump, ...]
    height: float


def layout(info: LadderInfo, width: float, first: int = 0, last: int | None = None) -> Layout:
    """The places of the rows from `first` up to `last`, which is not among them, on a page of this width."""
    rows = info.rows[first:last]
    found = jumps(rows)
    columns = _columns(info, width, 1 + max((jump.lane for jump in found), default=-1))
    placed, top = [], 0.0
    for row in rows:
        placed.append(_placed(row, columns, top))
        top += placed[-1].height + ROW_GAP
    return Layout(columns, tuple(placed), found, top - ROW_GAP)


def page_breaks(info: LadderInfo, width: float, height: float) -> list[tuple[int, int]]:
    """The rows of each page, from and up to, so that every page is full and no row is cut."""
    heights = [row.height + ROW_GAP for row in layout(info, width).rows]
    pages, first, used = [], 0, 0.0
    for place, needed in enumerate(heights):
        if used + needed > height and place > first:
            pages.append((first, place))
            first, used = place, 0.0
        used += needed
    return [*pages, (first, len(heights))]


def _columns(info: LadderInfo, width: float, lanes: int) -> Columns:
    """Conditions and what follows take what they need, up to a share; the action has the rest."""
    left = POSSIBLE_WIDTH + COLUMN_GAP if any(row.possible for row in info.rows) else 0.0
    right = width - (lanes * LANE + PAD if lanes else 0.0)
    inner = right - left - NUMBER_WIDTH
    ways = [way for row in info.rows for way in row.ways]
    widest = [max((text_width(t, SMALL_SIZE, True) for t in texts), default=0.0) + 2 * PAD + 2
              for texts in ([w.when for w in ways], [w.then for w in ways if w.leads is not Leads.NEXT])]  # fmt: skip
    then = right - PAD - min(widest[1], THEN_SHARE * inner)
    when = then - min(widest[0], WHEN_SHARE * inner)
    return Columns(left, left + NUMBER_WIDTH, when, then, right)


def _placed(row: Row, columns: Columns, top: float) -> PlacedRow:
    ways: list[PlacedWay] = []
    below = PAD
    for way in row.ways:
        when = wrap(way.when, columns.then - columns.when - PAD, SMALL_SIZE, bold=True)
        then = [] if way.leads is Leads.NEXT else _then(way, columns)
        height = max(len(when), len(then), 1) * SMALL_LINE + 5
        ways.append(PlacedWay(way, when, then, below, height))
        below += height + WAY_GAP
    edge = columns.when if row.ways else columns.right
    action = wrap(row.action, edge - columns.action - 2 * PAD, TEXT_SIZE, bold=True, most=8)
    possible = wrap(row.possible, POSSIBLE_WIDTH, SMALL_SIZE, most=6) if row.possible else []
    height = max(len(action) * LINE_HEIGHT + 2 * PAD, below - WAY_GAP + PAD, len(possible) * SMALL_LINE + PAD)
    return PlacedRow(row, possible, action, tuple(ways), top, height)


def _then(way: Way, columns: Columns) -> list[str]:
    return wrap(way.then, columns.right - PAD - columns.then - 2 * PAD, SMALL_SIZE, bold=True)


def jumps(rows: Sequence[Row]) -> tuple[Jump, ...]:
    """The jumps between these rows, short ones in the inner lanes."""
    place = {row.number: index for index, row in enumerate(rows)}
    ways: dict[tuple[int, bool], list[tuple[int, int]]] = {}
    for index, row in enumerate(rows):
        for which, way in enumerate(row.ways):
            if way.leads in (Leads.SKIP, Leads.BACK) and way.box in place:
                ways.setdefault((place[way.box], way.leads is Leads.BACK), []).append((index, which))
    spans = {key: _span(key[0], sources) for key, sources in ways.items()}
    lanes: list[list[tuple[int, int]]] = []
    made = []
    for key in sorted(spans, key=lambda key: (spans[key][1] - spans[key][0], key)):
        lane = next((n for n, taken in enumerate(lanes) if not any(_meet(spans[key], other) for other in taken)), None)
        if lane is None:
            lane = len(lanes)
            lanes.append([])
        lanes[lane].append(spans[key])
        made.append(Jump(tuple(ways[key]), key[0], lane, key[1]))
    return tuple(jump for jump in made if jump.lane < MOST_LANES)


def _span(target: int, sources: Sequence[tuple[int, int]]) -> tuple[int, int]:
    places = [target, *(place for place, _ in sources)]
    return min(places), max(places)


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
