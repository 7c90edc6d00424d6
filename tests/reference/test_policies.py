"""Policies against their definitions, written out as plainly as they can be."""

import itertools
import math

import numpy as np
import pytest

from banditree.policies import classic, ece, latent, mucb, uncertain
from banditree.policies.alarm import EvidenceState, init_evidence, make_evidence, update_evidence
from banditree.policies.families import information
from banditree.policies.random import uniform
from banditree.policies.registry import policy_named
from banditree.policies.uncertain_index import choose_index, mmts_index
from banditree.tasks.changes import with_shares
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, linear, rand
from banditree.tasks.separation import Sense, least_separation, separations

NO_CONTEXT = np.zeros(0)


def played(policy, collection, n, *, seed=0, horizon=1000, options=None, task=0):
    """Play n rounds with random rewards of one task; yields (params, state, history) before each choice."""
    rng = np.random.default_rng(seed)
    params = policy.make(collection, horizon, options or {})
    state, history = policy.init(params), []
    available = np.ones(collection.n_arms, bool)
    for t in range(1, n + 1):
        context = NO_CONTEXT if collection.contexts is None else np.append(1.0, rng.normal(size=2))
        arm = policy.choose(params, state, context, available, (seed, 0, t))
        yield params, state, history, context, arm, t
        mean = collection.means[task, arm] if collection.contexts is None else context @ collection.theta[task, arm]
        family = collection.rewards
        reward = rng.normal(mean, family.sigma) if family.sigma else float(rng.random() < mean)
        policy.update(params, state, context, arm, reward)
        history.append((context, arm, reward))


GAUSSIAN = Collection.gaussian([[0.0, 1.0, 0.4], [1.0, 0.0, 0.5], [0.2, 0.3, 2.0]], sigma=0.5)
CERTAIN = Collection.bernoulli([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.5, 0.5, 0.6]])


SHARES = [0.05, 0.4, 0.25, 0.1, 0.15, 0.05]


@pytest.mark.parametrize(
    "collection", [rand(6, 5, 0.3), with_shares(rand(6, 5, 0.3), SHARES), GAUSSIAN, CERTAIN, linear(4, 5, 3, 0.2)]
)
def test_mts_samples_from_the_posterior(collection):
    for params, state, history, context, arm, t in played(latent.mts, collection, 120):
        logs = np.log(collection.weights)
        for x, k, reward in history:
            mu = collection.means[:, k] if collection.contexts is None else collection.theta[:, k] @ x
            logs += collection.rewards.log_density(reward, mu)
        posterior = np.exp(logs - logs.max())
        posterior /= posterior.sum()
        np.testing.assert_allclose(state.weights / state.total[0], posterior, rtol=1e-9, atol=1e-12)
        task = int(np.searchsorted(np.cumsum(posterior), uniform((0, 0, t), 0), side="right"))
        means = collection.means if collection.contexts is None else collection.theta @ context
        assert arm == means[min(task, collection.n_tasks - 1)].argmax()
        assert params.model.means.shape == collection.means.shape


def test_rewards_that_every_task_calls_impossible_keep_the_comparison():
    params = latent.mts.make(CERTAIN, 100, {})
    state = latent.mts.init(params)
    latent.update_posterior(params, state, NO_CONTEXT, 2, 1.0)  # likelihoods .5, .5, .6
    for arm, reward in ((0, 1.0), (0, 0.0)) * 500:  # impossible for tasks 1 and 2 in turn, .25 a pair for task 3
        latent.update_posterior(params, state, NO_CONTEXT, arm, reward)
    assert np.isfinite(state.weights).all()
    assert state.weights[2] / state.total[0] == pytest.approx(1.0)
    two = Collection.bernoulli([[0.0, 0.2], [0.0, 0.6]])
    params = latent.mts.make(two, 100, {})
    state = latent.mts.init(params)
    for arm, reward in ((1, 1.0), (0, 1.0), (0, 1.0), (0, 1.0)):  # the last three: neither task can be
        latent.update_posterior(params, state, NO_CONTEXT, arm, reward)
    np.testing.assert_allclose(state.weights / state.total[0], [0.25, 0.75])


