"""The numbers of a plan, computed and not simulated: regret, error and length, for every task.

Two functions, and every number says what it is. `regret_bound` charges a leaf the whole horizon and takes about a
millisecond; `certify` is exact to the horizon, or an upper bound where the law of the rewards is not known.
"""

from dataclasses import dataclass, replace

import numpy as np

from banditree.certificates.outcomes import Claim, Laws, box_laws
from banditree.errors import InvalidInput, invalid
from banditree.plans.plan import BoxKind, Plan
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen
from banditree.tasks.collection import Collection

ENDLESS = 1e4  # a plan that tests for so many horizons on average is refused as one that may never end
MOST_CASES = 0.95  # the share of cases in "95% of cases are decided within n rounds"


@dataclass(frozen=True, eq=False)
class Certificate:
    """What a plan costs in each of the M tasks of a collection over `horizon` rounds.

    regret: (M,), expected up to the horizon, Eq. (1). pulls: (M,), expected rounds of testing. wrong_arm, wrong_task:
    (M,), the chance to settle for an arm that is not the best, or for another task (None if the plan names none).
    undecided: (M,), the chance to be still testing when the horizon ends. All of them are what `claim` says.
    Only if exact: leaves (M, N), the chance of each leaf; regret_at (M, N), the regret spent at each box; within (M,),
    the rounds within which 95% of the cases are decided, or the horizon. shares: (M,) of the tasks, None if unknown.
    """

    tasks: tuple[str, ...]
    horizon: int
    claim: Claim
    regret: FloatArray
    pulls: FloatArray
    wrong_arm: FloatArray
    wrong_task: FloatArray | None
    undecided: FloatArray
    leaves: FloatArray | None = None
    regret_at: FloatArray | None = None
    within: IntArray | None = None
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    shares: FloatArray | None = None

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
    """How a plan goes, round by round: regret (M, H+1) expected after each round, decided (M, H+1) the chance that the
    tests end after exactly so many pulls."""

    regret: FloatArray
    decided: FloatArray


def certify(plan: Plan, collection: Collection, horizon: int | None = None) -> Certificate:
    """The exact regret, error and length of `plan` under every task, or upper bounds of them if these are not known.

    horizon: H, the plan's own when left out. Known Bernoulli and Gaussian rewards give exact numbers, to about 12
    digits however small. For estimated means, and rewards known by their mean and range, every box takes its worst
    law: an upper bound.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> certificate = certify(build_tree(two, horizon=1000), two)
    >>> round(certificate.worst_regret, 3), f"{certificate.wrong_arm.max():.1e}"
    (28.804, '3.2e-05')
    """
    horizon = _horizon(plan, horizon)
    laws = box_laws(plan, collection)
    if laws.claim is Claim.UPPER_BOUND:
        return _certify_worst(plan, collection, laws, horizon)
    require_end(plan, collection, laws, horizon)
    M, N = collection.n_tasks, plan.n_boxes
    regret, within = np.empty(M), np.empty(M, np.int64)
    leaves, spent, undecided = np.zeros((M, N)), np.zeros((M, N)), np.zeros(M)
    for i in range(M):
        course, decided, undecided[i] = _propagate(plan, laws, i, horizon, leaves[i], spent[i])
        regret[i] = course[-1]
        within[i] = min(int(np.searchsorted(np.cumsum(decided), MOST_CASES)), horizon)
    tests = plan.kind != BoxKind.EXPLOIT
    return Certificate(
        tasks=collection.tasks,
        horizon=horizon,
        claim=laws.claim,
        regret=regret,
        pulls=spent[:, tests].sum(axis=1),
        wrong_arm=(leaves * laws.wrong_arm).sum(axis=1),
        wrong_task=None if laws.wrong_task is None else (leaves * laws.wrong_task).sum(axis=1),
        undecided=undecided,
        leaves=leaves,
        regret_at=spent * laws.cost,
        within=within,
        remarks=laws.remarks,
        shares=collection.shares,
    )


