"""Results show themselves in one way: as text, in notebooks, as a frame and as a picture."""

import numpy as np
import polars
import pytest
from simulated_logs import full_log

from banditree import Collection, certify, fit, learn, monitor
from banditree.errors import InvalidInput
from banditree.monitoring.simulated import simulate_cases
from banditree.reports.fit import fit_text
from banditree.reports.showing import SHOWINGS
from banditree.training.trajectories import learn_states
from banditree.trees.tree import build_tree

TWO = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B <b>"], tasks=["early", "late"])


def visits():
    rng = np.random.default_rng(0)
    who, arm = rng.integers(0, 60, 3000), rng.integers(0, 2, 3000)
    reward = (rng.random(3000) < TWO.means[who % 2, arm]).astype(int)
    return polars.DataFrame({"individual": who, "arm": np.array(TWO.arms)[arm], "reward": reward})


def stays():
    """Forty cases of two kinds that are ill or well, ten rounds each, with a name to escape."""
    rng = np.random.default_rng(1)
    case = np.repeat(np.arange(40), 10)
    kind, state, arm = case % 2, rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    named = {"individual": case, "task": np.array(TWO.tasks)[kind], "state": np.array(["ill", "well"])[state]}
    reward = (rng.random(400) < TWO.means[kind, arm]).astype(int)
    return polars.DataFrame({**named, "arm": np.array(TWO.arms)[arm], "reward": reward})


@pytest.fixture(scope="module")
def results():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("banditree.evaluation.promise.DRAWS", 100)
        patch.setattr("banditree.evaluation.promise.LEAST_DRAWS", 20)
        patch.setattr("banditree.evaluation.fit.LAST_STEPS", 200)
        fitted = fit(full_log(90, 8, 0), 8, kinds=(2,), lines=(1,), folds=2)
    plan = build_tree(TWO, horizon=20)
    watched = monitor(plan, TWO, simulate_cases(plan, TWO, 60))
    by_state = learn_states(stays(), individual="individual", state="state", task="task")
    found = [fitted, fitted.evaluation, learn(visits(), kinds=2), certify(plan, TWO), watched, by_state]
    return {type(one): one for one in found}


@pytest.mark.slow
def test_every_result_that_can_be_shown_is_tried_here(results):
    assert set(results) == set(SHOWINGS)


@pytest.mark.slow
def test_results_show_text_html_a_frame_and_a_picture(results, tmp_path):
    for kind, result in results.items():
        bundle = result._repr_mimebundle_()
        assert bundle["text/plain"] == str(result)
        assert len(str(result).splitlines()) > 2
        assert "<svg" in bundle["text/html"]
        assert "B <b>" not in bundle["text/html"], "names are escaped"
        frame = result.to_frame()
        assert len(frame) >= 2
        assert not frame.columns.has_duplicates
        result.plot().save(tmp_path / f"{kind.__name__}.svg")
        assert (tmp_path / f"{kind.__name__}.svg").read_text().startswith("<svg ")
        with pytest.raises(InvalidInput, match="as .svg"):
            result.plot().save(tmp_path / "picture.png")


@pytest.mark.slow
def test_frames_have_the_numbers_of_the_results(results):
    fitted, evaluation, learned, certificate, watched, _by_state = results.values()
    assert str(fitted) == fit_text(fitted)
    assert fitted.to_frame()["per_round"].tolist() == [row.value.value for row in evaluation.rows]
    assert learned.to_frame()["mean"].tolist() == learned.collection.means.ravel().tolist()
    assert certificate.to_frame()["regret"].tolist() == certificate.regret.tolist()
    assert f"{certificate.regret.max():,.3f}" in str(certificate)
    assert watched.to_frame()["outcomes"].sum() == watched.summary.options[0].n + watched.summary.options[1].n


@pytest.mark.slow
def test_what_is_learned_has_a_table_of_rates_with_margins(results):
    learned = list(results.values())[2]
    mean, margin = learned.collection.means[0, 0], learned.collection.radius[0, 0]
    assert f"{mean:.3g} ±{margin:.2g}" in str(learned)


def test_a_margin_that_says_nothing_is_not_printed_as_a_number():
    rows = polars.DataFrame({"task": ["a", "b"] * 2, "arm": ["x", "x", "y", "y"], "reward": [1, 0, 0, 1]})
    assert "nothing is known about 'x' for 'a'" in str(learn(rows))
