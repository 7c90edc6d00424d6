"""The sentences of a plan, with the user's vocabulary. What is printed is the rule itself."""

import numpy as np

from banditree.plans.plan import NONE, BoxKind, Plan, Vocabulary
from banditree.tasks.contexts import INTERCEPT
from banditree.tasks.rewards import Family


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


def times(n: int) -> str:
    """How often: "once", "138 times"."""
    return "once" if n == 1 else f"{n} times"


def plan_text(plan: Plan) -> str:
    """The whole plan: a heading, one line per box, and for contextual plans the table of predictions."""
    lines = [heading(plan), ""]
    lines += [f"Box {box + 1}. {box_sentence(plan, box)}" for box in range(plan.n_boxes)]
    if plan.theta is not None:
        lines += ["", *prediction_lines(plan)]
    return "\n".join(lines)


def heading(plan: Plan) -> str:
    """One line on what the plan is for and how large it is."""
    words = plan.vocabulary
    size = f"{counted(plan.n_boxes, 'box')}, at most {counted(plan.depth, 'test')} one after the other"
    if plan.most_pulls is not None:
        size += f", at most {counted(plan.most_pulls, 'round')} of testing"
    apart = "" if plan.separation is None else f", separation {plan.separation:.4g}"
    return (
        f"Plan for {counted(len(plan.tasks), words.task)} and {counted(len(plan.arms), words.arm)} over "
        f"{counted(plan.horizon, 'round')} (method {plan.method}{apart}): {size}."
    )


def box_sentence(plan: Plan, box: int) -> str:
    """What box number `box` (counted from 0) says, without its number."""
    kind = BoxKind(plan.kind[box])
    if kind is BoxKind.EXPLOIT:
        return _exploit_sentence(plan, box)
    arm = plan.arms[plan.arm[box]]
    low, high = plan.low[box] + 1, plan.high[box] + 1
    give = f"{plan.vocabulary.give} {arm}"
    if kind is BoxKind.SCORE:
        return (
            f"{give}. {score_rule(plan, box)} At {plan.ceil[box]:+d} or more: go to box {high}. "
            f"At {-plan.floor[box]:+d} or less: go to box {low}."
        )
    return (
        f"{give} {times(int(plan.pulls[box]))}. {threshold_rule(plan, box)}: go to box {low}. "
        f"Otherwise: go to box {high}."
    )


def threshold_rule(plan: Plan, box: int) -> str:
    """The condition under which a FIXED box leads to its low side."""
    words, limit = plan.vocabulary, float(plan.threshold[box])
    if plan.rewards.family is Family.BERNOULLI:
        noun = words.success if limit == 1 else plural(words.success)
        return f"At most {number(limit)} {noun}"
    return f"Total {words.reward} at most {number(limit)}"


def score_rule(plan: Plan, box: int) -> str:
    """The points of a SCORE box."""
    words, points = plan.vocabulary, plan.points[box]
    if plan.rewards.family is Family.BERNOULLI:
        return f"Each {words.success} {points[1]:+d}, each {words.failure} {points[0]:+d}."
    cuts = [number(cut) for cut in plan.cuts[box]]
    parts = [f"{words.reward} at most {cut} {point:+d}" for cut, point in zip(cuts, points, strict=False)]
    return f"Score each {', '.join(parts)}, above {points[-1]:+d}."


def _exploit_sentence(plan: Plan, box: int) -> str:
    words, task = plan.vocabulary, int(plan.task[box])
    known = "" if task == NONE else f"This is {named(words.task, plan.tasks[task])}. "
    if plan.arm[box] == NONE:
        return f"{known}From now on, {words.give.lower()} the {words.arm} with the highest prediction for it."
    return f"{known}{words.give} {plan.arms[plan.arm[box]]} from now on."


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
            lines.append(f"{plan.tasks[task]}, {arm}: {' + '.join(terms)}")
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
