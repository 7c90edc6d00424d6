"""The card of a plan: one or two sheets to work with at a desk or a bedside, and the same as a page.

It holds the plan as it is printed, what its words mean, what it promises, and a worksheet with room for tally marks.
"""

from dataclasses import dataclass
from html import escape

from banditree.figures.document import Sheets
from banditree.figures.drawing import A4
from banditree.figures.html import asset, page, written
from banditree.figures.issue import MARK, Issue, mark_scene
from banditree.figures.scene import FAINT, GREY, INK, Line, Scene, Text, fitted, moved, rectangle
from banditree.figures.svg import svg
from banditree.nouns import counted, plural
from banditree.plans import pages
from banditree.plans.context_wording import note_sentences
from banditree.plans.counts import Rounds
from banditree.plans.explaining import cap_level, named_outcomes, score_levels, short_points, watch_level
from banditree.plans.plan import Form, Plan
from banditree.plans.wording import (
    foot_sentences,
    heading,
    numbered_lines,
    outcome_names,
    page_title,
    rule_sentence,
    unit,
)
from banditree.plans.words import capital, times, with_article

LEAST_ROWS, MOST_ROWS = 8, 20  # The worksheet has as many rows as the sheet has room for, within these limits.
FOR_WHOM = "Patient or case, date:"
ROW_HEIGHT = 27.0  # A row has room for two bundles of five tally marks, one above the other.
SHARES = (0.07, 0.19, 0.28, 0.28, 0.09, 0.09)  # The shares of the width for the columns of the worksheet.


@dataclass(frozen=True)
class CardInfo:
    """What is on a card. meanings: (words of the plan, what to do); columns: the heads of the worksheet.

    more: the cards of the other pages of the plan.
    """

    title: str
    subtitle: str
    lines: tuple[str, ...]
    rule: str
    meanings: tuple[tuple[str, str], ...]
    promise: tuple[str, ...]
    columns: tuple[str, ...]
    worksheet: str
    verdict: str = ""
    issue: Issue | None = None
    more: tuple["CardInfo", ...] = ()


def card_info(
    plan: Plan, promise: tuple[str, ...] = (), loss: str = "", verdict: str = "", issue: Issue | None = None
) -> CardInfo:
    """The card of `plan`. promise: two sentences on what it costs and how often it errs, where that is known; loss:
    one on what it loses, for the heading; verdict: on cases that it was not made from; issue: about this sheet."""
    words = plan.vocabulary
    what = "Protocol" if plan.form is Form.LINES else "Plan"
    names = [name for _, name in outcome_names(plan)]
    tallies = (names[0], names[-1]) if len(names) == 2 else (f"{words.reward}, +", f"{words.reward}, -")
    return CardInfo(
        title=f"{what} for {counted(len(plan.tasks), words.task)} and {counted(len(plan.arms), words.arm)}",
        subtitle=heading(plan, loss),
        lines=(*numbered_lines(plan), *note_sentences(plan)),
        rule=" ".join([*([] if plan.rule is None else [rule_sentence(plan)]), *foot_sentences(plan)]),
        meanings=tuple(_meanings(plan)),
        promise=promise or _unknown(plan),
        columns=(unit(plan), words.arm, *tallies, "score", "next"),
        worksheet=_worksheet_note(plan),
        verdict=verdict,
        issue=issue,
        more=tuple(
            card_info(pages.page(plan, number), verdict=f"{page_title(plan, number)}.", issue=issue)
            for number in range(2, len(plan.pages) + 2)
        ),
    )


def _worksheet_note(plan: Plan) -> str:
    """How the worksheet is filled in."""
    settled = f", and for {with_article(plan.vocabulary.arm)} you stay with or settle on" if plan.rule else ""
    return f"A new row for each {unit(plan)} you come to{settled}. Make a tally mark for each outcome."


def _unknown(plan: Plan) -> tuple[str, ...]:
    """What can be said about a plan without its collection."""
    tasks = counted(len(plan.tasks), plan.vocabulary.task)
    return (
        f"It was made for {tasks} and {counted(plan.horizon, 'round')} per case.",
        f"What it loses and how often it errs depends on the {plural(plan.vocabulary.task)}; "
        "banditree certify computes it.",
    )


