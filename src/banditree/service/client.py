"""A client of the service, typed, that sends again what it may send again."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter

from banditree.files.collections import collection_document
from banditree.files.plans import plan_document
from banditree.plans.plan import Plan
from banditree.policies.session import MISSING, Missing
from banditree.service.models import CaseLine, Created, Done, EventOut, Outlook, Standing, StepOut, TellOut
from banditree.tasks.collection import Collection

Data = TypeVar("Data")
TIMEOUT = 30.0  # seconds for an answer
Context = Mapping[str, float | str] | Sequence[float]


class ServiceError(Exception):
    """The service refused: its HTTP status, a code for programs, a sentence for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Client:
    """The service at an address. Use it in a `with` block, or close it.

    Everything but `note` can be sent twice without harm, so a lost connection or a 503 is tried again: `retries` times,
    after 0.1, 0.2, 0.4, ... seconds.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8000", token: str | None = None, *, retries: int = 3, http: Any = None
    ) -> None:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self.http: httpx.Client = http or httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT)
        self.retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self.http.close()

    def add_collection(self, collection: Collection, name: str) -> str:
        """Put a collection on record; its id."""
        body = {"name": name, "collection": _document(collection_document(collection))}
        return self._call("POST", "collections", Created, body).id

    def add_plan(self, plan: Plan, name: str, collection: str | None = None) -> str:
        """Put a plan on record; its id. With the id of its collection, its cases have the alarm."""
        body = {"name": name, "plan": _document(plan_document(plan)), "collection": collection}
        return self._call("POST", "plans", Created, body).id

    def start(self, plan: str, id: str | None = None, label: str | None = None) -> Standing:
        """Start a case. Give an id of your own to be able to send this twice."""
        return self._call("POST", "cases", Standing, {"plan": plan, "id": id, "label": label}, again=id is not None)

    def ask(
        self, case: str, n: int = 1, *, context: Context | None = None, available: Iterable[str] | None = None
    ) -> list[StepOut]:
        """What to do next: the open rounds, up to n."""
        return self._call("POST", f"cases/{case}/ask", list[StepOut], _ask(n, context, available))

    def tell(self, case: str, round: int, reward: float | Missing, *, ask: int | None = None) -> TellOut:
        """Report what happened in a round; with `ask`, also get the next rounds, up to that many."""
        following = None if ask is None else {"n": ask}
        return self._call("POST", f"cases/{case}/tell", TellOut, {**_told(round, reward), "ask": following})

    def override(self, case: str, arm: str, reason: str, round: int | None = None) -> StepOut:
        """Give another arm than the plan's."""
        return self._call("POST", f"cases/{case}/override", StepOut, {"arm": arm, "reason": reason, "round": round})

    def correct(self, case: str, round: int, reward: float | Missing, reason: str) -> Standing:
        """Replace a wrong outcome."""
        return self._call("POST", f"cases/{case}/correct", Standing, {**_told(round, reward), "reason": reason})

    def note(self, case: str, text: str) -> None:
        """Write something down."""
        self._call("POST", f"cases/{case}/note", Done, {"text": text}, again=False)

    def end(self, case: str, reason: str | None = None) -> None:
        """Close a case."""
        self._call("POST", f"cases/{case}/close", Done, {"reason": reason})

    def case(self, case: str) -> Standing:
        """Where a case stands and why."""
        return self._call("GET", f"cases/{case}", Standing)

    def cases(self, *, state: str | None = None, plan: str | None = None, after: int = 0) -> list[CaseLine]:
        """A page of cases."""
        query = {"state": state, "plan": plan, "after": after}
        given = "&".join(f"{key}={value}" for key, value in query.items() if value is not None)
        return self._call("GET", f"cases?{given}", list[CaseLine])

    def outlook(self, case: str) -> Outlook:
        """The boxes a case went through, and how likely each task is now."""
        return self._call("GET", f"cases/{case}/outlook", Outlook)

    def events(self, case: str, after: int = 0) -> list[EventOut]:
        """A page of the history of a case."""
        return self._call("GET", f"cases/{case}/events?after={after}", list[EventOut])

    def export(self, what: str = "decisions", format: str = "csv") -> bytes:
        """Everything on record, as a file; however long that takes."""
        return self._send("GET", f"export/{what}?format={format}", None, again=True, timeout=None).content

    def _call(self, method: str, path: str, shape: type[Data], body: Any = None, *, again: bool = True) -> Data:
        answer = self._send(method, path, body, again=again)
        return TypeAdapter(shape).validate_python(answer.json()["data"])

    def _send(
        self, method: str, path: str, body: Any, *, again: bool, timeout: float | None = TIMEOUT
    ) -> httpx.Response:
        for attempt in range(self.retries + 1):
            last = attempt == self.retries or not again
            try:
                answer = self.http.request(method, f"/api/v1/{path}", json=body, timeout=timeout)
            except httpx.TransportError:
                if last:
                    raise
            else:
                if answer.status_code < 400:
                    return answer
                if last or answer.status_code != 503:
                    raise _error(answer)
            time.sleep(0.1 * 2**attempt)
        raise AssertionError("unreachable")


def _error(answer: httpx.Response) -> ServiceError:
    try:
        error = answer.json()["error"]
        return ServiceError(answer.status_code, error["code"], error["message"])
    except (ValueError, KeyError, TypeError):
        return ServiceError(answer.status_code, "unknown", answer.text[:200])


def _document(document: BaseModel) -> dict[str, Any]:
    return document.model_dump(mode="json", by_alias=True, exclude_none=True)


def _ask(n: int, context: Context | None, available: Iterable[str] | None) -> dict[str, Any]:
    named = dict(context) if isinstance(context, Mapping) else None if context is None else list(context)
    return {"n": n, "context": named, "available": None if available is None else list(available)}


def _told(round: int, reward: float | Missing) -> dict[str, Any]:
    return {"round": round, "reward": MISSING.value if isinstance(reward, Missing) else reward}
