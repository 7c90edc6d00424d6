"""The routes over splits of new cases between two plans, at random."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from banditree.service.edge.models import Answer, Done, Id
from banditree.service.edge.replies import ERRORS, read, reply, write
from banditree.service.field import comparing
from banditree.service.field.monitoring import forget_old
from banditree.service.jobs.routes import computed, job_out
from banditree.service.people.senders import Signer, Viewer
from banditree.service.plans.routes import DocumentId
from banditree.service.plans.split_models import ComparisonOut, EndSplit, NewSplit, SplitOut
from banditree.service.problems import Refused
from banditree.service.store import jobs, records, splits
from banditree.service.store.database import Connection
from banditree.service.store.jobs import Job, State
from banditree.service.store.people import Person, Role
from banditree.service.store.splits import Split

router = APIRouter(prefix="/api/v1", tags=["field"], responses=ERRORS)


@router.post("/splits", response_model=Answer[SplitOut])
async def start_split(request: Request, person: Signer, body: NewSplit) -> Response:
    """Split the new cases of two signed plans between them at random, by a seed on record."""
    return reply(split_out(await begun(request, person, body), person))


async def begun(request: Request, person: Person, new: NewSplit) -> Split:
    """A split, begun."""
    split: Split = await write(request, _start, person.name, new)
    return split


def _start(connection: Connection, actor: str, new: NewSplit) -> Split:
    both = [records.followed_of(connection, id).plan for id in (new.old, new.new)]
    if both[0].rewards != both[1].rewards:
        raise Refused("The plans of a split must have the same kind of rewards: otherwise nothing can be compared.")
    longest = min(plan.horizon for plan in both)
    if (new.rounds or 1) > longest:
        raise Refused(f"rounds must be at most {longest:,}, those of a whole case. Got {new.rounds:,}.")
    given: dict[str, Any] = {"share": new.share, "rounds": new.rounds or longest, "comment": new.comment}
    id = splits.start_split(connection, actor, new.old, new.new, **given, seed=new.seed)
    return splits.find_split(connection, id)


@router.get("/splits", response_model=Answer[list[SplitOut]])
async def list_splits(
    request: Request, person: Viewer, plan: Annotated[Id | None, Query(description="only of this plan")] = None
) -> Response:
    """The splits on record, the newest first."""
    return reply([split_out(split, person) for split in await read(request, splits.list_splits, plan)])


def split_out(split: Split, person: Person) -> SplitOut:
    """A split as it is answered. People who start cases do not see the seed: they could choose a plan by an id."""
    hidden = split.ended_at is None and person.role < Role.SIGNER
    return SplitOut(**{**split._asdict(), "seed": None if hidden else split.seed})


@router.get("/splits/{id}/comparison", response_model=Answer[ComparisonOut])
async def compare(request: Request, person: Viewer, id: DocumentId) -> Response:
    """Which plan of a split gives more; it holds however often you look. Until it is known, 202 and the job."""
    job = await compared(request, person, id)
    if job.state is State.FAILED:
        raise Refused(f"The plans cannot be compared. {job.problem}")
    return reply(ComparisonOut(**job.result)) if job.state is State.DONE else reply(job_out(job), 202)


async def compared(request: Request, person: Person, id: str) -> Job:
    """The job that compares the plans of a split."""
    settings = await read(request, comparing.comparing_of, id, person.site)
    if await read(request, jobs.find_by_key, jobs.key_of("comparison", settings)) is None:
        await write(request, forget_old, id)
    return await computed(request, person, "comparison", settings, id)


@router.post("/splits/{id}/end", response_model=Answer[Done])
async def end_split(request: Request, person: Signer, id: DocumentId, body: EndSplit) -> Response:
    """End a split with one of its plans: new cases start on it. done is false if it had ended with that one."""
    return reply(Done(done=await write(request, splits.end_split, person.name, id, body.keep, body.comment)))
