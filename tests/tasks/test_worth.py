from dataclasses import replace

import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.files.collections import collection_document, collection_from_document, load_collection, save_collection
from banditree.files.worth import load_worth
from banditree.tasks.changes import with_worth
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import gaussian_contexts
from banditree.tasks.rewards import BERNOULLI, Bounded, Gaussian
from banditree.tasks.worth import Worth, worth_of

RATES = "task,A,B\nmild,.85,.4\nsevere,.3,.8\n"
ON_WORTH = "price per round,12,30\nvalue of a success,100,100\ncost of a change,40,\nunit,EUR,\n"
EUR = Worth(((-12.0, 88.0), (-30.0, 70.0)), change=40.0, unit="EUR")


def clinic(**more):
    return Collection.bernoulli([[0.85, 0.4], [0.3, 0.8]], tasks=["mild", "severe"], arms=["A", "B"], **more)


def graded():
    chances = [[[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]], [[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]]
    return Collection.graded(chances, [0, 0.5, 1], names=["none", "partial", "full"], arms=["A", "B"])


def in_file(tmp_path, text, name="rates.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("known", "draw"),
    [
        (clinic(), lambda rng, n: rng.random((n, 1, 1)) < np.array([[0.85, 0.4], [0.3, 0.8]])),
        (
            Collection.gaussian([[0.2, 3.0], [1.0, -1.0]], 2.0, arms=["A", "B"]),
            lambda rng, n: np.array([[0.2, 3.0], [1.0, -1.0]]) + 2.0 * rng.standard_normal((n, 2, 2)),
        ),
        (
            Collection.bounded([[0.2, 3.0], [1.0, 4.0]], 0, 5, arms=["A", "B"]),
            lambda rng, n: 5.0 * (rng.random((n, 2, 2)) < np.array([[0.2, 3.0], [1.0, 4.0]]) / 5),
        ),
        (graded(), lambda rng, n: graded().rewards.sample(np.broadcast_to(graded().chances, (n, 2, 2, 3)), rng)),
    ],
)
def test_what_a_round_is_worth_is_the_average_of_what_its_outcomes_are_worth(known, draw):
    """Means of 40,000 draws: each of the 16 within 4.5 standard errors, a false alarm in 10,000 runs."""
    anchors = known.rewards.anchors
    worth = Worth(tuple(tuple(7.0 * k - 3.0 * a + k * a * a for a in anchors) for k in (1, 2)), unit="days")
    outcomes = np.asarray(draw(np.random.default_rng(5), 40_000), float)
    seen = worth.of(known.rewards, np.broadcast_to([0, 1], outcomes.shape), outcomes)
    off = seen.mean(axis=0) - replace(known, worth=worth).round_worth
    assert (np.abs(off) <= 4.5 * seen.std(axis=0) / 200 + 1e-12).all()


def test_best_options_and_gaps_are_those_of_worth_and_the_rates_stay():
    known = with_worth(clinic(), price={"B": 60}, value=100, unit="EUR")
    assert known.means.tolist() == clinic().means.tolist()
    assert known.best_arms.tolist() == [0, 0]  # B helps more of the severe, and is not worth its price
    assert known.gaps.round(9).tolist() == [[0.0, 105.0], [0.0, 10.0]]
    assert known.best_single_arm == 0
    assert str(known).endswith(", worth in EUR")
    assert "worth" not in str(clinic())


def test_what_is_off_in_means_is_off_in_worth():
    chances, worth = graded(), worth_of(graded().rewards, ["A", "B"], value={"partial": 80, "full": 100})
    least, most = replace(chances, worth=worth, radius=np.full((2, 2), 0.1)).worth_within(np.full((2, 2), 0.1))
    moved = np.array([[0.5, 0.3, 0.2], [0.7, 0.3, 0.0]])  # a tenth of A's cases for the mild from one end to the other
    assert least[0, 0] <= (moved @ np.array(worth.outcomes[0])).min()
    assert most[0, 0] >= (moved @ np.array(worth.outcomes[0])).max()
    low, high = with_worth(clinic(radius=0.5), value=-2).worth_within(np.full((2, 2), 0.5))
    np.testing.assert_allclose([low, high], [[[-2, -1.8], [-1.6, -2]], [[-0.7, 0], [0, -0.6]]])


def test_files_bring_it_back(tmp_path):
    for known in (replace(clinic(), worth=EUR), with_worth(graded(), price=[1, 2], change=3, unit="days")):
        save_collection(known, tmp_path / "known.json")
        assert load_collection(tmp_path / "known.json").worth == known.worth
    assert "worth" not in collection_document(clinic()).model_dump(exclude_none=True)
    assert collection_from_document(collection_document(clinic()), "here").worth is None


def test_a_table_of_rates_may_say_it_below_its_kinds(tmp_path):
    known = load_collection(in_file(tmp_path, RATES + ON_WORTH))
    assert known.tasks == ("mild", "severe")
    assert known.worth == EUR
    assert load_collection(in_file(tmp_path, "group,A,B\nvalue shoppers,.8,.4\nunits,.3,.8\n")).worth is None


def test_a_table_of_its_own_goes_with_any_collection(tmp_path):
    moved = ",B,A\nprice per round,30,12\nvalue of success,100,100\ncost of a change,40,40\nunit,,EUR\n"
    assert load_worth(in_file(tmp_path, moved), clinic()).worth == EUR
    by_grade = ",A,B\nvalue of partial,80,70\nvalue of 1,100,100\nunit,days,\n"
    assert load_worth(in_file(tmp_path, by_grade), graded()).worth == Worth(((0, 80, 100), (0, 70, 100)), unit="days")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("price per round,12,-30\n", "rates.csv: the price of 'B' must be at least 0. Got -30"),
        ("price per round,12,\n", "line 4, arm 'B': the number is missing. Fill it in: 0 for nothing"),
        ("price per round,12,dear\n", "line 4, arm 'B': 'dear' is not a number"),
        ("cost of a change,-1,\n", "the cost of a change must be at least 0. Got -1"),
        ("cost of a change,1,2\n", "'cost of a change' must say one thing. Got '1', '2'"),
        ("unit,,\n", "'unit' must say one thing. Got nothing"),
        (
            "value of a relapse,1,1\n",
            "A value is given for 'relapse', which is no outcome. Outcomes are: 0 or fail",
        ),
        ("value of a failure,1,1\n", "Give the outcome 1 or success one value. Got 0"),
        ("value of 1,1,1\nvalue of a success,1,1\n", "Give the outcome 1 or success one value. Got 2"),
        ("unit,a,\nunit,b,\n", "line 5: there are two rows 'unit'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, rows, message):
    with pytest.raises(InvalidInput) as error:
        load_collection(in_file(tmp_path, RATES + rows))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (",A,C\nunit,EUR,\n", "the column 'C' is no option. Options are 'A', 'B'"),
        (",A\nunit,EUR\n", "there is no column for the option 'B'. Add it"),
        (",A,B\nmild,1,2\n", "line 2: 'mild' says nothing about worth. Its rows are \"price per round\""),
        (",A,B\n", "has no rows"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(tmp_path, table, message):
    with pytest.raises(InvalidInput) as error:
        load_worth(in_file(tmp_path, table), clinic())
    assert message in str(error.value)


def test_python_refuses_the_same():
    for given, message in (
        ({"price": {"C": 1}}, "A price is given for 'C', which is no option. Options are 'A', 'B'."),
        ({"price": [1, 2, 3]}, "prices must be one number, or 2: one per option"),
        ({"change": -1}, "the cost of a change must be at least 0. Got -1.0"),
        ({"unit": " "}, "the unit of worth must be"),
        ({"value": float("nan")}, "worth must be finite everywhere"),
        ({"value": "much"}, "the value of a reward of 1 must be numbers. Got 'much'"),
    ):
        with pytest.raises(InvalidInput) as error:
            with_worth(clinic(), **given)
        assert message in str(error.value)
    with pytest.raises(InvalidInput, match="worth must be given for 2 arms. Got '1 rows'"):
        replace(clinic(), worth=Worth(((0.0, 1.0),)))
    with pytest.raises(InvalidInput, match="the worth of 'A' must be one number for each of the outcomes 0, 1"):
        replace(clinic(), worth=Worth(((0.0,), (1.0,))))
    ages = gaussian_contexts([50.0], [[100.0]], ["age"])
    linear = Collection.linear([[[0.002], [0.001]], [[0.001], [0.002]]], ages, BERNOULLI)
    with pytest.raises(InvalidInput, match="worth must be omitted with contexts"):
        with_worth(linear, value=3)


def test_worth_between_and_beyond_the_ends_lies_on_a_line():
    worth = worth_of(Bounded(0, 5), ["A", "B"], price=[1, 2], value=10)
    assert worth.of(Bounded(0, 5), np.array([0, 1]), np.array([2.5, 5])).tolist() == [24.0, 48.0]
    assert worth_of(Gaussian(1.0), ["A", "B"], value=3).of(Gaussian(1.0), np.array([0]), np.array([-4.0])).tolist() == [
        -12
    ]
