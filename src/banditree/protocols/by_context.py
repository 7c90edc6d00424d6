"""Protocols for contextual tasks: lines that treat a case as one of the kinds, and points by how well outcomes fit.

Treating as kind j gives, at every context, the best option of kind j. Contexts are drawn again every round, so that the
outcomes of such an option are independent from round to round, and the search for protocols applies to it as to any
arm: it needs the mean rewards V[i, j] of every option in every kind, and the chances of the bins of its points.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from banditree.certificates.over_contexts import Contextual
from banditree.errors import InvalidInput
from banditree.plans.gives import NONE, Give, Gives, TreatAs
from banditree.plans.kind_rule import KindRule, choices_of, promises_of
from banditree.plans.plan import SafetyRule
from banditree.plans.points import Fit, Points, PromiseTable
from banditree.protocols.promise_tables import FULL_PAIRS, MOST_OF_TABLES, one_row_tables, tables_for
from banditree.protocols.scoring import Templates, unit_of
from banditree.protocols.worlds import World
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import averaging_rows
from banditree.tasks.predictions import predict
from banditree.tasks.rewards import Gaussian
from banditree.trees.tree import round_significant

PointsBy = Literal["fit", "table", "outcome"]

UNITS = (0.25, 1.0)  # Log-likelihood ratio per point: fine steps, and coarse ones for outcomes that tell much.
MOST_POINTS = 6  # The most points of one round, up or down.
ROWS = 2_000  # The search averages over this many contexts; certificates take them all.
SAME = 1e-9  # A drift that differs by less between kinds tells nothing.


PAIRS = 2  # Slopes of each kind, as far above the estimates as below, by which a search allows for their errors.
DEVIATIONS = 3.0  # A margin of estimated slopes is about this many standard deviations.


class Options(NamedTuple):
    """What a line may give: arm (O,) and task (O,), one of them NONE; choices: (O, n), the arm at each context."""

    arm: IntArray
    task: IntArray
    choices: IntArray


@dataclass(frozen=True, eq=False)
class ContextualTasks:
    """A contextual collection as the search sees it: a world of options, and what a plan needs besides its lines.

    truths: what the scenarios of the world are: the tasks as estimated, and again with slopes that are off.
    """

    truths: Collection
    world: World
    options: Options
    rules: tuple[KindRule | None, ...]
    gradings: tuple[Points, ...]

    def gives(self, option: int, collection: Collection) -> Gives:
        """What an option of the search gives: an arm, or a task to treat as."""
        arm, task = int(self.options.arm[option]), int(self.options.task[option])
        return TreatAs(collection.tasks[task]) if arm == NONE else Give(collection.arms[arm])

    @property
    def has_rules(self) -> bool:
        """Whether some points suit all options, so that there may be a safety rule."""
        assert self.world.templates is not None
        return bool(self.world.templates.common.any())

    def rule(self, template: int, floor: int, cap: int) -> SafetyRule:
        """The safety rule by a template that suits all options, where points are gradings: a table of one row."""
        assert self.world.templates is not None
        assert self.world.templates.grading is not None
        table = self.gradings[int(self.world.templates.grading[template])]
        assert isinstance(table, PromiseTable)
        return SafetyRule(table.rows[0], floor, cap=cap)

    def fields_of_a_plan(self, collection: Collection) -> dict[str, Any]:
        """What a plan carries so that it can be followed alone."""
        assert collection.theta is not None
        theta = round_significant(collection.theta)
        return {"theta": theta, "features": collection.features, "kind_rules": self.rules}


def contextual_tasks(
    collection: Collection, points: PointsBy, rules: tuple[KindRule | None, ...] = ()
) -> ContextualTasks:
    """The world of a contextual collection.

    points: of how well outcomes "fit" two kinds, a "table" by what was promised, or of the "outcome" alone.
    """
    contexts, theta = collection.contexts, collection.theta
    assert contexts is not None
    assert theta is not None
    every, truths = averaging_rows(contexts), around_slopes(collection)
    values = _values(truths, choices_of(theta, rules, every), every, points)
    rows = every[:: max(1, len(every) // ROWS)]
    choices = choices_of(theta, rules, rows)
    options = _options(collection, choices, points)
    over = Contextual(truths, choices, rows, collection.rewards.of_a_plan, certain=True)
    if points == "table":
        templates, gradings = _by_table(collection, options, over, values, rules)
    else:
        templates, gradings = (_by_fit if points == "fit" else _by_outcome)(collection, options, over, values)
    names = [collection.arms[arm] if arm != NONE else f"as {collection.tasks[task]}" for arm, task in zip(*options[:2])]  # noqa: B905
    arms = tuple(f"{number}: {name}" for number, name in enumerate(names))
    derived, M = Collection.gaussian(values, 1.0, arms=arms, tasks=truths.tasks), collection.n_tasks
    group, weight = np.arange(len(values)) % M, np.full(len(values), M / len(values))
    share = collection.weights / collection.weights.sum()
    return ContextualTasks(truths, World(derived, group, weight, share, templates), options, rules, gradings)


def around_slopes(collection: Collection) -> Collection:
    """The tasks as estimated, and again with slopes that are off as they may be; the former alone where all is known.

    A plan is then searched for that does well on average over what the slopes may be, not at the estimates alone.
    """
    error, theta, known = collection.theta_error, collection.theta, trust_estimates(collection)
    if error is None or theta is None or not collection.is_estimated or collection.harm is not None:
        return known
    values, vectors = np.linalg.eigh(error)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    drawn = np.random.default_rng(0).standard_normal((PAIRS, *theta.shape)) / DEVIATIONS
    off = np.einsum("mkde,nmke->nmkd", root, drawn)
    every = np.concatenate([theta[None], theta + off, theta - off]).reshape(-1, *theta.shape[1:])
    names = [*collection.tasks, *(f"scenario {number}" for number in range(len(theta), len(every)))]
    noise = None if collection.noise is None else np.tile(collection.noise, (2 * PAIRS + 1, 1))
    assert collection.contexts is not None
    about: dict[str, Any] = {"arms": collection.arms, "tasks": names, "noise": noise}
    return replace(Collection.linear(every, collection.contexts, collection.rewards, **about), worth=collection.worth)


def _options(collection: Collection, choices: IntArray, points: PointsBy) -> Options:
    """Treating as each kind and, where points are of outcomes alone, every arm besides: one that tells kinds apart."""
    M, K, n = collection.n_tasks, collection.n_arms, choices.shape[1]
    if points == "fit":
        return Options(np.full(M, NONE), np.arange(M), choices)
    fixed = np.repeat(np.arange(K)[:, None], n, axis=1)
    return Options(
        np.concatenate([np.arange(K), np.full(M, NONE)]),
        np.concatenate([np.full(K, NONE), np.arange(M)]),
        np.concatenate([fixed, choices]),
    )


def _values(collection: Collection, choices: IntArray, rows: FloatArray, points: PointsBy) -> FloatArray:
    """V (M, O): the mean reward of every option in every kind, less than the best policy's by what it costs."""
    over = Contextual(collection, choices, rows, collection.rewards.of_a_plan, certain=True)
    by_arm, by_task = over.gaps
    gaps = by_task if points == "fit" else np.concatenate([by_arm, by_task], axis=1)
    return np.asarray(collection.values[:, None] - gaps)


