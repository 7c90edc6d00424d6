"""The sentences of a plan, with the user's vocabulary. What is printed is the rule itself.

Each box and each outcome has one phrasing: text, pictures, sessions, pages and reports take it from here.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from banditree.plans.plan import NONE, BoxKind, Form, Plan, SafetyRule, Vocabulary
from banditree.tasks.contexts import INTERCEPT
from banditree.tasks.rewards import Rewards

MOST_NAMES = 12  # names that a sentence lists before the rest is only counted
# A name is printed bare if no reader can take part of it for the sentence around it: it has a letter, and none of the
# marks and phrases that hold a sentence together. Any other name is printed in quotation marks.
MARKS = re.compile(
    r'[;:"\\]|\.(?:\s|$)|^\s|\s$|\s\s|[^\S ]|\b(?:line|box|times|once|then|otherwise|at|above|below|from now on|next'
    r"|for as long as|start again|stay with|settle on|success|failure)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Exit:
    """A way out of a box: on which condition, what to do then, and the box (counted from 0) that this means."""

    when: str
    then: str
    box: int


def plural(word: str) -> str:
    """The plural of an English noun phrase, by the rules that cover most words.

    >>> plural("success"), plural("recovery"), plural("patient group")
    ('successes', 'recoveries', 'patient groups')
    """
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def counted(n: int, word: str) -> str:
    """`n` with its noun: "1 success", "2 successes"."""
    return f"{n:,} {word if n == 1 else plural(word)}"


def number(value: float) -> str:
    """A number without needless digits that reads back as the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def named(word: str, name: str) -> str:
    """A name with its kind, unless the name says it already: "task mild", "task 3".

    >>> named("task", "mild"), named("task", "task 3")
    ('task mild', 'task 3')
    """
    return name if name.lower().startswith(word.lower()) else f"{word} {name}"


def quoted(name: str) -> str:
    """A name of the user as it stands in a sentence: bare where nobody can misread it, else in quotation marks.

    >>> print(quoted("Aspirin 100 mg"), quoted("next line"), quoted("7"), quoted("St. John's wort"))
    Aspirin 100 mg "next line" "7" "St. John's wort"
    """
    plain = name.isprintable() and any(map(str.isalpha, name)) and not MARKS.search(name)
    return name if plain else json.dumps(name, ensure_ascii=not name.isprintable())


def times(n: int) -> str:
    """How often: "once", "138 times"."""
    return "once" if n == 1 else f"{n} times"


def plan_text(plan: Plan) -> str:
    """The whole plan: a heading, one line per box or the lines of a protocol, and for contextual plans the table of
    predictions."""
    lines = [heading(plan), ""]
    if plan.form is Form.LINES:
        lines += protocol_lines(plan)
    else:
        lines += [f"Box {box + 1}. {box_sentence(plan, box)}" for box in range(plan.n_boxes)]
        lines += [] if plan.rule is None else [rule_sentence(plan, plan.rule)]
    if plan.theta is not None:
        lines += ["", *prediction_lines(plan)]
    return "\n".join(lines)


def heading(plan: Plan) -> str:
    """One line on what the plan is for and how large it is."""
    words = plan.vocabulary
    size = f"{counted(plan.n_boxes, 'box')}, at most {counted(plan.depth, 'test')} one after the other"
    if plan.form is Form.LINES:
        size = f"{counted(max(plan.n_tests, 1), 'line')}, at most {plan.depth} one after the other"
    if plan.most_pulls is not None:
        size += f", at most {counted(plan.most_pulls, 'round')} of testing"
    apart = "" if plan.separation is None else f", separation {plan.separation:.4g}"
    return (
        f"Plan for {counted(len(plan.tasks), words.task)} and {counted(len(plan.arms), words.arm)} over "
        f"{counted(plan.horizon, 'round')} (method {plan.method}{apart}): {size}."
    )


def box_sentence(plan: Plan, box: int) -> str:
    """What box number `box` (counted from 0) says, without its number."""
    if plan.kind[box] != BoxKind.EXPLOIT and (plan.form is Form.LINES or plan.kind[box] == BoxKind.WATCH):
        return line_sentence(plan, box)
    ways = "".join(f" {way.when}: {way.then}." for way in exits(plan, box))
    return f"{box_state(plan, box)}{box_action(plan, box)}.{ways}"


def box_state(plan: Plan, box: int) -> str:
    """The sentence that names the task a box has found, or nothing."""
    task = int(plan.task[box])
    return "" if task == NONE else f"This is {named(plan.vocabulary.task, quoted(plan.tasks[task]))}. "


