"""The pages of plans and collections: what is on record, one of it, and two plans side by side."""

from typing import Any, NamedTuple

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from banditree.errors import InvalidInput
from banditree.figures.app import app_html, policy
from banditree.figures.heat_map import heat_map_info, heat_map_scene
from banditree.figures.html import ladder_data, ladder_section
from banditree.figures.ladder import ladder_info
from banditree.figures.reach import ReachInfo
from banditree.figures.svg import svg
from banditree.languages.language import message
from banditree.plans.plan import Plan
from banditree.plans.wording import about, heading, plain_text
from banditree.plans.words import Vocabulary, amount, in_language
from banditree.reports.promise import lost_word
from banditree.service.edge.replies import read, write
from banditree.service.field.monitoring import alarms_of, open_alarms
from banditree.service.jobs.routes import computed
from banditree.service.pages import verdicts
from banditree.service.pages.case_pages import MOST_BOXES
from banditree.service.pages.forms import fields, shaped, to, uploaded, whole
from banditree.service.pages.rendering import page, spoken, static_file
from banditree.service.people.senders import Operator, Viewer, sender
from banditree.service.plans import routes as plan_routes
from banditree.service.plans import uploads
from banditree.service.plans.models import Interval, NewCollection, NewPlan
from banditree.service.plans.routes import DocumentId, certified
from banditree.service.problems import NotFound, Refused
from banditree.service.store import records, splits
from banditree.service.store.jobs import Job, State
from banditree.service.store.people import Person
from banditree.tasks.collection import Collection
from banditree.tasks.separation import least_separation

COMPUTING = message("It is being computed; this page reloads by itself.")
MOST_RADII = 30  # The table of what was estimated has at most this many tasks.

router = APIRouter(include_in_schema=False)


class Side(NamedTuple):
    """One of two plans that are compared."""

    id: str
    name: str
    plan: Plan
    certificate: dict[str, Any] | None
    why: str


@router.get("/plans")
async def list_plans(request: Request, person: Viewer) -> Response:
    """The plans on record."""
    lines, known = (
        await read(request, records.documents, "plans"),
        await read(request, records.documents, "collections"),
    )
    alarmed = {one["plan"] for one in await read(request, open_alarms)}
    names = {line["id"]: line["name"] for line in known}
    return page(request, "plans.html", lines=lines, collections=names, alarmed=alarmed)


@router.post("/plans")
async def add_plan(request: Request, person: Operator) -> Response:
    """Put a plan on record as a draft, from its file."""
    body = shaped(NewPlan, {**await fields(request), "plan": {}})
    read = await request.app.state.reader.read(sender(request), uploads.read_plan_file, await uploaded(request, "file"))
    return to(f"/plans/{await plan_routes.put_plan(request, person, body, *read)}")


@router.get("/plans/{id}")
async def show_plan(request: Request, person: Viewer, id: DocumentId) -> Response:
    """A plan: its picture, what it costs and how often it errs; the page reloads by itself while these are computed."""
    side = await side_of(request, person, id)
    reach, note = await _reach(request, person, id, side)
    found = side.certificate or {}
    loss, beside = found.get("loss", ""), found.get("beside", "")  # certificates of earlier versions do not say
    language = spoken(request)
    said = in_language(side.plan, language)
    ladder = await run_in_threadpool(_ladder, said, reach, note)
    lines = await read(request, records.documents, "plans")
    line, judged = next(one for one in lines if one["id"] == id), await verdicts.judged(request, id, language)
    return page(
        request,
        "plan.html",
        line=line,
        plan=side.plan,
        about=about(said),
        promise=verdicts.promise_in(side.certificate, language),
        judged=judged,
        alarms=await read(request, alarms_of, id),
        title=heading(side.plan, loss),
        beside=beside,
        text=plain_text(said),
        ladder=ladder,
        certificate=side.certificate,
        why=side.why,
        refresh=COMPUTING in (side.why, note) or judged.busy,
        others=[one for one in lines if one["id"] != id],
        split=await read(request, splits.open_split, id),
        names={one["id"]: one["name"] for one in lines},
    )


