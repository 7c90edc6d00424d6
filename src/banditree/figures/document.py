"""A document as a list of blocks, written as one HTML file or as PDF pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from banditree.figures.drawing import A4, ladder_pages
from banditree.figures.html import ladder_data, ladder_section, page
from banditree.figures.ladder import LadderInfo
from banditree.figures.pdf import pdf
from banditree.figures.reach import ReachInfo
from banditree.figures.scene import (
    FAINT,
    GREY,
    INK,
    Line,
    Scene,
    Shape,
    Text,
    fitted,
    moved,
    rectangle,
    scaled,
    text_width,
    wrap,
)
from banditree.figures.svg import svg

MARGIN = 42.0  # The margin of a page, in points.
SMALL_TABLE = 6.0  # The smallest print of a table on paper, in points.


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Some sentences; `soft` ones are remarks."""

    text: str
    soft: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first column is text and the others are numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Figures:
    """Pictures side by side where there is room, each with a caption."""

    scenes: tuple[tuple[Scene, str], ...]


@dataclass(frozen=True, eq=False)
class Ladder:
    """The picture of a plan, with the numbers of its boxes or a note on why there are none."""

    info: LadderInfo
    reach: ReachInfo | None
    note: str


Block = Heading | Paragraph | Table | Facts | Figures | Ladder


def document_html(title: str, blocks: Sequence[Block]) -> str:
    """One file, nothing fetched from anywhere."""
    body = "\n".join(_html(block) for block in blocks)
    data = [ladder_data(block.info, block.reach, block.note) for block in blocks if isinstance(block, Ladder)]
    return page(title, f"<main>\n<h1>{escape(title)}</h1>\n{body}\n</main>", "".join(data[:1]))


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{escape(block.text)}</h2>"
    if isinstance(block, Paragraph):
        soft = ' class="soft"' if block.soft else ""
        return f"<p{soft}>{escape(block.text)}</p>"
    if isinstance(block, Facts):
        pairs = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in block.pairs)
        return f"<dl>{pairs}</dl>"
    if isinstance(block, Table):
        return html_table(block)
    if isinstance(block, Figures):
        figures = ""
        for scene, caption in block.scenes:
            drawing = _themed(svg(scene, margin=4, background=None))
            figures += f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>\n"
        return f'<div class="figures">{figures}</div>'
    return ladder_section(block.info, block.reach, block.note)


