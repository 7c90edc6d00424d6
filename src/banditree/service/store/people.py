"""Who may do what: users with roles, passwords by argon2, log-ins and API tokens as hashes, the limit on log-ins."""

import hashlib
import hmac
import math
import re
import secrets as randomness
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, NamedTuple

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from banditree.nouns import counted
from banditree.service.cases.case import utc_now
from banditree.service.problems import Conflict, Forbidden, NotFound, NotLoggedIn, Refused, TooMany
from banditree.service.settings import Settings
from banditree.service.store.records import Row
from banditree.service.store.schema import attempts, secrets, users
from banditree.service.store.trail import note_action

SESSION, TOKEN = "session", "token"
LOGIN_FAILED = "log-in failed"
LEAST_PASSWORD = 10
USER_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
RESERVED = {"service", "nobody", "local", "watch", "sign-on"}  # Names by which the trail means no person.
HASHING = threading.Semaphore(2)  # At most this many passwords are checked at the same time.

hasher = PasswordHasher()
NOBODY = hasher.hash(randomness.token_hex())  # Checked for unknown names, so that they take as long as known ones.


class Role(IntEnum):
    """viewer: reads. operator: also follows cases, adds drafts of plans and runs jobs. signer: also signs plans.

    admin: also users, erasure and the audit trail.
    """

    VIEWER = 1
    OPERATOR = 2
    SIGNER = 3
    ADMIN = 4

    @classmethod
    def named(cls, name: str) -> "Role":
        """The role of a name."""
        if name.upper() not in cls.__members__:
            raise Refused(f"role must be one of viewer, operator, signer, admin. Got {name!r}.")
        return cls[name.upper()]

    @property
    def word(self) -> str:
        """The role as it is written."""
        return self.name.lower()


@dataclass(frozen=True)
class Person:
    """Who sent a request, with which role and of which site, and whether by a cookie, which needs the CSRF token."""

    name: str
    role: Role
    secret: str | None = None
    by_cookie: bool = False
    site: str | None = None


class Known(NamedTuple):
    """Whom the provider named. subject: an id that is never given to anybody else."""

    subject: str
    name: str
    role: Role | None
    site: str | None = None


LOCAL = Person("local", Role.ADMIN)


def check_site(role: str, site: str | None) -> None:
    """An admin manages all sites, so belongs to none."""
    if role == Role.ADMIN.word and site is not None:
        raise Refused(f"site must be empty for an admin, who sees every site. Got {site!r}.")
    if site is not None and not re.fullmatch(USER_NAME, site):
        raise Refused(f"site must be 1 to 64 letters, digits or any of _.-. Got {site[:80]!r}.")


def add_user(connection: sa.Connection, actor: str, name: str, role: Role, hash: str, site: str | None = None) -> None:
    """A new user, with the hash of the password. site: the one whose cases the user sees; None for every site."""
    check_site(role.word, site)
    if not re.fullmatch(USER_NAME, name):
        raise Refused(
            f"name must be 1 to 64 letters, digits or any of _.-, and begin with a letter or digit. Got {name[:80]!r}."
        )
    if name.lower() in RESERVED:
        raise Refused(f"name must not be one that the audit trail itself uses. Got {name!r}.")
    if connection.execute(sa.select(users.c.name).where(users.c.name == name)).first() is not None:
        raise Conflict(f"There is already a user {name!r}.")
    row = {"name": name, "role": role.word, "password": hash, "disabled": False, "at": utc_now(), "site": site}
    connection.execute(sa.insert(users), row)
    note_action(connection, actor, "add user", f"{name} ({role.word})", None)


