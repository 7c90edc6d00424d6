import numpy as np
import pytest

from banditree.reports.separation_table import MAX_ROWS, choices, choices_text
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand


def pairs(radius=0.0):
    centres = np.repeat(rand(3, 5, 0.5).means, 2, axis=0)
    return Collection.bernoulli(np.clip(centres + np.tile([[0.0], [0.06]], (3, 5)), 0, 1), radius=radius)


@pytest.mark.slow
def test_larger_separations_leave_fewer_tasks_and_shorter_plans():
    rows = choices(pairs(), 10_000)
    assert [row.n_tasks for row in rows][:1] == [6]
    assert 3 in [row.n_tasks for row in rows]
    assert [row.n_tasks for row in rows] == sorted((row.n_tasks for row in rows), reverse=True)
    assert rows[0].loss < 10 < rows[-1].loss  # a protocol does not need tasks that are far apart
    assert rows[0].lines >= rows[-2].lines
    pulls = {row.n_tasks: row.pulls for row in rows}
    assert pulls[3] < pulls[6] / 20
    assert rows[0].suboptimality == 0


@pytest.mark.slow
def test_separations_can_be_given_and_what_has_no_plan_says_why():
    rows = choices(pairs(radius=0.04), 10_000, [0.05, 0.3, 0.99])
    assert rows[0].boxes is None
    assert "not known well enough" in rows[0].problem
    assert rows[1].boxes is not None
    assert rows[2].n_tasks == 1
    text = choices_text(rows, 10_000)
    assert f"no tree: {rows[0].problem}" in text
    assert "no plan: All tasks" in text or rows[2].problem in text
    assert len(text.splitlines()) == 5
    assert rows[0].loss is not None  # where there is no tree there may be a protocol
    assert rows[2].loss is None


def test_the_table_stays_short():
    means = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.03, (40, 1)), axis=0) @ np.ones((1, 2))
    assert len(choices(Collection.bernoulli(means / 2), 10**6)) <= MAX_ROWS
