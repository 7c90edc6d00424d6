"""Who sends a request, how fast and how large, is checked before its body is read."""

import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from banditree.service.edge.requests import SAFE_METHODS, counted_address, is_upload
from banditree.service.people.senders import NO_SECRET, Door
from banditree.service.problems import Forbidden, NotLoggedIn, Refused, TooMany
from banditree.service.settings import Settings
from banditree.service.store.people import Person, Role

OPEN = ("/health", "/ready", "/login", "/api/v1/login")  # Strangers may ask for these paths.
BURST = 5.0  # The requests of this many seconds may come at once.
MOST_REMEMBERED = 10_000  # The requests of at most this many people and addresses are counted.
FALSE = 10  # Of the requests that an address may send, one in this many may carry a token or log-in that is not valid.


class Rates:
    """How fast each person or address sends: `per_second` requests in the long run, and bursts of a few seconds."""

    def __init__(self, per_second: float) -> None:
        self.per_second = per_second
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, who: str, *, n: int = 1) -> None:
        """Count n requests, or refuse them and say when the next one may come. n = 0: only look."""
        now, most = time.monotonic(), BURST * self.per_second
        left, last = self._left.pop(who, (most, now))
        left = min(most, left + (now - last) * self.per_second)
        self._left[who] = (max(left - n, 0.0), now)
        if len(self._left) > MOST_REMEMBERED:
            self._left.popitem(last=False)
        if left < 1:
            wait = (1 - left) / self.per_second
            raise TooMany(f"More than {self.per_second:g} requests a second. Wait, then send it again.", wait)


class Guard:
    """Refuses strangers, people who send too fast, and uploads by those who may not, before the body comes."""

    def __init__(
        self, app: ASGIApp, settings: Settings, door: Door, refuse: Callable[[Request, Exception], Response]
    ) -> None:
        self.app, self.settings, self.door, self.refuse = app, settings, door, refuse
        self.rates, self.false_rates = Rates(settings.rate_limit), Rates(settings.rate_limit / FALSE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and self.settings.authentication:
            request = Request(scope)
            try:
                await self._check(request)
            except Refused as problem:
                return await self.refuse(request, problem)(scope, receive, send)
        return await self.app(scope, receive, send)

    async def _check(self, request: Request) -> None:
        address = counted_address(request)
        person = None if request.url.path in OPEN else await self._sender(request, address)
        self.rates.check(address if person is None else f"user {person.name}")
        if person is None:
            if request.url.path not in OPEN and request.method not in SAFE_METHODS:
                raise getattr(request.state, "refused", None) or NotLoggedIn(NO_SECRET)
            return  # the route says what to do, and has no body to read
        request.state.user, request.state.person = person.name, person
        if is_upload(request.url.path) and request.method == "POST" and person.role < Role.OPERATOR:
            raise Forbidden(f"This needs the role operator, and {person.name} has {person.role.word}.")

    async def _sender(self, request: Request, address: str) -> Person | None:
        """Who sends a request; None for a stranger. An address that tries secrets which nobody has must wait."""
        if not self.door.has_secret(request):
            return None
        try:
            if not self.door.has_seen(request):
                self.false_rates.check(address, n=0)
            return await self.door.sender(request)
        except NotLoggedIn as problem:
            self.false_rates.check(address)
            request.state.refused = problem  # so that the route need not look again
            return None
