"""`banditree evaluate`: what a plan would have earned on the cases of a log."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from banditree.cli.options import AsJson, PlanFile

LogFile = Annotated[
    str,
    typer.Argument(
        help="One row per decision, or one per option of each decision: .csv, .parquet, .duckdb, or "
        "postgresql://host/database."
    ),
]
Table = Annotated[str | None, typer.Option(help="The table of a database.")]
Individual = Annotated[str | None, typer.Option(help="Column of the case. Usual names are recognised, here and below.")]
Arm = Annotated[str | None, typer.Option(help="Column of the option.")]
Reward = Annotated[str | None, typer.Option(help="Column of the reward.")]
Round = Annotated[
    str | None, typer.Option(help="Column of the occasion, where a decision takes several rows, one per option.")
]
Time = Annotated[str | None, typer.Option(help="Column that gives the order. [default: the order of the rows]")]
Propensity = Annotated[str | None, typer.Option(help="Column of the chance with which the logged option was chosen.")]
Shuffle = Annotated[
    bool, typer.Option("--shuffle", help="Shuffle the rounds of each case, where their order means nothing.")
]
DesignOfLog = Annotated[
    Literal["full", "per-round", "per-case", "sticky", "seen", "unknown"] | None,
    typer.Option(help="How options were given. [default: found from the log]"),
]
DropBadRows = Annotated[bool, typer.Option("--drop-bad-rows", help="Drop bad rows instead of refusing.")]


def evaluate(
    plan: PlanFile,
    log: LogFile,
    table: Table = None,
    individual: Individual = None,
    arm: Arm = None,
    reward: Reward = None,
    round: Round = None,
    time: Time = None,
    propensity: Propensity = None,
    collection: Annotated[
        Path | None,
        typer.Option(
            help="The collection (.json or .csv) that mTS and mIDS know, and by which the single option is chosen."
        ),
    ] = None,
    horizon: Annotated[int | None, typer.Option(min=1, help="Rounds of one case. [default: the plan's]")] = None,
    shuffle: Shuffle = False,
    design: DesignOfLog = None,
    drop_bad_rows: DropBadRows = False,
    runs: Annotated[int, typer.Option(min=1, help="Runs of policies that draw at random.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of these runs and of the shuffle.")] = 0,
    json: AsJson = False,
) -> None:
    """Evaluate a plan on a log of cases that it was not made from.

    Where a log has the outcome of every option, the plan is replayed. From other logs it uses the decisions that
    agree with the plan, and a log without any is refused.

    Example: banditree evaluate plan.json visits.csv --individual household --round visit --collection tasks.json
    """
    import json as json_module

    from banditree.cli.flags import in_flags
    from banditree.evaluation.evaluate import evaluate as evaluate_on
    from banditree.files.collections import load_collection
    from banditree.files.plans import load_plan
    from banditree.reports.evaluate import evaluation_document, evaluation_text

    found = evaluate_on(
        load_plan(plan),
        log,
        collection=None if collection is None else load_collection(collection),
        horizon=horizon,
        shuffle=shuffle,
        design=design,
        runs=runs,
        seed=seed,
        table=table,
        drop_bad_rows=drop_bad_rows,
        individual=individual,
        arm=arm,
        reward=reward,
        round=round,
        time=time,
        propensity=propensity,
    )
    text = in_flags(evaluation_text(found), ["--shuffle", "--design", "--time", "--propensity"])
    typer.echo(json_module.dumps(evaluation_document(found)) if json else text)
