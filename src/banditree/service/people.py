"""Who may do what: users with roles, passwords by argon2, log-ins and API tokens as hashes, the limit on log-ins."""

import hashlib
import hmac
import secrets as randomness
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from banditree.service.cases import utc_now
from banditree.service.problems import Conflict, NotFound, NotLoggedIn, Refused, TooMany
from banditree.service.records import Row, note_action
from banditree.service.schema import audit, secrets, users
from banditree.service.settings import Settings

SESSION, TOKEN = "session", "token"
LOGIN_FAILED = "log-in failed"
LEAST_PASSWORD = 10

hasher = PasswordHasher()
NOBODY = hasher.hash(randomness.token_hex())  # checked for unknown names, so that they take as long as known ones


class Role(IntEnum):
    """viewer: reads. operator: also follows cases and adds plans. admin: also users, erasure and the audit trail."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @classmethod
    def named(cls, name: str) -> "Role":
        """The role of a name."""
        if name.upper() not in cls.__members__:
            raise Refused(f"role must be one of viewer, operator, admin. Got {name!r}.")
        return cls[name.upper()]

    @property
    def word(self) -> str:
        """The role as it is written."""
        return self.name.lower()


@dataclass(frozen=True)
class Person:
    """Who sent a request, with which role, and whether by a cookie, which needs the CSRF token."""

    name: str
    role: Role
    secret: str | None = None
    by_cookie: bool = False


LOCAL = Person("local", Role.ADMIN)


def add_user(connection: sa.Connection, actor: str, name: str, role: Role, hash: str) -> None:
    """A new user, with the hash of the password."""
    if connection.execute(sa.select(users.c.name).where(users.c.name == name)).first() is not None:
        raise Conflict(f"There is a user {name!r} already.")
    row = {"name": name, "role": role.word, "password": hash, "disabled": False, "at": utc_now()}
    connection.execute(sa.insert(users), row)
    note_action(connection, actor, "add user", f"{name} ({role.word})", None)


def change_user(
    connection: sa.Connection, actor: str, name: str, role: Role | None, hash: str | None, disabled: bool | None
) -> None:
    """Change what is given; a new role, a new password or being disabled ends the user's log-ins and tokens."""
    row = connection.execute(sa.select(users).where(users.c.name == name)).mappings().first()
    if row is None:
        raise NotFound(f"There is no user {name!r}.")
    changes: dict[str, Any] = {} if role is None else {"role": role.word}
    changes |= {} if hash is None else {"password": hash}
    changes |= {} if disabled is None else {"disabled": disabled}
    if not changes:
        raise Refused("Give a role, a password or disabled.")
    connection.execute(sa.update(users).where(users.c.name == name).values(changes))
    if _admins(connection) == 0 and row["role"] == Role.ADMIN.word and not row["disabled"]:
        raise Conflict(f"{name!r} is the last admin. Make another one first.")
    connection.execute(sa.update(secrets).where(secrets.c.user == name).values(revoked=True))
    note_action(connection, actor, "change user", f"{name} ({', '.join(changes)})", None)


def _admins(connection: sa.Connection) -> int:
    admins = sa.select(sa.func.count()).where(users.c.role == Role.ADMIN.word, users.c.disabled.is_(False))
    return int(connection.execute(admins).scalar_one())


def has_admin(connection: sa.Connection) -> bool:
    """Whether somebody can log in and let others in."""
    return _admins(connection) > 0


def list_users(connection: sa.Connection) -> Sequence[Row]:
    """Every user, by name, without the password."""
    columns = (users.c.name, users.c.role, users.c.disabled, users.c.at)
    return connection.execute(sa.select(*columns).order_by(users.c.name)).mappings().all()


def hashed(password: str) -> str:
    """The argon2 hash of a password that is long enough."""
    if len(password) < LEAST_PASSWORD:
        raise Refused(f"password must have at least {LEAST_PASSWORD} characters. Got {len(password)}.")
    return hasher.hash(password)