def test_an_outlier_does_not_wipe_out_the_posterior():
    params = latent.mts.make(GAUSSIAN, 100, {})
    state = latent.mts.init(params)
    latent.update_posterior(params, state, NO_CONTEXT, 0, 1e6)
    assert state.weights.argmax() == 1  # the highest mean on that arm
    assert np.isfinite(state.weights).all()


@pytest.mark.parametrize("collection", [rand(6, 5, 0.3), hard(4, 8, 0.4, 0.01), GAUSSIAN, linear(4, 5, 3, 0.2)])
def test_mucb_keeps_what_its_definition_keeps(collection):
    horizon, spread = 1000, 1.0 if collection.rewards.sigma == 0 else 2 * collection.rewards.sigma
    for _params, state, history, context, arm, _t in played(mucb.mucb, collection, 300, horizon=horizon):
        kept = []
        for i in range(collection.n_tasks):
            fits = True
            for k in range(collection.n_arms):
                rows = [(x, reward) for x, pulled, reward in history if pulled == k]
                if rows:
                    mean = (
                        (lambda x, i=i, k=k: collection.means[i, k])
                        if collection.contexts is None
                        else (lambda x, i=i, k=k: x @ collection.theta[i, k])
                    )
                    deviation = abs(np.mean([reward - mean(x) for x, reward in rows]))
                    width = spread * math.sqrt(math.log(collection.n_tasks * horizon**2) / (2 * len(rows)))
                    fits = fits and deviation <= width
            if fits:
                kept.append(i)
        assert np.flatnonzero(state.n_out == 0).tolist() == kept
        means = collection.means if collection.contexts is None else collection.theta @ context
        if kept:
            top = max(means[i].max() for i in kept)
            first = [i for i in kept if means[i].max() == top]
            assert arm in [means[i].argmax() for i in first]
            if collection.contexts is None and len(kept) < collection.n_tasks:
                assert state.leader[0] == (first[0] if len(first) == 1 else -1)


def test_mucb_of_beliefs_keeps_what_its_definition_keeps():
    collection, horizon = rand(6, 5, 0.3), 1000
    shortfall, rounds = np.zeros(6), np.zeros(6)
    kept = set(range(6))
    for _params, state, history, _context, arm, _t in played(mucb.mucb_belief, collection, 300, horizon=horizon):
        if history:
            _x, pulled, reward = history[-1]
            shortfall[believed] += collection.means[believed, pulled] - reward  # noqa: F821
            rounds[believed] += 1  # noqa: F821
            kept = {i for i in range(6) if shortfall[i] <= 0.5 * math.sqrt(6 * rounds[i] * math.log(horizon))}
        assert set(np.flatnonzero(state.n_out == 0).tolist()) == kept
        believed = max(kept or range(6), key=lambda i: collection.means[i].max())
        assert arm == collection.means[believed].argmax()


def test_ties_of_mucb_go_to_every_task_in_turn():
    """In `hard` all tasks promise the same: each of the M best arms is tried first in about one case in M."""
    collection = hard(4, 8, 0.4, 0.01)
    params = mucb.mucb.make(collection, 1000, {})
    state, available = mucb.mucb.init(params), np.ones(8, bool)
    firsts = [mucb.mucb.choose(params, state, NO_CONTEXT, available, (0, case, 1)) for case in range(400)]
    counts = np.bincount(firsts, minlength=8)
    assert counts[4:].sum() == 0
    assert counts[:4].min() > 60  # 100 expected, 4.6 standard deviations below: one false alarm in 100,000


def least_ratio(gaps, information, arms):
    """The least gap^2 / information over pairs of arms and a fine grid of shares."""
    shares, best = np.linspace(0, 1, 401), math.inf
    for a, b in itertools.product(arms, arms):
        gap, told = shares * gaps[a] + (1 - shares) * gaps[b], shares * information[a] + (1 - shares) * information[b]
        best = min(best, (gap[told > 0] ** 2 / told[told > 0]).min(initial=math.inf))
    return best


