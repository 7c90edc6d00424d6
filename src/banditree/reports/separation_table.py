"""The table that helps to choose lambda: which tasks become one, what that costs, and how long the plan is."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput, PlanWarning
from banditree.protocols.build import METHODS, build_plan
from banditree.tasks.collection import Collection
from banditree.training.merging import merge, merge_gaps

MAX_ROWS = 12  # The table has at most this many rows.
MAX_BOXES = 20_000  # Larger trees are not built, and the row says so.
STEPS = 200  # The search for each row's protocol: enough to compare rows, too short for a plan to follow.
MOST_TASKS = 15  # With more tasks before merging, a search and a certificate would take long, and are omitted.


@dataclass(frozen=True)
class Choice:
    """One lambda: tasks left, what merging costs a task per round at worst, and the plans for what is left.

    lines, loss: of a protocol, and what it loses over the horizon in the worst of all tasks before merging; None where
    there is none. boxes, pulls: of the tree, and its most pulls; None where there is none, and `problem` says why.
    """

    separation: float
    n_tasks: int
    suboptimality: float
    boxes: int | None = None
    pulls: int | None = None
    problem: str = ""
    lines: int | None = None
    loss: float | None = None


def choices(collection: Collection, horizon: int, separations: Sequence[float] | None = None) -> list[Choice]:
    """One row for every lambda given, or for a dozen at which the number of tasks changes.

    >>> three = Collection.bernoulli([[0.9, 0.1], [0.85, 0.2], [0.1, 0.8]])
    >>> [(row.n_tasks, row.pulls) for row in choices(three, 1000)]
    [(3, 3318), (2, 28)]
    """
    if separations is None:
        separations = _telling(collection)
    return [_choice(collection, horizon, separation) for separation in separations]


def _telling(collection: Collection) -> list[float]:
    """The least separations of what is left after no merge, one merge, and so on; a dozen of them, evenly spread."""
    gaps = np.maximum.accumulate(merge_gaps(collection.means))
    gaps = np.unique(np.round(gaps[gaps > 0], 12))  # 0.9 - 0.8 and 0.2 - 0.1 are one separation
    if len(gaps) > MAX_ROWS:
        gaps = gaps[np.unique(np.linspace(0, len(gaps) - 1, MAX_ROWS).round().astype(int))]
    return [float(gap) for gap in gaps]


def _choice(collection: Collection, horizon: int, separation: float) -> Choice:
    try:
        merged = merge(collection, separation)
    except InvalidInput as problem:
        return Choice(separation, 1, float("nan"), problem=str(problem))
    lost = min(merged.suboptimality, collection.rewards.width)  # margins may add up to more than a reward can differ
    row = Choice(separation, merged.collection.n_tasks, lost, **_protocol(merged.collection, collection, horizon))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            plan = build_plan(merged.collection, horizon, "tree", max_boxes=MAX_BOXES)
    except InvalidInput as problem:
        return replace(row, problem=str(problem))
    return replace(row, boxes=plan.n_boxes, pulls=plan.most_pulls)


def _protocol(merged: Collection, collection: Collection, horizon: int) -> dict[str, Any]:
    """The lines of a protocol for the merged tasks, and its loss in the worst of the tasks that there were."""
    if METHODS[0].why_not(merged) or collection.n_tasks > MOST_TASKS:
        return {}
    try:
        plan = build_plan(merged, horizon, METHODS[0].name, steps=STEPS)
        return {"lines": plan.n_tests, "loss": certify(plan, collection, must_rest=False).worst_regret}
    except InvalidInput:  # a horizon too long to certify
        return {}


def choices_text(rows: Sequence[Choice], horizon: int) -> str:
    """The table for people."""
    lines = [
        f"Choosing the separation, for {horizon:,} rounds. A protocol's loss is over all rounds, in the worst task "
        "before merging:",
        f"{'separation':>10}  {'tasks left':>10}  {'worst loss per round':>20}  {'protocol lines':>14}  "
        f"{'its loss':>8}  {'tree boxes':>10}  {'most pulls':>10}",
    ]
    for row in rows:
        protocol = f"{'-':>14}  {'-':>8}" if row.loss is None else f"{row.lines:>14}  {row.loss:>8,.4g}"
        tree = f"no tree: {row.problem}" if row.boxes is None else f"{row.boxes:>10,}  {row.pulls or 0:>10,}"
        lines.append(f"{row.separation:>10.4g}  {row.n_tasks:>10}  {row.suboptimality:>20.4g}  {protocol}  {tree}")
    return "\n".join(lines)
