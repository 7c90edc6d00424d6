"""Additive sufficient statistics of a log: what is kept of the rows of each (task, arm), and how two logs add up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray, IntArray, frozen, frozen_numbers
from banditree.tasks.contexts import Feature

N_WEIGHTED = 5  # The sums of w, w^2, w r, w^2 r and w^2 r^2 are kept, with w = 1/propensity.


@dataclass(frozen=True, eq=False)
class Statistics:
    """Counts, sums and sums of products of every (task, arm) cell that has rows: C cells, p = d + 1 columns.

    The columns are the d features and, last, the reward, each less its `shift` (p,): a column around 2,000,000 +- 1
    would lose its digits in a sum of squares. A categorical column has one feature per level, 1 where it has that
    level. All of it adds up: over rows, over files, over days (`merge_statistics`).

    task, arm: (C,) numbers into `tasks` and `arms`. count: (C,) rows. sums: (C, p). products: (C, p, p), symmetric.
    weighted: (C, 5) sums of w, w^2, w r, w^2 r, w^2 r^2 with w = 1/propensity, or None.

    >>> two_days = merge_statistics(collect(["a", "a"], ["x", "y"], [1, 0]), collect(["a"], ["x"], [0]))
    >>> two_days.count.tolist(), two_days.n_rows
    ([2, 1], 3)
    """

    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    features: tuple[Feature, ...]
    task: IntArray
    arm: IntArray
    count: IntArray
    sums: FloatArray
    products: FloatArray
    shift: FloatArray
    weighted: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("task", "arm", "count"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        for name, dimensions in (("sums", 2), ("products", 3), ("shift", 1)):
            object.__setattr__(self, name, frozen_numbers(name, getattr(self, name), dimensions))
        if self.weighted is not None:
            object.__setattr__(self, "weighted", frozen_numbers("weighted", self.weighted, 2))
        _check(self)

    @property
    def n_rows(self) -> int:
        """How many rows have been added up."""
        return int(self.count.sum())

    @property
    def counts(self) -> IntArray:
        """Rows of every task and arm, shape (M, K), 0 where there are none."""
        table = np.zeros((len(self.tasks), len(self.arms)), dtype=np.int64)
        table[self.task, self.arm] = self.count
        return table


def _check(statistics: Statistics) -> None:
    cells, p = len(statistics.count), len(statistics.features) + 1
    shapes = {"task": (cells,), "arm": (cells,), "sums": (cells, p), "products": (cells, p, p), "shift": (p,)}
    if statistics.weighted is not None:
        shapes["weighted"] = (cells, N_WEIGHTED)
    for name, shape in shapes.items():
        if getattr(statistics, name).shape != shape:
            raise invalid(f"{name} of the statistics", f"of shape {shape}", getattr(statistics, name).shape)
    for name, names in (("task", statistics.tasks), ("arm", statistics.arms)):
        numbers = getattr(statistics, name)
        if cells and not (numbers.min() >= 0 and numbers.max() < len(names)):
            raise invalid(f"{name} of the statistics", f"numbers below {len(names)}", int(numbers.max()))
    if cells and statistics.count.min() < 1:
        raise invalid("count of the statistics", "at least 1 in every cell", int(statistics.count.min()))


def collect(
    tasks: Sequence[Any],
    arms: Sequence[Any],
    rewards: Any,
    contexts: Any = None,
    features: Sequence[str | Feature] | None = None,
    shift: Any = None,
) -> Statistics:
    """The statistics of rows held in memory: names (n,), rewards (n,) and, if any, numeric contexts (n, d).

    >>> collect(["a", "b", "a"], ["x", "x", "x"], [1.0, 0.0, 3.0]).sums.tolist()
    [[4.0], [0.0]]
    """
    task_names, task = np.unique(np.asarray(tasks, dtype=str), return_inverse=True)
    arm_names, arm = np.unique(np.asarray(arms, dtype=str), return_inverse=True)
    reward = frozen_numbers("rewards", rewards, 1)
    rows = reward[:, None]
    if contexts is not None:
        rows = np.column_stack([frozen_numbers("contexts", contexts, 2), reward])
    d = rows.shape[1] - 1
    names = [f"x{index + 1}" for index in range(d)] if features is None else features
    shift = np.zeros(d + 1) if shift is None else np.asarray(shift, float)
    cell, number = np.unique(task * len(arm_names) + arm, return_inverse=True)
    count, sums, products = _add_up(rows - shift, number, len(cell))
    return Statistics(
        tuple(task_names.tolist()),
        tuple(arm_names.tolist()),
        tuple(name if isinstance(name, Feature) else Feature(str(name)) for name in names),
        cell // len(arm_names),
        cell % len(arm_names),
        count,
        sums,
        products,
        shift,
    )


def _add_up(rows: FloatArray, number: IntArray, n_cells: int) -> tuple[IntArray, FloatArray, FloatArray]:
    count = np.bincount(number, minlength=n_cells)
    sums, products = np.zeros((n_cells, rows.shape[1])), np.zeros((n_cells, rows.shape[1], rows.shape[1]))
    order = np.argsort(number, kind="stable")
    for cell, block in enumerate(np.split(rows[order], np.cumsum(count)[:-1])):
        sums[cell], products[cell] = block.sum(axis=0), block.T @ block
    return count, sums, products


def merge_statistics(first: Statistics, second: Statistics) -> Statistics:
    """The statistics of both logs' rows together, with the shift of the first.

    New tasks, arms and levels of categorical columns are added; other columns must be the same in both.
    """
    if (first.weighted is None) != (second.weighted is None):
        raise InvalidInput("Logs with and without propensities cannot be added up. Omit the propensity in both.")
    features = _union_of_features(first.features, second.features)
    shift = np.zeros(len(features) + 1)
    shift[_columns(first.features, features)] = first.shift
    tasks = tuple(dict.fromkeys(first.tasks + second.tasks))
    arms = tuple(dict.fromkeys(first.arms + second.arms))
    parts = [_spread(part, features, shift) for part in (first, second)]
    task = np.concatenate([_numbers(part.tasks, tasks)[part.task] for part in parts])
    arm = np.concatenate([_numbers(part.arms, arms)[part.arm] for part in parts])
    return _unite(tasks, arms, features, task, arm, parts, shift)


def group_tasks(statistics: Statistics, groups: IntArray, names: Sequence[str]) -> Statistics:
    """The statistics with task i counted as task groups[i] of `names`.

    >>> both = group_tasks(collect(["a", "b"], ["x", "x"], [1, 0]), np.array([0, 0]), ["all"])
    >>> both.count.tolist()
    [2]
    """
    task = np.asarray(groups, dtype=np.int64)[statistics.task]
    return _unite(
        tuple(names), statistics.arms, statistics.features, task, statistics.arm, [statistics], statistics.shift
    )


def only_tasks(statistics: Statistics, chosen: IntArray) -> Statistics:
    """The statistics of some of the tasks alone, by their numbers.

    >>> two_days = collect(["a", "b", "b"], ["x", "y", "x"], [1, 0, 1])
    >>> only_tasks(two_days, np.array([1])).n_rows
    2
    """
    place = np.full(len(statistics.tasks), -1)
    place[chosen] = np.arange(len(chosen))
    kept = place[statistics.task] >= 0
    return replace(
        statistics,
        tasks=tuple(statistics.tasks[number] for number in chosen),
        task=place[statistics.task[kept]],
        arm=statistics.arm[kept],
        count=statistics.count[kept],
        sums=statistics.sums[kept],
        products=statistics.products[kept],
        weighted=None if statistics.weighted is None else statistics.weighted[kept],
    )


def _union_of_features(first: tuple[Feature, ...], second: tuple[Feature, ...]) -> tuple[Feature, ...]:
    columns = list(dict.fromkeys(feature.name for feature in first))
    if set(columns) != {feature.name for feature in second}:
        raise invalid("the context columns", f"{', '.join(columns)} in both logs", sorted({f.name for f in second}))
    joined = dict.fromkeys(first + second)
    for column in columns:
        kinds = {feature.level is None for feature in joined if feature.name == column}
        if len(kinds) > 1:
            raise invalid(f"column {column!r}", "a number in both logs or a category in both", "one of each")
    return tuple(sorted(joined, key=lambda feature: (columns.index(feature.name), feature.level or "")))


def _numbers(names: tuple[str, ...], union: tuple[str, ...]) -> IntArray:
    place = {name: number for number, name in enumerate(union)}
    return np.array([place[name] for name in names], dtype=np.int64)


def _columns(features: tuple[Feature, ...], union: tuple[Feature, ...]) -> IntArray:
    """Where the features and the reward are among those of the union."""
    return np.array([union.index(feature) for feature in features] + [len(union)])


def _spread(statistics: Statistics, features: tuple[Feature, ...], shift: FloatArray) -> Statistics:
    """The same rows with more features (levels that they never have) and another shift."""
    place, cells, p = _columns(statistics.features, features), len(statistics.count), len(features) + 1
    sums, products = np.zeros((cells, p)), np.zeros((cells, p, p))
    sums[:, place] = statistics.sums
    products[:, place[:, None], place[None, :]] = statistics.products
    move = -shift
    move[place] += statistics.shift
    n = statistics.count[:, None]
    cross = sums[:, :, None] * move
    products += cross + cross.transpose(0, 2, 1) + n[:, :, None] * np.outer(move, move)
    weighted = statistics.weighted
    if weighted is not None:
        weighted = _move_weighted(weighted, move[-1])
    return replace(
        statistics, features=features, sums=sums + n * move, products=products, shift=shift, weighted=weighted
    )


def _move_weighted(weighted: FloatArray, move: float) -> FloatArray:
    w, ww, wr, wwr, wwrr = weighted.T
    return np.column_stack([w, ww, wr + move * w, wwr + move * ww, wwrr + 2 * move * wwr + move**2 * ww])


def _unite(
    tasks: tuple[str, ...],
    arms: tuple[str, ...],
    features: tuple[Feature, ...],
    task: IntArray,
    arm: IntArray,
    parts: Sequence[Statistics],
    shift: FloatArray,
) -> Statistics:
    """Cells of the same task and arm added up."""
    cell, number = np.unique(task * len(arms) + arm, return_inverse=True)

    def total(values: list[Any]) -> Any:
        joined = np.concatenate(values)
        result = np.zeros((len(cell), *joined.shape[1:]), dtype=joined.dtype)
        np.add.at(result, number, joined)
        return result

    weighted = [part.weighted for part in parts if part.weighted is not None]
    return Statistics(
        tasks,
        arms,
        features,
        cell // len(arms),
        cell % len(arms),
        total([part.count for part in parts]),
        total([part.sums for part in parts]),
        total([part.products for part in parts]),
        shift,
        total(weighted) if weighted else None,
    )
