"""Which files on record hold a case: those with its id in a cell, as exports of decisions and events have it."""

import io
import re
from contextlib import suppress
from typing import Any

from fastapi import Request

from banditree.errors import InvalidInput
from banditree.service.edge.replies import read
from banditree.service.people.senders import sender
from banditree.service.problems import Refused
from banditree.service.store import files, records

FEATHER = (".feather", ".arrow")
BINARY = (".parquet", ".pq", *FEATHER)


async def files_with(request: Request, case: str) -> list[str]:
    """The ids of the files that hold a case, each looked at in the process that reads uploads."""
    held = []
    for line in await read(request, records.documents, "files"):
        name, content = await read(request, files.file_of, line["id"])
        with suppress(Refused, InvalidInput):  # what cannot be read as a table holds no case
            if await request.app.state.reader.apart(sender(request), holds, name, content, case):
                held.append(line["id"])
    return held


def holds(name: str, content: bytes, case: str) -> bool:
    """Whether a table has a cell with this text.

    >>> holds("a.csv", b"case,arm\\np-17,A", "p-17"), holds("a.csv", b"case,arm\\np-170,A", "p-17")
    (True, False)
    """
    if not name.lower().endswith(BINARY):
        text = content.replace(b"\0", b"")  # the letters of an id, also where each has two or four bytes
        return re.search(rb"(?<![\w.-])" + re.escape(case.encode()) + rb"(?![\w.-])", text) is not None
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import feather, parquet

    reads = feather.read_table if name.lower().endswith(FEATHER) else parquet.read_table
    try:
        table = reads(io.BytesIO(content))
        table.validate(full=True)
    except (pa.ArrowException, OSError) as problem:
        raise Refused(f"{name[:100]} cannot be read as a table.") from problem
    cells = [column for column in table.columns if not pa.types.is_nested(column.type)]
    return any(pc.any(pc.equal(_texts(column), case)).as_py() for column in cells)


def _texts(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowException, ValueError):
        return pa.array([], pa.string())
