"""What every policy promises, whatever its name: one suite over all of them."""

import json

import numpy as np
import pytest
from policy_cases import CASES, COLLECTIONS, HORIZON, context_of, go_on, reward_of, start

from banditree.errors import InvalidInput
from banditree.policies.base import Outcome
from banditree.policies.registry import policy_named
from banditree.policies.starting import resume_session
from banditree.simulation.devices import gpu_problem, policy_problem
from banditree.simulation.engine import simulate
from banditree.simulation.playing import world_of

every_case = pytest.mark.parametrize(("name", "kind"), CASES)


@pytest.mark.skipif(bool(gpu_problem()), reason="needs a GPU; tests/simulation/test_gpu.py simulates one")
@pytest.mark.slow
def test_a_gpu_plays_the_runs_of_the_processor():
    settings = {"horizon": HORIZON, "runs": 200, "seed": 3}
    for name, kind in CASES:
        truth = COLLECTIONS[kind]()
        if policy_problem(policy_named(name)):
            with pytest.raises(InvalidInput, match="cannot be simulated on a GPU"):
                simulate(truth, [name], device="gpu", **settings)
            continue
        here, there = simulate(truth, [name], **settings), simulate(truth, [name], device="gpu", **settings)
        other = (here.arm != there.arm).any(axis=-1) | (np.abs(here.regret - there.regret).max(axis=-1) > 1e-6)
        assert other.mean() <= 1e-3, (name, kind)  # 1e-4 is promised; these are a few hundred runs


@every_case
def test_a_snapshot_in_mid_run_goes_on_identically(name, kind):
    truth, session = start(name, kind)
    go_on(session, truth, 45)
    snapshot = json.loads(json.dumps(session.snapshot()))
    again = resume_session(truth, snapshot, policy_named(name))
    assert again.snapshot() == session.snapshot()
    assert go_on(again, truth, 100) == go_on(session, truth, 100)
    assert again.snapshot() == session.snapshot()


@every_case
def test_asking_changes_nothing_and_repeats_itself(name, kind):
    truth, session = start(name, kind)
    go_on(session, truth, 30)
    before = json.dumps(session.snapshot()["state"])
    context = context_of(truth, world_of(truth), 3, 1, 0, 31)
    first = session.ask(context=context if context.size else None)
    assert json.dumps(session.snapshot()["state"]) == before
    assert session.ask(context=context if context.size else None) == first


@every_case
def test_bad_outcomes_are_refused_and_change_nothing(name, kind):
    truth, session = start(name, kind)
    go_on(session, truth, 20)
    context = context_of(truth, world_of(truth), 3, 1, 0, 21)
    session.ask(context=context if context.size else None)
    before = json.dumps(session.snapshot())
    for bad in (float("nan"), float("inf"), "much", None):
        with pytest.raises(InvalidInput, match="reward"):
            session.tell(bad)
    with pytest.raises(InvalidInput, match="round"):
        session.tell(1.0, 99)
    assert json.dumps(session.snapshot()) == before


@every_case
def test_masks_are_respected(name, kind):
    truth, session = start(name, kind)
    world, rng = world_of(truth), np.random.default_rng(0)
    for t in range(1, 80):
        available = rng.permutation(truth.n_arms)[: rng.integers(1, truth.n_arms + 1)].tolist()
        context = context_of(truth, world, 3, 1, 0, t)
        step = session.ask(context=context if context.size else None, available=available)
        if step.outcome is None:
            assert step.arm in available
            session.tell(reward_of(truth, context, 3, 1, 0, step.arm, t), step.round)
        else:
            assert step.outcome is Outcome.ARM_NOT_AVAILABLE
    assert session.ask(context=context if context.size else None, available=[]).outcome is Outcome.NO_ARM_AVAILABLE


@every_case
def test_rounds_opened_together_give_the_same_run(name, kind):
    truth, one_by_one = start(name, kind)
    arms = go_on(one_by_one, truth, 90)
    _, together = start(name, kind)
    world, pulls = world_of(truth), [0] * truth.n_arms
    while len(together.rounds) < 90:
        opened = len(together.rounds)
        context = context_of(truth, world, 3, 1, 0, opened + 1)
        # A context is of one round, so such rounds cannot be opened together.
        steps = [together.ask(context=context)] if context.size else together.ask(7)
        for step in steps:
            context = context_of(truth, world, 3, 1, 0, step.round)
            together.tell(reward_of(truth, context, 3, 1, 0, step.arm, pulls[step.arm]), step.round)
            pulls[step.arm] += 1
    assert [entry.arm for entry in together.rounds[:90]] == arms


@pytest.mark.parametrize("name", sorted({name for name, kind in CASES if kind == "linear"}))
def test_a_missing_context_is_asked_for(name):
    _truth, session = start(name, "linear")
    if session.policy.name in ("dt-ece", "ucb1", "gaussian-ts", "uniform"):
        assert session.ask().outcome is None  # they do not look at it (yet)
    else:
        assert session.ask().outcome is Outcome.CONTEXT_NEEDED


@every_case
def test_a_case_can_be_described_at_any_time(name, kind):
    truth, session = start(name, kind)
    for _ in range(6):
        assert f"of {HORIZON:,} asked." in session.describe()
        go_on(session, truth, 15)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_unknown_options_are_named(name):
    with pytest.raises(InvalidInput, match="options must be .* Got \\['colour'\\]"):
        policy_named(name).make(COLLECTIONS["rand"](), HORIZON, {"colour": 1})
