"""Every statement over answers that are kept: a request that is sent again with its key is answered, not done again.

A token that counts once is kept among them, without an answer.
"""

from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa

from banditree.service.cases.case import utc_now
from banditree.service.problems import Refused
from banditree.service.store.schema import answers

KEPT = timedelta(days=1)  # Nobody sends a request again later than that, and no token that counts once is valid longer.
USED = "token"  # Stands in place of the request that a used token came with.


class OtherRequest(Refused):
    """The key of this request came with another one before."""

    code = "key_used"


def kept_answer(connection: sa.Connection, key: str, request: str) -> str | None:
    """What the request with this key was answered, or None if it is new. request: a digest of what it asks for."""
    found = connection.execute(sa.select(answers.c.request, answers.c.content).where(answers.c.key == key)).first()
    if found is None:
        return None
    if found.request != request:
        raise OtherRequest("This Idempotency-Key came with another request before. Give each request a key of its own.")
    return str(found.content)


def keep_answer(connection: sa.Connection, key: str, request: str, cases: Sequence[str], content: str) -> None:
    """Keep an answer for a day, and forget those that are older."""
    connection.execute(sa.delete(answers).where(answers.c.at < utc_now(ago=KEPT)))
    row = {"key": key, "request": request, "cases": _listed(cases), "content": content, "at": utc_now()}
    connection.execute(sa.insert(answers), row)


def is_first_use(connection: sa.Connection, token: str) -> bool:
    """Whether a token that counts once comes for the first time, on any server. token: a digest of its number."""
    if kept_answer(connection, token, USED) is not None:
        return False
    keep_answer(connection, token, USED, (), "")
    return True


def forget_answers(connection: sa.Connection, case: str) -> None:
    """Forget every answer about a case."""
    connection.execute(sa.delete(answers).where(answers.c.cases.contains(_listed([case]), autoescape=True)))


def _listed(cases: Sequence[str]) -> str:
    """The ids of cases, which have no blanks, each between blanks."""
    return f" {' '.join(cases)} "
