"""The comparison of two plans on the cases that a split gave them."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import numpy as np
import sqlalchemy as sa

from banditree.monitoring.comparison import Comparison, compare_totals
from banditree.service import records
from banditree.service.database import Database
from banditree.service.events import Event
from banditree.service.exports import event_rows, folded_rounds
from banditree.service.field import rounded
from banditree.service.messages import Reports
from banditree.service.schema import cases
from banditree.service.sites import limited, seen
from banditree.service.splits import find_split
from banditree.tasks.arrays import FloatArray


def comparing_of(connection: sa.Connection, id: str, site: str | None) -> dict[str, Any]:
    """The settings of the job that compares the plans of a split now: those of the last one if nothing was told."""
    split = find_split(connection, id)
    told = sa.select(sa.func.sum(cases.c.rounds - cases.c.waiting)).where(cases.c.split == id, seen(connection, cases))
    day = datetime.now(UTC).date().isoformat()
    found = rounded(int(connection.execute(told).scalar() or 0))
    return {"split": id, "plan": split.old, "site": site, "told": found, "day": day}


def comparison(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """Which of the plans of a split gives more, as data and as text."""
    from banditree.reports.compare import comparison_text

    with database.read(seconds=None) as whole:
        connection = limited(whole, settings["site"])
        split = find_split(connection, settings["split"])
        plan = records.followed_of(connection, split.old).plan
        old, new = (totals_of(connection, split.id, side, split.rounds) for side in (split.old, split.new))
    found = compare_totals(old, new, split.rounds)
    return {**asdict(found), "verdict": _verdict(found), "text": comparison_text(plan, found, None, 0)}


def totals_of(connection: sa.Connection, split: str, plan: str, rounds: int) -> FloatArray:
    """The reward in the first rounds of every case that a split gave a plan and that has had so many outcomes."""
    totals = []
    for _, rows in groupby(event_rows(connection, plan, split=split), key=lambda row: row[0]):
        told = folded_rounds(Event(*row[2:]) for row in rows).values()
        rewards = [entry["reward"] for entry in told if entry.get("reward") is not None]
        if len(rewards) >= rounds:
            totals.append(sum(rewards[:rounds]))
    return np.array(totals, float)


def _verdict(found: Comparison) -> str:
    if found.difference.low > 0:
        return "new is better"
    return "old is better" if found.difference.high < 0 else "no difference shown"
