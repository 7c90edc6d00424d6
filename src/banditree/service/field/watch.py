"""The watch: monitors every signed plan once a day, and has messages sent where a webhook or mail server is set.

All of that are jobs: the one over the cases, and for each new alarm, each signature and the visits of each day one that
sends the message, which the database takes only once however many servers there are. What is sent of an alarm names the
plan, the option, the line and the size, and nothing of any case.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from banditree.service.cases.case import utc_now
from banditree.service.cases.desk import Desk, Transaction
from banditree.service.field import monitoring as field
from banditree.service.field.webhook import SAME, due_on
from banditree.service.jobs.worker import Workers
from banditree.service.problems import NotFound, Refused
from banditree.service.settings import Settings
from banditree.service.store import jobs
from banditree.service.store.database import Connection
from banditree.service.store.jobs import WATCH, Job, Lane, State
from banditree.service.store.signing import signed_plans, signed_since

PAUSE = 60.0  # The watch looks at the plans every this many seconds.
AGAIN = timedelta(minutes=10)  # A message that was not taken is sent again after this time, before all later ones.
DAY = 86_400.0  # A plan is monitored again after this many seconds.

log = logging.getLogger("banditree.service")


class Watch:
    """Has the signed plans monitored, and their alarms sent."""

    def __init__(self, desk: Desk, workers: Workers, settings: Settings) -> None:
        self.desk, self.workers, self.settings = desk, workers, settings
        self._next: dict[str, float] = {}  # when each plan is to be monitored again
        self._open: dict[str, str] = {}  # the job that monitors a plan now
        ways = {"webhook": settings.webhook_url, "mail": settings.mail_server}
        self._ways = [way for way, address in ways.items() if address]  # how messages are sent

    async def run(self) -> None:
        """Look around now and then, until cancelled; what goes wrong once is tried again."""
        while True:
            await asyncio.sleep(PAUSE)
            try:
                await self.look()
            except Exception as problem:  # a watch that ends over one problem would watch no more
                log.error("watch", extra={"fields": {"problem": str(problem)[:500]}})

    async def look(self) -> None:
        """Put in line what is to be done now."""
        await self.desk.submit(self._act, None)
        self.workers.wake(Lane.PAGES)

    def _act(self, transaction: Transaction) -> None:
        connection = transaction.connection
        for id, job_id in list(self._open.items()):
            job = jobs.find_job(connection, job_id)
            if job.state.is_final:
                del self._open[id]
                if self._ways:
                    self._send_alarms(connection, job)
        for id in signed_plans(connection):
            if time.monotonic() >= self._next.get(id, 0.0):
                self._next[id] = time.monotonic() + DAY
                self._begin(connection, id)
        if self._ways:
            self._send_what_is_new(connection)
            for message in jobs.to_send_again(connection, utc_now(ago=AGAIN)):
                jobs.try_again(connection, WATCH, message)

    def _begin(self, connection: Connection, id: str) -> None:
        try:
            given = field.monitoring_of(connection, id, None, None)
        except (NotFound, Refused):
            return  # no outcomes yet, or nothing was promised
        self._open[id] = self._add(connection, "monitor", given, id)

    def _send_what_is_new(self, connection: Connection) -> None:
        """Messages about the plans that were signed lately, and about the visits of today."""
        for id, at in signed_since(connection, utc_now(ago=jobs.GIVEN_UP)):
            self._send(connection, {"event": "signature", "plan": id, "signed_at": at, "site": None})
        day = utc_now()[:10]
        if due_on(connection, day, 1):
            self._send(connection, {"event": "due", "day": day, "site": None})

    def _send_alarms(self, connection: Connection, job: Job) -> None:
        for alarm in job.result["document"]["alarms"] if job.state is State.DONE else ():
            known = {"plan": job.settings["plan"], "site": None, "year": alarm["noticed"][:4]}
            given = {**known, **{name: alarm[name] for name in SAME}}
            self._send(connection, given)

    def _send(self, connection: Connection, given: Mapping[str, Any]) -> None:
        for way in self._ways:
            if jobs.find_by_key(connection, jobs.key_of(way, given)) is None:
                self._add(connection, way, given, given.get("plan"))

    def _add(self, connection: Connection, kind: str, given: Mapping[str, Any], plan: str | None) -> str:
        seconds, megabytes = self.settings.job_seconds, self.settings.job_memory
        return jobs.add_job(
            connection, WATCH, kind, given, subject=plan, once=True, seconds=seconds, megabytes=megabytes
        )
