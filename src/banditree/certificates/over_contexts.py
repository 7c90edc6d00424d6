"""What boxes that look at the context do on average over contexts: chances of their bins, and costs.

Contexts are drawn again in every round, so that a box sees the same chances in each of its rounds whatever came before.
"""

from functools import cached_property

import numpy as np

from banditree.plans.gives import NONE
from banditree.plans.kind_rule import choices_of, promises_of
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.plans.points import Fit, Points, PromiseTable
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import averaging_rows
from banditree.tasks.predictions import predict
from banditree.tasks.reward_cells import margin_at
from banditree.tasks.rewards.base import Bounds, Cells, Rewards


class Contextual:
    """A plan and a collection over the contexts (n, d) that averages are taken over.

    predicted: (M, n, K), by task. margin: the same, how far x'theta may be off; None where all is known.
    choices: (tasks of the plan, n), the arm that is given when treating as each. by: the rewards that points of fit
    are computed with, which are those of the plan, whatever the collection has. known: bins that were computed before;
    plans with the same predictions and rules may share them.
    """

    def __init__(
        self, collection: Collection, choices: IntArray, rows: FloatArray, by: Rewards, certain: bool = False
    ) -> None:
        assert collection.theta is not None
        self.collection, self.rewards, self.theta = collection, collection.rewards, collection.theta
        self.choices, self.rows, self.by = choices, rows, by
        self.known: dict[tuple[object, ...], Bounds] = {}
        self.margin: FloatArray | None = None
        if collection.is_estimated and not certain:
            margins = [margin_at(collection, rows, k).T for k in range(collection.n_arms)]
            self.margin = np.stack(margins, axis=2)

    @cached_property
    def predicted(self) -> FloatArray:
        """(M, n, K)."""
        return np.stack([predict(task, self.rows, self.rewards) for task in self.theta])

    @cached_property
    def off(self) -> FloatArray | None:
        """How far each prediction may be off (M, n, K); None where all is known."""
        if self.margin is None:
            return None
        values = np.stack([self.rows @ task.T for task in self.theta])
        return self.rewards.off_by(values, self.margin)

    def arms(self, arm: int, task: int) -> IntArray:
        """The arm (n,) at each context: the given one, or that of treating as the task."""
        chosen: IntArray = self.choices[task] if arm == NONE else np.full(len(self.rows), arm)
        return chosen

    def bins(self, arms: IntArray, cuts: FloatArray, grading: Fit | None, pair: FloatArray | None) -> Bounds:
        """Bounds (M, B) of the chances of the bins of a round in which each context gets its arm (n,).

        pair: (2, n, K), what the two tasks of the grading predict.
        """
        every = np.arange(len(self.rows))
        means = self.predicted[:, every, arms]
        radius = np.zeros_like(means) if self.off is None else self.off[:, every, arms]
        parameters = self.collection.parameters_at(means, arms)
        cells = Cells(parameters, radius, np.zeros_like(means), True, 0.0)
        if grading is None:
            least, most = self.rewards.bins(cells, np.broadcast_to(cuts, (*means.shape, len(cuts))))
        else:
            assert pair is not None
            first, second = (np.broadcast_to(part[every, arms], means.shape) for part in pair)
            least, most = self.rewards.ratio_bins(cells, self.by, first, second, grading.unit, grading.most)
        return least.mean(axis=1), most.mean(axis=1)

    def table_bins(self, arms: IntArray, table: PromiseTable, promise: FloatArray) -> Bounds:
        """Bounds (M, B) of the chances of the points of a table, where each context gets its arm and promise (n,)."""
        every = np.arange(len(self.rows))
        means = self.predicted[:, every, arms]
        radius = np.zeros_like(means) if self.off is None else self.off[:, every, arms]
        low, high = np.clip(means - radius, 0.0, 1.0), np.clip(means + radius, 0.0, 1.0)
        given = np.array(table.rows)[table.rows_at(promise)]  # (n, 2), the points of a failure and of a success
        failure, success = (given[:, [side]] == np.array(table.bins) for side in (0, 1))  # (n, B)
        both = (high - low) @ (failure & success)  # either way the same points
        least = (1 - high) @ failure + low @ success + both
        most = (1 - low) @ failure + high @ success - both
        return least / len(every), most / len(every)

    @cached_property
    def gaps(self) -> tuple[FloatArray, FloatArray]:
        """What each arm (M, K), and treating as each task (M, tasks), costs per round, at the worst in the margins."""
        at, every = self.rewards.at, np.arange(len(self.rows))
        by_arm, by_task = [], []
        for i, task in enumerate(self.theta):
            value = self.rows @ task.T
            margin = 0.0 if self.margin is None else self.margin[i]
            upper = at(value + margin)
            rival = np.repeat(upper.max(axis=1, keepdims=True), upper.shape[1], axis=1)
            rival[every, upper.argmax(axis=1)] = np.partition(upper, -2, axis=1)[:, -2]
            cost = np.maximum(rival - at(value - margin), 0.0)
            by_arm.append(cost.mean(axis=0))
            by_task.append([cost[every, choice].mean() for choice in self.choices])
        return np.array(by_arm), np.array(by_task)


