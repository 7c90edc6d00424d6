"""The pages of the cases: the list, and one case that is followed."""

from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from banditree.certificates.waiting import GoingOn
from banditree.errors import InvalidInput
from banditree.figures.html import Mark, ladder_data, ladder_section
from banditree.figures.ladder import ladder_info
from banditree.languages.language import Language, message
from banditree.plans.case_wording import outcome_text, possible_sentence
from banditree.plans.plan import Plan
from banditree.plans.words import harm_noun, in_language, number
from banditree.policies.base import Outcome
from banditree.policies.wording import cost_of_going_on, points_by_state
from banditree.service.cases import routes as case_routes
from banditree.service.cases.case import MAX_NUMBER, utc_now
from banditree.service.cases.events import (
    Corrected,
    Event,
    Harmed,
    Missed,
    Retold,
    Told,
    Undone,
    happening_of,
    sentence_of,
)
from banditree.service.cases.exports import folded_rounds
from banditree.service.cases.models import (
    ARRANGED,
    Arrange,
    Ask,
    Close,
    Correct,
    MoveCase,
    NewCase,
    Note,
    Outlook,
    Override,
    Reopen,
    Standing,
    StepOut,
    Tell,
    Undo,
)
from banditree.service.cases.outlook import Seen, outlook, usual_outcomes
from banditree.service.cases.routes import CaseId
from banditree.service.cases.standings import alarm_sentence
from banditree.service.cases.taking_up import case_files
from banditree.service.edge.replies import read
from banditree.service.pages import words
from banditree.service.pages.forms import asked_fields, context_of, fields, reward_of, shaped, to, whole
from banditree.service.pages.rendering import page, spoken
from banditree.service.people.senders import Admin, Operator, Viewer
from banditree.service.problems import Conflict, NotFound, Refused
from banditree.service.store import case_lists, records
from banditree.service.store.signing import PlanState

SHOWN_CASES = 50  # A page of the list shows this many cases.
SHOWN_EVENTS = 40  # This many events of the history are shown, unless all are asked for ...
MOST_EVENTS = 10_000  # ... and then at most this many.
SOON = 4.0  # A report within this many seconds of another one is asked about: a second tap is quickly made.
MOST_CHANCES = 12  # This many tasks are shown with their chance.
NOWHERE = 0  # Boxes are counted from 1, so this is the number of no box.
MOST_BOXES = 1_500  # A plan of more boxes is not drawn, only put into words.

router = APIRouter(include_in_schema=False)
SAVED = (Harmed.kind, Told.kind, Missed.kind, Retold.kind, Corrected.kind, Undone.kind)
States = ("waiting", "due", "alarm", "open", "closed", "erased")


class Again(NamedTuple):
    """A report that is asked about before it counts. sent: the fields of the form; why: it is asked about."""

    action: str
    sent: dict[str, str]
    why: str
    question: str
    no: str


class Task(NamedTuple):
    """A task on the page of a case."""

    name: str
    chance: float | None
    shown: str
    possible: bool


@router.get("/cases")
async def list_cases(
    request: Request,
    person: Viewer,
    search: Annotated[str, Query(max_length=100)] = "",
    state: str = "",
    plan: Annotated[str, Query(max_length=64)] = "",
    owner: Annotated[str, Query(max_length=100)] = "",
    changed: Annotated[int, Query(ge=0, le=SHOWN_CASES)] = 0,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER)] = 0,
) -> Response:
    """The cases, the newest first."""
    if state and state not in States:
        raise Refused(f"state must be one of {', '.join(States)}. Got {state[:50]!r}.")
    options = {"search": search.replace("\x00", ""), "state": state or None, "plan": plan or None, "after": after}
    options |= {"owner": owner or None, "today": utc_now()[:10]}
    lines = await read(request, case_lists.list_cases, **options, limit=SHOWN_CASES + 1, newest=True)
    known = await read(request, records.documents, "plans")
    return page(
        request,
        "cases.html",
        lines=lines[:SHOWN_CASES],
        more=lines[SHOWN_CASES - 1]["number"] if len(lines) > SHOWN_CASES else None,
        plans={line["id"]: line["name"] for line in known},
        starting={line["id"]: line["name"] for line in known if line["state"] == PlanState.SIGNED},
        chosen={"search": search, "state": state, "plan": plan, "owner": owner},
        owners=await read(request, case_lists.owners),
        changed=changed,
        today=utc_now()[:10],
        states=States,
        state_word=words.state_word,
    )


