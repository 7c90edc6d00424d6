"""Rows of a log that cannot be used: what is wrong with them, how many, and where the first ones are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from banditree.tasks.rewards import Rewards
from banditree.training.columns import Columns
from banditree.training.sources import Log
from banditree.training.view import as_key, as_number

FIRST_ROWS = 5  # The numbers of so many bad rows are given.


@dataclass(frozen=True)
class BadRows:
    """How many rows are bad, how many of each kind, and the numbers of the first ones (from 1; none in databases)."""

    n_rows: int
    kinds: tuple[tuple[str, int], ...] = ()
    first: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.n_rows:
            return "no bad rows."
        kinds = "; ".join(f"{what}: {count:,}" for what, count in self.kinds)
        where = f" First at row {', '.join(map(str, self.first))}." if self.first else ""
        return f"{self.n_rows:,} bad row{'s' if self.n_rows > 1 else ''} ({kinds}).{where}"


class Problem(NamedTuple):
    """What may be wrong with a row, and the test for it: true or false for every row, never missing."""

    what: str
    test: Any


def problems_of(log: Log, columns: Columns, categorical: Sequence[str], family: Rewards) -> list[Problem]:
    """Everything that makes a row bad, in the order in which problems are named; it is said nowhere else."""
    table = log.table
    names = dict.fromkeys(name for name in (columns.task, columns.individual, columns.arm, *categorical) if name)
    found = [(f"{name} missing", as_key(table[name]).isnull()) for name in names]
    numeric = [name for name in columns.context if name not in categorical]
    for name in (columns.reward, *numeric, *([columns.propensity] if columns.propensity else [])):
        column, number = table[name], as_number(table[name])
        found.append((f"{name} missing", column.isnull()))
        if column.type().is_string():
            found.append((f"{name} not a number", number.isnull()))
        found.append((f"{name} infinite or not a number", _is_infinite(number)))
    reward = as_number(table[columns.reward])
    if family.has_range:
        found.append((f"{columns.reward} {family.broken_rule}", family.impossible(reward)))
    if columns.propensity is not None:
        share = as_number(table[columns.propensity])
        found.append((f"{columns.propensity} outside (0, 1]", (share <= 0) | (share > 1)))
    return [Problem(what, test.fill_null(False)) for what, test in found]


def _is_infinite(number: Any) -> Any:
    """Whether a number is infinite or NaN: then number - number is not 0. Not every engine's own test is right."""
    return (number - number) != 0


def any_of(problems: Sequence[Problem]) -> Any:
    """Whether a row has any of the problems."""
    return reduce(or_, [problem.test for problem in problems])


def describe_bad_rows(log: Log, problems: Sequence[Problem]) -> BadRows:
    """What is wrong with the rows of a log. Looks at every row; needed only when the sums show that some are bad."""
    import ibis

    kind = ibis.cases(*[(problem.test, number) for number, problem in enumerate(problems)], else_=-1)
    numbered = {"row": ibis.row_number()} if log.ordered else {}
    marked = log.table.select(kind=kind, **numbered)
    bad = marked.filter(marked["kind"] >= 0)
    found = bad.group_by("kind").agg(n=bad.count()).order_by("kind").to_pyarrow().to_pydict()
    first: list[int] = []
    if log.ordered:
        first = [1 + row for row in bad.order_by("row").limit(FIRST_ROWS).select("row").to_pyarrow()["row"].to_pylist()]
    kinds = tuple((problems[k].what, int(n)) for k, n in zip(found["kind"], found["n"], strict=True))
    return BadRows(sum(n for _, n in kinds), kinds, tuple(first))
