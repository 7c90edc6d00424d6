"""The card of a plan: one or two sheets to work with at a desk or a bedside, and the same as a page.

It holds the plan as it is printed, what its words mean, what it promises, and a worksheet with room for tally marks.
"""

from dataclasses import dataclass, field
from html import escape

from banditree.figures.document import Sheets, Table, html_table, print_tables
from banditree.figures.drawing import A4
from banditree.figures.html import asset, page, written
from banditree.figures.issue import MARK, Issue, mark_scene
from banditree.figures.scene import FAINT, GREY, INK, Line, Scene, Text, fitted, moved, rectangle, text_width
from banditree.figures.svg import svg
from banditree.plans import pages
from banditree.plans.context_wording import note_sentences
from banditree.plans.counts import Rounds
from banditree.plans.explaining import cap_level, named_outcomes, score_levels, short_points, watch_level
from banditree.plans.gives import BestOf, Give, TreatAs
from banditree.plans.plan import Form, Plan
from banditree.plans.state_wording import state_grids, state_notes
from banditree.plans.wording import (
    about,
    foot_sentences,
    numbered_lines,
    outcome_names,
    page_title,
    rounds,
    rule_sentence,
    unit,
    what_for,
)
from banditree.plans.words import Vocabulary, capital

LEAST_ROWS, MOST_ROWS = 8, 20  # The worksheet has as many rows as the sheet has room for, within these limits.
LEAST_ROUNDS = 4  # The same where every round has a row: a case needs more sheets anyway.
ROW_HEIGHT = 27.0  # A row has room for two bundles of five tally marks, one above the other.
ROUND_HEIGHT = 15.0  # A row for one round has room for a few words and numbers.
SHARES = (0.08, 0.19, 0.245, 0.245, 0.135, 0.105)  # The shares of the width for the columns of the worksheet.


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
    words: Vocabulary = field(default_factory=Vocabulary)
    tables: tuple[Table, ...] = ()

    @property
    def row_height(self) -> float:
        """Of the worksheet."""
        return ROUND_HEIGHT if self.tables else ROW_HEIGHT

    @property
    def least_rows(self) -> int:
        """Of the worksheet."""
        return LEAST_ROUNDS if self.tables else LEAST_ROWS


def card_info(
    plan: Plan, promise: tuple[str, ...] = (), loss: str = "", verdict: str = "", issue: Issue | None = None
) -> CardInfo:
    """The card of `plan`. promise: two sentences on what it costs and how often it errs, where that is known; loss:
    one on what it loses, for the heading; verdict: on cases that it was not made from; issue: about this sheet."""
    words = plan.vocabulary
    names = [name for _, name in outcome_names(plan)]
    tallies = (names[0], names[-1]) if len(names) == 2 else (f"{words.reward}, +", f"{words.reward}, -")
    return CardInfo(
        title=_title(plan),
        subtitle=" ".join(filter(None, (about(plan), loss))),
        lines=(*numbered_lines(plan), *(state_notes(plan)[0] if plan.states else note_sentences(plan))),
        rule=" ".join([*([] if plan.rule is None else [rule_sentence(plan)]), *foot_sentences(plan)]),
        meanings=tuple(_meanings(plan)),
        promise=promise or _unknown(plan),
        columns=_columns(plan, tallies),
        worksheet=_worksheet_note(plan),
        verdict=verdict,
        issue=issue,
        more=tuple(
            card_info(pages.page(plan, number), verdict=f"{page_title(plan, number)}.", issue=issue)
            for number in range(2, len(plan.pages) + 2)
        ),
        words=words,
        tables=tuple(Table(*grid) for grid in state_grids(plan)) if plan.states else (),
    )


def _columns(plan: Plan, tallies: tuple[str, str]) -> tuple[str, ...]:
    """The heads of the worksheet."""
    words = plan.vocabulary
    if plan.states:
        return unit(plan), words.say("state"), words.arm, words.reward, words.say("points"), words.say("score")
    return unit(plan), words.arm, *tallies, words.say("score"), words.say("next")


def _title(plan: Plan) -> str:
    """What the sheet is, at its head."""
    if plan.form is Form.BOXES:
        return what_for(plan)
    words = plan.vocabulary
    tasks, arms = words.counted(len(plan.tasks), "task"), words.counted(len(plan.arms), "arm")
    return words.say("Protocol for {tasks} and {arms}", tasks=tasks, arms=arms)


def _worksheet_note(plan: Plan) -> str:
    """How the worksheet is filled in."""
    if plan.states:
        return plan.vocabulary.say("A new row for each round; its points follow when the next state is known.")
    words, an_arm = plan.vocabulary, plan.vocabulary.article("arm")
    if plan.form is Form.BOXES:
        row = words.say("A new row for each box you come to.")
        if plan.rule:
            row = words.say(
                "A new row for each box you come to, and for {an_arm} you stay with or settle on.", an_arm=an_arm
            )
    else:
        row = words.say("A new row for each line you come to.")
        if plan.rule:
            row = words.say(
                "A new row for each line you come to, and for {an_arm} you stay with or settle on.", an_arm=an_arm
            )
    return f"{row} {words.say('Make a tally mark for each outcome.')}"


