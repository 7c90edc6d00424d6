"""What a plan would have earned on cases it was not made from, beside what else could have been done."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditree.cases.design import LogDesign, find_design
from banditree.cases.reading import read_cases
from banditree.cases.table import Cases, shuffled, thinned, with_arms
from banditree.errors import InvalidInput, invalid
from banditree.evaluation.intervals import CONFIDENCE, Estimate, Measured, per_round, per_round_reached
from banditree.evaluation.order import order_notes
from banditree.evaluation.remaining import asked_arms, represented, transitions, weights_of
from banditree.evaluation.replay import Replayed, replay, replayed
from banditree.evaluation.settings import EvaluateSettings
from banditree.evaluation.splits import LEAST_HELD_OUT
from banditree.evaluation.weighting import (
    Weighted,
    agreement,
    doubly_robust,
    inverse_propensity,
    self_normalised,
    weighted,
)
from banditree.nouns import counted
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.policies.registry import policy_named
from banditree.policies.rounds import arm_number
from banditree.settings import keywords
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection

LEAST_CASES = 10  # Nothing is said about a round that fewer cases (by weights: effective cases) come to.
BORROWED = 10  # Each arm starts with this many rounds of the overall mean, lest one tried once is best by luck.
TOO_FAR = 6.0  # By this many deviations do arms given at random agree less or more with a plan in 1 log of 500 million.
PLAYED = 50_000  # With more cases, fewer runs of policies that draw at random say as much.
PLAN = "this plan"
FOR_ALL = " for all"
HINDSIGHT = "best option of each case, in hindsight"


@dataclass(frozen=True, eq=False)
class Row:
    """One thing that could have been done: its reward per round, and by how much the plan gives more than it."""

    name: str
    value: Estimate
    gain: Estimate | None = None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a plan would have earned over the first `shown` rounds of a case; `rows` begins with the plan.

    is_full: every outcome was known, so that rows are exact for these cases. design: how the log was made. rests_on:
    how many cases did what the plan asks where it changes the option; None where that is not asked. For other logs,
    `weighings` are the plan's reward over the first `weighed` rounds by four estimators, the last round worth
    `effective` cases; empty where no round has enough cases, or where the log contradicts the chances that the weights
    are made of.
    """

    rows: tuple[Row, ...]
    horizon: int
    shown: int
    n_cases: int
    n_rounds: int
    is_full: bool
    confidence: float
    seed: int
    design: LogDesign
    weighings: tuple[Row, ...] = ()
    weighed: int = 0
    effective: float | None = None
    notes: tuple[str, ...] = ()
    rests_on: int | None = None

    @property
    def refusal(self) -> str:
        """Why the log cannot show what the plan gives, or ""."""
        if self.rests_on is None:
            return ""
        if not self.design.shows_plans:
            return f"the log cannot show what a plan gives, since {self.design}"
        if self.rests_on < LEAST_CASES:
            who = counted(self.rests_on, "case")
            return (
                f"the log cannot show what the plan gives: it would rest on {who} that did what the plan asks, and "
                f"{LEAST_CASES} are needed; {self.design}"
            )
        return ""

    def __getitem__(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)


