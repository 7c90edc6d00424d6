"""Single sign-on by OpenID Connect: the authorization code flow with PKCE, groups to roles, local users beside it.

Nothing is kept here between the two halves of a sign-on: what must come back unchanged (state, nonce, the verifier of
PKCE, where the person wanted to go) waits in a cookie of the browser that began it. So any server can finish what
another began, and a link made by somebody else finishes nothing.
"""

import hmac
import re
import secrets as randomness
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus, unquote, urlencode

import httpx
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from banditree.service.problems import Forbidden, Refused, Unavailable
from banditree.service.settings import Settings
from banditree.service.store.people import USER_NAME, Known, Role

SECONDS = 10.0  # The provider must answer within this many seconds.
FRESH = 3600.0  # What the provider says about itself is believed for this many seconds.
KEYS_AGAIN = 60.0  # Its keys are fetched again after this many seconds for a signature that none of them made.
LEEWAY = 60  # The clocks of provider and service may differ by this many seconds.
MOST_TEXT = 100_000  # This many bytes of an answer of the provider are read.
SCOPE = "openid profile email"
SIGNATURES = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


class Begun(NamedTuple):
    """What the browser keeps while its person is at the provider."""

    state: str
    nonce: str
    verifier: str
    goal: str

    @property
    def text(self) -> str:
        """As the value of a cookie."""
        return ".".join((*self[:3], quote(self.goal, safe="")))

    @classmethod
    def of(cls, text: str) -> "Begun":
        """From the value of a cookie; refused where it is none of ours."""
        parts = text.split(".", 3)
        if len(parts) == 4 and all(parts):
            state, nonce, verifier, goal = parts
            return cls(state, nonce, verifier, unquote(goal))
        raise Forbidden("This sign-on was not begun in this browser, or took too long. Begin again.")


