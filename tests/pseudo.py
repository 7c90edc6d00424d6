"""A language of one letter: what is left of other letters was not said in it."""

import re
import string
from gettext import NullTranslations

from messages import messages

from banditree.languages import language as languages
from banditree.languages import retelling
from banditree.languages.language import Language
from banditree.languages.retelling import known_of
from banditree.plans.words import Vocabulary

GREEK = Vocabulary("φάρμακο", "ομάδα", "ίαση", "υποτροπή", "τιμή", "Δώστε", "βλάβη")


class Pseudo(NullTranslations):
    def gettext(self, message):
        return "".join(
            re.sub(r"[A-Za-z]", "ж", text) + (f"{{{name}}}" if name is not None else "")
            for text, name, _, _ in string.Formatter().parse(message)
        )

    def ngettext(self, one, many, n):
        return self.gettext(one if n == 1 else many)

    def pgettext(self, context, message):
        return message if context == "number" else self.gettext(message)


def spoken_by(monkeypatch):
    """The language, known to this process for as long as a test goes on."""
    catalogue = languages.catalogue
    monkeypatch.setattr(languages, "catalogue", lambda code: Pseudo() if code == "zz" else catalogue(code))
    monkeypatch.setattr(retelling, "known_of", lambda code: told() if code == "zz" else known_of(code))
    return Language("zz")


def told():
    """What a catalogue of the language would have."""
    say = Pseudo().gettext
    return {one.key: say(one.text) + (f"\0{say(one.plural)}" if one.plural else "") for one in messages()}
