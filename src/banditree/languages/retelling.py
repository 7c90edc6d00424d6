"""What was said in English before anybody knew who reads it, in the language of its reader.

Refusals, and what is on record about files and jobs, are English sentences: programs read them, and a record has no
reader yet. A page says them again by the catalogue. What a sentence was made with stands in numbered places of its
message: "Round {0} has no outcome." """

import re
import string
from datetime import datetime
from functools import cache
from typing import NamedTuple

from banditree.languages.catalogue import BETWEEN, ENGLISH, entries, source
from banditree.languages.dates import MONTHS, day_in
from banditree.languages.language import Language

SAYS_MUCH = 12  # A message with fewer letters of its own, such as "{0} means {1}", may be part of another.
LONGEST = 4_000  # Letters of a text that may be known; longer ones are files and reports.
NUMBER = re.compile(r"[+-]?\d{1,3}(,\d{3})*(\.\d+)?|[+-]?\d+(\.\d+)?")
BETWEEN_PARTS = re.compile(r"( \(|\)|; |(?<=[.:!?]) )")
DAY = re.compile(rf"\d{{1,2}} ({'|'.join(MONTHS)}) \d{{4}}")
COUNTED = re.compile(r"(\d[\d,]*) (\S.*)")


class Known(NamedTuple):
    """A message: the parts between its places, the numbers of these, and what it is in the language."""

    parts: tuple[str, ...]
    places: tuple[int, ...]
    told: str

    @property
    def own(self) -> int:
        """How many letters are of the message itself."""
        return sum(map(len, self.parts))

    def values(self, text: str) -> dict[int, str] | None:
        """What stands in the places of a text, or None if it is not this message; parts are found from the left."""
        first, *rest = self.parts
        if not text.startswith(first):
            return None
        found, at = dict[int, str](), len(first)
        for n, (place, part) in enumerate(zip(self.places, rest, strict=True), 1):
            end = len(text) - len(part) if n == len(rest) else text.find(part, at)
            if end < at or (not text.endswith(part, at) and n == len(rest)):
                return None
            found[place], at = text[at:end], end + len(part)
        return found if at == len(text) else None


def retold(language: Language, text: str) -> str:
    """A text of the sources in a language; what no catalogue knows stays as it is.

    >>> print(retold(Language("de"), "Row 3 is the header; the rows above it are not read."))
    Zeile 3 ist die Kopfzeile; die Zeilen darüber werden nicht gelesen.
    >>> print(retold(Language("fr"), "Dates in Jour: 03.04.2026 is 3 April 2026."))
    Dates dans Jour : 03.04.2026 est le 3 avril 2026.
    """
    if language.code == ENGLISH or not text or len(text) > LONGEST:
        return text
    whole = _whole(language, text, SAYS_MUCH)
    if whole is not None:
        return whole
    parts = BETWEEN_PARTS.split(text)  # some are put together of several messages
    return "".join(_whole(language, part) or part for part in parts)


def _whole(language: Language, text: str, least: int = 0) -> str | None:
    """A text that is one message, which has at least this many letters of its own."""
    for known in _known(language.code):
        values = known.values(text) if known.own >= least else None
        if values is not None:
            told = [_value(language, values[place]) if place in values else "" for place in range(len(values))]
            return known.told.format(*told)
    return None


def _value(language: Language, text: str) -> str:
    """What stands in a place: a number, something counted, a sentence of its own, or a name."""
    if NUMBER.fullmatch(text):
        return language.digits(text)
    if DAY.fullmatch(text):
        return day_in(language, datetime.strptime(text, "%d %B %Y").date())
    if (match := COUNTED.fullmatch(text)) and (told := _counted(language.code).get(match[2])):
        n = int(match[1].replace(",", ""))
        return told[n != 1].format(n=language.digits(match[1]))
    return retold(language, text)


def known_of(code: str) -> dict[str, str]:
    """Everything that the catalogue of a language has."""
    return entries(source(code), code)


@cache
def _known(code: str) -> tuple[Known, ...]:
    """The messages without places, or with numbered ones; those that say most of themselves first."""
    found = []
    for message, told in known_of(code).items():
        if not message or "\0" in message or BETWEEN in message:
            continue
        parsed = list(string.Formatter().parse(message))
        names = [name for _, name, _, _ in parsed if name is not None]
        if all(map(str.isdecimal, names)):
            parts = tuple(text for text, *_ in parsed)
            parts = parts if len(parts) > len(names) else (*parts, "")
            found.append(Known(parts, tuple(map(int, names)), told))
    return tuple(sorted(found, key=lambda known: -known.own))


@cache
def _counted(code: str) -> dict[str, tuple[str, ...]]:
    """What is counted in the sources, such as "rows", and both forms of it in the language."""
    found: dict[str, tuple[str, ...]] = {}
    for message, told in known_of(code).items():
        one, _, many = message.partition("\0")
        if one.startswith("{n} ") and many.startswith("{n} ") and "{" not in one[4:] + many[4:]:
            found[one[4:]] = found[many[4:]] = tuple(told.split("\0"))
    return found