@router.post("/cases")
async def start_case(request: Request, person: Operator) -> Response:
    """Start a case and ask what to do first, unless that depends on a context."""
    given: dict[str, Any] = dict(await fields(request))
    given["without"] = [arm.strip() for arm in given.pop("without", "").split(",") if arm.strip()]
    standing = await case_routes.start(request, person, shaped(NewCase, given), ask=True)
    return to(f"/cases/{standing.id}#next")


@router.post("/cases/files")
async def take_up(request: Request, person: Operator) -> Response:
    """Take up cases from files; those that cannot be are said, and the others are taken."""
    await fields(request)
    problems = []
    for upload in (await request.form()).getlist("files"):
        if isinstance(upload, UploadFile):
            try:
                for file in case_files(await upload.read(), upload.filename or "case"):
                    await case_routes.take_up(request, person, file)
            except (InvalidInput, Refused, NotFound) as problem:
                problems.append(str(problem))
    if problems:
        raise Refused(" ".join(problems))
    return to("/cases")


@router.get("/cases/{id}")
async def show_case(request: Request, person: Viewer, id: CaseId, all: bool = False) -> Response:
    """One case: what to do next, where it stands and why, and what can be done about it."""
    return await _case_page(request, id, everything=all)


async def _case_page(
    request: Request, id: str, everything: bool = False, notice: str = "", again: Again | None = None
) -> Response:
    seen, language = await case_routes.seen(request, id), spoken(request)
    ahead = await run_in_threadpool(outlook, seen, language)
    standing, plan = seen.standing, in_language(seen.followed.plan, language)
    rings = standing.alarm is not None and standing.alarm.ringing
    after = 0 if everything else max(0, standing.events - SHOWN_EVENTS)
    events = await read(request, records.history, id, after, MOST_EVENTS)
    known = await read(request, records.documents, "plans")
    names = {line["id"]: line["name"] for line in known}
    own_plan = next(line for line in known if line["id"] == standing.plan)
    successor = own_plan["replaced_by"]
    (listed,) = await read(request, case_lists.lines_of, [id])
    told = [(event, sentence_of(plan, event)) for event in reversed(events)]
    ended = standing.state == "closed" or (standing.rounds >= standing.horizon and not standing.open_rounds)
    whole = await read(request, records.history, id, 0, MOST_EVENTS) if ended else []
    return page(
        request,
        "case.html",
        case=standing,
        plan=plan,
        pages=seen.on_record.plan.pages,
        words=plan.vocabulary,
        plan_name=names[standing.plan],
        plan_every=own_plan["every"],
        owner=listed["owner"],
        due=listed["due"],
        today=utc_now()[:10],
        successor=successor,
        successor_name=names.get(successor, successor),
        outcomes=[(number(value), name) for value, name in words.outcomes(plan)],
        rounds=list(zip(standing.open_rounds, seen.round_arms, strict=True)),
        last_told=seen.last_told,
        undoable=seen.undoable,
        saved=next((one for one in told if one[0].kind in SAVED), None),
        withdrawn={n: arm for n, arm in _withdrawn(events).items() if arm not in seen.round_arms},
        notice=notice,
        again=again,
        how_it_went=words.how_it_went(plan, folded_rounds(whole)) if whole else "",
        used_up=standing.rounds >= standing.horizon,
        context=asked_fields(plan, seen.own_context),
        where=words.where(plan, standing),
        tally=words.tally(plan, standing),
        points=points_by_state(plan, seen.facts),
        person_decides=seen.person_decides,
        states=seen.round_states,
        possible=_possible(plan, standing),
        tasks=[] if rings else _tasks(seen, ahead, plan),
        alarm=alarm_sentence(plan, rings),
        going_on=_going_on(plan, standing),
        said=_said(language),
        ahead=ahead,
        rings=rings,
        way=words.way_taken(plan, ahead.path, rings),
        ladder=_ladder(plan, words.mark(plan, standing, [*ahead.path, NOWHERE] if rings else ahead.path)),
        state_word=words.state_word,
        events=told,
        older=after,
    )


