"""The page on which new cases are split between two plans, compared, and given to one of them."""

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request, Response

from banditree.service.edge.replies import read, write
from banditree.service.pages.forms import fields, shaped, to
from banditree.service.pages.rendering import page
from banditree.service.people.senders import Signer, Viewer
from banditree.service.plans.routes import DocumentId
from banditree.service.plans.split_models import EndSplit, NewSplit, SplitOut
from banditree.service.plans.split_routes import begun, compared, split_out
from banditree.service.problems import NotFound, Refused
from banditree.service.store import records, splits
from banditree.service.store.jobs import State
from banditree.service.store.people import Person
from banditree.service.store.signing import PlanState

COMPARING = "It is being computed; this page reloads by itself."

router = APIRouter(include_in_schema=False)


class Shown(NamedTuple):
    """A split on a page, with what is known about its cases."""

    split: SplitOut
    text: str
    computing: bool


async def shown_splits(request: Request, person: Person, plan: str) -> list[Shown]:
    """The splits of a plan, the newest first, each with its comparison or why there is none."""
    return [await _shown(request, person, split) for split in await read(request, splits.list_splits, plan)]


async def _shown(request: Request, person: Person, split: splits.Split) -> Shown:
    job = await compared(request, person, split.id)
    text = job.result["text"] if job.state is State.DONE else job.problem or COMPARING
    return Shown(split_out(split, person), text, not job.state.is_final)


@router.get("/plans/{id}/split")
async def show_split(
    request: Request, person: Viewer, id: DocumentId, other: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """The splits of a plan, and a form for the next one."""
    lines = await read(request, records.documents, "plans")
    line = next((dict(one) for one in lines if one["id"] == id), None)
    if line is None:
        raise NotFound(f"There is no plan {id}.")
    found = await shown_splits(request, person, id)
    return page(
        request,
        "split.html",
        line=line,
        names={one["id"]: one["name"] for one in lines},
        shown=found,
        going_on=any(one.split.ended_at is None for one in found),
        others=[one for one in lines if one["state"] == PlanState.SIGNED and _fits(one, line)],
        other=other,
        refresh=any(one.computing for one in found),
    )


def _fits(one: Any, line: dict[str, Any]) -> bool:
    return bool(one["id"] != line["id"] and one["site"] == line["site"])


@router.post("/plans/{id}/split")
async def start(request: Request, person: Signer, id: DocumentId) -> Response:
    """Begin a split between the plan and a newer one."""
    given: dict[str, Any] = await fields(request)
    try:
        given["share"] = float(given.pop("percent", "50")) / 100
    except ValueError:
        raise Refused("The share of the new plan must be a number, in percent.") from None
    await begun(request, person, shaped(NewSplit, {**given, "old": id}))
    return to(f"/plans/{id}/split")


@router.post("/plans/{id}/split/{split}/end")
async def end(request: Request, person: Signer, id: DocumentId, split: DocumentId) -> Response:
    """End a split with one of its plans."""
    body = shaped(EndSplit, await fields(request))
    await write(request, splits.end_split, person.name, split, body.keep, body.comment)
    return to(f"/plans/{id}/split")
