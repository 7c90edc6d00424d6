"""What a query over a log brings back, one row per (task, arm, categories), as statistics."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from banditree.cases.table import Cases
from banditree.cases.values import numbered, padded_note
from banditree.cases.view import LogView
from banditree.errors import InvalidInput
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.contexts import INTERCEPT, Feature
from banditree.training.grades import OUTCOME
from banditree.training.statistics import N_WEIGHTED, Statistics

if TYPE_CHECKING:
    import pyarrow as pa

MAX_LEVELS = 100  # A categorical column may have this many values.
WEIGHTED = tuple(f"weighted{index}" for index in range(N_WEIGHTED))


class Labels(NamedTuple):
    """The kinds that a log names, and the kind (U,) of every individual."""

    kinds: tuple[str, ...]
    labels: IntArray


def cell_statistics(cells: "pa.Table", view: LogView, shift: FloatArray) -> tuple[Statistics, Labels | None]:
    """The statistics of the cells, with categories turned into indicator features, and the labels if there are any."""
    units, task = numbered(cells["unit"])
    found_labels = None
    if view.labelled:
        units, task, found_labels = _labelled(units, task, *numbered(cells["task"]))
    arms, arm = numbered(cells["arm"])
    levels = [numbered(cells[f"c{index}"]) for index in range(len(view.categorical))]
    for name, (found, _) in zip(view.categorical, levels, strict=True):
        if len(found) > MAX_LEVELS:
            raise InvalidInput(
                f"Column {name!r} must have at most {MAX_LEVELS} values to be a category. Got {len(found):,}. If it "
                f'is a number, say so: numeric="{name}"; otherwise omit it or group its values.'
            )
    features = [Feature(name) for name in view.numeric]
    features += [Feature(name, level) for name, (own, _) in zip(view.categorical, levels, strict=True) for level in own]
    count = cells["n"].to_numpy().astype(np.int64)
    sums, products = _moments(cells, view, count, levels)
    cell, number = np.unique(task * max(len(arms), 1) + arm, return_inverse=True)

    def total(values: Any) -> Any:
        result = np.zeros((len(cell), *values.shape[1:]), dtype=values.dtype)
        if len(cell) == len(number):  # each is there once
            result[number] = values
        else:
            np.add.at(result, number, values)
        return result

    weighted = (
        np.column_stack([cells[name].to_numpy() for name in WEIGHTED]) if WEIGHTED[0] in cells.column_names else None
    )
    d = len(features)
    statistics = Statistics(
        units,
        arms,
        tuple(features),
        cell // max(len(arms), 1),
        cell % max(len(arms), 1),
        total(count),
        total(sums),
        total(products),
        np.concatenate([shift[:-1], np.zeros(d - len(view.numeric)), shift[-1:]]),
        None if weighted is None else total(weighted),
    )
    return statistics, found_labels


def _labelled(
    units: tuple[str, ...], unit: IntArray, kinds: tuple[str, ...], kind: IntArray
) -> tuple[tuple[str, ...], IntArray, Labels]:
    """Individuals with their kind; one that is of several kinds counts as one individual in each."""
    pairs, number = np.unique(unit * len(kinds) + kind, return_inverse=True)
    who, labels = pairs // len(kinds), pairs % len(kinds)
    several = np.bincount(who)[who] > 1
    names = [f"{units[u]} ({kinds[k]})" if more else units[u] for u, k, more in zip(who, labels, several, strict=True)]
    return tuple(names), number, Labels(kinds, labels)


def _moments(
    cells: "pa.Table", view: LogView, count: IntArray, levels: list[tuple[tuple[str, ...], IntArray]]
) -> tuple[FloatArray, FloatArray]:
    """Sums (C, p) and products (C, p, p) of numbers, indicators and the reward.

    In a group of rows with the same categories an indicator is constant, so its products follow from the sums.
    """
    numbers, n_numeric = view.numbers, len(view.numeric)
    n_levels = sum(len(names) for names, _ in levels)
    p = n_numeric + n_levels + 1
    place = [*range(n_numeric), p - 1]
    sums, products = np.zeros((len(count), p)), np.zeros((len(count), p, p))
    for i, a in enumerate(numbers):
        sums[:, place[i]] = cells[f"s_{a}"].to_numpy()
        for j, b in enumerate(numbers[i:], i):
            products[:, place[i], place[j]] = products[:, place[j], place[i]] = cells[f"p_{a}_{b}"].to_numpy()
    indicator = np.zeros((len(count), n_levels))
    first = 0
    for names, own in levels:
        indicator[np.arange(len(count)), first + own] = 1.0
        first += len(names)
    between = slice(n_numeric, n_numeric + n_levels)
    sums[:, between] = indicator * count[:, None]
    cross = indicator[:, :, None] * sums[:, None, place]
    products[:, between, place] = cross
    products[:, place, between] = cross.transpose(0, 2, 1)
    products[:, between, between] = count[:, None, None] * indicator[:, :, None] * indicator[:, None, :]
    return sums, products


def padded_notes(cells: "pa.Table", view: LogView) -> tuple[str, ...]:
    """A sentence for every column of names from which spaces were removed."""
    names = {"task": view.columns.task, "unit": view.columns.unit, "arm": view.columns.arm}
    named = {key: names.get(key) or view.categorical[int(key[1:])] for key in view.keys}
    return tuple(note for key, column in named.items() for note in padded_note(cells[key], column))


def statistics_of(cases: Cases, grades: Sequence[float] = ()) -> Statistics:
    """Rounds, sums and squares of every case and arm whose outcomes are known, and how often each of the `grades`."""
    row, arm = np.nonzero(cases.known)
    reward = cases.outcomes[row, arm]
    features = tuple(Feature(OUTCOME, f"{grade!r}") for grade in grades)
    return _summed(cases, row, arm, features, np.column_stack([*(reward == grade for grade in grades), reward]))


def context_statistics(cases: Cases) -> Statistics:
    """Sums and products of contexts and outcomes of every case and arm, over the rounds whose outcomes are known."""
    assert cases.contexts is not None
    row, arm = np.nonzero(cases.known)
    varies = [number for number, feature in enumerate(cases.features) if feature.name != INTERCEPT]
    features = tuple(cases.features[number] for number in varies)
    return _summed(
        cases, row, arm, features, np.column_stack([cases.contexts[row][:, varies], cases.outcomes[row, arm]])
    )


def _summed(
    cases: Cases, row: IntArray, arm: IntArray, features: tuple[Feature, ...], columns: FloatArray
) -> Statistics:
    """The statistics of columns (n, p), of which each is of a round and an arm."""
    cell, number = np.unique(cases.owner[row] * len(cases.arms) + arm, return_inverse=True)
    count, p = np.bincount(number, minlength=len(cell)), columns.shape[1]
    sums, products = np.zeros((len(cell), p)), np.zeros((len(cell), p, p))
    np.add.at(sums, number, columns)
    np.add.at(products, number, columns[:, :, None] * columns[:, None, :])
    case, k = np.divmod(cell, len(cases.arms))
    return Statistics(cases.cases, cases.arms, features, case, k, count, sums, products, np.zeros(p))
