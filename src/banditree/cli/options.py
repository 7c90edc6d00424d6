"""Arguments and options that several commands share."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from banditree.errors import InvalidInput, invalid
from banditree.plans.words import Vocabulary, vocabulary_from

if TYPE_CHECKING:
    from banditree.tasks.collection import Collection

CollectionFile = Annotated[
    Path, typer.Argument(help="The collection: a .json file, or a .csv matrix of success rates (rows are tasks).")
]
LogFile = Annotated[
    str,
    typer.Argument(
        help="One row per decision, or one per option of each decision: .csv, .parquet, .duckdb, or "
        "postgresql://host/database."
    ),
]
PlanFile = Annotated[Path, typer.Argument(help="The plan: a .json file made by `banditree plan`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]
Words = Annotated[
    str,
    typer.Option(
        help="Your words, as in 'arm=treatment,task=patient group,success=recovery,failure=relapse'. "
        "Also: reward, give, harm; and plurals where English rules do not give them: 'task=Gruppe,tasks=Gruppen'."
    ),
]


LimitSeconds = Annotated[
    float,
    typer.Option(min=0.0, help="About how long to look for the loss that no algorithm can avoid; 0 omits it."),
]
Shares = Annotated[
    str, typer.Option(help="Shares of the tasks among cases, as in 0.3,0.7 or mild=0.3,severe=0.7. [default: as known]")
]


def shares_of(text: str) -> "list[float] | dict[str, float] | None":
    """The numbers of a `--shares` option, by name or in order; None if it was not given."""
    if not text.strip():
        return None
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        numbers = [float(number) for _name, _equals, number in pairs]
    except ValueError:
        raise invalid("--shares", "numbers like 0.3,0.7 or pairs like mild=0.3,severe=0.7", text) from None
    if any(equals for _name, equals, _number in pairs):
        return dict(zip([name.strip() for name, _equals, _number in pairs], numbers, strict=True))
    return numbers


TrustEstimates = Annotated[
    bool,
    typer.Option(
        "--trust-estimates", help="Take estimates at their word, as if they were exact: no promise, and marked so."
    ),
]


Worth = Annotated[
    Path | None,
    typer.Option(
        help="What outcomes are worth: a .csv with a column per arm and the rows 'price per round', 'value of a "
        "success' (or of another outcome), 'cost of a change' and 'unit'. [default: as known]"
    ),
]


Spoken = Annotated[str, typer.Option("--language", help="The language of what is said: en, de, fr or es.")]


def known_collection(path: Path, shares: str = "", trusted: bool = False, worth: Path | None = None) -> "Collection":
    """The collection in a file, with the shares and worth of the command line if any are given, its estimates trusted
    or not."""
    from banditree.files.collections import load_collection
    from banditree.files.worth import load_worth
    from banditree.tasks.changes import trust_estimates, with_shares

    known, given = load_collection(path), shares_of(shares)
    known = known if given is None else with_shares(known, given)
    known = known if worth is None else load_worth(worth, known)
    return trust_estimates(known) if trusted else known


def program() -> str:
    """How to call banditree from here: by its name where that is on the path, else through this Python."""
    return "banditree" if shutil.which("banditree") else f"{os.path.relpath(sys.executable)} -m banditree"


def vocabulary(words: str) -> Vocabulary:
    """The vocabulary of a `--words` option."""

    pairs = [pair.partition("=") for pair in words.split(",") if pair.strip()]
    if any(not equals for _key, equals, _word in pairs):
        raise InvalidInput(f"--words must be pairs like arm=treatment, separated by commas. Got {words!r}.")
    return vocabulary_from({key.strip(): word.strip() for key, _equals, word in pairs})
