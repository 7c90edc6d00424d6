"""Designs of trials: exact enumeration, what rpact says, and the tables of their papers."""

import json
import shutil
import subprocess
from itertools import product
from math import comb, prod, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from banditree import Collection, Give, InvalidInput, Line, certify, make_plan, save_plan, start_session
from banditree.designs import (
    characteristics,
    find_simon,
    group_sequential,
    limits,
    n_of_1,
    obrien_fleming,
    pocock,
    simon,
    sprt,
    three_plus_three,
)
from banditree.designs.boundaries import crossing
from banditree.designs.stages import Look
from banditree.files.plans import load_plan
from banditree.plans.counts import Rounds

GOLDEN = Path(__file__).parents[1] / "golden"
SAID = json.loads((GOLDEN / "rpact.json").read_text())
BOUNDARIES = {"P": pocock, "OF": obrien_fleming}
# Simon (1989), Controlled Clinical Trials 10, tables of alpha 0.05 and power 0.80: (null, alternative, optimal,
# expected rounds under the null as printed, minimax).
PRINTED = [
    (0.05, 0.25, ((0, 9), (2, 17)), 12.0, ((0, 12), (2, 16))),
    (0.1, 0.3, ((1, 10), (5, 29)), 15.0, ((1, 15), (5, 25))),
    (0.2, 0.4, ((3, 13), (12, 43)), 20.6, ((4, 18), (10, 33))),
    (0.7, 0.9, ((4, 6), (22, 27)), 14.8, ((19, 23), (21, 26))),
]


def by_stages(looks, rate):
    """The chance of few and of many successes, and the expected rounds, by adding up stage after stage."""
    here, rounds, mean = {0: 1.0}, 0, 0.0
    few = many = 0.0
    for look in looks:
        n = look.rounds - rounds
        mean += n * sum(here.values())
        after = {}
        for successes, chance in here.items():
            for gained in range(n + 1):
                more = chance * comb(n, gained) * rate**gained * (1 - rate) ** (n - gained)
                after[successes + gained] = after.get(successes + gained, 0.0) + more
        few += sum(p for s, p in after.items() if look.few is not None and s <= look.few)
        many += sum(p for s, p in after.items() if look.many is not None and s >= look.many)
        here = {s: p for s, p in after.items() if look.side(s) is None}
        rounds = look.rounds
    return few, many, mean


@pytest.mark.parametrize(
    "looks",
    [
        [Look(1, 0, 1)],
        [Look(10, 1), Look(29, 5, 6)],
        [Look(4, 0, 4), Look(5, None, 4), Look(9, 2, 6), Look(12, 5, 6)],
        [Look(3, None, None), Look(8, 3, 4)],
        limits([10, 20, 30, 40], pocock(4), 0.3),
        limits([15, 30, 45], obrien_fleming(3), 0.2),
    ],
)
def test_designs_in_stages_are_their_sums(looks):
    rates = [0.05, 0.3, 0.5, 0.93]
    design = group_sequential(looks, null=0.3, alternative=0.5)
    found = characteristics(design, {str(rate): rate for rate in rates})
    for number, rate in enumerate(rates):
        few, many, mean = by_stages(looks, rate)
        assert found.chances["treatment"][number] == pytest.approx(many, abs=1e-12)
        assert found.chances.get("control", np.zeros(4))[number] == pytest.approx(few, abs=1e-12)
        assert found.mean_rounds[number] == pytest.approx(mean, abs=1e-9)
    assert found.most_rounds == looks[-1].rounds
    assert not found.undecided.any()


@pytest.mark.slow
@pytest.mark.parametrize(("null", "alternative", "optimal", "expected", "minimax"), PRINTED)
def test_simon_is_the_printed_design(null, alternative, optimal, expected, minimax):
    assert find_simon(null, alternative) == optimal
    assert find_simon(null, alternative, minimax=True) == minimax
    found = characteristics(simon(*optimal, null=null, alternative=alternative))
    error, power = found.chances["treatment"]
    assert error <= 0.05
    assert power >= 0.8
    assert round(float(found.mean_rounds[0]), 1) == expected


def test_errors_are_wrong_arms_of_the_certificate():
    design = simon((3, 13), (12, 43), null=0.2, alternative=0.4)
    certificate, found = certify(*design), characteristics(design)
    assert certificate.wrong_arm[0] == pytest.approx(found.chances["treatment"][0], abs=1e-15)
    assert certificate.wrong_arm[1] == pytest.approx(found.chances["control"][1], abs=1e-15)


