"""Every setting of the service, in one place; each is an option of `banditree serve` and a line of docs/service.md."""

import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from banditree.errors import InvalidInput, invalid

DRIVERS = {
    "sqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
}
ROLES = ("viewer", "operator", "signer", "admin")
LEAST_SECRET = 16  # The secret that signs what a webhook sends has at least so many characters.
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
    readers: lists and pages that are read at the same time, one per person; the others wait, so that those who
    report need not.
    workers: processes for long work; 0 leaves it to other servers on the same database. job_seconds, job_memory: what
    one job may take, in seconds and in megabytes.
    rate_limit: requests per second of one person, or of one address without a log-in, where people log in.
    connections_per_address: at the same time. trusted_proxies: addresses whose X-Forwarded-For is trusted.
    public_url: the address at which people reach the service, where a proxy gives it another one.
    oidc_issuer, oidc_client, oidc_secret: the provider of single sign-on, and the client ID and secret there.
    oidc_roles, oidc_sites: (group, role) and (group, site) pairs. oidc_groups, oidc_name: the claims that hold a
    person's groups and name.
    webhook_url, webhook_secret: where alarms about a plan's cases are sent, and the secret that signs them.
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
    readers: int = 2
    workers: int = 1
    job_seconds: int = 120
    job_memory: int = 2_000
    rate_limit: int = 200
    connections_per_address: int = 256
    trusted_proxies: tuple[str, ...] = ()
    public_url: str = ""
    oidc_issuer: str = ""
    oidc_client: str = ""
    oidc_secret: str = field(default="", repr=False)
    oidc_roles: tuple[tuple[str, str], ...] = ()
    oidc_sites: tuple[tuple[str, str], ...] = ()
    oidc_groups: str = "groups"
    oidc_name: str = "preferred_username"
    webhook_url: str = ""
    webhook_secret: str = field(default="", repr=False)
    log_level: str = "info"

    def __post_init__(self) -> None:
        scheme, separator, _ = self.database.partition("://")
        if separator and scheme not in DRIVERS:
            raise InvalidInput(
                f"database must be a file or a URL that begins with postgresql://. Got one that begins with "
                f"{scheme[:20]!r}."
            )
        if not self.authentication and not is_loopback(self.host):
            raise InvalidInput(
                f"The service is open to everyone who reaches it, so it only listens on this computer. Got host "
                f"{self.host!r}. Add authentication=True, or omit the host."
            )

        if self.oidc_issuer:
            self._check_sign_on()
        if self.webhook_url:
            self._check_webhook()

    def _check_sign_on(self) -> None:
        """Check that single sign-on has what it needs."""
        url = urlsplit(self.oidc_issuer)
        if url.scheme != "https" and not is_loopback(url.hostname or ""):
            raise invalid("oidc_issuer", "an address that begins with https://", self.oidc_issuer)
        if not (self.authentication and self.oidc_client and self.oidc_roles):
            raise InvalidInput(
                'oidc_issuer must be given together with authentication=True, oidc_client="ID" and '
                'oidc_roles="GROUP=ROLE".'
            )
        for group, role in self.oidc_roles:
            if role not in ROLES:
                raise invalid("oidc_roles", f"one of {', '.join(ROLES)} for each group", f"{group}={role}")

    def _check_webhook(self) -> None:
        """Check that alarms go over a connection that nobody else can read, and are signed."""
        url = urlsplit(self.webhook_url)
        if not url.hostname or (url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.hostname))):
            raise invalid("webhook_url", "an address that begins with https://", self.webhook_url)
        if len(self.webhook_secret) < LEAST_SECRET:
            n = len(self.webhook_secret)
            raise InvalidInput(f"webhook_secret must be at least {LEAST_SECRET} characters long. Got {n}.")

    @property
    def url(self) -> str:
        """The database as SQLAlchemy wants it.

        >>> Settings(database="cases.db").url, Settings(database="postgres://db/x").url
        ('sqlite:///cases.db', 'postgresql+psycopg://db/x')
        """
        scheme, separator, rest = self.database.partition("://")
        if not separator:
            return f"sqlite:///{self.database}"
        return f"{DRIVERS[scheme]}://{rest}"

    @property
    def shown_database(self) -> str:
        """The database as it may be printed: without a password.

        >>> Settings(database="postgresql://ada:secret@db/x").shown_database
        'postgresql://ada:***@db/x'
        """
        return re.sub(r"(?<=://)([^:/@]*):.*@", r"\1:***@", self.database)

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
