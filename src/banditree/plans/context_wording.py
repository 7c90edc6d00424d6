"""The sentences of a contextual plan about contexts: the rules of its kinds, how outcomes fit them, predictions."""

import math
from collections.abc import Iterator

from banditree.plans.kind_rule import KindRule
from banditree.plans.plan import Form, Plan
from banditree.plans.points import Fit, PromiseTable
from banditree.plans.state_wording import state_sentences
from banditree.plans.words import number
from banditree.tasks.contexts import INTERCEPT
from banditree.tasks.rewards import Link


def context_notes(plan: Plan) -> list[list[str]]:
    """What a contextual plan says below its lines, in parts: its rules, how outcomes fit, and its predictions."""
    return [*rule_notes(plan), lines] if (lines := prediction_lines(plan)) else rule_notes(plan)


def note_sentences(plan: Plan) -> tuple[str, ...]:
    """The tables by state, the rules and how outcomes fit, a sentence each, as they stand below a picture."""
    parts = rule_notes(plan)
    return (
        *state_sentences(plan),
        *(f"{part[0]} {'; '.join(map(str.strip, part[1:]))}." if part[1:] else part[0] for part in parts),
    )


def rule_notes(plan: Plan) -> list[list[str]]:
    """What a contextual plan says about its rules and its points, in parts."""
    if plan.theta is None:
        return []
    parts = [rule_lines(plan, task) for task in treated(plan) if plan.kind_rules and plan.kind_rules[task] is not None]
    if treated(plan) and not parts and plan.form is Form.LINES:
        words = plan.vocabulary
        highest = words.say(
            "To treat as {a_task}: {to_give} the {arm} with its highest prediction.", a_task=words.article("task")
        )
        parts.append([highest])
    if any(isinstance(points, Fit) for points in plan.points):
        parts.append([fit_sentence(plan)])
    if any(promising(plan, task) for task in treated(plan)):
        parts.append([promise_sentence(plan)])
    return parts


def promising(plan: Plan, task: int) -> bool:
    """Whether some points are by what treating as a task promises."""
    tables = [row.counts.points for row in plan.rows if row.gives.task == plan.tasks[task]]
    return any(isinstance(table, PromiseTable) and bool(table.cuts) for table in tables)


def promise_sentence(plan: Plan) -> str:
    """What "promised" means, once for the whole plan."""
    words = plan.vocabulary
    if plan.kind_rules:
        return words.say(
            "Promised: the chance of {name} that stands behind the {arm} in the rule.", name=words.quoted(words.success)
        )
    return words.say(
        "Promised: the chance of {name} by the prediction of the {task} that is treated as, for the {arm} given at "
        "that context. The session and the console compute it.",
        name=words.quoted(words.success),
    )


def treated(plan: Plan) -> list[int]:
    """The tasks that some box treats a case as."""
    return sorted({plan.task_numbers[row.gives.task] for row in plan.rows if row.gives.task is not None})


def fit_sentence(plan: Plan) -> str:
    """What "fit" means, once for the whole plan."""
    words, most = plan.vocabulary, max(one.most for one in plan.points if isinstance(one, Fit))
    meaning = words.say(
        "Fit of one {task} over another: the natural logarithm of the chance of the outcome by the prediction of the "
        "first, divided by its chance by that of the second, for the {arm} given at that context; in the points named, "
        "rounded to a whole number (halves go up), at most {most} up or down. The session and the console compute it.",
        most=most,
    )
    if plan.rewards.has_range:
        return meaning
    deviation = words.digits(f"{plan.rewards.sigma:g}")
    noise = words.say(
        "Outcomes are normal around the prediction, with standard deviation {deviation}.", deviation=deviation
    )
    return f"{meaning} {noise}"


def rule_lines(plan: Plan, task: int) -> list[str]:
    """The rule of a task, one line per leaf: "Treat as early:", "  price at most 2.1: B", "  otherwise: A".

    The leaves of the arm that is given at most of them are the last line; where points are by what is promised, every
    leaf has a line of its own, with its promise.
    """
    rule = plan.kind_rules[task]
    assert rule is not None
    if promising(plan, task):
        return _promising_lines(plan, task, rule)
    leaves = [(path, int(rule.arm[leaf])) for path, leaf in _leaves(rule)]
    arms = [arm for _, arm in leaves]
    usual = max(reversed(arms), key=arms.count)
    words, rows = plan.vocabulary, [(_when(plan, path), arm) for path, arm in leaves if arm != usual]
    last = words.say("otherwise") if rows else words.say("always")
    return [
        words.say("Treat as {kind}:", kind=words.quoted(plan.tasks[task])),
        *(f"  {when}: {words.quoted(plan.arms[arm])}" for when, arm in rows),
        f"  {last}: {words.quoted(plan.arms[usual])}",
    ]