class Provider:
    """The provider of one issuer: where to send people, and who they are when they come back."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    async def begin(self, goal: str, back: str) -> tuple[str, Begun]:
        """(address to send the browser to, what it must bring back). back: our own address for the answer."""
        state, nonce, verifier = (randomness.token_urlsafe(32) for _ in range(3))
        begun = Begun(state, nonce, verifier, goal)
        metadata = await self._described()
        asked = {"response_type": "code", "scope": SCOPE, "client_id": self.settings.oidc_client, "redirect_uri": back}
        asked |= {"state": begun.state, "nonce": begun.nonce, "code_challenge_method": "S256"}
        asked["code_challenge"] = create_s256_code_challenge(begun.verifier)
        endpoint = metadata["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}", begun

    async def finish(self, begun: Begun, given: Mapping[str, str], back: str) -> Known:
        """Who signed on; refused unless the answer belongs to what this browser began."""
        if not hmac.compare_digest(given.get("state", "").encode(), begun.state.encode()):
            raise Forbidden("This sign-on was not begun in this browser, or took too long. Begin again.")
        if "error" in given:
            raise Forbidden(f"The sign-on was refused there: {given['error'][:100]}.")
        sent = {"grant_type": "authorization_code", "code": given.get("code", ""), "redirect_uri": back}
        token = await self._exchanged({**sent, "code_verifier": begun.verifier})
        return self._known(await self._claims(str(token.get("id_token", "")), begun.nonce))

    async def _exchanged(self, sent: dict[str, str]) -> dict[str, Any]:
        """What the provider gives for a code."""
        endpoint, settings = (await self._described())["token_endpoint"], self.settings
        if settings.oidc_secret:  # RFC 6749, 2.3.1: both are encoded before they are joined
            answer = await _called("POST", endpoint, data=sent, auth=tuple(map(quote_plus, self._identity)))
        else:
            answer = await _called("POST", endpoint, data={**sent, "client_id": settings.oidc_client})
        if 400 <= answer.status_code < 500:
            raise Forbidden("The provider did not confirm this sign-on. Begin again.")
        return _content(answer)

    @property
    def _identity(self) -> tuple[str, str]:
        return self.settings.oidc_client, self.settings.oidc_secret

    async def _claims(self, id_token: str, nonce: str) -> dict[str, Any]:
        """What a signed token says, after its signature, issuer, audience, times and nonce were checked."""
        try:
            try:
                decoded = jwt.decode(id_token, await self._signing_keys(), algorithms=SIGNATURES)
            except (JoseError, ValueError):  # signed with a key that is new, perhaps
                decoded = jwt.decode(id_token, await self._signing_keys(again=True), algorithms=SIGNATURES)
            client = self.settings.oidc_client
            rules = {"iss": self.settings.oidc_issuer, "aud": client}
            options = {name: {"essential": True, "value": value} for name, value in rules.items()}
            claims = CodeIDToken(decoded.claims, decoded.header, options, {"nonce": nonce, "client_id": client})
            claims.validate(leeway=LEEWAY)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise Forbidden(f"The provider's token is not valid ({str(error)[:100]}). Begin again.") from None
        return dict(claims)

    def _known(self, claims: Mapping[str, Any]) -> Known:
        name = str(claims.get(self.settings.oidc_name) or "")
        if not re.fullmatch(USER_NAME, name):
            raise Refused(
                f"The provider's {self.settings.oidc_name} must be 1 to 64 letters, digits or any of _.-, and begin "
                f"with a letter or digit. Got {name[:80]!r}. Choose another claim (oidc_name)."
            )
        told = claims.get(self.settings.oidc_groups)
        groups = {str(group) for group in (told if isinstance(told, list) else [] if told is None else [told])}
        role = role_of(self.settings.oidc_roles, groups)
        site = None
        if role is not None and role < Role.ADMIN and self.settings.oidc_sites:
            site = next((site for group, site in self.settings.oidc_sites.items() if group in groups), None)
            role = None if site is None else role  # nobody sees every site for want of a group
        return Known(f"{claims['iss']} {claims['sub']}", name, role, site)

    async def _described(self) -> dict[str, Any]:
        """What the provider says about itself, for as long as that is fresh."""
        if self._metadata is None or time.monotonic() - self._metadata[0] > FRESH:
            issuer = self.settings.oidc_issuer
            found = await _fetched(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            needed = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
            if not all(isinstance(found.get(name), str) for name in needed) or found["issuer"] != issuer:
                raise Unavailable(f"The provider at {issuer} does not describe itself as that issuer.")
            self._metadata = time.monotonic(), found
        return self._metadata[1]

    async def _signing_keys(self, again: bool = False) -> KeySet:
        age = KEYS_AGAIN if again else FRESH
        if self._keys is None or time.monotonic() - self._keys[0] > age:
            described = await self._described()
            found: Any = await _fetched(described["jwks_uri"])
            self._keys = time.monotonic(), KeySet.import_key_set(found)
        return self._keys[1]


async def _called(method: str, url: str, **options: Any) -> httpx.Response:
    try:
        async with httpx.AsyncClient(timeout=SECONDS) as client:
            return await client.request(method, url, **options)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _unreachable(error) from None


async def _fetched(url: str) -> dict[str, Any]:
    return _content(await _called("GET", url))


def _content(answer: httpx.Response) -> dict[str, Any]:
    try:
        found = answer.json() if answer.is_success and len(answer.content) <= MOST_TEXT else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _unreachable(f"its answer has the status {answer.status_code}, or is not what it should be")
    return found


def _unreachable(why: object) -> Unavailable:
    return Unavailable(f"The provider of the sign-on cannot be used now ({str(why)[:200]}). Local users can log in.")


def role_of(roles: Mapping[str, str], groups: set[str]) -> Role | None:
    """The highest role that any of the groups has; "*" stands for everybody.

    >>> role_of({"nurses": "operator", "*": "viewer"}, {"nurses", "tennis"}).word
    'operator'
    >>> role_of({"nurses": "operator"}, {"tennis"}) is None
    True
    """
    return max((Role.named(role) for group, role in roles.items() if group == "*" or group in groups), default=None)
