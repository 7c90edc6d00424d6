"""A language: whole sentences of the sources become its whole sentences, with numbers as its readers write them."""

from dataclasses import dataclass
from functools import cached_property

from banditree.errors import invalid
from banditree.languages.catalogue import ENGLISH, catalogue, codes
from banditree.nouns import plural


@dataclass(frozen=True)
class Language:
    """A language, by its code as browsers and pages name it."""

    code: str = ENGLISH

    @property
    def is_english(self) -> bool:
        """Whether it is the language of the sources."""
        return self.code == ENGLISH

    def say(self, message: str, /, **values: object) -> str:
        """A message of the sources in this language, with its values in their places.

        >>> Language("de").say("next line"), Language("en").say("line {number}", number=4)
        ('nächste Zeile', 'line 4')
        """
        return catalogue(self.code).gettext(message).format(**values)

    def translated(self, message: str, many: str | None = None, n: int = 1) -> str:
        """A message in this language, with its places as they are: for scripts and templates, which fill them.

        many: the message for other numbers than one; n: the number.
        """
        known = catalogue(self.code)
        return known.gettext(message) if many is None else known.ngettext(message, many, n)

    def count(self, n: int, one: str, many: str, /, **values: object) -> str:
        """A message that counts, `one` for a single thing and `many` otherwise; {n} is the number.

        >>> Language("de").count(1200, "{n} round", "{n} rounds"), Language("de").count(1, "{n} round", "{n} rounds")
        ('1.200 Runden', '1 Runde')
        """
        return self.translated(one, many, n).format(**{"n": self.digits(f"{n:,}"), **values})

    def meant(self, context: str, message: str) -> str:
        """A message that is told apart from the same words elsewhere by its context."""
        return catalogue(self.code).pgettext(context, message)

    def digits(self, number: str) -> str:
        """A number as the sources write it, with the marks of this language.

        >>> Language("de").digits("14,316.5"), Language("en").digits("14,316.5")
        ('14.316,5', '14,316.5')
        """
        return number.translate(self._marks)

    @cached_property
    def _marks(self) -> dict[int, str]:
        example = self.meant("number", "1,234.5")
        return {ord(","): example[1], ord("."): example[5]}

    def counted(self, n: int, word: str, many: str | None = None, shown: str = "") -> str:
        """`n` with a word of the user, whose plural is `many`; where nobody knows it, none is made up.

        shown: the number as it is to stand there.

        >>> german = Language("de")
        >>> german.counted(3, "Gruppe"), german.counted(3, "Gruppe", "Gruppen"), german.counted(1, "Gruppe")
        ('3 × Gruppe', '3 Gruppen', '1 Gruppe')
        """
        shown = shown or self.digits(f"{n:,}")
        if n == 1:
            return f"{shown} {word}"
        if many is None and not self.is_english:
            return f"{shown} × {word}"
        return f"{shown} {many or plural(word)}"

    def plural(self, word: str, many: str | None = None) -> str:
        """The plural of a word of the user, or the word itself where nobody knows it."""
        return many or (plural(word) if self.is_english else word)


def message(text: str) -> str:
    """A message that is said elsewhere: marked here, so that catalogues have it."""
    return text


def language(code: str) -> Language:
    """The language with this code.

    >>> language("de").code, language("fr-CH").code
    ('de', 'fr')
    """
    known = code.replace("_", "-").partition("-")[0].lower()
    if known not in codes():
        raise invalid("language", f"one of {', '.join(codes())}", code)
    return Language(known)


def preferred(accepted: str) -> Language:
    """The language that a reader prefers among those there are, by the header Accept-Language of a browser.

    >>> preferred("it, de-AT;q=0.8, en;q=0.5").code, preferred("").code, preferred("de;q=0, *").code
    ('de', 'en', 'en')
    """
    wishes = [_wish(part) for part in accepted.split(",")]
    order = sorted((wish for wish in wishes if wish[1] > 0), key=lambda wish: -wish[1])
    return Language(next((code for code, _ in order if code in codes()), ENGLISH))


def _wish(part: str) -> tuple[str, float]:
    """(code, weight) of a part of Accept-Language; what cannot be read has no weight."""
    code, _, weight = part.strip().partition(";q=")
    try:
        return code.partition("-")[0].lower(), float(weight or 1.0)
    except ValueError:
        return code, 0.0
