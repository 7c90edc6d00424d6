"""Running the service: logs as JSON lines, and a shutdown that finishes what was begun."""

import sys

import uvicorn

from banditree.service.app import create_app
from banditree.service.edge import start_logging
from banditree.service.settings import Settings

GRACE = 10  # seconds for requests in flight when the service is told to stop


def serve(settings: Settings) -> None:
    """Serve until told to stop (SIGTERM or Ctrl-C)."""
    app = create_app(settings)
    start_logging(settings.log_level)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    sys.setswitchinterval(0.0005)  # seconds; the desk's thread waits for the other one after every sync
    uvicorn.Server(config).run()
