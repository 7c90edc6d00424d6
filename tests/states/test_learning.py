"""Collections with states from logs: counts and margins by case, kinds found, and what a log cannot show."""

import numpy as np
import polars
import pytest

from banditree import InvalidInput, load_collection, save_collection
from banditree.tasks.state_instances import clinic_states, rand_states
from banditree.training.learning import learn
from banditree.training.trajectories import learn_states


def log_of(known, n_cases, n_rounds, seed, *, named=True, arms=None):
    """A log of cases that are given options at random; arms: those that cases of odd number get."""
    rng = np.random.default_rng(seed)
    rows = []
    for case in range(n_cases):
        i = int(rng.integers(known.n_tasks))
        s = int(rng.choice(known.n_states, p=known.start))
        for visit in range(n_rounds):
            k = int(rng.integers(known.n_arms)) if arms is None else arms[case % 2]
            reward = int(rng.random() < known.rates[i, s, k])
            rows.append((case, visit, known.tasks[i], known.states[s], known.arms[k], reward))
            s = int(rng.choice(known.n_states, p=known.moves[i, s, k]))
    frame = polars.DataFrame(rows, schema=["case", "visit", "kind", "state", "arm", "reward"], orient="row")
    return frame if named else frame.drop("kind")


def test_counts_of_a_log_are_its_shares_and_the_last_round_has_no_next_state():
    one = [("1", "a", "x", 1), ("1", "b", "x", 0), ("1", "b", "y", 1), ("1", "a", "x", 0), ("1", "a", "y", 1)]
    two = [("2", "a", "y", 0), ("2", "b", "y", 0), ("2", "a", "x", 1), ("2", "b", "x", 1), ("2", "a", "y", 1)]
    rows = [(*row, "one") for row in one] + [(*row, "two") for row in two]
    log = polars.DataFrame(rows, schema=["case", "state", "arm", "reward", "kind"], orient="row")
    found = learn_states(log, state="state", task="kind", untried="borrow")
    known = found.collection
    assert found.trajectories.counts.sum() == 10 + 8
    assert found.rounds[0].tolist() == [[2, 1], [1, 1]]
    assert known.rates[0].tolist() == [[0.5, 1], [0, 1]]
    assert known.moves[0, 0, 0].tolist() == [0.5, 0.5]
    assert known.moves[0, 0, 1].tolist() == [0, 1]  # of the other kind: here y in a was given last
    assert known.move_margin[0, 0, 1].tolist() == [1, 1]
    missing = log.with_columns(reward=polars.Series([1, 0, None, 0, 1] * 2))
    again = learn_states(missing, state="state", task="kind", untried="borrow")
    assert again.trajectories.counts.sum() == 8 + 8
    twice = log.with_columns(visit=polars.Series([1, 2, 3, 4, 4] * 2))
    with pytest.raises(InvalidInput, match="Column 'visit' must be different in all rows of a case. Case '1' has 2"):
        learn_states(twice, state="state", task="kind", untried="borrow")


def test_the_truth_is_within_all_margins_at_once():
    known, missed = clinic_states(2, 3, 2, 3), 0
    for seed in range(20):
        log = log_of(known, 80, 15, seed)
        found = learn_states(log, state="state", task="kind", states=list(known.states)).collection
        assert found.tasks == known.tasks
        off = (np.abs(found.rates - known.rates) > found.rate_margin).any()
        missed += off or (np.abs(found.moves - known.moves) > found.move_margin + 1e-9).any()
    assert missed <= 4  # 1 is expected at 5%; more than 4 of 20 has a chance of 0.3%


def test_margins_are_by_case_where_cases_differ():
    """Cases that repeat themselves tell less than rows that are independent."""
    one = log_of(clinic_states(2, 3, 2, 3), 40, 30, 1)
    same = polars.concat([one.with_columns(visit=polars.col("visit") + 30 * n) for n in range(4)])
    about = {"state": "state", "task": "kind", "time": "visit"}
    once, again = (learn_states(log, **about).collection.rate_margin for log in (one, same))
    assert (again > 0.75 * once).all()  # four times as many independent rows would give 0.5
    assert again.mean() > 0.95 * once.mean()


