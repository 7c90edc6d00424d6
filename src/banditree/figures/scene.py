"""Scenes: pictures as lists of simple shapes, drawn alike as SVG (no library needed) and as PDF (matplotlib).

Lengths are in points, y grows downwards. Text is measured with the widths of DejaVu Sans, the font of the PDFs and
wider than what browsers use, so that what fits here fits everywhere.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace

# Names written from right to left: whatever draws text would turn "+1/-3" behind them round as well.
_LETTERS = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
RIGHT_TO_LEFT = re.compile(f"[{_LETTERS}]+(?:[ '.-]+[{_LETTERS}]+)*")
# Widths of the printable ASCII characters, in hundredths of the font size; bold is about an eighth wider.
# fmt: off
WIDTHS = (
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
    84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61,
    69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59,
    82, 59, 59, 52, 64, 34, 64, 84,
)
# fmt: on
BOLD = 1.13
ELLIPSIS = "..."

INK, GREY, FAINT, PAPER = "#1b2733", "#5b6875", "#d5dbe1", "#ffffff"
# Okabe and Ito's palette, which people with any colour vision can tell apart; the yellow is omitted on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK)


@dataclass(frozen=True)
class Polygon:
    """A closed shape; `radius` rounds the corners of a rectangle."""

    points: tuple[tuple[float, float], ...]
    fill: str | None = None
    stroke: str | None = None
    width: float = 1.0
    radius: float = 0.0
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True)
class Line:
    """An open line through the points, with an arrow at its end if asked."""

    points: tuple[tuple[float, float], ...]
    stroke: str = INK
    width: float = 1.0
    arrow: bool = False
    dash: tuple[float, ...] = ()


@dataclass(frozen=True)
class Text:
    """One line of text on the baseline y; anchor: start, middle or end. `turned`: reads upwards."""

    x: float
    y: float
    text: str
    size: float = 10.0
    colour: str = INK
    bold: bool = False
    anchor: str = "start"
    turned: bool = False


Shape = Polygon | Line | Text


@dataclass(frozen=True)
class Scene:
    """A picture: its size, its shapes from back to front, and a sentence for those who do not see it."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    description: str = ""


def rectangle(x: float, y: float, across: float, down: float, **style: object) -> Polygon:
    """A rectangle by its upper left corner and size."""
    points = ((x, y), (x + across, y), (x + across, y + down), (x, y + down))
    return Polygon(points, **style)  # type: ignore[arg-type]


def text_width(text: str, size: float, bold: bool = False) -> float:
    """How wide `text` is at most.

    >>> round(text_width("recoveries", 10), 1)
    52.3
    """
    hundredths = sum(WIDTHS[ord(char) - 32] if " " <= char <= "~" else _wide(char) for char in text)
    return hundredths * size / 100 * (BOLD if bold else 1.0)


def _wide(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 105 if unicodedata.east_asian_width(char) in "WF" else 85


def wrap(text: str, width: float, size: float, bold: bool = False, most: int = 6) -> list[str]:
    """`text` in at most `most` lines of at most `width`; long words are broken, and an overlong text ends in "...".

    >>> wrap("Give the new treatment 143 times", 80, 10)
    ['Give the new', 'treatment 143', 'times']
    """
    lines, line = [], ""
    for piece in (piece for word in text.split() for piece in _broken(word, width, size, bold)):
        longer = f"{line} {piece}".lstrip()
        if text_width(longer, size, bold) <= width:
            line = longer
        else:
            lines.append(line)
            line = piece
    lines.append(line)
    if len(lines) > most:
        last = lines[most - 1]
        while last and text_width(last + ELLIPSIS, size, bold) > width:
            last = last[:-1]
        lines = [*lines[: most - 1], last + ELLIPSIS]
    return lines


def fitted(text: str, width: float, size: float, bold: bool = False) -> str:
    """`text` in one line, cut with "..." if it is too wide."""
    if text_width(text, size, bold) <= width:
        return text
    while text and text_width(text + ELLIPSIS, size, bold) > width:
        text = text[:-1]
    return text + ELLIPSIS


def _broken(word: str, width: float, size: float, bold: bool) -> list[str]:
    pieces, piece = [], ""
    for char in word:
        if piece and text_width(piece + char, size, bold) > width:
            pieces.append(piece)
            piece = ""
        piece += char
    return [*pieces, piece]


def moved(shape: Shape, dx: float, dy: float) -> Shape:
    """`shape` elsewhere."""
    if isinstance(shape, Text):
        return replace(shape, x=shape.x + dx, y=shape.y + dy)
    return replace(shape, points=tuple((x + dx, y + dy) for x, y in shape.points))


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
