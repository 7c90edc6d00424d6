"""Algorithm 4: the soft-split decision tree, box by box (`LazyTree`) or whole (`build_tree`)."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from banditree.errors import InvalidInput, PlanWarning, invalid
from banditree.plans.counts import Rounds
from banditree.plans.gives import NONE, Give, TreatAs
from banditree.plans.line import Line
from banditree.plans.links import longest_path, reading_order
from banditree.plans.one_option import at_once
from banditree.plans.plan import Origin, Plan, make_plan, renumbered
from banditree.plans.words import Vocabulary
from banditree.tasks.arrays import FloatArray, IntArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import Feature
from banditree.tasks.reward_cells import reward_variance
from banditree.tasks.rewards import Rewards
from banditree.theory.bounds import dt_ece_samples
from banditree.trees.greedy import COMPILE_FROM, Split, greedy_split
from banditree.trees.working_separation import find_band, usable_radius

METHOD = "tree"  # The name of the method in plans.
MAX_BOXES = 200_000  # A larger tree is refused as too large to hold or read.
MOST_PULLS = 10**9  # A longer test is refused: no case has a thousand million rounds.
ROUNDING = 1e-6  # This part of the separation may be lost to rounding a printed threshold.
Splits = dict[bytes, tuple[IntArray, Split | None]]  # by the bytes of the set of survivors
SIGNIFICANT = 6  # The digits with which the parameters of contextual predictions are stored and printed.


@dataclass(frozen=True, eq=False)
class LazyTree:
    """The tree of Algorithm 4 for a collection, given one test for one set of survivors at a time.

    For collections whose whole tree is too large to hold (NOTES 14): the number of pulls per test then counts on the
    deepest possible tree, D = M - 1. One test costs s K log s for s survivors and K arms. Made by `lazy_tree`.

    separation: w, how far apart the estimates are that its tests tell apart. asked: lambda as the user gave it, which
    is what plans store and print.
    """

    collection: Collection
    horizon: int
    separation: float
    stop_early: bool = False
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    radius: float = 0.0
    limit: float = math.inf
    asked: float | None = None

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms; these four properties are those of a Plan and of a Collection."""
        return self.collection.arms

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks."""
        return self.collection.tasks

    @property
    def rewards(self) -> Rewards:
        """The reward family."""
        return self.collection.rewards

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns of a context."""
        return self.collection.features

    @property
    def method(self) -> str:
        """What `freeze` gives a plan of."""
        return METHOD

    @cached_property
    def _means(self) -> FloatArray:
        return frozen(self.collection.means.T, float)

    @cached_property
    def usable_radius(self) -> FloatArray | None:
        """The radius (M, K) of every mean, infinite where it is too large to decide anything; None if all are 0."""
        if not self.collection.is_estimated:
            return None
        return frozen(usable_radius(self.collection.radius, self.limit), float)

    @cached_property
    def _radius(self) -> FloatArray | None:
        return None if self.usable_radius is None else frozen(self.usable_radius.T, float)

    @property
    def gap(self) -> float:
        """How far apart what two means may be must lie for a test to tell their tasks apart: w - 2 rho."""
        return self.separation - 2 * self.radius

    @property
    def start(self) -> IntArray:
        """All tasks, where every case begins."""
        return np.arange(self.collection.n_tasks)

    @property
    def pulls(self) -> int:
        """N_cls for the deepest tree there could be."""
        return self.pulls_at_depth(self.collection.n_tasks - 1)

    @property
    def allowance(self) -> float:
        """How far a mean, or a threshold as it is printed, may be from the truth: rho, and what rounding takes."""
        return self.radius + (0.0 if self.collection.rewards.support else ROUNDING * self.separation)

    def pulls_at_depth(self, depth: int) -> int:
        """N_cls when no path has more than `depth` tests."""
        return dt_ece_samples(
            horizon=self.horizon,
            depth=max(depth, 1),
            separation=self.separation,
            variance=reward_variance(self.collection),
            radius=self.allowance,
        )

    def split(self, members: IntArray) -> Split | None:
        """The test for the surviving tasks `members` and what remains on each side, or None if none is needed."""
        if len(members) == 1 or (self.stop_early and self.shared_arm(members) != NONE):
            return None
        compiled = self._means.size >= COMPILE_FROM
        split = greedy_split(self._means, members, self.gap, radius=self._radius, compiled=compiled)
        if split.score == 0:
            names = ", ".join(repr(self.collection.tasks[i]) for i in members[:5])
            raise InvalidInput(
                f"No arm separates any two of the tasks {names} by {self.gap:g}. Lower the separation or merge them."
            )
        return split

    def shared_arm(self, members: IntArray) -> int:
        """The first arm that is best for every one of `members`, or NONE."""
        means = self.collection.means[members]
        best_everywhere = (means == means.max(axis=1, keepdims=True)).all(axis=0)
        return int(best_everywhere.argmax()) if best_everywhere.any() else NONE

    def total_at_most(self, split: Split, pulls: int) -> float:
        """The threshold on the sum of `pulls` rewards: a possible total, or rounded for the reader."""
        total = split.threshold * pulls
        if (limit := self.collection.rewards.total_below(total, pulls)) is not None:
            return limit
        decimals = max(0, math.ceil(-math.log10(ROUNDING * self.separation * pulls)))
        return round(total, decimals)

    def freeze(self, max_boxes: int = MAX_BOXES) -> Plan:
        """The whole tree as a Plan, equal sets of survivors sharing a box; an error beyond `max_boxes` boxes."""
        return self.lay_out(expand(self.start, self.split, max_boxes), method=METHOD)

    def lay_out(self, splits: Splits, method: str) -> Plan:
        """The Plan whose tests are `splits`, the set of all tasks first, with this tree's pulls and words."""
        collection, place = self.collection, {key: index for index, key in enumerate(splits)}
        links = [
            () if split is None else (place[split.low.tobytes()], place[split.high.tobytes()])
            for _members, split in splits.values()
        ]
        is_test = [int(bool(children)) for children in links]
        pulls = self.pulls_at_depth(longest_path(links, is_test, reading_order(links)))
        if pulls > MOST_PULLS and any(is_test):
            rule = f"large enough for tests of at most {MOST_PULLS:,} rounds"
            raise invalid("separation", rule, self.separation, f"It takes {pulls:.2g}. Merge the closest tasks.")
        boxes = [
            self._leaf(members) if split is None else self._test(members, split, children, pulls)
            for (members, split), children in zip(splits.values(), links, strict=True)
        ]
        return make_plan(
            renumbered(boxes, reading_order(links)),
            collection,
            self.horizon,
            theta=None if collection.theta is None else round_significant(collection.theta),
            features=collection.features,
            vocabulary=self.vocabulary,
            origin=Origin(method, self.separation if self.asked is None else self.asked, self.radius),
        )

    def _test(self, members: IntArray, split: Split, links: tuple[int, ...], pulls: int) -> Line:
        low, high = (place + 1 for place in links)
        count, arm = Rounds(pulls, self.total_at_most(split, pulls)), Give(self.arms[split.arm])
        return Line(arm, count, low, high, possible=self._names(members))

    def _leaf(self, members: IntArray) -> Line:
        task = self.tasks[members[0]] if len(members) == 1 else None
        if self.collection.theta is not None and task is not None:
            return Line(TreatAs(task), possible=self._names(members))
        return Line(Give(self.arms[self.shared_arm(members)]), task=task, possible=self._names(members))

    def _names(self, members: IntArray) -> tuple[str, ...]:
        return tuple(self.tasks[i] for i in members)


