"""The outermost layer of every request: who may send it from where, how large it is, what is logged and counted."""

import asyncio
import hashlib
import json
import logging
import re
import secrets
import sys
import time
from collections import defaultdict
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from banditree.service.problems import Forbidden, Refused, TooLarge
from banditree.service.settings import Settings

UPLOADS = re.compile(
    r"/api/v1/(plans|collections|files)|/plans|/collections|(/api/v1)?/cases/files|/studio|/studio/[^/]*/file"
)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
RAW_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
DRAINED = 4  # Of a body that is too large, up to this many times the largest upload is read and thrown away.
UNREAD_SECONDS = 30.0  # A stream of which nothing is read for this many seconds is cut off.
HOST_BITS = 64  # Networks of IPv6 are given out with at least this many bits for their hosts.
BODY_SECONDS = 60.0  # The whole body of a request must come within this many seconds.
BOUNDS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
)  # The bounds of the histogram of times, in seconds.

log = logging.getLogger("banditree.service")


class Metrics:
    """Counts of requests and how long they took, in the text format that Prometheus reads."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self.buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self.seconds: dict[str, float] = defaultdict(float)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """One more request."""
        self.requests[method, route, status] += 1
        self.seconds[route] += seconds
        self.buckets[route][sum(seconds > bound for bound in BOUNDS)] += 1

    def text(self, gauges: MutableMapping[str, float]) -> str:
        """Everything counted so far, and some current values."""
        lines = ["# TYPE banditree_requests_total counter"]
        for (method, route, status), n in sorted(self.requests.items()):
            lines.append(f'banditree_requests_total{{method="{method}",route="{route}",status="{status}"}} {n}')
        lines.append("# TYPE banditree_request_seconds histogram")
        for route, counts in sorted(self.buckets.items()):
            for bound, n in zip((*map(str, BOUNDS), "+Inf"), accumulate(counts), strict=True):
                lines.append(f'banditree_request_seconds_bucket{{route="{route}",le="{bound}"}} {n}')
            lines.append(f'banditree_request_seconds_sum{{route="{route}"}} {self.seconds[route]:.6f}')
            lines.append(f'banditree_request_seconds_count{{route="{route}"}} {sum(counts)}')
        for name, value in gauges.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# TYPE banditree_{name} {kind}", f"banditree_{name} {value:g}"]
        return "\n".join(lines) + "\n"


class Edge:
    """Wraps the application: refuses what must not come in, adds the security headers, logs and counts.

    A line of the log has the route and never the body, so no outcome and no note gets into it.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        metrics: Metrics,
        see: Callable[[Scope, str, int], None],
        refuse: Callable[[Request, Exception], Response],
        may_send: Callable[[str, str], bool] = lambda path, origin: False,
    ) -> None:
        self.app, self.settings, self.metrics, self.see, self.refuse = app, settings, metrics, see, refuse
        self.may_send = may_send

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        began, status = time.perf_counter(), 0
        state = scope.setdefault("state", {})
        state["body"] = hashlib.sha256()
        id = state["id"] = _request_id(Headers(scope=scope).get("x-request-id", ""))

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}  # the app of a plan runs by a policy of its own
                usual = [pair for pair in RAW_HEADERS if pair[0] not in own]
                message["headers"] = [*message["headers"], *usual, (b"x-request-id", id.encode())]
            if message.get("more_body"):  # a stream, which ends when nobody reads it
                await asyncio.wait_for(send(message), UNREAD_SECONDS)
            else:
                await send(message)

        try:
            limit = self._check(scope)
            await self.app(scope, _limited(receive, limit, state["body"].update), send_with_headers)
        except Exception as error:
            if not isinstance(error, Refused):
                log.error("failed", exc_info=error, extra={"fields": {"id": id}})
            if status:  # the answer had begun: cut it off
                raise
            if isinstance(error, TooLarge) and "text/html" in Headers(scope=scope).get("accept", ""):
                await _pass_over(receive, DRAINED * self.settings.max_upload)
            await self.refuse(Request(scope), error)(scope, receive, send_with_headers)
        finally:
            self._note(scope, status, time.perf_counter() - began)
        return None

    def _check(self, scope: Scope) -> int:
        """The most bytes this request may have; refuses what comes from elsewhere."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self.settings.hosts and _name(host) not in self.settings.hosts:
            raise Forbidden(f"This service does not answer to the name {_name(host)[:100]!r}.")
        origin = headers.get("origin")
        elsewhere = origin is not None and _site(origin) != host and not self.may_send(scope["path"], origin)
        if scope["method"] not in SAFE_METHODS and elsewhere:
            raise Forbidden("Another web site sent this request.")
        settings = self.settings
        limit = settings.max_upload if is_upload(scope["path"]) else settings.max_body
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > limit:
            raise TooLarge(f"A request here may have at most {limit:,} bytes. Got {length[:20]}.")
        return limit

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in METHODS else "other"
        self.metrics.count(method, route, status, seconds)
        if self.settings.authentication:
            self.see(scope, route, status)
        if log.isEnabledFor(logging.INFO):
            fields = {"method": method, "route": route, "status": status, "ms": round(1000 * seconds, 2)}
            who = {"user": scope["state"].get("user"), "address": (scope.get("client") or (None,))[0]}
            log.info("request", extra={"fields": {"id": scope["state"]["id"], **fields, **who}})


METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}


def _request_id(given: str) -> str:
    """The id that a proxy or client gave a request, if it is one; else a new one.

    >>> _request_id("7f3a-1"), len(_request_id("two words")), len(_request_id(""))
    ('7f3a-1', 16, 16)
    """
    return given if re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", given) else secrets.token_hex(8)


def is_upload(path: str) -> bool:
    """Whether plans, collections and files come in here."""
    return UPLOADS.fullmatch(path.rstrip("/")) is not None


def _site(origin: str) -> str:
    """The host and port of the page that sent a request; "" for what is no address.

    >>> _site("http://localhost:8000"), _site("http://["), _site("null")
    ('localhost:8000', '', '')
    """
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _name(host: str) -> str:
    """The host without its port.

    >>> _name("localhost:8000"), _name("[::1]:80")
    ('localhost', '[::1]')
    """
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]


def counted_as(address: str) -> str:
    """What an address counts as where it is limited: of IPv6 its network, since one sender has all addresses of that.

    >>> counted_as("10.0.0.5"), counted_as("2001:db8:1:2:3::5"), counted_as("::ffff:10.0.0.5"), counted_as("unknown")
    ('10.0.0.5', '2001:db8:1:2::', '10.0.0.5', 'unknown')
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv4Address):
        return address
    return str(found.ipv4_mapped or IPv6Address(int(found) >> HOST_BITS << HOST_BITS))


