"""What was seen of a plan's cases beside what their kinds predict: options and lines, ends, losses, months."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp

from banditree.cases.table import Cases
from banditree.monitoring.evidence import Null, at_rates
from banditree.monitoring.moves import Move, moves
from banditree.monitoring.promised import Promised
from banditree.monitoring.sequences import mean_sequence, ratio_sequence
from banditree.plans.gives import NONE
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.policies.alarm import FALSE_ALARM_RATE, allowance
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection

MONTH = 365.25 / 12  # Days of an average month.


@dataclass(frozen=True)
class Between:
    """A value with an interval that may be looked at every day."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Cell:
    """Outcomes of an option, in one box or (box None) in all: how many, their mean, what the kinds predict, and the
    difference with its interval."""

    arm: int
    box: int | None
    n: int
    observed: float
    expected: float
    difference: Between


@dataclass(frozen=True)
class Month:
    """What happened in one month: cases begun, outcomes, missing ones, overrides and cases that fit no kind; mean and
    expected outcome of each option; loss of a case that began then, seen and promised (NaN where there is none); what
    moved with these cases."""

    begin: float
    cases: int
    rounds: int
    missing: int
    overridden: int
    unfit: int
    observed: tuple[float, ...]
    expected: tuple[float, ...]
    loss: float
    promised: float
    moved: tuple[Move, ...] = ()


@dataclass(frozen=True)
class Summary:
    """The cases of a plan, or of one site: counts, tables and months; `loss` and `promised` are means per case, in
    `unit` where the collection has a worth."""

    cases: int
    rounds: int
    missing: int
    overridden: int
    off_plan: int
    unfit: int
    options: tuple[Cell, ...]
    boxes: tuple[Cell, ...]
    shares: tuple[float, ...]
    assumed: tuple[float, ...] | None
    settled: float
    settled_expected: float | None
    rounds_to_settle: float | None
    ends: tuple[float, ...]
    ends_expected: tuple[float, ...] | None
    loss: Between
    promised: float | None
    unit: str | None
    months: tuple[Month, ...]


def beliefs(table: FloatArray, null: Null, block: IntArray) -> FloatArray:
    """How likely each kind (U, M) is for each case, at the rates as they are given and the shares that were seen."""
    middle = np.full(null.place.shape, table.shape[3] // 2)
    joint = at_rates(table, middle) + np.log(null.shares)[block]
    return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))


def summarise(
    plan: Plan, collection: Collection, observed: Cases, belief: FloatArray, promised: Promised | None
) -> Summary:
    """Everything that is shown of these cases. belief: (U, M), how likely each kind is for each."""
    owner, known = observed.owner, observed.told
    expected = np.where(known, (belief[owner] * collection.means[:, observed.arm].T).sum(axis=1), np.nan)
    rounds = np.bincount(owner[known], minlength=observed.n_cases)
    earned = collection.earned(observed.arm[known], observed.reward[known])
    changes = np.bincount(owner[1:], _changes(observed), minlength=observed.n_cases)
    seen = belief @ collection.values * rounds - np.bincount(owner[known], earned, minlength=observed.n_cases)
    seen = seen + collection.change_cost * changes
    begun = rounds > 0
    due = None if promised is None else promised.loss(belief, rounds)
    settled, after, last_arm = _settling(plan, observed)
    unfit = unfit_since(observed, collection)
    K, arm = collection.n_arms, machine_of(plan).arm[: plan.n_seen]
    ends = np.bincount(last_arm[begun], minlength=K) / max(begun.sum(), 1)
    told = ~np.isnan(observed.at)
    most = float(max(plan.horizon, rounds.max()))
    cell = partial(_cell, observed, expected, collection, most)
    (low, high), best = collection.worth_range, collection.values
    loss_range = most * float(best.min() - high.max()), most * float(best.max() - low.min() + collection.change_cost)
    return Summary(
        cases=observed.n_cases,
        rounds=int(known.sum()),
        missing=int((told & ~known).sum()),
        overridden=int(observed.overridden.sum()),
        off_plan=int((~observed.planned & known).sum()),
        unfit=int(np.isfinite(unfit).sum()),
        options=tuple(cell(known & (observed.arm == k), k, None) for k in range(K)),
        boxes=tuple(cell(known & (observed.box == b), int(arm[b]), b) for b in np.flatnonzero(arm >= 0).tolist()),
        shares=tuple(belief[begun].mean(axis=0).tolist()),
        assumed=None if collection.shares is None else tuple(collection.shares.tolist()),
        settled=float(settled[begun].mean()),
        settled_expected=None if promised is None else promised.settled(belief[begun], rounds[begun]),
        rounds_to_settle=float(np.median(after[settled & begun])) if (settled & begun).any() else None,
        ends=tuple(ends.tolist()),
        ends_expected=None if promised is None else tuple(promised.in_force(belief[begun], rounds[begun]).tolist()),
        loss=Between(*mean_sequence(seen[begun], *loss_range)),
        promised=None if due is None else float(due[begun].mean()),
        unit=collection.unit,
        months=_months(observed, expected, unfit, seen, due, begun, partial(moves, observed, collection)),
    )


def _changes(observed: Cases) -> FloatArray:
    """1 for every round but the first of all that gives another arm than the round of its case before."""
    same_case = observed.owner[1:] == observed.owner[:-1]
    return np.asarray(same_case & (observed.arm[1:] != observed.arm[:-1]), float)


