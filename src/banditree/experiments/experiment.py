"""An experiment is data: a collection, policies, a horizon, runs and a seed, in one readable file."""

import math
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from banditree.errors import InvalidInput
from banditree.files.collections import load_collection
from banditree.files.documents import Part, read_text
from banditree.files.plans import load_plan
from banditree.policies.follow import follow
from banditree.policies.registry import policy_named
from banditree.simulation.engine import Player
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, linear, rand
from banditree.tasks.reward_cells import reward_variance
from banditree.tasks.separation import least_separation
from banditree.training.collection import to_collection
from banditree.training.estimates import estimate
from banditree.training.simulators import TaskSimulator, lemma_samples, mean_samples, train

PANELS = ("a", "b", "c", "d")


class Tasks(Part):
    """A collection: drawn by a generator, or read from a file beside the experiment."""

    generator: Literal["hard", "rand", "linear"] | None = None
    file: str | None = None
    n_tasks: int | None = None
    n_arms: int | None = None
    n_features: int | None = None
    separation: float | None = None
    epsilon: float | None = None
    sigma: float | None = None
    seed: int = 0
    estimated: float | None = Field(None, gt=0, description="means from this multiple of N_est of Lemma 4.1")


class Contender(Part):
    """A policy by its name in the registry, or a plan in a file; with options, and the name it gets in the results."""

    policy: str | None = None
    plan: str | None = Field(None, description="a plan file beside the experiment, to be followed")
    name: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class Sweep(Part):
    """One setting after another: a parameter of the collection or the horizon takes these values."""

    parameter: Literal["horizon", "n_tasks", "n_arms", "n_features", "separation", "epsilon", "seed", "estimated"]
    values: list[float] = Field(min_length=1)


class Experiment(Part):
    """What is played: `policies` on every task of `collection`, `runs` times over `horizon` rounds."""

    title: str
    horizon: int = Field(ge=1)
    runs: int = Field(20, ge=1)
    seed: int = Field(0, ge=0)
    collection: Tasks
    policies: list[Contender] = Field(min_length=1)
    believed: Tasks | None = Field(None, description="what the policies know, when it is not the collection itself")
    sweep: Sweep | None = None

    def settings(self) -> list["Experiment"]:
        """The experiments of a sweep, or this one alone."""
        if self.sweep is None:
            return [self]
        return [_with(self, self.sweep.parameter, value) for value in self.sweep.values]


def _with(experiment: Experiment, parameter: str, value: float) -> Experiment:
    number = value if parameter in ("separation", "epsilon", "estimated") else int(value)
    changes: dict[str, Any] = {"sweep": None, "title": f"{experiment.title}, {parameter} {number:g}"}
    if parameter == "horizon":
        return experiment.model_copy(update={**changes, "horizon": number})
    known, update = experiment.believed, {parameter: number}
    if parameter != "estimated":
        changes["collection"] = experiment.collection.model_copy(update=update)
    if parameter == "estimated" or (known is not None and known.estimated is not None):  # estimates follow the truth
        changes["believed"] = (known or experiment.collection).model_copy(update=update)
    return experiment.model_copy(update=changes)


def load_experiment(path: str | Path) -> Experiment:
    """The experiment in a TOML file; collections it names are looked for beside it."""
    path = Path(path)
    return _beside(parse_experiment(read_text(path), str(path)), path.parent)


def _beside(experiment: Experiment, folder: Path) -> Experiment:
    """The experiment with the files it names looked for in `folder`."""
    changes: dict[str, Any] = {
        field: tasks.model_copy(update={"file": str(folder / tasks.file)})
        for field in ("collection", "believed")
        if (tasks := getattr(experiment, field)) is not None and tasks.file is not None
    }
    changes["policies"] = [
        one if one.plan is None else one.model_copy(update={"plan": str(folder / one.plan)})
        for one in experiment.policies
    ]
    return experiment.model_copy(update=changes)


