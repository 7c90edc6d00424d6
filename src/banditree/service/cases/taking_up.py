"""Taking up a case that was followed elsewhere: in the app of a plan, or with `banditree run`.

What is on record already must be how the file begins, or the file how the record begins; then nothing is doubled, and
an old file changes nothing. A case that went on in both places is refused.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from banditree.files.documents import parse
from banditree.files.sessions import CaseEvent, CaseFile
from banditree.policies.rounds import Missing, Round
from banditree.policies.snapshots import round_from_json
from banditree.service.cases.case import Case
from banditree.service.cases.desk import Transaction
from banditree.service.cases.events import (
    Asked,
    Closed,
    Corrected,
    Happening,
    Harmed,
    Missed,
    Noted,
    Overridden,
    Reopened,
    Restricted,
    Retold,
    Told,
    Undone,
    happening_of,
)
from banditree.service.problems import Conflict, Refused

NO_REASON = "not said"  # Of an override whose file gives none.
LONGEST_LABEL = 100  # Characters, as in the forms.
MOST_REPLAYED = 100_000  # Rounds that the corrections in one file may play again, since everybody waits meanwhile.
LONGEST = 2000  # A note or a reason has at most this many characters, as in the forms.
OPENS = (Asked, Overridden)
Dated = tuple[Happening, str | None]


def case_files(content: bytes, name: str) -> list[CaseFile]:
    """The cases in a file: one, or a list of some. name: of the file, after which a case is called that has no id."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise Refused(f"{name} is not JSON. Choose a case file of the app of a plan, or of banditree run.") from None
    _check_text(found, name)
    cases = [parse(CaseFile, one, name) for one in (found if isinstance(found, list) else [found])]
    for case in cases:
        case.id, case.label = _id_of(case.id or name.removesuffix(".json")), case.label or None
        if len(case.label or "") > LONGEST_LABEL:
            raise Refused(f"The label in {name} has more than {LONGEST_LABEL} characters. Shorten it.")
    return cases


def _check_text(found: object, name: str) -> None:
    """Refuse what a database does not store: the null character, and halves of characters."""
    text = json.dumps(found, ensure_ascii=False)
    if "\\u0000" in text or re.search("[\ud800-\udfff]", text):
        raise Refused(f"{name} has characters that are no text. Export the case again.")


def _id_of(given: str) -> str:
    """An id as the record has it; two names that differ never become one id, or two cases would become one.

    >>> _id_of("p-17"), _id_of("Bett ä"), _id_of("Bett ö")
    ('p-17', 'Bett---9f9f3edf', 'Bett---f161218e')
    """
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", given):
        return given
    digest = hashlib.sha256(given.encode()).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '-', given)[:55]}-{digest}"


def take_up(transaction: Transaction, actor: str, given: CaseFile) -> int:
    """Put on record what a case file has and the record has not; how many events that is."""
    followed = transaction.followed(given.plan)
    try:
        without = [followed.plan.arms[int(k)] for k in given.session.get("without", ())]
        rounds = [round_from_json(entry) for entry in given.session["rounds"]]
        told = _played_alone(Case(0, str(given.id), followed, None, "", None), without, given.events or (), rounds)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as problem:
        raise Refused(f"The case file of {given.id} does not fit its plan ({problem}). Nothing was taken.") from None
    case = transaction.start(actor, str(given.id), given.plan, given.label, without, by_chance=False)
    if case.erased:
        raise Conflict(f"Case {case.id} was erased.")
    new = _of_rounds(case, rounds) if given.events is None else _of_history(transaction, case, told)
    for happening, at in new:
        happening.change(case)
        case.record(actor, happening, _past(at))
    return len(new)


def _played_alone(
    case: Case, without: Sequence[str], events: Sequence[CaseEvent], rounds: Sequence[Round]
) -> list[Dated]:
    """All that a file tells, once it was seen to be possible; rounds that it has no events of were played elsewhere."""
    if sum(event.kind in ("corrected", "undone") for event in events) * len(rounds) > MOST_REPLAYED:
        raise ValueError("it has more corrections than can be played again at once")
    if without:
        case.turn_to(without)
    told: list[Dated] = []
    for event in events:
        for happening in _happenings(event, case):
            _change(case, happening)
            told.append((happening, event.at))
    for happening in _beyond(case, rounds):
        _change(case, happening)
        told.append((happening, None))
    if [(one.arm, one.reward) for one in case.session.rounds] != [(one.arm, one.reward) for one in rounds]:
        raise ValueError("its history leads to other rounds than it has")
    return told


