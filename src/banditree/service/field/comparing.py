"""The comparison of two plans on the cases that a split gave them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from banditree.monitoring.comparison import IDLE, Comparison, Followed, compare_cases
from banditree.reports.compare import comparison_text
from banditree.service.cases.events import Event
from banditree.service.cases.exports import folded_rounds
from banditree.service.field.monitoring import rounded
from banditree.service.jobs.messages import Reports
from banditree.service.store import records
from banditree.service.store.database import Connection, Database
from banditree.service.store.sites import limited
from banditree.service.store.splits import Split, find_split


def comparing_of(connection: Connection, id: str, site: str | None) -> dict[str, Any]:
    """The settings of the job that compares the plans of a split: those of the last one if no outcome came since."""
    split = find_split(connection, id)
    day = datetime.now(UTC).date().isoformat()
    told = rounded(records.n_outcomes(connection, split=id))
    return {"split": id, "plan": split.old, "site": site, "told": told, "day": day}


def comparison(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """Which of the plans of a split gives more, as data and as text."""
    with database.read(seconds=None) as whole:
        connection = limited(whole, settings["site"])
        split = find_split(connection, settings["split"])
        plan = records.followed_of(connection, split.old).plan
        followed = [*followed_in(connection, split)]
    found = compare_cases(followed, split.rounds, share=split.share, rewards=plan.rewards)
    return {**asdict(found), "verdict": _verdict(found), "text": comparison_text(plan, found, None, 0)}


def followed_in(connection: Connection, split: Split) -> Iterator[Followed]:
    """Every case that a split gave its plan, with the reward in its first rounds once it has had that many outcomes.

    A case that was closed or erased is over, and so is one of which nothing was told for long.
    """
    idle_since = (datetime.now(UTC) - timedelta(days=IDLE)).isoformat()
    for plan in (split.old, split.new):
        rows = records.event_rows(connection, ("number", "state"), plan=plan, split=split.id)
        for (number, state), of_case in groupby(rows, key=lambda row: (row[-2], row[-1])):
            events = [Event(*row[2:-2]) for row in of_case]
            told = folded_rounds(iter(events)).values()
            rewards = [entry["reward"] for entry in told if entry.get("reward") is not None]
            total = sum(rewards[: split.rounds]) if len(rewards) >= split.rounds else None
            over = state != "open" or events[-1].at < idle_since
            yield Followed(number, plan == split.new, total, over)


def _verdict(found: Comparison) -> str:
    if found.difference.low > 0:
        return "new is better"
    return "old is better" if found.difference.high < 0 else "no difference shown"
