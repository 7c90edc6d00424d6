"""The invariants of a plan, checked wherever one is built; each part of a line checks itself."""

from typing import TYPE_CHECKING

import numpy as np

from banditree.errors import InvalidInput, check_texts, invalid
from banditree.plans.gives import TreatAsLeader, TreatByState
from banditree.plans.links import reached, reversed_links

if TYPE_CHECKING:
    from banditree.plans.plan import Plan


MOST_WASHOUT = 1_000_000  # A case of no plan has more rounds.


def check_plan(plan: "Plan") -> None:
    """Raise, naming the line as a person sees it, unless the plan can be followed."""
    _check_names(plan)
    _check_contexts(plan)
    _check_states(plan)
    for row, line in enumerate(plan.lines):
        _check_line(plan, row, line)
    _check_points(plan)
    _check_hand_over(plan)
    _check_links(plan)
    if plan.on_harm is not None and (plan.theta is not None or plan.outcomes_choose):
        raise InvalidInput("A rule about harm is for plans without contexts, at whose ends nobody else chooses.")
    _check_pages(plan)
    _check_washout(plan)


def _check_washout(plan: "Plan") -> None:
    if not 0 <= plan.washout <= MOST_WASHOUT:
        raise invalid("washout", f"from 0 to {MOST_WASHOUT:,} rounds", plan.washout)
    if plan.washout and (plan.theta is not None or plan.outcomes_choose):
        raise InvalidInput("washout must be omitted with contexts, and where the outcomes so far choose at an end.")


def _check_pages(plan: "Plan") -> None:
    """Every page can be followed as a plan of its own, and gives none of the arms that it is without."""
    from banditree.plans.pages import given_arms, page

    if plan.pages and (plan.theta is not None or plan.outcomes_choose):
        raise InvalidInput("A plan with contexts, or at whose ends the outcomes choose, has no pages. Omit them.")
    if set(plan.missing) & given_arms(plan) or not set(plan.missing) <= set(plan.arms):
        raise invalid("the missing arms of a page", "arms of the plan that it never gives", plan.missing)
    for number, own in enumerate(plan.pages, start=2):
        if not own.missing:
            raise invalid(f"the missing arms of page {number}", "at least one", own.missing)
        page(plan, number)


def _fail(plan: "Plan", row: int, problem: str) -> InvalidInput:
    unit = "Line" if plan.form == "lines" else "Box"
    return InvalidInput(f"{unit} {row + 1} of the plan {problem}. The plan cannot be followed; build it again.")


def _check_names(plan: "Plan") -> None:
    if not plan.lines:
        raise invalid("the number of lines", "at least 1", 0)
    if not plan.horizon >= 1:
        raise invalid("horizon", "at least 1", plan.horizon)
    for word, names in (("arms", plan.arms), ("tasks", plan.tasks)):
        check_texts(word, names)
        if len(set(names)) < len(names):
            raise InvalidInput(f"{word} must have different names.")
    check_texts("the words of a plan", [word for word in vars(plan.vocabulary).values() if word is not None])


def _check_line(plan: "Plan", row: int, line: object) -> None:
    from banditree.plans.line import Line

    assert isinstance(line, Line)
    ends = [target for target in line.targets if isinstance(target, Line)]
    problem = line.counts.check(plan, line.gives)
    for one in (line, *ends):
        problem = problem or one.gives.check(plan)
        named = () if one.task is None else (one.task,)
        unknown = [task for task in (*named, *(one.possible or ())) if task not in plan.task_numbers]
        problem = problem or (f"names the task {unknown[0]!r}, which the plan does not have" if unknown else "")
    for target in line.targets:
        if isinstance(target, int) and not 1 <= target <= len(plan.lines):
            problem = problem or f"leads to {target}, which does not exist"
    if problem:
        raise _fail(plan, row, problem)


def _check_points(plan: "Plan") -> None:
    """All scores have as many bins, the safety rule's too."""
    by_context = any(points.looks_at_context for points in plan.points)
    sizes = {len(points.bins) for points in plan.points}
    if len(sizes) > 1:
        raise invalid("the points of the lines", "as many on every line that keeps a score", sorted(sizes))
    if plan.rule is None:
        return
    if by_context and not plan.rewards.counts:
        raise invalid("the safety rule", "omitted where points of numbers look at the context", plan.rule)
    wanted = 2 if by_context else max(sizes, default=len(plan.rule.points))
    if len(plan.rule.points) != wanted:
        raise invalid("the points of the safety rule", f"{wanted}, one per bin", plan.rule.points)
    if by_context and max(map(abs, plan.rule.points)) > max(plan.points[0].bins):
        raise invalid("the points of the safety rule", "no larger than those of the lines", plan.rule.points)


