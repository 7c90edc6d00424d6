import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from banditree.errors import InvalidInput
from banditree.tasks.contexts import draw_contexts
from banditree.tasks.instances import linear, rand
from banditree.tasks.rewards import Family
from banditree.training.classes import Criterion, find_classes, widen
from banditree.training.estimates import estimate
from banditree.training.mixture import bernoulli_coefficients, gaussian_coefficients, posterior, sums_of
from banditree.training.statistics import collect


def hidden_log(collection, n_individuals, n_rows, seed=0):
    """(statistics by individual, their true tasks) of individuals that are tasks of a collection, unlabelled."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, collection.n_tasks, n_individuals)
    who, arm = np.repeat(np.arange(n_individuals), n_rows), rng.integers(0, collection.n_arms, n_individuals * n_rows)
    names, arms = np.char.mod("%05d", who), np.char.mod("%02d", arm)
    if collection.theta is None:
        return collect(names, arms, collection.rewards.sample(collection.means[true[who], arm], rng)), true
    x = draw_contexts(collection.contexts, len(who), rng)
    rewards = collection.rewards.sample((x * collection.theta[true[who], arm]).sum(axis=1), rng)
    return collect(names, arms, rewards, x[:, 1:]), true


@pytest.mark.slow
@pytest.mark.parametrize("criterion", Criterion)
def test_the_ten_tasks_of_rand_10_20_are_found_without_labels(criterion):
    statistics, true = hidden_log(rand(10, 20, 0.4), 2000, 200)
    found = find_classes(statistics, criterion=criterion)
    assert found.n_classes == 10
    assert adjusted_rand_score(true, found.labels) >= 0.95
    assert found.shares.sum() == pytest.approx(1)
    assert found.statistics.n_rows == 400_000


def test_classes_of_linear_tasks_are_found():
    statistics, true = hidden_log(linear(3, 4, 2, 0.4, seed=1), 90, 60)
    found = find_classes(statistics, Family.GAUSSIAN)
    assert found.n_classes == 3
    assert adjusted_rand_score(true, found.labels) >= 0.95
    assert found.statistics.tasks == ("kind 1", "kind 2", "kind 3")


def test_the_same_seed_gives_the_same_classes_and_the_number_can_be_given():
    statistics, _ = hidden_log(rand(4, 6, 0.4), 60, 40)
    first, again = (find_classes(statistics, n_classes=5, seed=2) for _ in range(2))
    assert (first.labels == again.labels).all()
    assert len(first.trials) == 1
    assert list(first.shares) == sorted(first.shares, reverse=True)
    np.testing.assert_allclose(np.bincount(first.labels) / 60, first.shares)


def test_radii_allow_for_individuals_in_the_wrong_class():
    statistics, _ = hidden_log(rand(3, 4, 0.4), 60, 8)  # too few rows to be certain of anyone
    found = find_classes(statistics, n_classes=3)
    estimates = estimate(found.statistics)
    wide = widen(estimates, found)
    assert found.certainty.mean() < 0.999
    assert (wide.radius >= estimates.radius).all()
    assert (wide.radius > estimates.radius).any()


def test_log_likelihoods_are_the_obvious_ones():
    rng = np.random.default_rng(0)
    arms, rewards, x = rng.choice(["x", "y"], 40), (rng.random(40) < 0.4) * 1.0, rng.normal(size=40)
    sums = sums_of(collect(["u"] * 40, arms, rewards), Family.BERNOULLI)
    coefficients = bernoulli_coefficients(np.array([[[6.0, 4.0], [2.0, 8.0]]]))
    rate = np.where(arms == "x", 0.4, 0.8)
    expected = np.log(np.where(rewards == 1, rate, 1 - rate)).sum()
    assert float((sums.table @ coefficients).item()) == pytest.approx(expected)

    log = sums_of(collect(["u"] * 40, ["x"] * 40, rewards, x[:, None]), Family.GAUSSIAN)
    flat = log.table.reshape(1, 1, -1)
    rows = np.column_stack([np.ones(40), x])
    theta, rss, *_ = np.linalg.lstsq(rows, rewards, rcond=None)
    variance = rss[0] / 40
    density = -0.5 * (rewards - rows @ theta) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    assert float((log.table @ gaussian_coefficients(flat)).item()) == pytest.approx(density.sum(), rel=1e-6)


def test_em_never_loses_likelihood():
    from banditree.training.mixture import _start, mixture_of, totals

    statistics, _ = hidden_log(rand(4, 6, 0.4), 50, 30)
    sums = sums_of(statistics, Family.BERNOULLI)
    mixture = mixture_of(sums, totals(sums.rows(), _start(sums, 3, np.random.default_rng(0))))
    values = []
    for _ in range(15):
        chances, value = posterior(sums, mixture)
        assert np.allclose(chances.sum(axis=1), 1)
        values.append(value)
        mixture = mixture_of(sums, totals(sums.rows(), chances))
    # The pooled pseudo-row makes it a penalised likelihood: only its share may be lost.
    assert (np.diff(values) > -0.5).all()
    assert values[-1] > values[0]


def test_of_very_many_individuals_some_choose_the_classes_for_all(monkeypatch):
    monkeypatch.setattr("banditree.training.classes.MAX_FITTED", 60)
    statistics, true = hidden_log(rand(4, 6, 0.4), 300, 60)
    found = find_classes(statistics)
    assert found.n_classes == 4
    assert len(found.labels) == 300
    assert adjusted_rand_score(true, found.labels) >= 0.95
    assert found.trials[3].log_likelihood > found.trials[0].log_likelihood


def test_progress_can_stop_the_search():
    statistics, _ = hidden_log(rand(4, 6, 0.4), 60, 40)
    found = find_classes(statistics, on_progress=lambda progress: progress.done < 3)
    assert len(found.trials) == 3


def test_what_cannot_be_classified_is_refused():
    alike, _ = hidden_log(rand(2, 3, 0.4), 2, 5)
    with pytest.raises(InvalidInput, match="Everyone responds alike"):
        find_classes(collect(np.char.mod("%d", np.arange(300) % 50), ["x", "y", "z"] * 100, np.tile([1.0, 0, 1], 100)))
    with pytest.raises(InvalidInput, match="individuals must be at least 2"):
        find_classes(collect(["u"], ["x"], [1.0]))
    with pytest.raises(InvalidInput, match="n_classes must be in"):
        find_classes(alike, n_classes=3)
    with pytest.raises(InvalidInput, match="n_starts"):
        find_classes(alike, n_starts=0)
