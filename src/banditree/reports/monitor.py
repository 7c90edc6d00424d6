"""What `banditree monitor`, the page of a plan in the field and the weekly digest say."""

import math
from dataclasses import asdict
from typing import Any

from banditree.cases.values import date_of
from banditree.monitoring.monitor import Monitoring, Part
from banditree.monitoring.moves import Move
from banditree.monitoring.summary import Between, Cell, Month, Summary
from banditree.monitoring.years import Alarm
from banditree.nouns import counted
from banditree.plans.gives import Give
from banditree.plans.plan import Form, Plan
from banditree.plans.wording import place_name
from banditree.plans.words import capital
from banditree.reports.certify import table_lines
from banditree.reports.promise import lost_word

WEEK = 7.0  # A digest calls the alarms of this many days new.


def alarm_sentence(plan: Plan, found: Monitoring, alarm: Alarm) -> str:
    """What was noticed: the option, where, since when, and by how much."""
    words = plan.vocabulary
    whose = "" if alarm.group is None else f"{capital(str(found.by))} {alarm.group or '(none)'}: "
    if alarm.test is None:
        return (
            f"{whose}more cases than promised fit no {words.task}: {_percent(alarm.observed)} of {alarm.n:,}, where at "
            f"most {_percent(alarm.expected)} were expected."
        )
    what = f"{words.arm} {plan.arms[alarm.test.arm]}"
    where = "" if alarm.test.box is None else f" ({box_name(plan, alarm.test.box)})"
    less = alarm.test.direction < 0
    since = date_of(alarm.since)
    means = f"{_value(plan, alarm.observed)} in {counted(alarm.n, 'outcome')}, where {_value(plan, alarm.expected)}"
    text = f"{what}{where} {_gives(plan, less)} than the plan assumes since {since:%B %Y}: {means} was expected."
    return whose + (text if whose else capital(text))


def _gives(plan: Plan, less: bool) -> str:
    if plan.rewards.counts:
        return f"gives {plan.vocabulary.success} {'less' if less else 'more'} often"
    return f"gives {'less' if less else 'more'} {plan.vocabulary.reward}"


def box_name(plan: Plan, box: int) -> str:
    """Where a box is, as a person calls it: "line 2", "settled on B"."""
    gives = plan.rows[box].gives
    if plan.form is Form.LINES and not plan.rows[box].counts.exits and isinstance(gives, Give):
        return f"settled on {gives.arm}"
    return place_name(plan, box)


def verdict(plan: Plan, found: Monitoring) -> str:
    """One sentence: nothing noticed, or how much."""
    n = len(found.alarms)
    if n:
        return f"{counted(n, 'alarm')}. The newest: {alarm_sentence(plan, found, found.alarms[0])}"
    if astray := sorted({name for part in found.parts for name in _astray(plan, part.summary)}):
        what = f"{', '.join(astray[:-1])} and {astray[-1]}" if len(astray) > 1 else astray[0]
        return (
            f"No alarm, but by the intervals below what was seen of {what} is not what was promised. An alarm needs "
            "more evidence, since it allows for all of them together."
        )
    if moved := [line for part in found.parts for line in move_lines(plan, part.summary)]:
        return f"No alarm, but the cases changed. {moved[-1]}"
    return "No alarm: nothing that was seen contradicts what the plan assumes."


def move_lines(plan: Plan, summary: Summary) -> list[str]:
    """For each month whose cases differ from those before: what moved."""
    return [
        f"Cases that began from {date_of(month.begin):%d %B %Y} on differ from those before: "
        f"{'; '.join(_move(plan, move) for move in month.moved)}."
        for month in summary.months
        if month.moved
    ]


def _move(plan: Plan, move: Move) -> str:
    words = plan.vocabulary
    names = {"reward": f"{words.reward} per round", "share": f"the share of {words.task} {move.name}"}
    what = names.get(move.what, f"what {words.arm} {move.name} gives")
    how = "fell" if move.now < move.before else "rose"
    return f"{what} {how} from {move.before:.3f} to {move.now:.3f} ({move.low:+.3f} to {move.high:+.3f})"


