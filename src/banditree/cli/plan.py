"""`banditree plan`: a collection in, a plan out."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditree.cli.options import AsJson, CollectionFile, Shares, Words, known_collection, program, vocabulary
from banditree.errors import InvalidInput

if TYPE_CHECKING:
    from banditree.plans.plan import Plan
    from banditree.tasks.collection import Collection

LONG = 60  # boxes from which a plan is summed up in the terminal rather than printed whole
SCORE_PANEL = "For the method score"
TREE_PANEL = "For the methods tree and optimal"


class Method(StrEnum):
    """How the plan is found."""

    SCORE = "score"
    TREE = "tree"
    OPTIMAL = "optimal"


class For(StrEnum):
    """What a score plan is best for."""

    WORST = "worst"
    MEAN = "mean"


def plan(
    collection: CollectionFile,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds of one case.")],
    method: Annotated[
        Method | None,
        typer.Option(
            help="score: few boxes with a running score, least regret. tree: DT-ECE, fixed-size tests in a decision "
            "tree. optimal: the same with fewest tests. [default: score for 0/1 rewards without contexts, else tree]"
        ),
    ] = None,
    separation: Annotated[
        float | None,
        typer.Option(
            help="By how much some arm must tell any two tasks apart; the collection's own.",
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
        For, typer.Option(help="Least regret for the worst task, or on average.", rich_help_panel=SCORE_PANEL)
    ] = For.WORST,
    boxes: Annotated[
        int | None, typer.Option(min=1, help="Most boxes. [default: 4 per task]", rich_help_panel=SCORE_PANEL)
    ] = None,
    longest_path: Annotated[
        int | None, typer.Option(min=1, help="Most tests one after the other.", rich_help_panel=SCORE_PANEL)
    ] = None,
    no_links_back: Annotated[
        bool, typer.Option("--no-links-back", help="Never return to an earlier box.", rich_help_panel=SCORE_PANEL)
    ] = False,
    max_wrong_arm: Annotated[
        float | None,
        typer.Option(help="Highest chance to settle for an arm that is not the best.", rich_help_panel=SCORE_PANEL),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, help="How long to search. [default: 2,000 per task, at most 40,000]", rich_help_panel=SCORE_PANEL
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.", rich_help_panel=SCORE_PANEL)] = 0,
    pareto: Annotated[
        bool,
        typer.Option("--pareto", help="A table of plans of growing size to choose from.", rich_help_panel=SCORE_PANEL),
    ] = False,
    shares: Shares = "",
    words: Words = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the plan (.json).")] = None,
    json: AsJson = False,
) -> None:
    """Build the plan of a collection.

    Ctrl-C during a search keeps the best plan so far.

    Example: banditree plan means.csv --horizon 10000 -o plan.json
    """
    from banditree.files.plans import plan_json, save_plan
    from banditree.plans.wording import heading

    known = known_collection(collection, shares)
    if output is not None and not output.parent.is_dir():
        raise InvalidInput(f"{output} cannot be written: there is no folder {output.parent}. Make it first.")
    of_tree = _given(separation=separation, stop_early=stop_early)
    of_score = _given(
        boxes=boxes,
        longest_path=longest_path,
        no_links_back=no_links_back,
        max_wrong_arm=max_wrong_arm,
        steps=steps,
        pareto=pareto,
    )
    method = method or _default_method(known, tree_options=bool(of_tree))
    if others := of_tree if method is Method.SCORE else of_score:
        raise InvalidInput(
            f"The method {method} does not know {', '.join(others)}. Leave it out, or choose a --method."
        )
    if pareto and boxes is not None:
        raise InvalidInput("--pareto tries several numbers of boxes by itself. Leave out --boxes, or --pareto.")
    search = {
        "objective": objective.value,
        "longest_path": longest_path,
        "links_back": not no_links_back,
        "max_wrong_arm": max_wrong_arm,
        "steps": steps,
        "seed": seed,
        "vocabulary": vocabulary(words),
    }
    if pareto:
        _show_front(known, horizon, search, output, json)
        return
    if method is Method.SCORE:
        built = _search(known, horizon, {**search, "boxes": boxes}, visible=not json)
    else:
        built = _tree(method, known, horizon, separation, stop_early, words)
    if output is not None:
        save_plan(built, output)
    if json:
        typer.echo(plan_json(built), nl=False)
        return
    typer.echo(str(built) if built.n_boxes <= LONG else heading(built))
    if method is Method.SCORE:
        typer.echo(f"\n{_regret(built, known)}")
    typer.echo(f"\n{_what_was_known(known.radius.max(), known.provenance)}")
    if output is not None:
        typer.echo(f"Written to {output}. Look at it: {program()} show {output}. Follow it: {program()} run {output}")
        typer.echo(f"All about it in one file: {program()} report {collection} {output} -o report.html")


def _given(**options: Any) -> list[str]:
    """The names of the options that were given, as they are typed."""
    return [f"--{name.replace('_', '-')}" for name, value in options.items() if value not in (None, False)]


def _default_method(known: "Collection", *, tree_options: bool) -> Method:
    simple = known.rewards.counts and known.theta is None
    return Method.SCORE if simple and not tree_options else Method.TREE


def _tree(
    method: Method, known: "Collection", horizon: int, separation: float | None, stop_early: bool, words: str
) -> "Plan":
    from banditree.trees.optimal import build_optimal
    from banditree.trees.tree import build_tree

    build = build_optimal if method is Method.OPTIMAL else build_tree
    return build(known, horizon, separation, stop_early=stop_early, vocabulary=vocabulary(words))


def _search(known: "Collection", horizon: int, options: dict[str, Any], *, visible: bool) -> "Plan":
    from banditree.cli.progress import progress
    from banditree.scores.score_plan import build_score_plan

    with progress("Searching", visible=visible) as on_progress:
        return build_score_plan(known, horizon, on_progress=on_progress, **options)


def _show_front(known: "Collection", horizon: int, search: dict[str, Any], output: Path | None, as_json: bool) -> None:
    import json as json_module

    from banditree.cli.progress import progress
    from banditree.files.plans import save_plan
    from banditree.reports.pareto import front_rows, front_text
    from banditree.scores.score_plan import pareto_front

    with progress("Searching", visible=not as_json) as on_progress:
        plans = pareto_front(known, horizon, on_progress=on_progress, **search)
    if not plans:
        raise InvalidInput("No plan was found. Allow more steps.")
    rows = front_rows(plans, known)
    typer.echo(json_module.dumps(rows) if as_json else front_text(rows))
    for plan, row in zip(plans, rows, strict=True):
        if output is not None:
            path = output.with_stem(f"{output.stem}-{row['boxes']}")
            save_plan(plan, path)
            if not as_json:
                typer.echo(f"Written to {path}.")


def _regret(built: "Plan", known: "Collection") -> str:
    from banditree.certificates.certify import boxes_passed, certify
    from banditree.reports.certify import in_shares

    certificate, passed = certify(built, known), boxes_passed(built, known)
    lost = (
        f"Reward lost on average, compared with the best arm from the start: {certificate.mean_regret:,.2f} over all "
        f"tasks{in_shares(certificate)}, {certificate.worst_regret:,.2f} in the worst ({certificate.claim})."
    )
    on_the_way = f"A case passes {passed.mean():.1f} tests on average, {passed.max():.1f} in the task that takes most."
    return f"{lost}\n{on_the_way}" if built.depth else lost


def _what_was_known(radius: float, provenance: str) -> str:
    if radius == 0:
        return f"The means were taken as known exactly ({provenance})."
    return f"The means were taken as estimates, each within {radius:.3g} of the truth ({provenance})."
