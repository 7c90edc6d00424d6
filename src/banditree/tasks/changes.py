"""A collection with other assumptions: other parameters, shares or worth, features of a case, or estimates taken as
exact."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.harm import Harm
from banditree.tasks.rewards import BERNOULLI, Rewards
from banditree.tasks.worth import worth_of

TRUSTED = "estimates taken at their word"  # The mark of a collection whose margins were set to zero.


def with_parameters(collection: Collection, parameters: FloatArray, **changes: Any) -> Collection:
    """The collection with other `Collection.parameters`, known exactly; `changes` to other fields."""
    chances = parameters if collection.rewards.by_chances else None
    noise = None if collection.noise is None else parameters[..., 1]
    means = collection.rewards.means(parameters)
    harm = None if "tasks" in changes else collection.harm  # other tasks have rates of their own, which nobody knows
    known = {"radius": np.zeros(()), "harm": harm, **changes}
    return replace(collection, means=means, chances=chances, noise=noise, **known)


def with_shares(collection: Collection, shares: Sequence[float] | Mapping[str, float]) -> Collection:
    """The collection with these shares of its tasks: in their order, or by name.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], tasks=["mild", "severe"])
    >>> with_shares(two, {"severe": 0.8, "mild": 0.2}).weights.tolist()
    [0.2, 0.8]
    """
    if not isinstance(shares, Mapping):
        return replace(collection, shares=np.asarray(shares))
    if set(shares) != set(collection.tasks):
        raise invalid("shares", f"given for {', '.join(collection.tasks)}", sorted(shares))
    return replace(collection, shares=np.array([shares[task] for task in collection.tasks]))


def with_worth(collection: Collection, **given: Any) -> Collection:
    """The collection whose outcomes have a worth, made by `tasks.worth.worth_of`: price, value, change, unit.

    >>> two = Collection.bernoulli([[0.7, 0.5], [0.3, 0.6]], arms=["A", "B"])
    >>> with_worth(two, price={"A": 30}, value=100, unit="EUR").gaps.round(9).tolist()
    [[10.0, 0.0], [60.0, 0.0]]
    """
    return replace(collection, worth=worth_of(collection.rewards, collection.arms, **given))


BY_ARM = ("means", "radius", "counts", "spread", "chances", "noise", "theta", "theta_error")  # (M, K, ...) each


def with_free_changes(collection: Collection) -> Collection:
    """The collection in which changes of arm cost nothing."""
    return replace(collection, worth=None if collection.worth is None else replace(collection.worth, change=0.0))


def without_arms(collection: Collection, missing: Iterable[str]) -> Collection:
    """The collection of the other arms.

    >>> three = Collection.bernoulli([[0.7, 0.2, 0.4], [0.3, 0.6, 0.5]], arms=["A", "B", "C"])
    >>> without_arms(three, ["A"]).means.tolist()
    [[0.2, 0.4], [0.6, 0.5]]
    """
    left = [k for k, arm in enumerate(collection.arms) if arm not in set(missing)]
    columns = {name: getattr(collection, name) for name in BY_ARM}
    some = {name: values[:, left] for name, values in columns.items() if values is not None}
    worth = None if collection.worth is None else collection.worth.of_arms(left)
    harm = None if collection.harm is None else collection.harm.at(arms=left)
    return replace(collection, arms=tuple(collection.arms[k] for k in left), worth=worth, harm=harm, **some)


def with_case_features(collection: Collection, names: Sequence[str]) -> Collection:
    """The collection in which these columns of the context stay the same for a whole case.

    >>> from banditree.tasks.contexts import gaussian_contexts
    >>> from banditree.tasks.rewards import BERNOULLI
    >>> ages = gaussian_contexts([50.0], [[100.0]], ["age"])
    >>> two = Collection.linear([[[0.002], [0.001]], [[0.001], [0.002]]], ages, BERNOULLI)
    >>> with_case_features(two, ["age"]).features[0].per_case
    True
    """
    contexts = collection.contexts
    columns = [] if contexts is None else sorted({feature.name for feature in contexts.features})
    if contexts is None or set(names) - set(columns):
        known = ", ".join(columns) or "the context, and there is none"
        raise invalid("the features of a case", f"some of {known}", names)
    features = tuple(replace(feature, per_case=feature.name in names) for feature in contexts.features)
    return replace(collection, contexts=replace(contexts, features=features))


def by_coin(collection: Collection) -> Collection:
    """The collection whose outcomes are a coin's: a success with the share of the range that a reward reaches.

    Of bounded rewards only the means are known. A coin has the same means, and every method that needs the chance of an
    outcome can use it: toss one for each reward (`tossed`), and tell the session what came up. Losses are in shares of
    the range: those in rewards are `rewards.width` times as large.

    >>> known = Collection.bounded([[2.0, 8.0], [5.0, 4.0]], low=0, high=10)
    >>> by_coin(known).means.tolist(), str(by_coin(known).rewards.family)
    ([[0.2, 0.8], [0.5, 0.4]], 'bernoulli')
    """
    rewards = collection.rewards
    if not rewards.has_range or collection.theta is not None:
        raise invalid("the rewards of coins", "in a range, and without contexts", rewards.family)
    width = rewards.width
    return replace(
        collection,
        means=(collection.means - rewards.low) / width,
        rewards=BERNOULLI,
        radius=collection.radius / width,
        spread=None if collection.spread is None else collection.spread / width,
        chances=None,
        worth=None,
    )


def tossed(rewards: Rewards, reward: float, uniform: float) -> float:
    """What a coin makes of a reward, by a random number from 0 to 1: a 1 with the share of the range that it reaches.

    >>> from banditree.tasks.rewards import Bounded
    >>> [tossed(Bounded(low=0, high=10), 7.0, uniform) for uniform in (0.1, 0.69, 0.71)]
    [1.0, 1.0, 0.0]
    """
    if rewards.impossible(reward):
        raise invalid("reward", rewards.rule, reward)
    return float(uniform * rewards.width < reward - rewards.low)


def trust_estimates(collection: Collection) -> Collection:
    """The collection as if its estimates were exact: shorter plans, without the promise; its provenance says so.

    >>> trust_estimates(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], radius=0.1)).provenance
    'known, estimates taken at their word'
    """
    harm = collection.harm
    if not collection.is_estimated and (harm is None or not harm.is_estimated):
        return collection
    return replace(
        collection,
        radius=np.zeros_like(collection.radius),
        theta_error=None,
        provenance=f"{collection.provenance}, {TRUSTED}",
        harm=None if harm is None else Harm.of(harm.rates),
    )