def change_user(
    connection: sa.Connection,
    actor: str,
    name: str,
    role: Role | None,
    hash: str | None,
    disabled: bool | None,
    site: str | None = None,
) -> None:
    """Change what is given (site: "" for every site); any change ends the user's log-ins and tokens."""
    # Held until the end, so that two admins on two servers cannot each take the other for the one who stays.
    admins = sa.select(users.c.name).where(users.c.role == Role.ADMIN.word).order_by(users.c.name)
    connection.execute(admins.with_for_update()).all()
    row = connection.execute(sa.select(users).where(users.c.name == name)).mappings().first()
    if row is None:
        raise NotFound(f"There is no user {name!r}.")
    changes: dict[str, Any] = {} if role is None else {"role": role.word}
    changes |= {} if hash is None else {"password": hash}
    changes |= {} if disabled is None else {"disabled": disabled}
    changes |= {} if site is None else {"site": site or None}
    if not changes:
        raise Refused("Give a role, a password, a site or disabled.")
    after = {**row, **changes}
    check_site(after["role"], after["site"])
    connection.execute(sa.update(users).where(users.c.name == name).values(changes))
    if _admins(connection) == 0 and row["role"] == Role.ADMIN.word and not row["disabled"]:
        raise Conflict(f"{name!r} is the last admin. Make another one first.")
    end_everything(connection, name)
    note_action(connection, actor, "change user", f"{name} ({', '.join(changes)})", None)


def _admins(connection: sa.Connection) -> int:
    admins = sa.select(sa.func.count()).where(users.c.role == Role.ADMIN.word, users.c.disabled.is_(False))
    return int(connection.execute(admins).scalar_one())


def admit(connection: sa.Connection, known: Known, address: str) -> str | Refused:
    """The name of the user who signed on, made or brought up to date; or why this person does not get in.

    Losing every group, or being disabled by an admin, also ends earlier log-ins and tokens. A local user of the same
    name stays separate: whoever runs the provider cannot become somebody here by choosing a name.
    """
    row = connection.execute(sa.select(users).where(users.c.subject == known.subject)).mappings().first()
    name = known.name if row is None else str(row["name"])
    refusal = _refusal_of(connection, known, row)
    if refusal is not None:
        if row is not None:
            end_everything(connection, name)
        note_action(connection, "nobody", "sign-on refused", name, address)
        return refusal
    assert known.role is not None
    if row is None:
        fresh = {"name": name, "role": known.role.word, "password": NOBODY, "disabled": False, "at": utc_now()}
        connection.execute(sa.insert(users), {**fresh, "subject": known.subject, "site": known.site})
        note_action(connection, "sign-on", "add user", f"{name} ({known.role.word})", address)
    elif (row["role"], row["site"]) != (known.role.word, known.site):
        now = {"role": known.role.word, "site": known.site}
        connection.execute(sa.update(users).where(users.c.name == name).values(now))
        end_everything(connection, name)  # a token of one site does not go on at another
        note_action(connection, "sign-on", "change user", f"{name} (role, site)", address)
    return name


def _refusal_of(connection: sa.Connection, known: Known, row: sa.RowMapping | None) -> Refused | None:
    if known.role is None:
        return Forbidden("None of your groups has a role, or a site, here. Ask the person who runs this service.")
    if row is not None:
        return Forbidden("Your account here is disabled. Ask an admin.") if row["disabled"] else None
    if known.name.lower() in RESERVED:
        return Forbidden(f"Nobody can be called {known.name!r} here. Ask the person who runs this service.")
    if connection.execute(sa.select(users.c.name).where(users.c.name == known.name)).first() is not None:
        return Conflict(f"There is another user {known.name!r} here. Ask an admin.")
    return None


def has_admin(connection: sa.Connection) -> bool:
    """Whether somebody can log in and let others in."""
    return _admins(connection) > 0


def list_users(connection: sa.Connection) -> Sequence[Row]:
    """Every user, by name, without the password."""
    columns = (users.c.name, users.c.role, users.c.disabled, users.c.at, users.c.site)
    return connection.execute(sa.select(*columns).order_by(users.c.name)).mappings().all()


def hashed(password: str) -> str:
    """The argon2 hash of a password that is long enough."""
    if len(password) < LEAST_PASSWORD:
        raise Refused(f"password must have at least {LEAST_PASSWORD} characters. Got {len(password)}.")
    return hasher.hash(password)