def moves_sentence(summary: Summary) -> str:
    """Whether anything moved in the newest month."""
    if len(summary.months) < 2 or summary.months[-1].moved:
        return ""
    return "In the newest month neither rewards nor shares nor what options give is shown to have moved."


def _astray(plan: Plan, summary: Summary) -> list[str]:
    """What has an interval that excludes what was promised."""
    loss, promised = summary.loss, summary.promised
    cells = [cell for cell in (*summary.options, *summary.boxes) if cell.n]
    names = [plan.arms[cell.arm] for cell in cells if cell.difference.low > 0 or cell.difference.high < 0]
    return [*names, *(["the loss"] if promised is not None and not loss.low <= promised <= loss.high else [])]


def loss_sentence(plan: Plan, summary: Summary) -> str:
    """The loss promised and the loss seen, per case."""
    lost = lost_word(plan, summary.unit)
    seen = f"{summary.loss.value:.2f} {lost} per case so far ({_interval(summary.loss)})"
    if summary.promised is None:
        return f"Loss seen, compared with the best {plan.vocabulary.arm} of each {plan.vocabulary.task}: {seen}."
    return f"Loss: {summary.promised:.2f} promised for cases of these lengths, seen {seen}."


def monitor_text(plan: Plan, found: Monitoring) -> str:
    """Everything for people at the terminal."""
    lines = [verdict(plan, found), ""]
    lines += [f"* {date_of(alarm.noticed)}: {alarm_sentence(plan, found, alarm)}" for alarm in found.alarms]
    lines += [""] if found.alarms else []
    lines += [*harm_lines(plan, found), ""] if found.harm is not None else []
    for part in found.parts:
        lines += [*_part_lines(plan, found, part), ""]
    return "\n".join([*lines, level_sentence(found)])


def harm_lines(plan: Plan, found: Monitoring) -> list[str]:
    """The alarms about harm, or that there is none."""
    harm = plan.vocabulary.harmful
    if not found.harm:
        return [f"{capital(harm)}: no alarm; nothing that was seen says that there is more than was promised."]
    return [
        f"* {date_of(alarm.noticed)}: {capital(harm)} under {plan.arms[alarm.test.arm]} is more frequent than promised "
        f"since {date_of(alarm.since):%B %Y}: {_percent(alarm.observed)} of {counted(alarm.n, 'round')}, where "
        f"{_percent(alarm.expected)} was expected."
        for alarm in found.harm
        if alarm.test is not None
    ]


def level_sentence(found: Monitoring) -> str:
    """What the alarms promise."""
    return (
        f"Looked at every {found.every:g} days until {date_of(found.until)}; all tests together raise a false alarm in "
        f"at most {_percent(found.level)} of a plan's years, however often you look."
    )


def _part_lines(plan: Plan, found: Monitoring, part: Part) -> list[str]:
    summary = part.summary
    title = "" if part.group is None else f"{capital(str(found.by))} {part.group or '(none)'}: "
    return [
        f"{title}{counts_sentence(plan, summary)}",
        loss_sentence(plan, summary),
        settled_sentence(summary),
        *filter(None, [*move_lines(plan, summary), moves_sentence(summary)]),
        "",
        *table_lines(*cell_table(plan, summary)),
        "",
        *table_lines(*kind_table(plan, summary)),
    ]


def counts_sentence(plan: Plan, summary: Summary) -> str:
    """How many cases, outcomes, missing outcomes, overrides and cases that fit no kind."""
    unfit = f"{counted(summary.unfit, 'case')} {'fits' if summary.unfit == 1 else 'fit'} no {plan.vocabulary.task}"
    return (
        f"{counted(summary.cases, 'case')}, {counted(summary.rounds, 'outcome')}, {summary.missing:,} missing, "
        f"{counted(summary.overridden, 'override')}, {counted(summary.off_plan, 'outcome')} off the plan; {unfit}."
    )


