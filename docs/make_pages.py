"""Writes what the examples print into their pages, and their pictures. Run: python docs/make_pages.py. The tests
fail when a page is not what this gives.
"""

import contextlib
import importlib.util
import io
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
EXAMPLES = ("crackers", "incentives")


def example(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def play(name: str, picture: Path | None = None) -> tuple[str, dict[str, Any]]:
    """What an example prints, and what it finds; it draws its picture where asked."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        found = example(name).main(picture)
    return text.getvalue(), found


def with_output(page: str, output: str) -> str:
    """The page with its block of output replaced."""
    return re.sub(
        r"(```text\n).*?(^```$)", lambda m: m[1] + output + m[2], page, count=1, flags=re.DOTALL | re.MULTILINE
    )


def main() -> None:
    """Write what the examples print into their pages."""
    for name in EXAMPLES:
        page = DOCS / "examples" / f"{name}.md"
        output, _found = play(name, DOCS / "images" / f"{name}.svg")
        page.write_text(with_output(page.read_text(encoding="utf-8"), output), encoding="utf-8")


if __name__ == "__main__":
    main()
