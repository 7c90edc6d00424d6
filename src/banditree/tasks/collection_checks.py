"""What must hold of a collection, checked once, when it is made."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.errors import InvalidInput, check_texts, invalid
from banditree.tasks.arrays import FloatArray, frozen, frozen_numbers
from banditree.tasks.rewards import Family, Rewards
from banditree.tasks.worth import Worth

if TYPE_CHECKING:
    from banditree.tasks.collection import Collection


def check_collection(collection: "Collection") -> None:
    """Refuse a collection whose parts do not fit together."""
    _check_names(collection)
    _check_means(collection)
    _check_theta(collection)
    if not (np.isfinite(collection.radius).all() and collection.radius.min() >= 0):
        raise invalid("radius", "finite and at least 0 everywhere", float(collection.radius.min()))
    if collection.spread is not None:
        _check_spread(collection, collection.spread)
    if collection.worth is not None:
        _check_worth(collection, collection.worth)
    shape, counts = collection.means.shape, collection.counts
    if counts is not None and (counts.shape != shape or counts.min() < 0):
        raise invalid("counts", f"of shape {shape} and at least 0", counts.shape)
    if collection.harm is not None:
        collection.harm.check(collection.tasks, collection.arms)


def _check_names(collection: "Collection") -> None:
    M, K = collection.means.shape
    for count, name, word, why in (
        (M, "tasks", "task", "With one kind of case there is nothing to find out: use its best arm."),
        (K, "arms", "arm", "With one arm there is nothing to choose."),
    ):
        if count < 2:
            raise invalid(f"the number of {name}", "at least 2", count, why)
        names = getattr(collection, name)
        if len(names) != count:
            raise invalid(f"{name}", f"{count} names, one per {word}", len(names))
        if repeated := [given for given, times in Counter(names).items() if times > 1]:
            raise invalid(f"{name}", "all different", repeated, f"Give each {word} a name of its own.")
        if any(not given.strip() for given in names):
            raise invalid(f"{name}", "non-empty names", names)
        check_texts(name, names)


def _check_means(collection: "Collection") -> None:
    low, high = collection.rewards.low, collection.rewards.high
    outside = np.argwhere((collection.means < low) | (collection.means > high))
    if outside.size:
        i, k = outside[0]
        raise InvalidInput(
            f"means of {collection.rewards.family} rewards must be in [{low:g}, {high:g}]. Got "
            f"{collection.means[i, k]:g} for task {collection.tasks[i]!r}, arm {collection.arms[k]!r} "
            f"({len(outside)} such in all). Correct them, or use another reward family."
        )


def _check_theta(collection: "Collection") -> None:
    theta, error, (M, K) = collection.theta, collection.theta_error, collection.means.shape
    if (theta is None) != (collection.contexts is None):
        raise InvalidInput("theta and contexts must be given together. Use Collection.linear.")
    if theta is not None and collection.chances is not None:
        raise InvalidInput("Graded rewards are for tasks without contexts. Use Gaussian or bounded rewards.")
    if theta is not None and theta.shape[:2] != (M, K):
        raise invalid("theta", f"of shape ({M}, {K}, features)", theta.shape)
    if error is not None and (theta is None or error.shape != (*theta.shape, error.shape[-1])):
        raise invalid("theta_error", "of shape (tasks, arms, features, features), beside theta", error.shape)
    if error is not None and not np.isfinite(error).all():
        raise invalid("theta_error", "finite everywhere", "a number that is not")


def _check_spread(collection: "Collection", spread: FloatArray) -> None:
    if spread.shape != collection.means.shape or spread.min() < 0:
        raise invalid("spread", f"of shape {collection.means.shape} and at least 0", spread.shape)
    most = (collection.rewards.high - collection.rewards.low) / 2
    if spread.max() > most:
        raise invalid("spread", f"at most {most:g}, half the range of the rewards", float(spread.max()))
    if collection.theta is not None:
        raise InvalidInput("spread must be omitted with contexts: cases that vary are drawn without them.")


def _check_worth(collection: "Collection", worth: Worth) -> None:
    if collection.theta is not None:
        raise InvalidInput("worth must be omitted with contexts: the best arm at a context is that of most reward.")
    worth.check(collection.rewards, collection.arms)


def checked_noise(collection: "Collection", given: Any) -> FloatArray:
    """The standard deviations (M, K) of normal rewards, each above 0."""
    if collection.rewards.family is not Family.GAUSSIAN:
        raise invalid("noise", f"omitted for {collection.rewards.family} rewards", "an array")
    if collection.spread is not None:
        raise InvalidInput("noise must be omitted with a spread. Give one sigma that bounds it.")
    noise = frozen_numbers("noise", given, 2)
    if noise.shape != collection.means.shape or noise.min() <= 0:
        raise invalid("noise", f"of shape {collection.means.shape} and above 0", noise.shape)
    return noise


def checked_chances(rewards: Rewards, given: Any) -> FloatArray:
    """The chances (M, K, G), each row adding up to 1."""
    if not rewards.support:
        raise invalid("the values of graded rewards", "given", ())
    if given is None:
        raise invalid("chances", f"given for {rewards.family} rewards", None, "Use Collection.graded.")
    chances = frozen_numbers("chances", given, 3)
    G, total = len(rewards.support), chances.sum(axis=2)
    if chances.shape[2] != G:
        raise invalid("chances", f"of shape (tasks, arms, {G}), one per value", chances.shape)
    if chances.min() < 0 or not np.allclose(total, 1.0, rtol=0, atol=1e-6):
        raise invalid("chances", "at least 0 and 1 in all for each task and arm", float(total.ravel()[0]))
    exact = np.abs(total - 1) <= 1e-12  # as good as it gets: what a file brings back is not touched again
    return frozen(chances / np.where(exact, 1.0, total)[:, :, None], float)


def checked_shares(given: Any, n_tasks: int) -> FloatArray:
    """Shares that add up to 1 exactly; what was rounded to two digits may be off by that much."""
    shares = frozen_numbers("shares", given, 1)
    if shares.shape != (n_tasks,):
        raise invalid("shares", f"{n_tasks} numbers, one per task", shares.tolist())
    if shares.min() < 0 or abs(shares.sum() - 1) > 0.01:
        raise invalid("shares", "at least 0 and add up to 1", shares.tolist())
    return frozen(shares / shares.sum(), float)
