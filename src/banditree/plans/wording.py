"""The sentences of a plan, with the user's vocabulary. What is printed is the rule itself.

Each box and each outcome has one phrasing: text, pictures, sessions, pages and reports take it from here.
"""

import json
from dataclasses import dataclass

import numpy as np

from banditree.nouns import counted, plural
from banditree.plans.by_context import PromiseTable
from banditree.plans.plan import HAND_OVER, NONE, SEVERAL, BoxKind, Decider, Form, Plan
from banditree.plans.reading_load import reading_load
from banditree.plans.words import capital, named, number, quoted, signed, times, with_article
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
    is_end = plan.form is Form.LINES and plan.kind[box] == BoxKind.EXPLOIT and plan.n_tests > 0
    return "an end" if is_end else f"{unit(plan)} {box + 1}"


def plan_text(plan: Plan, loss: str = "") -> str:
    """The whole plan: a heading, its lines or boxes, the safety rule, the fallback, and for plans with contexts the
    rules by kind and the predictions."""
    from banditree.plans.context_wording import context_notes

    lines = [heading(plan, loss), "", *numbered_lines(plan)]
    if plan.rule is not None:
        lines += ["", rule_sentence(plan)]
    if notes := foot_sentences(plan):
        lines += ["", *notes]
    lines += [line for part in context_notes(plan) for line in ("", *part)]
    return "\n".join(lines)


def numbered_lines(plan: Plan) -> list[str]:
    """The lines of a protocol, whose ends are inside them, or all boxes."""
    if plan.form is Form.BOXES:
        return [f"Box {box + 1}. {box_sentence(plan, box)}" for box in range(plan.n_boxes)]
    lines = range(max(plan.n_tests, 1))  # a protocol of one end is one line
    return [f"{line + 1}. {box_sentence(plan, line, spelled=line == 0)}" for line in lines]


def heading(plan: Plan, loss: str = "") -> str:
    """One line on what the plan is for and how large it is. loss: a sentence on what it loses, where that is known."""
    words = plan.vocabulary
    size = f"{counted(plan.n_boxes, 'box')}, longest path: {counted(plan.depth, 'test')}"
    if plan.form is Form.LINES:
        longest = f", longest path: {counted(plan.depth, 'line')}" if plan.n_tests else ""
        size = f"{counted(max(plan.n_tests, 1), 'line')}{longest}"
    if plan.most_pulls:
        size += f", at most {counted(plan.most_pulls, 'round')} of testing"
    apart = "" if plan.separation is None else f", separation {plan.separation:.4g}"
    return (
        f"Plan for {counted(len(plan.tasks), words.task)} and {counted(len(plan.arms), words.arm)} over "
        f"{counted(plan.horizon, 'round')} (method {plan.method}{apart}): {size}, "
        f"reading load {reading_load(plan):,.1f}.{f' {loss}' if loss else ''}"
        f"{f' Made from {TRUSTED}.' if TRUSTED in plan.versions.values() else ''}"
    )


def box_sentence(plan: Plan, box: int, spelled: bool = True) -> str:
    """What box number `box` (counted from 0) says, without its number. spelled: points with the names of outcomes."""
    ways = "".join(f" {way.when}: {way.then}." for way in exits(plan, box))
    return f"{box_state(plan, box)}{box_action(plan, box, spelled)}.{ways}"


def box_state(plan: Plan, box: int) -> str:
    """The sentence that names the task a box has found, or nothing."""
    task = int(plan.task[box])
    says_nothing = task == NONE or plan.form is Form.LINES or plan.kind[box] != BoxKind.EXPLOIT
    return "" if says_nothing else f"This is {named(plan.vocabulary.task, quoted(plan.tasks[task]))}. "


def box_action(plan: Plan, box: int, spelled: bool = True) -> str:
    """What to do in a box, without what it leads to and without the full stop."""
    words, kind = plan.vocabulary, BoxKind(plan.kind[box])
    if plan.arm[box] == HAND_OVER:
        return "Hand over"
    if plan.arm[box] == SEVERAL:
        return f"{words.give} {several_phrase(plan, box)} from now on"
    if plan.arm[box] == NONE and plan.form is Form.BOXES and not plan.kind_rules:
        return f"From now on, {words.give.lower()} the {words.arm} with the highest prediction for it"
    give = capital(given(plan, box))
    if kind is BoxKind.EXPLOIT:
        return f"{give} from now on"
    if kind is BoxKind.FIXED:
        return f"{give} {times(int(plan.pulls[box]))}"
    points = box_points(plan, box, spelled)
    if kind is BoxKind.WATCH:
        level = f"stays above {-plan.floor[box]:+d}{cap_phrase(int(plan.cap[box]))}"
        return f"{give} for as long as the score ({points}) {level}"
    return f"{give}; {points}"


