"""Arguments and options that several commands share."""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from banditree.errors import InvalidInput
from banditree.plans.plan import Vocabulary

CollectionFile = Annotated[
    Path, typer.Argument(help="The collection: a .json file, or a .csv matrix of success rates (rows are tasks).")
]
PlanFile = Annotated[Path, typer.Argument(help="The plan: a .json file made by `banditree plan`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]
Words = Annotated[
    str,
    typer.Option(
        help="Your words, as in 'arm=treatment,task=patient group,success=recovery,failure=relapse'. "
        "Also: reward, give."
    ),
]


def program() -> str:
    """How to call banditree from here: by its name where that is on the path, else through this Python."""
    return "banditree" if shutil.which("banditree") else f"{os.path.relpath(sys.executable)} -m banditree"


def vocabulary(words: str) -> Vocabulary:
    """The vocabulary of a `--words` option."""
    from banditree.plans.wording import vocabulary_from

    pairs = [pair.partition("=") for pair in words.split(",") if pair.strip()]
    if any(not equals for _key, equals, _word in pairs):
        raise InvalidInput(f"--words must be pairs like arm=treatment, separated by commas. Got {words!r}.")
    return vocabulary_from({key.strip(): word.strip() for key, _equals, word in pairs})
