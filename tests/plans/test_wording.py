import pytest
from example_plans import binned_plan, score_plan

from banditree.errors import InvalidInput
from banditree.plans.plan import Vocabulary
from banditree.plans.wording import counted, number, times, vocabulary_from
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree


def test_a_plan_reads_as_its_rule():
    collection = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    text = str(build_tree(collection, 4000))
    assert "Box 1. Give A 113 times. At most 56 successes: go to box 2. Otherwise: go to box 3." in text
    assert "Box 2. This is task severe. Give B from now on." in text


def test_the_words_of_the_user_are_used():
    words = vocabulary_from({"arm": "treatment", "task": "patient group", "success": "recovery", "give": "Prescribe"})
    collection = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    text = str(build_tree(collection, 4000, vocabulary=words))
    assert "2 patient groups and 2 treatments" in text
    assert "Prescribe A 113 times. At most 56 recoveries: go to box 2." in text
    assert "This is patient group severe. Prescribe B from now on." in text
    assert "arm" not in text


def test_score_boxes():
    text = str(score_plan(vocabulary=Vocabulary(success="cure", failure="relapse")))
    assert (
        "Box 1. Give A. Each cure +1, each relapse -2. At +6 or more: go to box 4. At -4 or less: go to box 2." in text
    )
    assert "Box 4. Give A from now on." in text
    assert "Score each reward at most -0.5 -2, reward at most 0.25 +0, above +3." in str(binned_plan())


def test_unknown_words_are_named():
    with pytest.raises(InvalidInput, match="a word of the vocabulary must be one of arm, task"):
        vocabulary_from({"amr": "x"})
    with pytest.raises(InvalidInput, match="the word for 'arm' must be not empty"):
        vocabulary_from({"arm": " "})


def test_numbers_and_counts():
    assert number(69.0) == "69"
    assert number(69.25) == "69.25"
    assert float(number(1e-7 / 3)) == 1e-7 / 3
    assert counted(1, "success") == "1 success"
    assert counted(1200, "box") == "1,200 boxes"
    assert (times(1), times(2)) == ("once", "2 times")
