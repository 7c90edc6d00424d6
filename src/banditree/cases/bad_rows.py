"""Rows of a log that cannot be used: what is wrong with them, how many, where the first ones are, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from banditree.cases.columns import Columns
from banditree.cases.sources import Log
from banditree.cases.values import as_key, as_number
from banditree.languages.language import message
from banditree.tasks.rewards import Rewards

FIRST_ROWS = 5  # The numbers of this many bad rows are given.
SHOWN = 4  # At most this many values of a column are named.


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


def problems_of(
    log: Log, columns: Columns, categorical: Sequence[str], family: Rewards, *, unknown: bool = False
) -> list[Problem]:
    """Everything that makes a row bad, in the order in which problems are named; it is said nowhere else.

    unknown: a reward may be missing, which then says that the outcome is not known.
    """
    table = log.table
    keys = (columns.task, columns.individual, columns.arm, *categorical)
    found = [(message(f"{name} missing"), as_key(table[name]).isnull()) for name in dict.fromkeys(keys) if name]
    found += _reward_problems(columns.reward, table[columns.reward], family, unknown)
    for name in (*(name for name in columns.context if name not in categorical), columns.propensity):
        found += _number_problems(name, table[name]) if name else []
    if columns.propensity is not None:
        share = as_number(table[columns.propensity])
        found.append((message(f"{columns.propensity} outside (0, 1]"), (share <= 0) | (share > 1)))
    found += [
        (message(f"{name} missing"), as_key(table[name]).isnull()) for name in (columns.round, columns.time) if name
    ]
    return [Problem(what, test.fill_null(False)) for what, test in found]


def _number_problems(name: str, column: Any) -> list[tuple[str, Any]]:
    number = as_number(column)
    text = [(message(f"{name} not a number"), number.isnull())] if column.type().is_string() else []
    return [
        (message(f"{name} missing"), column.isnull()),
        *text,
        (message(f"{name} infinite or not a number"), _is_infinite(number)),
    ]


def _reward_problems(name: str, column: Any, family: Rewards, unknown: bool) -> list[tuple[str, Any]]:
    found = _number_problems(name, column)
    if family.has_range:
        found.append((f"{name} {family.broken_rule}", family.impossible(as_number(column))))
    if not unknown:
        return found
    empty = column.strip() == "" if column.type().is_string() else as_number(column).isnan()
    told = ~(column.isnull() | empty.fill_null(False))
    return [(what, test & told) for what, test in found]


def _is_infinite(number: Any) -> Any:
    """Whether a number is infinite or NaN: then number - number is not 0. Not every engine's own test is right."""
    return (number - number) != 0


def any_of(problems: Sequence[Problem]) -> Any:
    """Whether a row has any of the problems."""
    return reduce(or_, [problem.test for problem in problems])


def describe_bad_rows(log: Log, problems: Sequence[Problem]) -> BadRows:
    """What is wrong with the rows of a log. Looks at every row; needed only when the sums show that some are bad."""
    import ibis

    if not problems:
        return BadRows(0)
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


def advice(log: Log, bad: BadRows, n_rows: int, columns: Columns, family: Rewards, hint: str | None = None) -> str:
    """A sentence or two. Dropping rows is no help where it would leave nothing.

    hint: what to try when rewards are others than the family's; by default what `learn` can do.
    """
    if any(kind == f"{columns.reward} {family.broken_rule}" for kind, _ in bad.kinds):
        return hint if hint is not None else f"{family.hint} {_range_advice(log, columns.reward)}".strip()
    if bad.n_rows < n_rows:
        return "Correct them, or drop them: drop_bad_rows=True."
    if any(kind == f"{columns.reward} not a number" for kind, _ in bad.kinds):
        return f"No row is left. {columns.reward} has {_values(log, columns.reward)}: write numbers, such as 1 and 0."
    roles = {"reward": columns.reward, "arm": columns.arm, "task": columns.task, "individual": columns.individual}
    used = ", ".join(f'{role}="{name}"' for role, name in roles.items() if name is not None)
    return f"No row is left, so some column is not what it is taken for: {used}. Say which is which."


def _range_advice(log: Log, reward: str) -> str:
    """The range that the rewards of a log have, as arguments."""
    number = as_number(log.table[reward])
    least, most = (getattr(number, end)().to_pyarrow().as_py() for end in ("min", "max"))
    if least is None or not np.isfinite([least, most]).all():
        return ""
    return f'If they are on a scale, say so: rewards="bounded", low={least:g}, high={most:g}.'


def _values(log: Log, column: str) -> str:
    """The first different values of a column of text."""
    found = log.table.select(value=log.table[column]).distinct().order_by("value").limit(SHOWN + 1).to_pyarrow()
    names = [repr(value) for value in found["value"].to_pylist()]
    return ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
