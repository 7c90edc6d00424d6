"""What a query over a log brings back, one row per (task, arm, categories), as statistics."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.contexts import Feature
from banditree.training.columns import Columns
from banditree.training.statistics import N_WEIGHTED, Statistics
from banditree.training.view import LogView

if TYPE_CHECKING:
    import pyarrow as pa

MAX_LEVELS = 100  # A categorical column may have so many values.
WEIGHTED = tuple(f"weighted{index}" for index in range(N_WEIGHTED))


class Labels(NamedTuple):
    """The kinds that a log names, and the kind (U,) of every individual."""

    kinds: tuple[str, ...]
    labels: IntArray


def cell_statistics(cells: "pa.Table", view: LogView, shift: FloatArray) -> tuple[Statistics, Labels | None]:
    """The statistics of the cells, with categories turned into indicator features, and the labels if there are any."""
    units, task = _numbered(cells["unit"])
    found_labels = None
    if view.labelled:
        units, task, found_labels = _labelled(units, task, *_numbered(cells["task"]))
    arms, arm = _numbered(cells["arm"])
    levels = [_numbered(cells[f"c{index}"]) for index in range(len(view.categorical))]
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
        np.add.at(result, number, values)
        return result

    weighted = np.column_stack([cells[name].to_numpy() for name in WEIGHTED]) if view.weighted else None
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


def _numbered(column: "pa.ChunkedArray") -> tuple[tuple[str, ...], IntArray]:
    """The different values as names, in the order a person would give them, and the number of each."""
    encoded = column.unify_dictionaries().combine_chunks().dictionary_encode()
    names = [name_of(value) for value in encoded.dictionary.to_pylist()]
    order = sorted(set(names), key=natural)
    place = {name: number for number, name in enumerate(order)}
    numbers = np.array([place[name] for name in names], dtype=np.int64)
    return tuple(order), numbers[encoded.indices.to_numpy()]


def name_of(value: Any) -> str:
    """The value as a name, without spaces around it; a whole number that is stored with a point has none."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def padded_notes(cells: "pa.Table", view: LogView, columns: Columns) -> tuple[str, ...]:
    """A sentence for every column of names from which spaces were removed."""
    names = {"task": columns.task, "unit": columns.unit, "arm": columns.arm}
    named = {key: names.get(key) or view.categorical[int(key[1:])] for key in view.keys}
    return tuple(note for key, column in named.items() for note in padded_note(cells[key], column))


def padded_note(values: "pa.ChunkedArray", column: str) -> list[str]:
    """The sentence for one column, if spaces were removed from a name in it."""
    padded = [value for value in values.unique().to_pylist() if isinstance(value, str) and value != value.strip()]
    return [f"Spaces around names in column {column!r} were removed, as in {padded[0]!r}."] if padded else []


def natural(name: str) -> list[tuple[int, Any]]:
    """A key that sorts "task 2" before "task 10"."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name) if part]
