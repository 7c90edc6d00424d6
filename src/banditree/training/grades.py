"""Graded rewards in a log: how often each value came, as indicator columns of the statistics, and what that tells."""

from dataclasses import replace

import numpy as np

from banditree.cases.view import LogView
from banditree.errors import InvalidInput
from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards import Family, Rewards, family_named
from banditree.training.statistics import Statistics

OUTCOME = "(outcome)"  # The name of the categorical column that holds a graded reward.


def with_outcomes(view: LogView) -> LogView:
    """The view with the reward as one more category, so that the statistics count every value."""
    named = {f"c{len(view.categorical)}": view.table["r"]}
    return replace(view, table=view.table.mutate(**named), categorical=(*view.categorical, OUTCOME))


def outcome_counts(statistics: Statistics) -> dict[float, FloatArray]:
    """How often (C,) each value came in each cell, in the order of the values."""
    columns = {
        float(feature.level or "nan"): column
        for column, feature in enumerate(statistics.features)
        if feature.name == OUTCOME
    }
    if not columns or len(columns) < len(statistics.features):
        raise InvalidInput(
            "Graded rewards need the counts of every value, and no contexts. Read the log with the same rewards, "
            "without context columns."
        )
    if statistics.weighted is not None:
        raise InvalidInput("Graded rewards are counted, not weighted. Omit the propensity.")
    return {value: statistics.sums[:, columns[value]] for value in sorted(columns)}


def observed_chances(statistics: Statistics, rewards: Rewards | Family) -> tuple[Rewards, FloatArray]:
    """The family, with the values of the log where none were given, and the share (C, G) of every value."""
    counts = outcome_counts(statistics)
    family = (
        rewards if isinstance(rewards, Rewards) and rewards.support else family_named(Family.GRADED).unknown([*counts])
    )
    nothing = np.zeros(len(statistics.count))
    return family, np.stack([counts.get(value, nothing) for value in family.support], axis=1) / statistics.count[
        :, None
    ]


def radius_of_chances(n: FloatArray, n_values: int, failure_probability: float | FloatArray) -> FloatArray:
    """How far the share of any set of values may be from its chance, for all sets at once (Weissman et al. 2003).

    P(some set is off by more than r) <= (2^G - 2) exp(-2 n r^2): Hoeffding's for two values.

    >>> radius_of_chances(np.array(1000.0), 5, 0.05).round(4).tolist()
    0.0566
    """
    return np.asarray(np.minimum(np.sqrt(np.log((2.0**n_values - 2) / failure_probability) / (2 * n)), 1.0))