def expand(start: IntArray, split: Callable[[IntArray], Split | None], max_boxes: int = MAX_BOXES) -> Splits:
    """The test that `split` gives for each set of survivors that can arise from `start`, which comes first."""
    splits: Splits = {}
    todo = [start]
    found = {start.tobytes()}
    while todo:
        members = todo.pop()
        test = split(members)
        splits[members.tobytes()] = (members, test)
        for child in () if test is None else (test.low, test.high):
            key = child.tobytes()
            if key not in found:
                found.add(key)
                todo.append(child)
        if len(found) > max_boxes:
            raise InvalidInput(
                f"The tree has more than {max_boxes:,} boxes, too many to hold or read. Merge tasks, lower the "
                "separation, or follow it box by box with lazy_tree."
            )
    return splits


def lazy_tree(
    collection: Collection,
    horizon: int,
    separation: float | None = None,
    *,
    stop_early: bool = False,
    vocabulary: Vocabulary | None = None,
) -> LazyTree:
    """The tree of `build_tree`, computed one box at a time as a case needs it."""
    if horizon < 1:
        raise invalid("horizon", "at least 1, the number of rounds of one case", horizon)
    if stop_early and collection.theta is not None:
        raise InvalidInput("stop_early works on tasks without contexts: with contexts no arm is best for good.")
    band = find_band(collection, separation, stop_early)
    words = vocabulary or Vocabulary()
    return LazyTree(collection, int(horizon), band.separation, stop_early, words, band.radius, band.limit, separation)


def build_tree(
    collection: Collection,
    horizon: int,
    separation: float | None = None,
    *,
    stop_early: bool = False,
    max_boxes: int = MAX_BOXES,
    vocabulary: Vocabulary | None = None,
) -> Plan:
    """The plan of DT-ECE (Algorithms 4 to 6): greedy tests with soft splits until one task is left, then exploit.

    horizon: H, the rounds of one case. separation: lambda in the mean sense; the collection's own by default.
    For estimated means lambda is about the true tasks: the tree uses w = lambda - 2 rho on the estimates, and means
    known less well than lambda/8 take no part in tests; by default w is the separation of the estimates (NOTES 4).
    Every mean counts with its own radius: one that is hardly known makes its task stay on both sides of that arm's
    tests, and costs the other tasks nothing.
    stop_early: exploit as soon as one arm is best for all tasks left (NOTES 11). If one is best for all tasks there
    are, the plan gives it at once in any case.

    >>> plan = build_tree(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"]), horizon=1000)
    >>> print(plan)
    Plan for 2 tasks and 2 arms over 1,000 rounds (method tree, separation 0.4): 3 boxes, longest path:
    1 test, at most 96 rounds of testing, reading load 2.2.
    <BLANKLINE>
    Box 1. Give A 96 times. At most 48 successes: go to box 2. Otherwise: go to box 3.
    Box 2. This is task 2. Give B from now on.
    Box 3. This is task 1. Give A from now on.
    """
    tree = lazy_tree(collection, horizon, separation, stop_early=stop_early, vocabulary=vocabulary)
    plan = at_once(tree.freeze(max_boxes))
    warn_if_long(plan)
    return plan


def warn_if_long(plan: Plan) -> None:
    """Warn whoever asked for `plan` if testing may outlast the horizon (NOTES 17)."""
    if plan.most_pulls is not None and plan.most_pulls > plan.horizon:
        warnings.warn(
            f"Testing may take {plan.most_pulls:,} rounds, more than the horizon of {plan.horizon:,}: some cases will "
            "end before anything is decided. A larger separation (fewer, more different tasks) shortens the tests.",
            PlanWarning,
            stacklevel=3,
        )


def round_significant(values: FloatArray) -> FloatArray:
    """`values` with `SIGNIFICANT` digits, so that what is stored is what is printed."""
    return np.array([float(f"{value:.{SIGNIFICANT}g}") for value in values.ravel()]).reshape(values.shape)
