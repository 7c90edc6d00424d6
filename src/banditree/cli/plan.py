"""`banditree plan`: a collection in, a plan out."""

from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditree.cli.options import (
    AsJson,
    CollectionFile,
    Shares,
    TrustEstimates,
    Words,
    Worth,
    known_collection,
    program,
    vocabulary,
)
from banditree.cli.progress import progress
from banditree.cli.simulate import cluster
from banditree.errors import InvalidInput, TooLong
from banditree.nouns import plural
from banditree.plans.words import capital
from banditree.protocols.settings import PlanSettings

if TYPE_CHECKING:
    from banditree.certificates.certify import Certificate
    from banditree.plans.plan import Plan
    from banditree.plans.words import Vocabulary
    from banditree.protocols.variants import Nearby
    from banditree.tasks.collection import Collection

LONG = 60  # A plan of more boxes is summed up in the terminal rather than printed whole.
CERTIFIED = 2_000  # The regret of a plan of up to this many boxes is worked out within a moment.


def plan(
    collection: CollectionFile,
    settings: PlanSettings,
    pareto: Annotated[bool, typer.Option("--pareto", help="A table of plans from one line up to choose from.")] = False,
    shares: Shares = "",
    worth: Worth = None,
    trust_estimates: TrustEstimates = False,
    words: Words = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the plan (.json).")] = None,
    dask: Annotated[str | None, typer.Option(help="Run the islands on a Dask cluster at this address.")] = None,
    json: AsJson = False,
) -> None:
    """Build the plan of a collection.

    Ctrl-C during a search keeps the best plan so far.

    Example: banditree plan means.csv --horizon 10000 -o plan.json
    """
    known = known_collection(collection, shares, trust_estimates, worth)
    if output is not None and not output.parent.is_dir():
        raise InvalidInput(f"{output} cannot be written: there is no folder {output.parent}. Make it first.")
    if dask is not None:
        if settings.islands == 1:
            raise InvalidInput("--dask needs islands, which it runs side by side. Add --islands 8, or omit --dask.")
        settings = settings.model_copy(update={"workers": "joblib"})
    with cluster(dask):
        if pareto:
            _show_front(known, settings, vocabulary(words), output, json)
        else:
            _show_plan(known, settings, vocabulary(words), collection, output, json)


def _show_plan(
    known: "Collection",
    settings: PlanSettings,
    words: "Vocabulary",
    collection: Path,
    output: Path | None,
    as_json: bool,
) -> None:
    from banditree.files.plans import plan_json, save_plan
    from banditree.protocols.build import plan_and_near
    from banditree.tasks.states import StateCollection

    with progress("Searching", visible=not as_json) as on_progress:
        how: dict[str, Any] = {"vocabulary": words, "on_progress": on_progress, **settings.options}
        how |= {"pages": settings.pages, "not_again": settings.not_again, "ask": settings.ask}
        built, near = plan_and_near(known, settings.horizon, settings.method, **how)
        built = built if isinstance(known, StateCollection) else _marked(built, known)
    if output is not None:
        save_plan(built, output)
    if as_json:
        typer.echo(plan_json(built), nl=False)
        return
    if built.states:
        _show_by_state(built, known)
    else:
        _show(built, known, near)
    if output is not None:
        typer.echo(f"Written to {output}. Look at it: {program()} show {output}. Follow it: {program()} run {output}")
        typer.echo(f"All about it in one file: {program()} report {collection} {output} -o report.html")


def _show_by_state(built: "Plan", known: "Collection") -> None:
    """Print a plan with states, with what it loses."""
    from banditree.certificates.certify import certify
    from banditree.plans.wording import plan_text
    from banditree.reports.certify import certificate_report, certificate_sentences
    from banditree.reports.promise import loss_sentence

    typer.echo(plan_text(built, loss_sentence(built, certify(built, known))))
    typer.echo("\n" + "\n".join(certificate_sentences(certificate_report(built, known))))


def _show(built: "Plan", known: "Collection", near: "Nearby | None") -> None:
    """Print a plan with what it loses, what other lengths would lose, and what it was made from."""
    from banditree.certificates.certify import certify
    from banditree.plans.wording import heading, plan_text
    from banditree.protocols.variants import variants
    from banditree.reports.certify import varying_or_none, varying_sentence
    from banditree.reports.harm import harm_report, harm_sentences
    from banditree.reports.pareto import variants_text
    from banditree.reports.promise import loss_sentence
    from banditree.reports.unlucky import unlucky_sentences

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
        if certificate.unlucky is not None:
            typer.echo(" ".join(unlucky_sentences(built, known, certificate, certificate.unlucky)))
        if (harm := harm_report(built, known, certificate)) is not None:
            typer.echo(" ".join(harm_sentences(harm, built.vocabulary)))
    if varying is not None:
        typer.echo(varying_sentence(varying, built.vocabulary))
    if untold:
        typer.echo(f"\nWhat the plan loses is not known. {untold}")
    if near is not None and not untold:
        typer.echo(f"\n{variants_text(variants(near), near.objective)}")
    typer.echo(f"\n{_what_was_known(known.radius.max(), known.provenance)}")
    if near is not None and near.seconds is not None:
        typer.echo(f"The search had {near.seconds:g} seconds: at another speed the same seed may find another plan.")


def _show_front(
    known: "Collection", settings: PlanSettings, words: "Vocabulary", output: Path | None, as_json: bool
) -> None:
    from banditree.files.plans import save_plan
    from banditree.protocols.build import choose_method
    from banditree.protocols.front import pareto_front
    from banditree.reports.pareto import front_rows, front_text

    alone = settings.allow, settings.unknown, settings.fallback, settings.pages, settings.not_again, settings.ask
    if any(alone):
        raise InvalidInput(
            "--pareto must be omitted with --allow, --unknown, --fallback, --pages, --not-again and --ask."
        )
    if choose_method(known, settings.method, settings.options).name != "protocol":
        raise InvalidInput('pareto must be omitted with method="tree" or "optimal": a front is of protocols.')
    with progress("Searching", visible=not as_json) as on_progress:
        how: dict[str, Any] = {"vocabulary": words, "on_progress": on_progress, **settings.options}
        plans = [_marked(plan, known) for plan in pareto_front(known, settings.horizon, **how)]
    rows = front_rows(plans, known)
    typer.echo(dumps(rows) if as_json else front_text(rows))
    for place, plan in enumerate(plans, start=1):  # two plans may have as many lines
        if output is not None:
            path = output.with_stem(f"{output.stem}-{place}")
            save_plan(plan, path)
            if not as_json:
                typer.echo(f"Written to {path}.")


def _regret(built: "Plan", certificate: "Certificate", *, varies: bool) -> str:
    from banditree.reports.certify import in_shares

    words, pulls = built.vocabulary, certificate.pulls
    whose = f" by a case at the rates of its {words.task}" if varies else ""
    what = capital(certificate.unit or words.reward)
    lost = (
        f"{what} lost on average{whose}, compared with the best {words.arm} from the start: "
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
    return replace(built, origin=built.origin.marked(TRUSTED))


def _what_was_known(radius: float, provenance: str) -> str:
    if radius == 0:
        return f"The means were taken as known exactly ({provenance})."
    return f"The means were taken as estimates, each within {radius:.3g} of the truth ({provenance})."