def _check_states(plan: "Plan") -> None:
    """Where one line treats by state, all do, and nothing is there that does not know of states."""
    ends = [target for line in plan.lines for target in line.targets if not isinstance(target, int)]
    by_state = [isinstance(line.gives, TreatByState | TreatAsLeader) for line in (*plan.lines, *ends)]
    if not any(by_state):
        return
    if not all(by_state):
        raise InvalidInput("Where one line of a plan treats by state, all lines and ends must.")
    others = {
        "a safety rule": plan.rule,
        "a rule about harm": plan.on_harm,
        "a fallback": plan.fallback,
        "contexts": plan.theta,
        "pages": plan.pages,
        "a washout": plan.washout,
    }
    if found := [name for name, value in others.items() if value is not None and value != 0 and value != ()]:
        hint = " Watch lines that start again do what a safety rule does." if plan.rule is not None else ""
        raise InvalidInput(f"A plan with states cannot have {found[0]}. Omit it.{hint}")
    check_texts("states", plan.states)


def _check_contexts(plan: "Plan") -> None:
    """Predictions and rules by kind fit the plan."""
    n_tasks, n_arms, d = len(plan.tasks), len(plan.arms), len(plan.features)
    if plan.theta is not None and plan.theta.shape != (n_tasks, n_arms, d):
        raise invalid("theta", f"of shape {(n_tasks, n_arms, d)}", plan.theta.shape)
    if plan.kind_rules and len(plan.kind_rules) != n_tasks:
        raise invalid("the rules by kind", f"{n_tasks}, one per task, or none", len(plan.kind_rules))
    for rule in plan.kind_rules:
        if rule is not None and (rule.feature.max() >= d or rule.arm.max() >= n_arms or rule.arm.min() < -1):
            raise invalid("a rule by kind", "about features and arms of the plan", rule.arm.tolist())
        if rule is not None and (rule.arm[rule.feature < 0] < 0).any():
            raise invalid("a rule by kind", "an arm at every leaf", rule.arm.tolist())


def _check_hand_over(plan: "Plan") -> None:
    """A plan with a fallback says to whom a case goes; one without hands nothing over."""
    fallback, n_tasks, n_arms = plan.fallback, len(plan.tasks), len(plan.arms)
    if fallback is None:
        if plan.rule is not None and plan.rule.hands_over:
            raise InvalidInput("The safety rule hands over, and the plan does not say to whom. Give it a fallback.")
        return
    if fallback.starts and plan.washout:
        raise invalid("washout", "0 where line 1 may be begun only a few times", plan.washout)
    if plan.theta is not None:
        raise InvalidInput("A plan whose ends depend on the context has no fallback and no ends between several arms.")
    if fallback.arm is not None and fallback.arm not in plan.arm_numbers:
        raise InvalidInput(f"The fallback names the arm {fallback.arm!r}, which the plan does not have.")
    if plan.hand_over == 0:
        raise invalid("the line that hands over", "behind the first", 1)
    means = fallback.means
    if bool(means) != bool(fallback.odds):
        raise invalid("the means of a fallback", "given exactly where it has odds", len(means))
    if means and ([len(row) for row in means] != [n_arms] * n_tasks or not np.isfinite(means).all()):
        raise invalid("the means of a fallback", f"finite numbers of shape {(n_tasks, n_arms)}", len(means))


def _check_links(plan: "Plan") -> None:
    """Every line can be reached; from each one the plan can come to rest; numbers fall only where a path returns."""
    everything = set(range(plan.n_places))
    by_rule = [plan.hand_over] if plan.hands_over_anywhere and plan.hand_over is not None else []
    if unreached := everything - reached([0, *by_rule], plan.links):
        raise _fail(plan, min(unreached), "cannot be reached from the first")
    # A score or a fixed test is left with probability one, so a plan that can come to rest does, and one that cannot
    # starts again for ever.
    rests = [row for row in everything if plan.rows[row].counts.rests]
    if endless := everything - reached(rests, reversed_links(plan.links)):
        raise _fail(plan, min(endless), "never reaches an end that uses an arm for good, nor a watch line")
    for row, children in enumerate(plan.links[: len(everything)]):
        for child in children:
            if child <= row and row not in reached([child], plan.links):
                raise _fail(plan, row, f"leads to {child + 1}, which has a lower number without being a return")
