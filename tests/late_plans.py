"""Plans for which late outcomes are tried out, each with its collection."""

import dataclasses

from boxes import Box, assemble
from example_plans import FIVE, protocol, score_plan

from banditree.tasks.collection import Collection

THREE = Collection.bernoulli([[0.8, 0.3, 0.5], [0.2, 0.7, 0.4], [0.3, 0.4, 0.6]], arms=["A", "B", "C"])
GRADES = Collection.graded(
    [[[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]], [[0.6, 0.2, 0.2], [0.2, 0.3, 0.5]]], [0, 0.5, 1], arms=["A", "B"]
)
# Two lines of the same option in a row, so that what is under way counts in the second.
GRADED = assemble(
    [
        Box(0, low=1, high=3, points=(-2, 1, 2), cuts=(0.25, 0.75), floor=2, ceil=4),
        Box(0, low=2, high=3, points=(-1, 0, 1), cuts=(0.25, 0.75), floor=3, ceil=3),
        Box(1),
        Box(0),
    ],
    GRADES,
    horizon=60,
)
PLANS = {
    "lines and a rule": (protocol(horizon=80), FIVE),
    "a cap": (protocol(cap=5, horizon=80), FIVE),
    "fixed numbers": (score_plan(horizon=60), dataclasses.replace(THREE, tasks=("one", "two", "three"))),
    "grades": (GRADED, GRADES),
}
