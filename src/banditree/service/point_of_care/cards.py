"""Which cases a patient's record leads to, what a card says of a case, and which case a card was about."""

import re
import secrets
from typing import NamedTuple
from uuid import UUID, uuid4

from banditree.errors import InvalidInput
from banditree.plans.words import capital
from banditree.policies.rounds import Step
from banditree.service.cases.case import Case
from banditree.service.cases.standings import standing
from banditree.service.point_of_care.models import Answered, Card, Coding, Link, Opened, Reason, Source, Suggestion
from banditree.service.problems import NotFound, Refused

MOST_CASES = 10  # Of one patient, the cards of at most this many cases are shown.
LONGEST_SUMMARY = 139  # The standard wants fewer than 140 characters.
MOST_REASONS = 20  # Of a plan of more arms, none is offered as one that was given in place of the plan's.
CASE_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MARKS = re.compile(r"([\\`*_\[\]<>|~#])")  # What Markdown takes for a mark.
RANDOM_BITS = 58  # What the number of a case and of its event leave of a UUID.
OTHER_REASONS = {"not-given": "Nothing was given", "other": "For another reason"}


class MissingPatient(Refused):
    """The patient was not sent along, and the service reads nothing from other servers."""

    status, code = 412, "patient_missing"


class Places(NamedTuple):
    """The addresses that are said of things on record."""

    public_url: str

    @property
    def identifiers(self) -> str:
        """The system of the identifier of a patient whose value is the id of a case."""
        return f"{self.public_url}/cases"

    def case(self, id: str) -> str:
        """The page of a case."""
        return f"{self.identifiers}/{id}"

    def plan(self, id: str) -> str:
        """The page of a plan."""
        return f"{self.public_url}/plans/{id}"


def linked_cases(opened: Opened, places: Places) -> list[str]:
    """The ids of the cases that the patient's record names by our own identifier; nothing else in it is looked at."""
    patient = (opened.prefetch or {}).get("patient")
    if patient is None:
        raise MissingPatient("prefetch.patient must be the Patient of the context: nothing is read from FHIR servers.")
    kind = patient.get("resourceType") if isinstance(patient, dict) else patient
    if kind != "Patient":
        raise Refused(f"prefetch.patient must be a FHIR resource of the type Patient. Got {str(kind)[:60]!r}.")
    if patient.get("id") != opened.context.patient_id:
        raise Refused("prefetch.patient must be the patient of the context. Got a Patient with another id.")
    found = patient.get("identifier") or []
    if not isinstance(found, list):
        raise Refused("prefetch.patient must have a list as its identifier.")
    ours = [one for one in found if isinstance(one, dict) and one.get("system") == places.identifiers]
    ids = [one.get("value") for one in ours if one.get("use") != "old"]
    if not all(isinstance(id, str) and CASE_ID.fullmatch(id) for id in ids):
        raise Refused(f"The value of an identifier of {places.identifiers} must be the id of a case.")
    return list(dict.fromkeys(map(str, ids)))[:MOST_CASES]


def unknown_card(id: str, places: Places) -> Card:
    """That a patient's record names a case which is not here, as far as this system may know."""
    return Card(
        uuid=str(uuid4()),
        summary=_short(f"There is no case {id}"),
        detail=f"The record names the case {_plain(id)}, which is not here. Correct the identifier in the record.",
        indicator="warning",
        source=Source(label="banditree", url=places.public_url),
        links=[],
    )


def case_card(case: Case, places: Places) -> Card | None:
    """The next step of a case and why, without its label; None where it has ended. Showing it opens no round."""
    if case.state != "open":
        return None
    found, words = standing(case), case.followed.plan.vocabulary
    step, rings = _next(case), case.rings
    card = Card(
        uuid=card_id(case),
        summary=_short(_summary(case, step)),
        detail=_plain(
            " ".join(filter(None, (found.alarm.message if rings and found.alarm else "", found.description)))
        ),
        indicator="warning" if rings or step is None or step.name is None else "info",
        source=Source(label="banditree", url=places.plan(found.plan)),
        links=[Link(label="Open the case", url=places.case(case.id))],
    )
    if step is not None and step.name is not None:
        say = f"{capital(words.give)} {step.name}"
        card.suggestions, card.selection_behavior = [Suggestion(label=say, uuid=str(uuid4()))], "at-most-one"
        card.override_reasons = _reasons(case, step.name, places)
    return card


