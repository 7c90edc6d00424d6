"""Regret curves with confidence bands: what they show, and their drawing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from banditree.errors import InvalidInput
from banditree.figures.matplotlib import matplotlib_settings, save_figure
from banditree.figures.scene import PALETTE
from banditree.nouns import counted
from banditree.simulation.results import Results, mean_band
from banditree.tasks.arrays import FloatArray, IntArray

# A line style beside the colour of each curve, for print without colour.
STYLES = ("-", "--", "-.", ":")
SUFFIXES = (".pdf", ".png", ".svg")


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean regret of one policy at the recorded rounds (C,), with its 95% band."""

    policy: str
    rounds: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class CurvePanel:
    """One pair of axes: its title, how many runs its means are of, and its curves."""

    title: str
    runs: int
    curves: tuple[Curve, ...]


def curves_info(panels: Mapping[str, Results]) -> tuple[CurvePanel, ...]:
    """The curves of each titled result."""
    return tuple(CurvePanel(title, results.regret.shape[2], _curves(results)) for title, results in panels.items())


def _curves(results: Results) -> tuple[Curve, ...]:
    bands = [(policy, mean_band(results, policy)) for policy in results.policies]
    return tuple(Curve(policy, results.rounds, band.mean, band.low, band.high) for policy, band in bands)


def draw_curves(panels: Sequence[CurvePanel], path: str | Path) -> None:
    """Write the panels side by side as .pdf, .png or .svg: linear axes above, logarithmic ones below."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"{path}: a figure is a {', '.join(SUFFIXES)} file. Choose a name with that ending.")
    with matplotlib_settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(3.2 * len(panels) + 0.4, 5.6), layout="constrained")
        axes = figure.subplots(2, len(panels), squeeze=False)
        colours = _colours(panels)
        for panel, column in zip(panels, axes.T, strict=True):
            _draw_panel(column[0], panel, colours, logarithmic=False)
            _draw_panel(column[1], panel, colours, logarithmic=True)
            column[0].set_title(f"{panel.title}\n{counted(panel.runs, 'run')} of every task", fontsize=9)
        for row in axes:
            row[0].set_ylabel("regret")
        handles = {line.get_label(): line for axis in axes.flat for line in axis.get_lines()}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(len(handles), 6))
        save_figure(figure, path)


def _colours(panels: Sequence[CurvePanel]) -> dict[str, tuple[str, str]]:
    policies = list(dict.fromkeys(curve.policy for panel in panels for curve in panel.curves))
    return {
        policy: (PALETTE[index % len(PALETTE)], STYLES[index % len(STYLES)]) for index, policy in enumerate(policies)
    }


def _draw_panel(axis: Any, panel: CurvePanel, looks: Mapping[str, tuple[str, str]], *, logarithmic: bool) -> None:
    for curve in panel.curves:
        colour, style = looks[curve.policy]
        axis.plot(curve.rounds, curve.mean, style, color=colour, label=curve.policy, linewidth=1.4)
        axis.fill_between(curve.rounds, curve.low.clip(0), curve.high, color=colour, alpha=0.2, linewidth=0)
    axis.set_xlabel("round")
    axis.grid(alpha=0.3)
    if logarithmic:
        axis.set_xscale("log")
        axis.set_yscale("log")
    else:
        axis.set_xlim(0, max(int(curve.rounds[-1]) for curve in panel.curves))
        axis.set_ylim(bottom=0)
        axis.ticklabel_format(style="sci", scilimits=(-3, 4))
