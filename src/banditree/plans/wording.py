"""The sentences of a plan, with the user's vocabulary. What is printed is the rule itself.

Each box and each outcome has one phrasing: text, pictures, sessions, pages and reports take it from here.
"""

from dataclasses import dataclass

from banditree.nouns import counted
from banditree.plans.counts import ABOVE, BELOW, Pause
from banditree.plans.gives import BestOf, HandOver, TreatAs
from banditree.plans.pages import page
from banditree.plans.plan import Decider, Form, Plan
from banditree.plans.reading_load import reading_load
from banditree.plans.words import capital, harm_noun, named, quoted, with_article
from banditree.tasks.changes import TRUSTED


@dataclass(frozen=True)
class Exit:
    """A way out of a box: on which condition, what to do then, and the box (counted from 0) that this means."""

    when: str
    then: str
    box: int


def unit(plan: Plan) -> str:
    """The word for a numbered part of the plan: a line of a protocol, or a box."""
    return "line" if plan.form is Form.LINES else "box"


def place_name(plan: Plan, box: int) -> str:
    """Where a case is: "line 3", "box 3", or at the end of a protocol, which has no number."""
    if isinstance(plan.rows[box].counts, Pause):
        return f"a pause before {place_name(plan, plan.links[box][0])}"
    is_end = plan.form is Form.LINES and not plan.rows[box].counts.exits and plan.n_tests > 0
    return "an end" if is_end else f"{unit(plan)} {box + 1}"


def on_page(plan: Plan) -> str:
    """On which page a case is, after its place: " on the page without B"; nothing on page 1."""
    return f" on the page without {_either(plan.missing)}" if plan.missing else ""


def plan_text(plan: Plan, loss: str = "") -> str:
    """The whole plan: a heading, its lines or boxes, the safety rule, the fallback, and for plans with contexts the
    rules by kind and the predictions."""
    from banditree.plans.context_wording import context_notes

    lines = [heading(plan, loss), "", *lines_and_rule(plan)]
    if notes := foot_sentences(plan):
        lines += ["", *notes]
    lines += [line for part in context_notes(plan) for line in ("", *part)]
    for number in range(2, len(plan.pages) + 2):
        lines += ["", f"{page_title(plan, number)}:", "", *lines_and_rule(page(plan, number))]
    return "\n".join(lines)


def lines_and_rule(plan: Plan) -> list[str]:
    """The lines or boxes, and the safety rule after an empty line."""
    return [*numbered_lines(plan), *([] if plan.rule is None else ["", rule_sentence(plan)])]


def page_title(plan: Plan, number: int) -> str:
    """For whom a page is: "Page 2, for a case that must not get B"."""
    return f"Page {number}, for {_whose(plan.pages[number - 2].missing)}"


def _whose(missing: tuple[str, ...]) -> str:
    return f"a case that must not get {_either(missing)}"


def _either(missing: tuple[str, ...]) -> str:
    """The arms that a page is without: "B", "B or C"."""
    return " or ".join(map(quoted, missing))


def numbered_lines(plan: Plan) -> list[str]:
    """The lines of a protocol, whose ends are inside them, or all boxes."""
    if plan.form is Form.BOXES:
        return [f"Box {box + 1}. {box_sentence(plan, box)}" for box in range(_n_printed(plan))]
    lines = range(max(plan.n_tests, 1))  # a protocol of one end is one line
    return [f"{line + 1}. {box_sentence(plan, line, spelled=line == 0)}" for line in lines]


def _n_printed(plan: Plan) -> int:
    """How many boxes have a number; pauses have none."""
    return plan.n_boxes - len(plan.pauses)