def counted_address(request: Request) -> str:
    """What the address that a request came from counts as."""
    return counted_as(request.client.host if request.client else "unknown")


def _limited(receive: Receive, limit: int, see: Callable[[bytes], None] = lambda part: None) -> Receive:
    """`receive` that shows each part of a body, and stops one which is longer than it said, or does not come."""
    seen, until, whole = 0, time.monotonic() + BODY_SECONDS, False

    async def counting() -> Message:
        nonlocal seen, whole
        if whole:  # what comes now is only the end of the connection, whenever that is
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(until - time.monotonic(), 0.001))
        except TimeoutError:
            raise HTTPException(408, f"The body of a request must come within {BODY_SECONDS:g} seconds") from None
        whole = not message.get("more_body", False)
        seen += len(message.get("body", b""))
        if seen > limit:
            # of this type, since FastAPI lets no other error out while it reads a body
            raise HTTPException(TooLarge.status, f"A request here may have at most {limit:,} bytes.")
        see(message.get("body", b""))
        return message

    return counting


async def _pass_over(receive: Receive, most: int) -> None:
    """Read and drop a body that is too large, up to a limit: browsers show an answer only after sending everything."""
    limited = _limited(receive, most)
    with suppress(HTTPException):
        while (await limited()).get("more_body", False):
            pass


class JsonLines(logging.Formatter):
    """One JSON object per line: time in UTC, level, what happened, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def start_logging(level: str) -> None:
    """One JSON object per line on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # which tells of every table of every font
