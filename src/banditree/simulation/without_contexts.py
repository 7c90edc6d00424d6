"""What the functions that look at contexts come to where there are none: a shorter loop, compiled in half the time.

A loop that is compiled for every case asks in each round whether contexts matter, and holds the arrays for it in
registers that the rest needs: a fifth of the time of following a plan. So where the true tasks have no features, which
no policy's subject then has either, these twins are compiled in place of the functions. They give the same bits.
"""

from collections.abc import Callable
from typing import Any

from banditree.plans.machine import Machine
from banditree.policies.follow import context_missing, fit_points, table_points, treated_as
from banditree.policies.model import CONTEXT_NEEDED, Model, best_worth, lacks_context, predicted, round_worth
from banditree.simulation.playing import World, draw_context
from banditree.tasks.arrays import FloatArray


def no_context(world: World, seed: int, task: int, run: int, t: int, context: FloatArray) -> None:
    """`draw_context`: nothing to write."""


def known_mean(model: Model, context: FloatArray, task: int, arm: int) -> float:
    """`predicted`."""
    return float(model.means[task, arm])


def known_worth(model: Model, context: FloatArray, task: int, arm: int) -> float:
    """`round_worth`."""
    return float(model.worths[task, arm])


def known_top(model: Model, context: FloatArray, task: int) -> float:
    """`best_worth`."""
    return float(model.top[task])


def lacks_nothing(theta: FloatArray, context: FloatArray) -> bool:
    """`lacks_context`."""
    return False


def nothing_missing(context: FloatArray) -> bool:
    """`context_missing`."""
    return False


def nothing_to_treat_by(params: Machine, task: int, context: FloatArray) -> int:
    """`treated_as`, which only a box with rules or predictions asks."""
    return CONTEXT_NEEDED


def no_fit(params: Machine, number: int, context: FloatArray, arm: int, reward: float) -> int:
    """`fit_points`, which only a box with a grading asks."""
    return 0


def no_table(params: Machine, number: int, task: int, context: FloatArray, arm: int, reward: float) -> int:
    """`table_points`, likewise."""
    return 0


WITHOUT_CONTEXTS: dict[Callable[..., Any], Callable[..., Any]] = {
    draw_context: no_context,
    predicted: known_mean,
    round_worth: known_worth,
    best_worth: known_top,
    lacks_context: lacks_nothing,
    context_missing: nothing_missing,
    treated_as: nothing_to_treat_by,
    fit_points: no_fit,
    table_points: no_table,
}
