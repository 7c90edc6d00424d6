"""Noise per task and arm: the formulas against integrals, and every room that asks for it."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from banditree import Collection, build_plan
from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.files.collections import load_collection, save_collection
from banditree.files.plans import load_plan, save_plan
from banditree.policies.families import log_likelihood
from banditree.policies.model import model_of
from banditree.simulation.engine import simulate
from banditree.tasks.changes import with_parameters
from banditree.tasks.rewards import Gaussian, UnevenGaussian
from banditree.tasks.separation import Sense, separations
from banditree.training.merging import merge

MEANS = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.6], [0.2, 0.4, 0.9]]
NOISE = [[1.0, 2.0, 0.5], [0.7, 1.0, 2.0], [1.0, 0.3, 1.5]]
UNEVEN = Collection.gaussian(MEANS, NOISE)
CELLS = [((0.0, 1.0), (0.0, 2.0)), ((0.3, 0.5), (1.0, 0.7)), ((1.0, 2.0), (1.0, 2.0)), ((2.0, 1.0), (0.0, 1.0))]


def density(cell, reward):
    return norm.pdf(reward, *cell)


@pytest.mark.parametrize(("p", "q"), CELLS)
def test_distances_are_integrals(p, q):
    rewards, ends = UnevenGaussian(sigma=2.0), (-25, 25)
    first, second = np.array(p), np.array(q)
    wanted = quad(lambda r: norm.pdf(r, *p) * (norm.logpdf(r, *p) - norm.logpdf(r, *q)), *ends)[0]
    assert rewards.kl(first, second) == pytest.approx(wanted, abs=1e-7)
    overlap = quad(lambda r: np.sqrt(density(p, r) * density(q, r)), *ends, limit=200)[0]
    assert rewards.hellinger_squared(first, second) == pytest.approx(1 - overlap, abs=1e-7)
    assert rewards.log_density(0.4, first) == pytest.approx(norm.logpdf(0.4, *p))


def test_equal_noise_is_the_plain_family_to_the_last_bit():
    plain = Collection.gaussian(MEANS, 0.8)
    same = Collection.gaussian(MEANS, np.full((3, 3), 0.8))
    for sense in Sense:
        assert (separations(plain, sense) == separations(same, sense)).all()
    for policy in ("mts", "mids", "ece"):
        one, other = (simulate(c, [policy], horizon=200, runs=5) for c in (plain, same))
        assert (one.regret == other.regret).all()


def test_likelihoods_in_policies_are_those_of_the_family_up_to_a_constant():
    model, none = model_of(UNEVEN), np.zeros(0)
    for arm in range(3):
        ours = np.array([log_likelihood(model, none, task, arm, 0.7) for task in range(3)])
        wanted = UNEVEN.rewards.log_density(0.7, UNEVEN.parameters[:, arm])
        assert ours - ours[0] == pytest.approx(wanted - wanted[0])


def test_rewards_have_the_noise_of_their_task_and_arm():
    rng = np.random.default_rng(0)
    drawn = UNEVEN.rewards.sample(np.broadcast_to(UNEVEN.parameters, (20_000, 3, 3, 2)), rng)
    assert drawn.std(axis=0) == pytest.approx(np.array(NOISE), rel=0.03)  # six standard errors
    assert drawn.mean(axis=0) == pytest.approx(np.array(MEANS), abs=0.1)


@pytest.mark.slow
def test_certificates_agree_with_the_compiled_simulator():
    """Ten comparisons at five standard errors: a false alarm once in 100,000 at most."""
    plan = build_plan(UNEVEN, 300, steps=400)
    found = certify(plan, UNEVEN)
    final = simulate(UNEVEN, [plan], horizon=300, runs=20_000).final("protocol")
    error = final.std(axis=1) / np.sqrt(final.shape[1])
    assert (np.abs(final.mean(axis=1) - found.regret) < 5 * error + 1e-9).all()
    assert not np.allclose(found.regret, certify(plan, Collection.gaussian(MEANS, 2.0)).regret, rtol=0.01)


def test_who_knows_the_noise_loses_less():
    """A task whose deviation is a sixth of another's is seen at once; 200 runs differ by a factor of ten."""
    flat = Collection.gaussian(MEANS, 2.0)
    uneven, even = (simulate(c, ["mts"], horizon=500, runs=200).final("mts").mean() for c in (UNEVEN, flat))
    assert uneven < even / 3


def test_files_and_changes_keep_it(tmp_path):
    save_collection(UNEVEN, tmp_path / "uneven.json")
    again = load_collection(tmp_path / "uneven.json")
    assert (again.noise == UNEVEN.noise).all()
    assert again.rewards == UNEVEN.rewards == UnevenGaussian(sigma=2.0)
    plan = build_plan(UNEVEN, 300, steps=200)
    assert plan.rewards == Gaussian(sigma=2.0)
    save_plan(plan, tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json").rewards == plan.rewards
    moved = with_parameters(UNEVEN, UNEVEN.rewards.shifted(UNEVEN.parameters, np.full((3, 3), 0.1)))
    three = Collection.gaussian([[0.0, 0.0], [0.1, 0.0], [1.0, 1.0]], [[1.0, 2.0], [3.0, 1.0], [1.0, 1.0]])
    assert merge(three, 0.5).collection.noise.tolist() == [[3.0, 2.0], [1.0, 1.0]]
    assert moved.means == pytest.approx(UNEVEN.means + 0.1)
    assert (moved.noise == UNEVEN.noise).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Collection.gaussian(MEANS, [[1.0, 1.0]]), "noise must be of shape"),
        (lambda: Collection.gaussian(MEANS, np.zeros((3, 3))), "above 0"),
        (lambda: Collection.gaussian(MEANS, NOISE, spread=np.full((3, 3), 0.1)), "noise must be omitted with a spread"),
    ],
)
def test_other_noise_is_refused_by_name(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
