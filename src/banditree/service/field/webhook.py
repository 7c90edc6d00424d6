"""The job that sends a message to the address that is set: signed, with a time limit, to nowhere else.

There are three: an alarm about a plan's cases, a plan that was signed, and the visits of a day that are due. They are
sent in the order in which they were put in line: `store.jobs.claim` begins none while an earlier one is not through,
and the watch has one that failed tried again until it is given up. What a message says is looked up when it is sent.
"""

import hmac
import json
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import httpx

from banditree.service.cases.case import utc_now
from banditree.service.jobs.messages import Reports
from banditree.service.problems import Refused
from banditree.service.store import jobs, records
from banditree.service.store.case_lists import page_of_cases
from banditree.service.store.database import Connection, Database
from banditree.service.store.signing import signature_of

SECONDS = 10.0  # The receiver of a message must answer within this many seconds.
WAITS = (0.0, 2.0, 10.0)  # The seconds before each attempt to send.
SAME = ("group", "arm", "where", "direction")  # Two alarms of one year that agree in these are the same alarm.
MOST_DUE = 1_000  # A message names at most this many visits that are due.
MESSAGE = "x-banditree-message"  # The header by which a receiver knows a message that comes again.


def webhook(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """Send a message to the address that is set; which, or why there was none to send any more."""
    url, secret = database.settings.webhook_url, database.settings.webhook_secret
    if not url:
        raise Refused("No webhook is set, so the message was not sent. Set webhook_url, and try the job again.")
    event, content = content_of(database, settings)
    if content is None:
        return {"sent": None}
    body = json.dumps({"event": event, **content, "at": utc_now()})
    send(url, secret, body.encode(), jobs.key_of("webhook", settings)[:16])
    return {"sent": event}


def content_of(database: Database, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """(what a message is about, what it says); None where there is nothing to say any more."""
    event = settings.get("event", "alarm")
    with database.read() as connection:
        return event, CONTENTS[event](connection, settings)


def _alarm(connection: Connection, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    alarm = _alarm_of(connection, settings)
    return alarm and {"plan": settings["plan"], "name": _name_of(connection, settings["plan"]), "alarm": alarm}


def _signature(connection: Connection, settings: Mapping[str, Any]) -> dict[str, Any]:
    found = signature_of(connection, settings["plan"])
    said = {"by": found.signed_by, "signed_at": found.signed_at, "comment": found.comment, "replaces": found.replaces}
    return {"plan": found.id, "name": _name_of(connection, found.id), **said}


def _due(connection: Connection, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    visits = due_on(connection, settings["day"], MOST_DUE)
    return {"day": settings["day"], "visits": visits} if visits else None


def due_on(connection: Connection, day: str, most: int) -> list[dict[str, Any]]:
    """The visits that are due on a day or were before: by the pseudonyms of their cases, without labels or outcomes."""
    rows = connection.execute(page_of_cases(connection, state="due", today=day, limit=most)).mappings()
    return [{"case": row["id"], **{name: row[name] for name in ("plan", "owner", "due")}} for row in rows]


CONTENTS: dict[str, Callable[[Connection, Mapping[str, Any]], dict[str, Any] | None]] = {
    "alarm": _alarm,
    "signature": _signature,
    "due": _due,
}


def _name_of(connection: Connection, plan: str) -> str:
    (name,) = (one["name"] for one in records.documents(connection, "plans") if one["id"] == plan)
    return str(name)


def _alarm_of(connection: Connection, settings: Mapping[str, Any]) -> Any:
    """The alarm as the newest job over this plan's cases tells it; None if it is over."""
    for line in jobs.list_jobs(connection, state="done", limit=1000):
        if line.kind == "monitor" and line.settings["plan"] == settings["plan"] and line.settings["site"] is None:
            found = jobs.find_job(connection, line.id).result["document"]["alarms"]
            for alarm in found:
                if all(alarm[name] == settings[name] for name in SAME):
                    return alarm
    return None  # later outcomes have ended it


def send(url: str, secret: str, body: bytes, message: str) -> None:
    """Post a body with its signature, to this address and nowhere else: where that answers with another, it failed."""
    problem = ""
    for wait in WAITS:
        time.sleep(wait)
        try:
            answer = httpx.post(
                url,
                content=body,
                headers={**signed_headers(secret, body, utc_now()), MESSAGE: message},
                timeout=SECONDS,
                follow_redirects=False,
            )
        except httpx.HTTPError as error:
            problem = type(error).__name__
            continue
        if answer.is_success:
            return
        problem = f"status {answer.status_code}"
    raise Refused(f"The webhook could not be reached ({problem}). Check the address, and try the job again.")


def signed_headers(secret: str, body: bytes, at: str) -> dict[str, str]:
    """What proves who sent a body, and when: HMAC-SHA256 over "time.body" with the secret.

    >>> signed_headers("s", b"{}", "2026-05-01T00:00:00Z")["x-banditree-signature"][:14]
    'sha256=14256ca'
    """
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, sha256).hexdigest()
    return {
        "content-type": "application/json",
        "x-banditree-timestamp": at,
        "x-banditree-signature": f"sha256={digest}",
    }
