"""`banditree run`: follow a plan for one case at the terminal, over as many sittings as it takes."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from banditree.cli.options import AsJson, PlanFile
from banditree.errors import InvalidInput

if TYPE_CHECKING:
    from banditree.policies.rounds import Step
    from banditree.policies.session import Session
    from banditree.tasks.rewards import Outcome

STOP, WHY, MISSED = "q", "?", "m"


class Stopped(Exception):
    """The person stops for now."""


def run(
    plan: PlanFile,
    case: Annotated[
        Path | None, typer.Option(help="Where the case is kept; continued if it exists. [default: PLAN.case.json]")
    ] = None,
    json: AsJson = False,
) -> None:
    """Follow a plan for one case: says what to give, asks what happened, and saves the case after every answer.

    Stop at any time with q, and go on later with the same command. With --json nothing is asked: it prints where the
    case stands.

    Example: banditree run plan.json --case patient-17.json
    """
    from banditree.files.plans import load_plan
    from banditree.files.sessions import load_session, save_session
    from banditree.plans.words import number
    from banditree.policies.session import start_session

    loaded = load_plan(plan)
    path = case or plan.with_suffix(".case.json")
    session = load_session(loaded, path) if path.exists() else start_session(loaded)
    if json:
        typer.echo(json_module.dumps(standing(session)))
        return
    words = loaded.vocabulary
    possible = "".join(f"{name} = {number(value)}, " for value, name in _outcomes(session))
    typer.echo(f"{possible}{MISSED} = not known, {WHY} = why, {STOP} = stop for now")
    try:
        while (step := _next_step(session)).outcome is None:
            save_session(session, path)
            typer.echo(str(step))
            _answer(session, step)
            save_session(session, path)
        typer.echo(step.outcome.sentence(words))
    except Stopped:
        typer.echo(f"Stopped. The case is kept in {path}; the same command goes on with it.")


def standing(session: "Session") -> dict[str, object]:
    """Where a case stands, for programs."""
    facts = session.explain()
    possible = None if facts.possible is None else [session.tasks[i] for i in facts.possible]
    return {
        "round": len(session.rounds),
        "open_rounds": session.open_rounds,
        "box": None if facts.box is None else facts.box + 1,
        "exploiting": facts.exploiting,
        "arm": None if facts.arm is None else session.arms[facts.arm],
        "pulls": facts.pulls,
        "total": facts.total,
        "possible": possible,
        "description": session.describe(),
    }


def _next_step(session: "Session") -> "Step":
    from banditree.policies.base import Outcome

    step = session.ask()
    while step.outcome is Outcome.CONTEXT_NEEDED:
        try:
            step = session.ask(context=_ask_context(session))
        except InvalidInput as problem:
            typer.echo(str(problem))
    return step


def _ask_context(session: "Session") -> dict[str, str]:
    from banditree.tasks.contexts import asked_names

    return {name: _prompt(name) for name in asked_names(session.features, session.own_context)}


def _prompt(what: str) -> str:
    try:
        answer = str(typer.prompt(f"  {what}")).strip()
    except typer.Abort:
        raise Stopped from None
    if answer.lower() == STOP:
        raise Stopped
    return answer


def _outcomes(session: "Session") -> "tuple[Outcome, ...]":
    """The outcomes to choose from, in the words of the plan; empty where a number is typed."""
    from banditree.plans.plan import Plan, Vocabulary

    words = session.subject.vocabulary if isinstance(session.subject, Plan) else Vocabulary()
    return session.rewards.outcomes(words.success, words.failure)


def _answer(session: "Session", step: "Step") -> None:
    """Ask until the outcome of the step is told."""
    from banditree.policies.rounds import MISSING

    while True:
        answer = _prompt("Outcome").lower()
        if answer == WHY:
            typer.echo(f"  {session.describe()}")
            continue
        if answer == MISSED:
            session.tell(MISSING, step.round)
            return
        try:
            named = {name.lower(): value for value, name in _outcomes(session)}
            value = named[answer] if answer in named else float(answer)
            session.tell(value, step.round)
        except ValueError as problem:
            reason = str(problem) if isinstance(problem, InvalidInput) else f"{answer!r} is not an outcome."
            typer.echo(f"  {reason} Type a number, {MISSED}, {WHY} or {STOP}.")
            continue
        return
