"""How many cases a study needs: until its kinds can be told, and until a plan can be shown to beat one option.

One large study is simulated from the rates that are assumed, and judged as a log of it would be. What one case adds to
the difference between plan and option, and to the likelihood of the kinds, gives the chance of success at any size.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditree.cases.table import Cases
from banditree.errors import InvalidInput
from banditree.evaluation.evaluate import Evaluation, evaluate
from banditree.evaluation.expected import made_up
from banditree.evaluation.judging import LEAST_CASES
from banditree.evaluation.settings import StudySettings
from banditree.plans.plan import Plan
from banditree.settings import keywords
from banditree.tasks.arrays import IntArray
from banditree.tasks.collection import Collection
from banditree.training.cells import statistics_of
from banditree.training.mixture import sums_of
from banditree.training.overdispersion import fit_kinds, log_likelihoods

PILOT = 3_000  # Cases of the simulated study: what one case adds is then known within some percent.
STARTS = 5  # EM is started this many times.
CURVE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_CASES = 10_000_000  # A study that needs more is said to be impossible.

Power = Callable[[int], float]  # The chance of success, by the number of cases.


@dataclass(frozen=True)
class Goal:
    """Something to be shown: cases until it is with the wanted chance, None if never; months, where they are known;
    and the curve, (chance, cases) each."""

    cases: int | None
    months: float | None
    curve: tuple[tuple[float, int], ...]


@dataclass(frozen=True, eq=False)
class Study:
    """What a study can show. gain: what the plan gives above `single` per round, over the rounds
    that are judged, of which a log like this shows some; kinds, plan: the two goals."""

    settings: StudySettings
    rounds: int
    single: str
    gain: float
    rounds_judged: int
    rounds_shown: int
    kinds: Goal
    plan: Goal


@keywords(StudySettings)
def design(plan: Plan, collection: Collection, **settings: Any) -> Study:
    """How many cases, and months, a study needs by the rates of `collection`, for `plan` and for its kinds.

    The plan is judged on all cases of the study; `fit` holds out a third of a log, so that three times as many are
    needed where the plan is to come from the same log. settings: of `StudySettings`.

    >>> from banditree import build_plan
    >>> two = Collection.bernoulli([[0.8, 0.3], [0.3, 0.8]], arms=["A", "B"])
    >>> found = design(build_plan(two, horizon=8, steps=50), two, cases_per_month=10)
    >>> 20 <= found.plan.cases < 100 and 20 <= found.kinds.cases < 200
    True
    """
    how = StudySettings(**settings)
    if collection.theta is not None:
        raise InvalidInput("Studies are designed for kinds without contexts. Give a collection without them.")
    rounds, single = how.rounds or plan.horizon, collection.arms[collection.best_single_arm]
    pilot = study_of(collection, how.give, PILOT, rounds, how.seed)
    judged = judged_study(plan, pilot, single, how)
    gain = judged.rows[1].gain
    assert gain is not None
    return Study(
        how,
        rounds,
        single,
        gain.value,
        judged.counted,
        judged.shown,
        _goal(_kinds_power(pilot, collection, how.seed), how, rounds),
        _goal(_gain_power(gain.value, gain.error * math.sqrt(PILOT), how.confidence), how, rounds),
    )


def judged_study(plan: Plan, study: Cases, single: str, how: StudySettings) -> Evaluation:
    """The verdict on a study's cases."""
    about: dict[str, Any] = {"single": single, "confidence": how.confidence}
    horizon = min(plan.horizon, int(study.n_rounds.max()))
    return evaluate(plan, study, horizon=horizon, runs=1, **about)


def study_of(collection: Collection, give: str, n_cases: int, rounds: int, seed: int) -> Cases:
    """A simulated study: what these cases gave of the options that they were given."""
    rng = np.random.default_rng([seed, 9])
    whole = made_up(collection, n_cases, rounds, rng)
    arm = _given(give, n_cases, rounds, collection.n_arms, rng)
    outcomes = np.where(np.arange(collection.n_arms) == arm[:, None], whole.outcomes, np.nan)
    return Cases(whole.cases, whole.arms, whole.first, outcomes)


def _given(give: str, n_cases: int, rounds: int, n_arms: int, rng: np.random.Generator) -> IntArray:
    """The option (R,) of every round: drawn in each, or each for a period, in a random order."""
    if give == "random":
        return rng.integers(0, n_arms, n_cases * rounds)
    order = rng.permuted(np.tile(np.arange(n_arms), (n_cases, 1)), axis=1)
    return np.asarray(order[:, np.arange(rounds) * n_arms // rounds].ravel())


def _gain_power(gain: float, deviation: float, confidence: float) -> Power:
    """The chance that the interval of the gain lies above 0, by the number of cases; deviation: of one case."""
    from scipy.special import ndtr, ndtri

    reach = float(ndtri((1 + confidence) / 2))
    return lambda n: float(ndtr(gain * math.sqrt(n) / deviation - reach)) if n >= 2 * LEAST_CASES else 0.0


def _kinds_power(pilot: Cases, collection: Collection, seed: int) -> Power:
    """The chance that BIC prefers this many kinds to one less, by the number of cases.

    Twice the log-likelihood grows by as much for every case, and by one for every free number that is fitted; BIC asks
    for log n of each of these.
    """
    from scipy.special import ndtr

    sums, M = sums_of(statistics_of(pilot), collection.rewards.family), collection.n_tasks
    mixtures = [fit_kinds(sums, n, STARTS, np.random.default_rng([seed, n])) for n in (M, M - 1)]
    more, fewer = (log_likelihoods(sums, mixture) for mixture in mixtures)
    free, each = sums.n_parameters + 1, 2 * (more - fewer)
    gain, deviation = float(each.mean()) - free / len(each), float(each.std())

    def power(n: int) -> float:
        away = n * gain + free * (1 - math.log(n))
        return float(ndtr(away / (deviation * math.sqrt(n)))) if deviation > 0 and n >= 2 * LEAST_CASES else 0.0

    return power


def _goal(power: Power, how: StudySettings, rounds: int) -> Goal:
    """Where the chance comes to what is wanted; found by halving, since it grows with the number of cases."""
    cases = _least(power, how.power)
    curve = tuple((chance, n) for chance in CURVE if (n := _least(power, chance)) is not None)
    months = None
    if cases is not None and how.cases_per_month is not None:
        months = cases / how.cases_per_month + rounds / how.rounds_per_month
    return Goal(cases, months, curve)


def _least(power: Power, wanted: float) -> int | None:
    low, high = 1, 2
    while power(high) < wanted:
        low, high = high, 2 * high
        if high > MOST_CASES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= wanted else (middle, high)
    return high
