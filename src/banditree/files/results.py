"""Results in files: Parquet for many rows, JSON for few; both with seed, settings and versions."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from banditree.errors import InvalidInput, lacking
from banditree.files.documents import Document, Part, dump, parse, read_json, write_text, written_whole
from banditree.simulation.frames import category_names, columns
from banditree.simulation.results import UNKNOWN, Phase, Results
from banditree.tasks.arrays import IntArray

ROWS_AT_A_TIME = 2_000_000  # Rows of a Parquet file that are in memory at once: about 200 MB.
KEY = b"banditree"  # The key of the document that a Parquet file carries beside its rows.
PHASES = [phase.name.lower() for phase in Phase]


class RunPart(Part):
    """One finished run: its regret, arm and phase at each of the recorded rounds."""

    policy: str
    task: str
    run: int
    regret: list[float]
    arm: list[str]
    phase: list[str]
    committed: int | None = Field(None, description="round of the first choice made for good")
    task_right: bool | None = Field(None, description="whether the classified task is the true one")
    arm_right: bool | None = Field(None, description="whether the arm of the commitment is a best one")
    alarmed: int | None = Field(None, description="round of the first choice of the fallback")


class ResultsFile(Document):
    """What a simulation gave. In Parquet, `played` is omitted and its rows are the table."""

    schema_: Literal["banditree/results/1"] = Field("banditree/results/1", alias="schema")
    policies: list[str]
    tasks: list[str]
    arms: list[str]
    rounds: list[int] = Field(description="where the runs were recorded, from 1")
    runs: int = Field(description="runs asked for; unfinished ones are omitted")
    settings: dict[str, Any]
    versions: dict[str, str]
    played: list[RunPart] = Field(default_factory=list)


def save_results(results: Results, path: str | Path) -> None:
    """Write results as .parquet (tidy rows, see `simulation.frames.columns`) or .json (one item per run)."""
    path = Path(path)
    check_results_name(path)
    if path.suffix.lower() == ".json":
        write_text(path, dump(results_document(results)))
    else:
        _save_parquet(results, path)


def check_results_name(path: str | Path) -> None:
    """Raise unless results can be written under that name, before they are simulated for hours."""
    path = Path(path)
    if path.suffix.lower() not in (".json", ".parquet"):
        raise InvalidInput(f"{path}: results are written as .parquet or .json. Choose a name with that ending.")
    if not path.parent.is_dir():
        raise InvalidInput(f"{path} cannot be written: there is no folder {path.parent}. Make it first.")
    if path.suffix.lower() == ".parquet":
        _arrow()


def load_results(path: str | Path) -> Results:
    """The results in a .parquet or .json file."""
    path = Path(path)
    if path.suffix.lower() == ".json":
        return _from_document(parse(ResultsFile, read_json(path), str(path)), str(path))
    if path.suffix.lower() == ".parquet":
        return _load_parquet(path)
    raise InvalidInput(f"{path}: results are a .parquet or a .json file. Give one that `banditree lab simulate` wrote.")


def results_document(results: Results, *, with_runs: bool = True) -> ResultsFile:
    """The results as they are written."""
    return ResultsFile(
        policies=list(results.policies),
        tasks=list(results.tasks),
        arms=list(results.arms),
        rounds=results.rounds.tolist(),
        runs=results.regret.shape[2],
        settings=results.settings,
        versions=results.versions,
        played=[_run_part(results, *place) for place in np.argwhere(results.finished).tolist()] if with_runs else [],
    )


def _run_part(results: Results, policy: int, task: int, run: int) -> RunPart:
    place = (policy, task, run)
    return RunPart(
        policy=results.policies[policy],
        task=results.tasks[task],
        run=run,
        regret=results.regret[place].tolist(),
        arm=[results.arms[arm] for arm in results.arm[place]],
        phase=[PHASES[phase] for phase in results.phase[place]],
        committed=int(results.committed[place]) or None,
        task_right=_known(int(results.task_right[place])),
        arm_right=_known(int(results.arm_right[place])),
        alarmed=int(results.alarmed[place]) or None,
    )


def _known(right: int) -> bool | None:
    return None if right == UNKNOWN else bool(right)


def _empty(document: ResultsFile) -> Results:
    return Results.unfinished(
        policies=tuple(document.policies),
        tasks=tuple(document.tasks),
        arms=tuple(document.arms),
        rounds=np.array(document.rounds, np.int64),
        runs=document.runs,
        settings=document.settings,
        versions=document.versions,
    )


def _from_document(document: ResultsFile, source: str) -> Results:
    results = _empty(document)
    arms = {name: number for number, name in enumerate(document.arms)}
    try:
        for part in document.played:
            place = (document.policies.index(part.policy), document.tasks.index(part.task), part.run)
            results.regret[place] = part.regret
            results.arm[place] = [arms[name] for name in part.arm]
            results.phase[place] = [PHASES.index(name) for name in part.phase]
            results.committed[place] = part.committed or 0
            results.alarmed[place] = part.alarmed or 0
            results.task_right[place] = UNKNOWN if part.task_right is None else part.task_right
            results.arm_right[place] = UNKNOWN if part.arm_right is None else part.arm_right
    except (KeyError, ValueError, IndexError) as problem:
        raise InvalidInput(f"{source}: a run does not fit the rest of the file ({problem}). Save it again.") from None
    return results


def _arrow(module: str = "pyarrow") -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise lacking("Parquet files need pyarrow", "frames") from None


def _save_parquet(results: Results, path: Path) -> None:
    """Write the rows of some runs at a time: all of them at once take several times the memory of the results."""
    parquet = _arrow("pyarrow.parquet")
    runs, size = np.argwhere(results.finished), max(1, ROWS_AT_A_TIME // len(results.rounds))
    first = _rows(results, runs[:size])
    with written_whole(path) as temporary, parquet.ParquetWriter(temporary, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for start in range(size, len(runs), size):
            writer.write_table(_rows(results, runs[start : start + size]))


def _rows(results: Results, runs: IntArray) -> Any:
    """The rows of some runs as a table of Arrow, with what the results say about themselves."""
    pa = _arrow()
    table = columns(results, runs)
    arrays = {name: pa.array(values) for name, values in table.items()}
    for name, names in category_names(results).items():
        codes = pa.array(table[name].astype(np.int32))
        arrays[name] = pa.DictionaryArray.from_arrays(codes, pa.array(names))
    for name in ("committed", "alarmed"):
        arrays[name] = pa.array(table[name], mask=table[name] == 0)
    for name in ("task_right", "arm_right"):
        arrays[name] = pa.array(table[name] == 1, mask=table[name] == UNKNOWN)
    document = results_document(results, with_runs=False).model_dump_json(by_alias=True)
    return pa.table(arrays).replace_schema_metadata({KEY: document.encode()})


def _load_parquet(path: Path) -> Results:
    parquet, arrow = _arrow("pyarrow.parquet"), _arrow("pyarrow.lib")
    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file. Check the name and the folder.") from None
    except (arrow.ArrowException, OSError) as problem:
        raise InvalidInput(f"{path} is not a Parquet file that can be read: {problem}.") from None
    metadata = table.schema.metadata or {}
    if KEY not in metadata:
        raise InvalidInput(f"{path} holds no results of banditree. Give a file that `banditree lab simulate` wrote.")
    document = parse(ResultsFile, json.loads(metadata[KEY]), str(path))
    results = _empty(document)
    C = len(document.rounds)
    values = {name: _codes(table, name) for name in ("policy", "task", "arm", "phase")}
    for name in ("run", "regret", "committed", "alarmed", "task_right", "arm_right"):
        missing = UNKNOWN if name.endswith("right") else 0
        values[name] = table[name].cast("double").fill_null(missing).to_numpy()
    place = tuple(values[name][::C].astype(np.int64) for name in ("policy", "task", "run"))
    for name in ("regret", "arm", "phase"):
        getattr(results, name)[place] = values[name].reshape(-1, C)
    for name in ("committed", "alarmed", "task_right", "arm_right"):
        getattr(results, name)[place] = values[name][::C]
    return results


def _codes(table: Any, name: str) -> Any:
    column = table[name].combine_chunks()
    return column.indices.to_numpy()