def begin_attempt(connection: sa.Connection, settings: Settings, name: str, address: str) -> int:
    """Count a log-in before its password is looked at; refused after too many from this address or for this name there.

    Strangers elsewhere cannot lock a person out by guessing. Every server counts, and so do attempts still being
    checked, so guessing in parallel gains nothing. Attempts with a time in the future, from before the clock was set
    back, are not counted, so that no wait grows by them.
    """
    now = datetime.now(UTC)
    since, until = (_written(now - timedelta(seconds=settings.login_window)), _written(now + timedelta(seconds=1)))
    connection.execute(sa.delete(attempts).where(sa.or_(attempts.c.at < since, attempts.c.at > until)))
    tried = sa.select(sa.func.count(), sa.func.min(attempts.c.at)).where(attempts.c.address == address)
    for query, most in (
        (tried.where(attempts.c.name == name), settings.login_attempts),
        (tried, 4 * settings.login_attempts),
    ):
        n, first = connection.execute(query).one()
        if n >= most:
            wait = settings.login_window - (now - datetime.fromisoformat(first)).total_seconds()
            raise TooMany(f"Too many wrong passwords. Wait {counted(max(math.ceil(wait), 1), 'second')}.", wait)
    row = {"at": _written(now), "name": name, "address": address}
    return int(connection.execute(sa.insert(attempts).returning(attempts.c.number), row).scalar_one())


def end_attempt(connection: sa.Connection, number: int) -> None:
    """The password was right: the attempt counts no more."""
    connection.execute(sa.delete(attempts).where(attempts.c.number == number))


