import numpy as np
import pytest

from banditree import Collection, InvalidInput, load_collection, save_collection
from banditree.tasks.optimal_states import discounted_costs, missed, optimal
from banditree.tasks.state_instances import clinic_states, hard_states, rand_states

RATES = [[[0.8, 0.3], [0.4, 0.2]], [[0.3, 0.7], [0.1, 0.5]]]
MOVES = [[[[0.9, 0.1], [0.5, 0.5]]] * 2, [[[0.4, 0.6], [0.8, 0.2]]] * 2]


def known(**changed):
    given = {"rates": RATES, "moves": MOVES, "states": ["well", "ill"], "arms": ["A", "B"], "tasks": ["mild", "bad"]}
    given |= changed
    return Collection.states(given.pop("rates"), given.pop("moves"), **given)


def test_rows_that_do_not_add_up_are_named():
    moves = np.array(MOVES)
    moves[1, 0, 1] = [0.5, 0.4]
    with pytest.raises(InvalidInput) as problem:
        known(moves=moves)
    assert str(problem.value) == (
        "The chances of the next state must add up to 1. For task 'bad', state 'well', arm 'B' they add up to 0.9 "
        "(1 such rows in all). Correct them."
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"start": "dead"}, "start must be one of well, ill, or 2 chances. Got 'dead'."),
        ({"start": [0.5, 0.6]}, "start must be 2 chances that add up to 1"),
        ({"rates": [[[1.2, 0.3]] * 2] * 2}, "rates must be chances, in [0, 1]. Got 1.2."),
        ({"rates": [[0.2, 0.3]] * 2}, "rates must be a table by task, state and arm"),
        ({"rates": [[[float("nan"), 0.3]] * 2] * 2}, "rates must be chances"),
        ({"moves": np.ones((2, 2, 2, 1))}, "moves must be of shape (2, 2, 2, 2)"),
        ({"states": ["well", "well"]}, "states must be 2 different names"),
        ({"moves": [[[[1.0, 0.0]] * 2] * 2] * 2}, "No case ever reaches the state 'ill'"),
    ],
)
def test_what_is_wrong_is_one_sentence(changed, said):
    with pytest.raises(InvalidInput) as problem:
        known(**changed)
    assert str(problem.value).startswith(said)


def test_the_best_policy_is_that_of_all_policies_tried():
    collection, horizon = rand_states(2, 2, 2, 5), 3
    best = optimal(collection, horizon)
    every = list(np.ndindex(*(2,) * 6))  # an arm for each of 3 rounds and 2 states
    for task in range(2):
        earned = []
        for arms in every:
            policy, value = np.reshape(arms, (3, 2)), np.zeros(2)
            for left in range(3):
                rows = [collection.moves[task, s, policy[left, s]] @ value for s in range(2)]
                value = np.array([collection.rates[task, s, policy[left, s]] + rows[s] for s in range(2)])
            earned.append(value @ collection.start)
        assert best.total[task] == pytest.approx(max(earned), abs=1e-12)
    assert missed(collection, best, horizon).min() >= 0


def test_gains_are_what_rounds_earn_in_the_long_run():
    collection = rand_states(3, 4, 3, 2)
    best = optimal(collection, 3000)
    assert best.gain == pytest.approx((best.values[3000] - best.values[2999]) @ collection.start, abs=1e-9)
    costs, options = discounted_costs(collection, 3000)
    assert (options == best.options).all()
    assert costs.min() == 0
    assert costs.max() < 3


@pytest.mark.parametrize("made", [rand_states(2, 3, 2, 1), hard_states(3, 2, 1), clinic_states(2, 4, 2, 1)])
def test_files_bring_back_the_same(made, tmp_path):
    save_collection(made, tmp_path / "known.json")
    again = load_collection(tmp_path / "known.json")
    for name in ("rates", "moves", "start"):
        assert (getattr(again, name) == getattr(made, name)).all()
    assert (again.tasks, again.states, again.arms, again.provenance) == (
        *(made.tasks, made.states, made.arms),
        made.provenance,
    )


TABLE = """task,state,arm,rate,well,ill
mild,well,A,0.8,0.9,0.1
mild,well,B,0.3,0.5,0.5
mild,ill,A,0.4,0.9,0.1
mild,ill,B,0.2,0.5,0.5
bad,well,A,0.3,0.4,0.6
bad,well,B,0.7,0.8,0.2
bad,ill,A,0.1,0.4,0.6
bad,ill,B,0.5,0.8,0.2
start,,,,0.25,0.75
"""


def test_a_table_has_a_row_per_task_state_and_arm(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text(TABLE)
    read = load_collection(path)
    assert (read.rates == RATES).all()
    assert (read.moves == MOVES).all()
    assert read.start.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("bad,ill,B,0.5,0.8,0.2\n", "", "there is no row for task 'bad', state 'ill', arm 'B'"),
        ("bad,ill,B", "bad,ill,A", "was there before"),
        ("bad,ill,B", "bad,dead,B", "'dead' is not one of the states"),
        ("0.5,0.8,0.2", "0.5,much,0.2", "must all be numbers"),
        ("0.5,0.8,0.2", "0.5,0.9,0.2", "must add up to 1"),
        ("arm,rate", "arm,mean", "the header must begin with task,state,arm,rate"),
    ],
)
def test_bad_tables_are_refused_with_their_place(tmp_path, old, new, said):
    path = tmp_path / "known.csv"
    path.write_text(TABLE.replace(old, new))
    with pytest.raises(InvalidInput, match=said) as problem:
        load_collection(path)
    assert "known.csv" in str(problem.value)
