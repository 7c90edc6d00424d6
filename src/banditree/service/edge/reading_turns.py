"""Who reads when: few lists and pages at the same time, one per person."""

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread

Found = TypeVar("Found")


class Readers:
    """Threads for what is read from the database. most: at the same time.

    Those who report share the processor with them, so they are few. Each person has one turn at a time, so that
    somebody who asks for twenty long lists at once waits for them alone.
    """

    def __init__(self, most: int) -> None:
        self._limiter = CapacityLimiter(most)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of those who read or wait

    async def run(self, who: str, look: Callable[[], Found]) -> Found:
        """What `look` returns, in a thread, once it is the turn of whoever asks."""
        turn = self._turns.setdefault(who, asyncio.Lock())
        async with turn:
            return await to_thread.run_sync(look, limiter=self._limiter)