def _written(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def password_of(connection: sa.Connection, name: str) -> tuple[str, Role | None]:
    """(hash of the password, role) of a user; of nobody where there is none or it is disabled."""
    row = connection.execute(sa.select(users).where(users.c.name == name)).mappings().first()
    if row is None:
        return NOBODY, None
    return row["password"], None if row["disabled"] else Role.named(row["role"])


def verified(hash: str, password: str) -> bool:
    """Whether this is the password. It takes 64 MB and a moment, so only a few are looked at together."""
    with HASHING:
        try:
            return hasher.verify(hash, password)
        except (VerificationError, InvalidHashError):
            return False


def set_password(connection: sa.Connection, name: str, hash: str) -> None:
    """A new password of one's own: every other log-in and token ends."""
    connection.execute(sa.update(users).where(users.c.name == name).values(password=hash))
    end_everything(connection, name)
    note_action(connection, name, "change password", name, None)


def end_everything(connection: sa.Connection, name: str) -> None:
    """End every log-in and token of a user."""
    connection.execute(sa.update(secrets).where(secrets.c.user == name).values(revoked=True))


def give_secret(
    connection: sa.Connection,
    kind: str,
    user: str,
    role: Role,
    name: str,
    lifetime: timedelta | None,
    parent: str | None = None,
) -> tuple[str, str]:
    """(id, the secret itself, which is kept only as a hash).

    parent: the secret of the log-in or token that asks for it and takes it along when it is ended.
    """
    secret = f"bt_{randomness.token_urlsafe(32)}"
    return _put(connection, secret, kind, user, role, name, lifetime, parent), secret


def add_token(
    connection: sa.Connection, user: str, role: Role, name: str, lifetime: timedelta, parent: str
) -> tuple[str, str]:
    """(id, salt) of a new token, which `token_from` makes of the salt and of the secret that asked for it.

    So the answer can be given again, and what is kept of it does not tell the token.
    """
    salt = randomness.token_hex(32)
    return _put(connection, token_from(parent, salt), TOKEN, user, role, name, lifetime, parent), salt


def token_from(parent: str, salt: str) -> str:
    """The token that a log-in or token of this secret made."""
    return f"bt_{hmac.new(parent.encode(), f'token {salt}'.encode(), hashlib.sha256).hexdigest()}"


def is_secret_of(connection: sa.Connection, id: str, secret: str) -> bool:
    """Whether this is the secret of the log-in or token of an id."""
    same = secrets.c.id == id, secrets.c.hash == digest(secret)
    return connection.execute(sa.select(secrets.c.id).where(*same)).first() is not None


def _put(
    connection: sa.Connection,
    secret: str,
    kind: str,
    user: str,
    role: Role,
    name: str,
    lifetime: timedelta | None,
    parent: str | None,
) -> str:
    """The id of a secret, now on record as a hash."""
    made_by, id = _maker(connection, parent), randomness.token_hex(8)
    expires = None if lifetime is None else _written(datetime.now(UTC) + lifetime)
    row = {"id": id, "kind": kind, "hash": digest(secret), "user": user, "role": role.word, "name": name}
    row |= {"at": utc_now(), "expires": expires, "revoked": False, "parent": None}  # type: ignore[dict-item]
    if made_by is not None:
        lasting = made_by["kind"] == SESSION  # a log-in that is over, but was not ended, leaves its tokens
        known = [at for at in (expires, None if lasting else made_by["expires"]) if at is not None]
        row |= {"parent": made_by["id"], "expires": min(known, default=None)}  # type: ignore[dict-item]
    connection.execute(sa.insert(secrets), row)
    note_action(connection, user, "log in" if kind == SESSION else "add token", id, None)
    return id


def _maker(connection: sa.Connection, secret: str | None) -> Row | None:
    """The log-in or token of a secret."""
    if secret is None:
        return None
    return connection.execute(sa.select(secrets).where(secrets.c.hash == digest(secret))).mappings().first()


def _end(connection: sa.Connection, ids: Sequence[str]) -> None:
    """End these secrets, what they made, and so on."""
    while ids:
        connection.execute(sa.update(secrets).where(secrets.c.id.in_(ids)).values(revoked=True))
        ids = [id for (id,) in connection.execute(sa.select(secrets.c.id).where(secrets.c.parent.in_(ids)))]


def revoke(connection: sa.Connection, actor: Person, id: str) -> None:
    """End a log-in or token, and the tokens it made: one's own, or anybody's for an admin."""
    row = connection.execute(sa.select(secrets.c.user).where(secrets.c.id == id)).first()
    if row is None or (row[0] != actor.name and actor.role < Role.ADMIN):
        raise NotFound(f"There is no token {id}.")
    _end(connection, [id])
    note_action(connection, actor.name, "revoke", id, None)


def revoke_secret(connection: sa.Connection, actor: str, secret: str) -> None:
    """End the log-in or token that this secret belongs to."""
    found = connection.execute(sa.select(secrets.c.id).where(secrets.c.hash == digest(secret)))
    _end(connection, [id for (id,) in found])
    note_action(connection, actor, "log out", None, None)


def list_tokens(connection: sa.Connection, person: Person) -> Sequence[Row]:
    """One's own tokens, or everybody's for an admin, without the secrets."""
    columns = [secrets.c[name] for name in ("id", "user", "role", "name", "at", "expires", "revoked")]
    query = sa.select(*columns).where(secrets.c.kind == TOKEN).order_by(secrets.c.at)
    if person.role < Role.ADMIN:
        query = query.where(secrets.c.user == person.name)
    return connection.execute(query).mappings().all()


def who(connection: sa.Connection, secret: str, by_cookie: bool) -> Person:
    """Whose log-in or token this is."""
    kind = SESSION if by_cookie else TOKEN
    query = sa.select(secrets, users.c.role.label("highest"), users.c.disabled, users.c.site).join(users)
    row = connection.execute(query.where(secrets.c.hash == digest(secret))).mappings().first()
    known = row is not None and row["kind"] == kind and not row["revoked"] and not row["disabled"]
    if row is None or not known or (row["expires"] is not None and row["expires"] < utc_now()):
        raise NotLoggedIn("Log in, or send a valid token as 'Authorization: Bearer ...'.")
    role = min(Role.named(row["role"]), Role.named(row["highest"]))
    return Person(row["user"], role, secret, by_cookie, row["site"])


def acting_as(connection: sa.Connection, name: str) -> Person:
    """The user as whom a program acts that proved itself otherwise; at most as an operator."""
    row = connection.execute(sa.select(users).where(users.c.name == name)).mappings().first()
    if row is None or row["disabled"]:
        raise NotLoggedIn(f"The user {name!r}, as whom this system acts, is unknown here or kept out.")
    return Person(name, min(Role.named(row["role"]), Role.OPERATOR), site=row["site"])


def digest(secret: str) -> str:
    """How a secret is kept: it has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_token(secret: str) -> str:
    """What a page must send back with every change: it follows from the log-in, and other sites cannot read it."""
    return hmac.new(secret.encode(), b"csrf", hashlib.sha256).hexdigest()