def _cell(
    observed: Cases,
    expected: FloatArray,
    collection: Collection,
    most: float,
    here: BoolArray,
    arm: int,
    box: int | None,
) -> Cell:
    owner, U = observed.owner[here], observed.n_cases
    n = np.bincount(owner, minlength=U).astype(float)
    above = np.asarray(np.bincount(owner, observed.reward[here] - expected[here], minlength=U), float)
    count = int(n.sum())
    if not count:
        return Cell(arm, box, 0, float("nan"), float("nan"), Between(float("nan"), -np.inf, np.inf))
    means, rewards = collection.means[:, arm], collection.rewards
    ends = float(rewards.low - means.max()), float(rewards.high - means.min())
    difference = Between(*ratio_sequence(above, n, *ends, most))
    return Cell(arm, box, count, float(observed.reward[here].mean()), float(expected[here].mean()), difference)


def _settling(plan: Plan, observed: Cases) -> tuple[BoolArray, IntArray, IntArray]:
    """Whether each case (U,) was at rest in its last planned round, after how many rounds its option changed no more,
    and that option."""
    U = observed.n_cases
    rests = np.array([row.counts.rests for row in plan.rows])
    settled, after, last = np.zeros(U, bool), np.zeros(U, np.int64), np.zeros(U, np.int64)
    for u, (begin, end) in enumerate(zip(observed.first[:-1].tolist(), observed.first[1:].tolist(), strict=True)):
        if end == begin:
            continue
        boxes, arms = observed.box[begin:end], observed.arm[begin:end]
        on_plan = boxes[boxes != NONE]
        settled[u] = len(on_plan) > 0 and rests[on_plan[-1]]
        last[u] = arms[-1]
        others = np.flatnonzero(arms != arms[-1])
        after[u] = others[-1] + 1 if len(others) else 0
    return settled, after, last


def unfit_since(observed: Cases, collection: Collection, rate: float = FALSE_ALARM_RATE) -> FloatArray:
    """The day (U,) from which a case fits no kind, by the alarm of `policies.alarm`; infinite where it fits one."""
    owner = observed.owner
    used = np.flatnonzero(observed.told)
    case, arm, reward = owner[used], observed.arm[used], observed.reward[used]
    residual = reward[:, None] - collection.means[:, arm].T
    allowed, rate = allowance(collection, rate)
    slack = allowed[:, arm].T
    cell = case * collection.n_arms + arm
    order = np.argsort(cell, kind="stable")
    start = np.searchsorted(cell[order], cell[order])
    pulls = np.empty(len(cell))
    sums = np.empty_like(residual)
    running = np.cumsum(residual[order], axis=0)
    before = np.where(start[:, None] > 0, running[np.maximum(start - 1, 0)], 0.0)
    pulls[order], sums[order] = np.arange(len(cell)) - start + 1.0, running - before
    variance = float(collection.rewards.variance_proxy)

    def log_evidence(total: FloatArray, n: FloatArray) -> FloatArray:
        excess = np.maximum(np.abs(total) - n * slack, 0.0)
        return np.asarray(0.5 * excess**2 / (variance * (1 + n)) - 0.5 * np.log1p(n))

    n = pulls[:, None]
    step = log_evidence(sums, n) - np.where(n > 1, log_evidence(sums - residual, n - 1), 0.0)
    total = np.cumsum(step, axis=0)
    first = np.searchsorted(case, case)
    against = total - np.where(first[:, None] > 0, total[np.maximum(first - 1, 0)], 0.0)
    rejected = np.flatnonzero((against >= -np.log(rate)).all(axis=1))
    since = np.full(observed.n_cases, np.inf)
    np.minimum.at(since, case[rejected], observed.at[used][rejected])
    return since


def _months(
    observed: Cases,
    expected: FloatArray,
    unfit: FloatArray,
    seen: FloatArray,
    due: FloatArray | None,
    begun: BoolArray,
    moves_of: Callable[[IntArray, int], tuple[Move, ...]],
) -> tuple[Month, ...]:
    start = float(observed.began.min())
    month, of_case = ((days - start) // MONTH for days in (observed.at, observed.began))
    last = int(max(np.nanmax(month, initial=0), of_case.max()))
    nothing = float("nan")
    found = []
    for m in range(last + 1):
        here, cases = month == m, (of_case == m) & begun
        known = here & observed.told
        arms = [known & (observed.arm == k) for k in range(len(observed.arms))]
        found.append(
            Month(
                begin=start + m * MONTH,
                cases=int((of_case == m).sum()),
                rounds=int(known.sum()),
                missing=int((here & ~observed.told).sum()),
                overridden=int((here & observed.overridden).sum()),
                unfit=int((np.floor((unfit - start) / MONTH) == m).sum()),
                observed=tuple(float(observed.reward[rows].mean()) if rows.any() else nothing for rows in arms),
                expected=tuple(float(expected[rows].mean()) if rows.any() else nothing for rows in arms),
                loss=float(seen[cases].mean()) if cases.any() else nothing,
                promised=float(due[cases].mean()) if due is not None and cases.any() else nothing,
                moved=moves_of(of_case.astype(np.int64), m),
            )
        )
    return tuple(found)
