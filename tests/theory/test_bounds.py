import math

import pytest

from banditree.errors import InvalidInput
from banditree.theory.bounds import dt_ece_samples


def test_a_known_collection_gives_the_printed_sample_size():
    assert dt_ece_samples(horizon=4000, depth=3, separation=0.4) == math.ceil(2 * math.log(24_000) / 0.16)


def test_an_eighth_of_the_separation_gives_the_number_of_the_notes():
    lam, horizon, depth = 0.4, 1000, 5
    n = dt_ece_samples(horizon=horizon, depth=depth, separation=0.75 * lam, radius=lam / 8)
    assert n == math.ceil(8 * math.log(2 * horizon * depth) / lam**2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"depth": 0}, "depth must be at least 1"),
        ({"radius": 0.2}, "known to within 0.2, and tests 0.4 apart need less than 0.2"),
    ],
)
def test_impossible_settings_are_named(change, message):
    with pytest.raises(InvalidInput, match=message):
        dt_ece_samples(**({"horizon": 100, "depth": 2, "separation": 0.4} | change))


def test_never_fewer_than_one_sample():
    assert dt_ece_samples(horizon=1, depth=1, separation=100.0) == 1