@keywords(EvaluateSettings)
def evaluate(
    plan: Plan,
    log: Any,
    *,
    collection: Collection | None = None,
    single: str | None = None,
    beside: Mapping[str, Callable[[Cases], Replayed]] | None = None,
    confidence: float = CONFIDENCE,
    **settings: Any,
) -> Evaluation:
    """What `plan` would have earned on the cases of a log that it was not made from.

    log: a Cases, or what `read_cases` takes (a path, a frame, ...). collection: what mTS and mIDS know, and what gives
    the best single option; without it that option is the one that is best on this very log. single: that option by
    name. beside: what else is compared with, by name: how it is replayed. settings: of `EvaluateSettings`.

    >>> from banditree.cases.table import cases_of
    >>> from banditree import ByOutcome, Give, Line, Score, make_plan
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> count = Score(ByOutcome((-1, 1)), floor=1, ceil=3)
    >>> switch = [Line(Give("A"), count, below=Line(Give("B")), above=Line(Give("A")))]
    >>> history = cases_of(["ann"] * 4 + ["bob"] * 4, ["A", "B"], [[0, 1]] * 4 + [[1, 0]] * 4)
    >>> [(row.name, row.value.value) for row in evaluate(make_plan(switch, two, horizon=4), history).rows[:2]]
    [('this plan', 0.875), ('A for all', 0.5)]
    """
    how = EvaluateSettings(**settings)
    horizon, shuffle, seed = how.horizon or plan.horizon, how.shuffle, how.seed
    history = log if isinstance(log, Cases) else _read(log, plan, how)
    if not history.n_cases:
        raise InvalidInput("The log has no cases, so nothing can be evaluated on it. Check the file.")
    history = with_arms(history, plan.arms)
    _check_contexts(plan, history, collection)
    notes = (*history.notes, *(() if shuffle else order_notes(history)))
    history = shuffled(history, seed) if shuffle else history
    runs = min(how.runs, math.ceil(PLAYED / history.n_cases))
    made = how.design if isinstance(how.design, LogDesign) else find_design(history, how.design)
    _check_support(plan, history)
    seen = history if history.is_full else thinned(history, seed)
    followed = replay(plan, seen, horizon)
    chain = None if history.is_full or not made.shows_plans else transitions(history, made.design)
    shown = _shown(followed, seen, horizon, chain)
    values = {}
    others = _others(plan, seen, collection, single, shown, runs, seed)
    more = {name: replayed_on(seen) for name, replayed_on in (beside or {}).items()}
    for name, one in {PLAN: followed, **others, **more}.items():
        is_one_run = name == PLAN or name.endswith(FOR_ALL)
        weights = None if chain is None or not is_one_run else weights_of(seen, one, chain)
        values[name] = measured(one, shown, is_full=history.is_full, weights=weights)
    weighed, doubts = ({}, ()) if history.is_full else _weighings(plan, history, followed, shown, confidence)
    return Evaluation(
        _rows(values, confidence),
        horizon,
        shown,
        history.n_cases,
        int(followed.rounds.sum()),
        history.is_full,
        confidence,
        seed,
        made,
        notes=(*notes, *_reach_notes(history, followed, horizon, shown), *doubts),
        rests_on=None if history.is_full or plan.n_tests == 0 else _changed_over(seen, followed, shown),
        **weighed,
    )


def _changed_over(history: Cases, followed: Replayed, shown: int) -> int:
    """How many cases were given several options in the rounds that are shown, as the plan asked."""
    asked = asked_arms(history, followed)[:, :shown]
    return int(((asked != asked[:, :1]) & (asked >= 0)).any(axis=1).sum())


def _rows(values: dict[str, Measured], confidence: float) -> tuple[Row, ...]:
    """The plan, then everything else with how far the plan is above it."""
    plan = values[PLAN]
    others = [
        Row(name, v.estimate(confidence), plan.above(v, confidence)) for name, v in values.items() if name != PLAN
    ]
    return Row(PLAN, plan.estimate(confidence)), *others


def _shown(followed: Replayed, history: Cases, horizon: int, chain: FloatArray | None) -> int:
    """The number of rounds for which the log shows the plan: all, or as many as enough cases of all ways come to."""
    if history.is_full:
        return horizon
    reached = (~np.isnan(followed.rewards)).sum(axis=0)
    needed = min(LEAST_CASES, max(LEAST_HELD_OUT, len(followed.rewards)))
    enough = reached >= needed
    if chain is not None:
        enough &= represented(weights_of(history, followed, chain), followed.rewards, history.n_rounds)
    shown = int(np.count_nonzero(np.logical_and.accumulate(enough)))
    if not shown:
        raise InvalidInput(
            f"There is no support: only {int(reached[0])} cases of the log were ever given what the plan begins with; "
            f"{needed} are needed."
        )
    return shown


