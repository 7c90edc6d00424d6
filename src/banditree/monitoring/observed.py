"""Observed: what is on record of the cases that followed one plan, round by round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.plan import NONE, Plan
from banditree.policies.follow import BOX
from banditree.policies.session import policy_for
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen
from banditree.tasks.contexts import Feature
from banditree.training.grades import OUTCOME
from banditree.training.statistics import Statistics, collect

NO_CONTEXT = np.zeros(0)


class Seen(NamedTuple):
    """One round of a case: reward NaN where it is not known (yet); at: the day its outcome was told, as a number."""

    case: str
    round: int
    arm: int
    reward: float
    at: float
    overridden: bool = False


@dataclass(frozen=True, eq=False)
class Observed:
    """U cases with R rounds in all, those of a case together and in order; cases in the order in which they began.

    began: (U,), days since 1970 (UTC, with fractions). first: (U + 1,), the rounds of case u are first[u] to
    first[u + 1] - 1. arm, reward, at, overridden: (R,), see `Seen`. box: (R,), where the plan gave that arm, NONE where
    it did not: rounds that a person overrode, or that a fallback chose. labels: for each name the text (U,) of each
    case. planned: (R,), whether the case had gone as planned up to and with this round.
    """

    cases: tuple[str, ...]
    began: FloatArray
    first: IntArray
    arm: IntArray
    reward: FloatArray
    at: FloatArray
    overridden: BoolArray
    box: IntArray
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, one.name, frozen(value, value.dtype))

    @property
    def n_cases(self) -> int:
        """U."""
        return len(self.cases)

    @property
    def owner(self) -> IntArray:
        """The number (R,) of the case that each round belongs to."""
        return np.repeat(np.arange(self.n_cases), np.diff(self.first))

    @property
    def known(self) -> BoolArray:
        """Whether the outcome (R,) is known."""
        return ~np.isnan(self.reward)

    @property
    def planned(self) -> BoolArray:
        """Whether the case (R,) had gone as planned up to and with this round."""
        strayed = np.append(0, np.cumsum(self.box == NONE))
        return np.asarray(strayed[1:] == strayed[self.first[:-1]][self.owner])


def observe(
    plan: Plan,
    rounds: Sequence[Seen],
    *,
    began: Mapping[str, float] | None = None,
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> Observed:
    """What is on record of a plan's cases, from their rounds in any order.

    began: the day each case began; by default that of its first outcome. labels: for each name, that of each case.

    >>> from banditree.plans.assemble import Box, assemble
    >>> from banditree.tasks.collection import Collection
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> switch = [Box(arm=0, low=1, high=2, points=(-1, 1), floor=1, ceil=3), Box(arm=1), Box(arm=0)]
    >>> plan = assemble(switch, two, horizon=4)
    >>> observe(plan, [Seen("ann", 1, 0, 0.0, 5.0), Seen("ann", 2, 1, 1.0, 6.0)]).box.tolist()
    [0, 1]
    """
    if plan.theta is not None or plan.features:
        raise InvalidInput("Plans that look at a context are not monitored. Monitor a plan without contexts.")
    starts = dict(began or {})
    for one in rounds:
        if began is None and not np.isnan(one.at):
            starts[one.case] = min(starts.get(one.case, np.inf), one.at)
    names = sorted(starts, key=lambda name: (starts[name], name))
    place = {name: number for number, name in enumerate(names)}
    ordered = sorted((one for one in rounds if one.case in place), key=lambda one: (place[one.case], one.round))
    counts = np.bincount([place[one.case] for one in ordered], minlength=len(names)) if names else np.zeros(0, int)
    found = Observed(
        tuple(names),
        np.array([starts[name] for name in names], float),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([one.arm for one in ordered], np.int64),
        np.array([one.reward for one in ordered], float),
        np.array([one.at for one in ordered], float),
        np.array([one.overridden for one in ordered], bool),
        np.zeros(len(ordered), np.int64),
        {name: tuple(given.get(case, "") for case in names) for name, given in (labels or {}).items()},
    )
    return replace(found, box=boxes_of(plan, found))


def boxes_of(plan: Plan, observed: Observed) -> IntArray:
    """The box (R,) that gave the arm of every round, as whoever follows the plan goes through it; NONE off the plan."""
    policy = policy_for(plan)
    params = policy.make(plan, plan.horizon, {})
    box = np.full(len(observed.arm), NONE)
    given = [{arm} if arm >= 0 else set(plan.arms_at(here).tolist()) for here, arm in enumerate(plan.arm.tolist())]
    arms, rewards, overridden = observed.arm.tolist(), observed.reward.tolist(), observed.overridden.tolist()
    for begin, end in zip(observed.first[:-1].tolist(), observed.first[1:].tolist(), strict=True):
        state = policy.init(params)
        place = place_of(state)
        for r in range(begin, end):
            here = int(place[BOX])
            if overridden[r] or arms[r] not in given[here]:
                continue
            box[r] = here
            if rewards[r] == rewards[r]:
                policy.update(params, state, NO_CONTEXT, arms[r], rewards[r])
    return box


def place_of(state: Any) -> IntArray:
    """Where a case stands in its plan: (box, pulls), kept up to date by the policy."""
    found: IntArray = state.plan.place if hasattr(state, "plan") else state.place
    return found


def of_cases(observed: Observed, chosen: IntArray) -> Observed:
    """What is on record of some of the cases, given in order."""
    keep = np.isin(observed.owner, chosen)
    counts = np.diff(observed.first)[chosen]
    return Observed(
        cases=tuple(observed.cases[u] for u in chosen),
        began=observed.began[chosen],
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        labels={name: tuple(texts[u] for u in chosen) for name, texts in observed.labels.items()},
        **{name: getattr(observed, name)[keep] for name in ("arm", "reward", "at", "overridden", "box")},
    )


def until_day(observed: Observed, day: float) -> Observed:
    """What was on record at the end of a day: cases begun and outcomes told by then."""
    keep = ~(observed.at > day)
    counts = np.bincount(observed.owner[keep], minlength=observed.n_cases)
    told = replace(
        observed,
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        **{name: getattr(observed, name)[keep] for name in ("arm", "reward", "at", "overridden", "box")},
    )
    return of_cases(told, np.flatnonzero(observed.began <= day))


def case_statistics(rounds: Sequence[Seen], arms: Sequence[str], grades: Sequence[float] = ()) -> Statistics:
    """The sums of every case for `relearn`: its known outcomes up to the first round that a person overrode.

    grades: the possible rewards of graded ones, each of which is counted.
    A person who overrides a plan may know more about the case than its history shows; what follows is no fair sample.

    >>> rounds = [Seen("a", 1, 0, 1.0, 1.0), Seen("a", 2, 1, 1.0, 2.0, True), Seen("a", 3, 0, 1.0, 3.0)]
    >>> case_statistics(rounds, ["A", "B"]).n_rows
    1
    """
    overridden: dict[str, int] = {}
    for one in rounds:
        if one.overridden:
            overridden[one.case] = min(one.round, overridden.get(one.case, one.round))
    used = [one for one in rounds if one.reward == one.reward and one.round < overridden.get(one.case, one.round + 1)]
    if not used:
        raise InvalidInput("The cases have no outcomes, so there is nothing to learn from. Check the export.")
    rewards = np.array([one.reward for one in used])
    graded = rewards[:, None] == np.array(grades) if grades else None
    features = [Feature(OUTCOME, repr(float(grade))) for grade in grades] if grades else None
    return collect([one.case for one in used], [arms[one.arm] for one in used], rewards, graded, features)
