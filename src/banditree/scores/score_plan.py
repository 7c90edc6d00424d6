"""The practical plan: a few score boxes, found by search, with about the regret of the best opaque algorithms.

A box says: give A, +1 for each success, -2 for each failure; at +6 go to box 3, at -4 to box 5. The horizon is part of
the search: where trying costs more than it can gain, the plan settles at once.
"""

from typing import TYPE_CHECKING

import numpy as np

from banditree.certificates.certify import certify, regret_bound
from banditree.errors import InvalidInput, invalid
from banditree.plans.assemble import Box, assemble
from banditree.plans.plan import Plan, Vocabulary, pack_survivors
from banditree.plans.wording import counted
from banditree.progress import OnProgress
from banditree.scores.objectives import Limits, Objective, objective_named, power_mean
from banditree.scores.scenarios import hardest_parameters, worst_parameters
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection, with_parameters

if TYPE_CHECKING:
    from banditree.scores.draft import Draft
    from banditree.scores.library import Library

STILL_POSSIBLE = 0.01  # posterior, from a uniform prior, below which a task no longer counts as possible at a box
BOXES_PER_TASK = 4
STEPS_PER_TASK = 2_000
MAX_STEPS = 40_000
DOUBTS = 3  # searches for estimated means, each of which also reckons with the means that were worst for the one before
ATTEMPTS = 4  # searches, with wrong arms ever more costly, until the cap on them is met
DEARER = 10.0  # times, from one attempt to the next


