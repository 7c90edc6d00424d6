"""Running the service: its connections, logs as JSON lines, and a shutdown that finishes what was begun."""

import resource
import sys
from functools import partial

import uvicorn
from fastapi import FastAPI

from banditree.service.app import create_app
from banditree.service.edge.connection_limits import Connections, protocol
from banditree.service.edge.requests import start_logging
from banditree.service.settings import Settings

GRACE = 10  # Requests in flight have this many seconds when the service is told to stop.
OTHER_FILES = 200  # The process may need this many open files besides connections.


def serve(settings: Settings) -> None:
    """Serve until told to stop (SIGTERM or Ctrl-C)."""
    app = create_app(settings)
    start_logging(settings.log_level)
    sys.setswitchinterval(0.0005)  # seconds; the desk's thread waits for the other one after every sync
    server = uvicorn.Server(configuration(app, settings, room_for_connections()))
    app.state.life.stop = partial(setattr, server, "should_exit", True)
    server.run()
    app.state.life.check()  # so that the exit code says that it is to be started again


def configuration(app: FastAPI, settings: Settings, most: int) -> uvicorn.Config:
    """How the server listens; most: connections at the same time."""
    trusted = settings.trusted_proxies
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=protocol(Connections(most, settings.connections_per_address, trusted)),
        ws="none",  # nothing here speaks it, and its connections would be counted for ever
        proxy_headers=bool(trusted),
        forwarded_allow_ips=list(trusted),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )


def room_for_connections() -> int:
    """As many connections as this process may have files open, so that none is left waiting at the door."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return max(int(min(most, 65_536)) - OTHER_FILES, 16)