def looks_at_contexts(plan: Plan, boxes: IntArray) -> IntArray:
    """Those of the boxes whose outcomes depend on the context by more than the mean of one arm."""
    machine = machine_of(plan)
    graded = machine.gradings.number[boxes] != NONE
    return np.asarray(boxes[(machine.arm[boxes] == NONE) | graded], dtype=np.int64)


def context_bins(plan: Plan, boxes: IntArray, over: Contextual) -> Bounds:
    """Bounds (M, boxes, B) of the chances of the bins of boxes that look at the context."""
    assert plan.theta is not None
    machine, known = machine_of(plan), over.known
    for box in boxes:
        arm, task, grading = int(machine.arm[box]), int(machine.task[box]), _points(plan, box)
        key = _key(plan, box)
        if key in known:
            continue
        if isinstance(grading, PromiseTable):
            given = over.arms(arm, task)
            known[key] = over.table_bins(given, grading, _promise(plan, task, over.rows, given))
            continue
        pair = None
        if isinstance(grading, Fit):
            both = plan.theta[[plan.task_numbers[task] for task in (grading.favoured, grading.other)]]
            pair = np.stack([predict(one, over.rows, plan.rewards) for one in both])
        fit = grading if isinstance(grading, Fit) else None
        known[key] = over.bins(over.arms(arm, task), machine.cuts[box], fit, pair)
    found = [known[_key(plan, box)] for box in boxes]
    return np.stack([least for least, _ in found], axis=1), np.stack([most for _, most in found], axis=1)


def _promise(plan: Plan, task: int, rows: FloatArray, arms: IntArray) -> FloatArray:
    """What a box promises (n,) that treats as a task; nothing where it gives one arm."""
    if task == NONE:
        return np.zeros(len(rows))
    assert plan.theta is not None
    rule = plan.kind_rules[task] if plan.kind_rules else None
    return promises_of(plan.theta[task], rule, rows, arms, plan.rewards)


def _key(plan: Plan, box: int) -> tuple[object, ...]:
    """What the bins of a box depend on."""
    machine = machine_of(plan)
    return int(machine.arm[box]), int(machine.task[box]), _points(plan, box), tuple(machine.cuts[box].tolist())


def _points(plan: Plan, box: int) -> Points:
    """The points of a row that keeps a score, those of the safety rule at an end: beside others that look at the
    context, a table of one row."""
    own = plan.rows[box].counts.points
    if own is None:
        assert plan.rule is not None
        own = plan.rule.counts.points
    if own.looks_at_context or not any(points.looks_at_context for points in plan.points):
        return own
    failure, success = own.bins
    return PromiseTable((), ((failure, success),), len(machine_of(plan).points[box]) // 2)


def contextual(plan: Plan, collection: Collection, certain: bool = False) -> Contextual:
    """The plan and the collection over the contexts that averages are taken over."""
    assert collection.contexts is not None
    assert plan.theta is not None
    rows = averaging_rows(collection.contexts)
    return Contextual(collection, choices_of(plan.theta, plan.kind_rules, rows), rows, plan.rewards, certain)


def best_options(plan: Plan, by_arm: FloatArray, by_task: FloatArray) -> FloatArray:
    """The least that any arm, or treating as any task that the plan knows, costs in each task (M,)."""
    used = [plan.task_numbers[row.gives.task] for row in plan.rows if row.gives.task is not None]
    return np.asarray(np.minimum(by_arm.min(axis=1), by_task[:, used].min(axis=1, initial=np.inf)))
