"""What `banditree monitor`, the page of a plan in the field and the weekly digest say."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from banditree.cases.values import date_of
from banditree.languages.dates import day_in, month_in
from banditree.languages.retelling import retold
from banditree.monitoring.monitor import Monitoring, Part
from banditree.monitoring.moves import Move
from banditree.monitoring.summary import Between, Cell, Month, Summary
from banditree.monitoring.years import Alarm
from banditree.plans.gives import Give
from banditree.plans.plan import Form, Plan
from banditree.plans.wording import place_name
from banditree.plans.words import Vocabulary, capital
from banditree.reports.certify import table_lines
from banditree.reports.promise import lost_word

WEEK = 7.0  # A digest calls the alarms of this many days new.


def alarm_sentence(plan: Plan, found: Monitoring, alarm: Alarm) -> str:
    """What was noticed: the option, where, since when, and by how much."""
    words = plan.vocabulary
    whose = "" if alarm.group is None else f"{group_name(plan, found, alarm.group)}: "
    seen, due = alarm.observed, alarm.expected
    if alarm.test is None:
        return whose + words.say(
            "more cases than promised fit no {task}: {seen} of {n}, where at most {expected} were expected.",
            seen=_percent(plan, seen),
            n=words.digits(f"{alarm.n:,}"),
            expected=_percent(plan, due),
        )
    where = "" if alarm.test.box is None else f" ({box_name(plan, alarm.test.box)})"
    values = {
        "name": f"{plan.arms[alarm.test.arm]}{where}",
        "since": month_in(words.language, date_of(alarm.since)),
        "seen": words.count(alarm.n, "{seen} in {n} outcome", "{seen} in {n} outcomes", seen=_value(plan, seen)),
        "expected": _value(plan, due),
    }
    text = _gives(words, alarm.test.direction < 0, plan.rewards.counts, values)
    return whose + (text if whose else capital(text))


def _gives(words: Vocabulary, less: bool, counts: bool, values: Mapping[str, str]) -> str:
    if counts and less:
        return words.say(
            "{arm} {name} gives {success} less often than the plan assumes since {since}: {seen}, where {expected} was "
            "expected.",
            **values,
        )
    if counts:
        return words.say(
            "{arm} {name} gives {success} more often than the plan assumes since {since}: {seen}, where {expected} was "
            "expected.",
            **values,
        )
    if less:
        return words.say(
            "{arm} {name} gives less {reward} than the plan assumes since {since}: {seen}, where {expected} was "
            "expected.",
            **values,
        )
    return words.say(
        "{arm} {name} gives more {reward} than the plan assumes since {since}: {seen}, where {expected} was expected.",
        **values,
    )


def group_name(plan: Plan, found: Monitoring, group: str) -> str:
    """The label that cases have in common, with its name."""
    words = plan.vocabulary
    return words.say(
        "{label} {name}", label=capital(retold(words.language, str(found.by))), name=group or words.say("(none)")
    )


def box_name(plan: Plan, box: int) -> str:
    """Where a box is, as a person calls it: "line 2", "settled on B"."""
    gives = plan.rows[box].gives
    if plan.form is Form.LINES and not plan.rows[box].counts.exits and isinstance(gives, Give):
        return plan.vocabulary.say("settled on {name}", name=gives.arm)
    return place_name(plan, box)


def verdict(plan: Plan, found: Monitoring) -> str:
    """One sentence: nothing noticed, or how much."""
    n, words = len(found.alarms), plan.vocabulary
    if n:
        newest = alarm_sentence(plan, found, found.alarms[0])
        return words.count(n, "{n} alarm. The newest: {said}", "{n} alarms. The newest: {said}", said=newest)
    if astray := sorted({name for part in found.parts for name in _astray(plan, part.summary)}):
        return words.say(
            "No alarm, but by the intervals below what was seen of {names} is not what was promised. An alarm needs "
            "more evidence, since it allows for all of them together.",
            names=words.listed(astray),
        )
    if moved := [line for part in found.parts for line in move_lines(plan, part.summary)]:
        return words.say("No alarm, but the cases changed. {said}", said=moved[-1])
    return words.say("No alarm: nothing that was seen contradicts what the plan assumes.")


def move_lines(plan: Plan, summary: Summary) -> list[str]:
    """For each month whose cases differ from those before: what moved."""
    return [
        plan.vocabulary.say(
            "Cases that began from {day} on differ from those before: {moves}.",
            day=day_in(plan.vocabulary.language, date_of(month.begin)),
            moves="; ".join(_move(plan, move) for move in month.moved),
        )
        for month in summary.months
        if month.moved
    ]


def _move(plan: Plan, move: Move) -> str:
    words = plan.vocabulary
    if move.what == "reward":
        what = words.say("{reward} per round")
    elif move.what == "share":
        what = words.say("the share of {task} {name}", name=move.name)
    else:
        what = words.say("what {arm} {name} gives", name=move.name)
    values = {"what": what, "before": words.digits(f"{move.before:.3f}"), "now": words.digits(f"{move.now:.3f}")}
    values |= {end: words.digits(f"{getattr(move, end):+.3f}") for end in ("low", "high")}
    if move.now < move.before:
        return words.say("{what} fell from {before} to {now} ({low} to {high})", **values)
    return words.say("{what} rose from {before} to {now} ({low} to {high})", **values)


def moves_sentence(plan: Plan, summary: Summary) -> str:
    """Whether anything moved in the newest month."""
    if len(summary.months) < 2 or summary.months[-1].moved:
        return ""
    return plan.vocabulary.say(
        "In the newest month neither rewards nor shares nor what options give is shown to have moved."
    )


def _astray(plan: Plan, summary: Summary) -> list[str]:
    """What has an interval that excludes what was promised."""
    loss, promised = summary.loss, summary.promised
    cells = [cell for cell in (*summary.options, *summary.boxes) if cell.n]
    names = [plan.arms[cell.arm] for cell in cells if cell.difference.low > 0 or cell.difference.high < 0]
    is_off = promised is not None and not loss.low <= promised <= loss.high
    return [*names, *([plan.vocabulary.say("the loss")] if is_off else [])]


def loss_sentence(plan: Plan, summary: Summary) -> str:
    """The loss promised and the loss seen, per case."""
    words = plan.vocabulary
    seen = words.say(
        "{amount} {unit} per case so far ({interval})",
        amount=words.digits(f"{summary.loss.value:.2f}"),
        unit=lost_word(plan, summary.unit),
        interval=_interval(plan, summary.loss),
    )
    if summary.promised is None:
        return words.say("Loss seen, compared with the best {arm} of each {task}: {seen}.", seen=seen)
    promised = words.digits(f"{summary.promised:.2f}")
    return words.say("Loss: {promised} promised for cases of these lengths, seen {seen}.", promised=promised, seen=seen)


def monitor_text(plan: Plan, found: Monitoring) -> str:
    """Everything for people at the terminal."""
    lines = [verdict(plan, found), ""]
    lines += [f"* {date_of(alarm.noticed)}: {alarm_sentence(plan, found, alarm)}" for alarm in found.alarms]
    lines += [""] if found.alarms else []
    lines += [*harm_lines(plan, found), ""] if found.harm is not None else []
    for part in found.parts:
        lines += [*_part_lines(plan, found, part), ""]
    return "\n".join([*lines, level_sentence(plan, found)])


def harm_lines(plan: Plan, found: Monitoring) -> list[str]:
    """The alarms about harm, or that there is none."""
    words = plan.vocabulary
    if not found.harm:
        return [
            capital(words.say("{harm}: no alarm; nothing that was seen says that there is more than was promised."))
        ]
    return [
        "* "
        + words.count(
            alarm.n,
            "{day}: {what} under {name} is more frequent than promised since {month}: {seen} of {n} round, where "
            "{expected} was expected.",
            "{day}: {what} under {name} is more frequent than promised since {month}: {seen} of {n} rounds, where "
            "{expected} was expected.",
            day=day_in(words.language, date_of(alarm.noticed)),
            what=capital(words.harmful),
            name=plan.arms[alarm.test.arm],
            month=month_in(words.language, date_of(alarm.since)),
            seen=_percent(plan, alarm.observed),
            expected=_percent(plan, alarm.expected),
        )
        for alarm in found.harm
        if alarm.test is not None
    ]


def level_sentence(plan: Plan, found: Monitoring) -> str:
    """What the alarms promise."""
    return plan.vocabulary.count(
        round(found.every),
        "Looked at every day until {day}; all tests together raise a false alarm in at most {level} of a plan's years, "
        "however often you look.",
        "Looked at every {n} days until {day}; all tests together raise a false alarm in at most {level} of a plan's "
        "years, however often you look.",
        day=day_in(plan.vocabulary.language, date_of(found.until)),
        level=_percent(plan, found.level),
    )


def _part_lines(plan: Plan, found: Monitoring, part: Part) -> list[str]:
    summary = part.summary
    title = "" if part.group is None else f"{group_name(plan, found, part.group)}: "
    first, *more = part_sentences(plan, summary)
    tables = [table_lines(*cell_table(plan, summary)), table_lines(*kind_table(plan, summary))]
    return [f"{title}{first}", *more, "", *tables[0], "", *tables[1]]


def part_sentences(plan: Plan, summary: Summary) -> list[str]:
    """What is said of some cases: how many there are, what they lost, how many have settled, and what moved."""
    said = [counts_sentence(plan, summary), loss_sentence(plan, summary), settled_sentence(plan, summary)]
    return [*said, *filter(None, [*move_lines(plan, summary), moves_sentence(plan, summary)])]


def counts_sentence(plan: Plan, summary: Summary) -> str:
    """How many cases, outcomes, missing outcomes, overrides and cases that fit no kind."""
    words = plan.vocabulary
    return words.say(
        "{cases}, {outcomes}, {missing} missing, {overrides}, {off} off the plan; {unfit}.",
        cases=words.count(summary.cases, "{n} case", "{n} cases"),
        outcomes=words.count(summary.rounds, "{n} outcome", "{n} outcomes"),
        missing=words.digits(f"{summary.missing:,}"),
        overrides=words.count(summary.overridden, "{n} override", "{n} overrides"),
        off=words.count(summary.off_plan, "{n} outcome", "{n} outcomes"),
        unfit=words.count(summary.unfit, "{n} case fits no {task}", "{n} cases fit no {task}"),
    )


def settled_sentence(plan: Plan, summary: Summary) -> str:
    """How many cases have settled, and how soon."""
    words = plan.vocabulary
    said = words.say("{share} of the cases have settled", share=_percent(plan, summary.settled))
    if summary.settled_expected is not None:
        said += f" ({words.say('{share} expected', share=_percent(plan, summary.settled_expected))})"
    if (soon := summary.rounds_to_settle) is not None:
        said += words.say(", half of them within {n} rounds", n=words.digits(f"{soon:g}"))
    return f"{said}."


def cell_table(plan: Plan, summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Outcomes by option, and by box where an option has several."""
    say = plan.vocabulary.say
    head = [plan.vocabulary.arm, say("where"), say("outcomes"), say("seen"), say("expected")]
    head += [say("difference"), say("interval")]
    rows = []
    for option in summary.options:
        own = [cell for cell in summary.boxes if cell.arm == option.arm and cell.n]
        rows.append(_cell_row(plan, option, say("everywhere")))
        if len(own) > 1:
            rows += [_cell_row(plan, cell, box_name(plan, int(cell.box or 0))) for cell in own]
    return head, [row for row in rows if row]


