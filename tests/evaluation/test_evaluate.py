import json
from dataclasses import replace

import numpy as np
import pytest
from simulated_logs import TRUTH, full_log, partial_log, switching_plan

from banditree import evaluate, save_collection, save_plan
from banditree.cli import main
from banditree.errors import InvalidInput
from banditree.evaluation.evaluate import HINDSIGHT, NOT_WORTH, PLAN
from banditree.evaluation.replay import replay
from banditree.reports.evaluate import evaluation_document, evaluation_text
from banditree.tasks.changes import with_worth


def test_the_table_has_the_plan_and_everything_to_compare_it_with():
    found = evaluate(switching_plan(8), full_log(200, 8, 0), collection=TRUTH)
    names = [row.name for row in found.rows]
    assert names == [PLAN, "A for all", "mTS", "mIDS", "Thompson sampling from scratch", HINDSIGHT]
    value = {row.name: row.value.value for row in found.rows}
    assert value["A for all"] < value[PLAN] < value[HINDSIGHT]
    assert found["A for all"].gain.low > 0
    assert found.is_full
    assert found.weighings == ()


def test_the_text_begins_with_the_verdict():
    found = evaluate(switching_plan(8), full_log(200, 8, 0))
    assert evaluation_text(found).startswith("The plan gives more than B for all: 0.6")
    assert "mTS" not in evaluation_text(found)
    assert evaluation_document(found)["rows"][0]["name"] == PLAN


@pytest.mark.slow
def test_a_log_of_one_outcome_per_round_has_estimators_too():
    found = evaluate(switching_plan(8), partial_log(2000, 8, 0))
    assert [row.name for row in found.weighings] == [
        "inverse propensities",
        "self-normalised",
        "doubly robust",
    ]
    assert found.effective >= 10
    without = evaluate(switching_plan(8), replace(partial_log(2000, 8, 0), chances=None))
    assert len(without.weighings) == 3  # options were given at random, with about their shares as chances
    assert found.weighed == 7  # about 2000 / 2^7 cases agree so long
    text = evaluation_text(found)
    assert "gives what the plan gives, for 7 rounds" in text
    assert "Note: One outcome per round is known" in text


@pytest.mark.slow
def test_cases_that_followed_the_plan_are_not_weighed_as_if_options_were_given_at_random():
    """Every round agrees, so that weights by shares of the log would multiply to about 2^20."""
    plan, whole = switching_plan(20), full_log(100, 20, 0)
    chosen = replay(plan, whole, 20).chosen
    outcomes = np.where(np.arange(2) == chosen[:, None], whole.outcomes, np.nan)
    found = evaluate(plan, replace(whole, outcomes=outcomes))
    assert found.weighings == ()
    assert "By weights: refused, since options were not given" in evaluation_text(found)
    assert "gives what the plan gives in 100% of the rounds that the plan comes to" in found.notes[-1]
    told = evaluate(plan, replace(whole, outcomes=outcomes, chances=np.ones(len(outcomes))))
    assert [round(row.value.value, 9) for row in told.weighings[:3]] == [round(told.rows[0].value.value, 9)] * 3


def test_what_the_log_never_gave_is_refused():
    log = partial_log(50, 4, 0)
    only_a = replace(log, outcomes=np.where([True, False], log.outcomes, np.nan))
    with pytest.raises(InvalidInput, match="no support: the plan gives 'B', and the log never does"):
        evaluate(switching_plan(4), only_a)


def test_too_few_cases_are_refused():
    with pytest.raises(InvalidInput, match="no support: only 4 cases"):
        evaluate(switching_plan(4), partial_log(4, 20, 0))
    found = evaluate(switching_plan(4), partial_log(14, 20, 0, 0.3))
    assert found.weighings == ()
    assert "refused, no support" in evaluation_text(found)


def test_a_short_log_says_how_far_it_sees():
    found = evaluate(switching_plan(50), partial_log(100, 10, 0))
    assert found.shown == found.counted == 10
    assert any(f"first {found.shown} of 50 rounds" in note for note in found.notes)


def test_the_command_gives_the_same_numbers(tmp_path, capsys):
    import pandas

    log = full_log(60, 8, 0)
    rows = [
        (log.cases[u], n, arm, int(log.outcomes[n, k]))
        for n, u in enumerate(log.owner)
        for k, arm in enumerate(log.arms)
    ]
    pandas.DataFrame(rows, columns=["user_id", "occasion", "action", "click"]).to_csv(tmp_path / "log.csv", index=False)
    save_plan(switching_plan(8), tmp_path / "plan.json")
    save_collection(TRUTH, tmp_path / "tasks.json")
    files = [str(tmp_path / "plan.json"), str(tmp_path / "log.csv"), "--collection", str(tmp_path / "tasks.json")]
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *files, "--json"])
    assert ended.value.code == 0
    expected = evaluation_document(evaluate(switching_plan(8), log, collection=TRUTH))
    printed = json.loads(capsys.readouterr().out)
    assert printed["rows"][0] == expected["rows"][0]
    assert [row["name"] for row in printed["rows"]] == [row["name"] for row in expected["rows"]]
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *files, "--reward", "occasion"])
    assert ended.value.code == 2


def test_a_worth_is_not_counted_and_that_is_said():
    log = full_log(60, 8, 0)
    bare = evaluate(switching_plan(8), log, collection=TRUTH)
    found = evaluate(switching_plan(8), log, collection=with_worth(TRUTH, price=[0.9] + [0.0] * (TRUTH.n_arms - 1)))
    assert [row.value.value for row in found.rows] == [row.value.value for row in bare.rows]
    assert [row.name for row in found.rows] == [row.name for row in bare.rows]
    assert [note for note in found.notes if note not in bare.notes] == [NOT_WORTH]
