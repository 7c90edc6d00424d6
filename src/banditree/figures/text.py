"""The flowchart as text for a terminal: a tree of boxes, in colour where that is wanted."""

from banditree.figures.flowchart import BoxInfo, Branch, FlowchartInfo

RESET = "\x1b[0m"
COLOURS = {"number": "\x1b[1m", "state": "\x1b[2m", "action": "\x1b[36m", "question": "\x1b[33m", "end": "\x1b[1;32m"}


def flowchart_text(info: FlowchartInfo, colour: bool = False) -> str:
    """A heading and the tree; "yes" comes first, and a link says at which box to go on.

    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> from banditree.figures.flowchart import flowchart_info
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    >>> print(flowchart_text(flowchart_info(build_tree(two, horizon=4000))).split("rounds of testing.")[1].strip())
    [1] Give A 113 times. At most 56 successes?  (Any of 2 tasks)
     ├─ yes: [2] Task severe. Give B from now on.
     └─ no:  [3] Task mild. Give A from now on.
    """
    lines = [info.title, "", *_lines(info, info.box(1), "", "", colour)]
    if info.predictions:
        lines += ["", *info.predictions]
    return "\n".join(lines)


def _lines(info: FlowchartInfo, root: BoxInfo, first: str, rest: str, colour: bool) -> list[str]:
    """Depth first without recursion, since a plan may be as deep as there are tasks."""
    lines: list[str] = []
    todo: list[tuple[BoxInfo | Branch, str, str]] = [(root, first, rest)]
    while todo:
        item, first, rest = todo.pop()
        if isinstance(item, Branch):
            lines.append(f"{first}go on at box {_paint(str(item.target), 'number', colour)}")
            continue
        lines.append(first + _sentence(item, colour))
        for branch in reversed(item.branches):
            last = branch is item.branches[-1]
            head, onward = (" └─ ", "    ") if last else (" ├─ ", " │  ")
            label = f"{branch.answer}:".ljust(5)
            below = info.box(branch.target) if branch.hangs else branch
            todo.append((below, rest + head + label, rest + onward))
    return lines


def _sentence(box: BoxInfo, colour: bool) -> str:
    number = _paint(f"[{box.number}]", "number", colour)
    if box.is_leaf:
        state = f"{box.state}. " if box.state else ""
        return f"{number} {state}{_paint(box.action, 'end', colour)}."
    state = f"  {_paint(f'({box.state})', 'state', colour)}" if box.state else ""
    action = _paint(box.action.rstrip("."), "action", colour)
    return f"{number} {action}. {_paint(box.question, 'question', colour)}{state}"


def _paint(text: str, what: str, colour: bool) -> str:
    return f"{COLOURS[what]}{text}{RESET}" if colour else text