def _meanings(plan: Plan) -> list[tuple[str, str]]:
    """The phrases that occur in this plan, with its own numbers, in the order in which a reader meets them."""
    text, words, place = "\n".join(numbered_lines(plan)), plan.vocabulary, unit(plan)
    found = []
    if plan.points or plan.rule is not None:
        found.append(("the score", f"Starts at 0 on every {place}. After each outcome add its points."))
    if points := short_points(plan):
        found.append((points, f"The points of {named_outcomes(plan)}."))
    if (levels := score_levels(plan)) is not None:
        up, down = (f"{level:+d}" for level in levels)
        found.append((f"At {up}, At {down}", f"As soon as the score is {up} or above, or {down} or below."))
    if (level := watch_level(plan)) is not None:
        found.append(
            (f"stays above {level:+d}", f"Go on until the score is {level:+d} or below; then do what follows.")
        )
    if (cap := cap_level(plan)) is not None:
        found.append((f"never count above {cap:+d}", f"A score that would be higher stays at {cap:+d}."))
    if plan.form is Form.LINES and plan.n_tests:
        found += _places(plan, text)
    if plan.fallback is not None:
        found.append(("hand over", "The last sentence of the plan says who decides from now on."))
    if "start again" in text or (plan.rule is not None and not plan.rule.hands_over):
        found.append((f"start again at {place} 1", f"Go back to {place} 1. Its score starts at 0."))
    if fixed := [row.counts for row in plan.rows if isinstance(row.counts, Rounds)]:
        often = times(fixed[0].rounds)
        found.append((often, f"Give {with_article(words.arm)} that often, whatever happens, then compare."))
    return found


def _places(plan: Plan, text: str) -> list[tuple[str, str]]:
    """Where the exits of a protocol lead; text: its lines."""
    words, found = plan.vocabulary, []
    skips = sorted(
        {target for box, links in enumerate(plan.links) for target in links if box + 1 < target < plan.n_tests}
    )
    named = [*(["next line"] if "next line" in text else []), *(f"line {target + 1}" for target in skips[:1])]
    if named:
        found.append((", ".join(named), "Go on there. Its score starts at 0."))
    if "settle on" in text or "stay with" in text:
        found.append(("stay with, settle on", f"Give this {words.arm} from now on."))
    if "reat as" in text:
        rest = " From now on where it says so." if "from now on" in text else ""
        found.append((f"treat as {with_article(words.task)}", f"Give what its rule says for the case at hand.{rest}"))
    return found


def card_pages(info: CardInfo, size: tuple[float, float] = A4) -> list[Scene]:
    """The card on sheets of this size; black on white, so that it can be copied."""
    sheets = Sheets(size)
    sheets.write(info.title, 15.0, INK, bold=True, after=2)
    if info.verdict:
        sheets.write(info.verdict, 9.5, INK, bold=True, after=2)
    sheets.write(info.subtitle, 8.0, GREY, after=8)
    if info.issue is not None:
        _issued(sheets, info.issue)
    for line in info.lines:
        sheets.write(line, 11.0, INK, after=4)
    if info.rule:
        sheets.y += 4
        sheets.framed(info.rule, 11.0)
    _section(sheets, "What the words mean")
    for phrase, meaning in info.meanings:
        sheets.pair(phrase, meaning, 9.0)
    _section(sheets, "What it promises")
    for sentence in info.promise:
        sheets.write(sentence, 9.5, INK, after=2)
    _worksheet(sheets, info)
    return [*sheets.pages(), *(sheet for one in info.more for sheet in card_pages(one, size))]


def _issued(sheets: Sheets, issue: Issue) -> None:
    """A field for whom it is about, what the sheet says about itself, and its mark at the right."""
    left, top, width = sheets.margin, sheets.y, sheets.width - MARK - 12
    sheets.shapes.append(Text(left, top + 12, FOR_WHOM, 9.0, INK))
    sheets.shapes.append(Line(((left + 110, top + 14), (left + width, top + 14)), GREY, 0.8))
    for number, line in enumerate(issue.lines):
        sheets.shapes.append(Text(left, top + 28 + 12 * number, fitted(line, width, 8.5), 8.5, INK))
    mark = mark_scene(issue.mark, issue.address)
    sheets.shapes += [moved(shape, left + width + 12, top) for shape in mark.shapes]
    sheets.y = top + MARK + 6


