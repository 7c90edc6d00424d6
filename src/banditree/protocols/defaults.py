"""How long a protocol, its paths and the search for it are by default."""

import math

from banditree.tasks.collection import Collection
from banditree.tasks.contexts import averaging_rows
from banditree.tasks.predictions import predict

LINES_PER_TASK = 1.5  # A protocol has by default at most this many lines per task ...
BY_CONTEXT = 3.0  # ... and with contexts, where outcomes say less, this many: 1.5 then lose up to half as much again.
# Where many kinds differ in their slopes alone, a line tells a kind from few others: this many, and all may be on one
# path. With 3 per kind and short paths, plans for 10 such kinds lost 3.1 times what mTS does, and 1.9 now.
BY_SLOPES = 5.0
FEW_KINDS = 6  # Up to this many kinds, lines tell every two of them apart.
BY_MEANS = 0.1  # Kinds differ in their slopes alone if less than this share of their differences is in their means.
ROWS = 500  # Looked at on about this many contexts.
PATH_PER_DOUBLING = 3  # A path may have this many lines for each doubling of the tasks ...
PATH_LESS = 2  # ... less this many: 8 lines for 10 tasks, 14 for 40 ...
SHORT_PATH = 6  # ... and no fewer than this.
STEPS_PER_TASK = 4_000
MOST_STEPS = 200_000  # No default search takes more steps.
MANY_TASKS = 150  # Of more tasks some stand for all, and lines are for their different best arms.
FEW_TASKS = 12  # With fewer tasks a search takes fewer steps per task, in proportion.


def n_ways_out(collection: Collection) -> int:
    """The tasks for which there are lines, or of many tasks their different best arms."""
    return collection.n_tasks if collection.n_tasks <= MANY_TASKS else len(set(collection.best_arms.tolist()))


def default_lines(collection: Collection) -> int:
    """The most lines by default."""
    by_context = BY_SLOPES if differ_in_slopes(collection) else BY_CONTEXT
    return max(1, int((LINES_PER_TASK if collection.theta is None else by_context) * n_ways_out(collection)))


def differ_in_slopes(collection: Collection) -> bool:
    """Whether there are many tasks that only contexts tell apart: their means are hardly different.

    >>> from banditree.tasks.instances import linear
    >>> differ_in_slopes(linear(8, 3, 3, 0.1, seed=0))
    False
    """
    if collection.theta is None or collection.contexts is None or collection.n_tasks <= FEW_KINDS:
        return False
    every = averaging_rows(collection.contexts)
    at = predict(collection.theta, every[:: max(1, len(every) // ROWS)], collection.rewards)  # (n, M, K)
    return bool(collection.means.var(axis=0).mean() < BY_MEANS * at.var(axis=1).mean())


def default_path(collection: Collection) -> int:
    """The most lines on one path by default: grows with the logarithm of the tasks, as the depth of a tree does."""
    if differ_in_slopes(collection):
        return default_lines(collection)
    return max(SHORT_PATH, math.ceil(PATH_PER_DOUBLING * math.log2(n_ways_out(collection)) - PATH_LESS))


def default_steps(collection: Collection) -> int:
    """How long a search lasts by default."""
    M = collection.n_tasks
    return int(min(STEPS_PER_TASK * M * min(1.0, M / FEW_TASKS), MOST_STEPS))