def box_action(plan: Plan, box: int) -> str:
    """What to do in a box, without what it leads to and without the full stop."""
    words, arm, kind = plan.vocabulary, int(plan.arm[box]), BoxKind(plan.kind[box])
    if arm == NONE:
        return f"From now on, {words.give.lower()} the {words.arm} with the highest prediction for it"
    give = f"{words.give} {quoted(plan.arms[arm])}"
    if kind is BoxKind.EXPLOIT:
        return f"{give} from now on"
    if kind is BoxKind.FIXED:
        return f"{give} {times(int(plan.pulls[box]))}"
    return f"{give}. {score_rule(plan, box)}"


def exits(plan: Plan, box: int) -> tuple[Exit, ...]:
    """The ways out of a box in the order in which they are read; none from an arm for good."""
    kind, low, high = BoxKind(plan.kind[box]), int(plan.low[box]), int(plan.high[box])
    if kind is BoxKind.SCORE:
        ends = ((f"At {plan.ceil[box]:+d} or more", high), (f"At {-plan.floor[box]:+d} or less", low))
    elif kind is BoxKind.FIXED:
        ends = ((threshold_rule(plan, box), low), ("Otherwise", high))
    else:
        return ()
    return tuple(Exit(when, f"go to box {target + 1}", target) for when, target in ends)


def protocol_lines(plan: Plan) -> list[str]:
    """The numbered lines of a protocol, and its safety rule at the foot."""
    n_lines = max(plan.n_tests, 1)  # a protocol of one end is one line
    lines = [f"{line + 1}. {box_sentence(plan, line)}" for line in range(n_lines)]
    return lines if plan.rule is None else [*lines, "", rule_sentence(plan, plan.rule)]


def line_sentence(plan: Plan, line: int) -> str:
    """What a line of a protocol (counted from 0) says, without its number."""
    give = f"{plan.vocabulary.give} {quoted(plan.arms[plan.arm[line]])}"
    floor, points, cuts = f"{-plan.floor[line]:+d}", plan.points[line], plan.cuts[line]
    low = exit_words(plan, line, low=True)
    if plan.kind[line] == BoxKind.WATCH:
        rule = f"{points_rule(plan, points, cuts)}{cap_rule(int(plan.cap[line]))}"
        return f"{give} for as long as the score ({rule}) stays above {floor}. Then: {low}."
    rule = points_rule(plan, points, cuts, in_words=line == 0)
    high = exit_words(plan, line, low=False)
    return f"{give}; {rule}. At {plan.ceil[line]:+d}: {high}. At {floor}: {low}."


def rule_sentence(plan: Plan, rule: SafetyRule) -> str:
    """The safety rule, at the foot of a protocol."""
    place = "line" if plan.form is Form.LINES else "box"
    scored = f"{points_rule(plan, np.array(rule.points), np.array(rule.cuts))}{cap_rule(rule.cap)}"
    return (
        f"Whenever you stay with or settle on an {plan.vocabulary.arm}, score it from 0: {scored}. "
        f"At {-rule.floor:+d} start again at {place} 1."
    )


def points_rule(plan: Plan, points: np.ndarray, cuts: np.ndarray, in_words: bool = False) -> str:
    """The points of a score: "+1/-3", or "success +1, failure -3" where words are wanted; bins always in words."""
    words = plan.vocabulary
    scored = outcome_points(plan, points, cuts)
    if not scored:
        parts = [f"{words.reward} at most {number(c)} {p:+d}" for c, p in zip(cuts, points, strict=False)]
        return f"{', '.join(parts)}, above {points[-1]:+d}"
    if in_words or len(scored) > 2:
        return ", ".join(f"{name} {p:+d}" for name, p in scored)
    return "/".join(f"{p:+d}" for _, p in scored)


def outcome_points(plan: Plan, points: np.ndarray, cuts: np.ndarray) -> list[tuple[str, int]]:
    """The points of every possible outcome by its name, the best first; empty where an outcome is any number."""
    outcomes = plan.rewards.outcomes(plan.vocabulary.success, plan.vocabulary.failure)
    return [(name, int(points[(cuts < value).sum()])) for value, name in outcomes]


def cap_rule(cap: int) -> str:
    """How a cap is added to the points of a score."""
    return f", never counted above {cap:+d}" if cap else ""


def exit_words(plan: Plan, line: int, low: bool) -> str:
    """Where one side of a line leads, in words."""
    target = int(plan.low[line] if low else plan.high[line])
    if plan.kind[target] == BoxKind.EXPLOIT and plan.arm[target] != NONE:
        verb = "stay with" if plan.arm[target] == plan.arm[line] else "settle on"
        return f"{verb} {quoted(plan.arms[plan.arm[target]])}"
    if plan.form is Form.BOXES:
        return f"box {target + 1}"
    if target == 0:
        return "start again at line 1"
    return "next line" if target == line + 1 else f"line {target + 1}"


