"""How regret grows along a sweep: slopes on log-log axes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from banditree.errors import InvalidInput
from banditree.experiments.experiment import Experiment
from banditree.simulation.results import Results


@dataclass(frozen=True)
class Slope:
    """regret is about parameter^exponent for one policy; error is the standard error of the exponent."""

    policy: str
    parameter: str
    exponent: float
    error: float


def swept_value(setting: Experiment, parameter: str) -> float:
    """The value of the swept parameter in one setting of a sweep."""
    if parameter == "horizon":
        return float(setting.horizon)
    tasks = setting.believed if parameter == "estimated" and setting.believed else setting.collection
    return float(getattr(tasks, parameter))


def fit_slopes(parameter: str, settings: Sequence[tuple[Experiment, Results]]) -> list[Slope]:
    """The exponent of each policy's final mean regret in the swept parameter, by least squares on logarithms."""
    if len(settings) < 3:
        raise InvalidInput(f"A slope needs a sweep over at least 3 values. Got {len(settings)}.")
    x = np.log([swept_value(setting, parameter) for setting, _results in settings])
    slopes = []
    for policy in settings[0][1].policies:
        y = np.log([results.final(policy).mean() for _setting, results in settings])
        exponent, error = fit_line(x, y)
        slopes.append(Slope(policy, parameter, exponent, error))
    return slopes


def fit_line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """(slope, its standard error) of the least-squares line through the points.

    >>> fit_line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    (2.0, 0.0)
    """
    dx, dy = x - x.mean(), y - y.mean()
    slope = float(dx @ dy / (dx @ dx))
    rest = dy - slope * dx
    return slope, float(np.sqrt(rest @ rest / (len(x) - 2) / (dx @ dx)))
