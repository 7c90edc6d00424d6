import numpy as np
import pytest
from boxes import arrays_of, survivors_at
from figure_plans import made
from hypothesis import given
from hypothesis import strategies as st

from banditree.certificates.certify import certify, course
from banditree.errors import InvalidInput
from banditree.figures.axes import Axis, tick_label, tick_step
from banditree.figures.curves import curves_info
from banditree.figures.heat_map import MOST_SHOWN, heat_map_info, heat_map_scene, ink_on, shade
from banditree.figures.pareto import Candidate, pareto_info, pareto_scene
from banditree.figures.scene import PALETTE, Line, Text
from banditree.figures.spending import spending_info, spending_scene
from banditree.figures.svg import svg
from banditree.figures.timeline import course_info, regret_info, survivors_info, timeline_scene
from banditree.plans.counts import Counting
from banditree.simulation.engine import simulate
from banditree.simulation.results import mean_band
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree


def test_heat_map_marks_best_arms_and_separated_pairs():
    known = rand(6, 4, 0.3)
    info = heat_map_info(known, 0.5)
    slow = [[max(abs(a - b) for a, b in zip(i, j, strict=True)) for j in known.means] for i in known.means]
    np.testing.assert_allclose(info.apart, slow)
    assert info.best.tolist() == known.means.argmax(axis=1).tolist()
    scene = heat_map_scene(info)
    slashes = [shape for shape in scene.shapes if isinstance(shape, Line)]
    assert len(slashes) == sum(slow[i][j] < 0.5 for i in range(6) for j in range(6) if i != j) > 0


def test_large_heat_maps_show_a_part_and_say_so():
    info = heat_map_info(Collection.bernoulli(np.random.default_rng(0).random((60, 70))))
    assert info.means.shape == (MOST_SHOWN, MOST_SHOWN)
    texts = [shape.text for shape in heat_map_scene(info).shapes if isinstance(shape, Text)]
    assert "The first 50 of 60 tasks and 50 of 70 arms." in texts


def luminance(colour):
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return sum(
        weight * (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4)
        for weight, c in zip((0.2126, 0.7152, 0.0722), channels, strict=True)
    )


def test_shades_are_ordered_and_the_numbers_on_them_can_be_read():
    shades = [luminance(shade(share)) for share in np.linspace(0, 1, 11)]
    assert shades == sorted(shades, reverse=True)
    for share in np.linspace(0, 1, 101):
        ink = luminance(ink_on(share))
        light, dark = sorted((luminance(shade(share)), ink), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5
    assert len(set(PALETTE)) == len(PALETTE)


def test_regret_curves_are_the_bands_of_the_results():
    results = simulate(rand(3, 4, 0.2), ["uniform", "ucb1"], horizon=60, runs=6)
    (panel,) = curves_info({"Regret": results})
    info = regret_info(panel)
    for curve in info.series:
        np.testing.assert_array_equal(curve.high, mean_band(results, curve.name).high)
    assert "6 runs" in info.note
    assert svg(timeline_scene(info)).count("<polyline") >= 2


def test_the_course_is_exact_and_large_collections_show_mean_and_worst():
    plan, known = made("15 boxes")
    exact = course(plan, known).regret[:, -1]
    info = course_info(plan, known)
    assert [curve.value[-1] for curve in info.series] == [exact.mean(), exact.max()]
    few, known = made("3 boxes")
    assert [curve.name for curve in course_info(few, known).series] == ["mild", "severe"]


def test_survivors_against_following_the_plan():
    """Every case of a simulation, box by box; bands of five standard errors, a false alarm in about 10,000 seeds."""
    plan, known = made("15 boxes")
    info = survivors_info(plan, known)
    rng, n = np.random.default_rng(3), 400
    counts = np.zeros((known.n_tasks, n, len(info.rounds)))
    for task in range(known.n_tasks):
        for case in range(n):
            box, t = 0, 0
            while arrays_of(plan).kind[box] != Counting.EXPLOIT:
                until = t + int(arrays_of(plan).pulls[box])
                counts[task, case, (info.rounds >= t) & (info.rounds < until)] = len(survivors_at(plan, box))
                total = rng.binomial(arrays_of(plan).pulls[box], known.means[task, arrays_of(plan).arm[box]])
                box, t = (
                    int(
                        arrays_of(plan).low[box]
                        if total <= arrays_of(plan).threshold[box]
                        else arrays_of(plan).high[box]
                    ),
                    until,
                )
            counts[task, case, info.rounds >= t] = len(survivors_at(plan, box))
    error = counts.std(axis=1).mean(axis=0) / np.sqrt(n * known.n_tasks)
    assert (np.abs(counts.mean(axis=(0, 1)) - info.series[0].value) <= 5 * error + 1e-6).all()


def test_plans_without_survivors_show_the_share_still_tested():
    plan, known = made("links back")
    info = survivors_info(plan, known)
    assert info.title == "Cases still being tested"
    assert info.series[0].value[0] == 1.0
    assert info.series[0].value[-1] < 1e-6
    assert (np.diff(info.series[0].value) <= 1e-12).all()


candidates = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=12)


@given(candidates)
def test_the_front_is_what_nothing_beats(points):
    info = pareto_info([Candidate(f"c{n}", size, float(regret)) for n, (size, regret) in enumerate(points)])
    unbeaten = {
        (size, regret)
        for size, regret in points
        if not any((s <= size and r <= regret) and (s, r) != (size, regret) for s, r in points)
    }
    assert {(info.candidates[i].size, info.candidates[i].regret) for i in info.front} == unbeaten
    assert sum(one.name.count("c") for one in info.candidates) == len(points)
    svg(pareto_scene(info))


@pytest.mark.parametrize("name", ["3 boxes", "60 boxes", "links back"])
def test_spending_adds_up_to_the_regret(name):
    plan, known = made(name)
    certificate = certify(plan, known)
    info = spending_info(plan, certificate)
    assert info.total == pytest.approx(certificate.mean_regret)
    assert sum(one.mean for one in info.spent) + info.rest == pytest.approx(certificate.mean_regret)
    assert [one.number for one in info.spent] == sorted(one.number for one in info.spent)
    svg(spending_scene(info))


def test_spending_needs_an_exact_certificate():
    bounded = Collection.bounded([[0.9, 0.2], [0.1, 0.8]])
    plan = build_tree(bounded, 500)
    with pytest.raises(InvalidInput, match="certificate is exact"):
        spending_info(plan, certify(plan, bounded))


@given(st.floats(1e-6, 1e9))
def test_ticks_are_few_and_round(span):
    step = tick_step(span)
    assert 1 <= span / step <= 6.001
    axis = Axis(0.0, span, 0.0, 100.0)
    assert 2 <= len(axis.ticks()) <= 7
    assert all(-1e-6 <= axis.at(value) <= 100.0001 for value in axis.ticks())


def test_log_axes_and_labels():
    axis = Axis(0.1, 1e4, 0.0, 100.0, log=True)
    assert [tick_label(value) for value in axis.ticks()] == ["0.1", "1", "10", "100", "1,000", "10,000"]
    assert axis.at(0.0) == 0.0
    assert (tick_label(2e6), tick_label(1e-5)) == ("2e6", "1e-5")
