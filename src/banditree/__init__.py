"""banditree: short exploration plans that a person can read.

Logs or simulators become a Collection, a Collection becomes a Plan, and a Plan is shown, certified, simulated or
followed. Names are loaded when they are first used, so that importing banditree costs next to nothing; the public ones
are listed once, in `__init__.pyi`, which type checkers read as well.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from banditree.compiled import keep_compiled
from banditree.version import __version__ as __version__

_HOMES = {
    name: module
    for module, name in re.findall(
        r"^from (\S+) import ([a-zA-Z]\w*) as \2$",
        Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}
__all__ = sorted(_HOMES)
keep_compiled()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"banditree has no {name!r}. It has: {', '.join(__all__)}.")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