def _of_rounds(case: Case, rounds: Sequence[Round]) -> list[Dated]:
    """What a file without a history has beyond the record."""
    for number, (there, here) in enumerate(zip(rounds, case.session.rounds, strict=False), 1):
        if there.arm != here.arm or (None not in (there.reward, here.reward) and there.reward != here.reward):
            raise Conflict(f"Round {number} of case {case.id} is another one in the file. Correct it by hand.")
    found = _beyond(case, rounds)
    if case.closed and any(isinstance(one, OPENS) for one in found):
        raise Conflict(f"Case {case.id} is closed, and the file goes on. Reopen it first.")
    return [(one, None) for one in found]


def _of_history(transaction: Transaction, case: Case, told: list[Dated]) -> list[Dated]:
    """What the history in a file has beyond the record."""
    known = [happening_of(event) for event in (*transaction.events(case), *case.new)]
    here = [one for one in known if not isinstance(one, Restricted)]
    shared = min(len(here), len(told))
    if here[:shared] != [one for one, _ in told[:shared]]:
        raise Conflict(f"Case {case.id} went on here and in the file. Enter by hand what is missing here.")
    return told[shared:]


def _happenings(event: CaseEvent, case: Case) -> Iterator[Happening]:
    """An event of a file as what the record has for it."""
    reason, round = (event.text or "").strip()[:LONGEST], event.round or 0
    withdrawn = {str(one["round"]): str(one["arm"]) for one in event.withdrawn or ()} or None
    context = event.context if isinstance(event.context, list) else None
    named = event.context if isinstance(event.context, dict) else None
    if event.kind in ("told", "missing"):
        yield _report(case, round, event.reward if event.kind == "told" else None)
    elif event.kind == "corrected":
        yield Corrected(round, reason or NO_REASON, event.reward, withdrawn)
    elif event.kind == "asked":
        yield Asked(round, str(event.arm), context, named)
    elif event.kind == "overridden":
        yield Overridden(round, str(event.arm), reason or NO_REASON, context, named)
    else:
        plain = {"undone": Undone(round, withdrawn), "noted": Noted(reason), "closed": Closed(reason or None)}
        yield plain.get(event.kind) or Reopened(reason or NO_REASON)
    reports = event.kind in ("told", "missing", "corrected")
    if reports and event.harm is not None and event.harm != bool(case.session.rounds[round - 1].harm):
        yield Harmed(round, event.harm, None if event.kind == "corrected" else withdrawn)


def _report(case: Case, round: int, reward: float | None) -> Happening:
    """A first report of a round, or one after an undo."""
    if round in case.undone:
        return Retold(round, reward is not None, reward)
    return Missed(round) if reward is None else Told(round, float(reward))


def _beyond(case: Case, rounds: Sequence[Round]) -> list[Happening]:
    """What rounds have beyond those of a case: others opened, outcomes told, harm."""
    here, arms, found = case.session.rounds, case.session.arms, list[Happening]()
    for number, entry in enumerate(rounds, 1):
        known = here[number - 1] if number <= len(here) else None
        if known is None and entry.overridden:
            found.append(Overridden(number, arms[entry.arm], NO_REASON, entry.context))
        elif known is None:
            found.append(Asked(number, arms[entry.arm], entry.context))
        if entry.reward is not None and (known is None or known.reward is None):
            found.append(_report(case, number, None if isinstance(entry.reward, Missing) else entry.reward))
        if entry.harm and not (known and known.harm):
            found.append(Harmed(number, True))
    return found


def _change(case: Case, happening: Happening) -> None:
    """Let it happen to the case, if it can."""
    n, number = len(case.session.rounds), getattr(happening, "round", 1)
    is_new = isinstance(happening, Asked) or (isinstance(happening, Overridden) and number > n)
    if (is_new and not number == n + 1 <= case.session.horizon) or not (is_new or 1 <= number <= max(n, 1)):
        raise ValueError(f"round {number} cannot follow {n} rounds")
    if isinstance(happening, Told | Missed | Retold) and case.session.rounds[number - 1].reward is not None:
        raise ValueError(f"round {number} has its outcome already")
    _check_withdrawn(case, getattr(happening, "withdrawn", None))
    if isinstance(happening, Told) and happening.reward is not None:
        case.session.rewards.check(happening.reward)
    happening.change(case)


def _check_withdrawn(case: Case, withdrawn: Mapping[str, str] | None) -> None:
    """Refuse to take back what are not the open rounds at the end."""
    if withdrawn:
        first = min(map(int, withdrawn))
        last = list(enumerate(case.session.rounds, 1))[max(first, 1) - 1 :]
        is_open = all(one.reward is None for _, one in last)
        if not is_open or withdrawn != {str(n): case.session.arms[one.arm] for n, one in last}:
            raise ValueError("it takes rounds back that are not open")


def _past(at: str | None) -> str | None:
    """A time as it is kept; None where the file gives none, or one that has not come."""
    try:
        moment = datetime.fromisoformat(at or "").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return (
        moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(len("2026-01-05T08:00:00.000000Z"))
        if moment <= datetime.now(UTC)
        else None
    )
