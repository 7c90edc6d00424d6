"""`banditree fit`: a log in, a plan out whose value on other cases is known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from banditree.cli.evaluate import (
    Arm,
    DesignOfLog,
    DropBadRows,
    Individual,
    LogFile,
    Propensity,
    Reward,
    Round,
    Shuffle,
    Table,
    Time,
)
from banditree.cli.options import AsJson, Words, vocabulary
from banditree.errors import InvalidInput, invalid

if TYPE_CHECKING:
    from banditree.evaluation.fit import Fit


def fit(
    log: LogFile,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds of one case.")],
    table: Table = None,
    individual: Individual = None,
    arm: Arm = None,
    reward: Reward = None,
    round: Round = None,
    time: Time = None,
    propensity: Propensity = None,
    rewards: Annotated[
        Literal["bernoulli", "gaussian", "graded"],
        typer.Option(help="How rewards are distributed; for those anywhere on a scale, gaussian."),
    ] = "bernoulli",
    kinds: Annotated[str, typer.Option(help="Numbers of kinds to try, besides one.")] = "2,3,5",
    lines: Annotated[str, typer.Option(help="Most lines of the plans to try.")] = "1,2,3,4,6,9",
    held_out: Annotated[float, typer.Option(help="Share of the cases to judge the plan on.")] = 1 / 3,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the other cases, to choose by.")] = 5,
    centre: Annotated[
        bool, typer.Option("--centre", help="Find the kinds from outcomes compared with the case's own average.")
    ] = False,
    shuffle: Shuffle = False,
    design: DesignOfLog = None,
    typical_rounds: Annotated[
        float | None, typer.Option(help="Rounds, of the horizon, that a case has on average. [default: as in the log]")
    ] = None,
    drop_bad_rows: DropBadRows = False,
    words: Words = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the plan (.json).")] = None,
    collection: Annotated[Path | None, typer.Option(help="Where to write the kinds, as a collection (.json).")] = None,
    members: Annotated[Path | None, typer.Option(help="Where to write the kind of each case (.csv).")] = None,
    figure: Annotated[Path | None, typer.Option(help="Where to draw how the plan was chosen (.svg).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split, the folds, the kinds and the search.")] = 0,
    json: AsJson = False,
) -> None:
    """Fit a plan to a log: choose it by what plans earn on other cases, and say what it earns on cases held out.

    The verdict comes first. Where one option for everyone does as well, that is the plan. Ctrl-C chooses from what is
    done so far.

    Example: banditree fit visits.csv --individual household --arm brand --reward bought --horizon 20 -o plan.json
    """
    import json as json_module

    from banditree.cli.flags import in_flags
    from banditree.cli.progress import progress
    from banditree.evaluation.fit import fit as fit_to
    from banditree.reports.fit import fit_document, fit_text

    for path in (output, collection, members, figure):
        if path is not None and not path.parent.is_dir():
            raise InvalidInput(f"{path} cannot be written: there is no folder {path.parent}. Make it first.")
    with progress("Choosing", visible=not json) as report:
        found = fit_to(
            log,
            horizon,
            rewards=rewards,
            kinds=_numbers("kinds", kinds),
            lines=_numbers("lines", lines),
            held_out=held_out,
            folds=folds,
            centre=centre,
            shuffle=shuffle,
            design=design,
            typical_rounds=typical_rounds,
            vocabulary=vocabulary(words),
            seed=seed,
            table=table,
            drop_bad_rows=drop_bad_rows,
            on_progress=report,
            individual=individual,
            arm=arm,
            reward=reward,
            round=round,
            time=time,
            propensity=propensity,
        )
    written = _write(found, output, collection, members, figure)
    text = in_flags(fit_text(found), ["--shuffle", "--time", "--propensity", "--centre", "--typical-rounds"])
    typer.echo(json_module.dumps(fit_document(found)) if json else "\n".join([text, *written]))


def _numbers(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise invalid(f"--{name}", "whole numbers like 2,3,4", text) from None


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