def _withdrawn(events: list[Event]) -> dict[str, str]:
    """The arms, by round, that are not to be given any more since the last report."""
    found: dict[str, str] = {}
    for event in reversed(events):
        if event.kind in (Told.kind, Missed.kind, Retold.kind):
            break
        if event.kind in (Harmed.kind, Corrected.kind, Undone.kind):
            found |= getattr(happening_of(event), "withdrawn", None) or {}
        if event.kind in (Corrected.kind, Undone.kind):
            break
    return found


def _possible(plan: Plan, standing: Standing) -> str:
    """How many kinds are still possible; their names are in the table below it."""
    if standing.possible is None:
        return ""
    return possible_sentence(standing.possible, len(plan.tasks), plan.vocabulary, most=0)


def _going_on(plan: Plan, standing: Standing) -> str:
    """What it costs to go on without the outcomes that are awaited."""
    found = standing.going_on
    if found is None:
        return ""
    cost = GoingOn(found.outcomes, plan.arms.index(found.arm), found.chance, found.loss, found.at_estimates)
    return cost_of_going_on(plan.vocabulary, cost, found.arm, plan.rewards.counts)


def _said(language: Language) -> dict[str, str]:
    """What the script of the page says by itself, with the places that it fills."""
    messages = {
        "updated": message("Updated: {name} worked on this case."),
        "lost": message("The service cannot be reached. Trying again."),
        "kept": message("Kept on this device: {what}. It is sent when the network is back."),
        "asks": message("Kept on this device: {what}. The log-in had ended, so it has not been sent."),
        "refused": message("{what} was not recorded: look at the case and report it again."),
        "seen": message("I have seen it"),
        "back": message("Take it back"),
        "send": message("Send it now"),
    }
    return {name: language.translated(text) for name, text in messages.items()}


def _tasks(seen: Seen, ahead: Outlook, plan: Plan) -> list[Task]:
    """The tasks with their chances, the likeliest first; those the plan has ruled out are marked."""
    left = set(plan.tasks if seen.standing.possible is None else seen.standing.possible)
    chances = {one.task: one.chance for one in ahead.chances or ()}
    if not chances:
        return [Task(name, None, "", True) for name in plan.tasks if name in left][:MOST_CHANCES]
    order = sorted(plan.tasks, key=lambda name: -chances[name])
    shown = {name: words.shown_chance(chances[name], plan.vocabulary) for name in order[:MOST_CHANCES]}
    return [Task(name, chances[name], said, name in left) for name, said in shown.items()]


def _ladder(plan: Plan, mark: Mark) -> Markup | None:
    """The picture with the way of the case, safe as it is: every text in it was escaped where it was made."""
    if plan.n_boxes > MOST_BOXES:
        return None
    info, note = (
        ladder_info(plan),
        plan.vocabulary.say("How cases get here, and at what cost, is on the page of the plan."),
    )
    return Markup(ladder_section(info, None, note, mark) + ladder_data(info, None, note))


@router.post("/cases/{id}/ask")
async def ask(request: Request, person: Operator, id: CaseId) -> Response:
    """Open the next round, or say why there is none."""
    steps = await _ask(request, person, id)
    return await _after(request, id, steps)


async def _ask(request: Request, person: Operator, id: str) -> list[StepOut]:
    given, plan = await fields(request), (await case_routes.seen(request, id)).followed.plan
    numbers = {name for name, levels in asked_fields(plan) if not levels}
    absent = {str(arm) for arm in (await request.form()).getlist("absent")}
    body: dict[str, Any] = {"n": whole(given, "n") or 1, "context": context_of(given, numbers)}
    body["wait"] = given.get("wait") != "no"
    if absent:
        body["available"] = [arm for arm in plan.arms if arm not in absent]
    return await case_routes.ask(request, person, id, shaped(Ask, body))


async def _plan_of(request: Request, id: str) -> Plan:
    """The plan of a case, in the language of whoever asks."""
    return in_language((await case_routes.seen(request, id)).followed.plan, spoken(request))


async def _after(request: Request, id: str, steps: list[StepOut]) -> Response:
    """The case with the next step in it, or with the reason why there is none."""
    if not steps or steps[0].outcome is None:
        return to(f"/cases/{id}#next")
    plan = await _plan_of(request, id)
    why = Outcome[steps[0].outcome.upper()].sentence(plan.vocabulary)
    return await _case_page(request, id, notice=why)