def check_attempts(connection: sa.Connection, settings: Settings, name: str, address: str) -> None:
    """Refuse a log-in after too many wrong passwords for this name or from this address; every server counts them."""
    since = (datetime.now(UTC) - timedelta(seconds=settings.login_window)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    recent = sa.select(sa.func.count()).where(audit.c.action == LOGIN_FAILED, audit.c.at > since)
    of_name = connection.execute(recent.where(audit.c.subject == name)).scalar_one()
    of_address = connection.execute(recent.where(audit.c.address == address)).scalar_one()
    if of_name >= settings.login_attempts or of_address >= 4 * settings.login_attempts:
        raise TooMany(f"Too many wrong passwords. Wait {settings.login_window} seconds.")


def password_matches(connection: sa.Connection, name: str, password: str) -> Role | None:
    """The role of a user with this password, or None."""
    row = connection.execute(sa.select(users).where(users.c.name == name)).mappings().first()
    try:
        hasher.verify(NOBODY if row is None else row["password"], password)
    except (VerificationError, InvalidHashError):
        return None
    return None if row is None or row["disabled"] else Role.named(row["role"])


def give_secret(
    connection: sa.Connection, kind: str, user: str, role: Role, name: str, lifetime: timedelta | None
) -> tuple[str, str]:
    """(id, the secret itself, which is shown this once and kept only as a hash)."""
    id, secret = randomness.token_hex(8), f"bt_{randomness.token_urlsafe(32)}"
    expires = None if lifetime is None else (datetime.now(UTC) + lifetime).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    row = {"id": id, "kind": kind, "hash": digest(secret), "user": user, "role": role.word, "name": name}
    connection.execute(sa.insert(secrets), {**row, "at": utc_now(), "expires": expires, "revoked": False})
    note_action(connection, user, "log in" if kind == SESSION else "add token", id, None)
    return id, secret


def revoke(connection: sa.Connection, actor: Person, id: str) -> None:
    """End a log-in or token: one's own, or anybody's for an admin."""
    row = connection.execute(sa.select(secrets.c.user).where(secrets.c.id == id)).first()
    if row is None or (row[0] != actor.name and actor.role < Role.ADMIN):
        raise NotFound(f"There is no token {id}.")
    connection.execute(sa.update(secrets).where(secrets.c.id == id).values(revoked=True))
    note_action(connection, actor.name, "revoke", id, None)


def revoke_secret(connection: sa.Connection, actor: str, secret: str) -> None:
    """End the log-in or token that this secret belongs to."""
    connection.execute(sa.update(secrets).where(secrets.c.hash == digest(secret)).values(revoked=True))
    note_action(connection, actor, "log out", None, None)


def list_tokens(connection: sa.Connection, person: Person) -> Sequence[Row]:
    """One's own tokens, or everybody's for an admin, without the secrets."""
    columns = [secrets.c[name] for name in ("id", "user", "role", "name", "at", "revoked")]
    query = sa.select(*columns).where(secrets.c.kind == TOKEN).order_by(secrets.c.at)
    if person.role < Role.ADMIN:
        query = query.where(secrets.c.user == person.name)
    return connection.execute(query).mappings().all()


def who(connection: sa.Connection, secret: str, by_cookie: bool) -> Person:
    """Whose log-in or token this is."""
    kind = SESSION if by_cookie else TOKEN
    query = sa.select(secrets, users.c.role.label("highest"), users.c.disabled).join(users)
    row = connection.execute(query.where(secrets.c.hash == digest(secret))).mappings().first()
    known = row is not None and row["kind"] == kind and not row["revoked"] and not row["disabled"]
    if row is None or not known or (row["expires"] is not None and row["expires"] < utc_now()):
        raise NotLoggedIn("Log in, or send a valid token as 'Authorization: Bearer ...'.")
    role = min(Role.named(row["role"]), Role.named(row["highest"]))
    return Person(row["user"], role, secret, by_cookie)


def digest(secret: str) -> str:
    """How a secret is kept: it has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_token(secret: str) -> str:
    """What a page must send back with every change: it follows from the log-in, and other sites cannot read it."""
    return hmac.new(secret.encode(), b"csrf", hashlib.sha256).hexdigest()
