"""Rows of a log that cannot be used: what is wrong with them, how many, and where the first ones are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from banditree.tasks.rewards import Family, Rewards
from banditree.training.columns import Columns
from banditree.training.sources import Log
from banditree.training.view import LogView, as_key, as_number

if TYPE_CHECKING:
    import ibis.expr.types as ir

FIRST_ROWS = 5


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


def _is_infinite(number: Any) -> Any:
    """Infinite or NaN, which less itself is not 0; not every engine has a test of its own that is right."""
    return (number - number) != 0


def _reward_problem(reward: Any, law: Rewards) -> Any:
    if law.family is Family.GAUSSIAN:
        return None
    if law.family is Family.BERNOULLI:
        return reward.notnull() & ~_is_infinite(reward) & (reward != 0) & (reward != 1)
    return reward.notnull() & ~_is_infinite(reward) & ((reward < law.low) | (reward > law.high))


def describe_bad_rows(log: Log, columns: Columns, categorical: Sequence[str], law: Rewards) -> BadRows:
    """What is wrong with the rows of a log. Looks at every row; needed only when the sums show that some are bad."""
    import ibis

    problems = _problems(log, columns, categorical, law)
    kind = ibis.cases(*[(test, number) for number, (_, test) in enumerate(problems)], else_=-1)
    numbered = {"row": ibis.row_number()} if log.ordered else {}
    marked = log.table.select(kind=kind, **numbered)
    bad = marked.filter(marked["kind"] >= 0)
    found = bad.group_by("kind").agg(n=bad.count()).order_by("kind").to_pyarrow().to_pydict()
    first: list[int] = []
    if log.ordered:
        first = [1 + row for row in bad.order_by("row").limit(FIRST_ROWS).select("row").to_pyarrow()["row"].to_pylist()]
    kinds = tuple((problems[k][0], int(n)) for k, n in zip(found["kind"], found["n"], strict=True))
    return BadRows(sum(n for _, n in kinds), kinds, tuple(first))


def _problems(log: Log, columns: Columns, categorical: Sequence[str], law: Rewards) -> list[tuple[str, Any]]:
    """(what is wrong, the test for it), in the order in which a row's first problem is named."""
    table = log.table
    keys = (columns.unit, columns.arm, *categorical)
    problems = [(f"{name} missing", as_key(table[name]).isnull()) for name in keys]
    numeric = [name for name in columns.context if name not in categorical]
    for name in (columns.reward, *numeric, *([columns.propensity] if columns.propensity else [])):
        column, number = table[name], as_number(table[name])
        problems.append((f"{name} missing", column.isnull()))
        if column.type().is_string():
            problems.append((f"{name} not a number", number.isnull()))
        problems.append((f"{name} infinite or not a number", _is_infinite(number)))
    outside = _reward_problem(as_number(table[columns.reward]), law)
    if outside is not None:
        rule = "not 0 or 1" if law.family is Family.BERNOULLI else f"outside [{law.low:g}, {law.high:g}]"
        problems.append((f"{columns.reward} {rule}", outside))
    if columns.propensity is not None:
        share = as_number(table[columns.propensity])
        problems.append((f"{columns.propensity} outside (0, 1]", (share <= 0) | (share > 1)))
    return problems


def only_good(view: LogView, law: Rewards) -> LogView:
    """The view without its bad rows."""
    table: ir.Table = view.table
    bad = table["r"].isnull() | _is_infinite(table["r"])
    for name in [*view.keys, *view.numbers[:-1]]:
        bad = bad | table[name].isnull()
    for name in view.numbers[:-1]:
        bad = bad | _is_infinite(table[name])
    if view.weighted:
        bad = bad | table["w"].isnull() | _is_infinite(table["w"]) | (table["w"] < 1)
    outside = _reward_problem(table["r"], law)
    if outside is not None:
        bad = bad | outside
    return replace(view, table=table.filter(~bad))
