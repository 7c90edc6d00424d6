"""However a log is cut into parts, the parts add up to the same statistics."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from banditree.training.statistics import collect, merge_statistics

ROW = st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(-5, 5), st.integers(-3, 3))


@given(st.lists(ROW, min_size=2, max_size=30), st.data())
def test_any_cut_of_a_log_gives_the_same_statistics(rows, data):
    def part(chosen, shift):
        tasks, arms, rewards, x = zip(*chosen, strict=True)
        return collect(tasks, arms, np.array(rewards, float), np.array(x, float)[:, None], ["x"], shift)

    cut = data.draw(st.integers(1, len(rows) - 1))
    other = [data.draw(st.integers(-4, 4)), data.draw(st.integers(-4, 4))]
    whole = part(rows, [0, 0])
    merged = merge_statistics(part(rows[:cut], [0, 0]), part(rows[cut:], other))
    place = {cell: n for n, cell in enumerate(zip(whole.task, whole.arm, strict=True))}
    assert merged.n_rows == whole.n_rows == len(rows)
    for n, (task, arm) in enumerate(zip(merged.task, merged.arm, strict=True)):
        cell = place[whole.tasks.index(merged.tasks[task]), whole.arms.index(merged.arms[arm])]
        # Small whole numbers: sums are exact.
        assert merged.count[n] == whole.count[cell]
        assert (merged.sums[n] == whole.sums[cell]).all()
        assert (merged.products[n] == whole.products[cell]).all()