def _by_table(
    collection: Collection,
    options: Options,
    over: Contextual,
    values: FloatArray,
    rules: tuple[KindRule | None, ...],
) -> tuple[Templates, tuple[Points, ...]]:
    """Templates whose points are by what was promised, and those of the outcome alone, which are tables of one row."""
    everyone, promises = range(len(options.arm)), _promises(collection, options, over, rules)
    values, predicted = values[: collection.n_tasks], over.predicted[: collection.n_tasks]
    own = collection.rewards.scorings([*(values[:, option] for option in everyone), values.ravel()])
    suits: dict[PromiseTable, set[int]] = {table: set(everyone) for table in one_row_tables(own[-1])}
    common = len(suits)
    for option, task in enumerate(options.task):
        tables = one_row_tables(own[option])
        if task != NONE:
            tables += tables_for(int(task), options.choices[option], promises[option], predicted)
        for table in tables:
            suits.setdefault(table, set()).add(option)
    T = len(suits)
    chance = np.zeros((T, len(everyone), 2 * MOST_OF_TABLES + 1, len(over.theta)))
    chance[:, :, MOST_OF_TABLES] = 1.0
    usable = np.zeros((T, len(everyone)), dtype=bool)
    for number, (table, some) in enumerate(suits.items()):
        for option in some:
            bins = over.table_bins(options.choices[option], table, promises[option])[0]
            chance[number, option] = bins.T
            usable[number, option] = np.ptp(bins @ np.array(table.bins)) > SAME
    if not usable.any():
        raise InvalidInput('No table of points tells these kinds apart. Use points="fit", which compares predictions.')
    points = np.array([table.bins for table in suits])
    cuts, unit = np.zeros((T, 2 * MOST_OF_TABLES)), np.ones(T, np.int64)
    return Templates(points, cuts, chance, unit, usable, np.arange(T) < common, np.arange(T)), tuple(suits)