def measured(one: Replayed, shown: int, *, is_full: bool, weights: FloatArray | None = None) -> Measured:
    """All reward over all rounds where every outcome is known; else the mean over the rounds that the log shows."""
    if is_full:
        return per_round(one.total, one.rounds)
    rewards = one.rewards[:, :shown]
    here = ~np.isnan(rewards).all(axis=0)
    return per_round_reached(rewards[:, here], None if weights is None else weights[:, :shown][:, here])


def _read(log: Any, plan: Plan, how: EvaluateSettings) -> Cases:
    hint = f"The plan was made for rewards that are {plan.rewards.rule}. Give a log of these, or fit a plan to this."
    return read_cases(log, rewards=plan.rewards, features=plan.features, hint=hint, seed=how.seed, **how.reading)


def _check_contexts(plan: Plan, history: Cases, collection: Collection | None) -> None:
    """The history has the contexts that the plan looks at, and the collection the same ones."""
    asked, found = len(plan.features), 0 if history.contexts is None else history.contexts.shape[1]
    if asked != found:
        names = ", ".join(map(str, plan.features)) or "no context"
        raise invalid("the contexts of the history", f"{asked} columns, as the plan has ({names})", found)
    if collection is not None and [*map(str, collection.features)] != [*map(str, plan.features)]:
        known = ", ".join(map(str, collection.features)) or "none"
        raise invalid("the collection", "over the same context features as the plan", known)


def _check_support(plan: Plan, history: Cases) -> None:
    tried = [bool(history.known[:, k].any()) for k in range(len(plan.arms))]
    lacking = [plan.arms[k] for k in sorted(set(machine_of(plan).arm.tolist())) if k >= 0 and not tried[k]]
    if lacking:
        raise InvalidInput(
            f"There is no support: the plan gives {', '.join(map(repr, lacking[:5]))}, and the log never does. "
            "Evaluate on a log in which every option of the plan was tried."
        )


def _others(
    plan: Plan,
    history: Cases,
    collection: Collection | None,
    single: str | None,
    horizon: int,
    runs: int,
    seed: int,
) -> dict[str, Replayed]:
    """What else could have been done, by name."""
    arm = best_single(history, collection) if single is None else arm_number(history.arms, single)
    found = {f"{history.arms[arm]}{FOR_ALL}": replay_single(history, arm, horizon)}
    if collection is not None:
        if collection.arms != plan.arms:
            raise invalid("the collection", f"about {', '.join(plan.arms[:10])}, as the plan is", collection.arms)
        for title, name in (("mTS", "mts"), ("mIDS", "mids")):
            found[title] = replay(collection, history, horizon, policy=policy_named(name), runs=runs, seed=seed)
    # Rewards in a range are counted as successes and failures; those without one are taken as normal.
    scratch = policy_named("bernoulli-ts" if plan.rewards.has_range else "gaussian-ts")
    found["Thompson sampling from scratch"] = replay(plan, history, horizon, policy=scratch, runs=runs, seed=seed)
    if history.is_full:
        found[HINDSIGHT] = hindsight(history, horizon)
    return found


def best_single(history: Cases, collection: Collection | None = None) -> int:
    """The arm with the highest mean: of the collection if there is one, else on the log itself."""
    if collection is not None:
        return int(collection.best_single_arm)
    weight = np.ones(len(history.outcomes)) if history.chances is None else 1 / history.chances
    count, total = weight @ history.known, weight @ np.nan_to_num(history.outcomes)
    overall = total.sum() / max(count.sum(), 1)
    return int(((total + BORROWED * overall) / (count + BORROWED)).argmax())


