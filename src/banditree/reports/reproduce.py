"""What an experiment leaves behind: a figure, numbers as CSV, tables, and the settings they came from."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from banditree.errors import InvalidInput
from banditree.experiments.claims import Verdict, check_claims
from banditree.experiments.experiment import PANELS, Experiment, load_panel, more_texts, panel_files, parse_experiment
from banditree.experiments.running import run_experiment
from banditree.experiments.slopes import Slope, fit_slopes, swept_value
from banditree.figures.curves import curves_info, draw_curves
from banditree.figures.matplotlib import matplotlib_settings
from banditree.figures.sweep import SweepInfo, SweepLine, draw_sweep
from banditree.files.documents import write_text
from banditree.files.results import check_results_name
from banditree.progress import OnProgress
from banditree.simulation.results import Results, mean_band, summaries, worst_band
from banditree.simulation.settings import Device

QUICK = 0.1  # A quick setting has this share of the runs.

COLUMNS = (
    "panel",
    "policy",
    "round",
    "mean",
    "mean_low",
    "mean_high",
    "worst",
    "worst_low",
    "worst_high",
    "worst_task",
)


def numbers_csv(panels: Mapping[str, Results]) -> str:
    """Regret at every recorded round with 95% bands: the mean over tasks, and the worst task of that round."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for panel, results in panels.items():
        for policy in results.policies:
            mean, worst = mean_band(results, policy), worst_band(results, policy)
            for c, number in enumerate(results.rounds):
                values = (mean.mean, mean.low, mean.high, worst.mean, worst.low, worst.high)
                shown = [f"{value[c]:.6g}" for value in values]
                rows.writerow([panel, policy, number, *shown, results.tasks[worst.task[c]]])
    return text.getvalue()


def claims_table(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as a Markdown table."""
    lines = [
        "| the paper says | panels | as a number | measured | reproduced |",
        "| --- | --- | --- | --- | --- |",
    ]
    for verdict in verdicts:
        word = verdict.answer if verdict.reproduced else f"**{verdict.answer}**"
        panels = ", ".join(verdict.panels)
        lines.append(f"| {verdict.claim} | {panels} | {verdict.meaning} | {verdict.measured} | {word} |")
    return "\n".join(lines) + "\n"


def summary_table(panels: Mapping[str, Results]) -> str:
    """Final regret of every policy on every panel, as a Markdown table."""
    lines = [
        "| panel | policy | mean regret (95%) | worst task (95%) | commits at (median) | to a best arm |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for panel, results in panels.items():
        for one in summaries(results):
            mean = f"{one.mean:,.1f} ({one.mean_low:,.1f} to {one.mean_high:,.1f})"
            worst = f"{one.worst:,.1f} ({one.worst_low:,.1f} to {one.worst_high:,.1f})"
            at = "" if one.committed_at is None else f"{one.committed_at:,.0f}"
            right = "" if one.arm_right is None else f"{one.arm_right:.1%}"
            lines.append(f"| {panel} | {one.policy} | {mean} | {worst} | {at} | {right} |")
    return "\n".join(lines) + "\n"


def slopes_table(slopes: Sequence[Slope]) -> str:
    """Fitted exponents, as a Markdown table."""
    lines = ["| policy | regret grows as | standard error of the exponent |", "| --- | --- | --- |"]
    lines += [f"| {slope.policy} | {slope.parameter}^{slope.exponent:.2f} | {slope.error:.2f} |" for slope in slopes]
    return "\n".join(lines) + "\n"


def reproduce_panels(
    folder: Path, *, full: bool = False, quick: bool = False, on_progress: OnProgress | None = None
) -> tuple[list[Verdict], str]:
    """Run the four panels, write their figure, numbers, claims and settings, and return the verdicts and a summary.

    quick: with a tenth of the runs, also of what is `full`.
    """
    make_folder(folder)
    panels: dict[str, Results] = {}
    titled: dict[str, Results] = {}
    for panel in PANELS:
        experiment = _quicker(load_panel(panel)) if quick else load_panel(panel)
        for name, text in panel_files(panel).items():
            write_text(folder / name, text)
        ((_, results),) = run_experiment(experiment, folder, on_progress)
        panels[panel] = titled[experiment.title] = results
    verdicts = check_claims(panels)
    summary = summary_table(panels)
    for suffix in ("pdf", "png"):
        draw_curves(curves_info(titled), folder / f"figure.{suffix}")
    write_text(folder / "numbers.csv", numbers_csv(panels))
    write_text(folder / "claims.md", claims_table(verdicts))
    write_text(folder / "summary.md", summary)
    for name, text in more_texts().items() if full else ():
        write_text(folder / f"{name}.toml", text)
        experiment = parse_experiment(text, name)
        run_and_write(_quicker(experiment) if quick else experiment, name, folder, on_progress)
    return verdicts, summary


def _quicker(experiment: Experiment) -> Experiment:
    """The experiment with a tenth of the runs, at least two, which bands need."""
    return experiment.model_copy(update={"runs": max(2, round(QUICK * experiment.runs))})


def run_and_write(
    experiment: Experiment,
    name: str,
    folder: Path,
    on_progress: OnProgress | None = None,
    device: Device | str = Device.CPU,
) -> str:
    """Run an experiment, write its figure and numbers under `name`, and return its summary in words."""
    make_folder(folder)
    settings = run_experiment(experiment, folder, on_progress, device)
    titled = {setting.title: results for setting, results in settings}
    summary = summary_table(titled)
    if experiment.sweep is not None and len(settings) > 2:
        slopes = fit_slopes(experiment.sweep.parameter, settings)
        summary += "\n" + slopes_table(slopes)
        for suffix in ("pdf", "png"):
            draw_sweep(sweep_info(experiment, settings, slopes), folder / f"{name}-slopes.{suffix}")
    for suffix in ("pdf", "png"):
        draw_curves(curves_info(titled), folder / f"{name}.{suffix}")
    write_text(folder / f"{name}.csv", numbers_csv(titled))
    write_text(folder / f"{name}.md", summary)
    return summary


def sweep_info(
    experiment: Experiment, settings: Sequence[tuple[Experiment, Results]], slopes: Sequence[Slope]
) -> SweepInfo:
    """The final mean regret of every policy along a sweep, with its fitted exponent."""
    assert experiment.sweep is not None
    parameter = experiment.sweep.parameter
    lines = [
        SweepLine(
            slope.policy, tuple(float(results.final(slope.policy).mean()) for _, results in settings), slope.exponent
        )
        for slope in slopes
    ]
    values = tuple(swept_value(setting, parameter) for setting, _ in settings)
    return SweepInfo(experiment.title, parameter, values, tuple(lines))


def make_folder(folder: Path) -> None:
    """Make sure that `folder` is there and that what is to be written there can be, before anything is simulated."""
    check_results_name("runs.parquet")
    with matplotlib_settings():
        pass
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidInput(f"{folder} cannot be made a folder: {problem.strerror}. Choose another.") from None
