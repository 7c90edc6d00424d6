"""Every setting of the service, in one place; each is an option of `banditree serve` and a line of docs/service.md."""

import ipaddress
from dataclasses import dataclass

from banditree.errors import InvalidInput

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Settings:
    """How the service runs. The defaults are for one person on one computer.

    database: a path (SQLite) or a URL such as postgresql://user@host/name.
    authentication: whether people log in; without it the service is open and only listens on this computer.
    allowed_hosts: names in the Host header that are answered; () means this computer's own names where the service is
    open, and any name where people log in.
    max_body, max_upload: bytes of a request; of a plan or collection.
    cached_rounds: rounds kept in memory over all cases. waiting_commands: requests in line before 503 is answered.
    workers: processes for long work; 0 leaves it to other servers on the same database. job_seconds, job_memory: what
    one job may take, in seconds and in megabytes.
    login_attempts: wrong passwords per name or address within login_window seconds before 429 is answered.
    """

    database: str = "banditree.db"
    host: str = "127.0.0.1"
    port: int = 8000
    authentication: bool = False
    allowed_hosts: tuple[str, ...] = ()
    secure_cookies: bool = True
    session_hours: int = 12
    login_attempts: int = 5
    login_window: int = 300
    max_body: int = 1_000_000
    max_upload: int = 32_000_000
    cached_rounds: int = 500_000
    waiting_commands: int = 10_000
    workers: int = 1
    job_seconds: int = 120
    job_memory: int = 2_000
    log_level: str = "info"

    def __post_init__(self) -> None:
        if not self.authentication and not is_loopback(self.host):
            raise InvalidInput(
                f"The service is open to everyone who reaches it, so it only listens on this computer. Got host "
                f"{self.host!r}. Add --authentication, or leave --host out."
            )

    @property
    def url(self) -> str:
        """The database as SQLAlchemy wants it.

        >>> Settings(database="cases.db").url, Settings(database="postgres://db/x").url
        ('sqlite:///cases.db', 'postgresql+psycopg://db/x')
        """
        scheme, separator, rest = self.database.partition("://")
        if not separator:
            return f"sqlite:///{self.database}"
        if scheme in ("postgres", "postgresql"):
            return f"postgresql+psycopg://{rest}"
        return self.database

    @property
    def hosts(self) -> tuple[str, ...]:
        """The Host headers that are answered; () for any. Keeps other web sites from reaching an open service."""
        return self.allowed_hosts or (() if self.authentication else LOCAL_HOSTS)


def is_loopback(host: str) -> bool:
    """Whether an address is only reachable from this computer.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("clinic.example")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
