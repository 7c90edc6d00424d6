"""One HTML file that works from a USB stick: the ladder of a plan as a list that is laid out as a picture.

The list is the text alternative and the drawing at once: style sheets lay it out, the browser keeps rows apart, and a
screen reader reads it row by row. Nothing is fetched from anywhere.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import Any

from banditree.figures.ladder import LadderInfo, Leads, Row, Way, require_drawable
from banditree.figures.layout import Jump, jumps
from banditree.figures.reach import ReachInfo
from banditree.figures.scene import RIGHT_TO_LEFT
from banditree.plans.words import Vocabulary, signed

EIGHTHS = 8  # A row of the list spans eight rows of the grid, so that a jump leaves it beside the exit it belongs to.
WIDE_IN, WIDE_OUT = (
    1,
    {(0, 2): 2, (0, 1): 3, (1, 2): 5},
)  # How far down, by (which exit, of how many), beside its text, ...
NARROW_IN, NARROW_OUT = 2, {(0, 2): 5, (0, 1): 6, (1, 2): 6}  # ... and where the exits stand below it.
LONG = 15  # Lines: a longer ladder is printed on several pages, where a jump at the side could not be followed.


@dataclass(frozen=True)
class Mark:
    """Where a case is: the boxes it went through (0 at the end if it left the plan), and its score between the exits.

    low and high are the scores at which the box is left; high is None where the score has no upper end.
    """

    path: Sequence[int]
    score: int | None = None
    low: int = 0
    high: int | None = None


NOBODY = Mark(())
PLAIN = Vocabulary()


def written(text: str) -> str:
    """A sentence of a plan for a page, escaped; names written from right to left stand apart from the numbers.

    >>> written("Give A & B; +1/-3"), written("\u0639\u0644; +1/-3") == "<bdi>\u0639\u0644</bdi>; +1/-3"
    ('Give A &amp; B; +1/-3', True)
    """
    return RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", escape(text))


def ladder_html(info: LadderInfo, reach: ReachInfo | None = None, note: str = "") -> str:
    """A whole page with the ladder; `reach` gives the numbers of each box, `note` says why there are none."""
    title = info.what or info.title
    body = f"<h1>{escape(title)}</h1>\n<p>{escape(info.title)}</p>\n{ladder_section(info, reach, note)}"
    return page(title, f"<main>\n{body}\n</main>", ladder_data(info, reach, note), language=info.words.language.code)


def page(title: str, body: str, script: str = "", style: str = "", language: str = "en") -> str:
    """An HTML document with all styles and scripts inside; `script` is the data of the ladder, if any."""
    code = f"{script}\n<script>\n{asset('page.js')}</script>" if script else ""
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{asset('page.css')}{style}</style>\n</head>\n"
        f"<body>\n{body}\n{code}\n</body>\n</html>\n"
    )


def ladder_data(info: LadderInfo, reach: ReachInfo | None, note: str = "") -> str:
    """The numbers that the script shows, as a JSON element."""
    data: dict[str, Any] = {
        "tasks": info.tasks,
        "task_word": info.task_word,
        "in_lines": info.in_lines,
        "strings": strings(info.words, "page.strings.json"),
        "possible": {row.number: row.members for row in info.rows if row.members is not None},
        "note": note or no_numbers(info.words),
    }
    if reach is not None:
        data |= {
            "chance": _rounded(reach.chance),
            "cost": _rounded(reach.cost),
            "rounds": _rounded(reach.rounds),
            "paths": reach.paths,
            "note": reach_note(reach, info.words),
        }
    # "</" would end the element; the other two would open one in old parsers.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="plan-data">{text}</script>'


def no_numbers(words: Vocabulary) -> str:
    """Why a ladder has no numbers."""
    return words.say("Chances and costs are shown when the collection is given with the plan.")


def strings(words: Vocabulary, name: str) -> dict[str, str]:
    """The texts of a script by their keys, in the language of the words; their places are filled by the script."""
    texts: dict[str, str] = json.loads(asset(name))
    return {key: words.language.translated(text) for key, text in texts.items()}


def reach_note(reach: ReachInfo, words: Vocabulary) -> str:
    """What the numbers of a box mean."""
    computed = words.say("Computed, not simulated.")
    if reach.note:
        computed = words.say("Computed, not simulated, {how}.", how=words.language.translated(reach.note))
    if reach.note.endswith("over the horizon"):
        twice = words.say(
            "A case that starts again may be counted twice: at most this chance. Cost: about what was lost until a "
            "case first gets here."
        )
        return f"{computed} {twice}"
    cost = words.say(
        "Cost: expected reward lost so far compared with the best from the start, of the cases that get here."
    )
    return f"{computed} {cost}"


def ladder_section(info: LadderInfo, reach: ReachInfo | None = None, note: str = "", mark: Mark = NOBODY) -> str:
    """The ladder with its tools and its details. mark: a case that is on it."""
    require_drawable(info)
    words = info.words
    why = f"<p class='soft'>{escape(note or no_numbers(words))}</p>" if reach is None else ""
    choose = words.say("Choose a box or an end to see how each {task}\ngets there.")
    if info.in_lines:
        choose = words.say("Choose a line or an end to see how each {task}\ngets there.")
    details = escape(words.say("Details"))
    return f"""{_picker(info) if reach is not None else ""}
