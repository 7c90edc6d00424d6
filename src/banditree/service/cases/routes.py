"""The routes over cases: start, ask, tell, override, correct, note, close, erase, one by one or many at once."""

import json
import secrets
from asyncio import Future
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import StringConstraints
from starlette.concurrency import run_in_threadpool

from banditree.files.sessions import CaseFile
from banditree.policies.rounds import MISSING, Missing
from banditree.service.cases import moving, taking_up
from banditree.service.cases.calendar import calendar_text
from banditree.service.cases.case import MAX_NUMBER, Case, utc_now
from banditree.service.cases.desk import TRIES, Transaction
from banditree.service.cases.held_files import files_with
from banditree.service.cases.models import (
    Arrange,
    ArrangeMany,
    Ask,
    AskMany,
    CaseFiles,
    CaseLine,
    Close,
    Correct,
    EventOut,
    MoveCase,
    MoveCases,
    NewCase,
    NewCases,
    Note,
    Outlook,
    Override,
    Reopen,
    Standing,
    StepOut,
    TakenUp,
    Tell,
    TellMany,
    TellOut,
    Undo,
)
from banditree.service.cases.outlook import Seen, go_ahead, outlook, see
from banditree.service.cases.standings import event_out, standing, step_out
from banditree.service.edge.models import NO_NUL, Answer, Done, Failure, Id, Name
from banditree.service.edge.replies import ERRORS, decide, desk_of, look, many, read, reply
from banditree.service.people.senders import Admin, Operator, Viewer
from banditree.service.problems import Refused, Unavailable
from banditree.service.store import records
from banditree.service.store.case_lists import list_cases_json, worklist
from banditree.service.store.people import Person

router = APIRouter(prefix="/api/v1", tags=["cases"], responses=ERRORS)
LONG = 500  # A case of more rounds is played again beside the desk, so that nobody waits for it.
CaseId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="the id of a case")]
Search = Annotated[str, StringConstraints(max_length=100, pattern=NO_NUL)]
Owner = Annotated[Name | None, Query(description="only cases that this person looks after")]
MOST_VISITS = 10_000  # A calendar file has at most this many visits.
After = Annotated[int, Query(ge=0, le=MAX_NUMBER, description="go on after this number")]


def start(request: Request, person: Person, new: NewCase, *, ask: bool = False) -> "Future[Standing]":
    """Start one case; ask: also open its first round, unless that depends on a context."""
    id = new.id or secrets.token_hex(8)

    def act(transaction: Transaction) -> Standing:
        case = transaction.start(person.name, id, new.plan, new.label, new.without)
        if ask and case.state == "open" and not case.session.rounds and not case.session.looks:
            case.ask(person.name, 1, None, None)
        return standing(case)

    return decide(request, act, (id,))


def ask(request: Request, person: Person, id: str, asked: Ask) -> "Future[list[StepOut]]":
    """Ask for one case."""

    def act(transaction: Transaction) -> list[StepOut]:
        return _ask(transaction, person, id, asked)

    return decide(request, act, (id,))


def _ask(transaction: Transaction, person: Person, id: str, asked: Ask) -> list[StepOut]:
    case = transaction.case(id)
    steps = case.ask(person.name, asked.n, asked.context, asked.available, wait=asked.wait)
    return [step_out(case, step) for step in steps]


def tell(request: Request, person: Person, id: str, told: Tell) -> "Future[TellOut]":
    """Tell for one case."""

    def act(transaction: Transaction) -> TellOut:
        recorded = transaction.case(id).tell(person.name, told.round, _reward(told.reward), told.arm, told.harm)
        steps = None if told.ask is None else _ask(transaction, person, id, told.ask)
        return TellOut(recorded=recorded, steps=steps)

    return decide(request, act, (id,))


def _reward(given: float | Literal["missing"]) -> float | Missing:
    return MISSING if isinstance(given, str) else given


def take_up(request: Request, person: Person, given: CaseFile) -> "Future[TakenUp]":
    """Take up one case that was followed elsewhere."""

    def act(transaction: Transaction) -> TakenUp:
        return TakenUp(id=str(given.id), recorded=taking_up.take_up(transaction, person.name, given))

    return decide(request, act, (str(given.id),))


# The two that a busy service answers most come first: routes are tried in order.
@router.post("/cases/{id}/ask", response_model=Answer[list[StepOut]])
async def ask_case(request: Request, person: Operator, id: CaseId, body: Ask) -> Response:
    """What to do next: the open rounds, the same again until they are told."""
    return reply(await ask(request, person, id, body))


@router.post("/cases/{id}/tell", response_model=Answer[TellOut])
async def tell_case(request: Request, person: Operator, id: CaseId, body: Tell) -> Response:
    """Report what happened in a round. The same report again changes nothing; another value is refused with 409."""
    return reply(await tell(request, person, id, body))


@router.post("/cases", response_model=Answer[Standing])
async def start_case(request: Request, person: Operator, body: NewCase) -> Response:
    """Start a case. With an id of your own, sending it twice starts it once."""
    return reply(await start(request, person, body))