def heading(plan: Plan, loss: str = "") -> str:
    """One line on what the plan is for and how large it is. loss: a sentence on what it loses, where that is known."""
    words = plan.vocabulary
    size = f"{counted(_n_printed(plan), 'box')}, longest path: {counted(plan.depth, 'test')}"
    if plan.form is Form.LINES:
        longest = f", longest path: {counted(plan.depth, 'line')}" if plan.n_tests else ""
        size = f"{counted(max(plan.n_tests, 1), 'line')}{longest}"
    if plan.most_pulls:
        size += f", at most {counted(plan.most_pulls, 'round')} of testing"
    made = plan.origin
    apart = "" if made.separation is None else f", separation {made.separation:.4g}"
    return (
        f"Plan for {counted(len(plan.tasks), words.task)} and {counted(len(plan.arms), words.arm)} over "
        f"{counted(plan.horizon, 'round')} (method {made.method}{apart}): {size}, "
        f"reading load {reading_load(plan):,.1f}.{f' For {_whose(plan.missing)}.' if plan.missing else ''}"
        f"{f' {loss}' if loss else ''}"
        f"{f' Made from {TRUSTED}.' if TRUSTED in made.versions.values() else ''}"
    )


def box_sentence(plan: Plan, box: int, spelled: bool = True) -> str:
    """What box number `box` (counted from 0) says, without its number. spelled: points with the names of outcomes."""
    ways = "".join(f" {way.when}: {way.then}." for way in exits(plan, box))
    return f"{box_state(plan, box)}{box_action(plan, box, spelled)}.{ways}"


def box_state(plan: Plan, box: int) -> str:
    """The sentence that names the task a box has found, or nothing."""
    row = plan.rows[box]
    says_nothing = row.found is None or plan.form is Form.LINES or bool(row.counts.exits)
    return "" if says_nothing else f"This is {named(plan.vocabulary.task, quoted(str(row.found)))}. "


def box_action(plan: Plan, box: int, spelled: bool = True) -> str:
    """What to do in a box, without what it leads to and without the full stop."""
    row = plan.rows[box]
    if isinstance(row.gives, HandOver):
        return "Hand over"
    if isinstance(row.gives, TreatAs) and plan.form is Form.BOXES and not plan.kind_rules:
        words = plan.vocabulary
        return f"From now on, {words.give.lower()} the {words.arm} with the highest prediction for it"
    return row.counts.action(plan, capital(row.gives.phrase(plan)), spelled)


def given(plan: Plan, box: int) -> str:
    """What a box gives, in the middle of a sentence: "give A", "treat as early"."""
    return plan.rows[box].gives.phrase(plan)


def exits(plan: Plan, box: int) -> tuple[Exit, ...]:
    """The ways out of a box in the order in which they are read; none from an arm for good."""
    row, rows = plan.rows[box], dict(zip((BELOW, ABOVE), plan.links[box], strict=False))
    return tuple(
        Exit(row.counts.condition(plan, side), _leads_to(plan, box, rows[side]), rows[side])
        for side in row.counts.exits
    )


def _leads_to(plan: Plan, box: int, target: int) -> str:
    """What to do on leaving a box for another, in words."""
    if plan.form is Form.BOXES:
        return f"go to box {target + 1}"
    if isinstance(plan.rows[box].counts, Pause) and plan.rows[target].counts.exits:
        return f"line {target + 1}"
    if not plan.rows[target].counts.exits:
        return plan.rows[target].gives.settling(plan, plan.rows[box].gives)
    if target == 0:
        return "start again at line 1"
    if target <= box:
        return f"go back to line {target + 1}"
    return "next line" if target == box + 1 else f"line {target + 1}"


def end_phrase(plan: Plan, box: int, end: int) -> str:
    """What the row of a box says about an end that it leads to: "stay with D", "Task mild: give A from now on"."""
    if plan.form is Form.LINES and end != box:
        return _leads_to(plan, box, end)
    action, task = box_action(plan, end), plan.rows[end].found
    if task is None:
        return action
    found = capital(named(plan.vocabulary.task, quoted(task)))
    return f"{found}: {action[:1].lower()}{action[1:]}"


def rule_sentence(plan: Plan) -> str:
    """The safety rule, at the foot of a plan."""
    assert plan.rule is not None
    counts, words = plan.rule.counts, plan.vocabulary
    then = "hand over" if plan.rule.hands_over else f"start again at {unit(plan)} 1"
    by_context = any(isinstance(row.gives, TreatAs) and not row.counts.exits for row in plan.rows)
    treated = f", or treat as {with_article(words.task)} from now on" if by_context else ""
    points = counts.points.phrase(plan, spelled=plan.n_tests == 0)
    return (
        f"Whenever you stay with or settle on {with_article(words.arm)}{treated}, score it from 0: {points}"
        f"{counts.cap_phrase}. At {-counts.floor:+d} {then}."
    )