def log_marginal(collection, counts, history):
    """log P(history) under each task (M,): Dirichlet-multinomial, or normal with all rewards of an arm correlated."""
    logs, rewards = np.zeros(collection.n_tasks), collection.rewards
    for i in range(collection.n_tasks):
        for k in range(collection.n_arms):
            got = np.array([reward for _x, arm, reward in history if arm == k])
            if not rewards.support:
                covariance = rewards.sigma**2 * (np.eye(len(got)) + 1 / counts[i, k, 0])
                residual = got - collection.means[i, k]
                _sign, log_det = np.linalg.slogdet(covariance)
                logs[i] += -0.5 * residual @ np.linalg.solve(covariance, residual) - 0.5 * log_det
                continue
            a = counts[i, k]
            n = np.array([(got == value).sum() for value in rewards.support])
            logs[i] += math.lgamma(a.sum()) - math.lgamma(a.sum() + n.sum())
            logs[i] += sum(math.lgamma(x + y) - math.lgamma(x) for x, y in zip(a, n, strict=True))
    return logs


VARIED = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], spread=[[0.1, 0.2], [0.0, 0.1]], shares=[0.8, 0.2])


@pytest.mark.parametrize("collection", [rand(4, 3, 0.3), GAUSSIAN, CERTAIN, VARIED])
def test_mmts_knows_the_posterior_of_tasks_with_uncertain_rates(collection):
    counts = uncertain.prior_counts(collection)
    for _params, state, history, _context, _arm, _t in played(uncertain.mmts, collection, 60):
        logs = np.log(collection.weights) + log_marginal(collection, counts, history)
        posterior = np.exp(logs - logs.max())
        np.testing.assert_allclose(state.weights / state.total[0], posterior / posterior.sum(), rtol=1e-8, atol=1e-12)


def test_mmts_draws_rates_from_their_posterior():
    """The mean and variance of 4,000 draws, each within 5 standard errors: a false alarm in a million."""
    *_, (params, state, history, _x, _arm, _t) = played(uncertain.mmts, VARIED, 40)
    counts = uncertain.prior_counts(VARIED)
    for task, arm in itertools.product(range(2), range(2)):
        failures, successes = counts[task, arm] + [
            sum(k == arm and reward == value for _x, k, reward in history) for value in (0, 1)
        ]
        draws = np.array([uncertain.drawn_mean(params, state, task, arm, (1, 0, t)) for t in range(4000)])
        total = failures + successes
        mean, variance = successes / total, successes * failures / total**2 / (total + 1)
        assert abs(draws.mean() - mean) < 5 * math.sqrt(variance / 4000)
        assert abs(draws.var() / variance - 1) < 0.2


def test_mmts_index_gives_the_arm_that_loses_least_for_what_it_tells():
    """By the formulas, over a posterior of (prior and seen) counts; every arm is given in some round."""
    counts, given = uncertain.prior_counts(VARIED), set()
    cases = itertools.chain(*(played(mmts_index, VARIED, 30, task=task) for task in range(2)))
    for params, state, history, context, arm, t in cases:
        posterior, left = state.weights / state.total[0], params.horizon - len(history)
        posterior = np.where(posterior > 1e-7, posterior, 0.0)
        mean, upper = np.zeros((2, 2)), np.zeros((2, 2))
        for task, k in itertools.product(range(2), range(2)):
            seen = [sum(a == k and reward == value for _x, a, reward in history) for value in (0, 1)]
            failures, successes = counts[task, k] + seen
            n = failures + successes
            more = max(0.5 * math.log(left / n), 0.0) * successes * failures / n**2 / (n + 1)
            mean[task, k], upper[task, k] = successes / n, successes / n + math.sqrt(more)
        lost = posterior @ (upper.max(axis=1, keepdims=True) - upper)
        told = posterior @ (mean - posterior @ mean / posterior.sum()) ** 2
        chosen = choose_index(params, state, context, np.ones(2, bool), (3, 1, t))
        assert chosen == int(np.argmin(lost / (told + 2.5e-10)))
        given.add(arm)
    assert given == {0, 1}


def test_a_gamma_draw_of_a_small_shape_has_its_mean_and_variance():
    draws = np.array([uncertain.any_gamma_draw(0.3, (0, 0, t), 1) for t in range(20000)])
    assert abs(draws.mean() - 0.3) < 5 * math.sqrt(0.3 / 20000)
    assert abs(draws.var() - 0.3) < 0.05