@router.post("/cases/start", response_model=Answer[list[Answer[Standing] | Failure]])
async def start_cases(request: Request, person: Operator, body: NewCases) -> Response:
    """Start many cases in one call."""
    return await many([start(request, person, new) for new in body.cases])


@router.post("/cases/files", response_model=Answer[list[Answer[TakenUp] | Failure]])
async def take_up_cases(request: Request, person: Operator, body: CaseFiles) -> Response:
    """Take up cases from the files of the app of a plan or of `banditree run`; the same file again changes nothing."""
    if any(not one.get("id") for one in body.files):
        raise Refused("A case file has no id. Give each an id of its own, such as a pseudonym.")
    files = [file for one in body.files for file in taking_up.case_files(json.dumps(one).encode(), "case.json")]
    return await many([take_up(request, person, file) for file in files])


@router.post("/cases/ask", response_model=Answer[list[Answer[list[StepOut]] | Failure]])
async def ask_cases(request: Request, person: Operator, body: AskMany) -> Response:
    """Ask for many cases in one call."""
    return await many([ask(request, person, one.case, one) for one in body.asks])


@router.post("/cases/tell", response_model=Answer[list[Answer[TellOut] | Failure]])
async def tell_cases(request: Request, person: Operator, body: TellMany) -> Response:
    """Report many outcomes in one call; each stands on its own."""
    return await many([tell(request, person, one.case, one) for one in body.tells])


@router.post("/cases/arrange", response_model=Answer[list[Answer[Done] | Failure]])
async def arrange_cases(request: Request, person: Operator, body: ArrangeMany) -> Response:
    """Change labels, who looks after cases, and when they are due, of many in one call."""
    return await many([arrange(request, person, one.case, one) for one in body.arrangements])


@router.post("/cases/move", response_model=Answer[list[Answer[Standing] | Failure]])
async def move_cases(request: Request, person: Operator, body: MoveCases) -> Response:
    """Move many cases to another plan in one call; each stands on its own."""
    return await many([move(request, person, id, MoveCase(plan=body.plan)) for id in body.cases])


@router.get("/due.ics", response_class=Response)
async def show_calendar(request: Request, person: Viewer, owner: Owner = None) -> Response:
    """The next visits of the cases under way, as a calendar file. owner: only those that this person looks after."""
    return await calendar(request, owner)


async def calendar(request: Request, owner: str | None) -> Response:
    """The calendar file of the visits that are due, and of those to come."""
    lines = [line for line in await read(request, worklist, owner, MOST_VISITS) if line["due"]]
    text = calendar_text(lines, request.app.state.settings.public_url or str(request.base_url), utc_now())
    headers = {"content-disposition": 'attachment; filename="due.ics"'}
    return Response(text, media_type="text/calendar", headers=headers)


@router.get("/cases", response_model=Answer[list[CaseLine]])
async def list_cases(
    request: Request,
    person: Viewer,
    plan: Annotated[Id | None, Query(description="only the cases of this plan")] = None,
    state: Annotated[Literal["open", "waiting", "due", "alarm", "closed", "erased"] | None, Query()] = None,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    search: Annotated[Search | None, Query(description="only cases with this in their id or label")] = None,
    newest: Annotated[bool, Query(description="the newest first")] = False,
    owner: Owner = None,
) -> Response:
    """Cases in the order they were started. waiting: an outcome is not known yet; alarm: the case fits no task.

    due: the next visit is today or was before.
    """
    options = {"plan": plan, "state": state, "after": after, "limit": limit, "search": search, "newest": newest}
    options |= {"owner": owner, "today": utc_now()[:10]}
    lines = await read(request, list_cases_json, **options)
    return Response(f'{{"data": {lines}}}', media_type="application/json")


@router.get("/cases/{id}", response_model=Answer[Standing])
async def show_case(request: Request, person: Viewer, id: CaseId) -> Response:
    """Where a case stands and why."""
    return reply(await decide(request, lambda transaction: standing(transaction.case(id)), (id,)))


@router.get("/cases/{id}/outlook", response_model=Answer[Outlook])
async def show_outlook(request: Request, person: Viewer, id: CaseId) -> Response:
    """The boxes a case went through, and how likely each task is now."""
    return reply(await run_in_threadpool(outlook, await seen(request, id)))


async def seen(request: Request, id: str) -> Seen:
    """A copy of a case as it is now."""
    return cast(Seen, await look(request, lambda transaction: see(transaction.case(id)), (id,)))


