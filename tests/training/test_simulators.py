import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear, rand
from banditree.tasks.rewards import Family
from banditree.training.estimates import estimate
from banditree.training.regression import fit_cell, make_design
from banditree.training.simulators import (
    BLOCK,
    Ending,
    GymnasiumSimulator,
    Job,
    TaskSimulator,
    draw_block,
    lemma_samples,
    mean_samples,
    train,
    train_sequentially,
)
from banditree.trees.tree import build_tree


def simulators(collection):
    return [TaskSimulator(collection, task) for task in range(collection.n_tasks)]


LINEAR = linear(3, 4, 2, 0.4, seed=0)
COINS = rand(4, 5, 0.4, seed=0)


def test_thetas_of_a_linear_collection_are_found():
    statistics = train(simulators(LINEAR), 2000, arms=LINEAR.arms)
    found = estimate(statistics, Family.GAUSSIAN, intercept=False)
    np.testing.assert_allclose(found.theta, LINEAR.theta, atol=0.05)
    assert (np.abs(found.means - LINEAR.means) <= found.radius).all()


def test_results_do_not_depend_on_the_workers():
    n = BLOCK + 500
    alone = train(simulators(LINEAR), n, arms=LINEAR.arms, seed=3)
    together = train(simulators(LINEAR), n, arms=LINEAR.arms, seed=3, workers=2)
    assert (alone.products == together.products).all()
    assert (alone.sums == together.sums).all()
    other = train(simulators(LINEAR), n, arms=LINEAR.arms, seed=4)
    assert not (alone.sums == other.sums).all()


def test_no_two_blocks_share_random_numbers():
    simulator, shift = TaskSimulator(LINEAR, 0), np.zeros(LINEAR.contexts.n_features + 1)
    jobs = [Job(0, 0, 0, 50), Job(0, 0, 1, 50), Job(0, 1, 0, 50), Job(1, 0, 0, 50)]
    sums = [draw_block(simulator, job, shift, seed=0)[0].tobytes() for job in jobs]
    assert len(set(sums)) == len(jobs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same():
    import joblib
    from distributed import Client

    alone = train(simulators(LINEAR), 300, arms=LINEAR.arms)
    with (
        Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"),
        joblib.parallel_config("dask"),
    ):
        there = train(simulators(LINEAR), 300, arms=LINEAR.arms, workers="joblib")
    assert (alone.products == there.products).all()


def test_progress_is_told_and_can_stop():
    seen = []

    def on_progress(progress):
        seen.append((progress.done, progress.total))
        return len(seen) < 3

    statistics = train(simulators(COINS), 100, arms=COINS.arms, on_progress=on_progress)
    assert seen == [(100, 2000), (200, 2000), (300, 2000)]
    assert statistics.n_rows == 300


class Corridor:
    """A Gymnasium-style environment: the observation is where one stands, the reward depends on it and the arm."""

    def reset(self, *, seed=None, options=None):
        self.place = np.random.default_rng(seed).normal(size=2)
        return self.place, {}

    def step(self, arm):
        return self.place, float(self.place[arm] + 1), True, False, {}


def test_gymnasium_environments_adapt():
    statistics = train([GymnasiumSimulator(Corridor())], 50, arms=["left", "right"], features=["u", "v"])
    fits = [
        fit_cell(n, sums, products, statistics.shift, make_design(statistics.features, np.zeros(2), True), np.zeros(2))
        for n, sums, products in zip(statistics.count, statistics.sums, statistics.products, strict=True)
    ]
    np.testing.assert_allclose([fit.theta for fit in fits], [[1, 1, 0], [1, 0, 1]], atol=1e-9)
    simulator = GymnasiumSimulator(Corridor(), has_contexts=False)
    assert simulator.contexts(3, np.random.default_rng(0)).shape == (3, 0)
    with pytest.raises(InvalidInput, match="the 3 drawn last"):
        simulator.rewards(np.zeros((2, 0)), 0, np.random.default_rng(0))


def test_numbers_of_samples_are_those_of_the_lemma():
    sizes = {"horizon": 1000, "n_tasks": 10, "n_arms": 20}
    log = np.log(4 * 1000 * 10 * 20)
    printed = lemma_samples(**sizes, n_features=3, sigma=0.5, separation=0.4, gap=0.5)
    assert printed == np.ceil(160 * 0.25 * 3 * log / 0.16)
    assert lemma_samples(**sizes, n_features=1, sigma=0.5, separation=0.4, gap=0.5) == np.ceil(60 * log / 0.16)
    assert lemma_samples(**sizes, n_features=3, sigma=0.5, separation=0.4, gap=0.2) == np.ceil(120 * log / 0.04)
    assert lemma_samples(**sizes, n_features=7, sigma=0.0, separation=0.4, gap=0.4) == 7
    eighth = lemma_samples(**sizes, n_features=3, sigma=0.5, separation=0.4, gap=0.5, share=8)
    assert eighth == np.ceil(4 * 120 * log / 0.16)
    assert mean_samples(**sizes, variance=0.25, separation=0.4) == np.ceil(32 * 0.25 * log / 0.16)
    with pytest.raises(InvalidInput, match="separation must be"):
        lemma_samples(**sizes, n_features=3, sigma=0.5, separation=0.0, gap=0.4)


def test_training_goes_on_until_the_means_are_known_well_enough_for_a_plan():
    found = train_sequentially(simulators(COINS), arms=COINS.arms)
    assert found.ending is Ending.KNOWN
    assert (found.collection.radius <= found.separation / 8).all()
    assert (np.abs(found.collection.means - COINS.means) <= found.collection.radius).all()
    looks = 1 + np.log2(found.statistics.counts.max() / 64)
    assert found.estimates.failure_probability == pytest.approx(0.05 / (looks * (looks + 1)))
    assert build_tree(found.collection, 1000, found.separation).n_tests >= 3
    assert found.statistics.counts.min() < found.statistics.counts.max()  # only what is not yet known is drawn again


def test_training_ends_at_the_limit_or_when_told():
    twins = Collection.bernoulli([[0.5, 0.5], [0.5, 0.5]])
    limited = train_sequentially(simulators(twins), arms=twins.arms, max_samples=300)
    assert limited.ending is Ending.LIMIT
    assert limited.statistics.counts.max() == 300
    stopped = train_sequentially(simulators(twins), arms=twins.arms, on_progress=lambda progress: progress.done < 400)
    assert stopped.ending is Ending.STOPPED


def test_what_is_not_a_number_is_refused():
    class Broken(TaskSimulator):
        def rewards(self, contexts, arm, rng):
            return np.full(len(contexts), np.nan)

    with pytest.raises(InvalidInput, match="not a finite number"):
        train([Broken(COINS, 0)], 10, arms=COINS.arms)
    with pytest.raises(InvalidInput, match="at least one simulator"):
        train([], 10, arms=COINS.arms)
    with pytest.raises(InvalidInput, match="n_samples must be at least 1"):
        train(simulators(COINS), 0, arms=COINS.arms)
