"""`banditree learn`: a log in, a collection out."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.options import AsJson, Shares, Worth, shares_of
from banditree.errors import InvalidInput
from banditree.tasks.rewards import Family, Link
from banditree.training.classes import Criterion
from banditree.training.collection import Untried


def learn(
    log: Annotated[
        str,
        typer.Argument(
            help="One row per decision: .csv, .parquet, .jsonl, .feather, a folder of parts, .duckdb, postgresql://..."
        ),
    ],
    table: Annotated[str | None, typer.Option(help="The table of a database.")] = None,
    task: Annotated[str | None, typer.Option(help="Column of the task, the kind of case.")] = None,
    individual: Annotated[
        str | None,
        typer.Option(help="Column of the individual, whose rows count together. Without --task, the kinds are found."),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="Column of the arm. Usual names are recognised.")] = None,
    reward: Annotated[str | None, typer.Option(help="Column of the reward. Usual names are recognised.")] = None,
    context: Annotated[str, typer.Option(help="Context columns, as in age,sex. Text columns are categories.")] = "",
    per_case: Annotated[
        str, typer.Option(help="Context columns that stay the same for a whole case, as an age does.")
    ] = "",
    categorical: Annotated[str, typer.Option(help="Context columns that are categories though they are numbers.")] = "",
    numeric: Annotated[str, typer.Option(help="Context columns that are numbers though they look like text.")] = "",
    propensity: Annotated[
        str | None, typer.Option(help="Column of the chance with which the logged arm was chosen.")
    ] = None,
    rewards: Annotated[Family, typer.Option(help="How rewards are distributed.")] = Family.BERNOULLI,
    low: Annotated[float | None, typer.Option(help="Least reward, for bounded rewards. [default: 0]")] = None,
    high: Annotated[float | None, typer.Option(help="Greatest reward, for bounded rewards. [default: 1]")] = None,
    grades: Annotated[
        str, typer.Option(help="Values of graded rewards, with names or without, as in none=0,partial=0.5,full=1.")
    ] = "",
    link: Annotated[
        Link, typer.Option(help="How the chance of a success follows from the context, with --context.")
    ] = Link.LINEAR,
    intercept: Annotated[bool, typer.Option(help="Whether predictions have a constant term.")] = True,
    ridge: Annotated[float, typer.Option(min=0.0, help="Penalty on the parameters of predictions.")] = 0.0,
    untried: Annotated[
        Untried, typer.Option(help="Arms without an estimate for some task: what to do about them.")
    ] = Untried.REFUSE,
    drop_bad_rows: Annotated[bool, typer.Option("--drop-bad-rows", help="Drop bad rows instead of refusing.")] = False,
    failure_probability: Annotated[float, typer.Option(help="Chance that some mean is outside its margin.")] = 0.05,
    keep_sample: Annotated[
        int | None,
        typer.Option(min=0, help="Contexts to keep beside their moments. [default: 2,000, none with --add-to]"),
    ] = None,
    classes: Annotated[
        int | None, typer.Option(min=2, help="How many kinds to find. [default: by --criterion]")
    ] = None,
    criterion: Annotated[Criterion, typer.Option(help="How the number of kinds is chosen.")] = Criterion.BIC,
    merge: Annotated[float | None, typer.Option(help="Merge tasks that no arm tells apart by this much.")] = None,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Rounds of one case: also shows what merging would give, by separation.")
    ] = None,
    add_to: Annotated[Path | None, typer.Option(help="Statistics of earlier rows (.json) to add these to.")] = None,
    save_statistics: Annotated[Path | None, typer.Option(help="Where to write the statistics (.json).")] = None,
    shares: Shares = "",
    worth: Worth = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write the collection (.json).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search for kinds and of the sample.")] = 0,
    json: AsJson = False,
) -> None:
    """Learn a collection from a log of what was tried and what happened.

    Example: banditree learn visits.parquet --task group --arm treatment --reward recovered --context age -o tasks.json
    """
    import json as json_module

    from banditree.cli.progress import progress
    from banditree.files.collections import save_collection
    from banditree.files.statistics import load_statistics
    from banditree.files.statistics import save_statistics as write_statistics
    from banditree.files.worth import load_worth
    from banditree.reports.learning import learn_document, learn_text
    from banditree.reports.separation_table import choices
    from banditree.tasks.rewards import make_rewards
    from banditree.training.learning import Settings
    from banditree.training.learning import learn as learn_from

    given = {name: value for name, value in {"low": low, "high": high}.items() if value is not None} | _grades(grades)
    curve = {} if link is Link.LINEAR else {"link": link}
    settings = Settings(
        rewards=make_rewards(rewards, **given, **curve) if given or curve else rewards,
        intercept=intercept,
        ridge=ridge,
        failure_probability=failure_probability,
        untried=untried,
        drop_bad_rows=drop_bad_rows,
        sample_size=keep_sample,
        n_classes=classes,
        criterion=criterion,
        separation=merge,
        shares=shares_of(shares),
        seed=seed,
        per_case=_names(per_case),
    )
    with progress("Finding kinds", visible=individual is not None and not json) as on_progress:
        report = learn_from(
            log,
            settings,
            table=table,
            add_to=None if add_to is None else load_statistics(add_to),
            on_progress=on_progress,
            task=task,
            individual=individual,
            arm=arm,
            reward=reward,
            context=_names(context),
            propensity=propensity,
            categorical=_names(categorical),
            numeric=_names(numeric),
        )
    if worth is not None:
        report = replace(report, collection=load_worth(worth, report.collection))
    if save_statistics is not None:
        write_statistics(report.statistics, save_statistics)
    if output is not None:
        save_collection(report.collection, output)
    merging = [] if horizon is None else choices(report.before_merging or report.collection, horizon)
    typer.echo(json_module.dumps(learn_document(report, merging)) if json else learn_text(report, merging, horizon))
    if merging and not json:
        typer.echo("Merge at one of these with --merge SEPARATION.")
    if output is not None and not json:
        typer.echo(f"Written to {output}. Plan on it: banditree plan {output} --horizon ROUNDS")


def _grades(given: str) -> dict[str, list[float] | list[str]]:
    """The values and names of grades, as typed."""
    pairs = [part.rpartition("=") for part in _names(given)]
    try:
        values = sorted((float(value), name.strip()) for name, _, value in pairs)
    except ValueError:
        raise InvalidInput(f"--grades must be values, as in none=0,partial=0.5,full=1. Got {given!r}.") from None
    if not values:
        return {}
    named = [name for _, name in values]
    return {"values": [value for value, _ in values]} | ({"names": named} if any(named) else {})


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]
