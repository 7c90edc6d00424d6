"""What does not know of states refuses collections and plans with them, in a sentence, and computes nothing."""

import inspect
from dataclasses import fields

import numpy as np
import pytest
from state_plans import hand_made

import banditree
from banditree import Collection, InvalidInput, certify
from banditree.certificates.harm import harm_rates
from banditree.certificates.missing import missing_losses
from banditree.certificates.waiting import WaitingCosts
from banditree.figures.app import app_html
from banditree.figures.reach import reach_info
from banditree.files.machines import machine_json
from banditree.monitoring.promised import promised_for
from banditree.plans.plan import Plan
from banditree.policies.starting import start_session
from banditree.protocols.front import pareto_front
from banditree.reports.harm import harm_report
from banditree.reports.report import write_report
from banditree.tasks.changes import trust_estimates, with_shares, without_arms
from banditree.tasks.states import Refused, StateCollection

KNOWN, PLAN = hand_made(20)
PLAIN = Collection.bernoulli(np.full((3, 3), 0.5) + np.eye(3) / 4, arms=KNOWN.arms, tasks=KNOWN.tasks)

OF_COLLECTIONS = {
    "build_optimal": lambda: banditree.build_optimal(KNOWN, 20),
    "build_protocol": lambda: banditree.build_protocol(KNOWN, 20),
    "build_tree": lambda: banditree.build_tree(KNOWN, 20),
    "lazy_tree": lambda: banditree.lazy_tree(KNOWN, 20),
    "analyze": lambda: banditree.analyze(KNOWN),
    "least_separation": lambda: banditree.least_separation(KNOWN),
    "pareto_front": lambda: pareto_front(KNOWN, 20),
    "simulate": lambda: banditree.simulate(KNOWN, ["mts"], horizon=20, runs=1),
    "design": lambda: banditree.design(PLAN, KNOWN),
    "with_shares": lambda: with_shares(KNOWN, [0.5, 0.25, 0.25]),
    "trust_estimates": lambda: trust_estimates(KNOWN),
    "without_arms": lambda: without_arms(KNOWN, ["arm 1"]),
}
OF_PLANS = {
    "machine_of": lambda: banditree.machine_of(PLAN),
    "missing_losses": lambda: missing_losses(PLAN, KNOWN, 20),
    "harm_rates": lambda: harm_rates(PLAN, KNOWN),
    "harm_report": lambda: harm_report(PLAN, KNOWN, certify(PLAN, KNOWN)),
    "waiting": lambda: WaitingCosts(PLAN, KNOWN),
    "guarded session": lambda: start_session(PLAN, collection=KNOWN),
    "without an arm": lambda: start_session(PLAN, without=["arm 1"]),
    "reach": lambda: reach_info(PLAN, KNOWN),
    "app": lambda: app_html(PLAN),
    "machine file": lambda: machine_json(PLAN),
    "promised": lambda: promised_for(PLAN, KNOWN, np.arange(5)),
    "simulate with a plan": lambda: banditree.simulate(PLAIN, [PLAN], horizon=20, runs=1),
    "certify without states": lambda: certify(PLAN, PLAIN),
    "certify a plan without states": lambda: certify(banditree.build_plan(PLAIN, 20, steps=20), KNOWN),
}


@pytest.mark.parametrize("what", [*OF_COLLECTIONS, *OF_PLANS])
def test_refused_in_a_sentence(what):
    with pytest.raises(InvalidInput, match=r"(?i)states?\b|page") as problem:
        (OF_COLLECTIONS | OF_PLANS)[what]()
    assert "\n" not in str(problem.value)


def test_reports_refuse():
    with pytest.raises(InvalidInput, match="states"):
        write_report(PLAN, KNOWN, ".html")


def test_whatever_a_collection_has_is_there_with_states_or_refused():
    """A new field of Collection must be decided about here."""
    for name in (field.name for field in fields(Collection)):
        if isinstance(inspect.getattr_static(StateCollection, name, None), Refused):
            with pytest.raises(InvalidInput, match="for collections without states"):
                getattr(KNOWN, name)
        else:
            assert name in {"tasks", "arms", "rewards", "provenance", "shares"}
    for name, value in vars(Collection).items():
        if isinstance(value, property) or type(value).__name__ == "cached_property":
            if name in {"n_tasks", "n_arms", "weights", "varies", "is_estimated"}:
                getattr(KNOWN, name)
                continue
            with pytest.raises(InvalidInput, match="for collections without states"):
                getattr(KNOWN, name)


def test_plans_without_states_have_none():
    assert all(field.name != "states" for field in fields(Plan))
    assert banditree.build_plan(PLAIN, 20, steps=20).states == ()