@router.post("/cases/{id}/tell")
async def tell(request: Request, person: Operator, id: CaseId) -> Response:
    """Report an outcome and, where the form says so, ask what comes next: one trip to the desk, one transaction.

    What comes soon after another report is asked about first.
    """
    given = await fields(request)
    following = Ask() if "ask" in given else None
    said = {"round": whole(given, "round"), "reward": reward_of(given), "arm": given.get("arm"), "ask": following}
    body = shaped(Tell, {**said, "harm": True if "harm" in given else None})
    if given.get("sure") != str(body.round) and (again := await _again(request, id, body, given)):
        return await _case_page(request, id, again=again)
    await case_routes.tell(request, person, id, body)
    return to(f"/cases/{id}#next")


async def _again(request: Request, id: str, told: Tell, given: dict[str, str]) -> Again | None:
    """What to ask about a report that follows another round at once, or that hardly any case gives; None otherwise."""
    if "typed" in given:
        plan, unusual = await _unusual(request, id, told)
        if unusual:
            no = plan.vocabulary.say("No, I will type it again")
            return Again("tell", given, unusual, _really(plan, told), no)
    last = await read(request, records.last_events, id, 2)
    before = next((event for event in last if event.kind in SAVED and event.round != told.round), None)
    if before is None or (datetime.now(UTC) - datetime.fromisoformat(before.at)).total_seconds() > SOON:
        return None
    plan = await _plan_of(request, id)
    why = plan.vocabulary.say("A moment ago: {before}", before=sentence_of(plan, before))
    return Again("tell", given, why, _really(plan, told), plan.vocabulary.say("No, it was one tap too many"))


def _really(plan: Plan, told: Tell) -> str:
    """Whether a report is meant."""
    say, outcome = plan.vocabulary.say, _outcome(plan, told)
    if told.arm:
        return say("Was round {round} ({arm}) really: {outcome}?", round=told.round, arm=told.arm, outcome=outcome)
    return say("Was round {round} really: {outcome}?", round=told.round, outcome=outcome)


def _outcome(plan: Plan, told: Tell | Correct) -> str:
    outcome = outcome_text(plan, None if isinstance(told.reward, str) else told.reward)
    words = plan.vocabulary
    return words.say("{outcome}, with {harm}", outcome=outcome, harm=harm_noun(words)) if told.harm else outcome


async def _unusual(request: Request, id: str, told: Tell | Correct) -> tuple[Plan, str]:
    """(the plan, why an outcome is hardly to be expected by what is known, or "")."""
    followed = (await case_routes.seen(request, id)).followed
    plan = in_language(followed.plan, spoken(request))
    known = None if followed.collection is None else usual_outcomes(followed.collection)
    if known is None or isinstance(told.reward, str) or known[0] <= told.reward <= known[1]:
        return plan, ""
    words = plan.vocabulary
    low, high = (words.number(float(f"{limit:.3g}")) for limit in known)
    values = {"low": low, "high": high, "given": words.number(told.reward)}
    return plan, words.say("Outcomes from {low} to {high} are to be expected, and {given} is none.", **values)


@router.post("/cases/{id}/undo")
async def undo(request: Request, person: Operator, id: CaseId) -> Response:
    """Take the last report back."""
    await case_routes.undo_case(request, person, id, shaped(Undo, {"round": whole(await fields(request), "round")}))
    return to(f"/cases/{id}#next")


@router.post("/cases/{id}/override")
async def override(request: Request, person: Operator, id: CaseId) -> Response:
    """Give an arm other than the plan's."""
    given = await fields(request)
    plan = (await case_routes.seen(request, id)).followed.plan
    numbers = {name for name, levels in asked_fields(plan) if not levels}
    body = {name: value for name, value in given.items() if name in ("arm", "reason")}
    context = {"round": whole(given, "round"), "context": context_of(given, numbers)}
    await case_routes.override_case(request, person, id, shaped(Override, {**body, **context}))
    return to(f"/cases/{id}#next")


