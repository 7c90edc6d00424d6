"""The numbers of a plan, computed and not simulated: regret, error and length, for every task.

Two functions, and every number says what it is. `regret_bound` charges a leaf the whole horizon and takes about a
millisecond; `certify` is exact to the horizon, or an upper bound where the rewards are not fully known.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from banditree.certificates.by_odds import has_odds, moved_by_odds, rightly_at
from banditree.certificates.equations import require_end, solve
from banditree.certificates.harm import harm_rates
from banditree.certificates.outcomes import Claim, Outcomes, box_outcomes
from banditree.certificates.over_contexts import Contextual
from banditree.certificates.to_the_horizon import carry
from banditree.certificates.unlucky import Unlucky, unlucky
from banditree.certificates.worst_cases import worst_cases
from banditree.errors import InvalidInput, invalid
from banditree.plans.counts import Counting
from banditree.plans.gives import HAND_OVER, SEVERAL
from banditree.plans.machine import Machine, machine_of
from banditree.plans.plan import Plan
from banditree.shown import Shown
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.states import StateCollection, with_its_states
from banditree.theory.thompson import Expected, expected_losses, thompson_loss

MOST_COURSE = 50_000_000  # A course has at most this product of rounds and tasks: two numbers of 8 bytes each.


@dataclass(frozen=True, eq=False)
class Certificate(Shown):
    """What a plan costs in each of the M tasks of a collection over `horizon` rounds.

    regret: (M,), expected up to the horizon, Eq. (1). pulls: (M,), expected rounds of testing. wrong_arm, wrong_task:
    (M,), the chance of having settled, when the horizon ends, on an arm that is not the best, or of another task (None
    if the plan names none). undecided: (M,), the chance of still testing then; a watch line is no test. All of them
    are what `claim` says. Only if exact: at_end (M, N), the chance of being at each box at the end; entered (M, N), how
    often each box is entered; exits (M, N, 2), how often it is left below and above; regret_at (M, N), the regret spent
    at each box; within (M,), the rounds after which 95% of the cases are decided, or the horizon. error: (M,), how far
    the chances may be off, at most, where scores have no ceiling; the regret has its own such error added. shares:
    (M,) of the tasks, None if unknown. Of a plan with a fallback: handed_over (M,), the chance that the case has been
    handed over when the horizon ends, at most, and until_hand_over (M,), the expected rounds before that, the odds
    aside (all of them for a case that is not); by_odds (M,), the part of the regret that is due to hand-overs by the
    odds, at most. What Thompson sampling loses at the ends where it chooses is an estimate, a part of the regret that
    `by_thompson` (M,) says; what a person loses after a hand-over is not counted. changes: (M,), how often another arm
    is given than in the round before, where that costs something; the regret has what it costs. unit: what the regret
    is counted in, where the collection has a worth. within_margins: (M,), with states: what is lost at most at any
    chances within the margins of the collection. find_unlucky: works out `unlucky`.
    """

    tasks: tuple[str, ...]
    horizon: int
    claim: Claim
    regret: FloatArray
    pulls: FloatArray
    wrong_arm: FloatArray
    wrong_task: FloatArray | None
    undecided: FloatArray
    at_end: FloatArray | None = None
    entered: FloatArray | None = None
    exits: FloatArray | None = None
    error: FloatArray | None = None
    regret_at: FloatArray | None = None
    within: IntArray | None = None
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    shares: FloatArray | None = None
    handed_over: FloatArray | None = None
    until_hand_over: FloatArray | None = None
    by_odds: FloatArray | None = None
    by_thompson: FloatArray | None = None
    changes: FloatArray | None = None
    unit: str | None = None
    harm: FloatArray | None = None
    within_margins: FloatArray | None = None
    find_unlucky: Callable[[], Unlucky | None] | None = field(default=None, repr=False)

    @cached_property
    def unlucky(self) -> Unlucky | None:
        """What the unlucky cases of each task lose, worked out when it is first asked for; at the estimates where rates
        are estimated. None where only a simulation can say it."""
        return None if self.find_unlucky is None else self.find_unlucky()

    @property
    def worst_regret(self) -> float:
        """The regret of the worst task, Eq. (1)."""
        return float(self.regret.max())

    @property
    def mean_regret(self) -> float:
        """The regret averaged over the tasks, each counted by its share where shares are known."""
        return float(np.average(self.regret, weights=self.shares))

    @property
    def worst_task(self) -> str:
        """The name of the task with the most regret."""
        return self.tasks[int(self.regret.argmax())]


@dataclass(frozen=True, eq=False)
class Course:
    """How a plan goes, round by round: regret (M, H+1) expected after each round, undecided (M, H+1) the chance of
    still testing then."""

    regret: FloatArray
    undecided: FloatArray


def certify(
    plan: Plan,
    collection: Collection,
    horizon: int | None = None,
    *,
    must_rest: bool = True,
    over: Contextual | None = None,
) -> Certificate:
    """The exact regret, error and length of `plan` under every task, or upper bounds of them if these are not known.

    horizon: H, the plan's own by default. Known Bernoulli and Gaussian rewards give exact numbers, to about 12
    digits however small; where scores have no ceiling (watch lines, a safety rule) to within 1e-9 H of regret, which is
    added. For estimated means, and rewards known by their mean and range, every box takes its worst distribution: an
    upper bound. must_rest: refuse a plan that never comes to rest under some task. over: what is known already of
    contexts, where many plans with the same predictions and rules are certified.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> certificate = certify(build_tree(two, horizon=1000), two)
    >>> round(certificate.worst_regret, 3), f"{certificate.wrong_arm.max():.1e}"
    (28.804, '3.2e-05')
    """
    if plan.states or isinstance(collection, StateCollection):
        from banditree.certificates.states import certify_states

        return certify_states(plan, with_its_states(collection), horizon)
    if _has_case_features(collection):
        from banditree.certificates.by_case import certify_by_case

        return certify_by_case(plan, collection, horizon)
    if plan.on_harm is not None and collection.harm is not None:
        from banditree.certificates.barring import certify_barring

        return certify_barring(plan, collection, _horizon(plan, horizon))
    right = rightly_at(plan, collection)
    machine, horizon = machine_of(plan), _horizon(plan, horizon)
    outcomes = box_outcomes(plan, collection, over)
    harm = None if collection.harm is None else harm_rates(plan, collection, over)
    if outcomes.claim.is_bound:
        return _certify_worst(plan, collection, outcomes, horizon, right, harm)
    if must_rest:
        require_end(machine, collection, outcomes, horizon)
    change = collection.change_cost
    carried = carry(machine, outcomes, horizon, turns=change > 0)
    turned, doubt = np.array([c.turned for c in carried]), horizon * np.array([c.error for c in carried])
    spent, at_end = np.array([c.spent for c in carried]), np.array([c.at_end for c in carried])
    entered, losses = np.array([c.entered for c in carried]), thompson_losses(plan, collection, horizon)
    by_thompson, moved = at_end * losses, moved_by_odds(plan, right, (entered * ~right).sum(axis=1))
    after = moved * (losses + horizon * outcomes.cost)
    tests = (machine.kind == Counting.FIXED) | (machine.kind == Counting.SCORE)
    regret = np.array([c.regret for c in carried]) + (by_thompson + after + change * turned).sum(axis=1)
    regret += change * doubt
    return Certificate(
        tasks=collection.tasks,
        horizon=horizon,
        claim=outcomes.claim,
        regret=regret,
        pulls=spent[:, tests].sum(axis=1),
        wrong_arm=np.minimum(((at_end + moved) * outcomes.wrong_arm).sum(axis=1), 1.0),
        wrong_task=None if outcomes.wrong_task is None else (at_end * outcomes.wrong_task).sum(axis=1),
        undecided=at_end[:, tests].sum(axis=1),
        at_end=at_end,
        entered=entered,
        exits=np.array([c.exits for c in carried]),
        error=np.array([c.error for c in carried]),
        regret_at=spent * outcomes.cost + by_thompson + after + change * turned,
        within=np.array([c.within for c in carried]),
        remarks=outcomes.remarks,
        shares=collection.shares,
        handed_over=None if plan.hand_over is None else np.minimum((at_end + moved)[:, plan.hand_over], 1.0),
        until_hand_over=None if plan.hand_over is None else horizon - spent[:, plan.hand_over],
        by_odds=after.sum(axis=1) if has_odds(plan) else None,
        harm=None if harm is None else (spent * harm).sum(axis=1) + horizon * (moved * harm).sum(axis=1),
        by_thompson=by_thompson.sum(axis=1) if machine.chooses.any() else None,
        changes=turned.sum(axis=1) if change else None,
        unit=collection.unit,
        find_unlucky=partial(unlucky, plan, [collection], horizon, regret, entered),
    )


def thompson_losses(plan: Plan, collection: Collection, horizon: int) -> FloatArray:
    """About what is lost (M, N) at each end where Thompson sampling or an index chooses, in finding the best arm."""
    machine = machine_of(plan)
    losses = np.zeros((collection.n_tasks, machine.n_rows))
    several = np.flatnonzero(machine.arm == SEVERAL) if machine.worth else np.zeros(0, dtype=int)
    for row in np.setdiff1d(np.flatnonzero(machine.chooses), several):
        losses[:, row] = thompson_loss(collection, horizon, machine.arms_at(row))
    if several.size:
        odds = 0 if plan.fallback is None else plan.fallback.odds
        among = {row: machine.arms_at(row) for row in several}
        ends = [Expected(arms, machine.rates[row, arms], int(machine.worth), odds) for row, arms in among.items()]
        losses[:, several] = expected_losses(collection, horizon, ends).T
    return losses


def course(plan: Plan, collection: Collection, horizon: int | None = None) -> Course:
    """The exact regret and the exact chance of still testing after every round, for every task.

    What Thompson sampling or a person loses where they choose is not part of it.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> from banditree.trees.tree import build_tree
    >>> course(build_tree(two, horizon=1000), two).regret[1, [0, 96, 1000]].round(3).tolist()
    [0.0, 28.8, 28.804]
    """
    if _has_case_features(collection):
        raise InvalidInput("A course is not computed where features stay the same for a whole case. Use certify.")
    machine, horizon = machine_of(plan), _horizon(plan, horizon)
    outcomes, M = box_outcomes(plan, collection), collection.n_tasks
    if outcomes.claim.is_bound:
        reasons = "; ".join(outcomes.reasons)
        raise InvalidInput(f"There is no exact course of this plan: {reasons}. Use certify for bounds.")
    if M * horizon > MOST_COURSE:
        raise invalid("horizon", f"at most {MOST_COURSE // M:,} rounds for a course of {M} tasks", horizon)
    carried = carry(machine, outcomes, horizon, whole=True, turns=True)
    regret, undecided, changes = (np.array([c.course[part] for c in carried]) for part in range(3))
    return Course(frozen(regret + collection.change_cost * changes, float), frozen(undecided, float))


def regret_bound(plan: Plan, collection: Collection, horizon: int | None = None) -> FloatArray:
    """An upper bound (M,) of each task's regret: the tests as they are, and a leaf charged the whole horizon.

    Otherwise exact, and fast: one pass over the boxes, or a few if there are links back. A watch line, and an end
    under a safety rule, is charged the horizon or the rounds it lasts at most on average. Where all of their scores are
    capped, the bound is also at most e times what is lost before a last round that comes with chance 1/H after each: a
    round before the horizon is reached with a chance of at least 1/e. Where the distributions are not known, the bound
    of `certify`.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> regret_bound(build_tree(two, horizon=1000), two).round(3).tolist()
    [0.016, 28.804]
    """
    if _has_case_features(collection):
        return certify(plan, collection, horizon).regret
    right = rightly_at(plan, collection)
    machine, horizon = machine_of(plan), _horizon(plan, horizon)
    outcomes = box_outcomes(plan, collection)
    if outcomes.claim.is_bound:
        return _certify_worst(plan, collection, outcomes, horizon, right).regret
    down, up, pulls = require_end(machine, collection, outcomes, horizon)
    leaf = machine.kind == Counting.EXPLOIT
    losses = thompson_losses(plan, collection, horizon)
    turned = collection.change_cost * (down * machine.turns[:, :1] + up * machine.turns[:, 1:])
    value = solve(machine, down, up, np.where(leaf[:, None], horizon, pulls) * outcomes.cost.T + losses.T + turned)
    most = horizon * (outcomes.cost.max(axis=1) + collection.change_cost) + losses.max(axis=1)
    wrongly = solve(machine, down, up, (~right).T.astype(float))
    moved = moved_by_odds(plan, right, np.ones(len(right)) if wrongly is None else wrongly)
    after = (moved * (losses + horizon * outcomes.cost)).sum(axis=1)
    watched = machine.kind == Counting.WATCH
    if watched.any():
        if (machine.cap[watched] > 0).all() and not losses.any() and not collection.change_cost:
            most = np.minimum(most, _before_a_last_round(machine, outcomes, horizon))
        return np.asarray((most if value is None else np.minimum(value, most)) + after)
    assert value is not None  # the equations of a plan that ends have a solution
    return np.asarray(value + after)


def _has_case_features(collection: Collection) -> bool:
    return collection.contexts is not None and bool(collection.contexts.per_case.any())


def _before_a_last_round(machine: Machine, outcomes: Outcomes, horizon: int) -> FloatArray:
    """A bound of the regret (M,) over the horizon: that over a horizon of random length, mean H, times at most e."""
    from banditree.certificates.discounted import discounted_exits

    if horizon == 1:
        return np.asarray(outcomes.cost.max(axis=1))
    going = 1.0 - 1.0 / horizon
    down, up, rounds = discounted_exits(machine, outcomes, going)
    value = solve(machine, down, up, rounds * outcomes.cost.T)
    return np.asarray(horizon * outcomes.cost.max(axis=1) if value is None else value / going ** (horizon - 1))


def _horizon(plan: Plan, horizon: int | None) -> int:
    chosen = plan.horizon if horizon is None else horizon
    if not 1 <= chosen <= 10**9:
        raise invalid("horizon", "from 1 to 1,000,000,000 rounds", chosen)
    return int(chosen)


def _certify_worst(
    plan: Plan,
    collection: Collection,
    outcomes: Outcomes,
    horizon: int,
    right: BoolArray,
    harm: FloatArray | None = None,
) -> Certificate:
    machine = machine_of(plan)
    rest = (machine.kind == Counting.EXPLOIT) | (machine.kind == Counting.WATCH)
    nothing, away = np.zeros(machine.n_rows), machine.arm == HAND_OVER
    M = collection.n_tasks
    worst = worst_cases(machine, outcomes, horizon)

    losses, change = thompson_losses(plan, collection, horizon), collection.change_cost

    def chance(wrong: BoolArray, ends: BoolArray | None = None) -> FloatArray:
        stops = [None] * M if ends is None else list(ends)
        return np.array([min(worst(i, nothing, wrong[i].astype(float), stops[i]), 1.0) for i in range(M)])

    moved = moved_by_odds(plan, right, np.zeros(M) if right.all() else chance(~right, ~right))
    after = moved * (losses + horizon * outcomes.cost)
    return Certificate(
        tasks=collection.tasks,
        horizon=horizon,
        claim=outcomes.claim,
        regret=np.array([worst(i, outcomes.cost[i], losses[i], change=change) for i in range(M)]) + after.sum(axis=1),
        pulls=np.array([worst(i, np.where(rest, 0.0, 1.0), nothing) for i in range(M)]),
        wrong_arm=np.minimum(chance(outcomes.wrong_arm) + (moved * outcomes.wrong_arm).sum(axis=1), 1.0),
        wrong_task=None if outcomes.wrong_task is None else chance(outcomes.wrong_task),
        undecided=np.array([1.0 + worst(i, nothing, np.where(rest, -1.0, 0.0)) for i in range(M)]),
        reasons=outcomes.reasons,
        remarks=outcomes.remarks,
        shares=collection.shares,
        handed_over=None
        if plan.hand_over is None
        else np.minimum(chance(np.broadcast_to(away, (M, machine.n_rows))) + moved[:, plan.hand_over], 1.0),
        until_hand_over=None
        if plan.hand_over is None
        else np.array([worst(i, np.where(away, 0.0, 1.0), nothing) for i in range(M)]),
        by_odds=after.sum(axis=1) if has_odds(plan) else None,
        unit=collection.unit,
        find_unlucky=partial(_at_estimates, plan, collection, horizon) if collection.is_estimated else None,
        harm=None
        if harm is None
        else np.array([worst(i, harm[i], nothing) for i in range(M)]) + horizon * (moved * harm).sum(axis=1),
    )


def _at_estimates(plan: Plan, collection: Collection, horizon: int) -> Unlucky | None:
    """What the unlucky lose if the rates are what they were estimated to be."""
    return certify(plan, replace(collection, radius=np.zeros(())), horizon, must_rest=False).unlucky
