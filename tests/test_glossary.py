"""One word per thing: the last column of docs/design/glossary.md stands nowhere in pages, help, messages and names."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from banditree.cli.app import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "banditree"
GLOSSARY = ROOT / "docs" / "design" / "glossary.md"
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {GLOSSARY, ROOT / "docs" / "coming-from.md"})

# Words that the code still has: this list only gets shorter.
STILL_IN_CODE = {"node", "classes", "action"}
STILL_IN_HELP = {"individual", "individuals"}
QUOTED = {  # the paper's sentences; the languages of Mermaid; names that people give their columns
    "experiments": {"interactions", "strategy"},
    "figures": {"flowchart"},
    "service": {"segment"},
}


def rows() -> Iterator[tuple[set[str], set[str]]]:
    """Of each row, the words that names may have, and those that nothing may have."""
    for line in GLOSSARY.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and "`" in line:
            _people, code, _meaning, forbidden = line.split("|")[1:5]
            yield set(re.findall(r"`([^`]+)`", code)), set(re.findall(r"`([^`]+)`", forbidden))


FORBIDDEN = {word for _code, words in rows() for word in words}
FORBIDDEN_IN_CODE = {word for code, words in rows() for word in words - code}
SAID = re.compile(rf"\b({'|'.join(map(re.escape, sorted(FORBIDDEN)))})\b", re.IGNORECASE)


def prose(page: str) -> str:
    """A page without its code, on the same lines."""
    without_blocks = re.sub(r"^```.*?^```", lambda found: "\n" * found[0].count("\n"), page, flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", without_blocks)


def said(text: str) -> Iterator[tuple[int, str]]:
    """(line, word) of every word in a text that has a better one."""
    for found in SAID.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[1].lower()


def parts(name: str) -> set[str]:
    """The words of a name: `wrong_arm` and `WrongArm` have two."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_the_table_is_read():
    assert len(FORBIDDEN) > 60
    assert {"node", "so many"} <= FORBIDDEN
    assert "pulls" in FORBIDDEN - FORBIDDEN_IN_CODE
    assert list(said("one\nThe nodes of so\u00a0much, a Node.")) == [(2, "nodes"), (2, "node")]
    assert parts("find_classes") == {"find", "classes"} == parts("FindClasses")


@pytest.mark.parametrize("page", [page.relative_to(ROOT).as_posix() for page in PAGES])
def test_pages(page):
    found = [f"{page}:{line}: {word}" for line, word in said(prose((ROOT / page).read_text(encoding="utf-8")))]
    assert found == []


def commands(group) -> Iterator[tuple[str, Any]]:
    """(name, command) of everything in a group of commands, and in the groups inside it."""
    for name, command in group.commands.items():
        yield name, command
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", one) for inner, one in commands(command))


def test_help_of_commands():
    found = []
    for name, command in commands(typer.main.get_command(app)):
        texts = {name: command.help, **{f"{name} {one.opts[0]}": one.help for one in command.params}}
        found += [f"{place}: {word}" for place, text in texts.items() for _line, word in said(prose(text or ""))]
    assert [one for one in found if one.rsplit(": ", 1)[1] not in STILL_IN_HELP] == []


@cache
def modules() -> list[tuple[str, str, list[ast.AST]]]:
    """(path, folder, everything in it) of every module."""
    places = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
    trees = [ast.parse((SOURCE / place).read_text(encoding="utf-8")) for place in places]
    return [(place.as_posix(), place.parts[0], list(ast.walk(tree))) for place, tree in zip(places, trees, strict=True)]


@pytest.mark.slow
def test_sentences_in_the_code():
    """Docstrings, messages and help: every literal of more than one word."""
    found = []
    for path, folder, nodes in modules():
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                found += [
                    f"{path}:{node.lineno + line - 1}: {word}"
                    for line, word in said(prose(node.value))
                    if word in FORBIDDEN_IN_CODE - STILL_IN_CODE - QUOTED.get(folder, set())
                ]
    assert found == []


def names(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """(line, name) of everything that a module defines, with its arguments and fields."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.lineno, node.target.id


@pytest.mark.slow
def test_names_in_the_code():
    found = []
    for path, _folder, nodes in modules():
        bad = FORBIDDEN_IN_CODE - STILL_IN_CODE
        found += [f"{path}:{line}: {name}" for line, name in [(1, Path(path).stem), *names(nodes)] if parts(name) & bad]
    assert found == []
