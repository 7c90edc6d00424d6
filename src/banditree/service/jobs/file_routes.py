"""The routes over files that people upload to learn from and to evaluate on."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import StringConstraints

from banditree.service.edge.models import Answer, Created, Done
from banditree.service.edge.replies import ERRORS, read, reply, write
from banditree.service.people.senders import Operator, Viewer
from banditree.service.plans.models import FileLine
from banditree.service.store import files, records

router = APIRouter(prefix="/api/v1/files", tags=["jobs"], responses=ERRORS)
FileId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[^\x00/\\]{1,100}$")]
BYTES = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"format": "binary"}}}}}


@router.post("", response_model=Answer[Created], openapi_extra=BYTES)
async def add_file(
    request: Request, person: Operator, name: Annotated[FileName, Query(description="as in visits.csv")]
) -> Response:
    """Put a file on record, which is the body: CSV, Parquet, JSON Lines or Feather."""
    return reply(Created(id=await write(request, files.add_file, person.name, name, await request.body())))


@router.get("", response_model=Answer[list[FileLine]])
async def list_files(request: Request, person: Viewer) -> Response:
    """The files on record, without their content."""
    return reply([FileLine(**line) for line in await read(request, records.documents, "files")])


@router.delete("/{id}", response_model=Answer[Done])
async def delete_file(request: Request, person: Operator, id: FileId) -> Response:
    """Delete a file; what was learned from it stays."""
    return reply(Done(done=await write(request, files.delete_file, person.name, id)))
