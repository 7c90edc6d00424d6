import pytest

from banditree.cases.columns import find_columns
from banditree.errors import InvalidInput


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["task", "arm", "reward"], ("task", None, "arm", "reward", None)),
        (["group", "decision", "reward"], ("group", None, "decision", "reward", None)),  # MABWiser
        (["segment", "item_id", "click", "pscore"], ("segment", None, "item_id", "click", "pscore")),  # Open Bandit
        (["user_id", "item_id", "response"], (None, "user_id", "item_id", "response", None)),  # mab2rec
        (["Task", "ACTION", "Reward", "age"], ("Task", None, "ACTION", "Reward", None)),
    ],
)
def test_usual_names_are_recognised(names, found):
    columns = find_columns(names)
    assert (columns.task, columns.individual, columns.arm, columns.reward, columns.propensity) == found
    assert columns.unit == (columns.task or columns.individual)


def test_given_names_win_and_a_propensity_is_not_needed_with_contexts():
    names = ["task", "grp", "arm", "reward", "pscore", "age"]
    columns = find_columns(names, task="grp", context=["age"])
    assert (columns.task, columns.propensity) == ("grp", None)
    assert find_columns(names, context=["age"], propensity="pscore").propensity == "pscore"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "nope"}, "a column must be one of task, item_id, action, click"),
        ({"task": "task", "individual": "task"}, "used for one thing each"),
        ({"task": "task", "arm": "task"}, "used for one thing each"),
        ({}, "could be item_id or action"),
        ({"arm": "action", "categorical": ["click"]}, "among the context columns"),
    ],
)
def test_what_does_not_fit_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        find_columns(["task", "item_id", "action", "click"], **options)


def test_a_role_nobody_plays_is_asked_for():
    with pytest.raises(InvalidInput, match='task="NAME" \\(or individual="NAME"\\). The log has: a, b'):
        find_columns(["a", "b"])
    with pytest.raises(InvalidInput, match='reward="NAME"'):
        find_columns(["task", "arm", "b"])