def course(plan: Plan, collection: Collection, horizon: int | None = None) -> Course:
    """The exact regret after every round and the exact law of the number of tests, for every task.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> from banditree.trees.tree import build_tree
    >>> course(build_tree(two, horizon=1000), two).regret[1, [0, 96, 1000]].round(3).tolist()
    [0.0, 28.8, 28.804]
    """
    horizon = _horizon(plan, horizon)
    laws = box_laws(plan, collection)
    if laws.claim is Claim.UPPER_BOUND:
        raise InvalidInput(f"There is no exact course of this plan: {'; '.join(laws.reasons)}. Use certify for bounds.")
    M, N = collection.n_tasks, plan.n_boxes
    regret, decided = np.empty((M, horizon + 1)), np.empty((M, horizon + 1))
    for i in range(M):
        regret[i], decided[i], _ = _propagate(plan, laws, i, horizon, np.zeros(N), np.zeros(N))
    return Course(frozen(regret, float), frozen(decided, float))


def regret_bound(plan: Plan, collection: Collection, horizon: int | None = None) -> FloatArray:
    """An upper bound (M,) of each task's regret: the tests as they are, and a leaf charged the whole horizon.

    Exact but for that, and fast: one pass over the boxes, or a few if there are links back. Where the laws are not
    known, the bound of `certify`.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> regret_bound(build_tree(two, horizon=1000), two).round(3).tolist()
    [0.016, 28.804]
    """
    horizon = _horizon(plan, horizon)
    laws = box_laws(plan, collection)
    if laws.claim is Claim.UPPER_BOUND:
        return _certify_worst(plan, collection, laws, horizon).regret
    down, up, pulls = require_end(plan, collection, laws, horizon)
    leaf = plan.kind == BoxKind.EXPLOIT
    value = solve(plan, down, up, np.where(leaf[:, None], horizon, pulls) * laws.cost.T)
    assert value is not None  # the equations of a plan that ends have a solution
    return value


def boxes_passed(plan: Plan, collection: Collection) -> FloatArray:
    """The expected number of tests (M,) that a case passes on its way to a leaf, at the means as they are given.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> boxes_passed(build_tree(two, horizon=1000), two).tolist()
    [1.0, 1.0]
    """
    known = replace(collection, radius=np.zeros_like(collection.means))
    laws = box_laws(plan, known)
    if laws.claim is Claim.UPPER_BOUND:
        raise InvalidInput(f"The number of tests cannot be computed: {'; '.join(laws.reasons)}.")
    down, up, _pulls = require_end(plan, known, laws, plan.horizon)
    tests = (plan.kind != BoxKind.EXPLOIT).astype(float)
    passed = solve(plan, down, up, np.repeat(tests[:, None], collection.n_tasks, axis=1))
    assert passed is not None  # the equations of a plan that ends have a solution
    return passed


