"""What was said in English, on record or in a refusal, is said again in the language of its reader."""

import string

import pytest
from messages import messages
from pseudo import spoken_by

from banditree.languages.catalogue import codes
from banditree.languages.language import Language
from banditree.languages.retelling import retold

OTHERS = [code for code in codes() if code != "en"]
SAID = {
    "There is no case bed 4.": "Es gibt keinen Fall bed 4.",
    "Round 3 was already told as 1.0. Got 0.0. Open rounds: 4.": "wurde schon gemeldet: 1,0. Angegeben wurde 0,0.",
    "Row 31 has 4 cells, and the header 1,203. Quote cells with commas in them.": "die Kopfzeile 1.203.",
    "options were given once per case and kept (0 of 20 cases ever changed their option)": "Optionen wurden einmal je "
    "Fall gewählt und beibehalten (20 Fälle, von denen 0 je die Option gewechselt haben)",
    "Dates in Besuch am: 03.04.2026 is 3 April 2026.": "Datumsangaben in Besuch am: 03.04.2026 ist der 3. April 2026.",
    "The name or the password is wrong. Choose a file.": "das Passwort ist falsch. Wählen Sie eine Datei.",
}


@pytest.mark.parametrize("english", SAID)
def test_values_stand_in_their_places(english):
    assert SAID[english] in retold(Language("de"), english)


@pytest.mark.parametrize(
    "english", ["", "bed 4", "Frau Sommer (Zimmer 3)", "x" * 5_000, "{0}", "Row {0} of nothing known"]
)
def test_what_nobody_knows_stays_as_it_is(english):
    assert retold(Language("fr"), english) == english


def test_braces_of_a_name_are_not_places():
    assert retold(Language("de"), "There is no case {0} {x}.") == "Es gibt keinen Fall {0} {x}."


def filled(text):
    """A message with something in each of its places."""
    names = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    return text.format(*(f"Χ{n}" for n in range(len(names))))


@pytest.mark.slow
def test_every_message_is_known_again_with_its_values(monkeypatch):
    """As long as no other message says more of the same text."""
    language = spoken_by(monkeypatch)
    numbered = [one.text for one in messages() if "{0}" in one.text and one.context is None and one.plural is None]
    assert len(numbered) > 100
    for text in numbered:
        told = retold(language, filled(text))
        assert not set(told) & set(string.ascii_letters), (text, told)
        assert all(f"Χ{n}" in told for n in range(text.count("{"))), (text, told)


@pytest.mark.parametrize("code", OTHERS)
def test_a_refusal_is_a_whole_sentence(code):
    told = retold(Language(code), "Case p-17 is closed. It takes late outcomes, notes and corrections; or reopen it.")
    assert "p-17" in told
    assert " closed" not in told