def build_score_plan(
    collection: Collection,
    horizon: int,
    *,
    objective: Objective | str = Objective.WORST,
    boxes: int | None = None,
    longest_path: int | None = None,
    links_back: bool = True,
    max_wrong_arm: float | None = None,
    seed: int = 0,
    steps: int | None = None,
    vocabulary: Vocabulary | None = None,
    on_progress: OnProgress | None = None,
) -> Plan:
    """The best plan of score boxes that the search finds.

    horizon: H, the rounds of one case. objective: "worst" (an 8-norm over tasks, in the end a 32-norm) or "mean".
    boxes: the most boxes, tests and leaves together (4 per task when left out). longest_path: the most tests one after
    the other. links_back: whether a box may lead back to an earlier one. max_wrong_arm: a cap on each task's chance to
    settle for an arm that is not the best. steps: how long to search at most (2,000 per task, at most 40,000, when left
    out); the same seed and steps give the same plan. on_progress is called every 25 steps; when it returns False, the
    best plan so far is returned, if it keeps to the cap on wrong arms.

    For means that are only estimated there are three searches, of which each also reckons with the means, within their
    intervals, under which the plans before it did worst; the plan that does best under all of these is returned.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> print(build_score_plan(two, horizon=1000, boxes=3, steps=300))
    Plan for 2 tasks and 2 arms over 1,000 rounds (method score): 3 boxes, at most 1 test one after the other.
    <BLANKLINE>
    Box 1. Give A. Each success +1, each failure -1. At +41 or more: go to box 3. At -6 or less: go to box 2.
    Box 2. Give B from now on.
    Box 3. Give A from now on.
    """
    boxes, steps = _check(collection, horizon, boxes, longest_path, max_wrong_arm, steps)
    power, limits = objective_named(objective).power, Limits(boxes, longest_path, links_back)
    prices = [1.0] if max_wrong_arm is None else [DEARER**attempt for attempt in range(ATTEMPTS)]
    doubts = DOUBTS if collection.is_estimated else 1
    share = max(1, steps // (len(prices) * doubts))
    from banditree.scores.library import build_library
    from banditree.scores.search import Search

    searches: list[Search] = []

    def search(price: float) -> Plan:
        """The best plan when a wrong arm costs `price` times what it does."""
        scenarios, plans = with_parameters(collection, collection.parameters), []
        if doubts > 1:
            scenarios = _both(scenarios, hardest_parameters(collection))
        for _ in range(doubts):
            library = build_library(scenarios, horizon)
            leaf = horizon * scenarios.gaps.T
            searches.append(
                Search(
                    library,
                    leaf if price == 1 else np.where(leaf > 0, np.maximum(leaf, 0.02 * horizon) * price, 0.0),
                    limits,
                    power=power,
                    seed=seed,
                    steps=share,
                    done=share * len(searches),
                    total=steps,
                    on_progress=on_progress,
                )
            )
            draft = searches[-1].run()
            plans.append(_plan(draft, library, collection, horizon, seed, vocabulary or Vocabulary()))
            if doubts > 1:
                scenarios = _both(scenarios, worst_parameters(plans[-1], collection))
            if searches[-1].stopped_early:
                break
        return plans[0] if len(plans) == 1 else min(plans, key=lambda plan: _judged(plan, scenarios, power))

    for price in prices:  # a wrong arm that costs more is chosen less often
        plan = search(price)
        if max_wrong_arm is None or certify(plan, collection).wrong_arm.max() <= max_wrong_arm:
            return plan
        if searches[-1].stopped_early:
            break
    reached = certify(plan, collection).wrong_arm.max()
    raise InvalidInput(
        f"No plan of at most {counted(boxes, 'box')} was found whose chance of a wrong arm is at most "
        f"{max_wrong_arm:g}; the last one reached {reached:.2g}. Allow more boxes or steps, or a higher cap."
    )


def why_no_score_plan(collection: Collection) -> str:
    """Why there is no score plan for these tasks, or ""."""
    if collection.theta is not None:
        return "Score plans are for tasks without contexts."
    if not collection.rewards.has_likelihood:
        return "Score plans need the chance of each reward, and of bounded rewards only the mean is known."
    return ""


def _check(
    collection: Collection,
    horizon: int,
    boxes: int | None,
    longest_path: int | None,
    max_wrong_arm: float | None,
    steps: int | None,
) -> tuple[int, int]:
    """(boxes, steps) with what was left out filled in; an error for what cannot be searched."""
    if horizon < 1:
        raise invalid("horizon", "at least 1, the number of rounds of one case", horizon)
    if reason := why_no_score_plan(collection):
        raise InvalidInput(reason)
    for name, value in (("boxes", boxes), ("longest_path", longest_path), ("steps", steps)):
        if value is not None and value < 1:
            raise invalid(name, "at least 1", value)
    if max_wrong_arm is not None and not 0 < max_wrong_arm < 1:
        raise invalid("max_wrong_arm", "between 0 and 1", max_wrong_arm)
    return boxes or BOXES_PER_TASK * collection.n_tasks, steps or default_steps(collection)


def default_steps(collection: Collection) -> int:
    """How long a search lasts by default."""
    return min(STEPS_PER_TASK * collection.n_tasks, MAX_STEPS)


def _both(scenarios: Collection, parameters: FloatArray) -> Collection:
    """The scenarios, and as many more with other means or chances."""
    parameters = np.concatenate([scenarios.parameters, parameters])
    names = tuple(f"scenario {number}" for number in range(1, len(parameters) + 1))
    return with_parameters(scenarios, parameters, tasks=names, counts=None, shares=None, spread=None)


def _judged(plan: Plan, scenarios: Collection, power: float) -> float:
    """The objective over all scenarios; infinite if the plan may never end in one of them."""
    try:
        return float(power_mean(regret_bound(plan, scenarios), power))
    except InvalidInput:
        return np.inf


def _plan(
    draft: "Draft", library: "Library", collection: Collection, horizon: int, seed: int, vocabulary: Vocabulary
) -> Plan:
    """The draft as a Plan, with the tasks that are still possible at each box."""
    K = draft.n_leaves
    # Place 0 of the list is where the plan starts.
    places = [draft.root, *(place for place in range(K + draft.n_tests) if place != draft.root)]
    number = {place: index for index, place in enumerate(places)}
    boxes = []
    for place in places:
        if place < K:
            boxes.append(Box(arm=place))
            continue
        test = draft.test(place - K)
        low, high = test.links
        boxes.append(
            Box(
                arm=test.arm,
                low=number[low],
                high=number[high],
                points=tuple(int(point) for point in library.points[test.template]),
                floor=test.floor,
                ceil=test.ceil,
                cuts=tuple(float(cut) for cut in library.cuts[test.template]),
            )
        )
    reaching = _reaching(draft)[:, : collection.n_tasks][places]
    possible = [np.flatnonzero(row >= STILL_POSSIBLE * row.sum()) for row in reaching]
    return assemble(
        boxes,
        collection,
        horizon,
        "score",
        survivors=pack_survivors(possible, collection.n_tasks),
        radius=float(collection.radius.max()),
        seed=seed,
        vocabulary=vocabulary,
    )


def _reaching(draft: "Draft") -> FloatArray:
    """How often each place is entered under each task, (K + N, M)."""
    K = draft.n_leaves
    reaching = np.concatenate([np.zeros_like(draft.leaf), draft.visits])
    for box, links in enumerate(draft.links):
        for side, place in enumerate(links):
            if place < K:
                reaching[place] += draft.flow(box, side)
    if draft.root < K:
        reaching[draft.root] = 1.0
    return reaching
