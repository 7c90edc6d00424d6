"""The certificate as a page and as data."""

import json

import pytest
from boxes import Box, assemble

from banditree.certificates.certify import certify
from banditree.plans.plan import Form
from banditree.plans.words import vocabulary_from
from banditree.reports.beside import beside_text
from banditree.reports.certify import certificate_document, certificate_report, certificate_text
from banditree.reports.promise import promise_sentences
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard
from banditree.trees.guarantee import dt_ece_guarantee
from banditree.trees.tree import build_tree

TWO = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])

PAGE = """\
task    regret  1 of 100 loses  wrong arm  wrong task  rounds of testing  95% within  undecided
------  ------  --------------  ---------  ----------  -----------------  ----------  ---------
mild     0.014             0.0    3.2e-05     3.2e-05               96.0          96          0
severe  28.804            28.8    1.3e-05     1.3e-05               96.0          96          0

Exactly this much reward is lost on average over 1,000 rounds, compared with the best arm from the start: 14.409 over \
all tasks, 28.804 in the worst (severe).
A case passes 1.0 boxes on average: a reading load of 3.2 in use, 2.2 on paper.
1 of 100 cases of task severe loses 28.8 successes or more (1 of 10: 28.8, 1 of 1,000: 28.8); the worst 1% lose 29.2 \
on average.
Once settled, this plan would not notice if an arm stopped working.
No algorithm, however clever, loses less than 1.16 in its worst task; this plan loses 28.8.
For DT-ECE, Theorem 4.4 guarantees at most 48.2 on these tasks."""


def test_the_page():
    assert certificate_text(certificate_report(build_tree(TWO, 1000), TWO)) == PAGE


def test_a_protocol_names_no_tasks_and_its_lines_are_counted_as_they_are_passed():
    """A fails for certain and B succeeds for certain, so that every case passes both lines once and stays."""
    sure = Collection.bernoulli([[0.0, 1.0], [0.0, 1.0]], arms=["A", "B"])
    lines = [Box(0, 1, points=(-1, 1), floor=2), Box(1, 0, points=(-1, 1), floor=2)]
    plan = assemble(lines, sure, 50, form=Form.LINES)
    report = certificate_report(plan, sure)
    page = certificate_text(report)
    assert page.startswith("task    regret  1 of 100 loses  wrong arm  rounds of testing")
    assert "A case passes 2.0 lines on average: a reading load of 3.8 in use, 1.8 on paper." in page
    assert certificate_document(report)["lines_passed"] == pytest.approx(2.0)


def test_amounts_have_no_exponents():
    """A loss of thousands reads as such, in the promise and beside the plan."""
    wide = Collection.gaussian([[90.0, 0.0], [0.0, 80.0]], sigma=1.0, arms=["A", "B"])
    plan = build_tree(wide, 1000)
    assert beside_text(plan, wide, None) == "In their worst task, A for all loses 80,000."
    assert "e+" not in " ".join(promise_sentences(plan, certify(plan, wide)))


def test_the_page_keeps_the_words_of_the_plan():
    words = vocabulary_from({"arm": "treatment", "task": "patient group", "reward": "recovery"})
    page = certificate_text(certificate_report(build_tree(TWO, 1000, vocabulary=words), TWO))
    assert page.startswith("patient group")
    assert "compared with the best treatment from the start: 14.409 over all patient groups" in page
    assert "arm" not in page
    assert "task" not in page


def test_data_and_page_have_the_same_numbers():
    report = certificate_report(build_tree(TWO, 1000), TWO)
    document = json.loads(json.dumps(certificate_document(report)))
    assert document["worst_task"] == "severe"
    assert round(document["worst_regret"], 3) == 28.804
    assert 1.15 < document["limit"]["regret"] < 1.17
    assert document["limit"]["tasks"] == ["mild", "severe"]
    assert {"task", "regret", "wrong_arm", "wrong_task", "pulls"} <= set(document["tasks"][0])


def test_bounds_say_why():
    estimated = Collection.bernoulli(TWO.means, arms=["A", "B"], tasks=["mild", "severe"], radius=0.02)
    page = certificate_text(certificate_report(build_tree(estimated, 1000), estimated))
    assert "At most this much" in page
    assert "in its worst task, at the estimated means; this plan loses at most" in page
    assert "the estimated means are within 0.02" in page


def test_the_bound_covers_dt_ece():
    collection = hard(5, 10, 0.4, 0.01)
    report = certificate_report(build_tree(collection, 10_000), collection)
    assert report.certificate.worst_regret <= report.dt_ece_bound < 300


def test_tasks_with_equal_means_have_no_bound():
    assert dt_ece_guarantee(Collection.bernoulli([[0.5, 0.5], [0.5, 0.5]]), 100) is None


def test_the_theorem_beside_a_certificate_allows_for_the_radius_too():
    means = [[0.8, 0.2, 0.3], [0.2, 0.7, 0.3], [0.3, 0.2, 0.9]]
    known = dt_ece_guarantee(Collection.bernoulli(means), 1000)
    estimated = Collection.bernoulli(means, radius=0.02)
    bound = dt_ece_guarantee(estimated, 1000)
    assert bound > known
    assert bound >= certify(build_tree(estimated, 1000), estimated).worst_regret


def test_lines_say_what_they_give_up():
    report = certificate_report(build_tree(TWO, 1000), TWO, by_line=True)
    (line,) = certificate_document(report)["lines"]
    assert line["name"] == "box 1"
    assert line["at_most_more"] == line["loses_from_here"] - line["best_possible_at_least"]
    assert (
        "Per case and at the worst shares of the tasks, the best possible would save at most 15 from box 1 on."
        in certificate_text(report)
    )
    assert certificate_document(certificate_report(build_tree(TWO, 1000), TWO))["lines"] is None
