"""Moving a case to another plan, or to the page of its plan for a case that must not get some arms.

It is closed, and a new one goes on where the other plan or page begins. What was found out on the old one is not
carried over: its lines and scores mean nothing on the new one.
"""

import re
from collections.abc import Sequence

from banditree.nouns import counted
from banditree.service.cases.case import Case
from banditree.service.cases.desk import Transaction
from banditree.service.problems import Conflict, Refused
from banditree.service.store.records import started_by
from banditree.service.store.signing import signature_of

LONGEST_ID = 64


def next_id(id: str) -> str:
    """The id of the case that goes on for another one.

    >>> next_id("p-17"), next_id("p-17-v2"), len(next_id("x" * 64))
    ('p-17-v2', 'p-17-v3', 64)
    """
    found = re.fullmatch(r"(.*)-v(\d{1,4})", id)
    stem, number = (found[1], int(found[2]) + 1) if found else (id, 2)
    end = f"-v{number}"
    return stem[: LONGEST_ID - len(end)] + end


def move(
    transaction: Transaction,
    actor: str,
    id: str,
    new_id: str,
    plan: str | None,
    without: Sequence[str] | None = None,
) -> Case:
    """The new case, on `plan` or the plan that replaced the old case's; the same again changes nothing.

    without: the arms that it must not get, by default those of before and those that harmed it; where other ones are
    given, it may stay on its plan.
    """
    old = transaction.case(id)
    missing = old.never if without is None else tuple(sorted(set(without)))
    turns = without is not None and missing != old.without
    target = plan or (old.followed.id if turns else signature_of(transaction.connection, old.followed.id).replaced_by)
    if target is None:
        raise Conflict(f"Plan {old.followed.id} was not replaced. Say which plan to move case {id} to.")
    if target == old.followed.id and not turns:
        raise Refused(f"Case {id} already follows plan {target}.")
    if old.erased or (old.closed and new_id not in transaction.touched):
        raise Conflict(f"Case {id} is {old.state}. Only an open case can be moved.")
    new = transaction.start(actor, new_id, target, old.label, missing, by_chance=False)
    if old.close(actor, f"Moved to case {new_id} on plan {target}."):
        rounds = counted(len(old.session.rounds), "round")
        new.note(actor, f"Moved from case {id}, which followed plan {old.followed.id} for {rounds}.")
        owner = old.arranged.owner or started_by(transaction.connection, id)
        new.arrange(actor, owner=None if owner == actor else owner, every=old.arranged.every, due=old.due)
    return new
