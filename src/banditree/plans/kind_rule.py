"""The printed rule of a kind: what treating as it gives at a context, and what it promises."""

from dataclasses import dataclass, field, fields

import numpy as np

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray, IntArray, frozen
from banditree.tasks.rewards import Rewards

NO_NODE = -1  # In place of a feature or a link: the node is a leaf.


@dataclass(frozen=True, eq=False)
class KindRule:
    """The best arm of a kind at a context, as a tree of n nodes that a person reads; it starts at node 0.

    feature: (n,), which entry of the context a node looks at, NO_NODE at a leaf. cut: up to it a context goes to node
    `low`, above it to node `high`. arm: (n,), what a leaf gives. loss: what the rule gives away per round, in its own
    kind, against the arm with the highest prediction. promise: (n,), what a leaf promises, on average over its contexts
    and in whole hundredths; zeros where nothing looks at it.
    """

    feature: IntArray
    cut: FloatArray
    low: IntArray
    high: IntArray
    arm: IntArray
    loss: float = 0.0
    promise: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        n = len(self.feature)
        if not len(self.promise):
            object.__setattr__(self, "promise", np.zeros(n))
        for name in (f.name for f in fields(self) if f.name != "loss"):
            dtype = np.float64 if name in ("cut", "promise") else np.int64
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        if n == 0 or any(getattr(self, name).shape != (n,) for name in ("cut", "low", "high", "arm", "promise")):
            raise invalid("a rule", "of at least one node, each with a cut, two links and an arm", n)
        inner = self.feature != NO_NODE
        place = np.arange(n)
        for side in (self.low, self.high):
            if (inner & ((side <= place) | (side >= n))).any():
                raise invalid("the links of a rule", "to later nodes", side.tolist())
        if not np.isfinite(self.cut[inner]).all():
            raise invalid("the cuts of a rule", "finite", self.cut.tolist())

    @property
    def n_leaves(self) -> int:
        """How many leaves it has, each a row of the printed rule."""
        return int((self.feature == NO_NODE).sum())

    def arms_at(self, rows: FloatArray) -> IntArray:
        """The arm (n,) for each of the contexts `rows` (n, d)."""
        return np.asarray(self.arm[self.leaves_at(rows)])

    def leaves_at(self, rows: FloatArray) -> IntArray:
        """The leaf (n,) of each of the contexts `rows` (n, d)."""
        node = np.zeros(len(rows), dtype=np.int64)
        every = np.arange(len(rows))
        while (inner := self.feature[node] != NO_NODE).any():
            value = rows[every, np.maximum(self.feature[node], 0)]
            step = np.where(value <= self.cut[node], self.low[node], self.high[node])
            node = np.where(inner, step, node)
        return node


def promises_of(
    theta: FloatArray, rule: KindRule | None, rows: FloatArray, arms: IntArray, rewards: Rewards
) -> FloatArray:
    """What treating as a task promises (n,) at each context: by the leaf of its rule, or the prediction for the arm.

    theta: (K, d), of the task. arms: (n,), what is given there.
    """
    if rule is not None:
        return np.asarray(rule.promise[rule.leaves_at(rows)])
    return rewards.at(np.einsum("nd,nd->n", rows, theta[arms]))


def choices_of(theta: FloatArray, rules: tuple[KindRule | None, ...], rows: FloatArray) -> IntArray:
    """The arm (tasks, n) that is given when treating as each task, at each of the contexts `rows` (n, d).

    By its rule where it has one, else the arm with the highest x'theta, the first among equals.
    """
    given = rules or (None,) * len(theta)
    found = [
        (rows @ own.T).argmax(axis=1) if rule is None else rule.arms_at(rows)
        for own, rule in zip(theta, given, strict=True)
    ]
    return np.array(found, dtype=np.int64)
