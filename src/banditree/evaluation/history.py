"""History: what is known about every case of a log, round by round and in order."""

from dataclasses import dataclass, replace

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen


@dataclass(frozen=True, eq=False)
class History:
    """U cases with R rounds in all, those of a case together and in order.

    first: (U + 1,), the rounds of case u are first[u] to first[u + 1] - 1. outcomes: (R, K), what each arm gave or
    would have given in that round, NaN where that is unknown. chances: (R,), the chance that the arm of a logged round
    had, or None. contexts: (R, d), of every round, or None. Where every round has the outcome of one arm only, that arm
    was given, and the log must be used with care; where rounds have several outcomes, any policy can be replayed.

    >>> history_of(["ann", "ann", "bob"], ["A", "B"], [[1, 0], [0, 1], [np.nan, 1]]).n_rounds.tolist()
    [2, 1]
    """

    cases: tuple[str, ...]
    arms: tuple[str, ...]
    first: IntArray
    outcomes: FloatArray
    chances: FloatArray | None = None
    notes: tuple[str, ...] = ()
    contexts: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", frozen(self.first, np.int64))
        object.__setattr__(self, "outcomes", frozen(self.outcomes, float))
        if self.chances is not None:
            object.__setattr__(self, "chances", frozen(self.chances, float))
        if self.contexts is not None:
            object.__setattr__(self, "contexts", frozen(self.contexts, float))
        if not self.cases:
            raise InvalidInput("The log has no cases, so nothing can be evaluated on it. Check the file.")

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
    def given(self) -> IntArray:
        """The arm (R,) of each logged round: the one whose outcome is known, the first if there are several."""
        return np.asarray(self.known.argmax(axis=1))


def history_of(
    case: "list[str] | tuple[str, ...]", arms: "list[str] | tuple[str, ...]", outcomes: object, **more: object
) -> History:
    """The history of rounds held in memory: the case of each round (R,) and the outcomes (R, K); cases in any order."""
    table = np.asarray(outcomes, float)
    if table.shape != (len(case), len(arms)):
        raise invalid("outcomes", f"of shape {(len(case), len(arms))}", table.shape)
    names = tuple(dict.fromkeys(map(str, case)))
    place = {name: number for number, name in enumerate(names)}
    owner = np.array([place[str(name)] for name in case], np.int64)
    order = np.argsort(owner, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(names)))])
    if (contexts := more.get("contexts")) is not None:
        more["contexts"] = np.asarray(contexts, float)[order]
    return History(names, tuple(map(str, arms)), first, table[order], **more)  # type: ignore[arg-type]


def only_cases(history: History, chosen: IntArray) -> History:
    """The history of some of the cases, in the order given."""
    rounds = _rounds_of(history, chosen)
    first = np.concatenate([[0], np.cumsum(history.n_rounds[chosen])])
    names = tuple(history.cases[u] for u in chosen)
    return replace(_some_rounds(history, rounds), cases=names, first=first)


def only_arms(history: History, kept: IntArray) -> History:
    """The history of some of the arms, without the rounds and cases that then have no known outcome."""
    outcomes = history.outcomes[:, kept]
    here = ~np.isnan(outcomes).all(axis=1)
    rounds = np.bincount(history.owner[here], minlength=history.n_cases)
    names = tuple(name for name, n in zip(history.cases, rounds, strict=True) if n)
    first = np.concatenate([[0], np.cumsum(rounds[rounds > 0])])
    arms = tuple(history.arms[k] for k in kept)
    some = _some_rounds(history, np.flatnonzero(here))
    return replace(some, cases=names, arms=arms, first=first, outcomes=outcomes[here])


def shuffled(history: History, seed: int) -> History:
    """The same rounds in a random order within every case, for logs whose order means nothing."""
    key = np.random.default_rng([seed, 0]).random(len(history.outcomes))
    order = np.lexsort((key, history.owner))
    return _some_rounds(history, order)


def with_arms(history: History, arms: tuple[str, ...]) -> History:
    """The history with its arms in the order of `arms`; arms that the log does not know have no outcomes."""
    if strange := [name for name in history.arms if name not in arms]:
        raise InvalidInput(
            f"The log has {', '.join(map(repr, strange[:5]))}, which the plan does not know. The plan is about "
            f"{', '.join(arms[:10])}. Remove these rows, or evaluate a plan that was made with them."
        )
    outcomes = np.full((len(history.outcomes), len(arms)), np.nan)
    outcomes[:, [arms.index(name) for name in history.arms]] = history.outcomes
    return replace(history, arms=arms, outcomes=outcomes)


def thinned(history: History, seed: int) -> History:
    """The history in which the rounds of an arm count as if its chance had always been the same.

    Where a log gave an arm with chances that vary (by what was known about the case at that time), a round is kept with
    a probability in proportion to 1/chance: the rounds that are left are a fair sample (rejection sampling).
    """
    if history.chances is None:
        return history
    given, chance = history.given, history.chances
    least = np.full(len(history.arms), np.inf)
    np.minimum.at(least, given, chance)
    kept = np.random.default_rng([seed, 1]).random(len(chance)) <= least[given] / chance
    return replace(history, outcomes=np.where(kept[:, None], history.outcomes, np.nan))


def _some_rounds(history: History, rounds: IntArray) -> History:
    """The history with these rounds, in this order; whose they are is for the caller to say."""
    chances = None if history.chances is None else history.chances[rounds]
    contexts = None if history.contexts is None else history.contexts[rounds]
    return replace(history, outcomes=history.outcomes[rounds], chances=chances, contexts=contexts)


def _rounds_of(history: History, chosen: IntArray) -> IntArray:
    spans = [np.arange(history.first[u], history.first[u + 1]) for u in chosen]
    return np.concatenate(spans) if spans else np.zeros(0, np.int64)
