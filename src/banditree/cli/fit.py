"""`banditree fit`: a log in, a plan out whose value on other cases is known."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from banditree.cli.flags import flags_of, in_flags
from banditree.cli.options import AsJson, LogFile, Words, vocabulary
from banditree.cli.progress import progress
from banditree.errors import InvalidInput
from banditree.evaluation.settings import FitSettings

if TYPE_CHECKING:
    from banditree.evaluation.fit import Fit


def fit(
    log: LogFile,
    settings: FitSettings,
    words: Words = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the plan (.json).")] = None,
    collection: Annotated[Path | None, typer.Option(help="Where to write the kinds, as a collection (.json).")] = None,
    members: Annotated[Path | None, typer.Option(help="Where to write the kind of each case (.csv).")] = None,
    figure: Annotated[Path | None, typer.Option(help="Where to draw how the plan was chosen (.svg).")] = None,
    json: AsJson = False,
) -> None:
    """Fit a plan to a log: choose it by what plans earn on other cases, and say what it earns on cases held out.

    The verdict comes first. Where one option for everyone does as well, that is the plan. Ctrl-C chooses from what is
    done so far.

    Example: banditree fit visits.csv --individual household --arm brand --reward bought --horizon 20 -o plan.json
    """
    from banditree.evaluation.fit import fit as fit_to
    from banditree.reports.fit import fit_document, fit_text

    for path in (output, collection, members, figure):
        if path is not None and not path.parent.is_dir():
            raise InvalidInput(f"{path} cannot be written: there is no folder {path.parent}. Make it first.")
    with progress("Choosing", visible=not json) as report:
        found = fit_to(log, vocabulary=vocabulary(words), on_progress=report, **dict(settings))
    written = _write(found, output, collection, members, figure)
    text = in_flags(fit_text(found), flags_of(FitSettings))
    typer.echo(json_module.dumps(fit_document(found)) if json else "\n".join([text, *written]))


def _write(
    found: "Fit", plan: Path | None, collection: Path | None, members: Path | None, figure: Path | None
) -> list[str]:
    """Write the files that were asked for, and return a sentence about each."""
    from banditree.figures.choice import choice_info, choice_scene
    from banditree.figures.svg import svg
    from banditree.files.collections import save_collection
    from banditree.files.documents import write_text
    from banditree.files.plans import save_plan
    from banditree.reports.fit import membership_csv

    if plan is not None:
        save_plan(found.plan, plan)
    if collection is not None:
        save_collection(found.collection, collection)
    if members is not None:
        write_text(members, membership_csv(found))
    if figure is not None:
        write_text(figure, svg(choice_scene(choice_info(found.trials))))
    written = [str(path) for path in (plan, collection, members, figure) if path is not None]
    return [f"Written: {', '.join(written)}."] if written else []
