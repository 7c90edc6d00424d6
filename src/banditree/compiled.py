"""Where numba keeps compiled code, also on a machine where nothing can be written beside the package or at home."""

import atexit
import os
import sys
import warnings
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryFile, mkdtemp

GIVEN = "NUMBA_CACHE_DIR"
UNKEPT = "banditree-compiled-"  # How the folder begins that goes with the process.


def keep_compiled() -> None:
    """See to a folder for compiled code, before numba looks for one: without any it refuses to compile."""
    if any(map(_can_be_written, _places())):
        return
    os.environ[GIVEN] = mkdtemp(prefix=UNKEPT)
    atexit.register(rmtree, os.environ[GIVEN], ignore_errors=True)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = os.environ[GIVEN]


def warn_if_unkept() -> None:
    """Say so, once, where compiled code cannot be kept for the next start."""
    if Path(os.environ.get(GIVEN, "")).name.startswith(UNKEPT):
        warnings.warn(
            "Compiled code cannot be kept, so every start compiles again, for half a minute. Set the environment "
            f"variable {GIVEN} to a folder that can be written to.",
            stacklevel=2,
        )


def _places() -> list[Path]:
    """Where numba would keep it: where it was told to, or beside the package or in the user's cache."""
    if os.environ.get(GIVEN):
        return [Path(os.environ[GIVEN])]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return [Path(__file__).parent / "certificates" / "__pycache__", home / "numba"]


def _can_be_written(place: Path) -> bool:
    try:
        place.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=place):
            return True
    except OSError:
        return False
