"""Splits: new cases are given one of two signed plans at random, until somebody ends the split with one of them.

While a split goes on, a case that is started on either plan follows the one that the seed and the case's id determine;
the same id always gets the same plan, and anybody who has the seed can check. Both plans are compared over the rounds
that were set when the split began, on the cases that it gave their plan. As long as it goes on, only those who sign see
the seed: whoever knows it can choose the plan by choosing an id.
"""

import secrets
from typing import NamedTuple

import sqlalchemy as sa

from banditree.monitoring.comparison import goes_to_new
from banditree.service.cases.case import utc_now
from banditree.service.problems import Conflict, Forbidden, NotFound, Refused
from banditree.service.store.schema import GOES_ON, cases, plans, splits
from banditree.service.store.signing import Signature, check_starts_cases, signature_of
from banditree.service.store.sites import seen, site_of
from banditree.service.store.trail import note_action

SEEDS = 2**31  # An integer column of any of the databases holds smaller numbers.


class Split(NamedTuple):
    """A split on record. share: of the cases for the new plan. kept: the plan that goes on once it has ended."""

    id: str
    old: str
    new: str
    share: float
    rounds: int
    seed: int
    at: str
    actor: str
    comment: str
    ended_at: str | None
    ended_by: str | None
    kept: str | None
    end_comment: str | None

    def plan_of(self, case: str) -> str:
        """The plan that a new case of this id is given."""
        return self.new if goes_to_new(case, self.seed, self.share) else self.old


COLUMNS = [splits.c[name] for name in Split._fields]


def start_split(
    connection: sa.Connection,
    actor: str,
    old: str,
    new: str,
    *,
    share: float,
    rounds: int,
    comment: str,
    seed: int | None = None,
) -> str:
    """Begin to split new cases between two plans; its id. seed: by default drawn here."""
    if old == new:
        raise Refused("A split is between two plans. Choose another one.")
    both = sa.select(plans.c.id).where(plans.c.id.in_((old, new))).order_by(plans.c.id)
    connection.execute(both.with_for_update())  # of two servers that split the same plan, one waits and is refused
    sides = [signature_of(connection, id) for id in (old, new)]
    for side in sides:
        check_starts_cases(connection, side.id)
        if open_split(connection, side.id) is not None:
            raise Conflict(f"The new cases of plan {side.id} are split already. End that split first.")
    site = _site_of_both(connection, *sides)
    id, seed = secrets.token_hex(8), secrets.randbelow(SEEDS) if seed is None else seed
    row = {"id": id, "old": old, "new": new, "share": share, "rounds": rounds, "seed": seed, "at": utc_now()}
    connection.execute(sa.insert(splits), {**row, "actor": actor, "comment": comment, "site": site})
    about = f"{id}: {share:g} of new cases on {new}, the others on {old}, seed {seed}: {comment}"
    note_action(connection, actor, "start split", about, None)
    return id


def _site_of_both(connection: sa.Connection, old: Signature, new: Signature) -> str | None:
    if old.site != new.site:
        raise Refused("The plans of a split must belong to the same site, so that whoever starts a case sees both.")
    if site_of(connection) is not None and old.site is None:
        raise Forbidden("These plans belong to every site, so somebody who belongs to no site must split them.")
    return old.site


def end_split(connection: sa.Connection, actor: str, id: str, keep: str, comment: str) -> bool:
    """End a split with one of its plans; the other starts no more cases. False if it had ended with that one before."""
    split = find_split(connection, id)
    if keep not in (split.old, split.new):
        raise Refused(f"keep must be one of the plans of the split, {split.old} or {split.new}. Got {keep}.")
    if split.ended_at is not None:
        if split.kept != keep:
            raise Conflict(f"Split {id} has ended with plan {split.kept}.")
        return False
    _site_of_both(connection, *(signature_of(connection, one) for one in (split.old, split.new)))
    other = split.old if keep == split.new else split.new
    ended = {"ended_at": utc_now(), "ended_by": actor, "kept": keep, "end_comment": comment}
    connection.execute(sa.update(splits).where(splits.c.id == id).values(ended))
    connection.execute(sa.update(plans).where(plans.c.id == other).values(gave_way_to=keep))
    note_action(connection, actor, "end split", f"{id} with {keep}: {comment}", None)
    return True


def find_split(connection: sa.Connection, id: str) -> Split:
    """The split of an id."""
    row = connection.execute(sa.select(*COLUMNS).where(splits.c.id == id, seen(connection, splits))).first()
    if row is None:
        raise NotFound(f"There is no split {id}.")
    return Split(*row)


def list_splits(connection: sa.Connection, plan: str | None = None) -> list[Split]:
    """The splits on record, or those of one plan, the newest first."""
    query = sa.select(*COLUMNS).where(seen(connection, splits)).order_by(splits.c.at.desc(), splits.c.id)
    if plan is not None:
        query = query.where(_between(plan))
    return [Split(*row) for row in connection.execute(query)]


def open_split(connection: sa.Connection, plan: str) -> Split | None:
    """The split of a plan's new cases that goes on, if there is one."""
    row = connection.execute(sa.select(*COLUMNS).where(GOES_ON, _between(plan))).first()
    return None if row is None else Split(*row)


def was_given(connection: sa.Connection, case: int, plan: str) -> bool:
    """Whether the case of a number was started on a plan, and a split gave it the other one."""
    query = sa.select(splits.c.id).join(cases, cases.c.split == splits.c.id)
    return connection.execute(query.where(cases.c.number == case, _between(plan))).first() is not None


def _between(plan: str) -> sa.ColumnElement[bool]:
    return sa.or_(splits.c.old == plan, splits.c.new == plan)