def settled_sentence(summary: Summary) -> str:
    """How many cases have settled, and how soon."""
    expected = "" if summary.settled_expected is None else f" ({_percent(summary.settled_expected)} expected)"
    soon = "" if summary.rounds_to_settle is None else f", half of them within {summary.rounds_to_settle:g} rounds"
    return f"{_percent(summary.settled)} of the cases have settled{expected}{soon}."


def cell_table(plan: Plan, summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Outcomes by option, and by box where an option has several."""
    head = [plan.vocabulary.arm, "where", "outcomes", "seen", "expected", "difference", "interval"]
    rows = []
    for option in summary.options:
        own = [cell for cell in summary.boxes if cell.arm == option.arm and cell.n]
        rows.append(_cell_row(plan, option, "everywhere"))
        if len(own) > 1:
            rows += [_cell_row(plan, cell, box_name(plan, int(cell.box or 0))) for cell in own]
    return head, [row for row in rows if row]


def _cell_row(plan: Plan, cell: Cell, where: str) -> list[str]:
    if not cell.n:
        return []
    seen, expected = _value(plan, cell.observed), _value(plan, cell.expected)
    name = plan.arms[cell.arm] if cell.box is None else ""
    return [name, where, f"{cell.n:,}", seen, expected, f"{cell.difference.value:+.3f}", _interval(cell.difference)]


def kind_table(plan: Plan, summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Shares of the kinds, seen and assumed, and of the options now in force, seen and expected."""
    head = ["share of the cases", "seen", "expected"]
    assumed = summary.assumed or (None,) * len(summary.shares)
    ends = summary.ends_expected or (None,) * len(summary.ends)
    rows = [
        [f"{plan.vocabulary.task} {name}", _percent(seen), _percent(due)]
        for name, seen, due in zip(plan.tasks, summary.shares, assumed, strict=True)
    ]
    rows += [
        [f"now on {name}", _percent(seen), _percent(due)]
        for name, seen, due in zip(plan.arms, summary.ends, ends, strict=True)
        if seen or (due or 0) > 5e-4
    ]
    return head, rows


def monitor_page(plan: Plan, found: Monitoring) -> list[dict[str, Any]]:
    """The parts of the page of a plan in the field: a title, sentences and tables each."""
    return [
        {
            "title": "All cases" if part.group is None else f"{capital(str(found.by))} {part.group or '(none)'}",
            "level": level_sentence(found),
            "sentences": [
                counts_sentence(plan, part.summary),
                loss_sentence(plan, part.summary),
                settled_sentence(part.summary),
                *filter(None, [*move_lines(plan, part.summary), moves_sentence(part.summary)]),
            ],
            "tables": [
                {"head": head, "rows": rows}
                for head, rows in (cell_table(plan, part.summary), kind_table(plan, part.summary))
            ],
        }
        for part in found.parts
    ]


def monitor_markdown(plan: Plan, found: Monitoring, title: str = "Weekly digest") -> str:
    """The digest: what is new this week first, then where the plan stands."""
    new = [alarm for alarm in found.alarms if alarm.noticed > found.until - WEEK]
    lines = [f"# {title}, {date_of(found.until)}", "", "## New this week", ""]
    lines += [f"- **{alarm_sentence(plan, found, alarm)}**" for alarm in new] or ["No new alarm."]
    lines += ["", *harm_lines(plan, found)] if found.harm is not None else []
    for part in found.parts:
        head = "All cases" if part.group is None else f"{capital(str(found.by))} {part.group or '(none)'}"
        summary = part.summary
        lines += ["", f"## {head}", "", counts_sentence(plan, summary), "", loss_sentence(plan, summary), ""]
        lines += [settled_sentence(summary), "", *_markdown_table(*cell_table(plan, summary)), ""]
        lines += _markdown_table(*kind_table(plan, summary))
    earlier = [alarm for alarm in found.alarms if alarm not in new]
    if earlier:
        lines += ["", "## Earlier alarms", ""]
        lines += [f"- {date_of(alarm.noticed)}: {alarm_sentence(plan, found, alarm)}" for alarm in earlier]
    return "\n".join([*lines, "", level_sentence(found), ""])


def _markdown_table(head: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(head), line(["---"] * len(head)), *map(line, rows)]


def monitor_document(plan: Plan, found: Monitoring) -> dict[str, Any]:
    """The same as JSON, unrounded; what is not known is null."""
    return {
        "until": date_of(found.until).isoformat(),
        "every_days": found.every,
        "level": found.level,
        "by": found.by,
        "verdict": verdict(plan, found),
        "alarms": [alarm_document(plan, found, alarm) for alarm in found.alarms],
        "parts": [_part_document(plan, part) for part in found.parts],
        "harm": None if found.harm is None else [_harm_document(plan, alarm) for alarm in found.harm],
    }


def _harm_document(plan: Plan, alarm: Alarm) -> dict[str, Any]:
    assert alarm.test is not None
    return {
        "arm": plan.arms[alarm.test.arm],
        "since": date_of(alarm.since).isoformat(),
        "noticed": date_of(alarm.noticed).isoformat(),
        "observed": alarm.observed,
        "expected": alarm.expected,
        "rounds": alarm.n,
        "evidence": alarm.evidence,
        "needed": 1 / alarm.level,
    }


def alarm_document(plan: Plan, found: Monitoring, alarm: Alarm) -> dict[str, Any]:
    """One alarm as JSON."""
    test = alarm.test
    return {
        "sentence": alarm_sentence(plan, found, alarm),
        "group": alarm.group,
        "arm": None if test is None else plan.arms[test.arm],
        "where": None if test is None or test.box is None else box_name(plan, test.box),
        "direction": None if test is None else ("less" if test.direction < 0 else "more"),
        "since": date_of(alarm.since).isoformat(),
        "noticed": date_of(alarm.noticed).isoformat(),
        "observed": _plain(alarm.observed),
        "expected": _plain(alarm.expected),
        "outcomes": alarm.n,
        "evidence": alarm.evidence,
        "needed": 1 / alarm.level,
    }


def _part_document(plan: Plan, part: Part) -> dict[str, Any]:
    summary = part.summary
    fields = {
        name: _plain(value) for name, value in asdict(summary).items() if name not in ("options", "boxes", "months")
    }
    return {
        "group": part.group,
        **fields,
        "options": [_cell_document(plan, cell) for cell in summary.options],
        "boxes": [_cell_document(plan, cell) for cell in summary.boxes],
        "months": [_month_document(plan, month) for month in summary.months],
        "tests": [
            {
                "days": [date_of(day).isoformat() for day in course.days.tolist()],
                "evidence": [
                    {
                        "arm": plan.arms[test.arm],
                        "where": None if test.box is None else box_name(plan, test.box),
                        "direction": "less" if test.direction < 0 else "more",
                        "needed": 1 / float(course.levels[number]),
                        "log": course.log_evidence[:, number].tolist(),
                    }
                    for number, test in enumerate(course.tests)
                ],
                "no_kind": {"needed": 1 / float(course.levels[-1]), "log": course.log_evidence[:, -1].tolist()},
            }
            for course in part.courses
        ],
    }


def _cell_document(plan: Plan, cell: Cell) -> dict[str, Any]:
    where = None if cell.box is None else box_name(plan, cell.box)
    return {**_plain(asdict(cell)), "arm": plan.arms[cell.arm], "where": where}


def _month_document(plan: Plan, month: Month) -> dict[str, Any]:
    named = {
        name: dict(zip(plan.arms, _plain(list(getattr(month, name))), strict=True)) for name in ("observed", "expected")
    }
    return {**_plain(asdict(month)), "begin": date_of(month.begin).isoformat(), **named}


def _plain(value: Any) -> Any:
    """Numbers as JSON holds them: what is not known, or not bounded, is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _value(plan: Plan, value: float) -> str:
    return _percent(value) if plan.rewards.counts else f"{value:.3g}"


def _percent(share: float | None) -> str:
    return "" if share is None or math.isnan(share) else f"{100 * share:.3g}%"


def _interval(between: Between) -> str:
    if not math.isfinite(between.low):
        return "not known yet"
    return f"{between.low:.2f} to {between.high:.2f}"
