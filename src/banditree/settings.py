"""The settings of an action, each written once: its name, type, default, limits and help.

A function of the library takes them as keywords, a command as options, the service as JSON, and the reference has a
table of them. All of these are made from one class, which is also the only place where they are checked.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.fields import FieldInfo

from banditree.errors import InvalidInput, invalid

Function = TypeVar("Function", bound=Callable[..., Any])

Horizon = Annotated[int, Field(ge=1, le=10**9, description="Rounds of one case.")]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]  # as databases hold it


def _listed(given: Any) -> Any:
    """Numbers in anything that can be gone through, such as an array or a range, as a list; a single number as one."""
    if isinstance(given, int) and not isinstance(given, bool):
        return [given]
    return given if isinstance(given, str | Mapping) or not isinstance(given, Iterable) else list(given)


Numbers = Annotated[tuple[int, ...], BeforeValidator(_listed)]


def _named(given: Any) -> Any:
    """Names with commas between them in one text, or in anything that can be gone through, as a list."""
    return [one.strip() for one in given.split(",") if one.strip()] if isinstance(given, str) else _listed(given)


Texts = Annotated[tuple[Text, ...], BeforeValidator(_named), Field(max_length=1000)]
BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
RULES = {  # by how pydantic's names of what is wrong begin
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
    "string": "text of 1 to 1,000 characters",
}


class Settings(BaseModel):
    """The settings of one action. What is wrong with one is said in one sentence, as everywhere.

    >>> class Tea(Settings):
    ...     minutes: Annotated[int, Field(ge=1, le=10, description="How long it stands.")] = 4
    >>> Tea(minutes=3), Tea(minutes=3).changed, Tea().changed
    (Tea(minutes=3), {'minutes': 3}, {})
    >>> Tea(minutes=12)
    Traceback (most recent call last):
        ...
    banditree.errors.InvalidInput: minutes must be at least 1 and at most 10. Got 12.
    """

    environment: ClassVar[str] = ""  # Where options may also come from the environment, how their names begin there.

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, /, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as problem:
            raise _refusal(type(self).model_fields, problem) from None

    @classmethod
    def among(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Those of some names and values that are settings of this class."""
        return {name: value for name, value in given.items() if name in cls.model_fields}

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        fields = type(self).model_fields
        return {name: value for name, value in self if value != default_of(fields[name])}


def keywords(settings: type[Settings]) -> Callable[[Function], Function]:
    """Let the signature of a function show the settings that it takes as **settings."""

    def shown(function: Function) -> Function:
        signature = inspect.signature(function)
        named = {name: one for name, one in signature.parameters.items() if one.kind is not one.VAR_KEYWORD}
        more = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default_of(field), annotation=field.annotation
            )
            for name, field in settings.model_fields.items()
            if name not in named
        ]
        function.__signature__ = signature.replace(parameters=[*named.values(), *more])  # type: ignore[attr-defined]
        return function

    return shown


def default_of(field: FieldInfo) -> Any:
    """The default of a setting, as a signature has it: `Parameter.empty` where it must be given."""
    return inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)


def parts(annotation: Any) -> list[Any]:
    """The types that a setting may have.

    >>> parts(Text | None)
    [<class 'str'>, <class 'NoneType'>]
    """
    if get_origin(annotation) is Annotated:
        return parts(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for one in get_args(annotation) for kind in parts(one)]
    return [annotation]


def choices(annotation: Any) -> list[Any]:
    """The values to choose from, where a setting is one of a few.

    >>> choices(Literal["round", "free"] | None), choices(int)
    (['round', 'free'], [])
    """
    found: list[Any] = []
    for one in parts(annotation):
        if get_origin(one) is Literal:
            found += get_args(one)
        elif isinstance(one, type) and issubclass(one, Enum):
            found += [member.value for member in one]
    return found


def limits(field: FieldInfo) -> str:
    """The least and greatest value of a setting, in words; "" where there are none.

    >>> limits(Field(gt=0, lt=1)), limits(Field(ge=1))
    ('between 0 and 1', 'at least 1')
    """
    bound = {
        name: value for one in field.metadata for name in BOUNDS if (value := getattr(one, name, None)) is not None
    }
    if bound.keys() == {"gt", "lt"}:
        return f"between {bound['gt']:,} and {bound['lt']:,}"
    return " and ".join(f"{words} {bound[name]:,}" for name, words in BOUNDS.items() if name in bound)


def _refusal(fields: Mapping[str, FieldInfo], problem: ValidationError) -> InvalidInput:
    """What is wrong first, in words."""
    first = problem.errors()[0]
    name, kind = str(first["loc"][0]) if first["loc"] else "", first["type"]
    if isinstance(error := first.get("ctx", {}).get("error"), InvalidInput):
        return error
    if kind == "missing":
        return InvalidInput(f"{name} is missing. Give it, as in {name}=...")
    if name not in fields:
        return InvalidInput(f"There is no setting {name!r}. There are: {', '.join(fields)}.")
    if kind.startswith(("greater", "less")) and len(first["loc"]) == 1:
        return invalid(name, limits(fields[name]), first["input"])
    if allowed := choices(fields[name].annotation):
        return invalid(name, f"one of {', '.join(map(str, allowed))}", first["input"])
    rule = RULES.get(kind.partition("_")[0], first["msg"].removeprefix("Input should be "))
    return invalid(name, rule if len(first["loc"]) == 1 else f"made of values that are each {rule}", first["input"])