def given(plan: Plan, box: int) -> str:
    """What a box gives, in the middle of a sentence: "give A", "treat as early"."""
    words = plan.vocabulary
    if plan.arm[box] == NONE:
        return f"treat as {quoted(plan.tasks[plan.task[box]])}"
    return f"{words.give[:1].lower()}{words.give[1:]} {quoted(plan.arms[plan.arm[box]])}"


def box_points(plan: Plan, box: int, spelled: bool = True) -> str:
    """The points of a box, by the outcome or by how much better it fits one task than another."""
    grading = plan.grading_of(box)
    if grading is None:
        return points_phrase(plan, plan.points[box], plan.cuts[box], spelled)
    if isinstance(grading, PromiseTable):
        return table_phrase(plan, grading, spelled)
    favoured, other = (quoted(plan.tasks[task]) for task in (grading.favoured, grading.other))
    return f"fit of {favoured} over {other}, 1 point per {number(grading.unit)}"


def table_phrase(plan: Plan, table: PromiseTable, spelled: bool = True) -> str:
    """Points by what was promised: "promised 80% or more: success +1, failure -4; less: success +2, failure -1"."""
    rows = [
        points_phrase(plan, np.array(row), np.array([0.5]), spelled) if any(row) else "no points" for row in table.rows
    ]
    if not table.cuts:
        return rows[0]
    above = [f"{number(round(100 * cut, 6))}% or more: {row}" for cut, row in zip(table.cuts, rows[1:], strict=True)]
    return f"promised {'; '.join([*reversed(above), f'less: {rows[0]}'])}"


def exits(plan: Plan, box: int) -> tuple[Exit, ...]:
    """The ways out of a box in the order in which they are read; none from an arm for good."""
    kind, low, high = BoxKind(plan.kind[box]), int(plan.low[box]), int(plan.high[box])
    if kind is BoxKind.EXPLOIT:
        return ()
    if kind is BoxKind.SCORE:
        ends = [(f"At {plan.ceil[box]:+d}", high), (f"At {-plan.floor[box]:+d}", low)]
    elif kind is BoxKind.WATCH:
        ends = [("Then", low)]
    else:
        ends = [(threshold_rule(plan, box), low), ("Otherwise", high)]
    return tuple(Exit(when, _leads_to(plan, box, target), target) for when, target in ends)


def _leads_to(plan: Plan, box: int, target: int) -> str:
    """What to do on leaving a box for another, in words."""
    if plan.form is Form.BOXES:
        return f"go to box {target + 1}"
    if plan.arm[target] == HAND_OVER:
        return "hand over"
    if plan.arm[target] == SEVERAL:
        return f"settle on {several_phrase(plan, target)}"
    if plan.kind[target] == BoxKind.EXPLOIT:
        same = plan.arm[target] == plan.arm[box]
        if plan.arm[target] == NONE:
            name = quoted(plan.tasks[plan.task[target]])
            keeps = same and plan.task[target] == plan.task[box]
            return f"keep treating as {name}" if keeps else f"treat as {name} from now on"
        return f"{'stay with' if same else 'settle on'} {quoted(plan.arms[plan.arm[target]])}"
    if target == 0:
        return "start again at line 1"
    if target <= box:
        return f"go back to line {target + 1}"
    return "next line" if target == box + 1 else f"line {target + 1}"


def end_phrase(plan: Plan, box: int, end: int) -> str:
    """What the row of a box says about an end that it leads to: "stay with D", "Task mild: give A from now on"."""
    if plan.form is Form.LINES and end != box:
        return _leads_to(plan, box, end)
    action, task = box_action(plan, end), int(plan.task[end])
    if task == NONE:
        return action
    found = capital(named(plan.vocabulary.task, quoted(plan.tasks[task])))
    return f"{found}: {action[:1].lower()}{action[1:]}"


