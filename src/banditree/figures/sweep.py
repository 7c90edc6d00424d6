"""How regret grows along a sweep: points and fitted powers on logarithmic axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from banditree.figures.curves import STYLES
from banditree.figures.matplotlib import matplotlib_settings, save_figure
from banditree.figures.scene import PALETTE


@dataclass(frozen=True)
class SweepLine:
    """The final mean regret of one policy at each value of the parameter, and the fitted exponent."""

    policy: str
    regret: tuple[float, ...]
    exponent: float

    def fitted(self, values: Sequence[float]) -> list[float]:
        """The regret that the fitted power gives at each value: through the geometric mean of the points."""
        x, y = np.log(values), np.log(self.regret)
        return [float(value) for value in np.exp(y.mean() + self.exponent * (x - x.mean()))]


@dataclass(frozen=True)
class SweepInfo:
    """What a sweep shows: the parameter, its values, and a line for each policy."""

    title: str
    parameter: str
    values: tuple[float, ...]
    lines: tuple[SweepLine, ...]


def draw_sweep(info: SweepInfo, path: Path) -> None:
    """Write the sweep as .pdf, .png or .svg: points, and the fitted power of each policy with its exponent."""
    with matplotlib_settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4.4, 3.6), layout="constrained")
        axis = figure.subplots()
        for index, line in enumerate(info.lines):
            colour, style = PALETTE[index % len(PALETTE)], STYLES[index % len(STYLES)]
            label = f"{line.policy}: {info.parameter}^{line.exponent:.2f}"
            axis.plot(info.values, line.regret, "o", color=colour)
            axis.plot(info.values, line.fitted(info.values), style, color=colour, label=label)
        axis.set(xscale="log", yscale="log", xlabel=info.parameter, ylabel="regret", title=info.title)
        axis.grid(alpha=0.3, which="both")
        axis.legend()
        save_figure(figure, path)
