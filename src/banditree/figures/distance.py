"""Loss against distance: what plans and policies lose as cases move away from the kinds that they were made for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from banditree.figures.curves import STYLES
from banditree.figures.scene import PALETTE


@dataclass(frozen=True)
class DistanceInfo:
    """truths: how far cases are from the kinds, in words, the nearest first. lost: by whom, at each of them."""

    title: str
    truths: tuple[str, ...]
    lost: Mapping[str, Sequence[float]]


def draw_distance(info: DistanceInfo, path: Path) -> None:
    """Write the figure as .pdf, .png or .svg: one line for each plan or policy, losses by powers of ten."""
    from banditree.figures.matplotlib import matplotlib_settings, save_figure

    with matplotlib_settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 4.6), layout="constrained")
        axis = figure.subplots()
        places = range(len(info.truths))
        for index, (who, lost) in enumerate(info.lost.items()):
            colour, style = PALETTE[index % len(PALETTE)], STYLES[index % len(STYLES)]
            axis.plot(places, lost, f"o{style}", color=colour, label=who, markersize=3.5)
        axis.set(yscale="log", xlabel="rates of the cases", ylabel="lost, mean over tasks", title=info.title)
        axis.yaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")
        axis.set_xticks(list(places), info.truths)
        axis.grid(alpha=0.3, which="major")
        figure.legend(loc="outside lower center", ncols=3, fontsize=9)
        save_figure(figure, path)
