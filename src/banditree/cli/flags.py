"""Settings as options of commands, and messages of the library in the words of the command line."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from banditree.settings import Settings, choices, default_of, parts

# Arguments of the library whose option has another name.
RENAMED = {"n_classes": "kinds", "separation": "merge", "sample_size": "keep-sample"}
ARGUMENT = re.compile(r"\b([a-z][a-z_]*)=(True|False|\"[^\"]*\"|\d[\d.]*)|^([a-z][a-z_]*)(?= must be )")


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option for each setting, in place of a parameter that is a class of settings."""
    parameters: dict[str, inspect.Parameter] = {}
    asked: dict[str, type[Settings]] = {}
    for name, one in inspect.signature(command).parameters.items():
        if isinstance(one.annotation, type) and issubclass(one.annotation, Settings):
            asked[name] = one.annotation
            own = one.annotation.__annotations__  # what a class adds to those that it is made of comes first
            fields = sorted(one.annotation.model_fields.items(), key=lambda field: field[0] not in own)
            parameters |= {each: _option(each, field, one.annotation.environment) for each, field in fields}
        else:
            parameters[name] = one.replace(kind=inspect.Parameter.KEYWORD_ONLY)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, settings in asked.items():
            read = {each: _read(given.pop(each), field) for each, field in settings.model_fields.items()}
            given[name] = settings(**{each: value for each, value in read.items() if value is not None})
        command(**given)

    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: one.annotation for name, one in parameters.items()}
    return run


def flags_of(settings: type[Settings]) -> list[str]:
    """The options of a class of settings."""
    return [f"--{name.replace('_', '-')}" for name in settings.model_fields]


def _option(name: str, field: FieldInfo, environment: str) -> inspect.Parameter:
    """A setting as an option: a switch, a number, a choice, or text."""
    flag, kind, help, default = name.replace("_", "-"), _kind(field), field.description or "", default_of(field)
    if isinstance(default, tuple | dict):
        default = ",".join(str(one) if isinstance(default, tuple) else f"{one}={default[one]}" for one in default)
    if isinstance(default, float):
        help += f" [default: {default:.2g}]" if abs(default) < 1 else f" [default: {default:g}]"
    names = f"--{flag}/--no-{flag}" if default is True else f"--{flag}"
    variable = f"{environment}{name.upper()}" if environment else None
    how: dict[str, Any] = {"envvar": variable, "show_envvar": False, "show_default": not isinstance(default, float)}
    option = typer.Option(names, help=help, **how)
    annotation: Any = (kind or str) | None if default is None else kind or str
    annotated = Annotated[annotation, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotated)


def _kind(field: FieldInfo) -> Any:
    """The type of the option for a setting, or None for lists and pairs, which are texts with commas."""
    return next((one for one in parts(field.annotation) if one in (bool, int, float, str) or choices(one)), None)


def _read(given: Any, field: FieldInfo) -> Any:
    """What was typed, as the class of settings takes it.

    >>> _read("2,3", FieldInfo(annotation=tuple[int, ...])), _read("mild=0.3", FieldInfo(annotation=dict[str, float]))
    (['2', '3'], {'mild': '0.3'})
    """
    if _kind(field) is not None or given is None:
        return given
    pairs = [part.rpartition("=") for part in given.split(",") if part.strip()]
    if any(equals for _, equals, _ in pairs):
        return {name.strip(): value.strip() for name, _, value in pairs}
    return [value.strip() for _, _, value in pairs] or None


def in_flags(message: str, options: Iterable[str]) -> str:
    """The message with the arguments that the command has an option for written as options.

    Arguments are what it says argument=value of, and what it begins with, as `errors.invalid` does.

    >>> in_flags('Drop them: drop_bad_rows=True, or untried="borrow".', ["--drop-bad-rows", "--untried"])
    'Drop them: --drop-bad-rows, or --untried borrow.'
    >>> in_flags('max_boxes must be omitted with method="tree".', ["--max-boxes", "--method"])
    '--max-boxes must be omitted with --method tree.'
    """
    known = set(options)

    def flag(match: re.Match[str]) -> str:
        name, value = match[1] or match[3], (match[2] or "True").strip('"')
        names = [given for given in (name.replace("_", "-"), RENAMED.get(name, "")) if f"--{given}" in known]
        if not names:
            return match[0]
        off = "no-" if value == "False" else ""
        return f"--{off}{names[0]}" + ("" if value in ("True", "False") else f" {value}")

    return ARGUMENT.sub(flag, message)
