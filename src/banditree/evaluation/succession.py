"""Whether a plan that was relearned is better than the one before, on cases that it was not made from.

The cases followed the old plan, so a new one cannot be replayed on them: they show only what the old one gave. What
they do show is the rates, whatever they followed. So the cases are split into parts. From all but one part a plan is
made in the same way as the new one; the rates are estimated anew from the log and that one part alone, and both plans
are computed at these. A plan that does well only at the errors of the rates that it was made from gains nothing there.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from banditree.certificates.certify import certify
from banditree.evaluation.intervals import CONFIDENCE, Estimate
from banditree.evaluation.splits import fold_numbers
from banditree.plans.plan import Plan
from banditree.progress import OnProgress, goes_on
from banditree.settings import keywords
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.training.relearning import estimates_from, relearn
from banditree.training.settings import RelearnSettings
from banditree.training.statistics import Statistics, only_tasks

PARTS = 3  # A plan is made from all but one of these parts of the cases, and judged on that one.
LEAST = 15  # With fewer cases nothing is shown by a third of them.
DRAWS = 60  # Times that the cases of a part are drawn anew, from which the error follows: known to 9% of itself.

MakePlan = Callable[[Collection], Plan]


@dataclass(frozen=True)
class HeldOut:
    """By how much a case gains, on average over cases, by plans made as the new one is; of the n cases judged."""

    gain: Estimate
    n_cases: int

    @property
    def is_better(self) -> bool:
        """Whether the interval shows it."""
        return self.gain.low > 0


@keywords(RelearnSettings)
def judge_succession(
    old: Plan,
    collection: Collection,
    cases: Statistics,
    make: MakePlan,
    *,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    **settings: object,
) -> HeldOut | None:
    """What plans made by `make` gain over the old plan, on cases that they were not made from; None for too few cases.

    collection, cases, settings: of `relearn`. The interval is for new cases: those of every part are drawn anew. It
    takes the log as it is, and since the old plan was made from the whole log, what it says favours the old plan.
    """
    n = len(cases.tasks)
    if n < LEAST:
        return None
    fold, gains, draws = fold_numbers(n, PARTS, seed), list[float](), list[FloatArray]()
    how = RelearnSettings(**settings)
    estimates, rng = estimates_from(collection, cases, how.log_weight), np.random.default_rng([seed, 7])
    for part in range(PARTS):
        if not goes_on(on_progress, part, PARTS, None, f"held out: part {part + 1} of {PARTS}"):
            return None
        held = np.flatnonzero(fold == part)
        known = relearn(collection, only_tasks(cases, np.flatnonzero(fold != part)), **dict(how))
        new = make(known.collection)

        def gain(chosen: IntArray, new: Plan = new) -> float:
            return _gain(old, new, estimates(chosen))

        gains.append(gain(held))
        draws.append(np.array([gain(rng.choice(held, len(held))) for _ in range(DRAWS)]))
    error = float(np.mean(draws, axis=0).std(ddof=1))
    value, wide = float(np.mean(gains)), float(ndtri((1 + CONFIDENCE) / 2)) * error
    return HeldOut(Estimate(value, error, value - wide, value + wide), n)


def _gain(old: Plan, new: Plan, at: Collection) -> float:
    """How much less the new plan loses per case at these rates and shares."""
    before, after = (certify(plan, at, must_rest=False).mean_regret for plan in (old, new))
    return before - after