def _promises(
    collection: Collection, options: Options, over: Contextual, rules: tuple[KindRule | None, ...]
) -> list[FloatArray]:
    """What each option promises (n,) at each context; zeros for an arm, which promises nothing."""
    found = []
    for task, choices in zip(options.task, options.choices, strict=True):
        if task == NONE:
            found.append(np.zeros(len(over.rows)))
        else:
            rule = rules[task] if rules else None
            found.append(promises_of(over.theta[task], rule, over.rows, choices, collection.rewards))
    return found


def _by_fit(
    collection: Collection, options: Options, over: Contextual, values: FloatArray
) -> tuple[Templates, tuple[Points, ...]]:
    """Templates whose points compare two kinds."""
    M, theta = collection.n_tasks, collection.theta
    assert theta is not None
    predicted = [predict(own, over.rows, collection.rewards) for own in theta]
    names, pairs = collection.tasks, [(i, j, unit) for unit in UNITS for i in range(M) for j in range(M) if i != j]
    gradings = [Fit(names[i], names[j], unit, MOST_POINTS) for i, j, unit in pairs]
    chance = np.zeros((len(gradings), M, 2 * MOST_POINTS + 1, len(over.theta)))
    usable = np.zeros((len(gradings), M), dtype=bool)
    for number, (grading, (favoured, other, _unit)) in enumerate(zip(gradings, pairs, strict=True)):
        pair = np.stack([predicted[favoured], predicted[other]])
        asked = range(M) if M <= FULL_PAIRS else (favoured,)
        for option in asked:
            bins = over.bins(options.choices[option], np.zeros(0), grading, pair)[0]
            chance[number, option] = bins.T
            usable[number, option] = np.ptp(bins @ np.array(grading.bins)) > SAME
        chance[number, ~usable[number], MOST_POINTS] = 1.0
        chance[number, ~usable[number], :MOST_POINTS] = chance[number, ~usable[number], MOST_POINTS + 1 :] = 0.0
    if not usable.any():
        raise InvalidInput("All kinds give the same rewards at every context, so nothing can be found out. Merge them.")
    points = np.array([grading.bins for grading in gradings])
    T = len(gradings)
    cuts, unit = np.zeros((T, 2 * MOST_POINTS)), np.ones(T, np.int64)
    return Templates(points, cuts, chance, unit, usable, np.zeros(T, bool), np.arange(T)), tuple(gradings)


def _by_outcome(
    collection: Collection, options: Options, over: Contextual, values: FloatArray
) -> tuple[Templates, tuple[Points, ...]]:
    """Templates whose points are those of the outcome, with chances averaged over contexts."""
    rewards, values = collection.rewards, values[: collection.n_tasks]
    n_options = len(options.arm)
    if not rewards.has_range and isinstance(rewards, Gaussian):
        rewards = Gaussian(sigma=_deviation(collection, options, over))  # cuts as wide as rewards are over contexts
    own = rewards.scorings([*(values[:, option] for option in range(n_options)), values.ravel()])
    scorings = list(dict.fromkeys(scoring for one in own for scoring in one))
    points, cuts = np.array([one.points for one in scorings]), np.array([one.cuts for one in scorings])
    common = np.array([one in own[n_options] for one in scorings])
    usable = np.array(
        [[one in own[option] or one in own[n_options] for option in range(n_options)] for one in scorings]
    )
    usable &= np.ptp(values, axis=0) > 1e-12
    chance = np.stack(
        [
            np.stack([over.bins(options.choices[option], row, None, None)[0].T for option in range(n_options)])
            for row in cuts
        ]
    )
    none = np.full(len(scorings), NONE)
    return Templates(points, cuts, np.ascontiguousarray(chance), unit_of(points), usable, common, none), ()


def _deviation(collection: Collection, options: Options, over: Contextual) -> float:
    """The typical standard deviation of a reward of an option, contexts included."""
    every = np.arange(len(over.rows))
    spread = [over.predicted[:, every, choice].var(axis=1).mean() for choice in options.choices]
    return float(np.sqrt(collection.rewards.sigma**2 + np.mean(spread)))
