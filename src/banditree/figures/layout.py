"""Where the boxes of a flowchart go: yes to the right, no below, as clinical algorithms are drawn.

A box, what hangs right of it and what hangs below it are packed column by column, so that nothing overlaps and no
lines cross by construction. `pages` cuts a chart that is too large into subtrees that fit.
"""

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache

from banditree.figures.flowchart import BoxInfo, Branch, FlowchartInfo
from banditree.figures.scene import wrap

BOX_WIDTH, COLUMN_GAP, ROW_GAP = 194.0, 38.0, 26.0
OVAL_WIDTH, OVAL_HEIGHT = 92.0, 24.0
NUMBER_WIDTH = 30.0  # the cell with the number of a box, left of its action
HEXAGON_EDGE = 14.0  # how far the points of a hexagon stand out
STEM = 7.0  # from the action down to its question
PART_HEADING = 22.0  # the line above a part that goes on from another page
STATE_SIZE, ACTION_SIZE, QUESTION_SIZE = 9.0, 10.0, 10.0
STATE_LINE, ACTION_LINE, QUESTION_LINE = 12.0, 14.0, 13.0
COLUMN = BOX_WIDTH + COLUMN_GAP


@dataclass(frozen=True)
class Glyph:
    """A box with its wrapped text and the heights of its parts; a part without text has none."""

    box: BoxInfo
    state: list[str]
    action: list[str]
    question: list[str]

    @property
    def state_height(self) -> float:
        """The rounded part on top."""
        return len(self.state) * STATE_LINE + 8 if self.state else 0.0

    @property
    def action_height(self) -> float:
        """The rectangle."""
        return len(self.action) * ACTION_LINE + 10

    @property
    def question_height(self) -> float:
        """The hexagon, without its stem."""
        return len(self.question) * QUESTION_LINE + 12 if self.question else 0.0

    @property
    def height(self) -> float:
        """All parts together."""
        stem = STEM if self.question else 0.0
        return self.state_height + self.action_height + stem + self.question_height

    @property
    def entry(self) -> float:
        """How far down a line from the left comes in: the middle of the action."""
        return self.state_height + self.action_height / 2

    @property
    def exit(self) -> float:
        """How far down the yes line goes out: the middle of the question."""
        return self.height - self.question_height / 2


@dataclass(frozen=True)
class Oval:
    """A link to a box that is drawn elsewhere, on page `page` if that is another one."""

    target: int
    page: int | None = None
    height: float = OVAL_HEIGHT
    entry: float = OVAL_HEIGHT / 2


@dataclass(frozen=True)
class Placed:
    """A glyph or an oval with its column, its upper edge, and what it hangs on: (number, answer) or None."""

    item: Glyph | Oval
    column: int
    top: float
    below: tuple[int, str] | None

    @property
    def left(self) -> float:
        """Its left edge."""
        return self.column * COLUMN

    @property
    def width(self) -> float:
        """Its width."""
        return BOX_WIDTH if isinstance(self.item, Glyph) else OVAL_WIDTH


@dataclass
class Packed:
    """A subtree relative to its root: the span of each column, and where the two children go."""

    tops: list[float]
    bottoms: list[float]
    entry: float  # how far down a line from the left comes in
    offsets: list[tuple[int, float]] = field(default_factory=list)  # (column, top) of each child

    @property
    def height(self) -> float:
        """The lowest edge."""
        return max(self.bottoms)


@dataclass(frozen=True)
class Layout:
    """The places of all glyphs and ovals of one page, and its size."""

    places: tuple[Placed, ...]
    width: float
    height: float


@lru_cache(maxsize=4096)
def glyph(box: BoxInfo) -> Glyph:
    """The text of a box wrapped to the width of its parts."""
    return Glyph(
        box,
        wrap(box.state, BOX_WIDTH - 20, STATE_SIZE, bold=box.is_leaf, most=3) if box.state else [],
        wrap(box.action, BOX_WIDTH - NUMBER_WIDTH - 16, ACTION_SIZE, bold=True, most=8),
        wrap(box.question, BOX_WIDTH - 2 * HEXAGON_EDGE - 6, QUESTION_SIZE, most=4) if box.question else [],
    )


