"""The one mechanism of settings: checked in one place, shown in signatures, typed as options."""

import inspect
from typing import Annotated, Literal

import pytest
from pydantic import Field

from banditree.cli.flags import with_flags
from banditree.errors import InvalidInput
from banditree.protocols.build import build_plan
from banditree.settings import Settings, Text


class Tea(Settings):
    minutes: Annotated[int, Field(ge=1, le=10, description="How long it stands.")] = 4
    share: Annotated[float | None, Field(gt=0, lt=1, description="Of milk.")] = None
    kind: Annotated[Literal["green", "black"], Field(description="Which.")] = "green"
    name: Annotated[Text | None, Field(description="Whose.")] = None
    lid: Annotated[bool, Field(description="Whether it is covered.")] = True
    spices: Annotated[tuple[str, ...], Field(description="What is added.")] = ("ginger",)
    spoons: Annotated[dict[str, float], Field(description="How much of each.")] = {}  # noqa: RUF012


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0}, "minutes must be at least 1 and at most 10. Got 0."),
        ({"minutes": "long"}, "minutes must be a whole number. Got 'long'."),
        ({"share": 1}, "share must be between 0 and 1. Got 1."),
        ({"share": float("nan")}, "share must be a number. Got nan."),
        ({"kind": "red"}, "kind must be one of green, black. Got 'red'."),
        ({"lid": "maybe"}, "lid must be true or false. Got 'maybe'."),
        ({"name": "a\0b"}, "name must be text of 1 to 1,000 characters. Got 'a\\x00b'."),
        ({"spoons": {"sugar": "much"}}, "spoons must be made of values that are each a number. Got 'much'."),
        ({"milk": 1}, "There is no setting 'milk'. There are: minutes, share, kind, name, lid, spices, spoons."),
    ],
)
def test_what_is_wrong_with_a_setting_is_one_sentence(given, message):
    with pytest.raises(InvalidInput) as problem:
        Tea(**given)
    assert str(problem.value).startswith(message)


def test_every_type_of_setting_is_an_option(cli_of):
    made = []

    def brew(cup: Annotated[str, "which"], settings: Tea) -> None:
        made.append((cup, settings))

    command = cli_of(with_flags(brew))
    command("blue")
    command(
        *("blue", "--minutes", "3", "--share", "0.5", "--kind", "black", "--name", "Ada", "--no-lid"),
        *("--spices", "mint, anise", "--spoons", "sugar=1,honey=2"),
    )
    assert made[0] == ("blue", Tea())
    other = {"minutes": 3, "share": 0.5, "kind": "black", "name": "Ada", "lid": False}
    assert made[1] == ("blue", Tea(**other, spices=["mint", "anise"], spoons={"sugar": 1, "honey": 2}))


def test_signatures_show_the_settings():
    shown = inspect.signature(build_plan).parameters
    assert list(shown)[:3] == ["collection", "horizon", "method"]
    assert (shown["numbers"].default, shown["rule"].default) == ("round", True)
    assert "options" not in shown


@pytest.fixture
def cli_of():
    import typer

    def of(function):
        app = typer.Typer()
        app.command()(function)
        return lambda *arguments: app(list(arguments), standalone_mode=False)

    return of
