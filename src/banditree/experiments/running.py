"""Running experiments, so that what is finished is never done again."""

import hashlib
from pathlib import Path

from banditree.errors import InvalidInput
from banditree.experiments.experiment import Experiment, believed_tasks, draw_tasks, players
from banditree.files.results import load_results, save_results
from banditree.progress import OnProgress, named_part
from banditree.simulation.engine import simulate
from banditree.simulation.results import Results
from banditree.simulation.settings import Device
from banditree.version import __version__

RUNS = "runs"  # The folder, beside the other outputs, that keeps the runs of each setting.


class Stopped(Exception):
    """The person stopped an experiment; the settings that were finished are kept."""


def run_experiment(
    experiment: Experiment, folder: Path, on_progress: OnProgress | None = None, device: Device | str = Device.CPU
) -> list[tuple[Experiment, Results]]:
    """Each setting of the experiment with its results, read from `folder` if they are already there."""
    return [(setting, _run_setting(setting, folder, on_progress, device)) for setting in experiment.settings()]


def _run_setting(setting: Experiment, folder: Path, on_progress: OnProgress | None, device: Device | str) -> Results:
    path = folder / RUNS / f"{setting_name(setting)}.parquet"
    if path.exists():
        return load_results(path)
    truth = draw_tasks(setting.collection)
    known = believed_tasks(setting, truth)
    results = simulate(
        truth,
        players(setting, known),
        horizon=setting.horizon,
        runs=setting.runs,
        seed=setting.seed,
        believed=None if setting.believed is None else known,
        device=device,
        on_progress=named_part(on_progress, setting.title),
    )
    if not results.finished.all():
        raise Stopped
    path.parent.mkdir(parents=True, exist_ok=True)
    save_results(results, path)
    return results


def setting_name(setting: Experiment) -> str:
    """A name that changes with everything the results depend on."""
    digest = hashlib.sha256(f"{__version__} {_without_folders(setting).model_dump_json()}".encode())
    tasks = [one.file for one in (setting.collection, setting.believed) if one is not None]
    for file in [*tasks, *(contender.plan for contender in setting.policies)]:
        if file is not None:
            try:
                digest.update(Path(file).read_bytes())
            except OSError as problem:
                raise InvalidInput(f"{file} cannot be read: {problem.strerror}.") from None
    return digest.hexdigest()[:16]


def _without_folders(setting: Experiment) -> Experiment:
    """The setting with files by their names alone: what is in them counts, not where they are."""
    policies = [
        one if one.plan is None else one.model_copy(update={"plan": Path(one.plan).name}) for one in setting.policies
    ]
    tasks = {
        field: one.model_copy(update={"file": Path(one.file).name})
        for field in ("collection", "believed")
        if (one := getattr(setting, field)) is not None and one.file is not None
    }
    return setting.model_copy(update={"policies": policies, **tasks})
