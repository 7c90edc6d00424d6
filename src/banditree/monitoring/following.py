"""Where the cases of a plan stand in it, round by round."""

from dataclasses import replace
from typing import Any

import numpy as np

from banditree.cases.table import NO_BOX, Cases, only_cases, with_arms
from banditree.errors import InvalidInput
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan, chosen_from
from banditree.policies.follow import BOX
from banditree.policies.following import policy_for
from banditree.tasks.arrays import IntArray

NO_CONTEXT = np.zeros(0)


def observe(plan: Plan, cases: Cases) -> Cases:
    """The cases that followed a plan, in the order in which they began, with the box that gave each round's arm.

    >>> from banditree.cases.table import Seen, table_of
    >>> from banditree import ByOutcome, Give, Line, Score, make_plan
    >>> from banditree.tasks.collection import Collection
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> count = Score(ByOutcome((-1, 1)), floor=1, ceil=3)
    >>> switch = [Line(Give("A"), count, below=Line(Give("B")), above=Line(Give("A")))]
    >>> plan = make_plan(switch, two, horizon=4)
    >>> rounds = [Seen("ann", 1, 0, 0.0, 5.0), Seen("ann", 2, 1, 1.0, 6.0)]
    >>> observe(plan, table_of(rounds, ["A", "B"])).box.tolist()
    [0, 2]
    """
    if plan.theta is not None or plan.features:
        raise InvalidInput("Plans that look at a context are not monitored. Monitor a plan without contexts.")
    begun = np.flatnonzero(~np.isnan(cases.began))
    order = begun[np.lexsort((np.array(cases.cases, str)[begun], cases.began[begun]))]
    found = only_cases(with_arms(cases, plan.arms), order)
    return replace(found, box=boxes_of(plan, found))


def _arms_at(plan: Plan, row: int) -> set[int]:
    """The arms that may be given at a row."""
    arm = int(machine_of(plan).arm[row])
    return {arm} if arm >= 0 else {plan.arm_numbers[name] for name in chosen_from(plan, row) or plan.arms}


def boxes_of(plan: Plan, cases: Cases) -> IntArray:
    """The box (R,) that gave the arm of every round, as whoever follows the plan goes through it; NO_BOX off it."""
    policy = policy_for(plan)
    params = policy.make(plan, plan.horizon, {})
    box = np.full(len(cases.arm), NO_BOX)
    given = [_arms_at(plan, row) for row in range(plan.n_boxes)]
    arms, rewards, overridden = cases.arm.tolist(), cases.reward.tolist(), cases.overridden.tolist()
    for begin, end in zip(cases.first[:-1].tolist(), cases.first[1:].tolist(), strict=True):
        state = policy.init(params)
        place = place_of(state)
        for r in range(begin, end):
            here = int(place[BOX])
            if overridden[r] or arms[r] not in given[here]:
                continue
            box[r] = plan.place_of(here)
            if rewards[r] == rewards[r]:
                policy.update(params, state, NO_CONTEXT, arms[r], rewards[r])
    return box


def place_of(state: Any) -> IntArray:
    """Where a case stands in its plan: (box, pulls), kept up to date by the policy."""
    found: IntArray = state.plan.place if hasattr(state, "plan") else state.place
    return found