def _section(sheets: Sheets, title: str) -> None:
    sheets.room(50)
    sheets.y += 8
    sheets.write(title, 11.0, INK, bold=True, after=3)


def _worksheet(sheets: Sheets, info: CardInfo) -> None:
    """A table to write in: a row for each line that the case comes to, as many rows as fit."""
    sheets.room(40 + LEAST_ROWS * ROW_HEIGHT)
    _section(sheets, "Worksheet")
    sheets.write(info.worksheet, 8.5, GREY, after=4)
    left, right = sheets.margin, sheets.size[0] - sheets.margin
    edges = [left]
    for share in SHARES:
        edges.append(edges[-1] + share * (right - left))
    rows = min(MOST_ROWS, int((sheets.size[1] - sheets.margin - sheets.y - 16) // ROW_HEIGHT))
    top = sheets.y + 16
    for name, x, end in zip(info.columns, edges, edges[1:], strict=False):
        sheets.shapes.append(Text(x + 4, sheets.y + 11, fitted(capital(name), end - x - 6, 8.5, True), 8.5, INK, True))
    bottom = top + rows * ROW_HEIGHT
    sheets.shapes.append(rectangle(left, top, right - left, bottom - top, stroke=INK, width=1.0))
    for row in range(1, rows):
        y = top + row * ROW_HEIGHT
        sheets.shapes.append(Line(((left, y), (right, y)), FAINT if row % 5 else GREY, 0.8))
    sheets.shapes += [Line(((x, top), (x, bottom)), GREY, 0.8) for x in edges[1:-1]]
    sheets.y = bottom


def card_html(info: CardInfo, paper: str = "A4") -> str:
    """The card as one HTML file that prints on this paper; every word of it can be copied."""
    body = "\n".join(["<main>", *map(_card_html, [info, *info.more]), "</main>"])
    return page(info.title, body, style=f"{asset('card.css')}@page {{ size: {paper}; margin: 14mm; }}\n")


def _card_html(info: CardInfo) -> str:
    lines = "\n".join(f'<p class="line">{written(line)}</p>' for line in info.lines)
    rule = f'\n<p class="rule">{written(info.rule)}</p>' if info.rule else ""
    meanings = "".join(f"<dt>{escape(phrase)}</dt><dd>{escape(meaning)}</dd>\n" for phrase, meaning in info.meanings)
    promise = "\n".join(f"<p>{written(sentence)}</p>" for sentence in info.promise)
    head = "".join(f'<th scope="col">{escape(capital(name))}</th>' for name in info.columns)
    rows = f"<tr>{'<td></td>' * len(info.columns)}</tr>\n" * LEAST_ROWS
    verdict = f'<p class="rule">{escape(info.verdict)}</p>\n' if info.verdict else ""
    issue = "" if info.issue is None else _issued_html(info.issue)
    return (
        f'<article class="card-page">\n<h1>{escape(info.title)}</h1>\n{verdict}'
        f'<p class="soft">{escape(info.subtitle)}</p>\n{issue}'
        f'<section class="protocol" aria-label="The plan">\n{lines}{rule}\n</section>\n'
        f"<h2>What the words mean</h2>\n<dl>\n{meanings}</dl>\n<h2>What it promises</h2>\n{promise}\n"
        f'<section class="sheet">\n<h2>Worksheet</h2>\n<p class="soft">{escape(info.worksheet)}</p>\n'
        f'<table class="worksheet"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>\n'
        "</section>\n</article>"
    )


def _issued_html(issue: Issue) -> str:
    said = "".join(f"<p>{escape(line)}</p>" for line in issue.lines)
    mark = svg(mark_scene(issue.mark, issue.address), margin=0)
    return f'<section class="issue"><div><p class="whom">{FOR_WHOM}</p>{said}</div>{mark}</section>\n'