def _cell_row(plan: Plan, cell: Cell, where: str) -> list[str]:
    if not cell.n:
        return []
    seen, expected, digits = _value(plan, cell.observed), _value(plan, cell.expected), plan.vocabulary.digits
    name = plan.arms[cell.arm] if cell.box is None else ""
    by = digits(f"{cell.difference.value:+.3f}")
    return [name, where, digits(f"{cell.n:,}"), seen, expected, by, _interval(plan, cell.difference)]


def kind_table(plan: Plan, summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Shares of the kinds, seen and assumed, and of the options now in force, seen and expected."""
    words = plan.vocabulary
    head = [words.say("share of the cases"), words.say("seen"), words.say("expected")]
    assumed = summary.assumed or (None,) * len(summary.shares)
    ends = summary.ends_expected or (None,) * len(summary.ends)
    rows = [
        [f"{words.task} {name}", _percent(plan, seen), _percent(plan, due)]
        for name, seen, due in zip(plan.tasks, summary.shares, assumed, strict=True)
    ]
    rows += [
        [words.say("now on {name}", name=name), _percent(plan, seen), _percent(plan, due)]
        for name, seen, due in zip(plan.arms, summary.ends, ends, strict=True)
        if seen or (due or 0) > 5e-4
    ]
    return head, rows


def monitor_page(plan: Plan, found: Monitoring) -> list[dict[str, Any]]:
    """The parts of the page of a plan in the field: a title, sentences and tables each."""
    all_cases = plan.vocabulary.say("All cases")
    return [
        {
            "title": all_cases if part.group is None else group_name(plan, found, part.group),
            "level": level_sentence(plan, found),
            "sentences": part_sentences(plan, part.summary),
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
        head = "All cases" if part.group is None else group_name(plan, found, part.group)
        summary = part.summary
        lines += ["", f"## {head}", "", counts_sentence(plan, summary), "", loss_sentence(plan, summary), ""]
        lines += [settled_sentence(plan, summary), "", *_markdown_table(*cell_table(plan, summary)), ""]
        lines += _markdown_table(*kind_table(plan, summary))
    earlier = [alarm for alarm in found.alarms if alarm not in new]
    if earlier:
        lines += ["", "## Earlier alarms", ""]
        lines += [f"- {date_of(alarm.noticed)}: {alarm_sentence(plan, found, alarm)}" for alarm in earlier]
    return "\n".join([*lines, "", level_sentence(plan, found), ""])


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
    return _percent(plan, value) if plan.rewards.counts else plan.vocabulary.digits(f"{value:.3g}")


def _percent(plan: Plan, share: float | None) -> str:
    return "" if share is None or math.isnan(share) else plan.vocabulary.percent(f"{100 * share:.3g}")


def _interval(plan: Plan, between: Between) -> str:
    words = plan.vocabulary
    if not math.isfinite(between.low):
        return words.say("not known yet")
    low, high = (words.digits(f"{value:.2f}") for value in (between.low, between.high))
    return words.say("{low} to {high}", low=low, high=high)
