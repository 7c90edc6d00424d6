"""JSON documents: read with a clear error, checked against their schema, written whole or not at all."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from banditree.errors import InvalidInput

MOST_DIGITS = 9  # A version has at most this many digits; a file with a longer one was not written by banditree.
LARGEST = 2**63  # Whole numbers in arrays are smaller, of either sign.
Model = TypeVar("Model", bound="Document")


class Part(BaseModel):
    """A piece of a document: nothing unknown in it, and no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)


class Document(Part):
    """A whole file; its field `schema_` names its kind and version, as in "banditree/plan/1"."""


def read_text(path: Path) -> str:
    """The text of a file, or a one-line error that says what is wrong with it."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file. Check the name and the folder.") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a folder. Give a file in it.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not a text file in UTF-8. Save it as UTF-8 text.") from None
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.strerror}.") from None


def write_text(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all, whatever happens meanwhile."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """The same for a file that is not text. A device, a pipe or the like is written through, never replaced."""
    with written_whole(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A file to write to, which then takes the place of `path` at once; gone if anything goes wrong.

    What is there and is no ordinary file (/dev/null, /dev/stdout, a pipe) gets the content instead. A link is replaced
    by the file, and what it led to stays as it is.
    """
    through = path.exists() and not path.is_file()
    if path.is_dir():
        raise InvalidInput(f"{path} cannot be written: it is a folder. Give the name of a file in it.")
    with temporary_beside(Path(tempfile.gettempdir()) / path.name if through else path) as temporary:
        yield temporary
        if through:
            with temporary.open("rb") as source, path.open("wb") as device:
                shutil.copyfileobj(source, device)
            return
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """A temporary file in the folder of `path`; gone at the end, unless it was moved."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be written: {problem.strerror}. Choose another folder.") from None
    os.close(handle)
    temporary = Path(name)
    try:
        temporary.chmod(0o666 & ~_umask())
        yield temporary
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be written: {problem.strerror}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_json(path: Path) -> Any:
    """The JSON value in a file."""
    text = read_text(path)
    try:
        return json.loads(text, parse_int=_whole)
    except json.JSONDecodeError as problem:
        raise InvalidInput(
            f"{path} is not JSON: {problem.msg} at line {problem.lineno}, column {problem.colno}."
        ) from None
    except RecursionError:
        raise InvalidInput(f"{path} is not one of banditree's files: its lists are nested too deeply.") from None
    except ValueError:
        raise InvalidInput(f"{path} is not one of banditree's files: a whole number has too many digits.") from None


def _whole(text: str) -> int:
    """A whole number that an array can hold; Python itself reads none of more than 4,300 digits."""
    found = int(text)
    if abs(found) >= LARGEST:
        raise ValueError(text)
    return found


def parse(model: type[Model], data: Any, source: str) -> Model:
    """`data` as a document of the wanted kind, or an error that names the kind, the version or the field."""
    _check_schema(data, model.model_fields["schema_"], source)
    try:
        return model.model_validate(data)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        rest = f" ({problem.error_count() - 1} more)" if problem.error_count() > 1 else ""
        what = first["msg"].removeprefix("Value error, ").removesuffix(".")
        raise InvalidInput(f"{source}: {place}: {what}.{rest}") from None


def _check_schema(data: Any, field: FieldInfo, source: str) -> None:
    wanted, known = str(field.default), get_args(field.annotation)
    kind, version = re.fullmatch(r"(banditree/\w+)/(\d+)", wanted).groups()  # type: ignore[union-attr]
    given = data.get("schema") if isinstance(data, dict) else None
    match = re.fullmatch(r"(banditree/\w+)/(\d+)", given) if isinstance(given, str) else None
    what = kind.removeprefix("banditree/")
    if match is None:
        raise InvalidInput(f'{source} is not a {what} file of banditree: it has no "schema": "{wanted}".')
    if match[1] != kind:
        raise InvalidInput(f"{source} is a {match[1].removeprefix('banditree/')} file, and a {what} file is needed.")
    if len(match[2]) > MOST_DIGITS or int(match[2]) > int(version):
        newer = str(given)[:60]
        raise InvalidInput(f"{source} was written by a newer banditree ({newer}; this one reads {wanted}). Upgrade it.")
    if given not in known:
        raise InvalidInput(
            f"{source} was written by an older banditree ({given}; this one reads {wanted}). "
            "Make it again with this one."
        )


def dump(document: Document) -> str:
    """JSON text with one line per field, and one line per item of a long list of lists or objects."""
    data = document.model_dump(by_alias=True, exclude_none=True)
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], list | dict):
            items = ",\n    ".join(json.dumps(item, ensure_ascii=False) for item in value)
            lines.append(f"  {json.dumps(key)}: [\n    {items}\n  ]")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
