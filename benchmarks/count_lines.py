"""Lines of code, room by room: without blank lines, comments on lines of their own, docstrings and imports.

python benchmarks/count_lines.py [folder of the package]
"""

import ast
import sys
from collections import Counter
from pathlib import Path

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    """The lines of code of one module.

    >>> code_lines('import os\\n\\n# why\\ndef f():\\n    "What."\\n    return os\\n')
    2
    """
    lines = text.splitlines()
    left = {number for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        spoken = isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
        apart = node.body[0] if spoken else node
        if spoken or isinstance(node, ast.Import | ast.ImportFrom):
            left -= set(range(apart.lineno, apart.end_lineno + 1))
    return len(left)


def main(package: Path) -> None:
    """The table."""
    rooms: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        rooms[path.relative_to(package).parts[0]] += code_lines(path.read_text())
    for room, n in rooms.most_common():
        print(f"{n:7,}  {room}")
    print(f"{rooms.total():7,}  in all")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "src/banditree"))