@router.get("/cases/{id}/events", response_model=Answer[list[EventOut]])
async def list_events(
    request: Request,
    person: Viewer,
    id: CaseId,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """The history of a case, in order."""
    return reply([event_out(event) for event in await read(request, records.history, id, after, limit)])


@router.post("/cases/{id}/override", response_model=Answer[StepOut])
async def override_case(request: Request, person: Operator, id: CaseId, body: Override) -> Response:
    """Give an arm other than the plan's. Its outcome is reported like any other; it is recorded but not tallied."""

    def act(transaction: Transaction) -> StepOut:
        case = transaction.case(id)
        return step_out(case, case.override(person.name, body.arm, body.reason, body.round, body.context))

    return reply(await decide(request, act, (id,)))


@router.post("/cases/{id}/correct", response_model=Answer[Standing])
async def correct_case(request: Request, person: Operator, id: CaseId, body: Correct) -> Response:
    """Replace a wrong outcome; the history keeps both. Open rounds that the plan would not give now are withdrawn."""
    for _ in range(TRIES):
        corrected = await _corrected_beside(request, person, id, body)

        def act(transaction: Transaction, corrected: Case | None = corrected) -> Standing | None:
            if corrected is None:
                _correct(transaction.case(id), person, body)
            elif not transaction.adopt(corrected):
                return None
            return standing(transaction.case(id))

        if (found := await decide(request, act, (id,))) is not None:
            return reply(found)
    raise Unavailable("The case changes faster than it can be played again. Send the request again.")


def _correct(case: Case, person: Person, body: Correct) -> None:
    case.correct(person.name, body.round, _reward(body.reward), body.reason, given=body.given, harm=body.harm)
    if body.ask and case.state == "open" and not case.session.looks:
        case.ask(person.name, 1, None, None)


async def _corrected_beside(request: Request, person: Person, id: str, body: Correct) -> Case | None:
    """A long case, played again in a thread so that nobody waits for that; None for a short one."""
    rows = await read(request, records.case_rows, [id])
    if not rows or rows[0]["rounds"] < LONG:
        return None

    def play_again() -> Case:
        case = desk_of(request).read_whole(id)
        _correct(case, person, body)
        go_ahead(case)
        return case

    return await run_in_threadpool(play_again)


@router.post("/cases/{id}/undo", response_model=Answer[Standing])
async def undo_case(request: Request, person: Operator, id: CaseId, body: Undo) -> Response:
    """Take the last report back, as if it had not been sent; the history keeps it."""

    def act(transaction: Transaction) -> Standing:
        transaction.case(id).undo(person.name, body.round)
        return standing(transaction.case(id))

    return reply(await decide(request, act, (id,)))


@router.post("/cases/{id}/reopen", response_model=Answer[Done])
async def reopen_case(request: Request, person: Operator, id: CaseId, body: Reopen) -> Response:
    """Go on with a case that was closed."""

    def act(transaction: Transaction) -> Done:
        return Done(done=transaction.case(id).reopen(person.name, body.reason))

    return reply(await decide(request, act, (id,)))


@router.post("/cases/{id}/arrange", response_model=Answer[Done])
async def arrange_case(request: Request, person: Operator, id: CaseId, body: Arrange) -> Response:
    """Change the label of a case, who looks after it, and when it is due; done is false if that was so already."""
    return reply(await arrange(request, person, id, body))


def arrange(request: Request, person: Person, id: str, body: Arrange) -> "Future[Done]":
    """Change how one case is looked after."""

    def act(transaction: Transaction) -> Done:
        return Done(done=transaction.case(id).arrange(person.name, **body.changes))

    return decide(request, act, (id,))


@router.post("/cases/{id}/note", response_model=Answer[Done])
async def note_case(request: Request, person: Operator, id: CaseId, body: Note) -> Response:
    """Write something down."""

    def act(transaction: Transaction) -> Done:
        transaction.case(id).note(person.name, body.text)
        return Done(done=True)

    return reply(await decide(request, act, (id,)))


@router.post("/cases/{id}/close", response_model=Answer[Done])
async def close_case(request: Request, person: Operator, id: CaseId, body: Close) -> Response:
    """End a case. It still takes late outcomes, notes and corrections, and can be reopened."""

    def act(transaction: Transaction) -> Done:
        return Done(done=transaction.case(id).close(person.name, body.reason))

    return reply(await decide(request, act, (id,)))


@router.post("/cases/{id}/move", response_model=Answer[Standing])
async def move_case(request: Request, person: Operator, id: CaseId, body: MoveCase) -> Response:
    """Close a case and go on with a new one at the beginning of another plan, by default the one that replaced it."""
    return reply(await move(request, person, id, body))


def move(request: Request, person: Person, id: str, body: MoveCase) -> "Future[Standing]":
    """Move one case; where the new one stands."""
    new_id = body.id or moving.next_id(id)

    def act(transaction: Transaction) -> Standing:
        return standing(moving.move(transaction, person.name, id, new_id, body.plan, body.without))

    return decide(request, act, (id, new_id))


@router.post("/cases/{id}/erase", response_model=Answer[Done])
async def erase_case(request: Request, person: Admin, id: CaseId) -> Response:
    """Erase the contents of a case: arms, outcomes, contexts, notes and its label. Only that it existed remains.

    Files on record that hold the case, as exports do, are deleted, and the drafts and jobs made from them.
    """
    held_by = await files_with(request, id)

    def act(transaction: Transaction) -> Done:
        return Done(done=transaction.erase(person.name, id, held_by))

    return reply(await decide(request, act, (id,)))
