import json
from unittest import mock

import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.reports.analyze import analyze
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, linear, rand
from banditree.trees import optimal

QUANTITIES = (
    "deterministic_coefficient",
    "randomised_coefficient",
    "soft_coefficient",
    "optimal_depth",
    "greedy_depth",
)


def test_every_quantity_has_its_bounds_and_its_proof():
    facts = analyze(hard(5, 10, 0.4, 0.01), 0.4, horizon=4000).facts
    for name in QUANTITIES:
        assert facts[f"{name}_lower"] <= facts[name] <= facts[f"{name}_upper"]
        assert facts[f"{name}_proven"] is True
    assert [facts[name] for name in QUANTITIES] == [4.0, pytest.approx(4.0), 4.0, 3, 3]
    assert facts["separation_hellinger"] == pytest.approx(0.289, abs=1e-3)
    assert facts["dt_ece_samples_per_test"] == 127
    assert json.loads(json.dumps(dict(facts), allow_nan=False)) == facts


@pytest.mark.slow
def test_a_proven_value_stays_proven_whatever_the_depth():
    facts = analyze(rand(8, 12, 0.4, seed=0), 0.4, on_progress=lambda at: not at.text.startswith("random")).facts
    assert facts["soft_coefficient_proven"]
    assert facts["soft_coefficient_upper"] < facts["optimal_depth_upper"] + 1


def test_the_text_names_the_hardest_tasks():
    means = [[0.1, 0.5], [0.5, 0.1], [0.9, 0.6], [0.5, 0.9]]
    text = analyze(Collection.bernoulli(means, tasks=["north", "south", "east", "west"]), 0.4).text
    assert "Hardest tasks to tell apart: south, east, west." in text
    assert "proven" in text


def test_an_infinite_coefficient_is_a_word_and_explained():
    three = Collection.bernoulli([[0.1, 0.1, 0.5], [0.9, 0.5, 0.1], [0.5, 0.9, 0.9]])
    found = analyze(three, 0.8)
    assert found.facts["deterministic_coefficient"] == "infinite"
    assert found.facts["randomised_coefficient"] == pytest.approx(4.5)
    assert "infinite: on 3 tasks every test leaves some task separated from no other" in found.text
    json.dumps(dict(found.facts), allow_nan=False)


@pytest.mark.slow
def test_told_to_stop_it_gives_bounds():
    stages = []
    found = analyze(rand(14, 10, 0.3), 0.3, on_progress=lambda progress: bool(stages.append(progress.text)))
    assert {"randomised coefficient", "optimal depth"} <= set(stages)
    facts = found.facts
    assert facts["randomised_coefficient"] is None
    assert facts["randomised_coefficient_lower"] <= facts["randomised_coefficient_upper"]
    assert facts["randomised_coefficient_upper"] <= facts["deterministic_coefficient_upper"]
    assert "Randomised coefficient             between " in found.text


@pytest.mark.slow
def test_a_tree_too_large_to_hold_leaves_bounds():
    collection = rand(21, 12, 0.3)
    whole = analyze(collection, 0.3, on_progress=lambda progress: False).facts
    with mock.patch.object(optimal, "MAX_BOXES", 10):
        facts = analyze(collection, 0.3, on_progress=lambda progress: False).facts
    assert facts["greedy_depth"] is None
    assert facts["greedy_depth_lower"] <= whole["greedy_depth"] <= facts["greedy_depth_upper"] == 20


def test_estimated_bounded_and_contextual_collections():
    estimated = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], radius=0.04)
    facts = analyze(estimated, 0.4).facts
    assert (facts["separation"], facts["separation_of_tests"]) == (0.4, pytest.approx(0.32))
    rough = analyze(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], radius=0.1)).facts
    assert (rough["separation"], rough["optimal_depth"]) == (pytest.approx(0.4), 1)
    bounded = analyze(Collection.bounded([[0.7, 0.2], [0.3, 0.6]])).facts
    assert bounded["separation_hellinger"] is None
    assert "ece_regret_bound" not in bounded
    contextual = analyze(linear(4, 5, 3, 0.2)).facts
    assert contextual["graves_lai_largest"] == 0.0
    assert contextual["ece_regret_bound"] > 0


def test_means_known_badly_make_a_collection_harder():
    """Without the first task's means of arms 1 and 2, no test splits the four tasks evenly any more."""
    means = [[0.1, 0.1, 0.0], [0.1, 0.9, 0.9], [0.9, 0.1, 0.9], [0.9, 0.9, 0.9]]
    names = ("soft_coefficient", "deterministic_coefficient", "optimal_depth")
    well = analyze(Collection.bernoulli(means, radius=0.01)).facts
    assert [well[name] for name in names] == [3.0, 3.0, 2]
    radius = np.full((4, 3), 0.01)
    radius[0, :2] = 0.5
    badly = analyze(Collection.bernoulli(means, radius=radius)).facts
    assert [badly[name] for name in names] == [4.0, 4.0, 3]


def test_too_large_a_separation_names_the_closest_tasks():
    with pytest.raises(InvalidInput, match="separation must be at most 0.4"):
        analyze(Collection.bernoulli(np.array([[0.7, 0.2], [0.3, 0.6]])), 0.5)