def html_table(table: Table) -> str:
    """A table that scrolls where there is too little room for it."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    rows = ""
    for name, *cells in table.rows:
        numbers = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows += f'<tr><th scope="row">{escape(name)}</th>{numbers}</tr>\n'
    label = escape(", ".join(table.head))
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
    )


def _themed(drawing: str) -> str:
    """A picture that follows the light or dark colours of its page."""
    for colour, name in ((INK, "ink"), (GREY, "soft"), (FAINT, "faint")):
        drawing = drawing.replace(f'"{colour}"', f'"var(--{name})"')
    return drawing


def document_pdf(title: str, blocks: Sequence[Block]) -> bytes:
    """The blocks on A4 pages; plans have pages of their own, where they stand."""
    sheets = Sheets()
    sheets.write(title, 16.0, INK, bold=True, after=8)
    for block in blocks:
        if isinstance(block, Heading):
            sheets.room(60)
            sheets.y += 10
            sheets.write(block.text, 12.0, INK, bold=True, after=4)
        elif isinstance(block, Paragraph):
            sheets.write(block.text, 9.0, GREY if block.soft else INK, after=5)
        elif isinstance(block, Facts):
            for name, value in block.pairs:
                sheets.write(f"{name}: {value}", 9.0, INK, after=1)
        elif isinstance(block, Table):
            _print_table(sheets, block)
        elif isinstance(block, Figures):
            for scene, caption in block.scenes:
                sheets.picture(scene, caption)
        else:
            pages = ladder_pages(block.info)
            sheets.write("See the next page." if len(pages) == 1 else f"See the next {len(pages)} pages.", 9.0, GREY)
            sheets.insert(pages)
    return pdf(sheets.pages())


class Sheets:
    """Pages of paper that fill from above."""

    def __init__(self, size: tuple[float, float] = A4) -> None:
        self.size, self.margin = size, MARGIN
        self.done: list[Scene] = []
        self.shapes: list[Shape] = []
        self.y = MARGIN

    @property
    def width(self) -> float:
        """Between the margins."""
        return self.size[0] - 2 * self.margin

    def room(self, height: float) -> None:
        """Start another page unless `height` fits on this one."""
        if self.y + height > self.size[1] - self.margin and self.shapes:
            self.turn()

    def turn(self) -> None:
        """Finish this page."""
        if self.shapes:
            self.done.append(Scene(*self.size, tuple(self.shapes)))
        self.shapes, self.y = [], self.margin

    def write(
        self, text: str, size: float, colour: str, bold: bool = False, after: float = 0.0, inset: float = 0.0
    ) -> None:
        """A wrapped text at the left margin, or set in from it."""
        for line in wrap(text, self.width - inset, size, bold, most=60):
            self.room(size * 1.45)
            self.y += size * 1.45
            self.shapes.append(Text(self.margin + inset, self.y, line, size, colour, bold))
        self.y += after

    def pair(self, name: str, meaning: str, size: float) -> None:
        """A name and what it means, side by side."""
        inset, step = 0.26 * self.width, size * 1.45
        lines = wrap(name, inset - 6, size, True, most=3)
        self.room(len(lines) * step)
        top = self.y
        for number, line in enumerate(lines, 1):
            self.shapes.append(Text(self.margin, top + number * step, line, size, INK, True))
        self.write(meaning, size, INK, after=1, inset=inset)
        self.y = max(self.y, top + len(lines) * step + 1)

    def framed(self, text: str, size: float) -> None:
        """A text in a frame."""
        lines = wrap(text, self.width - 16, size, True, most=10)
        height = len(lines) * size * 1.45 + 10
        self.room(height)
        self.shapes.append(rectangle(self.margin, self.y, self.width, height, stroke=INK, width=1.2, radius=4))
        for number, line in enumerate(lines, 1):
            self.shapes.append(Text(self.margin + 8, self.y + number * size * 1.45, line, size, INK, True))
        self.y += height

    def picture(self, scene: Scene, caption: str) -> None:
        """A picture no wider than the text and no higher than the page, with its caption."""
        most = self.size[1] - 2 * MARGIN - 40
        factor = min(1.0, self.width / scene.width, most / scene.height)
        self.room(scene.height * factor + 40)
        self.y += 8
        self.shapes += [moved(shape, MARGIN, self.y) for shape in scaled(scene.shapes, factor)]
        self.y += scene.height * factor + 4
        self.write(caption, 8.0, GREY, after=6)

    def insert(self, pages: Sequence[Scene]) -> None:
        """Whole pages between this one and the next."""
        self.turn()
        self.done += pages

    def pages(self) -> list[Scene]:
        """All pages."""
        self.turn()
        return self.done


def print_tables(sheets: Sheets, tables: Sequence[Table], size: float = 8.0) -> None:
    """Small tables of one form side by side, as many as there is room for, as wide as their widest cells."""
    rows = [row for table in tables for row in (table.head, *table.rows)]
    widths = [max(text_width(cell, size, True) for cell in column) + 7 for column in zip(*rows, strict=True)]
    factor = min(1.0, sheets.width / sum(widths))
    size, widths = max(size * factor, SMALL_TABLE), [width * factor for width in widths]
    across = max(int((sheets.width + 14) // (sum(widths) + 14)), 1)
    for first in range(0, len(tables), across):
        band = tables[first : first + across]
        height = (max(len(table.rows) for table in band) + 1) * size * 1.3 + 5
        sheets.room(height)
        for place, table in enumerate(band):
            left = sheets.margin + place * (sum(widths) + 14)
            _print_cells(sheets, table, left, widths, size)
        sheets.y += height


def _print_cells(sheets: Sheets, table: Table, left: float, widths: list[float], size: float) -> None:
    for number, row in enumerate((table.head, *table.rows), 1):
        x, y, bold = left, sheets.y + number * size * 1.3, row is table.head
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            text = fitted(cell, width - 3, size, bold)
            place = (x, "end") if column else (x, "start")
            sheets.shapes.append(Text(place[0] + (width - 2 if column else 0), y, text, size, INK, bold, place[1]))
            x += width
        if bold:
            sheets.shapes.append(Line(((left, y + size * 0.25), (x, y + size * 0.25)), GREY, 0.6))


def _print_table(sheets: Sheets, table: Table) -> None:
    """Columns as wide as their widest cell, in smaller print if that is too wide for the page."""
    size = 8.5
    widths = [max(text_width(row[c], size, row is table.head) for row in (table.head, *table.rows)) + 12
              for c in range(len(table.head))]  # fmt: skip
    factor = min(1.0, (A4[0] - 2 * MARGIN) / sum(widths))
    size = max(size * factor, SMALL_TABLE)
    widths = [width * factor for width in widths]
    for row in (table.head, *table.rows):
        sheets.room(size * 1.6)
        sheets.y += size * 1.6
        x = MARGIN
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            text = fitted(cell, width - 4, size, row is table.head)
            place = x if column == 0 else x + width - 4
            anchor = "start" if column == 0 else "end"
            sheets.shapes.append(Text(place, sheets.y, text, size, INK, row is table.head, anchor))
            x += width
        if row is table.head:
            line = sheets.y + size * 0.4
            sheets.shapes.append(Line(((MARGIN, line), (x, line)), GREY, 0.6))
    sheets.y += 8
