"""One table of cases: what each was given, round by round and in order, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen
from banditree.tasks.contexts import Feature

BY_ROUND = ("outcomes", "arm", "chances", "every_chance", "contexts", "at", "overridden", "box")
NO_BOX = -1  # In place of a box: the plan did not give the arm of that round.


class Seen(NamedTuple):
    """One round of a case: reward NaN where it is not known (yet); at: the day its outcome was told, as a number."""

    case: str
    round: int
    arm: int
    reward: float
    at: float
    overridden: bool = False


def _not_said() -> Any:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Cases:
    """U cases with R rounds in all, those of a case together and in order; only the first four must be given.

    first: (U + 1,), the rounds of case u are first[u] to first[u + 1] - 1. outcomes: (R, K), what each arm gave or
    would have given in that round, NaN where that is unknown. Where rounds have several known outcomes, any policy can
    be replayed; where they have one, the log must be used with care. arm: (R,), the arm given, by default the one whose
    outcome is known. chances: (R,), the chance that the given arm had; every_chance: (R, K), that of every arm, where
    it is known. contexts: (R, d). at: (R,), the day of the outcome, since 1970 (UTC, with fractions), or NaN.
    overridden: (R,), whether a person decided otherwise than the plan. box: (R,), where the plan gave that arm, NO_BOX
    where it did not. began: (U,), the day on which each case began, by default that of its first outcome. labels: for
    each name the text (U,) of each case, such as its site.

    >>> cases_of(["ann", "ann", "bob"], ["A", "B"], [[1, 0], [0, 1], [np.nan, 1]]).n_rounds.tolist()
    [2, 1]
    """

    cases: tuple[str, ...]
    arms: tuple[str, ...]
    first: IntArray
    outcomes: FloatArray
    arm: IntArray = field(default_factory=_not_said)
    chances: FloatArray | None = None
    every_chance: FloatArray | None = None
    contexts: FloatArray | None = None
    at: FloatArray = field(default_factory=_not_said)
    overridden: BoolArray = field(default_factory=_not_said)
    box: IntArray = field(default_factory=_not_said)
    began: FloatArray = field(default_factory=_not_said)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    features: tuple[Feature, ...] = ()  # of the contexts, where the log was read with them

    def __post_init__(self) -> None:
        R = len(self.outcomes)
        self._freeze("first", self.first, np.int64)
        self._freeze("outcomes", self.outcomes, float)
        self._freeze("arm", self._given(), np.int64)
        self._freeze("at", self.at if len(self.at) == R else np.full(R, np.nan), float)
        self._freeze("overridden", self.overridden if len(self.overridden) == R else np.zeros(R), bool)
        self._freeze("box", self.box if len(self.box) == R else np.full(R, NO_BOX), np.int64)
        self._freeze("began", self.began if len(self.began) == self.n_cases else self._first_days(), float)
        for name in ("chances", "every_chance", "contexts"):
            if getattr(self, name) is not None:
                self._freeze(name, getattr(self, name), float)

    def _freeze(self, name: str, values: Any, kind: Any) -> None:
        object.__setattr__(self, name, frozen(values, kind))

    def _given(self) -> Any:
        """The arm given, as it was said unless the outcomes say otherwise."""
        known = self.known
        found = known.argmax(axis=1)
        if len(self.arm) != len(known):
            return found
        contradicted = known.any(axis=1) & ~known[np.arange(len(known)), self.arm]
        return np.where(contradicted, found, self.arm)

    def _first_days(self) -> FloatArray:
        days = np.full(self.n_cases, np.nan)
        np.fmin.at(days, self.owner, self.at)
        return days

    @property
    def n_cases(self) -> int:
        """U."""
        return len(self.cases)

    @property
    def n_rounds(self) -> IntArray:
        """The rounds (U,) of each case."""
        return np.diff(self.first)

    @property
    def known(self) -> BoolArray:
        """Whether the outcome of an arm in a round is known (R, K)."""
        return ~np.isnan(self.outcomes)

    @property
    def is_full(self) -> bool:
        """Whether rounds have the outcomes of several arms, so that any policy can be replayed."""
        return bool((self.known.sum(axis=1) > 1).any())

    @property
    def owner(self) -> IntArray:
        """The number of the case (R,) that each round belongs to."""
        return np.repeat(np.arange(self.n_cases), self.n_rounds)

    @property
    def place(self) -> IntArray:
        """The number of each round (R,) within its case, from 0."""
        return np.arange(len(self.outcomes)) - self.first[self.owner]

    @property
    def reward(self) -> FloatArray:
        """The outcome (R,) of the arm that was given."""
        return np.asarray(self.outcomes[np.arange(len(self.arm)), self.arm])

    @property
    def told(self) -> BoolArray:
        """Whether the outcome (R,) of the arm that was given is known."""
        return ~np.isnan(self.reward)

    @property
    def planned(self) -> BoolArray:
        """Whether the case (R,) had gone as planned up to and with this round."""
        strayed = np.append(0, np.cumsum(self.box == NO_BOX))
        return np.asarray(strayed[1:] == strayed[self.first[:-1]][self.owner])


def cases_of(case: Sequence[Any], arms: Sequence[str], outcomes: Any, **more: Any) -> Cases:
    """The table of rounds held in memory: the case of each round (R,) and the outcomes (R, K); cases in any order.

    more: other columns of `Cases`, with a value per round.
    """
    table = np.asarray(outcomes, float)
    if table.shape != (len(case), len(arms)):
        raise invalid("outcomes", f"of shape {(len(case), len(arms))}", table.shape)
    names = tuple(dict.fromkeys(map(str, case)))
    number = {name: u for u, name in enumerate(names)}
    owner = np.array([number[str(name)] for name in case], np.int64)
    order = np.argsort(owner, kind="stable")
    more = {name: np.asarray(more[name])[order] if name in BY_ROUND else more[name] for name in more}
    return Cases(names, tuple(map(str, arms)), _starts(owner, len(names)), table[order], **more)


def table_of(
    rounds: Sequence[Seen],
    arms: Sequence[str],
    *,
    began: Mapping[str, float] | None = None,
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> Cases:
    """The table of rounds in any order. began: the day of each case; labels: for each name, that of each case.

    >>> table_of([Seen("ann", 2, 1, 1.0, 6.0), Seen("ann", 1, 0, 0.0, 5.0)], ["A", "B"]).arm.tolist()
    [0, 1]
    """
    ordered = sorted(rounds, key=lambda one: one.round)
    arm = np.array([one.arm for one in ordered], np.int64)
    outcomes = np.full((len(ordered), len(arms)), np.nan)
    outcomes[np.arange(len(ordered)), arm] = [one.reward for one in ordered]
    more = {name: np.array([getattr(one, name) for one in ordered]) for name in ("at", "overridden")}
    found = cases_of([one.case for one in ordered], arms, outcomes, arm=arm, **more)
    texts = {name: tuple(given.get(case, "") for case in found.cases) for name, given in (labels or {}).items()}
    days = found.began if began is None else np.array([began[case] for case in found.cases])
    return replace(found, began=days, labels=texts)


def _starts(owner: IntArray, n_cases: int) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n_cases))]).astype(np.int64)


def only_rounds(cases: Cases, rounds: IntArray) -> Cases:
    """The table with these rounds, in this order, those of a case together; every case stays, be it without rounds."""
    values = {name: getattr(cases, name) for name in BY_ROUND}
    some: dict[str, Any] = {name: None if value is None else value[rounds] for name, value in values.items()}
    return replace(cases, first=_starts(cases.owner[rounds], cases.n_cases), **some)


def only_cases(cases: Cases, chosen: IntArray) -> Cases:
    """The table of some of the cases, in the order given."""
    spans = [np.arange(cases.first[u], cases.first[u + 1]) for u in chosen]
    some = only_rounds(cases, np.concatenate([np.zeros(0, np.int64), *spans]))
    return replace(
        some,
        cases=tuple(cases.cases[u] for u in chosen),
        first=np.concatenate([[0], np.cumsum(cases.n_rounds[chosen])]),
        began=cases.began[chosen],
        labels={name: tuple(texts[u] for u in chosen) for name, texts in cases.labels.items()},
    )


def only_arms(cases: Cases, kept: IntArray) -> Cases:
    """The table of some of the arms, without the rounds and cases that then have no known outcome."""
    outcomes = cases.outcomes[:, kept]
    here = np.flatnonzero(~np.isnan(outcomes).all(axis=1))
    some = only_rounds(cases, here)
    nothing: Any = np.zeros(0)  # the arm given has another number now
    about: dict[str, Any] = {"arms": tuple(cases.arms[k] for k in kept), "every_chance": None}
    some = replace(some, outcomes=outcomes[here], arm=nothing, **about)
    return only_cases(some, np.flatnonzero(some.n_rounds))


def without_contexts(cases: Cases) -> Cases:
    """The same cases, of which nothing is known before a decision."""
    return replace(cases, contexts=None, features=())


def until_day(cases: Cases, day: float) -> Cases:
    """What was on record at the end of a day: cases begun and outcomes told by then."""
    return only_cases(only_rounds(cases, np.flatnonzero(~(cases.at > day))), np.flatnonzero(cases.began <= day))


def until_overridden(cases: Cases) -> Cases:
    """The cases up to the first round that a person overrode, and with an outcome at all.

    A person who overrides a plan may know more about the case than its history shows; what follows is no fair sample.
    """
    stopped = np.append(0, np.cumsum(cases.overridden))
    fair = stopped[1:] == stopped[cases.first[:-1]][cases.owner]
    some = only_rounds(cases, np.flatnonzero(fair & cases.told))
    return only_cases(some, np.flatnonzero(some.n_rounds))


def shuffled(cases: Cases, seed: int) -> Cases:
    """The same rounds in a random order within every case, for logs whose order means nothing."""
    key = np.random.default_rng([seed, 0]).random(len(cases.outcomes))
    return only_rounds(cases, np.lexsort((key, cases.owner)))


def with_arms(cases: Cases, arms: tuple[str, ...]) -> Cases:
    """The table with its arms in the order of `arms`; arms that the log does not know have no outcomes."""
    if strange := [name for name in cases.arms if name not in arms]:
        raise InvalidInput(
            f"The log has {', '.join(map(repr, strange[:5]))}, which the plan does not know. The plan is about "
            f"{', '.join(arms[:10])}. Remove these rows, or evaluate a plan that was made with them."
        )
    place = np.array([arms.index(name) for name in cases.arms], np.int64)
    outcomes = np.full((len(cases.outcomes), len(arms)), np.nan)
    outcomes[:, place] = cases.outcomes
    every = None
    if cases.every_chance is not None:
        every = np.zeros_like(outcomes)
        every[:, place] = cases.every_chance
    return replace(cases, arms=arms, outcomes=outcomes, arm=place[cases.arm], every_chance=every)