<div class="board">
<div class="flow" id="flow">
{ladder_list(info, mark)}
</div>
<aside id="details" aria-label="{details}" aria-live="polite" tabindex="0">
<button type="button" id="hide" aria-label="{escape(words.say("Hide the details"))}">×</button>
<div id="facts"><h2>{details}</h2><p>{escape(choose)}</p>{why}</div>
</aside>
</div>
{_predictions(info)}"""


def ladder_list(info: LadderInfo, mark: Mark = NOBODY) -> str:
    """The rows, the jumps beside them, the rule and how to read it."""
    beside = jumps(info.rows)
    lanes = 1 + max((jump.lane for jump in beside), default=-1)
    rows = "".join(_row(info, row, mark) for row in info.rows)
    brackets = "".join(
        _bracket(jump, source, (which, len(info.rows[source].ways)))
        for jump in beside
        for source, which in jump.sources
    )
    rule = f'<p class="rule">{written(info.rule)}</p>\n' if info.rule else ""
    notes = "".join(f'<p class="soft note">{written(note)}</p>\n' for note in info.notes)
    long = " long" if len(info.rows) > LONG else ""
    words = info.words
    label = escape(words.say("The plan, line by line") if info.in_lines else words.say("The plan, box by box"))
    return (
        f'<div class="ladder{long}" data-lanes="{lanes}">\n<ol aria-label="{label}">'
        f"\n{rows}</ol>\n{brackets}</div>\n{rule}{notes}"
    )


def _picker(info: LadderInfo) -> str:
    options = "".join(f'<option value="{i}">{escape(name)}</option>' for i, name in enumerate(info.tasks))
    label, none = escape(info.words.say("Most likely path of the {task}")), escape(info.words.say("none"))
    return (
        f'<div class="tools"><label for="pick-task">{label}</label><select id="pick-task">'
        f'<option value="">{none}</option>{options}</select> <span id="path" role="status"></span></div>'
    )


def _row(info: LadderInfo, row: Row, mark: Mark) -> str:
    marks = _marks(row, mark)
    here = ' aria-current="step"' if "here" in marks else ""
    possible = f'<p class="possible">{written(row.possible)}</p>' if row.possible else ""
    ways = "".join(_way(info, row, way, mark) for way in row.ways)
    listed = f'<ul class="ways">{ways}</ul>' if ways else ""
    bar = score_bar(mark, info.words) if "here" in marks else ""
    kind = "" if row.ways else " end"
    return (
        f'<li class="{" ".join(["rung", *marks])}{kind}">{possible}'
        f'<div class="line"><button type="button" class="box" id="row-{row.number}" data-box="{row.number}"{here}>'
        f"<b>{row.number}</b><span>{written(row.action)}</span></button>{listed}{bar}"
        f'<span class="chance" data-box="{row.number}"></span></div></li>\n'
    )


def _marks(row: Row, mark: Mark) -> list[str]:
    """The classes that show the way of a case."""
    marks = ["taken"] if row.number in mark.path else []
    return [*marks, "here"] if mark.path and mark.path[-1] == row.number else marks


def _way(info: LadderInfo, row: Row, way: Way, mark: Mark) -> str:
    came = (row.number, way.box) in set(pairwise(mark.path))
    at_end = came and way.leads is Leads.END and mark.path[-1] == way.box
    classes = " ".join(["way", way.leads, *(["came"] if came else []), *(["here"] if at_end else [])])
    here = ' aria-current="step"' if at_end else ""
    if way.leads is Leads.END:
        then = f'<button type="button" class="box then" data-box="{way.box}"{here}>{written(way.then)}</button>'
    elif way.leads is Leads.NEXT:
        next_one = info.words.say("next line") if info.in_lines else info.words.say("next box")
        then = f'<span class="down" aria-hidden="true">↓</span><span class="unseen">{escape(next_one)}</span>'
    else:
        then = f'<a class="then link" href="#row-{way.box}">{written(way.then)}</a>'
    bar = score_bar(mark, info.words) if at_end else ""
    return f'<li class="{classes}" data-box="{way.box}"><span class="when">{escape(way.when)}</span> {then}{bar}</li>'


def score_bar(mark: Mark, words: Vocabulary = PLAIN) -> str:
    """The score of a case between the scores at which its box is left; the bar is open where there is no upper one."""
    if mark.score is None:
        return ""
    top = mark.high if mark.high is not None else max(-mark.low, 2 * mark.score, 1)
    share = min(max(100 * (mark.score - mark.low) / (top - mark.low), 0.0), 100.0)
    zero = 100 * (0 - mark.low) / (top - mark.low)
    upper = f"{mark.high:+d}" if mark.high is not None else words.say("no end")
    values = {"score": signed(mark.score), "low": f"{mark.low:+d}", "high": upper}
    label = escape(words.say("Score {score}, between {low} and {high}", **values))
    kind = "bar" if mark.high is not None else "bar open"
    return (
        f'<span class="{kind}" role="img" aria-label="{label}"><span>{mark.low:+d}</span>'
        f'<svg aria-hidden="true"><rect class="track" x="1" y="7" width="100%" height="10"/>'
        f'<line x1="{zero:.1f}%" x2="{zero:.1f}%" y1="3" y2="21"/><circle cx="{share:.1f}%" cy="12" r="8"/></svg>'
        f"<span>{upper}</span><b><i>{escape(words.say('score'))}</i> {signed(mark.score)}</b></span>"
    )


def _bracket(jump: Jump, source: int, exit: tuple[int, int]) -> str:
    """A jump at the side, from beside its exit to the top of its target; the script puts it there.

    exit: (which of the exits of its row, of how many)."""
    kind = "jump back" if jump.back else "jump"
    wide, narrow = (
        _rows(EIGHTHS * source + 1 + down[exit], EIGHTHS * jump.target + 1 + into)
        for into, down in ((WIDE_IN, WIDE_OUT), (NARROW_IN, NARROW_OUT))
    )
    where = f'data-wide="{wide}" data-narrow="{narrow}" data-columns="2 / {jump.lane + 3}"'
    return f'<div class="{kind}" aria-hidden="true" {where}></div>\n'


def _rows(out: int, into: int) -> str:
    """From one line of the grid to the other, the upper one first."""
    return f"{min(out, into)} / {max(out, into)}"


def _predictions(info: LadderInfo) -> str:
    """How the arm of a contextual plan is found: a part of the plan, as a list that opens, on paper by itself."""
    if not info.predictions:
        return ""
    title, *lines = info.predictions
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<details class="part"><summary>{escape(title)}</summary><ul>{items}</ul></details>'


def _rounded(values: Any) -> Iterable[list[float | None]]:
    """Numbers with six digits, and None where there is none: the file stays small."""
    return [[None if math.isnan(value) else float(f"{value:.6g}") for value in row] for row in values.tolist()]


def asset(name: str) -> str:
    """A file that pages carry inside."""
    return files("banditree.figures").joinpath(f"data/{name}").read_text(encoding="utf-8")
