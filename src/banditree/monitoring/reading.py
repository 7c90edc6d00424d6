"""The cases of a plan from an export: one row per outcome, as `banditree serve` gives them or anybody's table."""

import math
import warnings
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

from banditree.errors import InvalidInput, invalid
from banditree.monitoring.observed import Observed, Seen, observe
from banditree.plans.plan import Plan
from banditree.policies.rounds import arm_number
from banditree.tasks.rewards import Rewards
from banditree.training.columns import unknown_column
from banditree.training.sources import open_log

DAY = 86_400.0  # Seconds of a day.
ROLES = {
    "case": ("case", "individual"),
    "round": ("round",),
    "arm": ("arm",),
    "reward": ("reward",),
    "at": ("at", "time"),
}


def read_cases(
    source: Any,
    plan: Plan,
    *,
    plan_id: str | None = None,
    labels: Sequence[str] = (),
    table: str | None = None,
    **roles: str | None,
) -> Observed:
    """What is on record of a plan's cases in a table with one row per outcome.

    source, table: as in `open_log`. roles: the columns of case, round, arm, reward and at (the time of the outcome), if
    they have other names. Without a round column the rounds are in the order of time. A column `overridden` is
    used where there is one, and a column `plan` to take only the cases of `plan_id`. labels: columns
    by which cases can be told apart, such as site. A missing reward is an outcome that will not be known.

    >>> import polars
    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> plan = build_tree(Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"]), horizon=20)
    >>> rows = {"case": ["p", "p"], "arm": ["A", "A"], "reward": [1, 0], "at": ["2026-05-02", "2026-05-03"]}
    >>> read_cases(polars.DataFrame(rows), plan).box.tolist()
    [0, 0]
    """
    rounds, texts = read_rounds(source, plan.arms, plan.rewards, plan_id=plan_id, labels=labels, table=table, **roles)
    return observe(plan, rounds, labels=texts)


def read_rounds(
    source: Any,
    arms: Sequence[str],
    rewards: Rewards,
    *,
    plan_id: str | None = None,
    labels: Sequence[str] = (),
    table: str | None = None,
    **roles: str | None,
) -> tuple[list[Seen], dict[str, dict[str, str]]]:
    """The rounds of `read_cases`, and for each label that of every case; whatever plan the cases followed."""
    rows = [
        row for row in _columns(source, table, roles, labels) if plan_id is None or row.get("plan") in (None, plan_id)
    ]
    if not rows:
        raise InvalidInput("The table has no outcomes of this plan. Check that it is the plan these cases followed.")
    rows.sort(key=lambda row: (row["case"], row["at"]))
    seen, count = [], dict[str, int]()
    for row in rows:
        case = row["case"]
        count[case] = count.get(case, 0) + 1
        number = count[case] if row["round"] is None else int(row["round"])
        reward = math.nan if row["reward"] is None else rewards.check(row["reward"])
        seen.append(Seen(case, number, arm_number(arms, row["arm"]), reward, row["at"], bool(row.get("overridden"))))
    return seen, {name: {row["case"]: str(row[name] or "") for row in rows} for name in labels}


def _columns(
    source: Any, table: str | None, roles: dict[str, str | None], labels: Sequence[str]
) -> list[dict[str, Any]]:
    """The rows of the table with the columns by their roles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # engines warn about their own libraries, which the user cannot change
        log = open_log(source, table)
        names = list(log.types)
        found = {role: _name(role, roles.get(role), names) for role in ROLES}
        for label in labels:
            if label not in names:
                raise invalid("by", f"one of {', '.join(names)}", label)
        also = [name for name in ("plan", "overridden") if name in names]
        wanted = {name for name in [*found.values(), *also, *labels] if name is not None}
        rows = log.table.select(*sorted(wanted)).to_pyarrow().to_pylist()
    return [
        {
            **{name: row[name] for name in [*also, *labels]},
            **{role: None if name is None else _text(row[name]) for role, name in found.items()},
            "case": str(_text(row[str(found["case"])])),
            "arm": str(_text(row[str(found["arm"])])),
            "reward": _number(row[str(found["reward"])]),
            "at": day_of(row[str(found["at"])]),
            "overridden": str(row.get("overridden")).lower() in ("true", "1"),
        }
        for row in rows
    ]


def _name(role: str, given: str | None, names: Sequence[str]) -> str | None:
    if given is not None:
        if given not in names:
            raise invalid("a column", f"one of {', '.join(names)}", given)
        return given
    known = next((name for name in ROLES[role] if name in names), None)
    if known is None and role != "round":
        raise unknown_column(role, names)
    return known


def _text(value: Any) -> Any:
    """A value without the quote mark that exports put before what a spreadsheet would compute."""
    return value[1:] if isinstance(value, str) and value[:1] == "'" else value


def _number(value: Any) -> float | None:
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    try:
        return float(value)
    except ValueError:
        raise invalid("reward", "a number, or empty where it is not known", value) from None


def day_of(time: Any) -> float:
    """Days since 1970 (UTC) of a date, a time, or its text in ISO 8601; numbers are days already.

    >>> day_of("1970-01-02T12:00:00Z"), day_of(3)
    (1.5, 3.0)
    """
    if isinstance(time, int | float):
        return float(time)
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time.strip())
        except ValueError:
            raise invalid("at", "a time such as 2026-05-31T08:00:00Z", time) from None
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if not isinstance(time, datetime):
        raise invalid("at", "a time such as 2026-05-31T08:00:00Z", time)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() / DAY


def date_of(day: float) -> date:
    """The date (UTC) of a number of days since 1970.

    >>> str(date_of(20_000.5))
    '2024-10-04'
    """
    return datetime.fromtimestamp(day * DAY, UTC).date()
