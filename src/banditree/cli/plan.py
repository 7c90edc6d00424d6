"""`banditree plan`: a collection in, a plan out."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditree.cli.options import (
    AsJson,
    CollectionFile,
    Shares,
    TrustEstimates,
    Words,
    known_collection,
    program,
    vocabulary,
)
from banditree.errors import InvalidInput, TooLong
from banditree.scores.objectives import Objective

if TYPE_CHECKING:
    from banditree.certificates.certify import Certificate
    from banditree.plans.plan import Plan
    from banditree.tasks.collection import Collection

LONG = 60  # A plan of more boxes is summed up in the terminal rather than printed whole.
CERTIFIED = 2_000  # The regret of a plan of up to so many boxes is worked out within a moment.
PROTOCOL_PANEL = "For the method protocol"
TREE_PANEL = "For the methods tree and optimal"


def plan(
    collection: CollectionFile,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds of one case.")],
    method: Annotated[
        str | None,
        typer.Option(
            help="protocol: a few lines that keep a score, least regret. tree: DT-ECE, tests of fixed size in a "
            "decision tree. optimal: the same with the fewest tests. [default: the first of these that can handle "
            "the tasks and takes all the options given]"
        ),
    ] = None,
    separation: Annotated[
        float | None,
        typer.Option(
            help="How far apart any two tasks must be for some arm. [default: as far as they are]",
            rich_help_panel=TREE_PANEL,
        ),
    ] = None,
    stop_early: Annotated[
        bool,
        typer.Option(
            "--stop-early", help="Stop testing once one arm is best for all tasks left.", rich_help_panel=TREE_PANEL
        ),
    ] = False,
    objective: Annotated[
        Objective | None,
        typer.Option(
            help="Least regret for the worst task, or on average. [default: worst]", rich_help_panel=PROTOCOL_PANEL
        ),
    ] = None,
    lines: Annotated[
        int | None, typer.Option(min=1, help="Most lines. [default: 1.5 per task]", rich_help_panel=PROTOCOL_PANEL)
    ] = None,
    longest_path: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most lines on a path, restarts not counted. [default: 8 for 10 tasks, 14 for 40]",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = None,
    no_rule: Annotated[
        bool, typer.Option("--no-rule", help="No safety rule at the foot.", rich_help_panel=PROTOCOL_PANEL)
    ] = False,
    forward_only: Annotated[
        bool,
        typer.Option("--forward-only", help="Never start again at line 1.", rich_help_panel=PROTOCOL_PANEL),
    ] = False,
    links_back: Annotated[
        bool,
        typer.Option("--links-back", help="Lines may lead back to any earlier line.", rich_help_panel=PROTOCOL_PANEL),
    ] = False,
    numbers: Annotated[
        str | None,
        typer.Option(
            help="Levels that are easy to keep in mind (round), or any (free). [default: round]",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = None,
    max_wrong_arm: Annotated[
        float | None,
        typer.Option(
            help="Highest chance of ending without a best arm: with another one, or still testing.",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = None,
    allow: Annotated[
        float | None,
        typer.Option(help="Allow for cases whose rates are off by up to this.", rich_help_panel=PROTOCOL_PANEL),
    ] = None,
    unknown: Annotated[
        float | None,
        typer.Option(help="Share of the cases that belong to none of the tasks.", rich_help_panel=PROTOCOL_PANEL),
    ] = None,
    fallback: Annotated[
        str | None,
        typer.Option(
            help="Who decides about a case that contradicts every task: thompson, person, or the name of an arm. "
            "[default: thompson with --allow or --unknown, otherwise nobody]",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(
            help="Tasks with contexts: points by how well an outcome fits two tasks (fit), by what was promised, in "
            "a table of a few rows (table), or by the outcome alone (outcome). The last two can be added up on paper. "
            "[default: fit]",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = None,
    rule_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Tasks with contexts: what is best for a task, as a printed rule of at most so many rows. "
            "[default: the highest prediction]",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Steps of the search. [default: 4,000 per task, at most 200,000, fewer for few tasks]",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the search. [default: 0]", rich_help_panel=PROTOCOL_PANEL)
    ] = None,
    pareto: Annotated[
        bool,
        typer.Option(
            "--pareto", help="A table of plans from one line up to choose from.", rich_help_panel=PROTOCOL_PANEL
        ),
    ] = False,
    shares: Shares = "",
    trust_estimates: TrustEstimates = False,
    words: Words = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the plan (.json).")] = None,
    json: AsJson = False,
) -> None:
    """Build the plan of a collection.

    Ctrl-C during a search keeps the best plan so far.

    Example: banditree plan means.csv --horizon 10000 -o plan.json
    """
    from banditree.files.plans import plan_json, save_plan

    known = known_collection(collection, shares, trust_estimates)
    if output is not None and not output.parent.is_dir():
        raise InvalidInput(f"{output} cannot be written: there is no folder {output.parent}. Make it first.")
    options = {
        "separation": separation,
        "stop_early": stop_early or None,
        "objective": objective,
        "lines": lines,
        "longest_path": longest_path,
        "rule": False if no_rule else None,
        "points": points,
        "rule_size": rule_size,
        "forward_only": forward_only or None,
        "links_back": links_back or None,
        "numbers": numbers,
        "max_wrong_arm": max_wrong_arm,
        "allow": allow,
        "unknown": unknown,
        "fallback": fallback,
        "steps": steps,
        "seed": seed,
        "vocabulary": vocabulary(words),
    }
    if pareto and (allow or unknown or fallback):
        raise InvalidInput("--pareto must be omitted with --allow, --unknown and --fallback.")
    if pareto:
        _show_front(known, horizon, method, options, output, json)
        return
    built = _marked(_build(known, horizon, method, options, visible=not json), known)
    if output is not None:
        save_plan(built, output)
    if json:
        typer.echo(plan_json(built), nl=False)
        return
    _show(built, known, options)
    if output is not None:
        typer.echo(f"Written to {output}. Look at it: {program()} show {output}. Follow it: {program()} run {output}")
        typer.echo(f"All about it in one file: {program()} report {collection} {output} -o report.html")


def _build(known: "Collection", horizon: int, method: str | None, options: dict[str, Any], *, visible: bool) -> "Plan":
    from banditree.cli.progress import progress
    from banditree.scores.build import build_plan

    with progress("Searching", visible=visible) as on_progress:
        return build_plan(known, horizon, method, on_progress=on_progress, **options)


def _show(built: "Plan", known: "Collection", options: dict[str, Any]) -> None:
    """Print a plan with what it loses, what other lengths would lose, and what it was made from."""
    from banditree.certificates.certify import certify
    from banditree.plans.wording import heading, plan_text
    from banditree.reports.certify import varying_or_none, varying_sentence
    from banditree.reports.promise import loss_sentence

    certificate, varying, untold = None, None, ""
    if built.n_boxes <= CERTIFIED:
        try:
            certificate = certify(built, known)
            varying = varying_or_none(built, known)
        except TooLong as error:
            untold = str(error)
    loss = "" if certificate is None else loss_sentence(built, certificate, varying)
    typer.echo(plan_text(built, loss) if built.n_boxes <= LONG else heading(built, loss))
    if certificate is not None:
        typer.echo(f"\n{_regret(built, certificate, varies=known.varies)}")
    if varying is not None:
        typer.echo(varying_sentence(varying, built.vocabulary))
    if untold:
        typer.echo(f"\nWhat the plan loses is not known. {untold}")
    by_others = built.fallback is not None or built.by_thompson.any()  # nothing is sought beside such a plan
    if built.method == "protocol" and options["numbers"] != "free" and not by_others and not untold:
        typer.echo(f"\n{_variants(built, known, options)}")
    typer.echo(f"\n{_what_was_known(known.radius.max(), known.provenance)}")


def _show_front(
    known: "Collection",
    horizon: int,
    method: str | None,
    options: dict[str, Any],
    output: Path | None,
    as_json: bool,
) -> None:
    import json as json_module

    from banditree.cli.progress import progress
    from banditree.files.plans import save_plan
    from banditree.reports.pareto import front_rows, front_text
    from banditree.scores.build import choose_method
    from banditree.scores.front import pareto_front

    given = {name: value for name, value in options.items() if value is not None}
    if choose_method(known, method, set(given) - {"vocabulary"}).name != "protocol":
        raise InvalidInput('pareto must be omitted with method="tree" or "optimal": a front is of protocols.')
    with progress("Searching", visible=not as_json) as on_progress:
        plans = [_marked(plan, known) for plan in pareto_front(known, horizon, on_progress=on_progress, **given)]
    rows = front_rows(plans, known)
    typer.echo(json_module.dumps(rows) if as_json else front_text(rows))
    for place, plan in enumerate(plans, start=1):  # two plans may have as many lines
        if output is not None:
            path = output.with_stem(f"{output.stem}-{place}")
            save_plan(plan, path)
            if not as_json:
                typer.echo(f"Written to {path}.")


def _regret(built: "Plan", certificate: "Certificate", *, varies: bool) -> str:
    from banditree.nouns import plural
    from banditree.plans.words import capital
    from banditree.reports.certify import in_shares

    words, pulls = built.vocabulary, certificate.pulls
    whose = f" by a case at the rates of its {words.task}" if varies else ""
    lost = (
        f"{capital(words.reward)} lost on average{whose}, compared with the best {words.arm} from the start: "
        f"{certificate.mean_regret:,.2f} over all {plural(words.task)}{in_shares(certificate)}, "
        f"{certificate.worst_regret:,.2f} in the worst ({certificate.claim})."
    )
    if not pulls.any():
        return lost
    most = f"{pulls.max():,.1f} for the {words.task} that takes most"
    return f"{lost}\nTesting takes {pulls.mean():,.1f} rounds on average, {most}."


def _marked(built: "Plan", known: "Collection") -> "Plan":
    """The plan, with a mark where estimates were taken at their word."""
    from banditree.tasks.changes import TRUSTED

    if not known.provenance.endswith(TRUSTED):
        return built
    return replace(built, versions={**built.versions, "means": TRUSTED})


def _variants(built: "Plan", known: "Collection", options: dict[str, Any]) -> str:
    from banditree.reports.pareto import variants_text
    from banditree.scores.variants import variants

    objective = options["objective"] or Objective.WORST
    given = {name: options[name] for name in ("longest_path", "steps")}
    return variants_text(variants(built, known, objective=objective, **given), objective)


def _what_was_known(radius: float, provenance: str) -> str:
    if radius == 0:
        return f"The means were taken as known exactly ({provenance})."
    return f"The means were taken as estimates, each within {radius:.3g} of the truth ({provenance})."
