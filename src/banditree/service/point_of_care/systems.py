"""Which clinical systems may ask, and whether a request is from one of them: the signed tokens of CDS Hooks.

A token is a JSON Web Token that the system signs for one call with a key that never leaves it. The service holds public
keys only, from a file: it fetches none (the `jku` of a token is not read), so nobody can make it call an address.
"""

import hashlib
import json
import time
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jwt import ClaimsOption

from banditree.errors import InvalidInput
from banditree.service.people.sign_on import LEEWAY, SIGNATURES
from banditree.service.problems import NotLoggedIn

SERVICES = "/cds-services"  # Where clinical systems look for services; the standard says so.
LONGEST = 600  # A token is valid for at most this many seconds.
SECRET_PARTS = ("d", "k", "p", "q")  # What only private keys have.
EXAMPLE = '{"https://ehr.clinic.example": {"user": "ehr", "keys": {"keys": [...]}}}'


class System(NamedTuple):
    """A clinical system: the user as whom it acts, and its public keys."""

    user: str
    keys: KeySet


class Signed(NamedTuple):
    """A token that a system signed: the user as whom it acts, and a digest of its number, for it counts once."""

    user: str
    number: str


class Systems:
    """The systems of a file by their issuers."""

    def __init__(self, path: str, public_url: str) -> None:
        self.by_issuer, self.public_url = read_systems(path), public_url.rstrip("/")

    def signed(self, token: str, path: str) -> Signed:
        """What a token says that a system signed for this path. Whether it was used before, the database knows."""
        try:
            system = self.by_issuer[str(_unverified(token).get("iss"))]
            claims = jwt.decode(token, system.keys, algorithms=SIGNATURES).claims
            self._check(claims, path)
        except (JoseError, ValueError, KeyError, TypeError, RecursionError):
            raise NotLoggedIn(
                f"Send a token that a system known here signed for this address, {self.public_url}{path}, valid for at "
                f"most {LONGEST // 60} minutes: 'Authorization: Bearer ...'."
            ) from None
        number = json.dumps([claims["iss"], claims["jti"]])
        return Signed(system.user, hashlib.sha256(number.encode()).hexdigest())

    def _check(self, claims: dict[str, Any], path: str) -> None:
        for name in ("iss", "jti"):
            if not isinstance(claims.get(name), str):
                raise ValueError(name)
        audience: ClaimsOption = {"essential": True, "value": self.public_url + path}
        needed: ClaimsOption = {"essential": True}
        jwt.JWTClaimsRegistry(leeway=LEEWAY, aud=audience, exp=needed, iat=needed).validate(claims)
        if claims["exp"] > time.time() + LONGEST + LEEWAY:
            raise ValueError("exp")

    def is_page_of_a_system(self, path: str, origin: str) -> bool:
        """Whether a page of a system, such as the sandbox of CDS Hooks, sends this request in a browser."""
        return is_point_of_care(path) and origin in self.by_issuer


def is_point_of_care(path: str) -> bool:
    """Whether clinical systems call this path, with a token of their own and nothing else.

    >>> is_point_of_care("/cds-services"), is_point_of_care("/cds-services/next-step"), is_point_of_care("/cases")
    (True, True, False)
    """
    return path == SERVICES or path.startswith(f"{SERVICES}/")


def read_systems(path: str) -> dict[str, System]:
    """The systems of a file, by their issuers."""
    try:
        given = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"cds_clients must be a file in JSON such as {EXAMPLE}. {error}.") from None
    if not isinstance(given, dict) or not given:
        raise InvalidInput(f"cds_clients must hold an object such as {EXAMPLE}.")
    return {issuer: _system(issuer, one) for issuer, one in given.items()}


def _system(issuer: str, given: Any) -> System:
    if not urlsplit(issuer).netloc:
        raise InvalidInput(f"cds_clients must name systems by the address in 'iss' of their tokens. Got {issuer!r}.")
    if not isinstance(given, Mapping) or set(given) != {"user", "keys"} or not isinstance(given["user"], str):
        raise InvalidInput(f"cds_clients must give {issuer} a user and keys, as in {EXAMPLE}.")
    try:
        keys = KeySet.import_key_set(given["keys"])
    except (JoseError, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidInput(f"cds_clients: the keys of {issuer} are not a JSON Web Key Set.") from None
    if any(set(SECRET_PARTS) & set(key) for key in given["keys"]["keys"]):
        raise InvalidInput(f"cds_clients: the keys of {issuer} must be public ones. A private key stays there.")
    return System(given["user"], keys)


def _unverified(token: str) -> dict[str, Any]:
    payload = token.split(".")[1] if token.count(".") == 2 else ""
    claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)) or b"{}")
    return claims if isinstance(claims, dict) else {}
