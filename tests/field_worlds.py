"""A small plan and its kinds, for the tests of monitoring and relearning."""

import numpy as np
from boxes import Box, assemble

from banditree.plans.plan import Plan
from banditree.tasks.collection import Collection

RATES = [[0.8, 0.4, 0.3], [0.3, 0.75, 0.35], [0.35, 0.3, 0.8]]


def three_kinds(**known: object) -> Collection:
    return Collection.bernoulli(RATES, arms=["A", "B", "C"], tasks=["early", "late", "chronic"], **known)


def switching_plan(horizon: int = 30) -> Plan:
    """C for a while, then A, then B: scores decide, and C and A each have two boxes."""
    boxes = [
        Box(arm=2, low=1, high=4, points=(-3, 1), floor=1, ceil=2),
        Box(arm=0, low=2, high=3, points=(-3, 2), floor=3, ceil=12),
        Box(arm=1),
        Box(arm=0),
        Box(arm=2),
    ]
    return assemble(boxes, three_kinds(), horizon=horizon)


def falls(by: float, day: float, arm: int = 0, n_arms: int = 3):
    """One option that gives less from some day on."""

    def drift(days: np.ndarray) -> np.ndarray:
        change = np.zeros((*days.shape, n_arms))
        change[..., arm] = np.where(days > day, -by, 0.0)
        return change

    return drift
