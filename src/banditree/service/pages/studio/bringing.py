"""Files that people bring to a draft: read beside the server, and kept only if they can be used."""

from typing import Any

from fastapi import Request
from starlette.datastructures import UploadFile

from banditree.service.people.senders import sender
from banditree.service.problems import Refused
from banditree.service.studio.content import Content, Log
from banditree.service.studio.looking import first_look
from banditree.service.studio.rates import rates_in
from banditree.service.studio.tables import read_table

MOST_NAME = 100  # This many characters of the name of a file are kept.
LEAST_HORIZON = 10  # At least this many rounds of a case are proposed, however short the cases of the log are.


async def brought_file(request: Request) -> tuple[str, bytes]:
    """The name and the content of the file in a form."""
    given = (await request.form()).get("file")
    if not isinstance(given, UploadFile) or not given.filename:
        raise Refused("Choose a file.")
    name = "".join(letter for letter in given.filename if letter.isprintable())
    return name[-MOST_NAME:], await given.read()


async def bring(request: Request, name: str, content: bytes) -> tuple[Content, bytes]:
    """What a draft holds that begins with this file, and the table to be kept."""
    begun: tuple[Content, bytes] = await apart(request, first_content, name, content)
    return begun


async def apart(request: Request, function: Any, *arguments: Any) -> Any:
    """What a function gives, computed in a process of its own with limits."""
    return await request.app.state.reader.apart(sender(request), function, *arguments)


def first_content(name: str, content: bytes) -> tuple[Content, bytes]:
    """The beginning of a draft, with everything guessed that can be: rates, or a log with its columns."""
    table = read_table(content)
    if (rates := rates_in(table, name)) is not None:
        return Content(rates=rates), table
    log = first_look(table, Log(file=name))
    cases = log.seen.n_individuals
    horizon = LEAST_HORIZON if not cases else max(LEAST_HORIZON, round(log.n_rows / cases))
    return Content(log=log, horizon=horizon), table