def foot_sentences(plan: Plan) -> list[str]:
    """What does not count after a change, what harm changes, how Thompson sampling or the fallback chooses at an end,
    and who has another page, where the plan has any of it."""
    several = [row.gives for row in plan.rows if isinstance(row.gives, BestOf)]
    notes = [washout_sentence(plan)] if plan.pauses else []
    notes += [] if plan.on_harm is None else [harm_sentence(plan)]
    notes += [several_sentence(plan, max(end.worth for end in several))] if several else []
    notes += [] if plan.fallback is None else [fallback_sentence(plan)]
    pages = [f"{_either(page.missing)}: page {number}" for number, page in enumerate(plan.pages, start=2)]
    return [*notes, f"A case that must not get {'; '.join(pages)}."] if pages else notes


def harm_sentence(plan: Plan) -> str:
    """What harm under an arm changes for a case."""
    words = plan.vocabulary
    harm = capital(harm_noun(words))
    then = "A person decides from then on."
    if plan.pages or plan.missing:
        then = (
            "Begin the page for a case that must not get it, nor what did harm before; where there is none, a person "
            "decides."
        )
    return f"{harm} under {with_article(words.arm)}: do not give it again. {then}"


def washout_sentence(plan: Plan) -> str:
    """What a change of arm asks for, before anything is counted."""
    words, n = plan.vocabulary, plan.washout
    first = "its first round is" if n == 1 else f"its first {n} rounds are"
    return f"Whenever you change to another {words.arm}, {first} given but not counted."


def several_sentence(plan: Plan, worth: int) -> str:
    """How the best of several is found: with expected rates by their index (`theory.horizon_index`)."""
    if not worth:
        return "The best of several: Thompson sampling chooses each time; it has learned from the first round."
    words, rewards = plan.vocabulary, plan.rewards
    above = "mean" if rewards.low == 0 else f"(mean - {rewards.low:g})"
    noise = f"{above} x ({rewards.high:g} - mean)" if rewards.has_range else f"{rewards.sigma**2:g}"
    each = f"each {words.arm} counts as if it had been given {worth} times more with the mean"
    counts = f"The best of several: {each} in brackets; all rounds since the first count."
    if plan.fallback is not None and plan.fallback.odds:
        counts = (
            f"The best of several: every {words.task} may have led there. Each time one is drawn, by how well it fits "
            f"all outcomes since the first round, and {each} that this {words.task} expects: as in "
            f"brackets, if it is the likely one."
        )
    return (
        f"{counts} To its mean, if its times are below the rounds left, add the root of log(rounds left / times) x "
        f"{noise} / (2 x (times + 1)). {words.give} the highest each time."
    )


def fallback_sentence(plan: Plan) -> str:
    """The last line of a plan for cases that are none of the tasks: what "hand over" means."""
    assert plan.fallback is not None
    words, to = plan.vocabulary, plan.fallback.to
    if to is Decider.THOMPSON:
        decides = "From now on Thompson sampling chooses; it has learned from the first round"
    elif to is Decider.PERSON:
        decides = "From now on a person decides"
    else:
        decides = f"{words.give} {quoted(str(plan.fallback.arm))} from now on"
    return f"Hand over: what was seen contradicts every {words.task}. {decides}.{odds_sentence(plan)}"


def odds_sentence(plan: Plan) -> str:
    """When a case is handed over from wherever it is; "" where only lines and the rule do so."""
    fallback, words = plan.fallback, plan.vocabulary
    if fallback is None or not fallback.odds:
        return ""
    off = f", whose rates may be off by {fallback.allow:g}" if fallback.allow else ""
    return (
        f" From any line and any end, hand over as soon as the outcomes since the first round speak {fallback.odds} to "
        f"1 against every {words.task} that may lead there{off}; the session and the console compute this."
    )


def outcome_names(plan: Plan) -> list[tuple[float, str]]:
    """The possible rewards as a person reports them, the best first; none where a number is reported."""
    return [(value, name) for value, name in plan.rewards.outcomes(plan.vocabulary.success, plan.vocabulary.failure)]
