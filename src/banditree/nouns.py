"""Nouns with their number: every sentence that counts something goes through here."""


def plural(word: str) -> str:
    """The plural of an English noun phrase, by the rules that cover most words.

    >>> plural("success"), plural("recovery"), plural("patient group"), plural("course of treatment")
    ('successes', 'recoveries', 'patient groups', 'courses of treatment')
    """
    head, of, rest = word.partition(" of ")
    if of:
        return f"{plural(head)} of {rest}"
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def counted(n: int, word: str) -> str:
    """`n` with its noun.

    >>> counted(1, "line"), counted(1200, "patient group")
    ('1 line', '1,200 patient groups')
    """
    return f"{n:,} {word if n == 1 else plural(word)}"
