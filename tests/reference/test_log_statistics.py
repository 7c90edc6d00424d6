"""The query over a log against adding up its rows one by one."""

import numpy as np
import polars as pl
import pytest
from logs_to_read import ROLES, visits

from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import Family
from banditree.training.logs import read_log
from banditree.training.statistics import collect

FRAME = visits(700, seed=4).with_columns(city=pl.col("treatment").cast(pl.String) + pl.col("sex"))


@pytest.mark.parametrize("context", [[], ["near"], ["sex"], ["near", "far", "sex"], ["sex", "city", "near"]])
def test_statistics_are_those_of_the_rows(context):
    reading = read_log(FRAME, context=context, rewards=Family.GAUSSIAN, **ROLES)
    found = reading.statistics
    columns = [
        FRAME[f.name].to_numpy() if f.level is None else (FRAME[f.name] == f.level).to_numpy() for f in found.features
    ]
    tasks, arms, rewards = (FRAME[ROLES[role]].to_numpy() for role in ("task", "arm", "reward"))
    rows = np.column_stack(columns).astype(float) if columns else None
    slow = collect(tasks, arms, rewards, rows, [Feature(f.name, f.level) for f in found.features], found.shift)
    assert (found.tasks, found.arms) == (slow.tasks, slow.arms)
    assert (found.counts == slow.counts).all()
    np.testing.assert_allclose(found.sums, slow.sums, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.products, slow.products, rtol=1e-9, atol=1e-9)
