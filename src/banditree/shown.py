"""How results show themselves: one way for all of them, as text, in notebooks, as a frame, and as a picture."""

from importlib import import_module
from pathlib import Path
from typing import Any

from banditree.errors import InvalidInput, lacking


class Shown:
    """What a result of banditree can do: `print(it)`, stand in a notebook, `it.to_frame()`, `it.plot()`.

    What each kind of result shows stands in `banditree.reports.showing`, which is loaded when something is shown.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return str(_showing().text_of(self))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return dict(_showing().bundle_of(self))

    def to_frame(self) -> Any:
        """The numbers as a pandas frame, one row for each thing that they are about."""
        try:
            import pandas
        except ImportError:
            raise lacking("A pandas frame needs pandas", "frames") from None
        return pandas.DataFrame(_showing().rows_of(self))

    def plot(self) -> "Picture":
        """The picture: it shows itself in notebooks, and `plot().save("result.svg")` writes it."""
        return Picture(_showing().picture_of(self))


class Picture:
    """A picture as SVG."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write it to a file (.svg)."""
        if Path(path).suffix != ".svg":
            raise InvalidInput(f"A picture is written as .svg. Got {str(path)!r}.")
        Path(path).write_text(self.svg, encoding="utf-8")


def _showing() -> Any:
    return import_module("banditree.reports.showing")  # by name, since the rooms of results are below that of reports
