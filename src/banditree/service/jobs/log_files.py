"""Files on record as files on disk, where the readers of logs find them."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from banditree.errors import InvalidInput
from banditree.service.store.database import Database
from banditree.service.store.files import file_of


@contextmanager
def file_on_disk(database: Database, id: str) -> Iterator[Path]:
    """A file on record, as one on disk in the folder of the job; what is wrong with it is said without that folder."""
    with database.read() as connection:
        name, content = file_of(connection, id)
    folder = tempfile.mkdtemp()
    path = Path(folder) / re.sub(r"[^\w.-]", "_", name)  # some engines take other letters for a pattern
    path.write_bytes(content)
    try:
        yield path
    except InvalidInput as problem:
        raise InvalidInput(str(problem).replace(f"{folder}/", "")) from None
