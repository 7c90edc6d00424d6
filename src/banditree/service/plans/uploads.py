"""Plans and collections that come in: large ones are read in a process of their own, so that nobody waits for them."""

import asyncio
import json
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from banditree.errors import InvalidInput
from banditree.files.plans import plan_json
from banditree.plans.plan import Plan
from banditree.service.jobs.worker import die_with_parent, forget_secrets, limit_memory
from banditree.service.plans.models import NewCollection, NewPlan
from banditree.service.problems import Refused
from banditree.service.store import records

LARGE = 256_000  # A body of more bytes is read in another process: it would stop this one for some 10 ms.
MOST_PARTS = 500_000  # Lists and objects of a body: each takes a hundred times the memory of the two bytes it may have.
SECONDS, MEGABYTES = 60.0, 1_500  # Reading one body may take at most so much time and memory.

Read = TypeVar("Read")


def read_plan(body: bytes) -> tuple[NewPlan, str, Plan, str]:
    """(what was asked, id, plan, its text) of the body of a request."""
    given = _shaped(NewPlan, body)
    return given.model_copy(update={"plan": {}}), *read_plan_file(given.plan)


def read_plan_file(content: Any) -> tuple[str, Plan, str]:
    """(id, plan, its text) of a plan file, or of what is in one."""
    id, plan = records.read_plan(_parsed(content))
    return id, plan, plan_json(plan)


def read_collection(body: bytes) -> tuple[str, str, str]:
    """(name, id, text) of the body of a request."""
    given = _shaped(NewCollection, body)
    return given.name, *read_collection_file(given.collection)


def read_collection_file(content: Any) -> tuple[str, str]:
    """(id, text) of a collection file, or of what is in one."""
    return records.read_collection(_parsed(content))


def _parsed(content: Any) -> Any:
    if not isinstance(content, bytes):
        return content
    _check_parts(content)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise Refused("The file is not JSON. Choose a plan or collection that banditree wrote.") from None
    if not isinstance(found, dict):
        raise Refused("The file is not one of banditree's: it must hold one JSON object.")
    return found


def _shaped(shape: Any, body: bytes) -> Any:
    _check_parts(body)
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:200] or "the body"
        raise InvalidInput(f"{place}: {first['msg'][:300]}.") from None


def _check_parts(content: bytes) -> None:
    n = content.count(b"[") + content.count(b"{")
    if n > MOST_PARTS:
        raise InvalidInput(f"A plan or collection has at most {MOST_PARTS:,} lists and objects. Got {n:,}.")


class Reader:
    """Reads what comes in: small bodies in a thread, large ones in a process with limits, one at a time."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._turn = asyncio.Lock()  # one at a time, so that the time limit is for this one alone
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of each person

    async def read(self, who: str, function: Callable[[bytes], Read], content: bytes) -> Read:
        """What a function of this module returns for a body that somebody sent."""
        if len(content) <= LARGE:
            return await run_in_threadpool(function, content)
        return await self.apart(who, function, content)

    async def apart(self, who: str, function: Callable[..., Read], *arguments: Any) -> Read:
        """What a function returns, computed in the process with limits whatever the size: a small file may unpack.

        who: sent it; people take turns, so that somebody who sends ten large files waits for them alone.
        """
        async with self._turns.setdefault(who, asyncio.Lock()), self._turn:
            return await self._apart(function, *arguments)

    async def _apart(self, function: Callable[..., Read], *arguments: Any) -> Read:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_prepare)
        try:
            task = asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
            return await asyncio.wait_for(task, SECONDS)
        except (BrokenProcessPool, TimeoutError, MemoryError):
            self.close()
            raise Refused(
                f"Reading this takes more than {SECONDS:g} seconds or {MEGABYTES:,} MB. Send something smaller."
            ) from None

    def close(self) -> None:
        """End the process, whatever it is at."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.kill()
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _prepare() -> None:
    """What tables are read with is loaded before memory is counted, and uses one thread. No secrets are at hand."""
    die_with_parent()
    forget_secrets()
    with suppress(ImportError):
        import ibis
        import pyarrow.compute
        import pyarrow.parquet  # noqa: F401

        ibis.set_backend(ibis.duckdb.connect(threads=1))
    limit_memory(MEGABYTES)