def parse_experiment(text: str, source: str) -> Experiment:
    """The experiment that a TOML text describes; `source` names it in errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise InvalidInput(f"{source} is not TOML: {problem}.") from None
    try:
        experiment = Experiment.model_validate(data)
    except ValidationError as problem:
        first = problem.errors()[0]
        raise InvalidInput(f"{source}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    for contender in experiment.policies:
        try:
            if (contender.policy is None) == (contender.plan is None):
                raise InvalidInput("Each entry of policies must have a policy or a plan, but not both.")
            if contender.policy is not None:
                policy_named(contender.policy)
        except InvalidInput as problem:
            raise InvalidInput(f"{source}: {problem}") from None
    return experiment


def load_panel(panel: str) -> Experiment:
    """The experiment of one of the paper's panels."""
    return load_experiment(Path(str(files("banditree.experiments").joinpath(f"panels/{panel}.toml"))))


def panel_files(panel: str) -> dict[str, str]:
    """The settings of a panel and the protocol that is followed in it, by their file names."""
    names = (f"{panel}.toml", f"protocol-{panel}.json")
    folder = files("banditree.experiments").joinpath("panels")
    return {name: folder.joinpath(name).read_text(encoding="utf-8") for name in names}


def more_texts() -> dict[str, str]:
    """The files of our own experiments, by name."""
    found = sorted(files("banditree.experiments").joinpath("more").iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in found}


def draw_tasks(tasks: Tasks) -> Collection:
    """The collection that `tasks` describes.

    >>> draw_tasks(Tasks(generator="rand", n_tasks=4, n_arms=6, separation=0.3)).means.shape
    (4, 6)
    """
    if (tasks.file is None) == (tasks.generator is None):
        raise InvalidInput("The collection of an experiment must have a generator or a file, but not both.")
    if tasks.file is not None:
        return load_collection(tasks.file)
    given = tasks.model_dump(exclude={"generator", "file", "estimated"}, exclude_none=True)
    generators: dict[str, Any] = {"hard": hard, "rand": rand, "linear": linear}
    try:
        drawn: Collection = generators[tasks.generator or ""](**given)
    except TypeError as problem:
        raise InvalidInput(f"The generator {tasks.generator} cannot take these settings: {problem}.") from None
    return drawn


def believed_tasks(experiment: Experiment, truth: Collection) -> Collection:
    """What the policies know: the truth, another collection, or estimates of it taken as if they were the truth.

    Estimates are from `estimated` times the N_est of Lemma 4.1: for raw means 32 s^2 log(4HMK)/separation^2 (NOTES 10),
    and with contexts the regression's, which grows with the number of features.
    """
    if experiment.believed is None:
        return truth
    known = draw_tasks(experiment.believed)
    if experiment.believed.estimated is None:
        return known
    separation = experiment.believed.separation or least_separation(known).value
    sizes: dict[str, Any] = {
        "horizon": experiment.horizon,
        "n_tasks": known.n_tasks,
        "n_arms": known.n_arms,
        "separation": separation,
    }
    if known.contexts is None:
        enough = mean_samples(**sizes, variance=reward_variance(known))
    else:
        sigma, d = math.sqrt(known.rewards.variance_proxy), known.contexts.n_features
        enough = lemma_samples(**sizes, n_features=d, sigma=sigma, gap=math.inf)
    simulators = [TaskSimulator(known, task) for task in range(known.n_tasks)]
    n_samples = max(1, round(experiment.believed.estimated * enough))
    features = [feature.name for feature in known.features] or None
    names: dict[str, Any] = {"arms": known.arms, "tasks": known.tasks, "features": features}
    statistics = train(simulators, n_samples, **names, seed=experiment.seed)
    estimates = estimate(statistics, known.rewards, intercept=known.contexts is None)  # a column of contexts already
    estimated = to_collection(estimates, statistics)
    return replace(estimated, radius=np.zeros(()), provenance=f"{known.provenance}, {n_samples:,} samples each")


def players(experiment: Experiment, known: Collection) -> list[Player]:
    """The policies of an experiment, each with what it knows."""
    return [_player(contender, known) for contender in experiment.policies]


def _player(contender: Contender, known: Collection) -> Player:
    if contender.plan is not None:
        return Player(contender.name or Path(contender.plan).stem, follow, load_plan(contender.plan), contender.options)
    assert contender.policy is not None  # checked where the experiment was read
    return Player(contender.name or contender.policy, policy_named(contender.policy), known, contender.options)