@router.post("/cases/{id}/correct")
async def correct(request: Request, person: Operator, id: CaseId) -> Response:
    """Replace a wrong outcome."""
    given = await fields(request)
    body = {"round": whole(given, "round"), "reward": reward_of(given), "reason": given.get("reason", "")}
    harm = {"yes": True, "no": False}.get(given.get("harm", ""))
    asked = shaped(Correct, {**body, "given": "given" in given, "ask": True, "harm": harm})
    plan, unusual = await _unusual(request, id, asked)
    if unusual and given.get("sure") != str(asked.round):
        say, outcome = plan.vocabulary.say, _outcome(plan, asked)
        question = say("Is round {round} to be corrected to: {outcome}?", round=asked.round, outcome=outcome)
        again = Again("correct", given, unusual, question, say("No, I will type it again"))
        return await _case_page(request, id, again=again)
    await case_routes.correct_case(request, person, id, asked)
    return to(f"/cases/{id}#next")


@router.post("/cases/{id}/move")
async def move(request: Request, person: Operator, id: CaseId) -> Response:
    """Go on with a new case on the plan that replaced this one's, or without some arms from now on."""
    given: dict[str, Any] = dict(await fields(request))
    if given.pop("without", None):
        given["without"] = [str(arm) for arm in (await request.form()).getlist("without")]
    moved = await case_routes.move(request, person, id, shaped(MoveCase, given))
    return to(f"/cases/{moved.id}#next")


@router.post("/cases/{id}/arrange")
async def arrange(request: Request, person: Operator, id: CaseId) -> Response:
    """Change the label of a case, who looks after it, and when it is due."""
    given = await fields(request)
    body = {**dict.fromkeys(ARRANGED), **given, "every": whole(given, "every")}
    await case_routes.arrange(request, person, id, shaped(Arrange, body))
    return to(f"/cases/{id}")


@router.post("/cases/many")
async def change_many(request: Request, person: Operator) -> Response:
    """Hand over, plan the visits of, or move the cases that were chosen; those that cannot be are said."""
    given, form = await fields(request), await request.form()
    chosen = list(dict.fromkeys(str(id) for id in form.getlist("case")))
    if not chosen:
        raise Refused("Choose at least one case.")
    if len(chosen) > SHOWN_CASES:
        raise Refused(f"At most {SHOWN_CASES} cases can be changed at once. Got {len(chosen)}.")
    change = _change(given)
    problems = []
    for id in chosen:
        try:
            if change is None:
                await case_routes.move(request, person, id, MoveCase())
            else:
                await case_routes.arrange(request, person, id, change)
        except (InvalidInput, Refused, NotFound, Conflict) as problem:
            problems.append(f"{id}: {problem}")
    if problems:
        said = f"{len(chosen) - len(problems)} of {len(chosen)} cases were changed. {' '.join(problems)}"
        return page(request, "problem.html", 409, message=said, unchanged=len(problems) == len(chosen), back="/cases")
    return to(f"/cases?{urlencode({'state': 'open', 'changed': len(chosen)})}")


def _change(given: dict[str, str]) -> Arrange | None:
    """What is to be changed in the chosen cases; None where they are to be moved."""
    match given.get("do"):
        case "hand" if "owner" in given:
            return shaped(Arrange, {"owner": given["owner"]})
        case "day" if "due" in given:
            return shaped(Arrange, {"due": given["due"]})
        case "days" if "every" in given:
            return shaped(Arrange, {"every": whole(given, "every")})
        case "move":
            return None
        case _:
            raise Refused("Fill in the field beside the button that you pressed.")


@router.post("/cases/{id}/note")
async def note(request: Request, person: Operator, id: CaseId) -> Response:
    """Write something down."""
    await case_routes.note_case(request, person, id, shaped(Note, await fields(request)))
    return to(f"/cases/{id}#history")


@router.post("/cases/{id}/close")
async def close(request: Request, person: Operator, id: CaseId) -> Response:
    """End a case."""
    await case_routes.close_case(request, person, id, shaped(Close, await fields(request)))
    return to(f"/cases/{id}")


@router.post("/cases/{id}/reopen")
async def reopen(request: Request, person: Operator, id: CaseId) -> Response:
    """Go on with a case that was closed."""
    await case_routes.reopen_case(request, person, id, shaped(Reopen, await fields(request)))
    return to(f"/cases/{id}#next")


@router.post("/cases/{id}/erase")
async def erase(request: Request, person: Admin, id: CaseId) -> Response:
    """Erase the contents of a case, if its id was typed again."""
    if (await fields(request)).get("again") != id:
        raise Refused(f"To erase this case, type its id, {id}.")
    await case_routes.erase_case(request, person, id)
    return to(f"/cases/{id}")
