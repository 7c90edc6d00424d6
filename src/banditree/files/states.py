"""Collections with states in files: JSON, and CSV with one row per task, state and arm."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from banditree.errors import InvalidInput
from banditree.files.documents import Document, dump, parse, write_text
from banditree.files.matrix import Row, read_rows
from banditree.tasks.states import StateCollection

SCHEMA = "banditree/states/1"
FIRST = ["task", "state", "arm", "rate"]  # So the header of a CSV file begins; the states follow.
START = "start"  # In place of a task: a row with the chances of the first state.
HINT = "Write the header task,state,arm,rate and then the states; a row per task, state and arm."


class StatesFile(Document):
    """M tasks x S states x K arms: success rates, and the chances of every next state."""

    schema_: Literal["banditree/states/1"] = Field("banditree/states/1", alias="schema")
    tasks: list[str]
    arms: list[str]
    states: list[str]
    start: list[float] = Field(description="chance of each state in the first round")
    rates: list[list[list[float]]] = Field(description="chance of a success, by task, state and arm")
    moves: list[list[list[list[float]]]] = Field(description="chances of the next states, by task, state and arm")
    shares: list[float] | None = Field(None, description="shares of the tasks among cases; none: unknown")
    provenance: str = "known"
    rate_margin: list[list[list[float]]] | None = Field(None, description="how far estimated rates may be off")
    move_margin: list[list[list[list[float]]]] | None = Field(
        None, description="how far estimated chances of next states may be off"
    )


def save_states(collection: StateCollection, path: Path) -> None:
    """Write a collection with states as JSON."""
    write_text(path, dump(states_document(collection)))


def states_document(known: StateCollection) -> StatesFile:
    """The collection as it is written."""
    return StatesFile(
        tasks=list(known.tasks),
        arms=list(known.arms),
        states=list(known.states),
        start=known.start.tolist(),
        rates=known.rates.tolist(),
        moves=known.moves.tolist(),
        shares=None if known.shares is None else known.shares.tolist(),
        provenance=known.provenance,
        rate_margin=None if known.rate_margin is None else known.rate_margin.tolist(),
        move_margin=None if known.move_margin is None else known.move_margin.tolist(),
    )


def states_from_json(data: object, source: str) -> StateCollection:
    """The collection that a JSON file describes."""
    read = parse(StatesFile, data, source).model_dump(exclude={"schema_"})
    try:
        return StateCollection(read.pop("rates"), read.pop("moves"), **read)
    except InvalidInput as problem:
        raise InvalidInput(f"{source}: {problem}") from None


def has_states(path: Path) -> bool:
    """Whether a CSV file is a table by task, state and arm."""
    header, _rows = read_rows(path)
    return [name.lower() for name in header[:2]] == FIRST[:2]


def states_from_csv(path: Path) -> StateCollection:
    """The collection in a CSV file: the columns task, state, arm, rate and one per state, the chance that it is next.

    A row with "start" in place of the task has the chances of the first state; by default that is the first one.
    """
    header, rows = read_rows(path)
    states = header[len(FIRST) :]
    if [name.lower() for name in header[: len(FIRST)]] != FIRST or len(states) < 2:
        raise InvalidInput(f"{path}: the header must begin with {','.join(FIRST)} and go on with the states. {HINT}")
    starts = [row for row in rows if row.fields[0].lower() == START]
    cells = {}
    for row in rows:
        if row in starts:
            continue
        key = tuple(row.fields[:3])
        if key[1] not in states:
            raise InvalidInput(f"{row.place}: {key[1]!r} is not one of the states of the header ({', '.join(states)}).")
        if key in cells:
            raise InvalidInput(f"{row.place}: task {key[0]!r}, state {key[1]!r}, arm {key[2]!r} was there before.")
        cells[key] = _numbers(row, row.fields[3:])
    tasks, arms = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 2))
    lacking = [(i, s, k) for i in tasks for s in states for k in arms if (i, s, k) not in cells]
    if lacking:
        i, s, k = lacking[0]
        raise InvalidInput(f"{path}: there is no row for task {i!r}, state {s!r}, arm {k!r}. {HINT}")
    try:
        return StateCollection(
            [[[cells[i, s, k][0] for k in arms] for s in states] for i in tasks],
            [[[cells[i, s, k][1:] for k in arms] for s in states] for i in tasks],
            tasks=tasks,
            arms=arms,
            states=states,
            start=_numbers(starts[0], starts[0].fields[4:]) if starts else None,
            provenance=f"known, from {path.name}",
        )
    except InvalidInput as problem:
        raise InvalidInput(f"{path}: {problem}") from None


def _numbers(row: Row, fields: list[str]) -> list[float]:
    try:
        return [float(field) for field in fields]
    except ValueError:
        raise InvalidInput(f"{row.place}: {fields} must all be numbers. {HINT}") from None
