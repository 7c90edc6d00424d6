"""Scenes as SVG, written by hand: no library, and text stays text."""

from html import escape

from banditree.figures.scene import PAPER, RIGHT_TO_LEFT, Line, Polygon, Scene, Shape, Text

FONT = "'DejaVu Sans', Helvetica, Arial, sans-serif"


def svg(scene: Scene, margin: float = 14.0, background: str | None = PAPER) -> str:
    """The scene as one SVG document that scales with its place.

    >>> svg(Scene(10, 10, (Text(0, 8, "a < b"),))).count("a &lt; b")
    1
    """
    width, height = scene.width + 2 * margin, scene.height + 2 * margin
    box = f"{-margin:g} {-margin:g} {width:g} {height:g}"
    back = "" if background is None else f'<rect x="{-margin:g}" y="{-margin:g}" width="{width:g}" height="{height:g}"'
    if back:
        back += f' rx="6" fill="{background}"/>\n'
    parts = [_shape(shape) for shape in scene.shapes]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{width:g}" height="{height:g}" role="img" '
        f'font-family="{FONT}">\n<title>{escape(scene.description)}</title>\n{back}' + "\n".join(parts) + "\n</svg>\n"
    )


def _shape(shape: Shape) -> str:
    if isinstance(shape, Text):
        return _text(shape)
    if isinstance(shape, Line):
        return _line(shape)
    return _polygon(shape)


def _text(shape: Text) -> str:
    style = ' font-weight="bold"' if shape.bold else ""
    if shape.anchor != "start":
        style += f' text-anchor="{shape.anchor}"'
    if shape.turned:
        style += f' transform="rotate(-90 {_n(shape.x)} {_n(shape.y)})"'
    place = f'x="{_n(shape.x)}" y="{_n(shape.y)}" font-size="{_n(shape.size)}" fill="{shape.colour}"'
    apart = RIGHT_TO_LEFT.sub("\u2068\\g<0>\u2069", shape.text)  # isolated from the numbers around it
    return f"<text {place}{style}>{escape(apart)}</text>"


def _line(shape: Line) -> str:
    dash = f' stroke-dasharray="{" ".join(map(_n, shape.dash))}"' if shape.dash else ""
    line = (
        f'<polyline points="{_points(shape.points)}" fill="none" stroke="{shape.stroke}" '
        f'stroke-width="{_n(shape.width)}" stroke-linejoin="round"{dash}/>'
    )
    return line + (_polygon(arrow_head(shape)) if shape.arrow else "")


def _polygon(shape: Polygon) -> str:
    style = f'fill="{shape.fill or "none"}"'
    if shape.stroke:
        style += f' stroke="{shape.stroke}" stroke-width="{_n(shape.width)}"'
    if shape.opacity < 1:
        style += f' fill-opacity="{_n(shape.opacity)}"'
    title = f"<title>{escape(shape.title)}</title>" if shape.title else ""
    if shape.radius:
        (x, y), (right, bottom) = shape.points[0], shape.points[2]
        size = f'x="{_n(x)}" y="{_n(y)}" width="{_n(right - x)}" height="{_n(bottom - y)}"'
        return f'<rect {size} rx="{_n(shape.radius)}" {style}>{title}</rect>'
    return f'<polygon points="{_points(shape.points)}" {style}>{title}</polygon>'


def arrow_head(line: Line) -> Polygon:
    """The triangle at the end of a line that runs along an axis."""
    (x0, y0), (x, y) = line.points[-2:]
    long, wide = 5.0 * line.width, 2.2 * line.width
    if abs(x - x0) >= abs(y - y0):
        back = x - long if x > x0 else x + long
        return Polygon(((x, y), (back, y - wide), (back, y + wide)), line.stroke)
    back = y - long if y > y0 else y + long
    return Polygon(((x, y), (x - wide, back), (x + wide, back)), line.stroke)


def _points(points: tuple[tuple[float, float], ...]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
