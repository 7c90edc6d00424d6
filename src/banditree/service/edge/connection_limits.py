"""Limits on connections: how long and how large the head of a request may be, and how many an address may open.

The head of a request is its first line and its headers.
"""

import asyncio
from collections import Counter
from ipaddress import ip_address, ip_network
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from banditree.service.edge.requests import counted_as

HEAD_SECONDS = 10.0  # The head of a request must come within this many seconds.
HEAD_BYTES = 65_536  # A request may have this many bytes besides its body, which may be divided into small chunks.
PIECE = 16_384  # Bytes between two looks at a head, so that little of one that is too large is read.
LOCAL = "local"  # What connects over a socket of this machine has no address.
TOO_LARGE = (
    b'{"error": {"code": "too_large", "message": "The headers of a request may have at most 65,536 bytes in all."}}'
)
REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(TOO_LARGE), TOO_LARGE)
)


class Connections:
    """How many connections are open, over all and from each address.

    trusted: addresses and networks of proxies, which speak for many.
    """

    def __init__(self, most: int, per_address: int, trusted: tuple[str, ...] = ()) -> None:
        self.most, self.per_address = most, per_address
        self.trusted = [ip_network(one) for one in trusted]
        self.open: Counter[str] = Counter()

    def admit(self, address: str) -> bool:
        """Count a new connection; whether there is room for it."""
        counted = counted_as(address)
        self.open[counted] += 1
        own = self.open[counted] <= self.per_address or self._is_trusted(address)
        return own and self.open.total() <= self.most

    def _is_trusted(self, address: str) -> bool:
        return address != LOCAL and any(ip_address(address) in network for network in self.trusted)

    def leave(self, address: str) -> None:
        """A connection is gone."""
        counted = counted_as(address)
        self.open[counted] -= 1
        if self.open[counted] <= 0:
            del self.open[counted]


def protocol(connections: Connections) -> type[asyncio.Protocol]:
    """The protocol of the server: uvicorn's own, which counts its connections and does not wait for ever."""

    class Patient(HttpToolsProtocol):
        address = ""
        head_timer: asyncio.TimerHandle | None = None
        n_beside, in_body, refused = 0, False, False  # bytes beside the body, those of the body taken off once more

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            peer = transport.get_extra_info("peername")
            self.address = peer[0] if isinstance(peer, tuple) else LOCAL
            if not connections.admit(self.address):
                transport.abort()
            else:
                self._expect_head()

        def connection_lost(self, exc: Exception | None) -> None:
            connections.leave(self.address)
            self._have_head()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.head_timer is None and (self.cycle is None or self.cycle.response_complete):
                self._expect_head()
            while data and not self.refused:
                piece, data = (data, b"") if self.in_body else (data[:PIECE], data[PIECE:])
                self.n_beside += len(piece)
                super().data_received(piece)
                if self.n_beside > HEAD_BYTES:
                    self._refuse()

        def on_header(self, name: bytes, value: bytes) -> None:
            if not self.in_body:  # what comes after the body is not kept
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._have_head()
            self.in_body = True
            if self.n_beside > HEAD_BYTES and self._n_head() > HEAD_BYTES:
                self._refuse()
            else:
                super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self.n_beside -= 2 * len(body)
            if not self.refused:
                super().on_body(body)

        def on_message_complete(self) -> None:
            self.n_beside, self.in_body = 0, False
            if not self.refused:
                super().on_message_complete()

        def _n_head(self) -> int:
            return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

        def _refuse(self) -> None:
            """Say that the head is too large, read nothing more, and hang up once that was heard."""
            self.refused = True
            self.transport.pause_reading()
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(REFUSAL)
            self.loop.call_later(1.0, self._give_up)

        def _expect_head(self) -> None:
            self.head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

        def _have_head(self) -> None:
            if self.head_timer is not None:
                self.head_timer.cancel()
                self.head_timer = None

        def _give_up(self) -> None:
            if not self.transport.is_closing():
                self.transport.abort()

    return Patient