@router.post("/plans/{id}/interval")
async def set_interval(request: Request, person: Operator, id: DocumentId) -> Response:
    """Set the days from one visit to the next."""
    body = shaped(Interval, {"every": whole(await fields(request), "every")})
    await write(request, records.set_interval, person.name, id, body.every)
    return to(f"/plans/{id}")


@router.get("/plans/{id}/app")
async def app(request: Request, person: Viewer, id: DocumentId, download: bool = False) -> Response:
    """The app of a plan: it follows cases in the browser, without a network, and can be installed; or its file."""
    plan = in_language((await read(request, records.followed_of, id)).plan, spoken(request))
    manifest = "" if download else f"/plans/{id}/app/manifest.json"
    named = {"content-disposition": f'attachment; filename="plan-{id}.html"'} if download else {}
    return HTMLResponse(app_html(plan, manifest), headers={"content-security-policy": policy(), **named})


@router.get("/plans/{id}/app/manifest.json")
async def app_manifest(request: Request, person: Viewer, id: DocumentId) -> Response:
    """What a device needs to know to install the app of a plan."""
    await read(request, records.check_seen, "plans", id)
    names = {line["id"]: line["name"] for line in await read(request, records.documents, "plans")}
    icon = {"src": "/static/icon.svg", "sizes": "any", "type": "image/svg+xml"}
    about = {"name": names.get(id, id), "short_name": names.get(id, id)[:12], "display": "standalone", "icons": [icon]}
    where = {"start_url": f"/plans/{id}/app", "scope": f"/plans/{id}/app"}
    return JSONResponse({**about, **where}, media_type="application/manifest+json")


@router.get("/plans/{id}/app/worker.js")
async def app_worker(request: Request, person: Viewer, id: DocumentId) -> Response:
    """What keeps the app of a plan on a device."""
    await read(request, records.check_seen, "plans", id)
    return static_file("app-worker.js", {"service-worker-allowed": f"/plans/{id}/app"})


async def _reach(request: Request, person: Person, id: str, side: Side) -> tuple[ReachInfo | None, str]:
    """The chances of the boxes of a plan, or why there are none."""
    if side.plan.n_boxes > MOST_BOXES or await read(request, records.collection_id_of, id) is None:
        return None, ""
    job = await computed(request, person, "reach", {"plan": id}, id)
    if job.state is not State.DONE or "note" in job.result:
        return None, _why(job) if job.state is not State.DONE else job.result["note"]
    numbers = {name: np.array(job.result[name], dtype=float) for name in ("chance", "cost", "rounds")}
    paths = tuple(tuple(path) for path in job.result["paths"])
    return ReachInfo(side.plan.tasks, **numbers, paths=paths, note=job.result["of"]), ""


def _ladder(plan: Plan, reach: ReachInfo | None, note: str) -> Markup | None:
    """The picture, safe as it is: every text in it was escaped where it was made."""
    if plan.n_boxes > MOST_BOXES:
        return None
    info = ladder_info(plan, reach)
    return Markup(ladder_section(info, reach, note) + ladder_data(info, reach, note))


async def side_of(request: Request, person: Person, id: str, collection: str | None = None) -> Side:
    """A plan with its certificate, or why there is none yet."""
    followed = await read(request, records.followed_of, id)
    names = {line["id"]: line["name"] for line in await read(request, records.documents, "plans")}
    try:
        job = await certified(request, person, id, collection)
    except (Refused, InvalidInput) as problem:
        return Side(id, names[id], followed.plan, None, str(problem))
    if job.state is not State.DONE:
        return Side(id, names[id], followed.plan, None, _why(job))
    return Side(id, names[id], followed.plan, job.result, "")


def _why(job: Job) -> str:
    """Why a job has no result."""
    return (job.problem or f"The job was {job.state}.") if job.state.is_final else COMPUTING