def test_the_mixture_of_mids_is_the_best_of_all():
    rng, mixed = np.random.default_rng(0), 0
    for case in range(60):
        gaps, information = rng.random(6) ** 3 + 0.01, rng.random(6) ** 3 * (rng.random(6) < 0.8)
        available = rng.random(6) < 0.8
        available[case % 6] = True
        first, second, share = latent.best_mixture(gaps, information, available)
        assert available[first]
        assert available[second]
        gap = share * gaps[first] + (1 - share) * gaps[second]
        told = share * information[first] + (1 - share) * information[second]
        best = least_ratio(gaps, information, np.flatnonzero(available))
        assert (gap**2 / told if told > 0 else math.inf) <= best * (1 + 1e-12)
        mixed += 0 < share < 1
    assert mixed > 5


def test_the_information_of_mids_is_the_mutual_information():
    collection = rand(6, 5, 0.3)
    for params, state, _history, context, _arm, _t in played(latent.mids, collection, 30):
        arms = np.zeros((3, 5))
        latent.weigh_arms(params, state, context, arms)
        p = state.weights / state.total[0]
        for k in range(5):
            mixed, told = float(p @ collection.means[:, k]), 0.0
            for i in range(6):
                for chance, average in ((collection.means[i, k], mixed), (1 - collection.means[i, k], 1 - mixed)):
                    told += p[i] * chance * math.log(chance / average)
            summaries = arms[latent.FIRST_SUMMARY :]
            assert information(params.model, summaries, k, arms[latent.NOISE, k]) == pytest.approx(told, abs=1e-12)
            gap = sum(p[i] * (collection.means[i].max() - collection.means[i, k]) for i in range(6))
            assert arms[latent.GAP, k] == pytest.approx(gap)


def test_ucb1_plays_the_highest_index():
    collection = rand(4, 5, 0.5)
    for _params, _state, history, _context, arm, t in played(classic.ucb1, collection, 200):
        rewards = [[reward for _x, pulled, reward in history if pulled == k] for k in range(5)]
        if min(map(len, rewards)) == 0:
            assert len(rewards[arm]) == 0
        else:
            index = [np.mean(got) + math.sqrt(2 * math.log(t) / len(got)) for got in rewards]
            assert index[arm] == pytest.approx(max(index))


def test_linucb_plays_the_highest_index():
    collection = linear(4, 5, 3, 0.3)
    for _params, _state, history, context, arm, _t in played(classic.linucb, collection, 150, options={"alpha": 0.5}):
        index = []
        for k in range(5):
            X = np.array([x for x, pulled, _ in history if pulled == k]).reshape(-1, 3)
            r = np.array([reward for _, pulled, reward in history if pulled == k])
            A = np.eye(3) + X.T @ X
            index.append(context @ np.linalg.solve(A, X.T @ r) + 0.5 * math.sqrt(context @ np.linalg.solve(A, context)))
        assert index[arm] == pytest.approx(max(index))


def even_tests(apart, survivors):
    """The arms that tie for the most even test of the survivors, straight from Algorithm 1 and NOTES 5."""
    scores = {}
    for k in range(apart.shape[0]):
        sizes = [sum(apart[k, i, j] for j in survivors) for i in survivors]
        if sum(sizes) > 0:
            scores[k] = (min(sizes), sum(sizes))
    return [k for k, score in scores.items() if score == max(scores.values())]


def algorithm_2(apart, arm, survivors, logs, slack):
    best = max(survivors, key=lambda i: logs[i])
    likely = [i for i in survivors if logs[i] >= logs[best] - slack]
    left = [i for i in likely if not any(apart[arm, i, j] for j in likely)]
    return left or [best]


@pytest.mark.parametrize("collection", [rand(8, 6, 0.3), hard(5, 9, 0.4, 0.01), GAUSSIAN])
@pytest.mark.parametrize("task", [0, 1, 2])
def test_ece_is_algorithms_1_and_2(collection, task):
    lam = least_separation(collection, Sense.HELLINGER).value
    apart = separations(collection, Sense.HELLINGER) >= lam - 1e-9
    M, horizon = collection.n_tasks, 200
    slack = 3 * math.log(M * horizon)
    pulls = math.ceil((slack + 2 * math.log(M * (M - 1) * horizon)) / (2 * lam**2))
    survivors, test, logs = list(range(M)), [], np.zeros(M)
    runs = played(ece.ece, collection, pulls * M, seed=task, horizon=horizon, task=task)
    for _params, state, history, _context, arm, _t in runs:
        if history and len(survivors) > 1:
            _x, pulled, reward = history[-1]
            test.append(pulled)
            logs += collection.rewards.log_density(reward, collection.means[:, pulled])
            if len(test) == pulls:
                assert len(set(test)) == 1
                survivors = algorithm_2(apart, test[0], survivors, logs, slack)
                test, logs = [], np.zeros(M)
        assert np.flatnonzero(state.survivors).tolist() == survivors
        if len(survivors) == 1:
            assert arm == collection.means[survivors[0]].argmax()
            return
        assert arm in (test or even_tests(apart, survivors))
    raise AssertionError("ECE did not end within M - 1 tests")


