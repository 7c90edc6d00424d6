"""What a plan would have earned on cases it was not made from, beside what else could have been done."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.cases.design import LogDesign
from banditree.cases.reading import read_cases
from banditree.cases.table import Cases, shuffled, with_arms
from banditree.errors import InvalidInput, invalid
from banditree.evaluation.intervals import CONFIDENCE, Estimate
from banditree.evaluation.judging import LEAST_CASES, PLAYED, Judge, Judged, Replaying, judge_of
from banditree.evaluation.kinds import Kinds
from banditree.evaluation.order import order_notes
from banditree.evaluation.propensities import understood
from banditree.evaluation.replay import replay
from banditree.evaluation.sensitivity import tolerated
from banditree.evaluation.settings import EvaluateSettings
from banditree.evaluation.singles import best_single
from banditree.evaluation.splits import LEAST_HELD_OUT
from banditree.evaluation.supply import contexts_vary
from banditree.evaluation.weighting import (
    Weighted,
    agreement,
    doubly_robust,
    inverse_propensity,
    logged_chances,
    self_normalised,
    weighted,
)
from banditree.languages.language import message
from banditree.nouns import counted
from banditree.plans.machine import machine_of
from banditree.plans.one_option import one_option
from banditree.plans.plan import Plan
from banditree.policies.base import Policy
from banditree.policies.following import policy_for
from banditree.policies.registry import policy_named
from banditree.policies.rounds import arm_number
from banditree.settings import keywords
from banditree.shown import Shown
from banditree.tasks.collection import Collection

TOO_FAR = 6.0  # By this many deviations do arms given at random agree less or more with a plan in 1 log of 500 million.
PLAN = message("this plan")
NOT_WORTH = (
    "Everything here is counted in outcomes: what they are worth, and what options and changes cost, is not in it."
)
FOR_ALL = " for all"
HINDSIGHT = message("best option of each case, in hindsight")


@dataclass(frozen=True, eq=False)
class Row:
    """One thing that could have been done: its reward per round, and by how much the plan gives more than it.

    rests_on: the cases that show it.
    """

    name: str
    value: Estimate
    gain: Estimate | None = None
    rests_on: int = 0


@dataclass(frozen=True, eq=False)
class Evaluation(Shown):
    """What a plan would have earned over the first `counted` rounds of a case; `rows` begins with the plan.

    shown: how many of these the log itself shows. is_full: every outcome was known, so that rows are exact for these
    cases. design: how the log was made. rests_on: how many cases did what the plan asks where it changes the option;
    None where that is not asked. selection: the Gamma of `sensitivity` until which the plan beats the single option;
    None where it does not, or where selection is impossible. For other logs, `weighings` are the plan's reward over the
    first `weighed` rounds by three estimators, the last round worth `effective` cases; empty where no round has enough
    cases, or where the log contradicts the chances that the weights are made of.
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
    counted: int = 0
    selection: float | None = None

    @property
    def refusal(self) -> str:
        """Why the log cannot show what the plan gives, or ""."""
        if self.rests_on is None:
            return ""
        if not self.design.shows_plans:
            return message(f"the log cannot show what a plan gives, since {self.design}")
        if self.rests_on < LEAST_CASES:
            who = counted(self.rests_on, "case")
            return message(
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
    beside: Mapping[str, tuple[Plan, Policy]] | None = None,
    confidence: float = CONFIDENCE,
    kinds: Kinds | None = None,
    **settings: Any,
) -> Evaluation:
    """What `plan` would have earned on the cases of a log that it was not made from.

    log: a Cases, or what `read_cases` takes (a path, a frame, ...). collection: what mTS and mIDS know, and what gives
    the best single option; without it that option is the one that is best on this very log. single: that option by
    name. beside: what else is compared with, by name: a plan and the policy that plays it. kinds: by which cases are
    expected to go on where the log does not show it, by default as found in this very log. settings: of
    `EvaluateSettings`.

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
    history, untold = with_arms(history, plan.arms), list[str]()
    if collection is not None and collection.worth is not None:
        collection, untold = replace(collection, worth=None), [NOT_WORTH]
    _check_contexts(plan, history, collection)
    notes = (*history.notes, *untold, *(() if shuffle else order_notes(history)))
    history = shuffled(history, seed) if shuffle else history
    runs = min(how.runs, math.ceil(PLAYED / history.n_cases))
    history, made = understood(history, how.design, seed)
    _check_support(plan, history)
    judge = judge_of(history, made, horizon, plan.rewards, kinds=kinds, seed=seed)
    mine = judge.judge(plan, policy_for(plan))
    _check_shown(history, mine)
    others = _others(plan, judge, history, collection, single, runs)
    others |= {name: judge.judge(other, policy) for name, (other, policy) in (beside or {}).items()}
    weighed, doubts = ({}, ()) if history.is_full else _weighings(plan, history, mine.rounds, confidence)
    best = next(iter(others.values()))
    return Evaluation(
        _rows({PLAN: mine, **others}, confidence),
        horizon,
        horizon if history.is_full else mine.shown,
        history.n_cases,
        int(np.minimum(history.n_rounds, horizon).sum()),
        history.is_full,
        confidence,
        seed,
        made,
        notes=(*notes, *_reach_notes(plan, history, mine, horizon), *doubts),
        rests_on=None if history.is_full or plan.n_tests == 0 else int(mine.changed.sum()),
        counted=horizon if history.is_full else mine.rounds,
        selection=None
        if history.is_full
        else tolerated(mine, best, history.reward, logged_chances(history), confidence),
        **weighed,
    )


def _check_shown(history: Cases, mine: Judged) -> None:
    needed = min(LEAST_CASES, max(LEAST_HELD_OUT, history.n_cases))
    if not history.is_full and mine.n_cases < needed:
        raise InvalidInput(
            f"There is no support: only {mine.n_cases} cases of the log were ever given what the plan begins with; "
            f"{needed} are needed."
        )


def _rows(values: dict[str, Judged], confidence: float) -> tuple[Row, ...]:
    """The plan, then everything else with how far the plan is above it."""
    plan = values[PLAN].measured
    return tuple(
        Row(
            name,
            one.measured.estimate(confidence),
            None if name == PLAN else plan.above(one.measured, confidence),
            one.n_cases,
        )
        for name, one in values.items()
    )


def _read(log: Any, plan: Plan, how: EvaluateSettings) -> Cases:
    hint = f"The plan was made for rewards that are {plan.rewards.rule}. Give a log of these, or fit a plan to this."
    return read_cases(log, rewards=plan.rewards, features=plan.features, hint=hint, seed=how.seed, **how.reading)


def _check_contexts(plan: Plan, history: Cases, collection: Collection | None) -> None:
    """The history has the contexts that the plan looks at, and the collection the same ones."""
    asked, found = len(plan.features), 0 if history.contexts is None else history.contexts.shape[1]
    if asked and asked != found:
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
    judge: Judge,
    history: Cases,
    collection: Collection | None,
    single: str | None,
    runs: int,
) -> dict[str, Judged]:
    """What else could have been done, by name."""
    best = single or history.arms[best_single(history, collection)]
    arm_number(history.arms, best)
    single_plan = one_option(plan, best)
    found = {f"{best}{FOR_ALL}": judge.judge(single_plan, policy_for(single_plan))}
    if collection is not None:
        if collection.arms != plan.arms:
            raise invalid("the collection", f"about {', '.join(plan.arms[:10])}, as the plan is", collection.arms)
        for title, name in (("mTS", "mts"), ("mIDS", "mids")):
            found[title] = judge.judge(collection, policy_named(name), runs=runs)
    # Rewards in a range are counted as successes and failures; those without one are taken as normal.
    scratch = policy_named("bernoulli-ts" if plan.rewards.has_range else "gaussian-ts")
    found["Thompson sampling from scratch"] = judge.judge(single_plan, scratch, runs=runs)
    if isinstance(judge, Replaying):
        found[HINDSIGHT] = judge.hindsight()
    return found


def _weighings(plan: Plan, history: Cases, rounds: int, confidence: float) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The plan's reward by each estimator, over as many rounds as have enough effective cases, and what to note."""
    w = weighted(history, replay(plan, history, rounds, waits=False), rounds)
    weighed = int(np.count_nonzero(np.minimum.accumulate(w.effective) >= LEAST_CASES))
    if not weighed:
        return {"weighings": (), "weighed": 0, "effective": float(w.effective[0])}, ()
    if doubts := _doubts(history, w):
        return {"weighings": (), "weighed": weighed, "effective": float(w.effective[weighed - 1])}, doubts
    w = w.first(weighed)
    found = {
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


def _not_offered(plan: Plan, history: Cases) -> int:
    """How many rounds do not offer some option of the plan."""
    used = sorted({k for k in machine_of(plan).arm.tolist() if k >= 0}) or [*range(len(plan.arms))]
    return int((~history.known[:, used]).any(axis=1).sum())


def _reach_notes(plan: Plan, history: Cases, mine: Judged, horizon: int) -> tuple[str, ...]:
    """How far into the plan the log can see."""
    if history.is_full:
        lacking = _not_offered(plan, history)
        if not lacking:
            return ()
        return (
            f"{lacking:,} of {len(history.outcomes):,} rounds did not offer every option. Where the one that is asked "
            "for is not on offer, the option that is best for all among the others counts.",
        )
    where = "estimated from what was seen" if history.chances is None else "those in the log"
    chances = where if history.chances is not None else "each option's share of the log"
    shown = (
        "A case answers with its own outcomes of the option that is asked for, in a random order, and counts for one "
        "over its chance of being shown so far; how the others go on is told by the kinds."
        if not plan.features or not contexts_vary(history)
        else "Rounds are passed over until the log gives what is asked for at their context, and a case counts for one "
        "over its chance of coming so far; how the others go on is told by the kinds."
    )
    notes = [
        f"One outcome per round is known. {shown} This is right if options were given as the log's design says and a "
        f"case responds alike throughout. The other estimators need only the former; the chances are {chances}."
    ]
    if mine.shown < horizon:
        notes.append(
            f"The log shows the plan's first {mine.shown} of {horizon} rounds: too few cases go further. The numbers "
            f"are about {mine.rounds} rounds."
        )
    return tuple(notes)
