"""One HTML file that works from a USB stick: the flowchart as a nested list that is laid out as a chart.

The list is the text alternative and the drawing at once: style sheets lay it out, the browser keeps boxes apart, and a
screen reader reads it box by box. Nothing is fetched from anywhere.
"""

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import Any

from banditree.figures.flowchart import BoxInfo, Branch, FlowchartInfo, require_drawable
from banditree.figures.reach import ReachInfo

NARROW = 10  # times yes in a row from which boxes are set in by less, so that they still fit a phone
NARROWEST = 6  # the last of the classes deep-2, deep-3, ... of the style sheet
NO_NUMBERS = "Chances and costs are shown when the collection is given with the plan."


def flowchart_html(info: FlowchartInfo, reach: ReachInfo | None = None, note: str = "") -> str:
    """A whole page with the flowchart; `reach` gives the numbers of each box, `note` says why there are none."""
    require_drawable(info)
    title = info.title.split(" over ")[0]
    body = f"<h1>{escape(title)}</h1>\n<p>{escape(info.title)}</p>\n{flowchart_section(info, reach, note)}"
    return page(title, f"<main>\n{body}\n</main>", flowchart_data(info, reach, note))


def page(title: str, body: str, script: str = "") -> str:
    """An HTML document with the style sheet and the script inside; `script` is the data of the flowchart, if any."""
    code = f"{script}\n<script>\n{_asset('page.js')}</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_asset('page.css')}</style>\n</head>\n"
        f"<body>\n{body}\n{code}\n</body>\n</html>\n"
    )


def flowchart_data(info: FlowchartInfo, reach: ReachInfo | None, note: str = "") -> str:
    """The numbers that the script shows, as a JSON element."""
    data: dict[str, Any] = {
        "tasks": info.tasks,
        "task_word": info.task_word,
        "possible": [box.possible for box in info.boxes],
        "note": note or NO_NUMBERS,
    }
    if reach is not None:
        data |= {
            "chance": _rounded(reach.chance),
            "cost": _rounded(reach.cost),
            "rounds": _rounded(reach.rounds),
            "paths": reach.paths,
            "note": reach_note(reach),
        }
    # "</" would end the element; the other two would open one in old parsers.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="plan-data">{text}</script>'


def reach_note(reach: ReachInfo) -> str:
    """What the numbers of a box mean."""
    given = f", {reach.note}" if reach.note else ""
    return (
        "Computed, not simulated"
        + given
        + ". Cost: expected reward lost so far compared with the best from the start, "
        "of the cases that get here."
    )


def flowchart_section(
    info: FlowchartInfo, reach: ReachInfo | None = None, note: str = "", path: Sequence[int] = ()
) -> str:
    """The flowchart with its tools, its details and its legend.

    path: the boxes that a case went through, up to the one it stands in; 0 at the end if it left the plan.
    """
    picker = ""
    if reach is not None:
        options = "".join(f'<option value="{i}">{escape(name)}</option>' for i, name in enumerate(info.tasks))
        label = escape(f"Most likely path of the {info.task_word}")
        picker = f'<label for="pick-task">{label}</label><select id="pick-task"><option value="">none</option>'
        picker += f"{options}</select>"
    why = f"<p class='soft'>{escape(note or NO_NUMBERS)}</p>" if reach is None else ""
    return f"""<div class="tools">{picker}
<button type="button" id="fold-all">Collapse all</button> <button type="button" id="unfold-all">Expand all</button>
<span id="path" role="status"></span></div>
<div class="board">
<div class="flow{_indent(info)}">
<ul aria-label="Flowchart: boxes and their branches">
{"".join(_nodes(info, path))}
</ul>
{_legend(info)}
</div>
<aside id="details" aria-label="Details of a box" aria-live="polite" tabindex="0">
<button type="button" id="hide" aria-label="Hide the details">×</button>
<div id="facts"><h3>Details</h3><p>Choose a box (point, tap or arrow keys) to see what is still possible there and
how each {escape(info.task_word)} gets there.</p>{why}</div>
</aside>
</div>
{_predictions(info)}"""


def _predictions(info: FlowchartInfo) -> str:
    """How the arm of a contextual plan is found, as a list that opens."""
    if not info.predictions:
        return ""
    title, *lines = info.predictions
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<details><summary>{escape(title)}</summary><ul>{items}</ul></details>"


