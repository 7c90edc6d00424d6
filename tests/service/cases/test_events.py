"""One class per kind of event: it is written, read, folded, exported and worded from there alone."""

from dataclasses import dataclass, fields

import pytest
from running_service import add_signed_plan, clinic_plan, do, local

from banditree.files.plans import fingerprint
from banditree.service.cases import events
from banditree.service.cases.desk import Desk
from banditree.service.cases.events import KINDS, Event, Happening, columns_of, happening_of, sentence_of
from banditree.service.store import records
from banditree.service.store.database import Database
from banditree.service.store.schema import EVENT_KIND, OUTCOMES

PLAN = clinic_plan()
ONE_OF_EACH = [
    events.Restricted(["A", "B"]),
    events.Asked(1, "A"),
    events.Asked(1, "A", [1.0, 2.5], {"dose": 2.5}),
    events.Told(1, 1.0),
    events.Missed(2),
    events.Overridden(2, "B", "no A left"),
    events.Overridden(2, "B", "no A left", [1.0, 2.5], {"dose": 2.5}),
    events.Harmed(1, True),
    events.Harmed(1, False, {"2": "A"}),
    events.Corrected(1, "typed wrongly", 0.0),
    events.Corrected(1, "typed wrongly"),
    events.Corrected(1, "typed wrongly", 1.0, {"2": "A", "3": "B"}),
    events.Undone(1),
    events.Undone(1, {"2": "A"}),
    events.Retold(1, True, 1.0),
    events.Retold(1, False),
    events.Noted("zoë: ✓"),
    events.Renamed(True, "bed 9"),
    events.Renamed(False),
    events.Handed(True, "ada"),
    events.Handed(False),
    events.Scheduled(True, "2026-05-04", 7),
    events.Scheduled(True, every=1),
    events.Scheduled(False),
    events.Closed(),
    events.Closed("moved away"),
    events.Reopened("closed by mistake"),
    events.Erased(),
]
SENTENCES = [
    "Must not get A or B.",
    "Round 1: give A.",
    "Round 1: give A. dose: 2.5.",
    "Round 1: success.",
    "Round 2: the outcome will not be known.",
    "Round 2: B in place of the plan's arm. Reason: no A left",
    "Round 2: B in place of the plan's arm. Reason: no A left",
    "Round 1: harm.",
    "Round 1: no harm. Withdrawn: round 2, give A.",
    "Round 1 corrected: it was failure. Reason: typed wrongly",
    "Round 1 corrected: it was not known. Reason: typed wrongly",
    "Round 1 corrected: it was success. Withdrawn: round 2, give A, round 3, give B. Reason: typed wrongly",
    "Round 1: the report was undone.",
    "Round 1: the report was undone. Withdrawn: round 2, give A.",
    "Round 1, reported again: success.",
    "Round 1, reported again: the outcome will not be known.",
    "Note: zoë: ✓",
    "Its label is now bed 9.",
    "It has no label any more.",
    "Handed over to ada.",
    "Nobody in particular looks after it any more.",
    "The next visit is on 4 May 2026. A visit every 7 days.",
    "A visit every day.",
    "Visits are due as the plan says.",
    "Closed.",
    "Closed. Reason: moved away",
    "Reopened. Reason: closed by mistake",
    "Erased.",
]


def recorded(happening, seq=1):
    return Event(seq=seq, **columns_of(happening), at="2026-03-01T09:30:00.000000Z", actor="ada")


def test_every_kind_is_in_the_samples():
    assert {one.kind for one in ONE_OF_EACH} == set(KINDS)


@pytest.mark.parametrize(("happening", "sentence"), list(zip(ONE_OF_EACH, SENTENCES, strict=True)))
def test_what_is_written_is_read_and_worded(happening, sentence):
    assert happening_of(recorded(happening)) == happening
    assert sentence_of(PLAN, recorded(happening)) == sentence


@pytest.mark.parametrize("happening", ONE_OF_EACH)
def test_erased_content_is_not_made_up(happening):
    blank = recorded(happening)._replace(arm=None, reward=None, details=None)
    needed = {field.name for field in fields(happening)} - {"round", "context", "given", "withdrawn"}
    said = sentence_of(PLAN, blank)
    assert "None" not in said
    if needed and not isinstance(happening, events.Closed):
        assert happening_of(blank) is None
        assert said == f"{happening.kind.capitalize()}; what it said was erased."


def test_the_database_knows_which_kinds_report_an_outcome():
    text = str(OUTCOMES.compile(compile_kwargs={"literal_binds": True}))
    assert text == "events.kind IN ('told', 'missing')"


@dataclass(frozen=True)
class Moved(Happening):
    kind = "moved to another ward of the house"
    ward: str

    def change(self, case):
        case.label = self.ward

    def sentence(self, plan):
        return f"Moved to {self.ward}."


def test_a_new_kind_is_one_class(database_url, monkeypatch):
    monkeypatch.setitem(KINDS, Moved.kind, Moved)
    database = Database(local(database_url))
    desk = Desk(database)
    plan = do(desk, lambda tx: add_signed_plan(tx.connection, "ada", "x", fingerprint(PLAN), PLAN, None), alone=True)
    do(desk, lambda tx: tx.start("ada", "c", plan, "bed 1"), "c")
    do(desk, lambda tx: tx.case("c")._record("ada", Moved("ward 7")), "c")
    assert do(Desk(database), lambda tx: tx.case("c").label, "c") == "ward 7"
    with database.read() as connection:
        (line,) = records.history(connection, "c", 0, 10)
        assert sentence_of(PLAN, line) == "Moved to ward 7."
        assert [row[3] for row in records.event_rows(connection)] == [Moved.kind]
    database.close()


def test_names_of_kinds_fit_the_column():
    assert max(map(len, KINDS)) <= EVENT_KIND.length
