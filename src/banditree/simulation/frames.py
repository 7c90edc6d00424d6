"""Results as tidy rows: plain columns, a pandas frame or a polars frame."""

from typing import Any

import numpy as np
import numpy.typing as npt

from banditree.errors import lacking
from banditree.simulation.results import UNKNOWN, Phase, Results
from banditree.tasks.arrays import IntArray


def columns(results: Results, runs: IntArray | None = None) -> dict[str, npt.NDArray[Any]]:
    """Tidy columns, one row per finished run and recorded round, as numbers: names are positions in `results`.

    policy, task, run, round, regret, arm, phase; and, the same in all rows of a run, committed, task_right, arm_right,
    alarmed (see `Results`). runs: (n, 3), the policy, task and number of each run; all finished ones by default.
    """
    runs = np.argwhere(results.finished) if runs is None else runs
    C = len(results.rounds)
    of_run = {name: np.repeat(runs[:, axis], C) for axis, name in enumerate(("policy", "task", "run"))}
    chosen = tuple(runs.T)
    return {
        **of_run,
        "round": np.tile(results.rounds, len(runs)),
        "regret": results.regret[chosen].ravel(),
        "arm": results.arm[chosen].ravel(),
        "phase": results.phase[chosen].ravel(),
        "committed": np.repeat(results.committed[chosen], C),
        "task_right": np.repeat(results.task_right[chosen], C),
        "arm_right": np.repeat(results.arm_right[chosen], C),
        "alarmed": np.repeat(results.alarmed[chosen], C),
    }


def category_names(results: Results) -> dict[str, list[str]]:
    """What the numbers in the columns policy, task, arm and phase stand for."""
    return {
        "policy": list(results.policies),
        "task": list(results.tasks),
        "arm": list(results.arms),
        "phase": [phase.name.lower() for phase in Phase],
    }


def as_pandas(results: Results) -> Any:
    """The tidy rows as a pandas frame, names as categories; missing where there is nothing to say."""
    try:
        import pandas
    except ImportError:
        raise lacking("A pandas frame needs pandas", "frames") from None
    pd: Any = pandas
    frame = pd.DataFrame(columns(results))
    for name, names in category_names(results).items():
        frame[name] = pd.Categorical.from_codes(frame[name].to_numpy(), categories=names)
    for name, missing in (("committed", 0), ("alarmed", 0), ("task_right", UNKNOWN), ("arm_right", UNKNOWN)):
        kind = "Int64" if missing == 0 else "boolean"
        frame[name] = frame[name].astype("Int64").mask(frame[name] == missing).astype(kind)
    return frame


def as_polars(results: Results) -> Any:
    """The tidy rows as a polars frame, names as enumerations; null where there is nothing to say."""
    try:
        import polars as pl
    except ImportError:
        raise lacking("A polars frame needs polars", "frames") from None
    frame: Any = pl.DataFrame(columns(results))
    named = [
        pl.col(name).replace_strict(dict(enumerate(names)), return_dtype=pl.Enum(names))
        for name, names in category_names(results).items()
    ]
    rounds = [pl.when(pl.col(name) > 0).then(pl.col(name)).alias(name) for name in ("committed", "alarmed")]
    rights = [
        pl.when(pl.col(name) != UNKNOWN).then(pl.col(name).cast(pl.Boolean)).alias(name)
        for name in ("task_right", "arm_right")
    ]
    return frame.with_columns(*named, *rounds, *rights)
