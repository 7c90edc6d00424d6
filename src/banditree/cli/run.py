"""`banditree run`: follow a plan for one case at the terminal, over as many sittings as it takes."""

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditree.cli.options import AsJson, PlanFile, known_collection
from banditree.errors import InvalidInput
from banditree.plans.words import Vocabulary, harm_noun, number

if TYPE_CHECKING:
    from banditree.plans.plan import Plan
    from banditree.policies.rounds import Step
    from banditree.policies.session import Session
    from banditree.tasks.collection import Collection
    from banditree.tasks.rewards import Outcome

STOP, WHY, MISSED, GO_ON, UNDO, HARMED = "q", "?", "m", "n", "u", "!"


class Stopped(Exception):
    """The person stops for now."""


def run(
    plan: PlanFile,
    case: Annotated[
        Path | None, typer.Option(help="Where the case is kept; continued if it exists. [default: PLAN.case.json]")
    ] = None,
    collection: Annotated[
        Path | None, typer.Option(help="The collection, to say what it costs not to wait for outcomes.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(help="An arm that this case must never get: follows its page of the plan; may be repeated."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Follow a plan for one case: says what to give, asks what happened, and saves the case after every answer.

    Stop at any time with q, and go on later with the same command; with n, another round begins before the outcome is
    known; with u, the last answer of this sitting is taken back. With --json nothing is asked: it prints where the case
    stands.

    Example: banditree run plan.json --case patient-17.json
    """
    from banditree.files.plans import load_plan
    from banditree.files.sessions import save_session
    from banditree.policies.starting import resume_session

    loaded, known = load_plan(plan), None if collection is None else known_collection(collection)
    path = case or plan.with_suffix(".case.json")
    session = _begun(loaded, path, known, without or [])
    if json:
        typer.echo(json_module.dumps(standing(session)))
        return
    words = loaded.vocabulary
    possible = "".join(f"{name} = {number(value)}, " for value, name in _outcomes(session))
    typer.echo(
        f"{possible}{MISSED} = not known, {GO_ON} = go on without it, {UNDO} = undo, {WHY} = why, {STOP} = stop for now"
    )
    if loaded.on_harm is not None:
        typer.echo(f"{HARMED} after an outcome = with {harm_noun(words)}")
    before: list[dict[str, Any]] = []  # how the case stood before each answer of this sitting
    try:
        while (step := _next_step(session)).outcome is None:
            save_session(session, path)
            typer.echo(str(step))
            _say_going_on(session, step)
            if (stood := _answer(session, step, path)) is not None:
                before.append(stood)
            elif before:
                session = resume_session(loaded, before.pop(), collection=known)
                typer.echo("  The last answer is taken back.")
            else:
                typer.echo("  No answer of this sitting is left to take back.")
            save_session(session, path)
        typer.echo(step.outcome.sentence(words))
    except Stopped:
        typer.echo(f"Stopped. The case is kept in {path}; the same command goes on with it.")


def _begun(plan: "Plan", path: Path, collection: "Collection | None", without: list[str]) -> "Session":
    """The case in the file if there is one, or a new one."""
    from banditree.files.sessions import load_session
    from banditree.policies.starting import start_session

    if not path.exists():
        return start_session(plan, collection=collection, without=without)
    if without:
        raise InvalidInput(f"--without is for a new case, and {path} exists. Omit it, or keep the case elsewhere.")
    return load_session(plan, path, collection=collection)


def _place(session: "Session", box: int) -> int:
    """The line, box or end that people see."""
    from banditree.plans.plan import Plan

    return session.subject.place_of(box) if isinstance(session.subject, Plan) else box


def standing(session: "Session") -> dict[str, object]:
    """Where a case stands, for programs."""
    facts, going_on = session.explain(), session.going_on()
    possible = None if facts.possible is None else [session.tasks[i] for i in facts.possible]
    return {
        "round": len(session.rounds),
        "open_rounds": session.open_rounds,
        "box": None if facts.box is None else _place(session, facts.box) + 1,
        "exploiting": facts.exploiting,
        "arm": None if facts.arm is None else session.arms[facts.arm],
        "pulls": facts.pulls,
        "total": facts.total,
        "possible": possible,
        "going_on": None if going_on is None else {**asdict(going_on), "arm": session.arms[going_on.arm]},
        "description": session.describe(),
    }


def _say_going_on(session: "Session", step: "Step") -> None:
    from banditree.policies.wording import going_on_sentence

    if step.going_on is not None:
        typer.echo(f"  {going_on_sentence(session, step.going_on)}")


def _next_step(session: "Session") -> "Step":
    from banditree.policies.base import Outcome

    step = session.ask()
    while step.outcome is Outcome.CONTEXT_NEEDED:
        try:
            step = session.ask(context=_ask_context(session))
        except InvalidInput as problem:
            typer.echo(str(problem))
    while step.outcome is Outcome.STATE_NEEDED:
        try:
            step = session.ask(state=_prompt(f"state ({', '.join(session.states)})"))
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
    from banditree.plans.plan import Plan

    words = session.subject.vocabulary if isinstance(session.subject, Plan) else Vocabulary()
    return session.rewards.outcomes(words.success, words.failure)


def _go_on(session: "Session", path: Path) -> None:
    """Open one more round without the outcomes still awaited, and keep it; its outcome is asked for after theirs."""
    from banditree.files.sessions import save_session

    step = session.ask(wait=False)
    save_session(session, path)
    typer.echo(f"  {step}")
    _say_going_on(session, step)


def _answer(session: "Session", step: "Step", path: Path) -> dict[str, Any] | None:
    """Ask until the outcome of the step is told: how the case stood before; None if the last answer is to be undone."""
    from banditree.policies.rounds import MISSING

    while True:
        several = len(session.open_rounds) > 1
        answer = _prompt(f"Outcome of round {step.round}" if several else "Outcome").lower()
        if answer == GO_ON:
            _go_on(session, path)
            continue
        if answer == WHY:
            typer.echo(f"  {session.describe()}")
            continue
        if answer == UNDO:
            return None
        stood = session.snapshot()
        harm = True if answer.endswith(HARMED) else None
        answer = answer.removesuffix(HARMED).strip()
        if answer == MISSED:
            session.tell(MISSING, step.round, harm=harm)
            return stood
        try:
            named = {name.lower(): value for value, name in _outcomes(session)}
            value = named[answer] if answer in named else float(answer)
            session.tell(value, step.round, harm=harm)
        except ValueError as problem:
            reason = str(problem) if isinstance(problem, InvalidInput) else f"{answer!r} is not an outcome."
            typer.echo(f"  {reason} Type a number, {MISSED}, {GO_ON}, {UNDO}, {WHY} or {STOP}.")
            continue
        return stood