@router.get("/plans/{id}/compare")
async def compare(request: Request, person: Viewer, id: DocumentId, other: str = "") -> Response:
    """Two plans side by side, each certified on the first one's collection."""
    if not other:
        return to(f"/plans/{id}")
    own = await read(request, records.collection_id_of, id)
    sides = [await side_of(request, person, one, own) for one in (id, other)]
    computing = any(side.why == COMPUTING for side in sides)
    return page(request, "compare.html", sides=sides, facts=_facts(sides), tasks=_by_task(sides), refresh=computing)


def _facts(sides: list[Side]) -> list[tuple[str, list[str]]]:
    """One row per quantity, one cell per plan."""
    rows = [
        ("rounds of one case", [f"{side.plan.horizon:,}" for side in sides]),
        ("lines or boxes", [f"{side.plan.n_tests:,}" for side in sides]),
        ("longest path", [f"{side.plan.depth:,}" for side in sides]),
        ("most rounds of testing", [_most(side.plan) for side in sides]),
    ]
    found = [None if side.certificate is None else side.certificate["document"] for side in sides]
    lost = lost_word(sides[0].plan, next((c["unit"] for c in found if c is not None and "unit" in c), None))
    rows.append((f"{lost} lost on average", ["-" if c is None else amount(c["mean_regret"]) for c in found]))
    worst = ["-" if c is None else f"{amount(c['worst_regret'])} ({c['worst_task']})" for c in found]
    rows.append((f"{lost} lost in the worst {sides[0].plan.vocabulary.task}", worst))
    rows.append(("these numbers are", ["-" if c is None else c["claim"] for c in found]))
    return rows


def _most(plan: Plan) -> str:
    return "no limit" if plan.most_pulls is None else f"{plan.most_pulls:,}"


def _by_task(sides: list[Side]) -> list[tuple[str, list[float]]]:
    """What is lost in each task under both plans, where both are known."""
    found = [side.certificate["document"]["tasks"] for side in sides if side.certificate is not None]
    if len(found) < 2 or [task["task"] for task in found[0]] != [task["task"] for task in found[1]]:
        return []
    return [(one["task"], [one["regret"], two["regret"]]) for one, two in zip(*found, strict=True)]


@router.get("/collections")
async def list_collections(request: Request, person: Viewer) -> Response:
    """The collections on record."""
    return page(request, "collections.html", lines=await read(request, records.documents, "collections"))


@router.post("/collections")
async def add_collection(request: Request, person: Operator) -> Response:
    """Put a collection on record, from its file."""
    body = shaped(NewCollection, {**await fields(request), "collection": {}})
    read = await request.app.state.reader.read(
        sender(request), uploads.read_collection_file, await uploaded(request, "file")
    )
    return to(f"/collections/{await write(request, records.add_collection, person.name, body.name, *read)}")


@router.get("/collections/{id}")
async def show_collection(request: Request, person: Viewer, id: DocumentId) -> Response:
    """A collection: its heat map, how far apart its tasks are, and what was estimated."""
    collection = await read(request, records.collection_of, id)
    lines = await read(request, records.documents, "collections")
    line = next((one for one in lines if one["id"] == id), None)
    if line is None:
        raise NotFound(f"There is no collection {id}.")
    using = [one for one in await read(request, records.documents, "plans") if one["collection"] == id]
    words = (await read(request, records.followed_of, using[0]["id"])).plan.vocabulary if using else Vocabulary()
    return page(
        request,
        "collection.html",
        line=line,
        collection=collection,
        words=words,
        closest=await run_in_threadpool(least_separation, collection),
        heat_map=Markup(await run_in_threadpool(_heat_map, collection, words)),
        radii=_radii(collection),
        using=using,
    )


def _heat_map(collection: Collection, words: Vocabulary) -> str:
    return svg(heat_map_scene(heat_map_info(collection, words=words)))


def _radii(collection: Collection) -> list[tuple[str, float, float, str]]:
    """(task, mean radius, largest radius, of which arm), the least known first; none where everything is known."""
    if not collection.is_estimated:
        return []
    radius = collection.radius
    worst = np.argsort(-radius.max(axis=1), kind="stable")[:MOST_RADII]
    return [
        (collection.tasks[i], float(radius[i].mean()), float(radius[i].max()), collection.arms[int(radius[i].argmax())])
        for i in worst
    ]