def _when(plan: Plan, path: dict[int, tuple[float, float]]) -> str:
    """The conditions on the way to a leaf."""
    also = plan.vocabulary.language.meant("between conditions", " and ")
    return also.join(_condition(plan, feature, *ends) for feature, ends in path.items())


def _promising_lines(plan: Plan, task: int, rule: KindRule) -> list[str]:
    """The rule of a task with what each of its leaves promises."""
    words, leaves = plan.vocabulary, list(_leaves(rule))
    lines = [words.say("Treat as {kind}:", kind=words.quoted(plan.tasks[task]))]
    last = words.say("otherwise") if len(leaves) > 1 else words.say("always")
    for number_, (path, leaf) in enumerate(leaves, 1):
        lines.append(
            words.say(
                "  {when}: {name} (promises {chance})",
                when=_when(plan, path) if number_ < len(leaves) else last,
                name=words.quoted(plan.arms[rule.arm[leaf]]),
                chance=words.percent(number(round(100 * float(rule.promise[leaf]), 6))),
            )
        )
    return lines


def _leaves(rule: KindRule) -> Iterator[tuple[dict[int, tuple[float, float]], int]]:
    """(feature: (above, at most), leaf) of every leaf of a rule, in reading order."""
    todo: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while todo:
        node, path = todo.pop()
        feature, cut = int(rule.feature[node]), float(rule.cut[node])
        if feature < 0:
            yield path, node
            continue
        above, at_most = path.get(feature, (-math.inf, math.inf))
        todo.append((int(rule.high[node]), {**path, feature: (max(above, cut), at_most)}))
        todo.append((int(rule.low[node]), {**path, feature: (above, min(at_most, cut))}))


def _condition(plan: Plan, feature: int, above: float, at_most: float) -> str:
    """Where a feature is, in its own units; categories by name."""
    words, asked = plan.vocabulary, plan.features[feature]
    name = words.quoted(asked.name)
    if asked.level is not None:
        level = words.quoted(asked.level)
        if at_most < math.inf:
            return words.say("{name} is not {level}", name=name, level=level)
        return words.say("{name} is {level}", name=name, level=level)
    low, high = words.number(above) if above > -math.inf else "", words.number(at_most) if at_most < math.inf else ""
    if low and high:
        return words.say("{name} above {low} and at most {high}", name=name, low=low, high=high)
    if low:
        return words.say("{name} above {low}", name=name, low=low)
    return words.say("{name} at most {high}", name=name, high=high)


def _title(plan: Plan) -> str:
    """What the predictions are of, and how a sum over features becomes a chance where it is not one itself."""
    words = plan.vocabulary
    if plan.rewards.link is Link.LINEAR:
        return words.say("Predictions of the {reward} (the first {arm} among equals):")
    return words.say(
        "Predictions of the {reward} (the first {arm} among equals), where a sum s stands for a chance of {name} of "
        "1 / (1 + exp(-s)):",
        name=words.quoted(words.success),
    )


def prediction_lines(plan: Plan) -> list[str]:
    """One line per task and arm: the predicted reward as a sum over the features of the context; none if not needed."""
    if plan.theta is None:
        return []
    words = plan.vocabulary
    ruled = [task for task, rule in enumerate(plan.kind_rules) if rule is not None]
    fits = [points for points in plan.points if isinstance(points, Fit)]
    compared = [plan.task_numbers[task] for fit in fits for task in (fit.favoured, fit.other)]
    used = sorted((set(treated(plan)) - set(ruled)) | set(compared))
    if not used:
        return []
    lines = [_title(plan)]
    for task in used:
        for k, arm in enumerate(plan.arms):
            terms = [
                words.number(weight) if feature.name == INTERCEPT else f"{words.number(weight)} * {feature}"
                for weight, feature in zip(plan.theta[task, k], plan.features, strict=True)
            ]
            lines.append(f"{words.quoted(plan.tasks[task])}, {words.quoted(arm)}: {' + '.join(terms)}")
    return lines
