"""The application: every command, and how errors reach the terminal."""

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from banditree.cli import (
    analyze,
    audit,
    certify,
    compare,
    demo,
    evaluate,
    fit,
    learn,
    monitor,
    plan,
    relearn,
    report,
    reproduce,
    run,
    serve,
    show,
    simulate,
)
from banditree.cli.flags import in_flags, with_flags
from banditree.errors import InvalidInput, PlanWarning
from banditree.version import __version__

UsageProblem: Any = typer.BadParameter.__mro__[2]  # click's base of all usage errors, wherever typer keeps click
INTERRUPTED = 130

app = typer.Typer(
    name="banditree",
    help="Short exploration plans that a person can read: which option to try, how often, and what to do next.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    fit.fit,
    learn.learn,
    analyze.analyze,
    plan.plan,
    show.show,
    run.run,
    certify.certify,
    evaluate.evaluate,
    monitor.monitor,
    relearn.relearn,
    compare.compare,
    simulate.simulate,
    report.report,
    reproduce.reproduce,
    reproduce.experiment,
    serve.serve,
    serve.add_user,
    serve.backup,
    serve.restore,
    audit.audit,
    demo.demo,
):
    app.command()(with_flags(command))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"banditree {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, help="Print the version.")] = False,
) -> None:
    """Short exploration plans that a person can read: which option to try, how often, and what to do next."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command, or print the list of them; bad input prints one line and exits 2, never with a traceback."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = app(given, standalone_mode=False)
    except InvalidInput as problem:
        _fail(in_flags(str(problem), _options_of(given)))
    except UsageProblem as problem:
        _fail(" ".join(problem.format_message().split()).replace("Value error, ", "").rstrip(".") + ". Try --help.")
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("Stopped.", err=True)
        sys.exit(INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _options_of(given: Sequence[str]) -> list[str]:
    """The options of the command that was given."""
    commands: Any = getattr(typer.main.get_command(app), "commands", {})
    command = next((commands[word] for word in given if word in commands), None)
    return [] if command is None else [option for parameter in command.params for option in parameter.opts]


def _fail(message: str) -> None:
    typer.echo(f"banditree: {message}", err=True)
    sys.exit(2)


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any) -> None:
    if issubclass(category, RuntimeWarning):  # numpy's own, seen only with rewards of 1e150 and the like
        message = f"Intermediate numbers were too large or too small ({message}). Check the result, or use other units."
        category = PlanWarning
    word = "Note" if issubclass(category, PlanWarning) else category.__name__
    typer.echo(f"{word}: {message}", err=True)
