import numpy as np
import pytest

from banditree.experiments.claims import CLAIMS, bend, check_claims, commitment, late_growth, rightly
from banditree.simulation.results import Results

ROUNDS = np.arange(1, 101)


def made_up(**curves):
    """Results of one task and two runs whose curves are given; DT-ECE commits at round 10, rightly."""
    results = Results.unfinished(tuple(curves), ("one",), ("A", "B"), ROUNDS, 2, {}, {})
    for index, curve in enumerate(curves.values()):
        results.regret[index, 0] = curve
    results.committed[0] = 10
    results.arm_right[0] = 1
    return results


STRAIGHT = ROUNDS.astype(float)
BENT = np.minimum(ROUNDS, 20.0)
RESULTS = made_up(**{"DT-ECE": BENT * 2, "mUCB": STRAIGHT, "mTS": BENT / 4})


def test_numbers_of_a_curve():
    assert late_growth(RESULTS, "mUCB") == pytest.approx(1.0)
    assert late_growth(RESULTS, "mTS") == 0.0
    assert bend(RESULTS, "mTS") == 19
    assert commitment(RESULTS, "DT-ECE") == 10
    assert rightly(RESULTS, "DT-ECE") == 1.0


def about(words):
    """The claim that has these words."""
    return next(claim for claim in CLAIMS if words in claim.claim)


def test_a_verdict_follows_its_numbers():
    behind_mts = about("efficiency of mTS").verdict
    assert behind_mts({"c": RESULTS, "d": RESULTS}).reproduced
    other = made_up(**{"DT-ECE": BENT, "mUCB": BENT / 4, "mTS": STRAIGHT})
    partly = behind_mts({"c": RESULTS, "d": other})
    assert not partly.reproduced
    assert partly.answer == "(c) only"
    assert behind_mts({"c": other, "d": other}).answer == "no"


def test_a_handful_of_rounds_is_a_number_of_rounds():
    """Of a long horizon, 11% is not a handful: 44,075 rounds in (b)."""
    late = made_up(**{"DT-ECE": BENT * 2, "mUCB": STRAIGHT, "mTS": BENT / 4})
    late.committed[0] = 44_075
    verdict = about("in a handful").verdict({"a": RESULTS, "b": late})
    assert verdict.answer == "(a) only"
    assert "8 times the regret of mTS" in verdict.measured


def test_every_claim_gets_a_verdict():
    verdicts = check_claims(dict.fromkeys("abcd", RESULTS))
    assert len(verdicts) == 10
    assert not next(v for v in verdicts if "on par" in v.claim).reproduced
    assert next(v for v in verdicts if "larger regret" in v.claim).reproduced
    assert next(v for v in verdicts if "even before mTS" in v.claim).reproduced
