"""`banditree show`: a plan as text or as a picture."""

import os
import sys
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from banditree.cli.options import AsJson, PlanFile, Spoken
from banditree.errors import InvalidInput
from banditree.plans.words import in_language

if TYPE_CHECKING:
    from banditree.plans.plan import Plan


class Format(StrEnum):
    """How the plan is shown."""

    TEXT = "text"
    LIST = "list"
    SVG = "svg"
    PDF = "pdf"
    MERMAID = "mermaid"
    DOT = "dot"
    HTML = "html"
    MACHINE = "machine"
    DMN = "dmn"
    CQL = "cql"
    FHIR = "fhir"


class Paper(StrEnum):
    """The size of a sheet."""

    A4 = "a4"
    LETTER = "letter"


SUFFIXES = {".txt": "text", ".svg": "svg", ".pdf": "pdf", ".mmd": "mermaid", ".dot": "dot", ".gv": "dot"}
SUFFIXES |= {".html": "html", ".htm": "html", ".dmn": "dmn", ".cql": "cql", ".fhir.json": "fhir"}


def show(
    plan: PlanFile,
    format: Annotated[
        Format | None,
        typer.Option(
            help="text: row by row with the ends inside; list: as the plan is printed; machine: what other programs "
            "follow; dmn, cql, fhir: what rule engines and FHIR servers run; the others are pictures. "
            "[default: by the ending of the output's name]"
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it.")] = None,
    tasks: Annotated[
        Path | None, typer.Option(help="The collection: adds the chances and costs of each box to html.")
    ] = None,
    card: Annotated[
        bool, typer.Option("--card", help="A card to work with, as pdf or html: the plan, its words, a worksheet.")
    ] = False,
    app: Annotated[
        bool, typer.Option("--app", help="One html file that follows many cases on any phone, without a network.")
    ] = False,
    paper: Annotated[Paper, typer.Option(help="The paper of a card or a PDF.")] = Paper.A4,
    without: Annotated[
        list[str] | None, typer.Option(help="Only the page for a case that must not get this arm; may be repeated.")
    ] = None,
    language: Spoken = "en",
    json: AsJson = False,
) -> None:
    """Show a plan: in the terminal, or as a picture to print or to click through.

    Example: banditree show plan.json -o plan.html
    """
    from banditree.files.documents import write_bytes
    from banditree.files.plans import load_plan, plan_json
    from banditree.plans.pages import page_for

    loaded = in_language(load_plan(plan), language)
    if without:
        loaded = page_for(loaded, without)
    if json:
        typer.echo(plan_json(loaded), nl=False)
        return
    chosen = _format(format, output)
    if card and app:
        raise InvalidInput("Give --card or --app, not both.")
    if app:
        content = _app(loaded, chosen)
    elif card:
        content = _card(loaded, chosen, tasks, paper)
    else:
        content = _content(loaded, chosen, tasks, paper, colour=output is None and _has_colour())
    if output is not None:
        write_bytes(output, content)
        typer.echo(f"Written to {output}.")
    else:
        typer.echo(content.decode(), nl=False, color=True)


def _app(plan: "Plan", chosen: Format) -> bytes:
    from banditree.figures.app import app_html

    if chosen is not Format.HTML:
        raise InvalidInput(f"An app is html. Got {chosen.value!r}. Give a file: --app -o plan.html.")
    return app_html(plan).encode()


def _card(plan: "Plan", chosen: Format, tasks: Path | None, paper: Paper) -> bytes:
    """The card of a plan; with the collection it says what the plan promises."""
    from banditree.figures.card import card_html, card_info, card_pages

    if chosen not in (Format.PDF, Format.HTML):
        raise InvalidInput(f"A card is a pdf or html. Got {chosen.value!r}. Give a file: --card -o card.pdf.")
    promise: tuple[str, ...] = ()
    loss = ""
    if tasks is not None:
        from banditree.certificates.certify import certify
        from banditree.files.collections import load_collection
        from banditree.reports.certify import varying_or_none
        from banditree.reports.promise import loss_sentence, promise_sentences

        collection = load_collection(tasks)
        certificate = certify(plan, collection)
        promise = promise_sentences(plan, certificate, varies=collection.varies)
        loss = loss_sentence(plan, certificate, varying_or_none(plan, collection))
    info = card_info(plan, promise, loss)
    if chosen is Format.HTML:
        return card_html(info, paper.value).encode()
    from banditree.figures.drawing import A4, LETTER
    from banditree.figures.pdf import pdf

    return pdf(card_pages(info, A4 if paper is Paper.A4 else LETTER))


def _loss(plan: "Plan", tasks: Path | None) -> str:
    """What the plan loses on a collection, for its heading; empty where that is not known."""
    if tasks is None:
        return ""
    from banditree.certificates.certify import certify
    from banditree.files.collections import load_collection
    from banditree.reports.certify import varying_or_none
    from banditree.reports.promise import loss_sentence

    with suppress(InvalidInput):
        collection = load_collection(tasks)
        return loss_sentence(plan, certify(plan, collection), varying_or_none(plan, collection))
    return ""


def _format(given: Format | None, output: Path | None) -> Format:
    if given is None:
        given = Format.TEXT
        if output is not None:
            ending = next((ending for ending in SUFFIXES if output.name.lower().endswith(ending)), None)
            if ending is None:
                known = ", ".join(SUFFIXES)
                raise InvalidInput(f"--output must end in one of {known}, or come with --format. Got {str(output)!r}.")
            given = Format(SUFFIXES[ending])
    if given is Format.PDF and output is None:
        raise InvalidInput("A PDF is not text for a terminal. Give a file: -o plan.pdf.")
    return given


def _has_colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _for_programs(plan: "Plan", chosen: Format) -> str:
    from banditree.files.cql import cql_text
    from banditree.files.dmn import dmn_text
    from banditree.files.fhir import fhir_json
    from banditree.files.machines import machine_json

    writers = {Format.MACHINE: machine_json, Format.DMN: dmn_text, Format.CQL: cql_text, Format.FHIR: fhir_json}
    return writers[chosen](plan)


def _content(plan: "Plan", chosen: Format, tasks: Path | None, paper: Paper, colour: bool) -> bytes:
    from banditree.figures.ladder import ladder_info
    from banditree.plans.wording import plan_text

    loss = _loss(plan, tasks)
    if chosen is Format.LIST:
        return f"{plan_text(plan, loss)}\n".encode()
    if chosen in (Format.MACHINE, Format.DMN, Format.CQL, Format.FHIR):
        return _for_programs(plan, chosen).encode()
    info = ladder_info(plan, loss=loss)
    if chosen is Format.PDF:
        from banditree.figures.drawing import A4, LETTER, ladder_pages
        from banditree.figures.pdf import pdf

        return pdf(ladder_pages(info, A4 if paper is Paper.A4 else LETTER))
    if chosen is Format.HTML:
        from banditree.figures.html import ladder_html

        if tasks is None:
            return ladder_html(info, None, plan.vocabulary.say("Chances and costs are shown with --tasks.")).encode()
        from banditree.files.collections import load_collection
        from banditree.reports.report import reach_or_note

        reach, note = reach_or_note(plan, load_collection(tasks))
        return ladder_html(ladder_info(plan, reach, loss), reach, note).encode()
    if chosen is Format.SVG:
        from banditree.figures.drawing import ladder_scene
        from banditree.figures.svg import svg

        return svg(ladder_scene(info)).encode()
    from banditree.figures.sources import dot, mermaid
    from banditree.figures.text import ladder_text

    writers = {Format.MERMAID: mermaid, Format.DOT: dot}
    return writers[chosen](info).encode() if chosen in writers else f"{ladder_text(info, colour)}\n".encode()
