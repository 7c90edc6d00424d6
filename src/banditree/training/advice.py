"""What to do about bad rows of a log: which of several remedies fits what is wrong with them."""

import numpy as np

from banditree.tasks.rewards import Rewards
from banditree.training.columns import Columns
from banditree.training.rows import BadRows
from banditree.training.sources import Log
from banditree.training.view import as_number

SHOWN = 4  # At most so many values of a column are named.


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
