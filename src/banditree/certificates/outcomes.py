"""What each box of a plan does under each task: chances of its outcomes and the cost of a pull, or bounds of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from banditree.certificates.over_contexts import (
    Contextual,
    best_options,
    context_bins,
    contextual,
    looks_at_contexts,
)
from banditree.errors import InvalidInput
from banditree.plans.counts import Counting, Rounds
from banditree.plans.gives import HAND_OVER, NONE, SEVERAL
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.plans.points import rare_outcome_notes
from banditree.plans.wording import unit
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import N_AVERAGED, ContextKind
from banditree.tasks.reward_cells import cells_of
from banditree.tasks.rewards.base import Bounds

SAME_VALUE = 1e-12  # Two arms whose means differ by less are equally good.


THOMPSON_REMARK = (
    "Where Thompson sampling chooses, its loss is an estimate: within 10% of simulations on average, often 15% to 35% "
    "off for a single task, and up to half where few rounds are left to it."
)


SEVERAL_REMARK = (
    "What finding the best of several loses is estimated from 8 simulated runs for each task and end: the loss of a "
    "single task may be several times as large, or as small."
)
DRAWN_REMARK = "A case that settled on the best of several of another task is taken to find its own in {odds} rounds."
ODDS_REMARK = (
    "Hand-overs by the odds are counted as the most they can be: a case of a known task is handed over by them with a "
    "chance of at most {share:.2g}%, plus the chance that it settles where its task hardly ever leads. Hand-overs of "
    "cases that are none of the tasks are not part of these numbers."
)


class Claim(StrEnum):
    """What a number is: exact for these means, or at least as large as the truth.

    AS_IF_GAUSSIAN: exact if the contexts, of which only the moments are known, are normal. UP_TO_THOMPSON: exact up
    to the ends at which Thompson sampling chooses, whose loss from there on is `theory.thompson`'s estimate;
    BOUND_UP_TO_THOMPSON: a bound up to there. ESTIMATE: with ends at which the best of several is found, whose loss
    is simulated a few times: the whole may be half or twice as much.
    """

    EXACT = "exact"
    UP_TO_THOMPSON = "exact, with an estimate of what Thompson sampling loses"
    AS_IF_GAUSSIAN = "exact as if contexts were Gaussian"
    UPPER_BOUND = "upper bound"
    BOUND_UP_TO_THOMPSON = "upper bound, with an estimate of what Thompson sampling loses"
    ESTIMATE = "estimate"
    BOUND_WITH_ESTIMATE = "estimate for the least favourable rates"

    @property
    def is_bound(self) -> bool:
        """Whether it is computed from bounds of what the boxes do."""
        return self in (Claim.UPPER_BOUND, Claim.BOUND_UP_TO_THOMPSON, Claim.BOUND_WITH_ESTIMATE)

    @property
    def hedge(self) -> str:
        """What stands before the number in a sentence: nothing only where it is exact.

        >>> f"It loses {Claim.UP_TO_THOMPSON.hedge}2.31."
        'It loses about 2.31.'
        """
        return {Claim.EXACT: "", Claim.UPPER_BOUND: "at most "}.get(self, "about ")


@dataclass(frozen=True, eq=False)
class Outcomes:
    """M tasks, N boxes, B outcomes: bounds of the chances (equal where the distribution is known) and the costs.

    least, most: (M, N, B), for the two sides of a FIXED box, low first, or the bins of one pull of a score.
    cost: (M, N), of one round at a box. wrong_arm: (M, N), an end or a watch line whose option is not the best.
    wrong_task: (M, N), or None if one of those names no task. reasons: why the numbers are bounds; empty if exact.
    by_moments: whether contexts of which only the moments are known were taken for normal. by_thompson, of_several:
    whether the loss at some ends is an estimate, where Thompson sampling chooses or the best of several is found.
    """

    least: FloatArray
    most: FloatArray
    cost: FloatArray
    wrong_arm: BoolArray
    wrong_task: BoolArray | None
    reasons: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    by_moments: bool = False
    by_thompson: bool = False
    of_several: bool = False

    @property
    def claim(self) -> Claim:
        """Whether what is computed from these outcomes is exact."""
        if self.of_several:
            return Claim.BOUND_WITH_ESTIMATE if self.reasons else Claim.ESTIMATE
        if self.by_thompson:
            return Claim.BOUND_UP_TO_THOMPSON if self.reasons else Claim.UP_TO_THOMPSON
        if self.reasons:
            return Claim.UPPER_BOUND
        return Claim.AS_IF_GAUSSIAN if self.by_moments else Claim.EXACT


def box_outcomes(plan: Plan, collection: Collection, over: Contextual | None = None) -> Outcomes:
    """What all boxes of `plan` do under all tasks of `collection`, which must have the same arms and rewards."""
    _check_match(plan, collection)
    machine = machine_of(plan)
    M, N, B = collection.n_tasks, machine.n_rows, max(2, machine.points.shape[1])
    least, most = np.zeros((M, N, B)), np.zeros((M, N, B))
    if over is None and collection.theta is not None:
        over = contextual(plan, collection)
    for boxes, (low, high) in _chances(plan, collection, over):
        least[:, boxes, : low.shape[2]], most[:, boxes, : low.shape[2]] = low, high
    rest = ((machine.kind == Counting.EXPLOIT) & (machine.arm >= NONE)) | (machine.kind == Counting.WATCH)
    cost, least_cost = _costs(plan, collection, over)
    at_estimates = cost
    if collection.is_estimated:
        certain = None if over is None else over if over.margin is None else contextual(plan, collection, certain=True)
        at_estimates, least_cost = _costs(plan, collection, certain, certain=True)
    # A rate above rounding error means another option is better; for estimates this is asked of the estimates.
    settled = rest | (machine.arm == HAND_OVER) & (machine.fallback != NONE)
    wrong_arm = (at_estimates > least_cost[:, None] + SAME_VALUE) & settled
    wrong_task = None
    if (machine.task[rest] != NONE).all():
        named = np.array([plan.tasks[task] if task != NONE else "" for task in machine.task])
        wrong_task = (named[None, :] != np.array(collection.tasks)[:, None]) & rest
    by_moments = collection.contexts is not None and collection.contexts.kind is ContextKind.MOMENTS
    reasons, remarks = _reasons(plan, collection), _context_remarks(plan, collection)
    thompson = plan.outcomes_choose
    remarks = (*remarks, *_remarks_on_others(plan), *rare_outcome_notes(plan.points))
    estimated = (by_moments, thompson, machine.worth > 0)
    return Outcomes(least, most, cost, wrong_arm, wrong_task, reasons, remarks, *estimated)


def _chances(plan: Plan, collection: Collection, over: Contextual | None) -> Iterator[tuple[IntArray, Bounds]]:
    """(boxes, bounds) of all boxes that test or watch."""
    machine = machine_of(plan)
    fixed = np.flatnonzero((machine.kind == Counting.FIXED) & np.isfinite(machine.threshold))
    pauses = np.flatnonzero((machine.kind == Counting.FIXED) & np.isinf(machine.threshold))
    scored = np.flatnonzero((machine.kind == Counting.SCORE) | (machine.kind == Counting.WATCH))
    looking = looks_at_contexts(plan, scored)
    plain = np.setdiff1d(scored, looking)
    if fixed.size:
        yield fixed, _fixed_chances(plan, collection, fixed)
    if pauses.size:  # what they give is not counted
        always = np.tile([1.0, 0.0], (collection.n_tasks, pauses.size, 1))
        yield pauses, (always, always)
    if plain.size:
        yield plain, _bin_chances(plan, collection, plain)
    if looking.size:
        assert over is not None
        yield looking, context_bins(plan, looking, over)


def _check_match(plan: Plan, collection: Collection) -> None:
    if plan.arms != collection.arms:
        raise InvalidInput(
            f"The plan is about the arms {', '.join(plan.arms[:5])}... and the collection about "
            f"{', '.join(collection.arms[:5])}... Certify a plan with a collection of the same arms in the same order."
        )
    if not plan.rewards.matches(collection.rewards):
        raise InvalidInput(
            f"The plan is for {plan.rewards.family} rewards and the collection has {collection.rewards.family} ones. "
            "Certify a plan with the rewards it was made for."
        )
    if (plan.theta is None) != (collection.theta is None):
        raise InvalidInput(
            "The plan and the collection must both have contexts, or neither. Certify with the collection of the plan."
        )


def _reasons(plan: Plan, collection: Collection) -> tuple[str, ...]:
    reasons = []
    if collection.is_estimated:
        slopes = "" if collection.theta_error is None else ", and so are the slopes within theirs"
        reasons.append(
            f"the estimated means are within {collection.radius.max():.3g}{slopes}, and every {unit(plan)} takes its "
            "worst means"
        )
    totals = any(isinstance(line.counts, Rounds) for line in plan.lines)
    reasons += collection.rewards.doubts(cells_of(collection, np.zeros(1, dtype=np.int64)), totals)
    return tuple(reasons)


def _fixed_chances(plan: Plan, collection: Collection, boxes: np.ndarray) -> Bounds:
    """Bounds (M, boxes, 2) of the chances that a total is at most, or above, the threshold."""
    machine = machine_of(plan)
    cells = cells_of(collection, machine.arm[boxes])
    return collection.rewards.totals(cells, machine.pulls[boxes], machine.threshold[boxes])


def _bin_chances(plan: Plan, collection: Collection, boxes: np.ndarray) -> Bounds:
    """Bounds (M, boxes, B) of the chances of the bins of one reward."""
    machine = machine_of(plan)
    return collection.rewards.bins(cells_of(collection, machine.arm[boxes]), machine.cuts[boxes])


def _costs(
    plan: Plan, collection: Collection, over: Contextual | None, certain: bool = False
) -> tuple[FloatArray, FloatArray]:
    """What a round costs at each box (M, N), at the worst means unless `certain`; and the least of any option (M,)."""
    machine = machine_of(plan)
    by_context = machine.arm == NONE
    arm = np.where(by_context, 0, machine.arm)
    if over is None:
        radius = np.zeros_like(collection.radius) if certain else collection.radius
        least, most = collection.worth_within(radius)
        cost = _arm_gaps(least, most)[:, np.maximum(arm, 0)]
        for box in np.flatnonzero(arm < 0):
            cost[:, box] = _shared_gaps(plan, int(box), least, most)
        return cost, np.zeros(collection.n_tasks)
    by_arm, by_task = over.gaps
    cost = by_arm[:, arm]
    cost[:, by_context] = by_task[:, machine.task[by_context]]
    return cost, best_options(plan, by_arm, by_task)


def _arm_gaps(least: FloatArray, most: FloatArray) -> FloatArray:
    """How much better than each arm another one may be, (M, K), where arms are worth from `least` to `most`."""
    highest, two = most.argmax(axis=1)[:, None], np.partition(most, -2, axis=1)[:, -2:]
    rival = np.where(np.arange(most.shape[1]) == highest, two[:, :1], two[:, 1:])
    return np.asarray(np.maximum(rival - least, 0.0))


def _shared_gaps(plan: Plan, box: int, least: FloatArray, most: FloatArray) -> FloatArray:
    """What every round costs (M,) at an end where others choose, however well they do: the best arm may not be theirs.

    What Thompson sampling loses in finding their best is not part of it, nor is what a person loses.
    """
    machine = machine_of(plan)
    if machine.arm[box] == HAND_OVER:
        return np.zeros(len(least)) if machine.fallback == NONE else _arm_gaps(least, most)[:, machine.fallback]
    gaps = _missed(machine.arms_at(box), least, most)
    if not machine.worth:
        return gaps
    middle = (least + most) / 2  # what is missed there is part of `theory.thompson.expected_losses`
    return np.asarray(gaps - _missed(machine.arms_at(box), middle, middle))


def _missed(arms: IntArray, least: FloatArray, most: FloatArray) -> FloatArray:
    """How much better than all of some arms another one may be, (M,)."""
    others = np.delete(most, arms, axis=1)
    return np.asarray(np.maximum(others.max(axis=1, initial=-np.inf) - least[:, arms].max(axis=1), 0.0))


def _remarks_on_others(plan: Plan) -> list[str]:
    """What is not exact where someone other than the plan chooses."""
    remarks = []
    machine = machine_of(plan)
    expected = (machine.arm == SEVERAL) & (machine.worth > 0)
    if (machine.chooses & ~expected).any():
        remarks.append(THOMPSON_REMARK)
    if expected.any():
        remarks.append(SEVERAL_REMARK)
        if plan.fallback is not None and plan.fallback.odds:
            remarks.append(DRAWN_REMARK.format(odds=plan.fallback.odds))
    if plan.fallback is not None and plan.fallback.odds:
        remarks.append(ODDS_REMARK.format(share=100.0 / plan.fallback.odds))
    return remarks


def _context_remarks(plan: Plan, collection: Collection) -> tuple[str, ...]:
    contexts, remarks = collection.contexts, []
    if contexts is None:
        return ()
    if contexts.kind not in (ContextKind.FIXED, ContextKind.SAMPLE):
        remarks.append(f"Costs are averages over {N_AVERAGED:,} drawn contexts, known to about 1%.")
    if contexts.kind is ContextKind.MOMENTS:
        remarks.append("Only the moments of the contexts are known: the numbers hold as if contexts were Gaussian.")
    allows = collection.theta_error is not None and collection.harm is None  # see `protocols.by_context.around_slopes`
    if collection.is_estimated and plan.origin.method == "protocol" and not allows:
        remarks.append("The search for this plan took the estimates at their word; these numbers do not.")
    if collection.is_estimated and collection.theta_error is None:
        remarks.append("Nothing is known about how far slopes may be off: they are taken as given.")
    losses = [rule.loss for rule in plan.kind_rules if rule is not None]
    if losses:
        remarks.append(
            f"The rules that are printed give away up to {max(losses):.3g} a round, {max(losses) * plan.horizon:,.0f} "
            f"over {plan.horizon:,} rounds, against the highest prediction; the regret has it."
        )
    return tuple(remarks)
