"""Statistics of a log in files, so that tomorrow's rows can be added without reading yesterday's again."""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from banditree.errors import InvalidInput
from banditree.files.collections import FeaturePart, features_from_part, features_part
from banditree.files.documents import Document, Part, dump, parse, read_json, write_text
from banditree.training.statistics import Statistics


class CellPart(Part):
    """The sums of the rows of one task and arm, of all columns less their shift."""

    task: int = Field(description="number into tasks, from 0")
    arm: int = Field(description="number into arms, from 0")
    count: int = Field(description="rows")
    sums: list[float] = Field(description="of every feature and, last, the reward")
    products: list[float] = Field(description="of every two of them, row by row of the upper triangle")
    weighted: list[float] | None = Field(None, description="sums of w, w^2, w r, w^2 r, w^2 r^2; w = 1/propensity")


class StatisticsFile(Document):
    """What is kept from a log: sums per task and arm."""

    schema_: Literal["banditree/statistics/1"] = Field("banditree/statistics/1", alias="schema")
    tasks: list[str]
    arms: list[str]
    features: list[FeaturePart]
    shift: list[float] = Field(description="what was subtracted from every column before it was added up")
    cells: list[CellPart]


def save_statistics(statistics: Statistics, path: str | Path) -> None:
    """Write statistics as JSON. They hold sums per task and arm, and no row of the log."""
    upper = np.triu_indices(statistics.sums.shape[1])
    cells = [
        CellPart(
            task=int(statistics.task[cell]),
            arm=int(statistics.arm[cell]),
            count=int(statistics.count[cell]),
            sums=statistics.sums[cell].tolist(),
            products=statistics.products[cell][upper].tolist(),
            weighted=None if statistics.weighted is None else statistics.weighted[cell].tolist(),
        )
        for cell in range(len(statistics.count))
    ]
    document = StatisticsFile(
        tasks=list(statistics.tasks),
        arms=list(statistics.arms),
        features=features_part(statistics.features),
        shift=statistics.shift.tolist(),
        cells=cells,
    )
    write_text(Path(path), dump(document))


def load_statistics(path: str | Path) -> Statistics:
    """The statistics in a JSON file."""
    document = parse(StatisticsFile, read_json(Path(path)), str(path))
    p = len(document.shift)
    upper = np.triu_indices(p)
    products = np.zeros((len(document.cells), p, p))
    try:
        for index, cell in enumerate(document.cells):
            products[index][upper] = cell.products
            products[index].T[upper] = cell.products
        weighted = [cell.weighted for cell in document.cells if cell.weighted is not None]
        return Statistics(
            tuple(document.tasks),
            tuple(document.arms),
            features_from_part(document.features),
            np.array([cell.task for cell in document.cells], dtype=np.int64),
            np.array([cell.arm for cell in document.cells], dtype=np.int64),
            np.array([cell.count for cell in document.cells], dtype=np.int64),
            np.array([cell.sums for cell in document.cells]).reshape(-1, p),
            products,
            np.array(document.shift),
            np.array(weighted) if weighted else None,
        )
    except ValueError as problem:
        raise InvalidInput(f"{path}: {problem}") from None
