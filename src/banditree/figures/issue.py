"""What a sheet of paper says about itself, so that an old version is seen to be old: which plan, signed by whom, when
printed, and a mark that a phone reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from banditree.figures.scene import INK, PAPER, Scene, Shape, rectangle

MARK = 64.0  # The mark is about 23 mm wide on paper, which phones read from a hand's distance.
QUIET = 4  # A QR code needs a margin of four modules.


@dataclass(frozen=True)
class Issue:
    """lines: sentences about this very sheet. mark: the modules of a QR code, row by row. address: what it says."""

    lines: tuple[str, ...]
    mark: tuple[tuple[bool, ...], ...]
    address: str


def mark_scene(mark: Sequence[Sequence[bool]], address: str) -> Scene:
    """The mark as a picture: black on white, whatever is around it."""
    size = MARK / (len(mark) + 2 * QUIET)
    shapes: list[Shape] = [rectangle(0, 0, MARK, MARK, fill=PAPER)]
    for y, row in enumerate(mark, QUIET):
        for dark, run in groupby(enumerate(row, QUIET), key=lambda one: one[1]):
            if dark:
                places = [x for x, _ in run]
                shapes.append(rectangle(places[0] * size, y * size, len(places) * size, size * 1.02, fill=INK))
    return Scene(MARK, MARK, tuple(shapes), f"QR code: {address}")
