"""What is printed is the rule: a reader of the text decides as the session does."""

from dataclasses import replace

import numpy as np
import pytest
from boxes import arrays_of, renamed
from example_plans import binned_plan, binned_protocol, protocol, score_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from printed_plan import agrees, reader_of
from random_plans import cases, hostile_names, protocols, vocabularies

from banditree.plans.counts import Counting
from banditree.plans.plan import Form
from banditree.plans.wording import outcome_names
from banditree.plans.words import in_language
from banditree.policies.starting import start_session
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, linear, rand
from banditree.tasks.rewards import Family
from banditree.trees.tree import build_tree

LANGUAGES = ("en", "de", "fr", "es")
PLANS = {
    "bernoulli": lambda: build_tree(rand(10, 20, 0.4), 2000, 0.4),
    "hard": lambda: build_tree(hard(5, 10, 0.4, 0.01), 2000),
    "gaussian": lambda: build_tree(Collection.gaussian(np.random.default_rng(0).normal(size=(6, 5)), 1.0), 2000),
    "bounded": lambda: build_tree(Collection.bounded(7 * np.random.default_rng(1).random((6, 5)), 0, 7), 2000),
    "linear": lambda: build_tree(linear(5, 6, 3, 0.2), 2000, 0.2),
    "score": score_plan,
    "binned": binned_plan,
    "protocol": protocol,
    "protocol without a rule": lambda: protocol(rule=None),
    "protocol with a cap": lambda: protocol(cap=2),
    "binned protocol": binned_protocol,
}


@pytest.mark.filterwarnings("ignore::banditree.errors.PlanWarning")
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(("seed", "language"), [*((seed, "en") for seed in range(5)), (5, "de"), (6, "fr"), (7, "es")])
def test_the_printed_plan_decides_as_the_session_does(name, seed, language):
    plan = in_language(PLANS[name](), language)
    rng = np.random.default_rng(seed)
    session, reader = start_session(plan), reader_of(plan)
    names = [feature.name for feature in plan.features]
    for _ in range(plan.horizon):
        x = np.concatenate([[1.0], rng.normal(size=len(names) - 1)]) if names else None
        step = session.ask(context=x)
        assert step.name == reader.arm(dict(zip(names, x, strict=True)) if names else None)
        box = plan.place_of(session.explain().box)
        assert box + 1 == reader.box or (plan.form is Form.LINES and arrays_of(plan).kind[box] == Counting.EXPLOIT)
        if plan.rewards.family is Family.BERNOULLI:
            reward = float(rng.random() < 0.5)
        else:
            low, high = max(plan.rewards.low, -1.0), min(plan.rewards.high, 1.5)
            reward = float(rng.uniform(low, high))
        session.tell(reward, step.round)
        reader.tell(reward)


def follow_both(plan, data, rounds):
    """The reader of the text and the session, side by side."""
    session, reader = start_session(plan), reader_of(plan)
    outcomes = [value for value, _ in outcome_names(plan)] or [-1.0, -0.5, 0.0, 0.25, 0.3, 2.0]
    for reward in data.draw(st.lists(st.sampled_from(outcomes), min_size=rounds, max_size=rounds)):
        step, box = session.ask(), plan.place_of(session.explain().box)
        assert agrees(step, reader.arm())
        if step.outcome is not None:
            return
        assert box + 1 == reader.box or (plan.form is Form.LINES and arrays_of(plan).kind[box] == Counting.EXPLOIT)
        session.tell(reward, step.round)
        reader.tell(reward)


@settings(max_examples=150, deadline=None)
@given(cases(), st.data())
def test_names_cannot_be_taken_for_the_rule(case, data):
    plan, _ = case
    names, words = data.draw(hostile_names(len(plan.arms))), data.draw(vocabularies())
    said = replace(renamed(plan, names), vocabulary=words, horizon=30)
    follow_both(in_language(said, data.draw(st.sampled_from(LANGUAGES))), data, 30)


def check_protocol(plan, data):
    names, words = data.draw(hostile_names(len(plan.arms))), data.draw(vocabularies())
    said = replace(renamed(plan, names), vocabulary=words)
    follow_both(in_language(said, data.draw(st.sampled_from(LANGUAGES))), data, plan.horizon)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(protocols(), st.data())
def test_a_protocol_is_followed_from_its_text_alone(plan, data):
    check_protocol(plan, data)


@pytest.mark.soak
@settings(max_examples=2000, deadline=None)
@given(protocols(), st.data())
def test_thousands_of_protocols_are_followed_from_their_text_alone(plan, data):
    check_protocol(plan, data)