@pytest.mark.parametrize("said", [one for one in SAID if one["type"] in BOUNDARIES])
def test_critical_values_are_those_of_rpact(said):
    shares = np.array(said["shares"])
    critical = BOUNDARIES[said["type"]](shares.tolist(), said["alpha"], said["sided"])
    assert critical == pytest.approx(said["critical"], abs=1e-6)
    assert crossing(critical, shares, said["sided"], drift=0.3 * sqrt(100)) == pytest.approx(said["power"][0], abs=1e-6)


def test_tests_of_fixed_length_are_those_of_rpact():
    """Normal outcomes by certify; exact tests of rates as long as rpact wants them."""
    z = 1.959963984540054
    for said in (one for one in SAID if one["type"] == "fixed"):
        means = [[mean, 0.05] for mean in (0.1, 0.3, 0.5)]
        normal = Collection.gaussian(means, 1.0, arms=["treatment", "control"])
        lines = [Line(Give("treatment"), Rounds(said["n"], z * sqrt(said["n"])), 2, 3)]
        plan = make_plan([*lines, Line(Give("control")), Line(Give("treatment"))], normal, said["n"])
        assert 1 - certify(plan, normal).wrong_arm == pytest.approx(said["power"], abs=1e-6)
    for said in (one for one in SAID if one["type"] == "exact"):
        keeps = [_fixed_keeps(n, said["null"], said["alternative"]) for n in (said["n"], said["n"] - 1)]
        assert keeps == [True, False]


def _fixed_keeps(n, null, alternative):
    few = int(binom.isf(0.05, n, null))
    found = characteristics(group_sequential([Look(n, few, few + 1)], null=null, alternative=alternative))
    error, power = found.chances["treatment"]
    return bool(error <= 0.05 and power >= 0.8)


@pytest.mark.slow
def test_rpact_still_says_so():
    if shutil.which("Rscript") is None:
        pytest.skip("R is not here")
    ran = subprocess.run(["Rscript", GOLDEN / "rpact.R"], capture_output=True, text=True, check=False)
    if "no package called" in ran.stderr:
        pytest.skip("rpact is not here: apt-get install r-cran-rpact")
    for one, said in zip(json.loads(ran.stdout), SAID, strict=True):
        assert one.keys() == said.keys()
        for key in one:
            assert one[key] == (said[key] if isinstance(said[key], str) else pytest.approx(said[key], abs=1e-8))


def scored(design, rate, horizon):
    """The chance of both limits of one score, and the rounds, by following every score."""
    counts = design.plan.lines[0].counts
    down, up = counts.points.points
    at, above, below, mean = {0: 1.0}, 0.0, 0.0, 0.0
    for _ in range(horizon):
        mean, after = mean + sum(at.values()), {}
        for score, chance in at.items():
            for step, p in ((up, rate), (down, 1 - rate)):
                after[score + step] = after.get(score + step, 0.0) + chance * p
        above += sum(p for s, p in after.items() if s >= counts.ceil)
        below += sum(p for s, p in after.items() if s <= -counts.floor)
        at = {s: p for s, p in after.items() if -counts.floor < s < counts.ceil}
    return above, below, mean


def test_a_sequential_test_is_followed_score_by_score():
    design = sprt(0.2, 0.4, alpha=0.05, beta=0.1, horizon=60)
    found = characteristics(design, {"null": 0.2, "middle": 0.3, "alternative": 0.4})
    for number, rate in enumerate((0.2, 0.3, 0.4)):
        above, below, mean = scored(design, rate, 60)
        assert found.chances["treatment"][number] == pytest.approx(above, abs=1e-9)
        assert found.chances["control"][number] == pytest.approx(below, abs=1e-9)
        assert found.undecided[number] == pytest.approx(1 - above - below, abs=1e-9)
        assert found.mean_rounds[number] == pytest.approx(mean, abs=1e-7)
    assert found.most_rounds == 60
    whole = characteristics(sprt(0.2, 0.4, alpha=0.05, beta=0.1))
    assert whole.chances["treatment"][0] <= 0.05
    assert whole.chances["control"][1] <= 0.1


