"""A collection as a heat map: tasks x arms with the best arm marked, and which pairs of tasks are separated."""

from dataclasses import dataclass

import numpy as np

from banditree.figures.scene import GREY, INK, PAPER, Line, Scene, Shape, Text, fitted, rectangle, text_width
from banditree.nouns import counted, plural
from banditree.plans.words import Vocabulary
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.separation import least_separation, tolerance

MOST_SHOWN = 50  # At most this many tasks and arms are shown; more cells are too small to see.
NAME_WIDTH = 110.0
DARK = (0, 92, 148)  # The largest mean: the blue of the palette, a little darker; white is the least mean.


@dataclass(frozen=True, eq=False)
class HeatMapInfo:
    """Means (M, K) with the best arm (M,) of each task, the separation (M, M) of each pair of tasks by its best arm,
    and whether that is at least `separation`. Of large collections only the first tasks and arms; `note` says so."""

    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    means: FloatArray
    low: float
    high: float
    best: IntArray
    apart: FloatArray
    separation: float
    words: Vocabulary
    note: str


def heat_map_info(
    collection: Collection, separation: float | None = None, words: Vocabulary | None = None
) -> HeatMapInfo:
    """The numbers of the heat map; `separation` is the collection's own by default.

    >>> info = heat_map_info(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]]))
    >>> info.best.tolist(), info.apart.round(2).tolist(), round(info.separation, 2)
    ([0, 1], [[0.0, 0.4], [0.4, 0.0]], 0.4)
    """
    words = words or Vocabulary()
    M, K = min(collection.n_tasks, MOST_SHOWN), min(collection.n_arms, MOST_SHOWN)
    limit = least_separation(collection).value if separation is None else separation
    apart = np.stack([np.abs(collection.means[:M] - row).max(axis=1) for row in collection.means[:M]])
    note = ""
    if collection.n_tasks > M or collection.n_arms > K:
        tasks, arms = counted(collection.n_tasks, words.task), counted(collection.n_arms, words.arm)
        note = f"The first {M} of {tasks} and {K} of {arms}."
    return HeatMapInfo(
        collection.tasks[:M],
        collection.arms[:K],
        collection.means[:M, :K],
        float(collection.means.min()),
        float(collection.means.max()),
        collection.best_arms[:M],
        apart,
        limit,
        words,
        note,
    )


def heat_map_scene(info: HeatMapInfo) -> Scene:
    """Two squares side by side: means by task and arm, and the largest difference of each pair of tasks."""
    M, K = info.means.shape
    cell = max(9.0, min(34.0, 330 / max(M, K)))
    names = [fitted(name, NAME_WIDTH, 9.0) for name in info.tasks]
    left = max(text_width(name, 9.0) for name in names) + 8
    shapes, top = _column_names(info.arms, left, cell)
    title = f"Mean {info.words.reward}, best {info.words.arm} outlined"
    shapes.append(Text(0, 11, title, 10.5, INK, bold=True))
    second = max(left + K * cell + 40, text_width(title, 10.5, bold=True) + 20)
    pairs = f"Pairs of {plural(info.words.task)}: largest gap"
    shapes.append(Text(second, 11, pairs, 10.5, INK, bold=True))
    for i, name in enumerate(names):
        y = top + i * cell
        shapes.append(Text(left - 6, y + cell / 2 + 3, name, 9.0, INK, anchor="end"))
        shapes += _mean_row(info, i, left, y, cell)
        shapes += _pair_row(info, i, second, y, cell)
    bottom = top + M * cell + 16
    for line in _caption(info):
        shapes.append(Text(0, bottom, line, 9.0, GREY))
        bottom += 13
    width = max(second + max(M * cell, text_width(pairs, 10.5, bold=True)), 430.0)
    best = "; ".join(f"{task}: {info.arms[k]}" for task, k in zip(info.tasks, info.best, strict=True) if k < K)
    return Scene(width, bottom - 6, tuple(shapes), f"Means. Best {info.words.arm}: {best}.")


def _column_names(arms: tuple[str, ...], left: float, cell: float) -> tuple[list[Shape], float]:
    """The names of the arms above their columns, turned if they do not fit."""
    names = [fitted(name, 80.0, 9.0) for name in arms]
    widest = max(text_width(name, 9.0) for name in names)
    if widest <= cell:
        top = 38.0
        return [Text(left + (k + 0.5) * cell, top - 5, name, 9.0, anchor="middle") for k, name in enumerate(names)], top
    top = 28.0 + widest
    places = [left + (k + 0.5) * cell + 3 for k in range(len(names))]
    return [Text(x, top - 5, name, min(9.0, cell), turned=True) for x, name in zip(places, names, strict=True)], top


def _mean_row(info: HeatMapInfo, i: int, left: float, y: float, cell: float) -> list[Shape]:
    shapes: list[Shape] = []
    for k, mean in enumerate(info.means[i].tolist()):
        x, share = left + k * cell, (mean - info.low) / ((info.high - info.low) or 1.0)
        title = f"{info.tasks[i]}, {info.arms[k]}: {mean:.4g}"
        shapes.append(rectangle(x, y, cell, cell, fill=shade(share), stroke=PAPER, width=0.8, title=title))
        if cell >= 24:
            ink = ink_on(share)
            shapes.append(Text(x + cell / 2, y + cell / 2 + 3, f"{mean:.2f}", 8.5, ink, anchor="middle"))
    k = int(info.best[i])
    if k < len(info.arms):
        inset = cell / 12
        shapes.append(
            rectangle(
                left + k * cell + inset, y + inset, cell - 2 * inset, cell - 2 * inset, stroke="#d55e00", width=2.2
            )
        )
    return shapes


def _pair_row(info: HeatMapInfo, i: int, left: float, y: float, cell: float) -> list[Shape]:
    """The pairs of a task: filled if some arm separates them enough, crossed out if none does."""
    shapes: list[Shape] = []
    limit = info.separation - tolerance(info.separation)
    highest = float(info.apart.max()) or 1.0
    for j, gap in enumerate(info.apart[i].tolist()):
        x = left + j * cell
        if i == j:
            continue
        title = f"{info.tasks[i]} and {info.tasks[j]}: {gap:.4g}"
        shapes.append(rectangle(x, y, cell, cell, fill=shade(gap / highest), stroke=PAPER, width=0.8, title=title))
        if gap < limit:
            shapes.append(Line(((x + 3, y + 3), (x + cell - 3, y + cell - 3)), "#d55e00", 1.6))
        elif cell >= 24:
            ink = ink_on(gap / highest)
            shapes.append(Text(x + cell / 2, y + cell / 2 + 3, f"{gap:.2f}", 8.5, ink, anchor="middle"))
    return shapes


def _caption(info: HeatMapInfo) -> list[str]:
    pairs = info.apart[np.triu_indices(len(info.tasks), 1)]
    separated = int((pairs >= info.separation - tolerance(info.separation)).sum())
    text = f"{separated} of {pairs.size} pairs differ by {info.separation:.3g} or more in some {info.words.arm}."
    return [text, info.note] if info.note else [text]


def shade(share: float) -> str:
    """A colour from almost white (0) to dark blue (1)."""
    share = min(max(share, 0.0), 1.0)
    return "#" + "".join(f"{round(245 + (dark - 245) * share):02x}" for dark in DARK)


def ink_on(share: float) -> str:
    """Black or white, whichever is easier to read on that shade."""
    return PAPER if share > 0.79 else "#000000"
