"""The invariants of a plan, checked wherever one is built."""

from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.errors import InvalidInput, check_texts, invalid
from banditree.plans.by_context import PromiseTable
from banditree.plans.links import reached, reversed_links
from banditree.tasks.arrays import BoolArray

if TYPE_CHECKING:
    from banditree.plans.plan import Plan

LARGEST = 1_000_000  # Nobody counts further, and what is computed about a score takes memory in proportion.


def check_plan(plan: "Plan") -> None:
    """Raise, naming the box as a person sees it, unless the arrays describe a plan that can be followed."""
    _check_shapes(plan)
    _check_boxes(plan)
    _check_contexts(plan)
    _check_hand_over(plan)
    _check_links(plan)
    _check_lines(plan)


def _fail(box: int | np.integer, problem: str) -> InvalidInput:
    return InvalidInput(f"Box {int(box) + 1} of the plan {problem}. The plan cannot be followed; build it again.")


def _check_shapes(plan: "Plan") -> None:
    n, n_tasks, n_arms = len(plan.kind), len(plan.tasks), len(plan.arms)
    if n == 0:
        raise invalid("the number of boxes", "at least 1", 0)
    if not plan.horizon >= 1:
        raise invalid("horizon", "at least 1", plan.horizon)
    check_texts("arms", plan.arms)
    check_texts("tasks", plan.tasks)
    check_texts("the words of a plan", vars(plan.vocabulary).values())
    if plan.grading is not None and plan.grading.shape != (n,):
        raise invalid("grading", f"of shape ({n},), as kind is", plan.grading.shape)
    for name in ("arm", "low", "high", "pulls", "threshold", "floor", "ceil", "cap", "task"):
        if getattr(plan, name).shape != (n,):
            raise invalid(name, f"of shape ({n},), as kind is", getattr(plan, name).shape)
    bins = plan.points.shape[1] if plan.points.ndim == 2 else 0
    if plan.points.shape != (n, bins) or plan.cuts.shape != (n, max(bins - 1, 0)):
        raise invalid("cuts and points", f"of shapes ({n}, B - 1) and ({n}, B)", plan.points.shape)
    in_rule = bins if plan.grading is None else 2  # beside points that look at the context, those of 0 and 1
    if plan.rule is not None and bins > 1 and len(plan.rule.points) != in_rule:
        raise invalid("the points of the safety rule", f"{in_rule}, one per bin", plan.rule.points)
    if plan.among is not None and plan.among.shape != (n, n_arms):
        raise invalid("among", f"of shape {(n, n_arms)}", plan.among.shape)
    if plan.rates is not None and plan.rates.shape != (n, n_arms):
        raise invalid("rates", f"of shape {(n, n_arms)}", plan.rates.shape)
    if plan.kinds is not None and (plan.kinds.shape != (n_tasks, n_arms) or not np.isfinite(plan.kinds).all()):
        raise invalid("kinds", f"finite means of shape {(n_tasks, n_arms)}", plan.kinds.shape)
    if plan.survivors is not None and plan.survivors.shape != (n, (n_tasks + 7) // 8):
        raise invalid("survivors", "one row of bits per box", plan.survivors.shape)
    if plan.theta is not None and plan.theta.shape != (n_tasks, n_arms, len(plan.features)):
        raise invalid("theta", f"of shape {(n_tasks, n_arms, len(plan.features))}", plan.theta.shape)


def _check_boxes(plan: "Plan") -> None:
    from banditree.plans.plan import HAND_OVER, NONE, SEVERAL, BoxKind

    n, n_tasks, n_arms = plan.n_boxes, len(plan.tasks), len(plan.arms)
    fixed, score, exploit, watch = (plan.kind == kind for kind in BoxKind)

    def require(good: Any, where: BoolArray, problem: str) -> None:
        if (bad := np.flatnonzero(where & ~good)).size:
            raise _fail(bad[0], problem)

    def number_below(values: np.ndarray, limit: int) -> BoolArray:
        return (values >= 0) & (values < limit)

    everywhere = np.ones(n, dtype=bool)
    require(fixed | score | exploit | watch, everywhere, "is of an unknown kind")
    by_context = (plan.arm == NONE) & (plan.task != NONE) & (plan.theta is not None)
    require(number_below(plan.arm, n_arms) | by_context, ~exploit & ~fixed, "names an arm that does not exist")
    require(number_below(plan.arm, n_arms), fixed, "names an arm that does not exist")
    require(number_below(plan.low, n), ~exploit, "leads to no box")
    require(number_below(plan.high, n), fixed | score, "leads to no box")
    require((plan.high == NONE) & (plan.ceil == 0), watch, "watches a score and yet leaves above")
    require((plan.low == NONE) & (plan.high == NONE), exploit, "uses an arm for good and yet leads on")
    require(number_below(plan.task, n_tasks) | (plan.task == NONE), everywhere, "names an unknown task")
    special = np.isin(plan.arm, (HAND_OVER, SEVERAL))
    require(number_below(plan.arm, n_arms) | by_context | special, exploit, "says neither an arm nor a task to exploit")
    require(plan.pulls >= 1, fixed, "has fewer than one pull")
    require(np.isfinite(plan.threshold), fixed, "has no finite threshold")
    if plan.rewards.counts:
        require(plan.threshold == np.round(plan.threshold), fixed, "compares a count with a fraction")
    both_signs = (plan.points.min(axis=1, initial=0) < 0) & (plan.points.max(axis=1, initial=0) > 0)
    require(both_signs, score | watch, "has points of one sign only, so that its score can never leave on one side")
    counted = np.column_stack([plan.floor, plan.ceil, plan.cap, np.abs(plan.points).max(axis=1, initial=0)])
    require(counted.max(axis=1) <= LARGEST, score | watch, f"counts further than {LARGEST:,}")
    require(plan.floor >= 1, score | watch, "has a score that leaves at once")
    require(plan.ceil >= 1, score, "has a score that leaves at once")
    graded = np.zeros(n, dtype=bool) if plan.grading is None else plan.grading != NONE
    require((np.diff(plan.cuts, axis=1) > 0).all(axis=1) | graded, score | watch, "has cuts that do not increase")
    require((plan.cap >= 0) & (watch | (plan.cap == 0)), everywhere, "caps a score that is not a watched one")


def _check_contexts(plan: "Plan") -> None:
    """Rules by kind and gradings fit the plan."""
    from banditree.plans.plan import NONE

    n_tasks, n_arms, d = len(plan.tasks), len(plan.arms), len(plan.features)
    if plan.kind_rules and len(plan.kind_rules) != n_tasks:
        raise invalid("the rules by kind", f"{n_tasks}, one per task, or none", len(plan.kind_rules))
    for rule in plan.kind_rules:
        if rule is not None and (rule.feature.max() >= d or rule.arm.max() >= n_arms or rule.arm.min() < NONE):
            raise invalid("a rule by kind", "about features and arms of the plan", rule.arm.tolist())
        if rule is not None and (rule.arm[rule.feature < 0] < 0).any():
            raise invalid("a rule by kind", "an arm at every leaf", rule.arm.tolist())
    if plan.grading is None:
        return
    if plan.rule is not None and not plan.rewards.counts:
        raise invalid("the safety rule", "omitted where points of numbers look at the context", plan.rule)
    if plan.rule is not None and max(map(abs, plan.rule.points)) > min(one.most for one in plan.gradings):
        raise invalid("the points of the safety rule", "no larger than those of the lines", plan.rule.points)
    if plan.theta is None or not plan.rewards.has_likelihood:
        raise invalid("points by how well an outcome fits", "omitted without predictions of every outcome", "some")
    for box in range(plan.n_boxes):
        if not NONE <= plan.grading[box] < len(plan.gradings):
            raise _fail(box, "has points of an unknown kind")
        grading = plan.grading_of(box)
        if grading is None:
            continue
        if isinstance(grading, PromiseTable):
            _check_table(plan, box, grading)
        elif max(grading.favoured, grading.other) >= n_tasks or min(grading.favoured, grading.other) < 0:
            raise _fail(box, "compares tasks that do not exist")
        if tuple(plan.points[box].tolist()) != grading.points:
            raise _fail(box, "has other points than those that its outcomes are compared by")


def _check_table(plan: "Plan", box: int, table: PromiseTable) -> None:
    """Points by what was promised are of 0/1 outcomes, and where something is promised."""
    from banditree.plans.plan import NONE

    if not plan.rewards.counts:
        raise _fail(box, "has a table of points, which is for 0/1 rewards")
    if table.cuts and plan.arm[box] != NONE:
        raise _fail(box, "has points by what was promised, and treats as no task that promises")


def _check_hand_over(plan: "Plan") -> None:
    """A plan with a fallback has one box that hands over, behind the first, and a plan without one has none."""
    from banditree.plans.plan import HAND_OVER, NONE, SEVERAL

    several = np.flatnonzero(plan.arm == SEVERAL)
    if several.size and (plan.among is None or plan.among[several].sum(axis=1).min() < 2):
        raise _fail(several[0], "is an end between several arms, and does not name two of them")
    if plan.rates is not None and plan.among is not None and not np.isfinite(plan.rates[plan.among]).all():
        raise invalid("rates", "a number for every arm of an end between several", "others")
    if (plan.rates is not None) != (plan.worth >= 1):
        raise invalid("worth", "at least 1 exactly where rates are expected of some ends", plan.worth)
    if plan.theta is not None and (several.size or plan.fallback is not None):
        raise InvalidInput("A plan whose ends depend on the context has no fallback and no ends between several arms.")
    if (plan.kinds is not None) != (plan.fallback is not None and plan.fallback.odds > 0):
        raise invalid("kinds", "given exactly where a fallback has odds", plan.fallback)
    boxes = np.flatnonzero(plan.arm == HAND_OVER)
    if plan.fallback is None:
        if boxes.size:
            raise _fail(boxes[0], "hands over, and the plan does not say to whom")
        if plan.rule is not None and plan.rule.hands_over:
            raise InvalidInput("The safety rule hands over, and the plan does not say to whom. Give it a fallback.")
        return
    if boxes.size != 1 or boxes[0] == 0:
        raise invalid("the boxes that hand over", "one, behind the first, in a plan with a fallback", boxes.tolist())
    if not (plan.fallback.arm == NONE or 0 <= plan.fallback.arm < len(plan.arms)):
        raise invalid("the arm of the fallback", f"one of the {len(plan.arms)} arms", plan.fallback.arm)


def _check_links(plan: "Plan") -> None:
    """Every box can be reached; from each one the plan can come to rest; numbers fall only where a path returns."""
    from banditree.plans.plan import BoxKind

    everything = set(range(plan.n_boxes))
    by_rule = [plan.rule_target] if (plan.kind[plan.arm >= 0] == BoxKind.EXPLOIT).any() else []
    if plan.kinds is not None and plan.hand_over is not None:
        by_rule.append(plan.hand_over)
    if unreached := everything - reached([0, *by_rule], plan.links):
        raise _fail(min(unreached), "cannot be reached from box 1")
    # A score or a fixed test is left with probability one, so a plan that can come to rest does, and one that cannot
    # starts again for ever.
    rests = np.flatnonzero((plan.kind == BoxKind.EXPLOIT) | (plan.kind == BoxKind.WATCH)).tolist()
    if endless := everything - reached(rests, reversed_links(plan.links)):
        raise _fail(min(endless), "never reaches a box that uses an arm for good, nor a watch line")
    for box, children in enumerate(plan.links):
        for child in children:
            if child <= box and box not in reached([child], plan.links):
                raise _fail(box, f"leads to box {child + 1}, which has a lower number without being a return")


def _check_lines(plan: "Plan") -> None:
    """A protocol is lines that score, then its ends, at most one per arm."""
    from banditree.plans.plan import BoxKind, Form

    if plan.form is not Form.LINES:
        return
    if (tests := np.flatnonzero(plan.kind == BoxKind.FIXED)).size:
        raise _fail(tests[0], "is a test of a fixed length, which a protocol does not have")
    is_end = plan.kind == BoxKind.EXPLOIT
    if (early := np.flatnonzero(is_end[:-1] & ~is_end[1:])).size:
        raise _fail(early[0], "is an end before the last line of the protocol")
    ends = [(int(plan.arm[end]), int(plan.task[end]), int(end)) for end in np.flatnonzero(is_end)]
    rates = [() if plan.rates is None else tuple(plan.rates[end].tolist()) for _arm, _task, end in ends]
    options = {
        (arm, task if arm == -1 else -1, *plan.arms_at(end).tolist(), repr(own))
        for (arm, task, end), own in zip(ends, rates, strict=True)
    }
    if len(options) < len(ends):
        raise _fail(ends[0][2], "is one of two ends with the same arm in a protocol")