def settled_on(harm):
    """The chance of settling on each dose, or on none (last): of three none, or one and then none of three more."""
    passes = [(1 - q) ** 3 + 3 * q * (1 - q) ** 5 for q in harm]
    chances = [prod(passes[:n]) * (1 - passes[n]) for n in range(len(passes))] + [prod(passes)]
    return [*chances[1:], chances[0]]


def test_three_plus_three_is_its_formula():
    scenarios = {"mild": [0.02, 0.1, 0.25, 0.4], "harsh": [0.3, 0.5, 0.6, 0.7]}
    doses = ["1 mg", "2 mg", "4 mg", "6 mg"]
    found = characteristics(three_plus_three(doses, scenarios))
    for number, harm in enumerate(scenarios.values()):
        settled = [found.chances[dose][number] for dose in [*doses, "no dose"]]
        assert settled == pytest.approx(settled_on(harm), abs=1e-12)
    assert found.most_rounds == 24


@pytest.mark.parametrize(("rounds", "at_most", "washout"), [(1, 0, 0), (2, 0, 0), (3, 1, 2)])
def test_a_crossover_is_every_course_of_its_periods(rounds, at_most, washout):
    periods, rates = "ABBA", (0.7, 0.45)
    design = n_of_1(periods, {"A": rates, "alike": [0.5, 0.5]}, rounds=rounds, at_most=at_most, washout=washout)
    good = {option: float(binom.sf(at_most, rounds, rate)) for option, rate in zip("AB", rates, strict=True)}
    better = {"A": 0.0, "B": 0.0}
    for course in product([False, True], repeat=len(periods)):
        chance = prod(good[o] if well else 1 - good[o] for o, well in zip(periods, course, strict=True))
        ahead = sum(well * (1 if o == "A" else -1) for o, well in zip(periods, course, strict=True))
        better["B" if ahead < 0 else "A"] += chance
    found = characteristics(design)
    assert {option: found.chances[option][0] for option in "AB"} == pytest.approx(better, abs=1e-12)
    assert found.most_rounds == rounds * 4 + washout * 2


def test_a_design_is_saved_and_followed(tmp_path):
    save_plan(simon((1, 10), (5, 29), null=0.1, alternative=0.3).plan, tmp_path / "simon.json")
    case = start_session(load_plan(tmp_path / "simon.json"))
    for outcome in [0] * 4 + [1] + [0] * 5:
        step = case.ask()
        assert step.name == "treatment"
        case.tell(outcome, step.round)
    assert case.ask().name == "control"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: simon((1, 10), (5, 9), null=0.1, alternative=0.3), "increasing"),
        (lambda: simon((1, 10), (5, 29), null=0.3, alternative=0.1), "the null below"),
        (lambda: group_sequential([Look(5, 1, 3)], null=0.1, alternative=0.3), "must decide"),
        (lambda: group_sequential([Look(5, 3, 3)], null=0.1, alternative=0.3), "few below many"),
        (lambda: group_sequential([], null=0.1, alternative=0.3), "at least one"),
        (lambda: pocock(0), "a number from 1"),
        (lambda: pocock([3, 2]), "increasing"),
        (lambda: pocock(3, alpha=0.7), "between 0 and 0.5"),
        (lambda: limits([10], pocock(2), 0.2), "one per critical value"),
        (lambda: sprt(0.4, 0.2), "the null below"),
        (lambda: find_simon(0.2, 0.21, most=20), "Give a larger `most`"),
        (lambda: three_plus_three(["a", "a"], {"x": [0, 0], "y": [0, 0]}), "different names"),
        (lambda: three_plus_three(["a"], {"x": [0.1, 0.2], "y": [0, 0]}), "each of 1 dose"),
        (lambda: three_plus_three(["a"], {"x": [0.1]}), "at least two"),
        (lambda: n_of_1("ABA", {"x": [0, 0], "y": [0, 0]}), "as many"),
        (lambda: n_of_1("AB", {"x": [0, 0], "y": [0, 0]}, rounds=2, at_most=2), "from 0 to 1"),
        (lambda: n_of_1("ABC", {"x": [0, 0], "y": [0, 0]}), "two options"),
        (lambda: group_sequential([Look(400, 1), Look(500, 9, 10)], null=0.1, alternative=0.3), "at most 20,000"),
    ],
)
def test_designs_that_cannot_be_are_refused(wrong, says):
    with pytest.raises(InvalidInput, match=says):
        wrong()
