import numpy as np
from scipy import stats

from banditree.policies.random import normal, pcg4d, reward_uniforms, uniform


def draws(count):
    return np.array(
        [uniform((seed, case, number), 0) for seed in range(4) for case in range(5) for number in range(count)]
    )


def test_numbers_are_uniform_and_unrelated_to_their_neighbours():
    values = draws(1000)
    # False-alarm rate 1e-4 each: the keys are as regular as keys get.
    assert stats.kstest(values, "uniform").pvalue > 1e-4
    for lag in (1, 2, 1000, 5000):
        assert abs(np.corrcoef(values[:-lag], values[lag:])[0, 1]) < 4 / np.sqrt(len(values))


def test_low_bits_and_pairs_are_uniform():
    values = draws(1000)
    cells = np.bincount((values * 2**40).astype(np.int64) % 64, minlength=64)
    assert stats.chisquare(cells).pvalue > 1e-4
    pairs = np.array(
        [reward_uniforms(1, 2, run, arm, 7, pull) for run in range(10) for arm in range(7) for pull in range(300)]
    )
    grid = np.histogram2d(*pairs.T, bins=16, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(grid.ravel()).pvalue > 1e-4


def test_normal_numbers_are_normal():
    values = [normal(*reward_uniforms(3, 0, run, 0, 1, 0)) for run in range(20_000)]
    assert stats.kstest(values, "norm").pvalue > 1e-4
    assert normal(0.0, 0.3) == 0.0


def test_a_key_gives_its_number_whatever_was_asked_before():
    once = uniform((5, 6, 7), 1)
    assert [uniform((5, 6, 7), 0), uniform((5, 6, 7), 1)][1] == once
    assert len({uniform((5, 6, 7), draw) for draw in range(100)}) == 100


def published_pcg4d(v):
    """The published listing, word for word, on four arrays of 32-bit words."""
    v = [word * np.uint32(1664525) + np.uint32(1013904223) for word in v]
    for final in (False, True):
        v[0] = v[0] + v[1] * v[3]
        v[1] = v[1] + v[2] * v[0]
        v[2] = v[2] + v[0] * v[1]
        v[3] = v[3] + v[1] * v[2]
        if not final:
            v = [word ^ (word >> np.uint32(16)) for word in v]
    return v


def test_the_hash_is_the_published_one():
    words = np.random.default_rng(0).integers(0, 2**32, (4, 200), dtype=np.uint32)
    expected = np.array(published_pcg4d(list(words))).T.tolist()
    assert [list(pcg4d(*row)) for row in words.T.tolist()] == expected
