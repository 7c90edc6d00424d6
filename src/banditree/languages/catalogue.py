"""Catalogues in the form of gettext, read from the text that translators edit: nothing is compiled or stale."""

import ast
import struct
from collections.abc import Iterator
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO

from banditree.errors import InvalidInput

MAGIC = 0x950412DE  # What a compiled catalogue begins with.
ENGLISH = "en"  # The language of the sources; it has no catalogue.
BETWEEN = "\x04"  # What gettext puts between a context and its message.
WORDS = ("msgctxt", "msgid", "msgid_plural", "msgstr")


@cache
def codes() -> tuple[str, ...]:
    """The languages there are: English, and each with a catalogue."""
    names = (file.name for file in files("banditree.languages").iterdir())
    return ENGLISH, *sorted(name.removesuffix(".po") for name in names if name.endswith(".po"))


@cache
def catalogue(code: str) -> NullTranslations:
    """The messages of a language; English has none, so each stands for itself."""
    if code == ENGLISH:
        return NullTranslations()
    return GNUTranslations(BytesIO(compiled(source(code), code)))


def source(code: str) -> str:
    """The text of a catalogue."""
    return files("banditree.languages").joinpath(f"{code}.po").read_text(encoding="utf-8")


def compiled(text: str, name: str) -> bytes:
    """A catalogue as the standard library reads it (the .mo format of GNU gettext)."""
    messages = sorted((key.encode(), told.encode()) for key, told in entries(text, name).items())
    start = 28 + 16 * len(messages)
    ids, told = (b"".join(pair[side] + b"\0" for pair in messages) for side in (0, 1))
    head = struct.pack("<7I", MAGIC, 0, len(messages), 28, 28 + 8 * len(messages), 0, start)
    tables = b""
    for side, place in ((0, start), (1, start + len(ids))):
        for pair in messages:
            tables += struct.pack("<2I", len(pair[side]), place)
            place += len(pair[side]) + 1
    return head + tables + ids + told


def entries(text: str, name: str) -> dict[str, str]:
    """Each message of a catalogue that is translated, and what it is in the language; plural forms joined by NUL.

    >>> entries('msgid "line"\\nmsgid_plural "lines"\\nmsgstr[0] "Zeile"\\nmsgstr[1] "Zeilen"', "de")
    {'line\\x00lines': 'Zeile\\x00Zeilen'}
    """
    found = {}
    for entry in _parts(text, name):
        told = [part for word, part in entry.items() if word.startswith("msgstr")]
        key = "\0".join(entry[word] for word in ("msgid", "msgid_plural") if word in entry)
        if all(told):
            found[f"{entry['msgctxt']}{BETWEEN}{key}" if "msgctxt" in entry else key] = "\0".join(told)
    return found


def _parts(text: str, name: str) -> Iterator[dict[str, str]]:
    """The entries of a catalogue, word by word; a doubtful ("fuzzy") one is omitted, as gettext does."""
    entry: dict[str, str] = {}
    word, doubtful = "", False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        first, _, rest = line.strip().partition(" ")
        if first.startswith('"'):
            entry[word] += _string(line.strip(), name, number)
            continue
        if first.startswith(WORDS) and not (first.startswith("msgstr") and "msgid" not in entry):
            word = first
            entry[word] = _string(rest.strip(), name, number)
            continue
        if first and not first.startswith("#"):
            raise InvalidInput(f"{name}.po, line {number}: {line!r} is no line of a catalogue.")
        if not first and entry:
            if not doubtful:
                yield entry
            entry, doubtful = {}, False
        doubtful = doubtful or (first == "#," and "fuzzy" in rest)


def _string(text: str, name: str, number: int) -> str:
    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        raise InvalidInput(f"{name}.po, line {number}: {text!r} is no text in quotation marks.") from None
