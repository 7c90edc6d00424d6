"""A log in two parts: cases to learn from, and others that are held out, on which plans are judged."""

from typing import TYPE_CHECKING, NamedTuple

from banditree.cases.values import natural
from banditree.errors import InvalidInput
from banditree.evaluation.splits import hold_out
from banditree.service.studio.content import Log
from banditree.service.studio.looking import log_table
from banditree.service.studio.tables import opened, written
from banditree.service.studio.understanding import understood

if TYPE_CHECKING:
    import pyarrow as pa

HELD_OUT = 1 / 3  # This share of the cases is held out to judge plans on.
SEED = 0  # A fixed seed, so that the same log gives the same two parts.


class Split(NamedTuple):
    """The two parts as they are kept. held is None where the log has too few cases, or does not tell them apart."""

    learn: bytes
    held: bytes | None
    n_learn: int | None
    n_held: int


def split(content: bytes, log: Log) -> Split:
    """The parts of a log that was kept, with the columns that are used and nothing else of it."""
    table = log_table(understood(content, log.reading).table, log)
    table = table.select([name for name in table.column_names if name in log.used])
    if log.roles.individual is None:
        return Split(written(table), None, None, 0)
    names = _individuals(table, log.roles.individual)
    try:
        learned, held = hold_out(len(names), HELD_OUT, SEED)
    except InvalidInput:
        return Split(written(table), None, len(names), 0)
    parts = [_only(table, log.roles.individual, [names[u] for u in part]) for part in (learned, held)]
    return Split(written(parts[0]), written(parts[1]), len(learned), len(held))


def held_without(content: bytes, log: Log, excluded: list[str]) -> bytes:
    """The held-out part of a log without the rows of some options, which a plan that may not use them does not know."""
    import pyarrow as pa
    import pyarrow.compute as pc

    held = split(content, log).held
    assert held is not None
    table = opened(held)
    assert log.roles.arm is not None
    given = table[log.roles.arm].cast(pa.string())
    return written(table.filter(pc.invert(pc.is_in(given, pa.array(excluded, pa.string())))))


def _individuals(table: "pa.Table", column: str) -> list[object]:
    """Everyone, in the order in which a person would list them."""
    import pyarrow.compute as pc

    return sorted(pc.unique(table[column].drop_null()).to_pylist(), key=lambda name: natural(str(name)))


def _only(table: "pa.Table", column: str, names: list[object]) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.compute as pc

    return table.filter(pc.is_in(table[column], pa.array(names, table[column].type)))
