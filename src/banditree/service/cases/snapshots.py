"""Long cases: a snapshot now and then, so that a case which is not in memory costs the same at any length.

A snapshot holds where the case stands, its last rounds and its outlook, not its history. What needs an older round
(correcting one, or reporting one again) raises `Forgotten`, and the case is folded from its events after all.
"""

import json
from collections.abc import Iterator
from typing import Any, SupportsIndex, overload

from banditree.policies.rounds import Round
from banditree.policies.session import Session
from banditree.policies.snapshots import fill_state, round_from_json, round_to_json, state_to_json
from banditree.service.cases.case import Arranged, Case, Report
from banditree.service.cases.outlook import ahead_document, ahead_from
from banditree.version import __version__

EVERY = 256  # Events between two snapshots: folding that many takes about 25 ms.
KEPT = 128  # A snapshot keeps this many of the last rounds with an outcome, for reports that are sent again.


class Forgotten(Exception):
    """The case is needed from its beginning, and only its end is in memory."""


class LastRounds(list[Round]):
    """The rounds of a case from number `n_before` + 1 on, in the places they have among all its rounds."""

    def __init__(self, n_before: int, rounds: list[Round]) -> None:
        super().__init__(rounds)
        self.n_before = n_before

    def __len__(self) -> int:
        return self.n_before + super().__len__()

    def __iter__(self) -> Iterator[Round]:
        raise Forgotten

    @overload
    def __getitem__(self, index: SupportsIndex) -> Round: ...

    @overload
    def __getitem__(self, index: slice) -> list[Round]: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            return super().__getitem__(slice(self._place(start), stop - self.n_before)) if start < stop else []
        return super().__getitem__(self._place(index))

    def __setitem__(self, index: Any, entry: Any) -> None:
        super().__setitem__(self._place(index), entry)

    def _place(self, index: int) -> int:
        if index < self.n_before:
            raise Forgotten
        return index - self.n_before


class LastSession(Session):
    """A session of which only the end is in memory. strayed: the rounds before that were not as planned."""

    strayed: tuple[int, ...] = ()

    @property
    def off_plan_rounds(self) -> list[int]:
        """The rounds whose arm was not the policy's."""
        rounds = self.rounds
        assert isinstance(rounds, LastRounds)
        kept = rounds[rounds.n_before :]
        return [*self.strayed, *strays(kept, rounds.n_before, self.n_applied)]

    def correct(self, reward: Any, round: int, *, harm: bool | None = None) -> None:
        """A case that is played again is needed from its beginning."""
        raise Forgotten

    def _play_again(self) -> None:
        raise Forgotten


def strays(rounds: list[Round], n_before: int, n_applied: int) -> list[int]:
    """The numbers of those of these rounds whose arm was not the policy's."""
    return [number for number, entry in enumerate(rounds, n_before + 1) if entry.strayed(number <= n_applied)]


def snapshot_document(case: Case) -> str:
    """A case as its snapshot."""
    session = case.session
    first = max(session.n_applied - KEPT, getattr(session.rounds, "n_before", 0))
    off_plan = [number for number in session.off_plan_rounds if number <= first]
    content = {
        "made_by": __version__,
        "policy": session.policy.name,
        "without": case.without,
        "closed": case.closed,
        "last_report": case.last_report,
        "arranged": case.arranged,
        "opened": case.times,
        "visited": case.visited,
        "undone": sorted(case.undone),
        "n_applied": session.n_applied,
        "n_before": first,
        "off_plan": off_plan,
        "rounds": [round_to_json(entry) for entry in session.rounds[first:]],
        "state": state_to_json(session.state),
        "barred": sorted(session.barred),
        "turned_at": session.turned_at,
        "ahead": ahead_document(case),
    }
    return json.dumps(content)


def fill_from_snapshot(case: Case, seq: int, text: str) -> bool:
    """Bring a new case to where its snapshot was taken; False where another version took it."""
    content = json.loads(text)
    if content["made_by"] != __version__ or content["policy"] != case.session.policy.name:
        return False
    case.turn_to(content["without"])
    before = case.session
    costs = before.waiting_costs
    session = LastSession(before.policy, before.subject, horizon=before.horizon, waiting_costs=costs)
    session.without = before.without
    session.rounds = LastRounds(content["n_before"], [round_from_json(entry) for entry in content["rounds"]])
    session.n_applied, session.strayed = content["n_applied"], tuple(content["off_plan"])
    case.may_turn(session)
    if content["barred"]:
        session.bar(set(content["barred"]))
    session.turned_at = content["turned_at"]
    fill_state(session.state, content["state"])
    case.session, case.closed, case.undone = session, content["closed"], set(content["undone"])
    case.last_report = None if content["last_report"] is None else Report(*content["last_report"])
    case.arranged, case.visited = Arranged(*content["arranged"]), content["visited"]
    case.opened = {int(number): at for number, at in content["opened"].items()}
    case.turn_page()
    case.ahead = ahead_from(case, content["ahead"])
    case.seq = case.snapshot_seq = seq
    return True


def is_snapshot(case: Case, seq: int, text: str) -> bool:
    """Whether a snapshot is of this case as it is now; one of another version is never used, so it does not matter."""
    content = json.loads(text)
    return content["made_by"] != __version__ or (seq == case.seq and content == json.loads(snapshot_document(case)))
