"""The one way in which banditree says that something given to it is wrong."""

from collections.abc import Iterable
from typing import Any


class InvalidInput(ValueError):
    """An argument, a file or an answer that cannot be used, with a message of one line that says why.

    >>> raise invalid("horizon", "at least 1", 0, "Give the number of rounds of one case.")
    Traceback (most recent call last):
        ...
    banditree.errors.InvalidInput: horizon must be at least 1. Got 0. Give the number of rounds of one case.
    """


class TooLong(InvalidInput):
    """What was asked for is valid, but would take too long to compute."""


class PlanWarning(UserWarning):
    """A plan was built as asked, but will probably not do what its user expects."""


def check_texts(argument: str, texts: Iterable[str]) -> None:
    """Refuse texts that some databases and terminals cannot hold: with null characters or lone surrogates.

    >>> check_texts("arms", ["A", "ärm ✓"])
    """
    for text in texts:
        if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise invalid(argument, "text without null characters and lone surrogates", text)


def invalid(argument: str, rule: str, value: Any, hint: str = "") -> InvalidInput:
    """The error "{argument} must be {rule}. Got {value}. {what to try}".

    >>> str(invalid("n_arms", "at least 2", 1))
    'n_arms must be at least 2. Got 1.'
    """
    shown = repr(value)
    if len(shown) > 200:
        shown = shown[:197] + "..."
    return InvalidInput(f"{argument} must be {rule}. Got {shown}. {hint}".rstrip())


def lacking(what: str, extra: str) -> InvalidInput:
    """The error where `what` needs a package that comes with an extra of banditree."""
    return InvalidInput(f"{what}. {how_to_install(extra)}")


def how_to_install(extra: str) -> str:
    """Both ways to install an extra; a clone has a virtual environment of its own.

    >>> how_to_install("logs")
    "In a clone of the repository: .venv/bin/pip install '.[logs]'. Elsewhere: pip install 'banditree[logs]'."
    """
    here = f".venv/bin/pip install '.[{extra}]'"
    return f"In a clone of the repository: {here}. Elsewhere: pip install 'banditree[{extra}]'."