def replay_single(history: Cases, arm: int | IntArray, horizon: int) -> Replayed:
    """What giving one arm to everyone, or an arm of its own in every round (R,), would have earned.

    In the first `horizon` rounds that know its outcome.
    """
    chosen = np.broadcast_to(arm, len(history.outcomes))
    reward = history.outcomes[np.arange(len(chosen)), chosen]
    known = np.flatnonzero(~np.isnan(reward))
    owner = history.owner[known]
    place = np.arange(len(known)) - np.searchsorted(owner, np.arange(history.n_cases))[owner]
    counts = place < horizon
    rewards = np.full((1, history.n_cases, int(min(horizon, history.n_rounds.max()))), np.nan)
    rewards[0, owner[counts], place[counts]] = reward[known[counts]]
    return replayed(rewards, chosen)


def hindsight(history: Cases, horizon: int) -> Replayed:
    """What the best arm of every case over its own first `horizon` rounds earned; known only afterwards."""
    every = [replay_single(history, arm, horizon) for arm in range(len(history.arms))]
    total = np.array([np.where(one.rounds > 0, one.total, -np.inf) for one in every])
    best, cases = total.argmax(axis=0), np.arange(history.n_cases)
    rewards = np.array([one.rewards for one in every])[best, cases]
    return replayed(rewards[None], best[history.owner])


def _weighings(
    plan: Plan, history: Cases, followed: Replayed, shown: int, confidence: float
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The plan's reward by each estimator, over as many rounds as have enough effective cases, and what to note."""
    w = weighted(history, replay(plan, history, shown, waits=False), shown)
    weighed = int(np.count_nonzero(np.minimum.accumulate(w.effective) >= LEAST_CASES))
    if not weighed:
        return {"weighings": (), "weighed": 0, "effective": float(w.effective[0])}, ()
    if doubts := _doubts(history, w):
        return {"weighings": (), "weighed": weighed, "effective": float(w.effective[weighed - 1])}, doubts
    w = w.first(weighed)
    found = {
        "rejection replay": measured(followed, weighed, is_full=False),
        "inverse propensities": inverse_propensity(w),
        "self-normalised": self_normalised(w),
        "doubly robust": doubly_robust(w, len(history.arms)),
    }
    rows = tuple(Row(name, one.estimate(confidence)) for name, one in found.items())
    return {"weighings": rows, "weighed": weighed, "effective": float(w.effective[-1])}, ()


def _doubts(history: Cases, w: Weighted) -> tuple[str, ...]:
    """A note if the arms of a log without chances were clearly not given by chance, but by this plan, say."""
    found = agreement(history, w)
    if history.chances is not None or abs(found.away) < TOO_FAR:
        return ()
    return (
        f"The log gives what the plan gives in {found.seen:.0%} of the rounds that the plan comes to, and by chance it "
        f"would in {found.expected:.0%}: options were not given at random, and every number above may be off. If their "
        'chances are known, give them: propensity="NAME". Cases that followed this very plan are for `monitor`.',
    )


def _reach_notes(history: Cases, followed: Replayed, horizon: int, shown: int) -> tuple[str, ...]:
    """How far into the plan the log can see."""
    if history.is_full:
        asked = int(np.minimum(history.n_rounds, horizon).sum())
        skipped = asked - int(followed.rounds.sum())
        if not skipped:
            return ()
        return (f"{skipped:,} of {asked:,} rounds were passed over: the plan's option has no known outcome there.",)
    chances = "those in the log" if history.chances is not None else "each option's share of the log"
    notes = [
        "One outcome per round is known, so a round counts when the log gave what the plan gives, and a case counts "
        "for one over its chance of coming so far. This is right if options were given as the log's design says and a "
        f"case responds alike throughout. The four estimators need only the former; the chances are {chances}."
    ]
    if shown < horizon:
        notes.append(f"The log shows the plan's first {shown} of {horizon} rounds: too few cases go further.")
    return tuple(notes)
