"""The ladder as Mermaid and DOT source, for documents that draw it themselves."""

import html

from banditree.figures.ladder import LadderInfo, Leads, Row, Way


def mermaid(info: LadderInfo) -> str:
    """Mermaid source: rows as rectangles, ends as rounded boxes beside them, conditions on the arrows.

    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> from banditree.figures.ladder import ladder_info
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> mermaid(ladder_info(build_tree(two, horizon=4000))).count("-->")
    2
    """
    lines = ["flowchart TD"]
    for row in info.rows:
        lines.append(f'  row{row.number}["{_mermaid_text(_label(row))}"]')
        for place, way in enumerate(row.ways):
            target = _target(row, place, way)
            if way.leads is Leads.END:
                lines.append(f'  {target}(["{_mermaid_text(way.then)}"])')
            lines.append(f'  row{row.number} -- "{_mermaid_text(way.when)}" --> {target}')
    if info.rule:
        lines.append(f'  rule["{_mermaid_text(info.rule)}"]')
    return "\n".join(lines) + "\n"


def dot(info: LadderInfo) -> str:
    """DOT source for Graphviz and its kin: an end has the rank of its row."""
    lines = ["digraph plan {", f"  label={_quoted(info.title)};", "  node [fontname=Helvetica, fontsize=10];"]
    for row in info.rows:
        lines.append(f"  row{row.number} [shape=box, label={_quoted(_label(row))}];")
        for place, way in enumerate(row.ways):
            target = _target(row, place, way)
            if way.leads is Leads.END:
                lines.append(f"  {target} [shape=box, style=rounded, label={_quoted(way.then)}];")
                lines.append(f"  {{ rank=same; row{row.number}; {target}; }}")
            lines.append(f"  row{row.number} -> {target} [label={_quoted(way.when)}];")
    if info.rule:
        lines.append(f"  rule [shape=note, label={_quoted(info.rule)}];")
    return "\n".join([*lines, "}"]) + "\n"


def _label(row: Row) -> str:
    possible = f" ({row.possible})" if row.possible else ""
    return f"{row.number}. {row.action}{possible}"


def _target(row: Row, place: int, way: Way) -> str:
    return f"end{row.number}{'ab'[place]}" if way.leads is Leads.END else f"row{way.box}"


def _mermaid_text(text: str) -> str:
    """Mermaid has no escapes in quoted text but entities, written with # in place of &."""
    entities = html.escape(text.replace("#", "#35;").replace("`", "'"), quote=True)
    return entities.replace("&#x27;", "'").replace("&", "#")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
