"""The application: every command, and how errors reach the terminal."""

import gc
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from banditree.cli import db
from banditree.cli.analyze import analyze
from banditree.cli.certify import certify
from banditree.cli.compare import compare
from banditree.cli.demo import demo
from banditree.cli.design import design
from banditree.cli.evaluate import evaluate
from banditree.cli.fit import fit
from banditree.cli.flags import in_flags, with_flags
from banditree.cli.learn import learn
from banditree.cli.monitor import monitor
from banditree.cli.plan import plan
from banditree.cli.relearn import relearn
from banditree.cli.report import report
from banditree.cli.reproduce import experiment, reproduce
from banditree.cli.run import run
from banditree.cli.serve import serve
from banditree.cli.show import show
from banditree.cli.simulate import simulate
from banditree.errors import InvalidInput, PlanWarning
from banditree.version import __version__

UsageProblem: Any = typer.BadParameter.__mro__[2]  # click's base of all usage errors, wherever typer keeps click
INTERRUPTED = 130
# Compiling makes millions of objects that stay: to look for garbage as often as Python does by default takes a seventh
# of a first plan.
SELDOM = (100_000, 20, 10)

PLAIN: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}
# Everyday commands, in the order in which one needs them; then those of a name.
COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "": (
        *(fit, learn, plan, show, run, certify, report, evaluate),
        *(design, monitor, compare, relearn, analyze, serve, demo),
    ),
    "db": (db.add_user, db.backup, db.restore, db.audit),
    "lab": (simulate, experiment, reproduce),
}
GROUPS = {
    "db": "The database of the service: users, backups, audit.",
    "lab": "The laboratory: policies simulated, experiments, and the figure of the paper.",
}

app = typer.Typer(
    name="banditree",
    help="Short exploration plans that a person can read: which option to try, how often, and what to do next.",
    **PLAIN,
)
for group, commands in COMMANDS.items():
    to = app
    if group:
        to = typer.Typer(name=group, help=GROUPS[group], **PLAIN)
        app.add_typer(to)
    for command in commands:
        to.command()(with_flags(command))


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
    gc.set_threshold(*SELDOM)
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    given = list(sys.argv[1:] if arguments is None else arguments)
    given += ["--help"] if not given or given in ([group] for group in GROUPS) else []
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
    command: Any = typer.main.get_command(app)
    for word in given:
        command = getattr(command, "commands", {}).get(word, command)
    return [option for parameter in command.params for option in parameter.opts]


def _fail(message: str) -> None:
    typer.echo(f"banditree: {message}", err=True)
    sys.exit(2)


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any) -> None:
    if issubclass(category, RuntimeWarning):  # numpy's own, seen only with rewards of 1e150 and the like
        message = f"Intermediate numbers were too large or too small ({message}). Check the result, or use other units."
        category = PlanWarning
    word = "Note" if issubclass(category, PlanWarning) else category.__name__
    typer.echo(f"{word}: {message}", err=True)
