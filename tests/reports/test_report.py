from functools import lru_cache

import numpy as np
import pytest
from figure_plans import made

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.figures.document import Facts, Figures, Heading, Ladder, Paragraph, Table, document_pdf
from banditree.plans.reading_load import reading_load
from banditree.plans.words import vocabulary_from
from banditree.reports.analyze import analyze, bound_lines
from banditree.reports.report import MANY_TASKS, alternatives, report_blocks, write_report
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree


@lru_cache
def blocks_of(name):
    return report_blocks(*made(name))


def words_of(blocks):
    """Everything a reader sees outside the pictures."""
    parts = []
    for block in blocks:
        if isinstance(block, Heading | Paragraph):
            parts.append(block.text)
        elif isinstance(block, Table):
            parts += [" ".join(row) for row in (block.head, *block.rows)]
        elif isinstance(block, Facts):
            parts += [f"{name}: {value}" for name, value in block.pairs]
        elif isinstance(block, Figures):
            parts += [caption for _, caption in block.scenes]
    return "\n".join(parts)


@pytest.mark.slow
def test_an_exact_report_has_everything():
    plan, known = made("15 boxes")
    blocks = blocks_of("15 boxes")
    words = words_of(blocks)
    certificate = certify(plan, known)
    for name, regret in zip(known.tasks, certificate.regret, strict=True):
        assert f"{name} {regret:,.3f}" in words
    assert f"it loses {certificate.worst_regret:,.3g} " in words
    assert "nothing was estimated" in words
    assert "Theorem 4.4 guarantees at most" in words
    assert "not available" not in words
    load = reading_load(plan)
    assert f"this plan {load:,.1f} {certificate.mean_regret:,.2f} {certificate.worst_regret:,.2f} exact" in words
    assert "separation: 0.4" in words
    assert "plan made by: banditree " in words
    chart = next(block for block in blocks if isinstance(block, Ladder))
    assert chart.reach is not None
    assert sum(len(block.scenes) for block in blocks if isinstance(block, Figures)) >= 5


@pytest.mark.slow
def test_the_words_of_the_user_are_used():
    words = words_of(blocks_of("15 boxes"))
    assert "What was known about the patient groups" in words
    assert "patient group regret 1 of 100 loses wrong treatment wrong patient group" in words
    assert "a random treatment each round" in words


def test_estimates_say_how_good_they_are_and_bounds_say_why():
    radius = np.array([[0.01, 0.02], [0.03, 0.01]])
    known = Collection.bernoulli([[0.9, 0.2], [0.1, 0.8]], radius=radius, provenance="a log of 1,000 rows")
    plan = build_tree(known, 500)
    words = words_of(report_blocks(plan, known))
    assert "within 0.03 of the truth at worst, 0.0175 on average" in words
    assert "task 2 0.0200 0.0300 arm 1" in words
    assert "a log of 1,000 rows" in words
    assert "upper bounds: the estimated means are within 0.03" in words
    assert "Curves over the rounds are not available: the estimated means are within" in words


def test_a_separation_that_nobody_asked_for_is_not_a_claim_about_the_true_means():
    for radius, asked in ((0.15, None), (0.05, 0.7)):  # the first means are known too badly for a claim of 0.8
        known = Collection.bernoulli([[0.9, 0.2], [0.1, 0.8]], radius=radius)
        words = words_of(report_blocks(build_tree(known, 500, asked), known))
        assert all(line in words for line in bound_lines(analyze(known, asked, 500, effort=0).facts))


def test_what_cannot_be_had_is_said():
    bounded = Collection.bounded([[0.9, 0.2], [0.1, 0.8]])
    plan = build_tree(bounded, 500)
    blocks = report_blocks(plan, bounded)
    chart = next(block for block in blocks if isinstance(block, Ladder))
    assert chart.reach is None
    assert "only the means and the range are known" in chart.note
    assert "at most" in words_of(blocks)


def test_reports_on_very_large_plans_leave_out_the_drawing(monkeypatch):
    plan, known = made("3 boxes")
    monkeypatch.setattr("banditree.reports.report.MOST_NUMBERS", 5)
    chart = next(block for block in report_blocks(plan, known) if isinstance(block, Ladder))
    assert "too many for a page" in chart.note
    monkeypatch.setattr("banditree.reports.report.MANY_ROWS", 0)
    assert "too many to draw" in words_of(report_blocks(plan, known))


def test_a_plan_for_other_arms_is_refused():
    plan, _ = made("3 boxes")
    other = Collection.bernoulli([[0.9, 0.2], [0.1, 0.8]], arms=["C", "D"])
    with pytest.raises(InvalidInput, match="The plan is about A, B and the collection about C, D"):
        report_blocks(plan, other)


