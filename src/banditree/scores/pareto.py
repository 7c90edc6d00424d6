"""Plans of growing size, each better than the smaller ones: regret against boxes, for a person to choose from."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.progress import OnProgress, Progress
from banditree.scores.build import build_plan
from banditree.scores.objectives import Objective, objective_named, power_mean
from banditree.scores.score_plan import default_steps
from banditree.tasks.collection import Collection

BOXES_PER_TASK = (1, 1.5, 2, 3, 4, 6)  # the sizes tried by default: from a plan that hardly tests to one with room
SHARE_OF_STEPS = 3  # each size gets this part of the steps of a single search: six searches take as long as two


def pareto_front(
    collection: Collection,
    horizon: int,
    method: str | None = None,
    *,
    sizes: Sequence[int] | None = None,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> list[Plan]:
    """The plans that no smaller one beats.

    sizes: the numbers of boxes to try; by default 1, 1.5, 2, 3, 4 and 6 per task. method, options: of `build_plan`; by
    default each size gets a third of the steps of a single search. When on_progress returns False, the plan at hand is
    the last.
    """
    if options.pop("boxes", None) is not None:
        raise InvalidInput("boxes must be omitted: a front tries several numbers of boxes.")
    options["steps"] = options.get("steps") or max(1, default_steps(collection) // SHARE_OF_STEPS)
    power = objective_named(options.get("objective") or Objective.WORST).power
    front: list[Plan] = []
    best, stopped = np.inf, False

    def watch(progress: Progress) -> bool:
        nonlocal stopped
        stopped = on_progress is not None and on_progress(progress) is False
        return not stopped

    for size in sorted(sizes or {max(2, round(collection.n_tasks * share)) for share in BOXES_PER_TASK}):
        plan = build_plan(collection, horizon, method, boxes=size, on_progress=watch, **options)
        value = float(power_mean(certify(plan, collection).regret, power))
        if value < best:
            best = value
            front.append(plan)
        if stopped:
            break
    return front
