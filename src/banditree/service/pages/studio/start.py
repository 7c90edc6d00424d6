"""The drafts of the studio: the list, a new one, and the end of one."""

from fastapi import APIRouter, Request, Response

from banditree.service.edge.models import Name, Shape
from banditree.service.edge.replies import read, write
from banditree.service.pages.forms import fields, shaped, to
from banditree.service.pages.rendering import page
from banditree.service.pages.studio.bringing import bring, brought_file
from banditree.service.pages.studio.steps import STEPS, StudyId, furthest, study_of, to_step
from banditree.service.people.senders import Operator, Viewer
from banditree.service.store import studies
from banditree.service.studio.content import Content, Rates
from banditree.service.studio.example import NAME, example_log

router = APIRouter(include_in_schema=False)


class NewStudy(Shape):
    """What a draft is called."""

    name: Name = "New plan"


@router.get("/studio")
async def list_studies(request: Request, person: Viewer) -> Response:
    """The drafts, and how to begin one."""
    lines = [(study, STEPS[furthest(study.content)]) for study in await read(request, studies.list_studies)]
    return page(request, "studio/start.html", lines=lines)


@router.post("/studio")
async def begin(request: Request, person: Operator) -> Response:
    """Begin a draft: with a file, with rates to type, or with the example."""
    given = await fields(request)
    name = shaped(NewStudy, {"name": given["name"]} if "name" in given else {}).name
    begun = given.get("begin", "file")
    if begun == "rates":
        content, table = Content(rates=Rates.blank()), None
    else:
        file = (NAME, example_log()) if begun == "example" else await brought_file(request)
        content, table = await bring(request, *file)
    return to(f"/studio/{await write(request, studies.add_study, person.name, name, content, table)}/know")


@router.get("/studio/example.csv")
async def example(person: Viewer) -> Response:
    """The example file, to look at and to fill with rows of one's own."""
    headers = {"content-disposition": f'attachment; filename="{NAME}"'}
    return Response(example_log(), media_type="text/csv", headers=headers)


@router.get("/studio/{id}")
async def resume(request: Request, person: Viewer, id: StudyId) -> Response:
    """A draft, where it was left."""
    study = await study_of(request, id)
    return to_step(study, furthest(study.content))


@router.post("/studio/{id}/delete")
async def delete(request: Request, person: Operator, id: StudyId) -> Response:
    """Delete a draft and its file; the plan and the collection that came of it stay."""
    await fields(request)  # for the key of the form
    await write(request, studies.delete_study, person.name, id)
    return to("/studio")
