"""The routes that clinical systems call: what is offered, a chart that was opened, what came of the cards."""

import asyncio

from fastapi import APIRouter, Request, Response

from banditree.service.cases.desk import Transaction
from banditree.service.edge.models import Done
from banditree.service.edge.once import FIELD
from banditree.service.edge.replies import decide, look, read, reply
from banditree.service.people.senders import Operator, Viewer
from banditree.service.point_of_care.cards import (
    Places,
    card_about,
    case_card,
    linked_cases,
    take_answer,
    unknown_card,
)
from banditree.service.point_of_care.models import (
    Answered,
    Card,
    Cards,
    Feedback,
    Hooked,
    Opened,
    Service,
    Services,
)
from banditree.service.point_of_care.systems import SERVICES, Systems
from banditree.service.problems import NotFound
from banditree.service.store import records
from banditree.service.store.people import Person

router = APIRouter(prefix=SERVICES, include_in_schema=False)
NEEDED = "The Patient has an identifier of the system {where} for each case; its value is the id of the case."


def _places(request: Request) -> Places:
    systems: Systems | None = request.app.state.systems
    if systems is None:
        raise NotFound("No clinical system may ask here. Say which ones may with cds_clients.")
    return Places(systems.public_url)


def _answer(request: Request, content: Hooked | None) -> Response:
    """An answer that also a page of a known system may read, whose address is its origin."""
    origin, headers = request.headers.get("origin", ""), {}
    if request.app.state.systems is not None and origin in request.app.state.systems.by_issuer:
        allowed = {"origin": origin, "methods": "GET, POST", "headers": "authorization, content-type"}
        headers = {f"access-control-allow-{name}": value for name, value in allowed.items()} | {"vary": "origin"}
    text = None if content is None else content.model_dump_json(by_alias=True, exclude_none=True)
    return Response(text, 200, headers, "application/json")


@router.get("")
async def list_services(request: Request, person: Viewer) -> Response:
    """The one service there is."""
    needed = NEEDED.format(where=_places(request).identifiers)
    return _answer(request, Services(services=[Service(usage_requirements=needed)]))


@router.options("{rest:path}")
async def ask_first(request: Request, rest: str) -> Response:
    """A browser asks whether a page of another site may call."""
    return _answer(request, None)


@router.post("/next-step")
async def show_next_step(request: Request, person: Viewer, body: Opened) -> Response:
    """A card for each case of the patient whose chart was opened."""
    places = _places(request)
    ids = linked_cases(body, places)
    request.state.read = f"next step of {', '.join(ids)}" if ids else None
    found = await asyncio.gather(*(_card(request, id, places) for id in ids))
    return _answer(request, Cards(cards=[card for card in found if card is not None]))


async def _card(request: Request, id: str, places: Places) -> Card | None:
    def act(transaction: Transaction) -> Card | None:
        return case_card(transaction.case(id), places)

    try:
        card: Card | None = await look(request, act, (id,))
    except NotFound:
        return unknown_card(id, places)
    return card


@router.post("/next-step/feedback")
async def take_feedback(request: Request, person: Operator, body: Feedback) -> Response:
    """What people did with cards: on record with the cases, once however often it is sent."""
    _places(request)
    setattr(request.state, FIELD, "feedback")
    about = [card_about(one.card) for one in body.feedback]
    names = await read(request, records.case_ids, [number for number, _ in about])
    if missing := [one.card for one, (number, _) in zip(body.feedback, about, strict=True) if number not in names]:
        raise NotFound(f"There was no card {missing[0]!r}.")
    for one, (number, seq) in zip(body.feedback, about, strict=True):
        await _take(request, person, names[number], one, seq)
    return reply(Done(done=True))


async def _take(request: Request, person: Person, id: str, answered: Answered, seq: int) -> Done:
    def act(transaction: Transaction) -> Done:
        take_answer(transaction.case(id), person.name, answered, seq)
        return Done(done=True)

    done: Done = await decide(request, act, (id,))
    return done