def _unknown(plan: Plan) -> tuple[str, ...]:
    """What can be said about a plan without its collection."""
    words = plan.vocabulary
    return (
        words.say(
            "It was made for {tasks} and {rounds} per case.",
            tasks=words.counted(len(plan.tasks), "task"),
            rounds=rounds(words, plan.horizon),
        ),
        words.say(
            "What it loses and how often it errs depends on the {tasks}; banditree certify computes it.",
            tasks=words.plural("task"),
        ),
    )


def _meanings(plan: Plan) -> list[tuple[str, str]]:
    """The phrases that occur in this plan, with its own numbers, in the order in which a reader meets them."""
    words, in_lines = plan.vocabulary, plan.form is Form.LINES
    found = []
    if plan.points or plan.rule is not None:
        every = words.say("Starts at 0 on every box. After each outcome add its points.")
        if in_lines:
            every = words.say("Starts at 0 on every line. After each outcome add its points.")
        if plan.states:
            every = words.say("Starts at 0 on every line. When the next state is known, add the points of the round.")
        found.append((words.say("the score"), every))
    if points := short_points(plan):
        found.append((points, words.say("The points of {outcomes}.", outcomes=named_outcomes(plan))))
    found += _levels(plan)
    if in_lines and plan.n_tests and not plan.states:
        found += _places(plan)
    if plan.fallback is not None:
        found.append((words.say("hand over"), words.say("The last sentence of the plan says who decides from now on.")))
    if _starts_again(plan):
        again = words.say("start again at box 1"), words.say("Go back to box 1. Its score starts at 0.")
        if in_lines:
            again = words.say("start again at line 1"), words.say("Go back to line 1. Its score starts at 0.")
        found.append(again)
    if fixed := [row.counts for row in plan.rows if isinstance(row.counts, Rounds)]:
        whatever = words.say("Give {an_arm} that often, whatever happens, then compare.", an_arm=words.article("arm"))
        found.append((words.times(fixed[0].rounds), whatever))
    return found


def _levels(plan: Plan) -> list[tuple[str, str]]:
    """What the levels of a score and its cap mean, with those of this plan."""
    words, found = plan.vocabulary, []
    if (levels := score_levels(plan)) is not None:
        values = dict(zip(("high", "low"), (f"{level:+d}" for level in levels), strict=True))
        phrase = words.say("At {high}, At {low}", **values)
        found.append((phrase, words.say("As soon as the score is {high} or above, or {low} or below.", **values)))
    if (level := watch_level(plan)) is not None:
        below = f"{level:+d}"
        meaning = words.say("Go on until the score is {level} or below; then do what follows.", level=below)
        found.append((words.say("stays above {level}", level=below), meaning))
    if (cap := cap_level(plan)) is not None:
        most = f"{cap:+d}"
        meaning = words.say("A score that would be higher stays at {cap}.", cap=most)
        found.append((words.say("never count above {cap}", cap=most), meaning))
    return found


def _starts_again(plan: Plan) -> bool:
    """Whether a case may be told to start again."""
    led = plan.form is Form.LINES and any(0 in links for links in plan.links)
    return led or (plan.rule is not None and not plan.rule.hands_over)


def _places(plan: Plan) -> list[tuple[str, str]]:
    """Where the exits of a protocol lead."""
    words, found = plan.vocabulary, []
    ways = [(row, target) for row, links in enumerate(plan.links[: plan.n_tests]) for target in links]
    skips = sorted({target for row, target in ways if row + 1 < target < plan.n_tests})
    named = [words.say("next line")] if any(target == row + 1 < plan.n_tests for row, target in ways) else []
    named += [words.say("line {number}", number=target + 1) for target in skips[:1]]
    if named:
        found.append((", ".join(named), words.say("Go on there. Its score starts at 0.")))
    ends = [plan.rows[target].gives for _, target in ways if not plan.rows[target].counts.exits]
    if any(isinstance(gives, Give | BestOf) for gives in ends):
        found.append((words.say("stay with, settle on"), words.say("Give this {arm} from now on.")))
    if any(row.gives.task is not None for row in plan.rows):
        meaning = words.say("Give what its rule says for the case at hand.")
        if any(isinstance(gives, TreatAs) for gives in ends) or not plan.tests:
            meaning = f"{meaning} {words.say('From now on where it says so.')}"
        found.append((words.say("treat as {a_task}", a_task=words.article("task")), meaning))
    return found


def card_pages(info: CardInfo, size: tuple[float, float] = A4) -> list[Scene]:
    """The card on sheets of this size; black on white, so that it can be copied."""
    sheets = Sheets(size)
    sheets.write(info.title, 15.0, INK, bold=True, after=2)
    if info.verdict:
        sheets.write(info.verdict, 9.5, INK, bold=True, after=2)
    sheets.write(info.subtitle, 8.0, GREY, after=8)
    if info.issue is not None:
        _issued(sheets, info.issue, info.words)
    for line in info.lines:
        sheets.write(line, 9.5 if info.tables else 11.0, INK, after=2 if info.tables else 4)
    if info.tables:
        print_tables(sheets, info.tables)
    if info.rule:
        sheets.y += 4
        sheets.framed(info.rule, 11.0)
    _section(sheets, info.words.say("What the words mean"))
    for phrase, meaning in info.meanings:
        sheets.pair(phrase, meaning, 9.0)
    _section(sheets, info.words.say("What it promises"))
    for sentence in info.promise:
        sheets.write(sentence, 9.5, INK, after=2)
    _worksheet(sheets, info)
    return [*sheets.pages(), *(sheet for one in info.more for sheet in card_pages(one, size))]


