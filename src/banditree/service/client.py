"""A typed client of the service, which repeats requests that may have been lost; nothing is done twice."""

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter

from banditree.files.collections import collection_document
from banditree.files.plans import plan_document
from banditree.plans.plan import Plan
from banditree.policies.rounds import MISSING, Missing
from banditree.service.cases.models import CaseLine, EventOut, Outlook, Standing, StepOut, TellOut
from banditree.service.edge.models import KEY, Created, Done
from banditree.service.jobs.models import JobOut
from banditree.service.plans.models import ChangedLine, FileLine, PlanLine
from banditree.service.plans.split_models import ComparisonOut, SplitOut
from banditree.tasks.collection import Collection

Data = TypeVar("Data")
AGAIN = (502, 503, 504)  # The server, or the way to it, is not there at the moment.
TIMEOUT = 30.0  # An answer must come within this many seconds.
Context = Mapping[str, float | str] | Sequence[float]


class ServiceError(Exception):
    """The service refused: its HTTP status, a code for programs, a sentence for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Client:
    """The service at an address. Use it in a `with` block, or close it.

    After a lost connection or a 503, and a 502 or 504 of a proxy, it tries again: `retries` times, after 0.1, 0.2, 0.4,
    ... seconds. That does no harm: a change carries a key, with which it is made once. timeout: seconds to wait for
    each answer.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        token: str | None = None,
        *,
        retries: int = 3,
        timeout: float = TIMEOUT,
        http: Any = None,
    ) -> None:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self.http: httpx.Client = http or httpx.Client(base_url=url, headers=headers, timeout=timeout)
        self.retries, self.timeout = retries, timeout

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

    def add_plan(
        self,
        plan: Plan,
        name: str,
        collection: str | None = None,
        *,
        sign: str | None = None,
        replaces: str | None = None,
    ) -> str:
        """Put a plan on record; its id. With the id of its collection, its cases have the alarm.

        It is a draft, on which no case can start. sign: a comment to sign it with in the same request, where your role
        allows it. replaces: the id of the plan whose place it is to take.
        """
        body = {"name": name, "plan": _document(plan_document(plan)), "collection": collection, "replaces": replaces}
        signature = None if sign is None else {"comment": sign}
        return self._call("POST", "plans", Created, {**body, "sign": signature}).id

    def plans(self) -> list[PlanLine]:
        """The plans on record, drafts among them."""
        return self._call("GET", "plans", list[PlanLine])

    def sign(self, plan: str, comment: str, replaces: str | None = None, *, beside: bool = False) -> bool:
        """Sign a draft, so that cases can start on it; False if it was signed before.

        beside: it replaces none, whatever the draft says, so that new cases can be split between the two.
        """
        body = {"comment": comment, "replaces": replaces, "beside": beside}
        return self._call("POST", f"plans/{plan}/sign", Done, body).done

    def card(self, plan: str, format: str = "pdf", paper: str = "a4", language: str = "en") -> bytes:
        """The card of a plan with its worksheet, as a file."""
        while True:
            answer = self._send("GET", f"plans/{plan}/card?format={format}&paper={paper}&language={language}")
            if answer.status_code != 202:
                return answer.content
            self.wait(answer.json()["data"]["id"])

    def changes(self, plan: str) -> list[ChangedLine]:
        """What changed, line by line, from the plan that this one replaces."""
        return self._call("GET", f"plans/{plan}/changes", list[ChangedLine])

    def start_split(
        self,
        old: str,
        new: str,
        comment: str,
        *,
        share: float = 0.5,
        rounds: int | None = None,
        seed: int | None = None,
    ) -> SplitOut:
        """Split new cases between two signed plans at random. rounds: how many rounds of each case are compared."""
        body = {"old": old, "new": new, "comment": comment, "share": share, "rounds": rounds, "seed": seed}
        return self._call("POST", "splits", SplitOut, body)

    def splits(self, plan: str | None = None) -> list[SplitOut]:
        """The splits on record, or those of one plan, the newest first."""
        return self._call("GET", "splits" if plan is None else f"splits?plan={plan}", list[SplitOut])

    def comparison(self, split: str) -> ComparisonOut:
        """Which plan of a split gives more; the answer holds however often you look."""
        while True:
            answer = self._send("GET", f"splits/{split}/comparison")
            if answer.status_code == 200:
                return ComparisonOut.model_validate(answer.json()["data"])
            self.wait(answer.json()["data"]["id"])

    def end_split(self, split: str, keep: str, comment: str) -> bool:
        """End a split with one of its plans; False if it had ended with that one before."""
        return self._call("POST", f"splits/{split}/end", Done, {"keep": keep, "comment": comment}).done

    def start(
        self, plan: str, id: str | None = None, label: str | None = None, without: Iterable[str] = ()
    ) -> Standing:
        """Start a case, by default with a new id. without: the arms that it must never get."""
        body = {"plan": plan, "id": id, "label": label, "without": list(without)}
        return self._call("POST", "cases", Standing, body)

    def ask(
        self,
        case: str,
        n: int = 1,
        *,
        context: Context | None = None,
        available: Iterable[str] | None = None,
        wait: bool = True,
    ) -> list[StepOut]:
        """What to do next: the open rounds, up to n. wait: False to go on without outcomes still awaited."""
        body = {**_ask(n, context, available), "wait": wait}
        return self._call("POST", f"cases/{case}/ask", list[StepOut], body, numbered=True)

    def tell(
        self, case: str, round: int, reward: float | Missing, *, harm: bool | None = None, ask: int | None = None
    ) -> TellOut:
        """Report what happened in a round; with `ask`, also get the next rounds, up to that many.

        harm: whether there was harm, such as a side effect; it may be reported later, with the same reward.
        """
        following = None if ask is None else {"n": ask}
        body = {**_told(round, reward), "harm": harm, "ask": following}
        return self._call("POST", f"cases/{case}/tell", TellOut, body, numbered=True)

    def override(self, case: str, arm: str, reason: str, round: int | None = None) -> StepOut:
        """Give an arm other than the plan's."""
        return self._call("POST", f"cases/{case}/override", StepOut, {"arm": arm, "reason": reason, "round": round})

    def correct(self, case: str, round: int, reward: float | Missing, reason: str, *, given: bool = False) -> Standing:
        """Replace a wrong outcome. Open rounds that the plan would not give now are withdrawn, unless given already."""
        body = {**_told(round, reward), "reason": reason, "given": given}
        return self._call("POST", f"cases/{case}/correct", Standing, body)

    def undo(self, case: str, round: int) -> Standing:
        """Take the last report back, which was of this round, with the rounds that were opened after it."""
        return self._call("POST", f"cases/{case}/undo", Standing, {"round": round})

    def arrange(self, case: str, **changes: Any) -> bool:
        """Change the label of a case, its owner, due (a day) or every (days), those that are given; None removes it."""
        body = {name: str(value) if name == "due" and value is not None else value for name, value in changes.items()}
        return self._call("POST", f"cases/{case}/arrange", Done, body).done

    def set_interval(self, plan: str, every: int | None) -> bool:
        """Say how many days there are from one visit to the next in the cases of a plan."""
        return self._call("POST", f"plans/{plan}/interval", Done, {"every": every}).done

    def calendar(self, owner: str | None = None) -> str:
        """The next visits as a calendar file, all or those of the cases that somebody looks after."""
        return self._send("GET", "due.ics" if owner is None else f"due.ics?owner={quote(owner)}").text

    def note(self, case: str, text: str) -> None:
        """Write something down."""
        self._call("POST", f"cases/{case}/note", Done, {"text": text})

    def end(self, case: str, reason: str | None = None) -> None:
        """Close a case."""
        self._call("POST", f"cases/{case}/close", Done, {"reason": reason})

    def reopen(self, case: str, reason: str) -> bool:
        """Go on with a case that was closed; False if it is open."""
        return self._call("POST", f"cases/{case}/reopen", Done, {"reason": reason}).done

    def move(
        self, case: str, plan: str | None = None, id: str | None = None, without: Iterable[str] | None = None
    ) -> Standing:
        """Close a case and go on with a new one on another plan, by default the one that replaced its own.

        without: the arms that it must not get from now on, by default those of before.
        """
        body = {"plan": plan, "id": id, "without": None if without is None else list(without)}
        return self._call("POST", f"cases/{case}/move", Standing, body)

    def case(self, case: str) -> Standing:
        """Where a case stands and why."""
        return self._call("GET", f"cases/{case}", Standing)

    def cases(
        self, *, state: str | None = None, plan: str | None = None, after: int = 0, owner: str | None = None
    ) -> list[CaseLine]:
        """A page of cases. owner: only those that this person looks after."""
        query = {"state": state, "plan": plan, "after": after, "owner": owner}
        given = "&".join(f"{key}={quote(str(value))}" for key, value in query.items() if value is not None)
        return self._call("GET", f"cases?{given}", list[CaseLine])

    def outlook(self, case: str) -> Outlook:
        """The boxes a case went through, and how likely each task is now."""
        return self._call("GET", f"cases/{case}/outlook", Outlook)

    def events(self, case: str, after: int = 0) -> list[EventOut]:
        """A page of the history of a case."""
        return self._call("GET", f"cases/{case}/events?after={after}", list[EventOut])

    def export(self, what: str = "decisions", format: str = "csv") -> bytes:
        """Everything on record, as a file; however long that takes."""
        return self._send("GET", f"export/{what}?format={format}", endless=True).content

    def add_file(self, name: str, content: bytes) -> str:
        """Put a file on record to learn from or to evaluate on; its id. name: as in visits.csv."""
        answer = self._send("POST", f"files?name={quote(name)}", None, content=content)
        return Created.model_validate(answer.json()["data"]).id

    def files(self) -> list[FileLine]:
        """The files on record."""
        return self._call("GET", "files", list[FileLine])

    def delete_file(self, file: str) -> None:
        """Delete a file; what was learned from it stays."""
        self._call("DELETE", f"files/{file}", Done)

    def add_job(self, kind: str, *, seconds: int | None = None, **settings: Any) -> JobOut:
        """Put a job in line. kind: learn, search, evaluate or report; settings: see docs/service.md for each kind."""
        body = {"kind": kind, "settings": settings, "seconds": seconds}
        return self._call("POST", "jobs", JobOut, body)

    def job(self, job: str) -> JobOut:
        """How a job stands, what it found, and its result once it is done."""
        return self._call("GET", f"jobs/{job}", JobOut)

    def jobs(self, state: str | None = None) -> list[JobOut]:
        """Jobs, the newest first, without what they found and their results."""
        return self._call("GET", "jobs" if state is None else f"jobs?state={state}", list[JobOut])

    def end_job(self, job: str, best_so_far: bool | None = None) -> bool:
        """End a job; False if it has ended. best_so_far: keep what it has; by default only searches do."""
        return self._call("POST", f"jobs/{job}/end", Done, {"best_so_far": best_so_far}).done

    def follow(self, job: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """A job as it goes on: ("progress", how far it is), ("found", the numbers of a plan), and last ("end", ...)."""
        seen = -1
        while True:
            headers = {"last-event-id": str(seen)}
            with self.http.stream("GET", f"/api/v1/jobs/{job}/events", headers=headers) as answer:
                if answer.status_code >= 400:
                    answer.read()
                    raise _error(answer)
                for event in _events(answer.iter_lines()):
                    seen = int(event.get("id", seen))
                    yield event["event"], json.loads(event["data"])
                    if event["event"] == "end":
                        return

    def wait(self, job: str) -> JobOut:
        """A job once it has ended, however long that takes."""
        for _ in self.follow(job):
            pass
        return self.job(job)

    def download(self, job: str) -> bytes:
        """The file that a report job wrote."""
        return self._send("GET", f"jobs/{job}/file").content

    def _call(self, method: str, path: str, shape: type[Data], body: Any = None, *, numbered: bool = False) -> Data:
        answer = self._send(method, path, body, numbered=numbered)
        return TypeAdapter(shape).validate_python(answer.json()["data"])

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        numbered: bool = False,
        endless: bool = False,
        content: bytes | None = None,
    ) -> httpx.Response:
        """The answer, tried again where that may help. A change carries a key, with which it is made once.

        numbered: it needs none, and is answered sooner without: the same round asked for or told again changes nothing.
        """
        timeout = None if endless else self.timeout
        headers = {} if method == "GET" or numbered else {KEY: secrets.token_hex(16)}
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                answer = self.http.request(
                    method, f"/api/v1/{path}", json=body, timeout=timeout, content=content, headers=headers
                )
            except httpx.TransportError:
                if last:
                    raise
            else:
                if answer.status_code < 400:
                    return answer
                if last or answer.status_code not in AGAIN:
                    raise _error(answer)
            time.sleep(0.1 * 2**attempt)
        raise AssertionError("unreachable")


def _error(answer: httpx.Response) -> ServiceError:
    try:
        error = answer.json()["error"]
        return ServiceError(answer.status_code, error["code"], error["message"])
    except (ValueError, KeyError, TypeError):
        return ServiceError(answer.status_code, "unknown", answer.text[:200])


def _events(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Server-sent events from their lines: an empty line ends one."""
    event: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif event:
            yield event
            event = {}


def _document(document: BaseModel) -> dict[str, Any]:
    return document.model_dump(mode="json", by_alias=True, exclude_none=True)


def _ask(n: int, context: Context | None, available: Iterable[str] | None) -> dict[str, Any]:
    named = dict(context) if isinstance(context, Mapping) else None if context is None else list(context)
    return {"n": n, "context": named, "available": None if available is None else list(available)}


def _told(round: int, reward: float | Missing) -> dict[str, Any]:
    return {"round": round, "reward": MISSING.value if isinstance(reward, Missing) else reward}
