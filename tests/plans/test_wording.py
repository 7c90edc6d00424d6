import pytest
from example_plans import binned_plan, protocol, score_plan

from banditree.errors import InvalidInput
from banditree.nouns import counted
from banditree.plans.case_wording import tally_sentence
from banditree.plans.wording import box_sentence
from banditree.plans.words import Vocabulary, number, times, vocabulary_from
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
    assert "Box 1. Give A; cure +1, relapse -2. At +6: go to box 4. At -4: go to box 2." in text
    assert "Box 4. Give A from now on." in text
    assert "Give A; +3 for a reward above 0.25, 0 above -0.5, -2 otherwise. At +7" in str(binned_plan())


def test_unknown_words_are_named():
    with pytest.raises(InvalidInput, match="a word of the vocabulary must be one of arm, task"):
        vocabulary_from({"amr": "x"})
    with pytest.raises(InvalidInput, match="the word for 'arm' must be text that is not empty"):
        vocabulary_from({"arm": " "})


def test_numbers_and_counts():
    assert number(69.0) == "69"
    assert number(69.25) == "69.25"
    assert float(number(1e-7 / 3)) == 1e-7 / 3
    assert counted(1, "success") == "1 success"
    assert counted(1200, "box") == "1,200 boxes"
    assert (times(1), times(2)) == ("once", "2 times")


FIVE_LINES = """\
1. Give E; success +1, failure -1. At +8: line 4. At -2: next line.
2. Give D for as long as the score (+1/-3) stays above -2. Then: next line.
3. Give A for as long as the score (+1/-3) stays above -4; never count above +20. Then: start again at line 1.
4. Give C for as long as the score (+2/-3) stays above -6. Then: next line.
5. Give B; +2/-3. At +60: stay with B. At -11: settle on E.

Whenever you stay with or settle on an arm, score it from 0: +1/-4. At -8 start again at line 1."""


def test_a_protocol_reads_as_a_person_would_write_it():
    heading, text = str(protocol(cap=20)).split("\n\n", 1)
    assert text == FIVE_LINES
    assert heading.endswith("5 lines, longest path: 3 lines, reading load 7.5.")


def test_one_line_by_itself_spells_its_points():
    assert box_sentence(protocol(), 1).startswith(
        "Give D for as long as the score (success +1, failure -3) stays above"
    )


def test_the_tally_names_the_levels_of_the_line_or_of_the_rule():
    lines = protocol()
    assert tally_sentence(lines, 0, 3, 1) == "3 rounds tallied, score +1; it ends at +8 and at -2."
    assert tally_sentence(lines, 1, 1, 0) == "1 round tallied, score 0; it ends at -2."
    assert tally_sentence(lines, 5, 4, -6) == "4 rounds tallied, score -6; it ends at -8."