def threshold_rule(plan: Plan, box: int) -> str:
    """The condition under which a FIXED box leads to its low side."""
    words, limit = plan.vocabulary, float(plan.threshold[box])
    if plan.rewards.counts:
        noun = words.success if limit == 1 else plural(words.success)
        return f"At most {number(limit)} {noun}"
    return f"Total {words.reward} at most {number(limit)}"


def score_rule(plan: Plan, box: int) -> str:
    """The points of a SCORE box, without the full stop."""
    words, points = plan.vocabulary, plan.points[box]
    if scored := outcome_points(plan, points, plan.cuts[box]):
        return f"E{', '.join(f'each {name} {p:+d}' for name, p in scored)[1:]}"
    cuts = [number(cut) for cut in plan.cuts[box]]
    parts = [f"{words.reward} at most {cut} {point:+d}" for cut, point in zip(cuts, points, strict=False)]
    return f"Score each {', '.join(parts)}, above {points[-1]:+d}"


def tally_sentence(plan: Plan, box: int, pulls: int, total: float) -> str:
    """What has been counted so far in a box."""
    if plan.kind[box] == BoxKind.SCORE:
        ends = " and ".join(f"{way.when[:1].lower()}{way.when[1:]}" for way in exits(plan, box))
        return f"{counted(pulls, 'round')} tallied, score {int(total):+d}; the box ends {ends}."
    if plan.kind[box] != BoxKind.FIXED:
        return f"{counted(pulls, 'round')} tallied, score {int(total):+d}."
    return fixed_tally(plan.rewards, plan.vocabulary, pulls, int(plan.pulls[box]), float(plan.threshold[box]), total)


def fixed_tally(rewards: Rewards, words: Vocabulary, pulls: int, needed: int, limit: float, total: float) -> str:
    """What has been counted so far in a test of a fixed number of pulls."""
    so_far = f"{pulls} of {needed} rounds tallied; the limit is {number(limit)}"
    if rewards.counts:
        good = int(total)
        return f"{counted(good, words.success)}, {counted(pulls - good, words.failure)} ({so_far})."
    return f"Total {words.reward} {total:g} ({so_far})."


def outcome_text(plan: Plan, reward: float | None) -> str:
    """An outcome in words: "recovery", "3.2", "not known"."""
    if reward is None:
        return "not known"
    outcomes = plan.rewards.outcomes(plan.vocabulary.success, plan.vocabulary.failure)
    return next((name for value, name in outcomes if value == reward), f"{reward:g}")


def possible_sentence(names: Sequence[str], words: Vocabulary, most: int = MOST_NAMES) -> str:
    """Which tasks are still possible: how many, and up to `most` of them by name."""
    if not names:
        return f"The case fits no {words.task} of the collection."
    if len(names) == 1:
        return f"The evidence leaves one {words.task}: {names[0]}."
    listed = f": {', '.join(names[:most])}" if most else ""
    more = f" and {len(names) - most:,} more" if 0 < most < len(names) else ""
    return f"{counted(len(names), words.task)} still possible{listed}{more}."


def prediction_lines(plan: Plan) -> list[str]:
    """One line per task and arm: the predicted reward as a sum over the features of the context."""
    assert plan.theta is not None
    words = plan.vocabulary
    used = np.unique(plan.task[(plan.kind == BoxKind.EXPLOIT) & (plan.arm == NONE)])
    lines = [f"Predictions of the {words.reward} (the first {words.arm} among equals):"]
    for task in used:
        for k, arm in enumerate(plan.arms):
            terms = [
                number(weight) if feature.name == INTERCEPT else f"{number(weight)} * {feature}"
                for weight, feature in zip(plan.theta[task, k], plan.features, strict=True)
            ]
            lines.append(f"{quoted(plan.tasks[task])}, {quoted(arm)}: {' + '.join(terms)}")
    return lines


def vocabulary_from(pairs: dict[str, str]) -> Vocabulary:
    """A vocabulary with some words replaced, as in {"arm": "treatment", "task": "patient group"}."""
    from banditree.errors import invalid

    known = Vocabulary.__dataclass_fields__
    for key, word in pairs.items():
        if key not in known:
            raise invalid("a word of the vocabulary", f"one of {', '.join(known)}", key)
        if not word.strip():
            raise invalid(f"the word for {key!r}", "not empty", word)
    return Vocabulary(**pairs)
