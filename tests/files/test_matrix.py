import pytest

from banditree.errors import InvalidInput
from banditree.files.collections import load_collection


def load(tmp_path, text):
    path = tmp_path / "means.csv"
    path.write_text(text, encoding="utf-8")
    return load_collection(path)


def test_with_and_without_task_names(tmp_path):
    named = load(tmp_path, "task,A,B\nmild,0.7,.2\n\n severe , 3e-1,0.6\n")
    assert named.tasks == ("mild", "severe")
    assert named.arms == ("A", "B")
    assert named.means.tolist() == [[0.7, 0.2], [0.3, 0.6]]
    assert load(tmp_path, "patient group,A,B\nmild,0.7,.2\nsevere,3e-1,0.6\n").tasks == ("mild", "severe")
    plain = load(tmp_path, '\ufeff"A, slow",B\r\n0.7,0.2\r\n0.3,0.6\r\n')
    assert plain.tasks == ("task 1", "task 2")
    assert plain.arms == ("A, slow", "B")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("task,A,B\n", "has a header and no tasks"),
        ("0.1,0.2\n0.3,0.4\n", "must be a header of arm names. Got numbers"),
        ("task;A;B\nx;0.1;0.2\n", "separated by semicolons. "),
        ("task;A;B\nx;0,1;0,2\n", "separated by semicolons, and numbers have decimal commas"),
        ("task\tA\tB\nx\t0.1\t0.2\n", "separated by tabs"),
        ('task,A,B\nx,"0,1",0.2\ny,0.3,0.4\n', "line 2, arm 'A': '0,1' has a decimal comma"),
        ("task,A,B\nx,0.1\n", "line 2: 2 fields where the header has 3"),
        ("task,A,B\nx,0.1,high\n", "line 2, arm 'B': 'high' is not a number"),
        ("A,B\nhigh,0.1\n0.2,0.3\n", "line 2, arm 'A': 'high' is not a number"),
        ("task,A,B\nx,0.1,\n", "line 2, arm 'B': the mean is missing"),
        ("task,A,B\nx,0.1,nan\ny,0.1,0.2\n", "finite everywhere. Got nan"),
        ("task,A,B\nx,0.1,0.2\n", "number of tasks must be at least 2"),
        ("task,A,A\nx,0.1,0.2\ny,0.3,0.4\n", "arms must be all different"),
        ("task,A,B\nx,0.1,20\ny,0.3,0.4\n", "Got 20 for task 'x', arm 'B'"),
    ],
)
def test_what_is_no_matrix_is_named(text, message, tmp_path):
    with pytest.raises(InvalidInput, match=message):
        load(tmp_path, text)
