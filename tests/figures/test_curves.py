import pytest

from banditree.errors import InvalidInput
from banditree.figures.curves import curves_info, draw_curves
from banditree.figures.sweep import SweepLine
from banditree.simulation.engine import simulate
from banditree.simulation.results import mean_band
from banditree.tasks.instances import rand


@pytest.fixture(scope="module")
def panels():
    return curves_info({"small": simulate(rand(3, 4, 0.3), ["uniform"], horizon=50, runs=4)})


def test_a_panel_holds_the_bands_of_its_results():
    results = simulate(rand(3, 4, 0.3), ["uniform"], horizon=50, runs=4)
    (panel,) = curves_info({"small": results})
    assert (panel.title, panel.runs, panel.curves[0].policy) == ("small", 4, "uniform")
    assert panel.curves[0].high.tolist() == mean_band(results, "uniform").high.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["pdf", "png", "svg"])
def test_the_same_picture_is_the_same_bytes(panels, suffix, tmp_path):
    for name in ("one", "other"):
        draw_curves(panels, tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"other.{suffix}").read_bytes()


def test_fonts_are_embedded(panels, tmp_path):
    draw_curves(panels, tmp_path / "one.pdf")
    content = (tmp_path / "one.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


def test_other_formats_are_refused(panels, tmp_path):
    with pytest.raises(InvalidInput, match=r"a figure is a .pdf, .png, .svg file"):
        draw_curves(panels, tmp_path / "one.gif")


def test_a_fitted_power_goes_through_a_power():
    line = SweepLine("mts", (8.0, 2.0, 0.5), -2.0)
    assert line.fitted((1.0, 2.0, 4.0)) == pytest.approx([8.0, 2.0, 0.5])
