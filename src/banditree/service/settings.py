"""Every setting of the service; each is an option of `banditree serve` and a variable such as BANDITREE_DATABASE."""

import ipaddress
import re
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from banditree import settings
from banditree.errors import InvalidInput, invalid

DRIVERS = {
    "sqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
}
LEAST_SECRET = 16  # The secret that signs what a webhook sends has at least this many characters.
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class Settings(settings.Settings):
    """How the service runs. The defaults are for one person on one computer."""

    environment: ClassVar = "BANDITREE_"

    database: Annotated[str, Field(description="A file (SQLite), or a URL such as postgresql://user@host/name.")] = (
        "banditree.db"
    )
    host: Annotated[str, Field(description="The address to listen on; this computer's own, unless people log in.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Field(ge=1, le=65535, description="The port to listen on.")] = 8000
    authentication: Annotated[
        bool, Field(description="People log in. Needed on any address other than this computer's.")
    ] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        Field(
            description="Host names that the service answers to. [default: this computer's own, or any name where "
            "people log in]"
        ),
    ] = ()
    open_description: Annotated[
        bool, Field(description="Strangers may read the API description, as people who have logged in may.")
    ] = False
    secure_cookies: Annotated[
        bool, Field(description="People log in over HTTPS only; switch it off for a trial on this computer.")
    ] = True
    sign_alone: Annotated[
        bool, Field(description="The person who made a plan may sign it, although there are other users.")
    ] = False
    session_hours: Annotated[int, Field(ge=1, description="How long a log-in lasts.")] = 12
    login_attempts: Annotated[int, Field(ge=1, description="Wrong passwords per name or address before a wait.")] = 5
    login_window: Annotated[int, Field(ge=1, description="Seconds of that wait.")] = 300
    max_body: Annotated[int, Field(ge=1000, description="Most bytes of a request.")] = 1_000_000
    max_upload: Annotated[int, Field(ge=1000, description="Most bytes of a plan or collection.")] = 32_000_000
    cached_rounds: Annotated[int, Field(ge=0, description="Rounds kept in memory, over all open cases.")] = 200_000
    waiting_commands: Annotated[int, Field(ge=1, description="Requests that may wait; others get 503.")] = 10_000
    readers: Annotated[
        int, Field(ge=1, description="Lists and pages that are read at the same time, one per person.")
    ] = 2
    workers: Annotated[
        int,
        Field(ge=0, description="Processes for long work; 0 leaves it to other servers on the same database."),
    ] = 1
    job_seconds: Annotated[int, Field(ge=1, description="Seconds that one piece of long work may take.")] = 120
    job_memory: Annotated[int, Field(ge=100, description="Megabytes that it may take.")] = 2_000
    rate_limit: Annotated[
        int, Field(ge=1, description="Requests per second of one person, or of one address without a log-in.")
    ] = 200
    connections_per_address: Annotated[int, Field(ge=1, description="Open connections per address.")] = 256
    trusted_proxies: Annotated[
        tuple[str, ...],
        Field(description="Addresses of proxies, or networks (10.0.0.0/8), whose X-Forwarded-For is trusted."),
    ] = ()
    public_url: Annotated[
        str, Field(description="The address at which people reach the service, as in https://plans.clinic.example.")
    ] = ""
    oidc_issuer: Annotated[str, Field(description="Single sign-on: the address of the OpenID Connect provider.")] = ""
    oidc_client: Annotated[str, Field(description="The client ID of the service at that provider.")] = ""
    oidc_secret: Annotated[
        str, Field(repr=False, description="The client secret; better given in the environment.")
    ] = ""
    oidc_roles: Annotated[
        dict[str, Literal["viewer", "operator", "signer", "admin"]],
        Field(description="Roles of groups, as in ward-leads=admin,nurses=operator; * stands for everybody."),
    ] = {}  # noqa: RUF012
    oidc_sites: Annotated[dict[str, str], Field(description="Sites of groups, as in ward-3=north,ward-4=south.")] = {}  # noqa: RUF012
    oidc_groups: Annotated[str, Field(description="The claim with a person's groups.")] = "groups"
    oidc_name: Annotated[str, Field(description="The claim with a person's name.")] = "preferred_username"
    cds_clients: Annotated[
        str,
        Field(
            description="CDS Hooks: a JSON file of the clinical systems that may ask for next steps, with their keys."
        ),
    ] = ""
    webhook_url: Annotated[
        str,
        Field(description="The address to which alarms, signatures and the visits that are due are sent."),
    ] = ""
    webhook_secret: Annotated[
        str, Field(repr=False, description="The secret that signs these messages; better given in the environment.")
    ] = ""
    mail_server: Annotated[
        str,
        Field(
            description="The mail server by which alarms, signatures and the visits that are due are sent, as in "
            "smtp://user@mail.clinic.example:587 (STARTTLS) or smtps://mail.clinic.example."
        ),
    ] = ""
    mail_password: Annotated[
        str, Field(repr=False, description="The password of that user; better given in the environment.")
    ] = ""
    mail_from: Annotated[str, Field(description="The address that these e-mails come from.")] = ""
    mail_to: Annotated[tuple[str, ...], Field(description="The addresses that they go to.")] = ()
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="The least serious lines that are logged.")
    ] = "info"

    @model_validator(mode="after")
    def _check(self) -> Self:
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
        for one in self.trusted_proxies:
            _check_network(one)
        if self.oidc_issuer:
            self._check_sign_on()
        if self.webhook_url:
            self._check_webhook()
        if self.mail_server:
            self._check_mail()
        if self.cds_clients and not (self.authentication and self.public_url):
            raise InvalidInput(
                "cds_clients must be given together with authentication=True and public_url, which the tokens name."
            )
        return self

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

    def _check_webhook(self) -> None:
        """Check that alarms go over a connection that nobody else can read, and are signed."""
        url = urlsplit(self.webhook_url)
        if not url.hostname or (url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.hostname))):
            raise invalid("webhook_url", "an address that begins with https://", self.webhook_url)
        if len(self.webhook_secret) < LEAST_SECRET:
            n = len(self.webhook_secret)
            raise InvalidInput(f"webhook_secret must be at least {LEAST_SECRET} characters long. Got {n}.")

    def _check_mail(self) -> None:
        """Check that e-mails have a server, a sender and somebody who gets them."""
        url = urlsplit(self.mail_server)
        if url.scheme not in ("smtp", "smtps") or not url.hostname or url.password:
            shown = self.mail_server.rpartition("@")[2]
            raise invalid("mail_server", "an address such as smtp://user@mail.clinic.example:587", shown)
        for name, given in (("mail_from", (self.mail_from,)), ("mail_to", self.mail_to or ("",))):
            for one in given:
                if not re.fullmatch(r"[^@\s<>,;:]+@[^@\s<>,;:]+", one):
                    raise invalid(name, "an e-mail address, as in ward-3@clinic.example", one)

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


def _check_network(given: str) -> None:
    """Refuse what is no address and no network: nobody would be trusted by it."""
    try:
        ipaddress.ip_network(given)
    except ValueError:
        raise invalid(
            "trusted_proxies", "an address such as 10.0.0.2, or a network such as 10.0.0.0/8", given
        ) from None


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
