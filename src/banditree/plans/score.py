"""The practical plan: a few score boxes, found by search, with about the regret of the best opaque algorithms.

A box says: give A, +1 for each success, -2 for each failure; at +6 go to box 3, at -4 to box 5. The horizon is part of
the search: where trying costs more than it can gain, the plan settles at once.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.plans.assemble import Box, assemble
from banditree.plans.exact import certify
from banditree.plans.goals import Limits, Objective, OnProgress, Progress, objective_named, power_mean
from banditree.plans.plan import Plan, Vocabulary, pack_survivors
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Family

if TYPE_CHECKING:
    from banditree.plans.draft import Draft
    from banditree.plans.library import Library

STILL_POSSIBLE = 0.01  # posterior, from a uniform prior, below which a task no longer counts as possible at a box
BOXES_PER_TASK = 4
STEPS_PER_TASK = 1_000
MAX_STEPS = 40_000
CORNERS = 4  # ways in which the means of a task may be off, drawn at random, that an estimated collection is tried at
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

    horizon: H, the rounds of one case. objective: "worst" (an 8-norm over tasks) or "mean". boxes: the most boxes,
    tests and leaves together (4 per task when left out). longest_path: the most tests one after the other.
    links_back: whether a box may lead back to an earlier one. max_wrong_arm: a cap on each task's chance to settle for
    an arm that is not the best. steps: how long to search at most (1,000 per task, at most 40,000, when left out);
    the same seed and steps give the same plan. on_progress is called every 25 steps; when it returns False, the best
    plan so far is returned.

    Means that are only estimated are optimised against random corners of their intervals.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> print(build_score_plan(two, horizon=1000, boxes=3, steps=300))
    Plan for 2 tasks and 2 arms over 1,000 rounds (method score): 3 boxes, at most 1 test one after the other.
    <BLANKLINE>
    Box 1. Give A. Each success +1, each failure -1. At +41 or more: go to box 3. At -6 or less: go to box 2.
    Box 2. Give B from now on.
    Box 3. Give A from now on.
    """
    boxes, steps = _check(collection, horizon, boxes, longest_path, max_wrong_arm, steps)
    power = objective_named(objective).power
    from banditree.plans.library import build_library
    from banditree.plans.search import Search

    scenarios = _scenarios(collection, seed)
    library = build_library(scenarios)
    limits = Limits(boxes, longest_path, links_back)
    leaf = horizon * scenarios.gaps.T
    attempts = 1 if max_wrong_arm is None else ATTEMPTS
    for attempt in range(attempts):
        share, done = steps // attempts, attempt * (steps // attempts)
        search = Search(
            library,
            leaf,
            limits,
            power=power,
            seed=seed,
            steps=max(share, 1),
            done=done,
            total=steps,
            on_progress=on_progress,
        )
        plan = _plan(search.run(), library, collection, horizon, seed, vocabulary or Vocabulary())
        if max_wrong_arm is None or certify(plan, collection).wrong_arm.max() <= max_wrong_arm:
            return plan
        if search.stopped_early:
            break
        # A wrong arm that costs more is chosen less often.
        leaf = np.where(leaf > 0, np.maximum(leaf, 0.02 * horizon) * DEARER, 0.0)
    reached = certify(plan, collection).wrong_arm.max()
    raise InvalidInput(
        f"No plan of {boxes} boxes was found whose chance of a wrong arm is at most {max_wrong_arm:g}; the last one "
        f"reached {reached:.2g}. Allow more boxes or steps, or a higher cap."
    )


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
    if collection.theta is not None:
        raise InvalidInput("Score plans are for tasks without contexts. Use the method tree.")
    if collection.rewards.family is Family.BOUNDED:
        raise InvalidInput(
            "Score plans need the probability of each reward, and bounded rewards only tell their mean. Use the method "
            "tree, or Bernoulli or Gaussian rewards."
        )
    for name, value in (("boxes", boxes), ("longest_path", longest_path), ("steps", steps)):
        if value is not None and value < 1:
            raise invalid(name, "at least 1", value)
    if max_wrong_arm is not None and not 0 < max_wrong_arm < 1:
        raise invalid("max_wrong_arm", "between 0 and 1", max_wrong_arm)
    n = collection.n_tasks
    return boxes or BOXES_PER_TASK * n, steps or min(STEPS_PER_TASK * n, MAX_STEPS)


def _scenarios(collection: Collection, seed: int) -> Collection:
    """The tasks that the search reckons with: those of the collection, and for estimates random corners around them."""
    if not collection.is_estimated:
        return collection
    rng = np.random.default_rng(seed)
    rewards = collection.rewards
    means = [collection.means]
    for _ in range(CORNERS):
        signs = rng.integers(0, 2, collection.means.shape) * 2 - 1
        means.append(np.clip(collection.means + signs * collection.radius, rewards.low, rewards.high))
    names = tuple(f"{task} ({corner})" for corner in range(CORNERS + 1) for task in collection.tasks)
    return Collection(np.concatenate(means), names, collection.arms, rewards, provenance="corners")


def _plan(
    draft: "Draft", library: "Library", collection: Collection, horizon: int, seed: int, vocabulary: Vocabulary
) -> Plan:
    """The draft as a Plan, with the tasks that are still possible at each box."""
    K = draft.n_leaves
    # Place 0 of the list is where the plan starts.
    places = [draft.root, *(place for place in range(K + len(draft.tests)) if place != draft.root)]
    number = {place: index for index, place in enumerate(places)}
    boxes = []
    for place in places:
        if place < K:
            boxes.append(Box(arm=place))
            continue
        test = draft.tests[place - K]
        boxes.append(
            Box(
                arm=test.arm,
                low=number[test.low],
                high=number[test.high],
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
    evaluation, K = draft.evaluation, draft.n_leaves
    reaching = np.concatenate([np.zeros_like(draft.leaf), evaluation.visits])
    for box, test in enumerate(draft.tests):
        for side, place in (("low", test.low), ("high", test.high)):
            if place < K:
                reaching[place] += evaluation.flow(box, side)
    if draft.root < K:
        reaching[draft.root] = 1.0
    return reaching


def pareto_front(
    collection: Collection,
    horizon: int,
    sizes: Sequence[int] | None = None,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> list[Plan]:
    """Plans of growing size, each better than the smaller ones: regret against boxes, for a person to choose from.

    sizes: the numbers of boxes to try; 1, 1.5, 2, 3, 4 and 6 per task when left out. options: of `build_score_plan`.
    When on_progress returns False, the plan at hand is the last.
    """
    M = collection.n_tasks
    chosen = sorted(sizes or {max(2, round(M * share)) for share in (1, 1.5, 2, 3, 4, 6)})
    power = objective_named(options.get("objective", Objective.WORST)).power
    front: list[Plan] = []
    best, stopped = np.inf, False

    def watch(progress: Progress) -> bool:
        nonlocal stopped
        stopped = on_progress is not None and on_progress(progress) is False
        return not stopped

    for size in chosen:
        plan = build_score_plan(collection, horizon, boxes=size, on_progress=watch, **options)
        value = float(power_mean(certify(plan, collection).regret, power))
        if value < best:
            best = value
            front.append(plan)
        if stopped:
            break
    return front
