"""The verdict on cases held out: its sentence, what was promised at equal terms, and its picture."""

from types import SimpleNamespace

import numpy as np
import pytest
from running_service import SHORT_PLAN, TWO_GROUPS

from banditree.certificates.certify import certify
from banditree.evaluation.evaluate import PLAN, Row
from banditree.evaluation.intervals import Estimate
from banditree.reports import held_out as module
from banditree.reports.beside import Lost
from banditree.reports.held_out import held_out, held_out_scene


def estimate(value, low, high):
    return Estimate(value=value, error=0.1, low=low, high=high)


def found(gain, shown=10, refusal=""):
    rows = (
        Row(PLAN, estimate(0.8, 0.7, 0.9)),
        Row("Alpha for all", estimate(0.5, 0.4, 0.6), estimate(*gain)),
        Row("mTS", estimate(0.85, 0.8, 0.9), estimate(-0.05, -0.1, 0.0)),
        Row("mIDS", estimate(0.85, 0.8, 0.9), estimate(-0.05, -0.1, 0.0)),
    )
    about = {"shown": shown, "counted": shown, "horizon": 10, "n_cases": 12, "rests_on": None, "selection": None}
    return SimpleNamespace(rows=rows, refusal=refusal, **about)


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (
            (0.3, 0.1, 0.5),
            "Better than Alpha for all, on 12 cases that it was not made from: 0.80 recoveries per round",
        ),
        ((0.3, -0.1, 0.5), "Not shown to be better than Alpha for all, on 12 cases"),
        ((-0.3, -0.5, -0.1), "Worse than Alpha for all, on 12 cases"),
    ],
)
def test_the_sentence_says_what_the_interval_shows(gain, words):
    assert held_out(SHORT_PLAN, None, found(gain))["sentence"].startswith(words)


def test_what_is_shown_of_some_rounds_says_of_which():
    sentence = held_out(SHORT_PLAN, None, found((0.3, 0.1, 0.5), 6))["sentence"]
    assert sentence.startswith("For the first 6 of 10 rounds: better than Alpha for all, on 12 cases")


def test_promises_are_at_the_estimated_rates_over_the_same_rounds(monkeypatch):
    from dataclasses import replace

    monkeypatch.setattr(module, "thompson_loss", lambda *_: Lost(2.0, 1.0, 1000))
    estimated = replace(TWO_GROUPS, radius=np.full((2, 2), 0.01))
    rows = held_out(SHORT_PLAN, estimated, found((0.3, 0.1, 0.5)))["rows"]
    best = TWO_GROUPS.means.max(axis=1).mean()
    assert [row["name"] for row in rows] == ["This plan", "Alpha for all", "A computer"]
    assert rows[0]["promised"] == pytest.approx(best - certify(SHORT_PLAN, TWO_GROUPS).mean_regret / 10)
    assert rows[1]["promised"] == pytest.approx(TWO_GROUPS.means[:, 0].mean())
    assert rows[2]["promised"] == pytest.approx(best - 0.1)


def test_the_picture_tells_its_numbers_to_those_who_do_not_see_it():
    judged = held_out(SHORT_PLAN, None, found((0.3, 0.1, 0.5)))
    scene = held_out_scene(judged["unit"], judged["rows"])
    assert "This plan 0.80 (0.70 to 0.90); Alpha for all 0.50 (0.40 to 0.60)" in scene.description


def test_what_the_log_cannot_show_is_said_in_place_of_numbers():
    judged = held_out(SHORT_PLAN, None, found((0.3, 0.1, 0.5), refusal="options were chosen by how cases did"))
    assert judged["sentence"] == "Options were chosen by how cases did."
    assert judged["rows"] == []