def rule_sentence(plan: Plan) -> str:
    """The safety rule, at the foot of a plan."""
    assert plan.rule is not None
    rule, words = plan.rule, plan.vocabulary
    points = points_phrase(plan, np.array(rule.points), np.array(rule.cuts), spelled=plan.n_tests == 0)
    then = "hand over" if rule.hands_over else f"start again at {unit(plan)} 1"
    by_context = bool((plan.arm[plan.kind == BoxKind.EXPLOIT] == NONE).any())
    treated = f", or treat as {with_article(words.task)} from now on" if by_context else ""
    return (
        f"Whenever you stay with or settle on {with_article(words.arm)}{treated}, score it from 0: {points}"
        f"{cap_phrase(rule.cap)}. At {-rule.floor:+d} {then}."
    )


def several_phrase(plan: Plan, box: int) -> str:
    """The arms of an end between several: "the best of D, B and Q", with what is expected of each."""
    arms = plan.arms_at(box)
    names = [_in_a_list(plan.arms[k]) for k in arms]
    if plan.rates is not None:
        names = [f"{name} ({plan.rates[box, k]:g})" for name, k in zip(names, arms, strict=True)]
    return f"the best of {', '.join(names[:-1])} and {names[-1]}"


def _in_a_list(name: str) -> str:
    plain = quoted(name)
    apart = plain == name and ("," in name or " and " in f" {name} ")
    return json.dumps(name, ensure_ascii=not name.isprintable()) if apart else plain


def foot_sentences(plan: Plan) -> list[str]:
    """How Thompson sampling or the fallback chooses at an end, where the plan has such ends."""
    notes = []
    if (plan.arm == SEVERAL).any():
        notes.append(several_sentence(plan))
    return notes if plan.fallback is None else [*notes, fallback_sentence(plan)]


def several_sentence(plan: Plan) -> str:
    """How the best of several is found: with expected rates by their index (`theory.horizon_index`)."""
    if plan.rates is None:
        return "The best of several: Thompson sampling chooses each time; it has learned from the first round."
    words, rewards = plan.vocabulary, plan.rewards
    above = "mean" if rewards.low == 0 else f"(mean - {rewards.low:g})"
    noise = f"{above} x ({rewards.high:g} - mean)" if rewards.has_range else f"{rewards.sigma**2:g}"
    each = f"each {words.arm} counts as if it had been given {plan.worth} times more with the mean"
    counts = f"The best of several: {each} in brackets; all rounds since the first count."
    if plan.kinds is not None:
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
        decides = f"{words.give} {quoted(plan.arms[plan.fallback.arm])} from now on"
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


def cap_phrase(cap: int) -> str:
    """How a cap is added to a score."""
    return f"; never count above {cap:+d}" if cap else ""


def points_phrase(plan: Plan, points: np.ndarray, cuts: np.ndarray, spelled: bool = True) -> str:
    """The points of a score, the best outcome first: "success +1, failure -3" or, once the reader knows, "+1/-3".

    Rewards that are numbers are always spelled out unless their cuts are those of the first line.
    """
    words = plan.vocabulary
    if outcomes := outcome_names(plan):
        each = [(name, int(points[int((cuts < value).sum())])) for value, name in outcomes]
        if spelled:
            return ", ".join(f"{quoted(name)} {signed(p)}" for name, p in each)
        return "/".join(signed(p) for _, p in each)
    best_first = [signed(int(p)) for p in points[::-1]]
    if not spelled and np.array_equal(cuts, plan.cuts[0]):
        return "/".join(best_first)
    above = [f"{p} above {number(cut)}" for p, cut in zip(best_first, cuts[::-1], strict=False)]
    above[0] = above[0].replace(" above ", f" for {with_article(words.reward)} above ", 1)
    return f"{', '.join(above)}, {best_first[-1]} otherwise"


def outcome_names(plan: Plan) -> list[tuple[float, str]]:
    """The possible rewards as a person reports them, the best first; none where a number is reported."""
    return [(value, name) for value, name in plan.rewards.outcomes(plan.vocabulary.success, plan.vocabulary.failure)]


def threshold_rule(plan: Plan, box: int) -> str:
    """The condition under which a FIXED box leads to its low side."""
    words, limit = plan.vocabulary, float(plan.threshold[box])
    if plan.rewards.counts:
        noun = words.success if limit == 1 else plural(words.success)
        return f"At most {number(limit)} {noun}"
    return f"Total {words.reward} at most {number(limit)}"