def exit_laws(plan: Plan, laws: Laws) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(chance of the low side, of the high side, expected pulls) of each test under each task, all (N, M)."""
    down, up = laws.least[:, :, 0].T.copy(), laws.least[:, :, 1].T.copy()
    pulls = np.repeat(plan.pulls[:, None].astype(float), down.shape[1], axis=1)
    boxes = np.flatnonzero(plan.kind == BoxKind.SCORE)
    if boxes.size:
        from banditree.certificates.walks import leave_all

        chance = np.ascontiguousarray(laws.least[:, boxes, : plan.points.shape[1]].transpose(1, 2, 0))
        down[boxes], up[boxes], pulls[boxes] = leave_all(
            plan.points[boxes], plan.floor[boxes], plan.ceil[boxes], chance
        )
    return down, up, pulls


def solve(plan: Plan, down: FloatArray, up: FloatArray, cost: FloatArray) -> FloatArray | None:
    """The expected total (M,) of `cost` (N, M) from box 0 to a leaf, or None if it is not finite.

    V = cost + down V[low] + up V[high], a leaf's V being its cost. One pass from the last box to the first gives every
    V in terms of the few boxes that links lead back to; a small linear system gives those.
    """
    from banditree.certificates.chains import substitute

    if not np.isfinite(cost).all():
        return None
    targets = back_targets(plan)
    slot = np.full(plan.n_boxes, -1)
    slot[targets] = np.arange(targets.size)
    value = substitute(plan.low, plan.high, down, up, cost, slot, targets.size)
    if targets.size == 0:
        return np.asarray(value[0, 0])
    weights = value[targets, 1:].transpose(2, 0, 1)
    try:
        known = np.linalg.solve(np.eye(targets.size) - weights, value[targets, 0].T[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(known).all() and known.min() >= -1e-9):
        return None
    return np.asarray(value[0, 0] + np.einsum("sm,ms->m", value[0, 1:], known), dtype=np.float64)


def back_targets(plan: Plan) -> IntArray:
    """The boxes that some link leads back to."""
    number = np.arange(plan.n_boxes)
    tests = plan.kind != BoxKind.EXPLOIT
    back = [side[tests & (side <= number)] for side in (plan.low, plan.high)]
    return np.unique(np.concatenate(back))


def require_end(
    plan: Plan, collection: Collection, laws: Laws, horizon: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The laws of `exit_laws`, or an error if the tests may go on for ever or so long that it makes no difference."""
    down, up, pulls = exit_laws(plan, laws)
    if not plan.has_links_back and np.isfinite(pulls).all():
        return down, up, pulls
    expected = solve(plan, down, up, pulls)
    if expected is None or expected.max() > ENDLESS * horizon:
        where = "" if expected is None else f" for task {collection.tasks[int(expected.argmax())]!r}"
        raise InvalidInput(
            f"This plan may never end{where}: some boxes lead back to each other with a chance too close to one. "
            "Build it again without links back."
        )
    return down, up, pulls


def _horizon(plan: Plan, horizon: int | None) -> int:
    chosen = plan.horizon if horizon is None else horizon
    if not 1 <= chosen <= 10**9:
        raise invalid("horizon", "from 1 to 1,000,000,000 rounds", chosen)
    return int(chosen)


def _arrays(plan: Plan) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]:
    """The plan's arrays as the compiled loops take them, with at least two columns of points."""
    points = plan.points
    if points.shape[1] < 2:
        points = np.zeros((plan.n_boxes, 2), np.int64)
    return plan.kind, plan.low, plan.high, plan.pulls, points, plan.floor, plan.ceil


def _propagate(
    plan: Plan, laws: Laws, task: int, horizon: int, ended: FloatArray, spent: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    from banditree.certificates.chains import propagate

    regret, decided = np.zeros(horizon + 1), np.zeros(horizon + 1)
    undecided = propagate(*_arrays(plan), laws.least[task], laws.cost[task], horizon, regret, decided, ended, spent)
    return regret, decided, float(undecided)


def _certify_worst(plan: Plan, collection: Collection, laws: Laws, horizon: int) -> Certificate:
    from banditree.certificates.chains import worst_case

    leaf = plan.kind == BoxKind.EXPLOIT
    nothing = np.zeros(plan.n_boxes)
    M = collection.n_tasks

    def worst(i: int, cost: FloatArray, prize: FloatArray) -> float:
        value = worst_case(*_arrays(plan), laws.least[i], laws.most[i], cost, prize, horizon)
        return float(value)

    def chance(wrong: BoolArray) -> FloatArray:
        return np.array([min(worst(i, nothing, wrong[i].astype(float)), 1.0) for i in range(M)])

    return Certificate(
        tasks=collection.tasks,
        horizon=horizon,
        claim=laws.claim,
        regret=np.array([worst(i, laws.cost[i], nothing) for i in range(M)]),
        pulls=np.array([worst(i, np.where(leaf, 0.0, 1.0), nothing) for i in range(M)]),
        wrong_arm=chance(laws.wrong_arm),
        wrong_task=None if laws.wrong_task is None else chance(laws.wrong_task),
        undecided=np.array([1.0 + worst(i, nothing, np.where(leaf, -1.0, 0.0)) for i in range(M)]),
        reasons=laws.reasons,
        remarks=laws.remarks,
        shares=collection.shares,
    )
