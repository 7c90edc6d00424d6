"""Tests that look at the context, as data: Pi_C of Assumption 1 beyond fixed arms and mixtures of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen_numbers
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import averaging_rows
from banditree.tasks.predictions import predict
from banditree.tasks.reward_cells import reward_variance


@dataclass(frozen=True, eq=False)
class ContextRules:
    """P rules from contexts to arms: rule p pulls the arm k with the largest x'weights[p, k], the first among equals.

    Where `absolute` (P,), the one with the largest size of it. They are data, so that policies can be compiled with
    them; as a sequence they are functions of contexts, as `separating_rules` takes them.

    >>> swap = ContextRules([[[1.0], [0.0]]], [False])
    >>> swap.arms(np.array([[2.0], [-3.0]])).tolist()
    [[0, 1]]
    """

    weights: FloatArray
    absolute: BoolArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", frozen_numbers("the weights of rules", self.weights, 3))
        object.__setattr__(self, "absolute", np.asarray(self.absolute, dtype=bool))
        if self.absolute.shape != self.weights.shape[:1]:
            raise invalid("absolute", f"{len(self.weights)} answers, one per rule", self.absolute.shape)

    def __len__(self) -> int:
        return len(self.weights)

    def __iter__(self) -> Iterator[Any]:
        return (lambda rows, rule=rule: self.arms(rows)[rule] for rule in range(len(self)))

    def arms(self, rows: FloatArray) -> IntArray:
        """The arm (P, n) that each rule pulls at each of the contexts (n, d)."""
        value = np.einsum("nd,pkd->pnk", rows, self.weights)
        return np.asarray(np.where(self.absolute[:, None, None], np.abs(value), value).argmax(axis=2))


def best_rules(collection: Collection) -> ContextRules:
    """One rule per task: its best arm at every context.

    >>> from banditree.tasks.instances import linear
    >>> len(best_rules(linear(3, 4, 2, 0.2)))
    3
    """
    theta = _theta(collection)
    return ContextRules(theta, np.zeros(len(theta), dtype=bool))


def contrast_rules(collection: Collection) -> ContextRules:
    """One rule per pair of tasks: at every context the arm at which they differ most.

    With normal noise of one size, no other rule tells the two better apart.

    >>> from banditree.tasks.instances import linear
    >>> len(contrast_rules(linear(4, 4, 2, 0.2)))
    6
    """
    theta = _theta(collection)
    pairs = [theta[i] - theta[j] for i, j in combinations(range(len(theta)), 2)]
    return ContextRules(np.array(pairs), np.ones(len(pairs), dtype=bool))


def rules_named(collection: Collection, given: Any) -> ContextRules:
    """The rules themselves, or those called "best" or "pairs"; none for None."""
    if given is None:
        n_features = len(collection.features)
        return ContextRules(np.zeros((0, collection.n_arms, n_features)), np.zeros(0, dtype=bool))
    if isinstance(given, str):
        if given not in ("best", "pairs"):
            raise invalid("rules", 'one of "best", "pairs", or ContextRules', given)
        return best_rules(collection) if given == "best" else contrast_rules(collection)
    if not isinstance(given, ContextRules) or given.weights.shape[1:] != _theta(collection).shape[1:]:
        raise invalid("rules", f"ContextRules for {collection.n_arms} arms and its features", type(given).__name__)
    return given


def rules_as_arms(collection: Collection, rules: ContextRules) -> Collection:
    """A collection without contexts whose arms are the arms and then the rules, by their mean rewards.

    What is said of trees and soft splits of this collection, C*, C_soft, expected and average depths, is said of trees
    that may also test rules. Not for playing: its best arm may be a rule.

    >>> from banditree.tasks.instances import linear
    >>> tasks = linear(3, 4, 2, 0.2)
    >>> rules_as_arms(tasks, best_rules(tasks)).n_arms
    7
    """
    assert collection.contexts is not None
    rows = averaging_rows(collection.contexts)
    predicted = np.stack([predict(task, rows, collection.rewards) for task in _theta(collection)])  # (M, n, K)
    own = [predicted[:, np.arange(len(rows)), arms].mean(axis=1) for arms in rules.arms(rows)]
    means = np.column_stack([collection.means, *own])
    names = [*collection.arms, *(f"rule {number + 1}" for number in range(len(rules)))]
    if collection.rewards.has_range:
        return Collection.bounded(means, collection.rewards.low, collection.rewards.high, arms=names)
    return Collection.gaussian(means, float(np.sqrt(reward_variance(collection))), arms=names)


def _theta(collection: Collection) -> FloatArray:
    if collection.theta is None:
        raise InvalidInput("Tests that look at the context need a collection with contexts. Use separating_policies.")
    return collection.theta
