"""People over HTTP: users, their passwords and tokens, and the audit trail."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from banditree.service.edge.models import NO_NUL, Id, Name, Shape
from banditree.service.store.people import USER_NAME

RoleName = Literal["viewer", "operator", "signer", "admin"]
Password = Annotated[str, StringConstraints(min_length=10, max_length=200, pattern=NO_NUL)]


class Login(Shape):
    """A name and a password."""

    name: Name
    password: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NO_NUL)]


class Me(Shape):
    """Who you are. csrf_token: to be sent as X-CSRF-Token with every change, where you logged in with a cookie."""

    name: str
    role: RoleName
    csrf_token: str | None = None
    site: str | None = None


class NewUser(Shape):
    """A user to add."""

    name: Annotated[str, StringConstraints(pattern=f"^{USER_NAME}$")]
    role: RoleName
    password: Password
    site: Id | None = Field(None, description="the site whose cases the user sees; by default every site")


class ChangeUser(Shape):
    """What to change of a user."""

    role: RoleName | None = None
    password: Password | None = None
    disabled: bool | None = None
    site: Id | Literal[""] | None = Field(None, description="empty for one who sees every site")


class UserLine(Shape):
    """A user."""

    name: str
    role: RoleName
    disabled: bool
    at: str
    site: str | None = None


class NewToken(Shape):
    """An API token to make: a name to know it by, a role not above yours."""

    name: Name
    role: RoleName = "operator"
    days: Annotated[int, Field(ge=1, le=366, description="until it expires")] = 90


class NewPassword(Shape):
    """Your password now, and the one from now on."""

    old: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NO_NUL)]
    new: Password


class TokenOut(Shape):
    """A new token; it is shown this once."""

    id: str
    token: str


class TokenLine(Shape):
    """A token, without its secret."""

    id: str
    user: str
    role: RoleName
    name: str
    at: str
    expires: str | None
    revoked: bool


class AuditLine(Shape):
    """Who did what."""

    number: int
    at: str
    actor: str
    action: str
    subject: str | None
    address: str | None
    chain: str = Field(description="the hash over this line and the one before")
