"""A plan as decision tables of DMN 1.3 in FEEL, for rule engines; docs/travel.md says how they are called."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from banditree.files.engines import HORIZON_REACHED, PERSON_NEEDED, Bin, Limit, Move, Place, pages_of, places, plain
from banditree.files.plans import fingerprint
from banditree.plans.plan import Plan
from banditree.plans.wording import heading

MODEL = "https://www.omg.org/spec/DMN/20191111/MODEL/"
ANY = "-"


@dataclass
class Table:
    """A decision: what it looks at and what it says, each with its type, and rules; the first that fits holds."""

    name: str
    about: str
    inputs: Sequence[tuple[str, str]]
    outputs: Sequence[tuple[str, str]]
    data: Sequence[str]
    decisions: Sequence[str] = ()
    rules: list[tuple[str, list[str], list[str]]] = field(default_factory=list)

    def rule(self, about: str, tests: Iterable[str], says: Iterable[str]) -> None:
        """Add a rule: a test of each input, and an expression for each output."""
        self.rules.append((about, list(tests), list(says)))


def dmn_text(plan: Plan) -> str:
    """The text of a DMN file."""
    every = places(plan, "DMN")
    without = {arm: f"without_{number}" for number, arm in enumerate(plan.arms, start=1)}
    tables = [_page_table(plan, without), _give(plan, every), _points(every), _after(plan, every, without)]
    data = {"page": "number", "row": "number", "rounds": "number", "total": "number", "round": "number"}
    data |= {"outcome": "number", **dict.fromkeys(without.values(), "boolean")}
    notes = {name: f"Whether the case must not get {arm}" for arm, name in without.items()}
    inside = [_input(name, kind, notes.get(name, "")) for name, kind in data.items()]
    inside += [_decision(table) for table in tables]
    own = fingerprint(plan)
    about = f"{heading(plan)} docs/travel.md of banditree says how the tables are used."
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<definitions xmlns="{MODEL}" id="plan_{own}" '
        f'name="plan {own}" namespace="urn:banditree:plan:{own}">\n'
        f"  <description>{_text(about)}</description>\n{''.join(inside)}</definitions>\n"
    )


def _page_table(plan: Plan, without: dict[str, str]) -> Table:
    """The page for a case that must not get some arms; 0 where there is none, and a person decides."""
    names = list(without.values())
    inputs = [(name, "boolean") for name in names]
    table = Table(
        "page_now", "The page for the case; 0: none, a person decides", inputs, [("page_now", "number")], names
    )
    for number, missing, gives in pages_of(plan):
        tests = {arm: "true" for arm in missing} | {arm: "false" for arm in gives}
        table.rule(f"page {number}", [tests.get(arm, ANY) for arm in plan.arms], [str(number)])
    table.rule("no page", [ANY] * len(names), ["0"])
    return table


def _give(plan: Plan, every: list[Place]) -> Table:
    inputs = [("round", "number"), ("page", "number"), ("row", "number")]
    outputs = [("option", "string"), ("reason", "string"), ("says", "string")]
    table = Table("give", "What to give in this round, or why nothing", inputs, outputs, ["round", "page", "row"])
    table.rule("the case is over", [f"> {plan.horizon}", ANY, ANY], ["null", _string(HORIZON_REACHED), "null"])
    table.rule("no page", [ANY, "0", ANY], ["null", _string(PERSON_NEEDED), "null"])
    for place in every:
        what = ["null", _string(PERSON_NEEDED)] if place.arm is None else [_string(place.arm), "null"]
        table.rule(place.says, [ANY, str(place.page), str(place.row)], [*what, _string(place.says)])
    return table


def _points(every: list[Place]) -> Table:
    """What an outcome counts; places that count alike share their rules."""
    names = ["page", "row", "outcome"]
    table = Table("points", "What the outcome adds", [(n, "number") for n in names], [("points", "number")], names)
    alike: dict[tuple[int, tuple[Bin, ...]], list[int]] = {}
    for place in every:
        if place.bins:
            alike.setdefault((place.page, place.bins), []).append(place.row)
    for (number, bins), rows in alike.items():
        for one in bins:
            where = [str(number), ", ".join(map(str, rows))]
            table.rule("", [*where, _range(one)], [str(one.points)])
    table.rule("as it is", [ANY, ANY, ANY], ["outcome"])
    return table


def _after(plan: Plan, every: list[Place], without: dict[str, str]) -> Table:
    """Where the case stands after an outcome."""
    inputs = [("page", "number"), ("row", "number"), ("rounds + 1", "number"), ("total + points", "number")]
    outputs = [(f"next_{name}", "number") for name in ("page", "row", "rounds", "total")]
    data, decisions = ["page", "row", "rounds", "total"], ["points"]
    table = Table("after", "Where the case stands after an outcome", inputs, outputs, data, decisions)
    if plan.on_harm is not None:
        table.inputs = [("page_now", "number"), *inputs]
        table.decisions = ["page_now", *decisions]
        table.rule("harm: another page", ["not(page)", ANY, ANY, ANY, ANY], ["page_now", "0", "0", "0"])
    first = [ANY] if plan.on_harm is not None else []
    for place in every:
        for move in place.moves:
            limits = [_limit(move.rounds), _limit(move.total)]
            table.rule("", [*first, str(place.page), str(place.row), *limits], _leads(place, move))
    table.rule("nothing is counted", [*first, ANY, ANY, ANY, ANY], ["page", "row", "0", "0"])
    return table


def _leads(place: Place, move: Move) -> list[str]:
    if move.to is not None:
        return [str(place.page), str(move.to), "0", "0"]
    total = "total + points" if move.capped is None else str(move.capped)
    return [str(place.page), str(place.row), "rounds + 1", total]


def _limit(limit: Limit | None) -> str:
    return ANY if limit is None else f"{limit.sign} {plain(limit.value)}"


def _range(one: Bin) -> str:
    if one.above is None:
        return ANY if one.upto is None else f"<= {plain(one.upto)}"
    return f"> {plain(one.above)}" if one.upto is None else f"]{plain(one.above)}..{plain(one.upto)}]"


def _string(text: str) -> str:
    """Text in FEEL, on one line."""
    for letter, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(letter, written)
    return f'"{text}"'


def _text(text: str) -> str:
    return escape(text)


def _input(name: str, kind: str, about: str) -> str:
    note = f"<description>{_text(about)}</description>" if about else ""
    return (
        f'  <inputData id="data_{name}" name="{name}">{note}'
        f'<variable id="variable_{name}" name="{name}" typeRef="{kind}"/></inputData>\n'
    )


def _decision(table: Table) -> str:
    kind = table.outputs[0][1] if len(table.outputs) == 1 else "Any"
    lines = [
        f'  <decision id="{table.name}" name="{table.name}">',
        f"    <description>{_text(table.about)}</description>",
        f'    <variable id="variable_{table.name}" name="{table.name}" typeRef="{kind}"/>',
    ]
    required = [("requiredInput", f"data_{name}") for name in table.data]
    required += [("requiredDecision", name) for name in table.decisions]
    for number, (what, name) in enumerate(required):
        own = f"{table.name}_needs_{number}"
        lines.append(f'    <informationRequirement id="{own}"><{what} href="#{name}"/></informationRequirement>')
    lines.append(f'    <decisionTable id="{table.name}_table" hitPolicy="FIRST">')
    for number, (expression, kind) in enumerate(table.inputs):
        own = f"{table.name}_input_{number}"
        lines.append(
            f'      <input id="{own}" label={quoteattr(expression)}><inputExpression id="{own}_expression" '
            f'typeRef="{kind}"><text>{_text(expression)}</text></inputExpression></input>'
        )
    for number, (name, kind) in enumerate(table.outputs):
        lines.append(f'      <output id="{table.name}_output_{number}" name="{name}" typeRef="{kind}"/>')
    for number, (about, tests, says) in enumerate(table.rules):
        lines += _rule(f"{table.name}_rule_{number}", about, tests, says)
    return "\n".join([*lines, "    </decisionTable>", "  </decision>", ""])


def _rule(own: str, about: str, tests: list[str], says: list[str]) -> list[str]:
    parts = [f"<description>{_text(about)}</description>"] if about else []
    parts += [f'<inputEntry id="{own}_test_{n}"><text>{_text(t)}</text></inputEntry>' for n, t in enumerate(tests)]
    parts += [f'<outputEntry id="{own}_says_{n}"><text>{_text(t)}</text></outputEntry>' for n, t in enumerate(says)]
    return [f'      <rule id="{own}">{"".join(parts)}</rule>']
