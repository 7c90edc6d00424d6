"""The few things all drawings by matplotlib share: fonts embedded, and the same bytes every time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditree.errors import lacking

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[Any, Any] = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "banditree", "font.size": 9}
NO_DATES = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {"Software": None}}


@contextmanager
def matplotlib_settings() -> Iterator[None]:
    """Our settings while a figure is drawn, or an error that says how to install matplotlib."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise lacking("Figures need matplotlib", "figures") from None
    with rc_context(SETTINGS):
        yield


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure whole or not at all, the same bytes for the same picture."""
    from banditree.files.documents import written_whole

    suffix = path.suffix.lower()
    with written_whole(path) as temporary:
        figure.savefig(temporary, format=suffix[1:], dpi=150, metadata=NO_DATES[suffix])
