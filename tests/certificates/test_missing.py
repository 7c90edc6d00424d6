"""Cases that must not get an arm: what is given instead, and what that loses."""

from dataclasses import replace

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.certificates.missing import missing_losses, without_arms
from banditree.errors import InvalidInput
from banditree.files.plans import load_plan, plan_json, save_plan
from banditree.plans.counts import Score, Watch
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import SafetyRule, make_plan
from banditree.plans.points import ByOutcome
from banditree.policies.base import Outcome
from banditree.policies.session import resume_session, start_session
from banditree.protocols.substitutes import with_substitutes
from banditree.tasks.collection import Collection

THREE = Collection.bernoulli([[0.8, 0.3, 0.5], [0.2, 0.7, 0.4]], arms=["A", "B", "C"])
EVEN = ByOutcome((-1, 1))
RULE = SafetyRule((-3, 1), 6)


def plan(substitute="C"):
    """Try A; where it fails B for as long as it helps."""
    lines = [
        Line(
            Give("A", substitute=substitute), Score(EVEN, 2, 3), below=2, above=Line(Give("A", substitute=substitute))
        ),
        Line(Give("B", substitute="A"), Watch(EVEN, 4), below=1),
    ]
    return make_plan(lines, THREE, 60, rule=RULE)


def test_the_words_say_what_is_given_instead():
    text = str(plan())
    assert "1. Give A, or C where A is not possible; success +1, failure -1." in text
    assert "At +3: stay with A, or C where A is not possible." in text
    assert "2. Give B, or A where B is not possible for as long as the score" in text


def test_a_case_that_must_not_get_an_arm_gets_its_substitute_with_the_same_points():
    case, other = start_session(plan(), without=["A"]), start_session(without_arms(plan(), ["A"]))
    rng = np.random.default_rng(3)
    for _ in range(40):
        step, same = case.ask(), other.ask()
        assert step.name == same.name != "A"
        reward = int(rng.random() < 0.5)
        case.tell(reward, step.round)
        other.tell(reward, same.round)
        assert case.explain().box == other.explain().box
    assert resume_session(plan(), case.snapshot()).ask().name == case.ask().name


def test_only_the_rounds_in_which_it_is_missing_are_replaced():
    case = start_session(plan())
    assert case.ask(available=["B", "C"]).name == "C"
    case.tell(1)
    assert case.ask().name == "A"
    assert case.off_plan_rounds == []


def test_without_a_substitute_the_step_says_so():
    assert start_session(plan(None), without=["A"]).ask().outcome is Outcome.ARM_NOT_AVAILABLE
    assert start_session(plan(), without=["A", "C"]).ask().outcome is Outcome.ARM_NOT_AVAILABLE
    with pytest.raises(InvalidInput, match="Line 1 gives 'A' and names nothing"):
        missing_losses(plan(None), THREE)
    with pytest.raises(InvalidInput, match="names the arm 'Z'"):
        plan("Z")
    with pytest.raises(InvalidInput, match="in place of itself"):
        plan("A")


def plain(line):
    """A line without its substitutes."""
    if not isinstance(line, Line):
        return line
    return replace(line, gives=Give(line.gives.arm), below=plain(line.below), above=plain(line.above))


def test_losses_are_those_of_the_collection_without_the_arm():
    """The plan of the other arms, certified where only these exist."""
    found = missing_losses(plan(), THREE)
    assert set(found) == {("A",), ("B",)}
    for (missing,), loss in found.items():
        left = [k for k, arm in enumerate(THREE.arms) if arm != missing]
        names = [THREE.arms[k] for k in left]
        fewer = Collection.bernoulli(THREE.means[:, left], arms=names)
        lines = [plain(line) for line in without_arms(plan(), [missing]).lines]
        exact = certify(make_plan(lines, fewer, 60, rule=RULE), fewer, must_rest=False).regret
        np.testing.assert_allclose(loss, exact, rtol=1e-12, atol=1e-12)


def test_substitutes_are_kept_in_files(tmp_path):
    save_plan(plan(), tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json").lines == plan().lines
    assert '"substitute"' not in plan_json(without_arms(plan(), ["A"])).split('"lines"')[1].split('"B"')[0]


def test_the_search_names_the_substitutes_that_lose_least():
    found = with_substitutes(without_arms(plan(), []), THREE)
    losses = missing_losses(found, THREE)
    for substitute in ("B", "C"):
        other = missing_losses(plan(substitute), THREE)
        assert losses[("A",)].max() <= other[("A",)].max() + 1e-9