def test_bounds_are_compared_with_bounds():
    """At rates known to within a margin, everything is an upper bound, and no guess beats a plan by being exact."""
    known = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], radius=0.02)
    plan = build_tree(known, 1000, 0.3)
    found = {one.name: one for one in alternatives(plan, known, certify(plan, known))}
    assert {one.how for one in found.values() if one.mean is not None} == {found["this plan"].how}
    # In the task for which A is not the best, B may give 0.62 and A 0.28.
    assert found["A for all"].worst == pytest.approx(1000 * 0.34)
    assert found["a random arm each round"].worst > 1000 * 0.15


@pytest.mark.slow
def test_alternatives_are_compared_by_reading_load_and_mts_is_among_them():
    plan, known = made("protocol")
    found = {one.name: one for one in alternatives(plan, known, certify(plan, known))}
    assert found["this plan"].load == reading_load(plan)
    assert [one.load for name, one in found.items() if name.endswith("for all")] == [0.5]  # as in the table of fronts
    tables = [block for block in blocks_of("protocol") if isinstance(block, Table)]
    assert tables[-1].head[:2] == ("what", "reading load")
    (mts,) = (row for row in tables[-1].rows if row[0] == "mTS")
    assert "simulated runs" in mts[-1]


def test_alternatives_are_compared_over_the_same_rounds():
    plan, known = made("3 boxes")
    found = {one.name: one for one in alternatives(plan, known, certify(plan, known))}
    assert found["this plan"].worst == pytest.approx(found["tree"].worst)
    regret = plan.horizon * known.gaps
    best = regret.max(axis=0).min()
    assert found["A for all"].worst == pytest.approx(best)
    assert found["a random arm each round"].mean == pytest.approx(regret.mean())
    score = found["protocol, short search"]
    assert score.how == "exact"
    assert score.worst <= found["A for all"].worst


def test_a_protocol_that_would_take_minutes_is_only_named():
    plan, known = made("40 tasks")
    found = {one.name: one for one in alternatives(plan, known, None)}
    assert "it takes minutes" in found["protocol, short search"].how


def test_a_simulation_adds_policies_and_curves():
    plan, known = made("3 boxes")
    results = simulate(known, ["uniform", "ucb1"], horizon=60, runs=4)
    blocks = report_blocks(plan, known, results)
    words = words_of(blocks)
    assert "uniform - " in words
    assert "4 runs" in words
    assert "(60 rounds)" in words  # not the horizon of the plan: said, so that nobody compares them
    assert "need a simulation" not in words


@pytest.mark.slow
def test_long_tables_show_the_worst_tasks():
    plan, known = made("40 tasks")
    table = next(block for block in report_blocks(plan, known) if isinstance(block, Table) and "regret" in block.head)
    assert len(table.rows) == MANY_TASKS
    assert table.rows[0][0] == certify(plan, known).worst_task


@lru_cache
def page_of(name):
    return write_report(*made(name), ".html")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3 boxes", "links back"])
def test_reports_are_repeatable(name):
    assert page_of(name) == write_report(*made(name), ".HTML")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3 boxes", "links back", "contextual"])
def test_reports_are_files(name):
    page = page_of(name)
    assert page.startswith(b"<!DOCTYPE html>")
    assert b"http://www.w3.org/2000/svg" in page
    assert page.replace(b"http://www.w3.org/2000/svg", b"").count(b"http") == 0


@pytest.mark.slow
def test_the_pdf_report_has_the_plan_and_embedded_fonts():
    assert write_report(*made("3 boxes"), ".pdf").startswith(b"%PDF")
    content = document_pdf("A report", blocks_of("15 boxes"))
    assert content.startswith(b"%PDF")
    assert b"/FontFile2" in content
    assert content.count(b"/Type /Page ") + content.count(b"/Type /Page\n") >= 4


def test_other_endings_are_refused():
    with pytest.raises(InvalidInput, match="ends in .html or .pdf"):
        write_report(*made("3 boxes"), ".doc")


def test_names_with_vocabulary_and_html_in_them_are_escaped():
    known = Collection.bernoulli([[0.9, 0.2], [0.1, 0.8]], tasks=["<b>one", "two & three"])
    plan = build_tree(known, 200, vocabulary=vocabulary_from({"task": "<i>group"}))
    page = write_report(plan, known, ".html").decode()
    assert "<b>one" not in page.replace("<b>1", "")
    assert "<i>group" not in page
