"""A certificate over cases that vary within their kind: drawn cases, each computed exactly, against its own best."""

from dataclasses import dataclass

import numpy as np

from banditree.certificates.certify import certify
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.cases import case_collection, draw_cases
from banditree.tasks.collection import Collection

DRAWS = 100  # This many cases of each task are drawn: a chance of one half is then known to within 0.1 for each.
MOST_DRAWS = 1_000  # Of many tasks fewer cases each are drawn, this many in all ...
LEAST_DRAWS = 20  # ... but no fewer of each than this.
NORMAL = 1.96  # A 95% interval reaches this many standard errors to either side.


@dataclass(frozen=True, eq=False)
class Estimated:
    """An average over drawn cases: of each task (M,) and over all, each with the half-width of its 95% interval."""

    by_task: FloatArray
    by_task_within: FloatArray
    mean: float
    within: float


@dataclass(frozen=True, eq=False)
class VaryingCertificate:
    """What a plan loses against each case's own best option, and the chance of settling on another one.

    Estimates from `draws` cases of each task with `seed`, none of which a search has seen; every case is computed, not
    simulated. undecided: the chance of still testing when the horizon ends. pulls: the rounds of testing.
    unit: what the regret is counted in, where the collection has a worth.
    """

    tasks: tuple[str, ...]
    horizon: int
    draws: int
    seed: int
    regret: Estimated
    wrong_arm: Estimated
    undecided: Estimated
    pulls: Estimated
    unit: str | None = None

    @property
    def worst_regret(self) -> float:
        """The regret of the task whose cases lose most on average."""
        return float(self.regret.by_task.max())

    @property
    def mean_regret(self) -> float:
        """The regret averaged over the tasks, each counted by its share where shares are known."""
        return self.regret.mean

    @property
    def worst_task(self) -> str:
        """The name of the task whose cases lose most on average."""
        return self.tasks[int(self.regret.by_task.argmax())]


def certify_cases(
    plan: Plan, collection: Collection, horizon: int | None = None, *, draws: int | None = None, seed: int = 0
) -> VaryingCertificate:
    """The certificate of a plan over cases drawn from each task with its spread, at the means as they are given.

    draws: of each task, by default 100, and fewer where there are more than 10 tasks. All plans of a collection
    meet the same cases.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], spread=[[0.1, 0.1], [0.1, 0.1]])
    >>> found = certify_cases(build_tree(two, horizon=1000), two)
    >>> bool(found.wrong_arm.mean > 0.001)
    True
    """
    draws = default_draws(collection) if draws is None else draws
    task = draw_cases(collection, draws, seed, fresh=True).task
    # A case for which every option is bad starts again and again, as long as the horizon lasts.
    drawn = case_collection(collection, draws, seed, fresh=True)
    certificate = certify(plan, drawn, horizon, must_rest=False)

    def averaged(values: FloatArray) -> Estimated:
        return _averaged(values, task, collection.weights)

    return VaryingCertificate(
        collection.tasks,
        certificate.horizon,
        draws if collection.varies else 1,
        seed,
        averaged(certificate.regret),
        averaged(certificate.wrong_arm),
        averaged(certificate.undecided),
        averaged(certificate.pulls),
        collection.unit,
    )


def default_draws(collection: Collection) -> int:
    """How many cases of each task are drawn by default."""
    return max(LEAST_DRAWS, min(DRAWS, MOST_DRAWS // collection.n_tasks))


def _averaged(values: FloatArray, task: IntArray, weights: FloatArray) -> Estimated:
    by_task = [values[task == number] for number in range(len(weights))]
    mean = np.array([own.mean() for own in by_task])
    error = np.array([own.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0 for own in by_task])
    within = NORMAL * float(np.sqrt(((weights * error) ** 2).sum()))
    return Estimated(mean, NORMAL * error, float(weights @ mean), within)