def test_the_steps_of_ece_on_random_tables():
    """Algorithm 2 with what NOTES 5 adds, and the most even tests, for likelihoods that no data need give."""
    rng, collection = np.random.default_rng(0), rand(7, 5, 0.3)
    dropped, tied = 0, 0
    for _ in range(300):
        upper = np.triu(rng.random((5, 7, 7)) < 0.4, 1)
        apart = (upper | upper.transpose(0, 2, 1)).astype(np.uint8)
        params = ece.make_ece(collection, 100, {})._replace(apart=apart, slack=2.0)
        state = ece.empty_state(params)
        state.survivors[:] = rng.random(7) < 0.8
        state.fit[:] = rng.random(7) * 4
        survivors = np.flatnonzero(state.survivors).tolist()
        if len(survivors) < 2 or not apart[:, survivors][:, :, survivors].any():
            continue
        ece.lay_out_even(params, state)
        expected = even_tests(apart, survivors)
        assert np.flatnonzero(state.weights).tolist() == expected
        tied += len(expected) > 1
        ece.keep_likely(params, state, 0)
        expected = algorithm_2(apart, 0, survivors, state.fit, 2.0)
        assert np.flatnonzero(state.survivors).tolist() == expected
        dropped += len(expected) == 1
    assert dropped > 20
    assert tied > 20


def test_ece_does_not_stall_where_each_arm_separates_one_pair():
    """The three tasks of NOTES 5: no arm separates the middle task, so the printed rule scores every arm 0."""
    triangle = Collection.bernoulli([[0.1, 0.5, 0.9], [0.9, 0.1, 0.5], [0.5, 0.9, 0.1]])
    lam = least_separation(triangle, Sense.HELLINGER).value
    assert ((separations(triangle, Sense.HELLINGER) >= lam - 1e-9).sum(axis=2).min(axis=1) == 0).all()
    for name in ("ece", "random-ece"):
        policy = policy_named(name)
        params = policy.make(triangle, 100, {})
        state, rng = policy.init(params), np.random.default_rng(0)
        for t in range(1, 3 * params.pulls):
            arm = policy.choose(params, state, NO_CONTEXT, np.ones(3, bool), (0, 0, t))
            policy.update(params, state, NO_CONTEXT, arm, float(rng.random() < triangle.means[1, arm]))
            if policy.replan is not None:
                policy.replan(params, state)
        assert policy.commitment(params, state) == 1


def test_the_evidence_of_the_alarm_is_its_formula():
    collection = rand(4, 3, 0.4)
    params = make_evidence(collection, 0.05)
    state, rng, history = init_evidence(params), np.random.default_rng(0), []
    assert isinstance(state, EvidenceState)
    for _ in range(200):
        arm, reward = int(rng.integers(3)), float(rng.random() < 0.9)
        update_evidence(params, state, NO_CONTEXT, arm, reward)
        history.append((arm, reward))
        for i in range(4):
            expected = 0.0
            for k in range(3):
                S, n = sum(r - collection.means[i, k] for a, r in history if a == k), sum(a == k for a, _ in history)
                expected += S**2 / (2 * 0.25 * (1 + n)) - 0.5 * math.log(1 + n)
            assert state.evidence[i] == pytest.approx(expected, abs=1e-9)
    assert state.alarmed[0] == 1


def test_lints_starts_from_a_prior_of_the_size_of_theta_whatever_the_noise():
    quiet = linear(3, 4, 3, separation=0.2, sigma=0.02, seed=1)
    params = classic.lints.make(quiet, 1000, {})
    assert params.width**2 * params.start == pytest.approx(np.mean(quiet.theta**2), rel=1e-9)