def _for_whom(words: Vocabulary) -> str:
    return words.say("Patient or case, date:")


def _issued(sheets: Sheets, issue: Issue, words: Vocabulary) -> None:
    """A field for whom it is about, what the sheet says about itself, and its mark at the right."""
    left, top, width = sheets.margin, sheets.y, sheets.width - MARK - 12
    field_name = _for_whom(words)
    sheets.shapes.append(Text(left, top + 12, field_name, 9.0, INK))
    start = left + max(110.0, text_width(field_name, 9.0) + 8)
    sheets.shapes.append(Line(((start, top + 14), (left + width, top + 14)), GREY, 0.8))
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
    sheets.room(40 + info.least_rows * info.row_height)
    _section(sheets, info.words.say("Worksheet"))
    sheets.write(info.worksheet, 8.5, GREY, after=4)
    left, right = sheets.margin, sheets.size[0] - sheets.margin
    edges = [left]
    for share in SHARES:
        edges.append(edges[-1] + share * (right - left))
    rows = min(MOST_ROWS, int((sheets.size[1] - sheets.margin - sheets.y - 16) // info.row_height))
    top = sheets.y + 16
    for name, x, end in zip(info.columns, edges, edges[1:], strict=False):
        sheets.shapes.append(Text(x + 4, sheets.y + 11, fitted(capital(name), end - x - 6, 8.5, True), 8.5, INK, True))
    bottom = top + rows * info.row_height
    sheets.shapes.append(rectangle(left, top, right - left, bottom - top, stroke=INK, width=1.0))
    for row in range(1, rows):
        y = top + row * info.row_height
        sheets.shapes.append(Line(((left, y), (right, y)), FAINT if row % 5 else GREY, 0.8))
    sheets.shapes += [Line(((x, top), (x, bottom)), GREY, 0.8) for x in edges[1:-1]]
    sheets.y = bottom


def card_html(info: CardInfo, paper: str = "A4") -> str:
    """The card as one HTML file that prints on this paper; every word of it can be copied."""
    body = "\n".join(["<main>", *map(_card_html, [info, *info.more]), "</main>"])
    style = f"{asset('card.css')}@page {{ size: {paper}; margin: 14mm; }}\n"
    return page(info.title, body, style=style, language=info.words.language.code)


def _card_html(info: CardInfo) -> str:
    lines = "\n".join(f'<p class="line">{written(line)}</p>' for line in info.lines)
    tables = "".join(map(html_table, info.tables))
    if tables:
        lines = f'{lines}\n<div class="points">{tables}</div>'
    rule = f'\n<p class="rule">{written(info.rule)}</p>' if info.rule else ""
    meanings = "".join(f"<dt>{escape(phrase)}</dt><dd>{escape(meaning)}</dd>\n" for phrase, meaning in info.meanings)
    promise = "\n".join(f"<p>{written(sentence)}</p>" for sentence in info.promise)
    head = "".join(f'<th scope="col">{escape(capital(name))}</th>' for name in info.columns)
    kind = "protocol by-state" if info.tables else "protocol"
    by_round = ' class="round"' if info.tables else ""
    rows = f"<tr{by_round}>{'<td></td>' * len(info.columns)}</tr>\n" * info.least_rows
    verdict = f'<p class="rule">{escape(info.verdict)}</p>\n' if info.verdict else ""
    issue = "" if info.issue is None else _issued_html(info.issue, info.words)
    said = info.words.say
    return (
        f'<article class="card-page">\n<h1>{escape(info.title)}</h1>\n{verdict}'
        f'<p class="soft">{escape(info.subtitle)}</p>\n{issue}'
        f'<section class="{kind}" aria-label="{escape(said("The plan"))}">\n{lines}{rule}\n</section>\n'
        f"<h2>{escape(said('What the words mean'))}</h2>\n<dl>\n{meanings}</dl>\n"
        f"<h2>{escape(said('What it promises'))}</h2>\n{promise}\n"
        f'<section class="sheet">\n<h2>{escape(said("Worksheet"))}</h2>\n<p class="soft">{escape(info.worksheet)}</p>\n'
        f'<table class="worksheet"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>\n'
        "</section>\n</article>"
    )


def _issued_html(issue: Issue, words: Vocabulary) -> str:
    said = "".join(f"<p>{escape(line)}</p>" for line in issue.lines)
    mark = svg(mark_scene(issue.mark, issue.address), margin=0)
    return f'<section class="issue"><div><p class="whom">{escape(_for_whom(words))}</p>{said}</div>{mark}</section>\n'
