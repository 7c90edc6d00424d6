import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.experiments.experiment import (
    PANELS,
    Tasks,
    believed_tasks,
    draw_tasks,
    load_experiment,
    load_panel,
    more_texts,
    panel_files,
    parse_experiment,
)
from banditree.files.collections import save_collection
from banditree.files.plans import load_plan
from banditree.plans.reading_load import reading_load
from banditree.tasks.instances import hard, rand

SMALL = """
title = "small"
horizon = 50
runs = 3

[collection]
generator = "rand"
n_tasks = 3
n_arms = 4
separation = 0.3

[[policies]]
policy = "mts"
"""


@pytest.mark.parametrize("panel", PANELS)
def test_the_panels_are_those_of_the_paper(panel):
    experiment = load_panel(panel)
    collection = draw_tasks(experiment.collection)
    shapes = {"a": (5, 10), "b": (5, 10), "c": (10, 20), "d": (40, 40)}
    assert collection.means.shape == shapes[panel]
    assert experiment.runs >= 100  # the paper's 20 are too few to cover the mean of mTS
    assert [contender.name for contender in experiment.policies] == ["DT-ECE", "mUCB", "mTS", "protocol"]
    assert list(panel_files(panel)) == [f"{panel}.toml", f"protocol-{panel}.json"]
    if panel == "a":
        assert np.array_equal(collection.means, hard(5, 10, 0.4, 0.01).means)
    if panel == "c":
        assert np.array_equal(collection.means, rand(10, 20, 0.4).means)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("panel", "lines", "load", "mean"), [("a", 7, 8.5, 7.69), ("c", 15, 19, 3.60), ("d", 60, 70.25, 8.50)]
)
def test_the_protocols_lose_what_the_page_says(panel, lines, load, mean):
    """(b) takes too long to certify; reproducing the figure plays it."""
    experiment = load_panel(panel)
    plan = load_plan(experiment.policies[-1].plan)
    assert (plan.origin.method, plan.n_tests, reading_load(plan)) == ("protocol", lines, load)
    assert certify(plan, draw_tasks(experiment.collection)).mean_regret == pytest.approx(mean, abs=0.005)


@pytest.mark.parametrize("name", more_texts())
def test_our_own_experiments_can_be_read(name):
    experiment = parse_experiment(more_texts()[name], name)
    assert draw_tasks(experiment.collection).n_arms >= 2
    assert all(setting.sweep is None for setting in experiment.settings())


def test_a_sweep_is_one_setting_per_value():
    text = SMALL + '\n[sweep]\nparameter = "n_tasks"\nvalues = [2, 3]\n'
    settings = parse_experiment(text, "x").settings()
    assert [setting.collection.n_tasks for setting in settings] == [2, 3]
    assert [setting.title for setting in settings] == ["small, n_tasks 2", "small, n_tasks 3"]
    horizons = parse_experiment(SMALL + '\n[sweep]\nparameter = "horizon"\nvalues = [10]\n', "x").settings()
    assert horizons[0].horizon == 10


def test_a_collection_is_looked_for_beside_the_experiment(tmp_path):
    save_collection(rand(3, 4, 0.3), tmp_path / "tasks.json")
    text = SMALL.split("[collection]")[0] + '[collection]\nfile = "tasks.json"\n[[policies]]\npolicy = "mts"\n'
    (tmp_path / "my.toml").write_text(text)
    assert draw_tasks(load_experiment(tmp_path / "my.toml").collection).means.shape == (3, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "is not TOML"),
        ("title = 'x'", "horizon: Field required"),
        (SMALL.replace("horizon = 50", "horizon = 0"), "horizon: Input should be greater than or equal to 1"),
        (SMALL.replace('"mts"', '"magic"'), "a policy must be one of dt-ece"),
        (SMALL.replace('policy = "mts"', 'name = "x"'), "must have a policy or a plan, but not both"),
        (SMALL.replace("runs = 3", "runs = 3\ncolour = 1"), "colour: Extra inputs"),
        (SMALL.split("[[policies]]")[0] + "policies = []", "collection.policies"),
    ],
)
def test_a_wrong_experiment_is_named(text, message):
    with pytest.raises(InvalidInput, match=message):
        parse_experiment(text, "my.toml")


def test_a_wrong_collection_is_named():
    with pytest.raises(InvalidInput, match="a generator or a file"):
        draw_tasks(Tasks())
    with pytest.raises(InvalidInput, match="The generator rand cannot take these settings"):
        draw_tasks(Tasks(generator="rand", n_tasks=3, n_arms=4, separation=0.3, epsilon=0.1))


def test_estimates_come_closer_with_more_samples():
    text = SMALL.replace("horizon = 50", "horizon = 1000") + (
        '\n[believed]\ngenerator = "rand"\nn_tasks = 3\nn_arms = 4\nseparation = 0.3\nestimated = 1\n'
        '[sweep]\nparameter = "estimated"\nvalues = [0.1, 10]\n'
    )
    experiment = parse_experiment(text, "x")
    truth = draw_tasks(experiment.collection)
    few, many = (believed_tasks(setting, truth) for setting in experiment.settings())
    assert not few.is_estimated
    # Ten times N_est keep every mean within separation/4/sqrt(10) but for a chance of 1/(2H).
    assert np.abs(many.means - truth.means).max() < 0.3 / 4 / np.sqrt(10)
    assert np.abs(few.means - truth.means).max() > np.abs(many.means - truth.means).max()
    assert believed_tasks(experiment.model_copy(update={"believed": None}), truth) is truth


@pytest.mark.parametrize(
    ("name", "parameter", "samples"),
    [("sweep-features-estimated", "n_features", [11, 21, 43, 85]), ("sweep-separation-estimated", "separation", None)],
)
def test_estimates_follow_a_sweep_of_the_truth(name, parameter, samples):
    """Of N_est the same part at every value: it grows with the features, and as separation^-2."""
    settings = parse_experiment(more_texts()[name], name).settings()
    values = [getattr(setting.collection, parameter) for setting in settings]
    assert [getattr(setting.believed, parameter) for setting in settings] == values
    known = [believed_tasks(setting, draw_tasks(setting.collection)) for setting in settings]
    used = [int(one.provenance.rpartition(", ")[2].split()[0].replace(",", "")) for one in known]
    assert used == (samples or [round(0.1 * 560.2 / value**2 / 4) for value in values])
    assert [one.features for one in known] == [draw_tasks(setting.collection).features for setting in settings]
