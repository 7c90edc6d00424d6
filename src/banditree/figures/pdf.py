"""Scenes as PDF pages, drawn by matplotlib with the fonts embedded."""

import io
import warnings
from collections.abc import Sequence
from typing import Any

from banditree.errors import PlanWarning
from banditree.figures.matplotlib import matplotlib_settings
from banditree.figures.scene import RIGHT_TO_LEFT, Line, Polygon, Scene, Text
from banditree.figures.svg import arrow_head

POINTS_PER_INCH = 72.0
FONT = "DejaVu Sans"


def pdf(pages: Sequence[Scene]) -> bytes:
    """The scenes as one PDF document, a page each of the scene's size. The same scenes give the same bytes."""
    target = io.BytesIO()
    with matplotlib_settings(), warnings.catch_warnings():
        from matplotlib.backends.backend_pdf import PdfPages

        _warn_of_missing(pages)
        warnings.filterwarnings("ignore", "Glyph .* missing")
        info = {"CreationDate": None, "Creator": "banditree"}
        with PdfPages(target, metadata=info) as document:
            for page in pages:
                document.savefig(_figure(page))
    return target.getvalue()


def _warn_of_missing(pages: Sequence[Scene]) -> None:
    """Say which letters the font lacks, or cannot put in their order, and what to do instead."""
    from matplotlib.font_manager import findfont, get_font

    known = get_font(findfont(FONT)).get_charmap()
    texts = (shape.text for page in pages for shape in page.shapes if isinstance(shape, Text))
    lacking = sorted({c for text in texts for c in text if ord(c) not in known or RIGHT_TO_LEFT.match(c)})
    if lacking:
        some = f"{''.join(lacking[:10])}{'...' if len(lacking) > 10 else ''}"
        warnings.warn(
            f"A PDF cannot show some letters of this plan well: {some}. Write an .html file instead, and print that.",
            PlanWarning,
            stacklevel=3,
        )


def _figure(scene: Scene) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(scene.width / POINTS_PER_INCH, scene.height / POINTS_PER_INCH))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    axes.axis("off")
    for order, shape in enumerate(scene.shapes):
        if isinstance(shape, Text):
            _text(axes, shape, order)
        elif isinstance(shape, Line):
            dashes: dict[str, Any] = {"linestyle": (0, shape.dash)} if shape.dash else {}
            xs, ys = zip(*shape.points, strict=True)
            axes.add_artist(Line2D(xs, ys, color=shape.stroke, linewidth=shape.width, zorder=order, **dashes))
            if shape.arrow:
                _polygon(axes, arrow_head(shape), order)
        else:
            _polygon(axes, shape, order)
    return figure


def _text(axes: Any, shape: Text, order: int) -> None:
    axes.text(
        shape.x,
        shape.y,
        shape.text,
        size=shape.size,
        color=shape.colour,
        family=FONT,
        weight="bold" if shape.bold else "normal",
        ha={"start": "left", "middle": "center", "end": "right"}[shape.anchor],
        va="baseline",
        rotation=90 if shape.turned else 0,
        rotation_mode="anchor",
        zorder=order,
        parse_math=False,
    )


def _polygon(axes: Any, shape: Polygon, order: int) -> None:
    from matplotlib import patches

    style: dict[str, Any] = {
        "facecolor": "none" if shape.fill is None else _with_opacity(shape.fill, shape.opacity),
        "edgecolor": shape.stroke or "none",
        "linewidth": shape.width if shape.stroke else 0,
        "zorder": order,
    }
    if not shape.radius:
        axes.add_artist(patches.Polygon(shape.points, closed=True, **style))
        return
    (x, y), (right, bottom) = shape.points[0], shape.points[2]
    radius = min(shape.radius, (right - x) / 2, (bottom - y) / 2)
    corners = f"round,pad=0,rounding_size={radius}"
    axes.add_artist(patches.FancyBboxPatch((x, y), right - x, bottom - y, boxstyle=corners, **style))


def _with_opacity(colour: str, opacity: float) -> Any:
    from matplotlib.colors import to_rgba

    return to_rgba(colour, opacity)
