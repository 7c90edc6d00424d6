"""The job that sends an alarm to the address that is set: signed, with a time limit, to nowhere else."""

import hmac
import json
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import httpx

from banditree.service.cases.case import utc_now
from banditree.service.jobs.messages import Reports
from banditree.service.problems import Refused
from banditree.service.store import jobs, records
from banditree.service.store.database import Connection, Database

SECONDS = 10.0  # The receiver of an alarm must answer within this many seconds.
WAITS = (0.0, 2.0, 10.0)  # The seconds before each attempt to send.
SAME = ("group", "arm", "where", "direction")  # Two alarms of one year that agree in these are the same alarm.


def webhook(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """Send an alarm to the address that is set, as it was last computed; what was sent."""
    url, secret = database.settings.webhook_url, database.settings.webhook_secret
    if not url:
        raise Refused("No webhook is set, so the alarm was not sent. Set webhook_url, and try the job again.")
    with database.read() as connection:
        (name,) = (one["name"] for one in records.documents(connection, "plans") if one["id"] == settings["plan"])
        alarm = _alarm_of(connection, settings)
    body = json.dumps({"event": "alarm", "plan": settings["plan"], "name": name, "alarm": alarm, "at": utc_now()})
    send(url, secret, body.encode())
    return {"sent": alarm}


def _alarm_of(connection: Connection, settings: Mapping[str, Any]) -> Any:
    """The alarm as the newest job over this plan's cases tells it."""
    for line in jobs.list_jobs(connection, state="done", limit=1000):
        if line.kind == "monitor" and line.settings["plan"] == settings["plan"] and line.settings["site"] is None:
            found = jobs.find_job(connection, line.id).result["document"]["alarms"]
            for alarm in found:
                if all(alarm[name] == settings[name] for name in SAME):
                    return alarm
    raise Refused("The alarm is over: later outcomes have ended it, so it was not sent.")


def send(url: str, secret: str, body: bytes) -> None:
    """Post a body with its signature, to this address and nowhere else: where that answers with another, it failed."""
    problem = ""
    for wait in WAITS:
        time.sleep(wait)
        try:
            answer = httpx.post(
                url,
                content=body,
                headers=signed_headers(secret, body, utc_now()),
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
