"""The flowchart as Mermaid and DOT source, for documents that draw it themselves."""

import html

from banditree.figures.flowchart import BoxInfo, FlowchartInfo


def mermaid(info: FlowchartInfo) -> str:
    """Mermaid source: rounded states, rectangular actions, hexagonal questions.

    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> from banditree.figures.flowchart import flowchart_info
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> mermaid(flowchart_info(build_tree(two, horizon=4000))).count("-->")
    6
    """
    shapes = {"state": ("(", ")"), "action": ("[", "]"), "decision": ("{{", "}}")}
    lines = ["flowchart TD"]
    for box in info.boxes:
        parts = _parts(box)
        for part, (kind, text) in enumerate(parts):
            left, right = shapes[kind]
            arrow = f" --> {_name(box, part + 1)}" if part + 1 < len(parts) else ""
            lines.append(f'  {_name(box, part)}{left}"{_mermaid_text(text)}"{right}')
            if arrow:
                lines.append(f"  {_name(box, part)}{arrow}")
        lines += [
            f"  {_name(box, len(parts) - 1)} -- {branch.answer} --> {_name(info.box(branch.target), 0)}"
            for branch in box.branches
        ]
    return "\n".join(lines) + "\n"


def dot(info: FlowchartInfo) -> str:
    """DOT source for Graphviz and its kin, with the same nodes."""
    shapes = {"state": "shape=box, style=rounded", "action": "shape=box", "decision": "shape=hexagon"}
    lines = ["digraph plan {", f"  label={_quoted(info.title)};", "  node [fontname=Helvetica, fontsize=10];"]
    for box in info.boxes:
        parts = _parts(box)
        for part, (kind, text) in enumerate(parts):
            lines.append(f"  {_name(box, part)} [{shapes[kind]}, label={_quoted(text)}];")
            if part + 1 < len(parts):
                lines.append(f"  {_name(box, part)} -> {_name(box, part + 1)};")
        lines += [
            f'  {_name(box, len(parts) - 1)} -> {_name(info.box(branch.target), 0)} [label="{branch.answer}"];'
            for branch in box.branches
        ]
    return "\n".join([*lines, "}"]) + "\n"


def _parts(box: BoxInfo) -> list[tuple[str, str]]:
    """The symbols of a box from top to bottom; the first carries its number."""
    given = [("state", box.state), ("action", box.action), ("decision", box.question)]
    parts = [(kind, text) for kind, text in given if text]
    kind, text = parts[0]
    return [(kind, f"{box.number}. {text}"), *parts[1:]]


def _name(box: BoxInfo, part: int) -> str:
    return f"box{box.number}{'abc'[part]}"


def _mermaid_text(text: str) -> str:
    """Mermaid has no escapes in quoted text but entities, written with # in place of &."""
    entities = html.escape(text.replace("#", "#35;").replace("`", "'"), quote=True)
    return entities.replace("&#x27;", "'").replace("&", "#")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
