"""The best arm of a kind at a context, as a short rule that a person reads: a tree over features in their own units.

A tree gives one arm per leaf; the best one loses least, on average over contexts, against the arm with the highest
prediction. Among the cuts that are tried it is exact up to three leaves; a larger one grows from there, leaf by leaf.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from banditree.errors import invalid
from banditree.plans.kind_rule import NO_NODE, KindRule
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import INTERCEPT, Feature, averaging_rows
from banditree.tasks.predictions import predict

MOST_ROWS = 20_000  # A rule for outcomes is grown on at most this many of them.
ROWS = 1_500  # A tree is searched for on this many contexts; what it loses is then taken over all of them.
CUTS = 24  # This many cuts are tried per feature, at even quantiles, rounded to a few digits.
EXACT = 3  # All trees of up to this many leaves are compared.
MOST_LEAVES = 32  # Nobody reads a longer rule.
WORTH = 1e-9  # A split that gains less is not made.


@dataclass(frozen=True)
class Node:
    """A tree: a leaf with its arm, or a question with its two sides. gain: the total reward of its arms."""

    gain: float
    arm: int = NO_NODE
    feature: int = NO_NODE
    cut: float = 0.0
    sides: tuple["Node", ...] = ()

    @property
    def n_leaves(self) -> int:
        """How many leaves it has."""
        return sum(side.n_leaves for side in self.sides) or 1


def printed_rules(collection: Collection, size: int) -> tuple[KindRule, ...]:
    """The rule of every task with at most `size` leaves, and what it loses against the highest prediction."""
    contexts, theta = collection.contexts, collection.theta
    assert contexts is not None
    assert theta is not None
    if not 1 <= size <= MOST_LEAVES:
        raise invalid("rule_size", f"from 1 to {MOST_LEAVES} leaves", size)
    every = averaging_rows(contexts)
    rows = every[:: max(1, len(every) // ROWS)]
    asked = [f for f, feature in enumerate(contexts.features) if feature.name != INTERCEPT]
    splits = Splits(rows, [(f, _cuts(every[:, f], contexts.features[f].level is not None)) for f in asked])
    found = []
    for own in theta:
        tree = splits.best(predict(own, rows, collection.rewards), size)
        values = predict(own, every, collection.rewards)
        rule = _flat(tree, 0.0)
        predicted = values[np.arange(len(every)), rule.arms_at(every)]
        loss = float((values.max(axis=1) - predicted).mean())
        found.append(replace(rule, loss=loss, promise=_promises(rule, every, predicted)))
    return tuple(found)


def rules_for(
    values: FloatArray, rows: FloatArray, features: Sequence[Feature], sizes: Sequence[int]
) -> dict[int, KindRule]:
    """The rule of at most each of some numbers of leaves for what options are worth (n, K) at contexts `rows`.

    The values may be outcomes, which vary: many rows count, and rules grow from one question, leaf by leaf.

    >>> price = np.arange(100.0)[:, None]
    >>> worth = np.column_stack([price[:, 0] < 40, price[:, 0] >= 40]).astype(float)
    >>> rules_for(worth, price, [Feature("price")], [2])[2].promise.tolist()
    [0.0, 1.0, 1.0]
    """
    step = max(1, len(rows) // MOST_ROWS)
    rows, values = rows[::step], values[::step]
    asked = [f for f, feature in enumerate(features) if feature.name != INTERCEPT]
    splits = Splits(rows, [(f, _cuts(rows[:, f], features[f].level is not None)) for f in asked])
    found = {}
    for size, tree in splits.growing(values, sizes).items():
        rule = _flat(tree, 0.0)
        found[size] = replace(rule, promise=_promises(rule, rows, values[np.arange(len(rows)), rule.arms_at(rows)]))
    return found


def _promises(rule: KindRule, rows: FloatArray, predicted: FloatArray) -> FloatArray:
    """What each node promises: at a leaf the mean prediction of its contexts, in hundredths; 0 elsewhere."""
    leaf, n = rule.leaves_at(rows), len(rule.feature)
    count = np.bincount(leaf, minlength=n)
    mean = np.bincount(leaf, predicted, n) / np.maximum(count, 1)
    return np.asarray(np.where(rule.feature == NO_NODE, mean, 0.0).round(2), dtype=np.float64)


def _cuts(values: FloatArray, is_level: bool) -> FloatArray:
    """Where a feature may be cut: quantiles with a few digits, halves for the 0 and 1 of a category."""
    if is_level:
        return np.array([0.5])
    spread = float(values.std())
    if spread == 0:
        return np.zeros(0)
    digit = 10.0 ** np.floor(np.log10(spread / 5))
    rounded = np.round(np.quantile(values, (np.arange(CUTS) + 0.5) / CUTS) / digit) * digit
    cuts = np.unique([float(f"{cut:.12g}") for cut in rounded])
    return np.asarray(cuts[(cuts >= values.min()) & (cuts < values.max())])


class Splits:
    """The questions that may be asked of some contexts: (feature, cut), with who answers "at most" (Q, n)."""

    def __init__(self, rows: FloatArray, cuts: list[tuple[int, FloatArray]]) -> None:
        self.questions = [(f, float(cut)) for f, own in cuts for cut in own]
        self.low: BoolArray = np.array([rows[:, f] <= cut for f, cut in self.questions]).reshape(-1, len(rows))

    def best(self, values: FloatArray, size: int) -> Node:
        """The tree of at most `size` leaves with the most reward; values: (n, K), of each arm at each context."""
        tree = self._exact(values, np.ones(len(values), bool), min(size, EXACT))
        while tree.n_leaves < size:
            longer = self._grown(values, np.ones(len(values), bool), tree)
            if longer.gain <= tree.gain + WORTH * len(values):
                break
            tree = longer
        return tree

    def growing(self, values: FloatArray, sizes: Sequence[int]) -> dict[int, Node]:
        """The tree with at most each of some numbers of leaves, grown by the question that gains most."""
        everyone = np.ones(len(values), bool)
        tree, found = self._leaf(values, everyone), {}
        for size in sorted(sizes):
            while tree.n_leaves < size:
                longer = self._grown(values, everyone, tree)
                if longer.gain <= tree.gain + WORTH * len(values):
                    break
                tree = longer
            found[size] = tree
        return found

    def _leaf(self, values: FloatArray, inside: BoolArray) -> Node:
        totals = values[inside].sum(axis=0)
        return Node(float(totals.max()), arm=int(totals.argmax()))

    def _exact(self, values: FloatArray, inside: BoolArray, leaves: int) -> Node:
        """The best tree on the contexts `inside` (n,), by trying every first question."""
        best = self._leaf(values, inside)
        if leaves == 2:
            return self._one_question(values, inside, best)
        if leaves > 2:
            for number, (f, cut) in enumerate(self.questions):
                low, high = inside & self.low[number], inside & ~self.low[number]
                if not (low.any() and high.any()):
                    continue
                for left in range(1, leaves):
                    sides = (self._exact(values, low, left), self._exact(values, high, leaves - left))
                    best = _better(best, f, cut, sides, len(values))
        return best

    def _one_question(self, values: FloatArray, inside: BoolArray, leaf: Node) -> Node:
        """The best tree of one question, all at once."""
        if not self.questions:
            return leaf
        whole = np.where(inside[:, None], values, 0.0)
        low = self.low @ whole  # (Q, K)
        high = whole.sum(axis=0) - low
        gains = low.max(axis=1) + high.max(axis=1)
        number = int(gains.argmax())
        f, cut = self.questions[number]
        sides = tuple(self._leaf(values, inside & side) for side in (self.low[number], ~self.low[number]))
        return _better(leaf, f, cut, sides, len(values))

    def _grown(self, values: FloatArray, inside: BoolArray, tree: Node) -> Node:
        """The tree with the one leaf replaced by a question where that gains most."""
        if not tree.sides:
            return self._one_question(values, inside, tree)
        number = self.questions.index((tree.feature, tree.cut))
        parts = (inside & self.low[number], inside & ~self.low[number])
        grown = [self._grown(values, part, side) for part, side in zip(parts, tree.sides, strict=True)]
        gains = [new.gain - old.gain for new, old in zip(grown, tree.sides, strict=True)]
        sides = list(tree.sides)
        sides[int(np.argmax(gains))] = grown[int(np.argmax(gains))]
        return Node(sum(side.gain for side in sides), feature=tree.feature, cut=tree.cut, sides=tuple(sides))


def _better(best: Node, feature: int, cut: float, sides: tuple[Node, ...], n_rows: int) -> Node:
    """The question with these sides if it gains more than the best tree so far."""
    gain = sum(side.gain for side in sides)
    return Node(gain, feature=feature, cut=cut, sides=sides) if gain > best.gain + WORTH * n_rows else best


def _flat(tree: Node, loss: float) -> KindRule:
    """The tree as arrays, each node before its sides."""
    columns: tuple[list[float], ...] = ([], [], [], [], [])

    def add(node: Node) -> int:
        place = len(columns[0])
        for column, value in zip(columns, (node.feature, node.cut, NO_NODE, NO_NODE, node.arm), strict=True):
            column.append(value)
        if node.sides:
            columns[2][place], columns[3][place] = (add(side) for side in node.sides)
        return place

    add(tree)
    feature, cut, low, high, arm = (np.array(column) for column in columns)
    return KindRule(feature, cut, low, high, arm, loss)
