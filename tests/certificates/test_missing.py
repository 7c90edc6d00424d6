"""Cases that must not get an arm: the page that they follow, and what that loses."""

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.certificates.missing import missing_losses
from banditree.errors import InvalidInput
from banditree.files.plans import load_plan, plan_json, save_plan
from banditree.plans.counts import Score, Watch
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.pages import given_arms, page, page_for, page_number
from banditree.plans.plan import Page, SafetyRule, make_plan
from banditree.plans.points import ByOutcome
from banditree.policies.base import Outcome
from banditree.policies.starting import resume_session, start_session
from banditree.protocols.build import add_pages, build_plan
from banditree.tasks.changes import without_arms
from banditree.tasks.collection import Collection

THREE = Collection.bernoulli([[0.8, 0.3, 0.5], [0.2, 0.7, 0.4]], arms=["A", "B", "C"])
EVEN = ByOutcome((-1, 1))
RULE = SafetyRule((-3, 1), 6)
ON_TWO = (Line(Give("C"), Score(EVEN, 2, 2), below=Line(Give("B")), above=Line(Give("C"))),)


PAGES = (Page(("A",), ON_TWO, RULE), Page(("B",), (Line(Give("A")),)))


def plan(pages=PAGES):
    """Try A; where it fails B for as long as it helps."""
    lines = [
        Line(Give("A"), Score(EVEN, 2, 3), below=2, above=Line(Give("A"))),
        Line(Give("B"), Watch(EVEN, 4), below=1),
    ]
    return make_plan(lines, THREE, 60, rule=RULE, pages=pages)


def test_the_text_has_every_page_and_says_for_whom_it_is():
    text = str(plan())
    assert "A case that must not get A: page 2; B: page 3." in text
    assert "Page 2, for a case that must not get A:\n\n1. Give C; success +1, failure -1. At +2" in text
    assert text.endswith("Page 3, for a case that must not get B:\n\n1. Give A from now on.")
    assert "For a case that must not get A." in str(page(plan(), 2)).splitlines()[0]
    assert str(page(plan(), 1)) == str(plan(pages=()))


def test_a_case_that_must_not_get_an_arm_follows_its_page():
    case = start_session(plan(), without=["A"])
    alone = start_session(make_plan(ON_TWO, THREE, 60, rule=RULE))
    rng = np.random.default_rng(3)
    for _ in range(40):
        step, same = case.ask(), alone.ask()
        assert step.name == same.name != "A"
        reward = int(rng.random() < 0.5)
        case.tell(reward, step.round)
        alone.tell(reward, same.round)
        assert case.explain().box == alone.explain().box
    assert "on the page without A: " in case.describe()
    resumed = resume_session(plan(), case.snapshot())
    assert resumed.ask().name == case.ask().name
    resumed.correct(1, 1)
    case.correct(1, 1)
    assert resumed.explain() == case.explain()


def test_an_arm_that_no_line_gives_needs_no_page():
    assert start_session(plan(), without=["C"]).ask().name == "A"
    assert start_session(plan(), without=["B", "C"]).ask().name == "A"  # page 3 gives neither


def test_a_page_without_another_arm_does_not_serve():
    """Page 2 gives no B either, but it is without A, which this case may get."""
    only_c = Page(("A",), (Line(Give("C")),))
    assert page_number(plan(pages=(only_c, PAGES[1])), ["B"]) == 3
    with pytest.raises(InvalidInput, match="no page for a case that must not get B"):
        page_number(plan(pages=(only_c,)), ["B"])


def test_what_has_no_page_is_refused_at_the_start():
    with pytest.raises(InvalidInput, match="no page for a case that must not get A or C"):
        start_session(plan(), without=["A", "C"])
    with pytest.raises(InvalidInput, match="no page for a case that must not get A"):
        missing_losses(plan(pages=()), THREE)
    with pytest.raises(InvalidInput, match="some of A, B, C. Got .'Z'"):
        page_for(plan(), ["Z"])


@pytest.mark.parametrize("missing", [("Z",), ("C",), ()])
def test_a_page_never_gives_what_it_is_without(missing):
    with pytest.raises(InvalidInput, match="the missing arms of "):
        plan(pages=(Page(missing, ON_TWO, RULE),))


def test_an_arm_that_is_missing_today_is_waited_for():
    case = start_session(plan())
    assert case.ask(available=["B", "C"]).outcome is Outcome.ARM_NOT_AVAILABLE
    assert case.override("C").name == "C"


def test_losses_are_those_of_the_collection_without_the_arm():
    """The page, certified where only the other arms exist."""
    found = missing_losses(plan(), THREE)
    assert set(found) == {("A",), ("B",)}
    for missing, loss in found.items():
        fewer, own = without_arms(THREE, missing), page_for(plan(), missing)
        exact = certify(make_plan(own.lines, fewer, 60, rule=own.rule), fewer, must_rest=False).regret
        np.testing.assert_allclose(loss, exact, rtol=1e-10)


def test_pages_are_kept_in_files(tmp_path):
    save_plan(plan(), tmp_path / "plan.json")
    loaded = load_plan(tmp_path / "plan.json")
    assert (loaded.lines, loaded.pages) == (plan().lines, plan().pages)
    assert '"pages"' not in plan_json(page(plan(), 1))
    save_plan(page(plan(), 2), tmp_path / "page.json")
    assert load_plan(tmp_path / "page.json").missing == ("A",)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["protocol", "tree"])
def test_the_search_makes_a_page_for_every_arm_of_the_plan(method):
    rates = [[0.8, 0.3, 0.5, 0.2], [0.2, 0.7, 0.4, 0.5], [0.3, 0.4, 0.2, 0.6]]
    collection = Collection.bernoulli(rates, arms=list("ABCD"), tasks=["x", "y", "z"])
    how = {"steps": 600} if method == "protocol" else {}
    built = build_plan(collection, 1000, method, pages=True, **how)
    assert {own.missing for own in built.pages} == {(arm,) for arm in given_arms(built)}
    if method == "protocol":
        for missing, loss in missing_losses(built, collection).items():
            fewer = without_arms(collection, missing)
            alone = certify(build_plan(fewer, 1000, method, **how), fewer)
            assert loss.max() == pytest.approx(alone.worst_regret, abs=1e-6)  # 1e-9 of the rounds
    assert add_pages(built, collection, [("A", "B", "C")], **how).pages[0].lines == (Line(Give("D")),)
    with pytest.raises(InvalidInput, match="fewer than all arms"):
        add_pages(built, collection, ["ABCD"], **how)


def test_pages_are_made_with_the_collection_of_the_plan():
    other = Collection.bernoulli(THREE.means, arms=["A", "B", "D"])
    with pytest.raises(InvalidInput, match="must be those of the plan, A, B, C and task 1, task 2"):
        add_pages(plan(pages=()), other, [("A",)], steps=10)
