"""What the service answers when it cannot do what was asked: one shape, {"error": {"code", "message"}}."""

from banditree.errors import InvalidInput


class Refused(Exception):
    """A request that is answered with an error: a code for programs and a sentence for people; nothing was changed.

    retry_after: seconds after which the same request may succeed, where that is known.
    """

    status = 422
    code = "invalid"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message, self.retry_after = message, retry_after


class NotFound(Refused):
    """There is no such case, plan, collection, user or token."""

    status, code = 404, "not_found"


class Conflict(Refused):
    """It contradicts what is already recorded."""

    status, code = 409, "conflict"


class NotLoggedIn(Refused):
    """Nobody, or nobody known, sent this request."""

    status, code = 401, "not_logged_in"


class Forbidden(Refused):
    """The user's role, or the page that sent the request, may not do this."""

    status, code = 403, "forbidden"


class TooLarge(Refused):
    """The body is over the limit."""

    status, code = 413, "too_large"


class TooMany(Refused):
    """Too many attempts."""

    status, code = 429, "too_many"


class Unavailable(Refused):
    """The database cannot be written or reached; nothing is lost, and the same request can be sent again."""

    status, code = 503, "unavailable"


class TooSlow(Refused):
    """It would take so long that it kept the others waiting."""

    status, code = 503, "too_slow"


def problem(error: Exception) -> tuple[int, dict[str, dict[str, str]]]:
    """(HTTP status, body) of an error; what is not a refusal is answered as internal, without its text.

    >>> problem(NotFound("There is no case x."))
    (404, {'error': {'code': 'not_found', 'message': 'There is no case x.'}})
    """
    if isinstance(error, Refused):
        return error.status, body(error.code, error.message)
    if isinstance(error, InvalidInput):
        return Refused.status, body(Refused.code, str(error))
    return 500, body(
        "internal",
        "Something went wrong in the service; its log says what. Check what is on record before you send it again.",
    )


def body(code: str, message: str) -> dict[str, dict[str, str]]:
    """The error shape."""
    return {"error": {"code": code, "message": message}}
