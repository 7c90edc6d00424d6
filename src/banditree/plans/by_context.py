"""What a box may look at besides outcomes: the rule of a kind at a context, and points by how well an outcome fits."""

from dataclasses import dataclass, fields

import numpy as np

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray, IntArray, frozen

NO_NODE = -1


@dataclass(frozen=True, eq=False)
class KindRule:
    """What is best for a kind at a context, as a tree of n nodes that a person reads; it starts at node 0.

    feature: (n,), which entry of the context a node looks at, NO_NODE at a leaf. cut: up to it a context goes to node
    `low`, above it to node `high`. arm: (n,), what a leaf gives. loss: what the rule gives away per round, in its own
    kind, against the arm with the highest prediction.
    """

    feature: IntArray
    cut: FloatArray
    low: IntArray
    high: IntArray
    arm: IntArray
    loss: float = 0.0

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self) if f.name != "loss"):
            dtype = np.float64 if name == "cut" else np.int64
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        n = len(self.feature)
        if n == 0 or any(getattr(self, name).shape != (n,) for name in ("cut", "low", "high", "arm")):
            raise invalid("a rule", "of at least one node, with as many cuts, links and arms", n)
        inner = self.feature != NO_NODE
        place = np.arange(n)
        for side in (self.low, self.high):
            if (inner & ((side <= place) | (side >= n))).any():
                raise invalid("the links of a rule", "to later nodes", side.tolist())
        if not np.isfinite(self.cut[inner]).all():
            raise invalid("the cuts of a rule", "finite", self.cut.tolist())

    @property
    def n_leaves(self) -> int:
        """How many cases it tells apart."""
        return int((self.feature == NO_NODE).sum())

    def arms_at(self, rows: FloatArray) -> IntArray:
        """The arm (n,) at each of the contexts `rows` (n, d)."""
        node = np.zeros(len(rows), dtype=np.int64)
        every = np.arange(len(rows))
        while (inner := self.feature[node] != NO_NODE).any():
            value = rows[every, np.maximum(self.feature[node], 0)]
            step = np.where(value <= self.cut[node], self.low[node], self.high[node])
            node = np.where(inner, step, node)
        return np.asarray(self.arm[node])


@dataclass(frozen=True)
class Grading:
    """The points of a round: how much better its outcome fits the `favoured` task than the `other` one.

    The logarithm of the ratio of the two chances (or densities) of the outcome at the context, for the arm that was
    given, divided by `unit`, rounded to a whole number (halves upwards) and kept within `most` up or down.
    """

    favoured: int
    other: int
    unit: float
    most: int

    def __post_init__(self) -> None:
        if self.favoured == self.other:
            raise invalid("the two tasks that points compare", "different", self.favoured)
        if not (np.isfinite(self.unit) and self.unit > 0):
            raise invalid("the unit of points", "a number above 0", self.unit)
        if self.most < 1:
            raise invalid("the most points of a round", "at least 1", self.most)

    @property
    def points(self) -> tuple[int, ...]:
        """The points of its bins."""
        return tuple(range(-self.most, self.most + 1))


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