def _next(case: Case) -> Step | None:
    """The open round, or the one that would be opened next; None where that depends on a context."""
    try:
        return case.preview()
    except InvalidInput:
        return None


def _summary(case: Case, step: Step | None) -> str:
    if step is None:
        return f"Open the case: what comes next depends on {', '.join(case.session.looks)}"
    if step.name is None:
        return str(step)
    n_open = len(case.session.open_rounds)
    which = f"{n_open} rounds are open" if n_open > 1 else f"round {step.round} of {case.session.horizon:,}"
    return f"{capital(case.followed.plan.vocabulary.give)} {case.gives or step.name} ({which})"


def _reasons(case: Case, arm: str, places: Places) -> list[Coding]:
    plan, reasons = case.followed.plan, []
    others = [other for other in plan.arms if other != arm and other not in case.never]
    if len(others) <= MOST_REASONS:
        arms = f"{places.plan(case.followed.id)}/arms"
        reasons = [Coding(code=other, system=arms, display=f"{other} was given instead") for other in others]
    return reasons + [
        Coding(code=code, system=f"{places.public_url}/cds-services/reasons", display=said)
        for code, said in OTHER_REASONS.items()
    ]


def card_id(case: Case) -> str:
    """The id of a new card: a UUID (version 8) of the case's number, the number of its last event, and chance."""
    number = case.number << 90 | case.seq << RANDOM_BITS | secrets.randbits(RANDOM_BITS)
    first, second, third = number >> 74, number >> 62 & 0xFFF, number & (1 << 62) - 1
    return str(UUID(int=first << 80 | 8 << 76 | second << 64 | 2 << 62 | third))


def card_about(id: str) -> tuple[int, int]:
    """(number of the case that a card was about, number of the case's last event then)."""
    try:
        whole = UUID(id)
    except ValueError:
        raise NotFound(f"There was no card {id!r}.") from None
    number = whole.int >> 80 << 74 | (whole.int >> 64 & 0xFFF) << 62 | whole.int & (1 << 62) - 1
    if whole.version != 8 or number >> 90 >= 1 << 31:
        raise NotFound(f"There was no card {id!r}.")
    return number >> 90, number >> RANDOM_BITS & 0xFFFF_FFFF


def take_answer(case: Case, actor: str, answered: Answered, seq: int) -> None:
    """Record what came of a card that was shown after the event `seq` of a case.

    If nothing has happened since, a card that was accepted opens its round, and one that was overridden since another
    arm was given records that arm. Whatever else there is to say is a note.
    """
    shown = _next(case) if case.state == "open" and case.seq == seq else None
    why, at = _why(answered), answered.outcome_timestamp
    when = "" if at is None else f", {at:%Y-%m-%d %H:%M}"
    case.note(actor, f"At the point of care the next step was {answered.outcome}{when}.{why and f' {why}'}")
    if shown is None or shown.name is None:
        return
    if answered.outcome == "accepted":
        case.ask(actor, 1, None, None)
    elif (arm := _given_instead(case, answered)) not in (None, shown.name):
        case.override(actor, str(arm), why, shown.round if case.session.open_rounds else None, None)


def _why(answered: Answered) -> str:
    given = answered.override_reason or Reason()
    code = None if given.reason is None else f"{given.reason.display or given.reason.code}."
    return " ".join(filter(None, (code, given.user_comment)))


def _given_instead(case: Case, answered: Answered) -> str | None:
    """The arm of the plan that a reason of ours names."""
    reason = (answered.override_reason or Reason()).reason
    if reason is None or not (reason.system or "").endswith(f"/plans/{case.followed.id}/arms"):
        return None
    return reason.code if reason.code in case.followed.plan.arms else None


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SUMMARY else f"{text[: LONGEST_SUMMARY - 3]}..."


def _plain(text: str) -> str:
    """Text in which Markdown sees no marks: names of options are shown as they are."""
    return MARKS.sub(r"\\\1", text)