def _nodes(info: FlowchartInfo, path: Sequence[int]) -> Iterable[str]:
    """The nested list, without recursion; a leaf that is drawn twice has its own name the second time."""
    names: dict[int, int] = {}
    taken = set(pairwise(path))
    todo: list[str | tuple[int, str, int]] = [(1, "", 0)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
            continue
        number, answer, parent = item
        box = info.box(number)
        names[number] = names.get(number, 0) + 1
        name = f"box-{number}" if names[number] == 1 else f"box-{number}-{names[number]}"
        yield _opening(box, answer, name, _marks(box, parent, path, taken))
        todo.append("</div></div></li>\n")
        if box.is_leaf:
            continue
        yield '<ul class="branches">\n'
        todo.append("</ul>\n")
        for branch in reversed(box.branches):
            followed = (number, branch.target) in taken
            todo.append((branch.target, branch.answer, number) if branch.hangs else _link(branch, followed))


def _marks(box: BoxInfo, parent: int, path: Sequence[int], taken: set[tuple[int, int]]) -> list[str]:
    """The classes that show the way of a case: a leaf is drawn in several places, and lit where the case came by."""
    came_by = box.number in path and (not box.is_leaf or parent == 0 or (parent, box.number) in taken)
    marks = ["taken"] if came_by else []
    marks += ["came"] if (parent, box.number) in taken else []
    marks += [f"{branch.answer}-taken" for branch in box.branches if (box.number, branch.target) in taken]
    return [*marks, "here"] if came_by and box.number == path[-1] else marks


def _opening(box: BoxInfo, answer: str, name: str, marks: list[str]) -> str:
    classes = " ".join(filter(None, ["node", answer, "end" if box.is_leaf else "open", *marks]))
    here = ' aria-current="step"' if "here" in marks else ""
    state = f'<span class="state">{escape(box.state)}</span>' if box.state else ""
    question = f'<span class="question"><span>{escape(box.question)}</span></span>' if box.question else ""
    fold = ""
    if not box.is_leaf:
        label = f"Branches of box {box.number}"
        fold = f'<button type="button" class="fold" aria-expanded="true" aria-label="{label}" hidden>−</button>'
        fold += '<span class="answer says-yes" aria-hidden="true" hidden>yes</span>'
    return (
        f'<li class="{classes}" data-target="{box.number}">{_answer(answer)}'
        f'<div class="room"><div class="grid"><div class="cell"><div class="wrap">'
        f'<button type="button" class="box" id="{name}" data-box="{box.number}"{here}>{state}'
        f'<span class="action"><b>{box.number}</b><span>{escape(box.action)}</span></span>{question}</button>{fold}'
        f'<span class="chance" data-box="{box.number}"></span></div></div>\n'
    )


def _indent(info: FlowchartInfo) -> str:
    """The class of a smaller indent for plans with many yes in a row."""
    column = {1: 0}
    todo = [1]
    while todo:
        number = todo.pop()
        for branch in info.box(number).branches:
            if branch.hangs:
                column[branch.target] = column[number] + (branch.answer == "yes")
                todo.append(branch.target)
    most = max(column.values())
    return f" deep-{min(math.ceil(most / NARROW), NARROWEST)}" if most > NARROW else ""


def _answer(answer: str) -> str:
    if not answer:
        return ""
    rail = '<span class="rail"></span>' if answer == "yes" else ""
    return f'{rail}<span class="arrow"></span><span class="answer">{answer}</span>'


def _link(branch: Branch, followed: bool) -> str:
    number = branch.target
    return (
        f'<li class="{branch.answer} to{" came" if followed else ""}" data-target="{number}">{_answer(branch.answer)}'
        f'<a class="link" href="#box-{number}">go on at box {number}</a></li>\n'
    )


def _legend(info: FlowchartInfo) -> str:
    symbols = {"state": "state", "action": "action", "decision": "question", "link": "link"}
    items = [f'<li><i class="{symbols[kind]}"></i>{escape(meaning)}</li>' for kind, meaning in info.legend]
    return f'<ul class="legend" aria-label="Legend">{"".join(items)}</ul>'


def _rounded(values: Any) -> list[list[float | None]]:
    """Numbers with six digits, and None where there is none: the file stays small."""
    return [[None if math.isnan(value) else float(f"{value:.6g}") for value in row] for row in values.tolist()]


def _asset(name: str) -> str:
    return files("banditree.figures").joinpath(f"data/{name}").read_text(encoding="utf-8")
