"""Signatures: a plan is a draft until somebody signs it, and only signed plans start cases.

A plan may name the one that it replaces. Once it is signed, the other starts no more cases; those that run stay on it
unless they are moved. Every signature is a line of the audit trail, comment included.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import sqlalchemy as sa

from banditree.service.cases.case import utc_now
from banditree.service.problems import Conflict, Forbidden, NotFound, Refused
from banditree.service.store.schema import GOES_ON, plans, splits, users
from banditree.service.store.sites import seen, site_of
from banditree.service.store.trail import note_action


class PlanState(StrEnum):
    """How a plan stands. replaced: a signed plan took its place, so that it starts no more cases."""

    DRAFT = "draft"
    SIGNED = "signed"
    REPLACED = "replaced"


class Signature(NamedTuple):
    """What is on record about a plan besides its content. replaced_by: the signed plan that took its place."""

    id: str
    site: str | None
    state: PlanState
    signed_at: str | None
    signed_by: str | None
    comment: str | None
    replaces: str | None
    replaced_by: str | None


_newer = plans.alias()
_successor = (
    sa.select(_newer.c.id).where(_newer.c.replaces == plans.c.id, _newer.c.signed_at.is_not(None)).scalar_subquery()
)
_follows = sa.func.coalesce(plans.c.gave_way_to, _successor)
REPLACED_BY = _follows.label("replaced_by")
STATE = sa.case(
    (plans.c.signed_at.is_(None), PlanState.DRAFT.value),
    (_follows.is_not(None), PlanState.REPLACED.value),
    else_=PlanState.SIGNED.value,
).label("state")
SIGNATURE = {**dict(plans.c), "state": STATE, "replaced_by": REPLACED_BY}


def signature_of(connection: sa.Connection, id: str) -> Signature:
    """How the plan of an id stands."""
    columns = [SIGNATURE[name] for name in Signature._fields]
    row = connection.execute(sa.select(*columns).where(plans.c.id == id, seen(connection, plans))).first()
    if row is None:
        raise NotFound(f"There is no plan {id}.")
    return Signature(*row)._replace(state=PlanState(row.state))


def signed_plans(connection: sa.Connection) -> Sequence[str]:
    """The ids of the plans that were ever signed, of every site."""
    return connection.execute(sa.select(plans.c.id).where(plans.c.signed_at.is_not(None))).scalars().all()


def signed_since(connection: sa.Connection, at: str) -> Sequence[tuple[str, str]]:
    """(plan, when it was signed) of the plans that were signed since a time, of every site, in that order."""
    query = sa.select(plans.c.id, plans.c.signed_at).where(plans.c.signed_at >= at).order_by(plans.c.signed_at)
    return [(id, signed) for id, signed in connection.execute(query)]


def check_starts_cases(connection: sa.Connection, id: str) -> None:
    """Refuse a plan on which no case can be started."""
    found = signature_of(connection, id)
    if found.state is PlanState.DRAFT:
        raise Conflict(f"Plan {id} is a draft. Cases can start once somebody with the role signer has signed it.")
    if found.state is PlanState.REPLACED:
        raise Conflict(f"Plan {id} was replaced by plan {found.replaced_by}. Start the case on that one.")


def check_replaceable(connection: sa.Connection, id: str, replaces: str | None) -> None:
    """Refuse to replace a plan that is not there, or that is the plan itself."""
    if replaces == id:
        raise Refused("A plan cannot replace itself.")
    if replaces is not None:
        signature_of(connection, replaces)


def made_by(connection: sa.Connection, actor: str, id: str) -> bool:
    """Whether this person made the plan and there are others, so that one of these must sign it."""
    others = sa.select(sa.func.count()).select_from(users).where(users.c.name != actor, ~users.c.disabled)
    maker = connection.execute(sa.select(plans.c.actor).where(plans.c.id == id)).scalar()
    return maker == actor and connection.execute(others).scalar_one() > 0


def sign(
    connection: sa.Connection,
    actor: str,
    id: str,
    comment: str,
    replaces: str | None = None,
    *,
    beside: bool = False,
    alone: bool = False,
) -> bool:
    """Sign a plan; False if it was signed before. replaces: the plan it replaces, if not the one that the draft names.

    beside: it replaces no plan, whatever the draft says, so that new cases can be split between the two.
    alone: whoever made the plan may sign it, although there are other users.
    """
    found = signature_of(connection, id)
    if site_of(connection) is not None and found.site is None:
        raise Forbidden(f"Plan {id} belongs to every site, so somebody who belongs to no site must sign it.")
    if found.state is not PlanState.DRAFT:
        return False
    if not alone and made_by(connection, actor, id):
        raise Forbidden(f"{actor} made plan {id}, so somebody else with the role signer must sign it.")
    old = None if beside else replaces or found.replaces
    check_replaceable(connection, id, old)
    if old is not None:
        _check_takes_the_place(found, signature_of(connection, old))
        _check_not_split(connection, old)
    signature = {"signed_at": utc_now(), "signed_by": actor, "comment": comment, "replaces": old}
    connection.execute(sa.update(plans).where(plans.c.id == id).values(signature))
    note_action(connection, actor, "sign plan", f"{id}{_instead_of(old)}: {comment}", None)
    return True


def _check_takes_the_place(new: Signature, old: Signature) -> None:
    if new.site is not None and old.site is None:
        raise Refused(f"Plan {new.id} belongs to one site, so it cannot replace plan {old.id} of every site.")
    if old.state is PlanState.DRAFT:
        raise Conflict(f"Plan {old.id} is a draft. Only a signed plan can be replaced.")
    if old.state is PlanState.REPLACED:
        raise Conflict(f"Plan {old.id} was replaced by plan {old.replaced_by} meanwhile. Replace that one.")


def _check_not_split(connection: sa.Connection, id: str) -> None:
    between = sa.or_(splits.c.old == id, splits.c.new == id)
    if connection.execute(sa.select(splits.c.id).where(GOES_ON, between)).first() is not None:
        raise Conflict(f"The new cases of plan {id} are split between two plans. End the split first.")


def _instead_of(old: str | None) -> str:
    return "" if old is None else f" instead of {old}"