def test_kinds_that_nobody_wrote_down_are_found():
    known = rand_states(3, 3, 2, 8)
    log = log_of(known, 300, 20, 4)
    found = learn_states(log.drop("kind"), state="state")
    assert len(found.mixture.shares) == 3
    named = log.group_by("case", maintain_order=True).first()["kind"].to_list()
    labels = found.mixture.chances.argmax(axis=1)
    each = [np.bincount(labels[[name == task for name in named]], minlength=3) for task in known.tasks]
    assert sum(row.max() for row in each) > 0.97 * 300
    order = [int(row.argmax()) for row in each]
    assert np.abs(found.collection.rates[order] - known.rates).max() < 0.12
    assert (np.abs(found.collection.rates[order] - known.rates) < found.collection.rate_margin[order]).all()


def test_margins_of_found_kinds_are_wider_than_of_named_ones():
    log = log_of(clinic_states(2, 3, 2, 3), 120, 10, 2)
    named = learn_states(log, state="state", task="kind").collection.rate_margin
    found = learn_states(log.drop("kind"), state="state", kinds=2).collection.rate_margin
    assert found.mean() > 1.1 * named.mean()


def test_what_a_log_cannot_show_is_refused():
    known = rand_states(2, 2, 2, 1)
    alike = log_of(rand_states(2, 2, 2, 1), 60, 10, 1).filter(polars.col("kind") == "task 1").drop("kind")
    apart = log_of(known, 20, 6, 1, named=False, arms=(0, 1))
    untried = log_of(known, 20, 6, 1).filter((polars.col("kind") == "task 1") | (polars.col("arm") == "arm 1"))
    for log, more, said in (
        (alike, {}, "All cases go alike"),
        (apart, {}, "cannot show which kinds there are"),
        (log_of(known, 20, 6, 1).with_columns(kind="arm"), {"task": "kind"}, "several values of 'kind'"),
        (log_of(known, 20, 6, 1), {"task": "kind", "states": ["state 1", "dead"]}, "states must be the states of the"),
        (log_of(known, 20, 6, 1), {"task": "kind", "harm": "reward"}, "harm must be omitted with states"),
        (untried, {"task": "kind"}, "have no round with a next state"),
        (log_of(known, 20, 6, 1).with_columns(state=polars.lit("well")), {"task": "kind"}, "at least two different"),
        (log_of(known, 20, 6, 1).with_columns(reward=0.5), {"task": "kind"}, "reward"),
    ):
        with pytest.raises(InvalidInput, match=said):
            learn_states(log, state="state", **more)


def test_untried_options_are_dropped_or_borrowed():
    log = log_of(rand_states(2, 2, 3, 1), 60, 10, 1)
    log = log.filter((polars.col("kind") == "task 1") | (polars.col("arm") != "arm 3"))
    dropped = learn_states(log, state="state", task="kind", untried="drop-arm").collection
    assert dropped.arms == ("arm 1", "arm 2")
    borrowed = learn_states(log, state="state", task="kind", untried="borrow").collection
    assert (borrowed.rate_margin[1, :, 2] == 1).all()
    assert borrowed.rates[1, 0, 2] == borrowed.rates[0, 0, 2]


def test_files_keep_the_margins_and_learn_without_states_says_who_knows_them(tmp_path):
    log = log_of(rand_states(2, 2, 2, 1), 60, 10, 1)
    found = learn_states(log, state="state", task="kind")
    assert "to state 1" in str(found)
    assert len(found.to_frame()) == 8
    assert "<svg" in found._repr_mimebundle_()["text/html"]
    save_collection(found.collection, tmp_path / "known.json")
    again = load_collection(tmp_path / "known.json")
    assert again.is_estimated
    assert (again.move_margin == found.collection.move_margin).all()
    with pytest.raises(InvalidInput, match="learn_states takes logs with states"):
        learn(log, state="state")