def layout(info: FlowchartInfo, root: int = 1, pages: dict[int, int] | None = None) -> Layout:
    """The places of the boxes that hang below `root`; boxes in `pages` (number: page) are on pages of their own."""
    elsewhere = pages or {}
    packed = _packed(info, root, elsewhere)
    places = []
    todo: list[tuple[int, int, float, tuple[int, str] | None]] = [(root, 0, 0.0, None)]
    while todo:
        number, column, top, below = todo.pop()
        places.append(Placed(glyph(info.box(number)), column, top, below))
        for branch, (right, down) in zip(info.box(number).branches, packed[number].offsets, strict=True):
            hangs_on = (number, branch.answer)
            if _is_link(branch, elsewhere):
                oval = Oval(branch.target, elsewhere.get(branch.target))
                places.append(Placed(oval, column + right, top + down, hangs_on))
            else:
                todo.append((branch.target, column + right, top + down, hangs_on))
    whole = packed[root]
    return Layout(tuple(places), len(whole.tops) * COLUMN - COLUMN_GAP, whole.height)


def cut_into_pages(info: FlowchartInfo, width: float, height: float) -> list[list[int]]:
    """The roots of the parts on each page of `width` x `height`: page 1 has the top of the plan, as much as fits.

    What does not fit is a part of its own; a part goes to the first later page with room below the others.
    """
    columns = max(1, int((width + COLUMN_GAP) // COLUMN))
    pages: list[list[int]] = []
    room: list[float] = []
    parts = deque([1])
    while parts:
        root = parts.popleft()
        rest, used = _fill(info, root, columns, height - PART_HEADING)
        parts += rest
        page = next((page for page, left in enumerate(room) if left >= used), None)
        if page is None:
            page = len(pages)
            pages.append([])
            room.append(height)
        pages[page].append(root)
        room[page] -= used
    return pages


def _fill(info: FlowchartInfo, root: int, columns: int, height: float) -> tuple[list[int], float]:
    """The boxes that no longer fit below `root` (each with all that hangs on it), and the height of what does."""
    cut = dict.fromkeys(_tests_below(info, root), 0)
    size = _packed(info, root, cut)[root]
    todo = deque(cut)
    while todo:
        number = todo.popleft()
        tests = _tests_below(info, number)
        trial = {other: 0 for other in [*cut, *tests] if other != number}
        larger = _packed(info, root, trial)[root]
        if len(larger.tops) <= columns and larger.height <= height:
            cut, size = trial, larger
            todo += tests
    return list(cut), size.height + PART_HEADING + ROW_GAP


def _tests_below(info: FlowchartInfo, number: int) -> list[int]:
    """The tests that hang on a box; leaves come along with it."""
    hanging = [branch.target for branch in info.box(number).branches if branch.hangs]
    return [child for child in hanging if not info.box(child).is_leaf]


def _packed(info: FlowchartInfo, root: int, elsewhere: dict[int, int]) -> dict[int, Packed]:
    packed: dict[int, Packed] = {}
    for number in reversed(_order(info, root, elsewhere)):
        packed[number] = _pack(glyph(info.box(number)), packed, elsewhere)
    return packed


def _order(info: FlowchartInfo, root: int, elsewhere: dict[int, int]) -> list[int]:
    """The boxes that hang below `root` on its page, parents first."""
    order, todo = [], [root]
    while todo:
        number = todo.pop()
        order.append(number)
        branches = info.box(number).branches
        todo += [branch.target for branch in reversed(branches) if not _is_link(branch, elsewhere)]
    return order


def _is_link(branch: Branch, elsewhere: dict[int, int]) -> bool:
    return not branch.hangs or branch.target in elsewhere


def _pack(shape: Glyph, packed: dict[int, Packed], elsewhere: dict[int, int]) -> Packed:
    """A box with its two subtrees: yes one column to the right, no as high below as the columns leave room."""
    whole = Packed([0.0], [shape.height], shape.entry)
    for branch in shape.box.branches:
        is_link = _is_link(branch, elsewhere)
        child = Packed([0.0], [OVAL_HEIGHT], OVAL_HEIGHT / 2) if is_link else packed[branch.target]
        if branch.answer == "yes":
            right, down = 1, max(shape.exit - child.entry, 0.0)
        else:
            room = [bottom - top for bottom, top in zip(whole.bottoms, child.tops, strict=False)]
            right, down = 0, max(room) + ROW_GAP
        whole.offsets.append((right, down))
        for column in range(len(child.tops)):
            top, bottom = child.tops[column] + down, child.bottoms[column] + down
            if column + right == len(whole.tops):
                whole.tops.append(top)
                whole.bottoms.append(bottom)
            else:
                whole.tops[column + right] = min(whole.tops[column + right], top)
                whole.bottoms[column + right] = max(whole.bottoms[column + right], bottom)
    return whole
