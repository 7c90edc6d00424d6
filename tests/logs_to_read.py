"""Logs that several tests read."""

import numpy as np
import polars as pl


def visits(n=3000, seed=0):
    """A linear log: 2 tasks, 3 arms, a number near 2,000,000, one near 0, a category, Gaussian rewards."""
    rng = np.random.default_rng(seed)
    task, arm = rng.integers(0, 2, n), rng.integers(0, 3, n)
    far, near, sex = rng.normal(2_000_000, 1, n), rng.normal(0.3, 2, n), rng.choice(["f", "m", "x"], n)
    slope = rng.normal(size=(2, 3, 2))
    reward = 5 + (far - 2_000_000) * slope[task, arm, 0] + near * slope[task, arm, 1] + (sex == "m") * 0.7
    return pl.DataFrame(
        {
            "patient_group": np.array(["mild", "severe"])[task],
            "treatment": arm,
            "recovered": reward + rng.normal(0, 0.5, n),
            "far": far,
            "near": near,
            "sex": sex,
        }
    )


ROLES = {"task": "patient_group", "arm": "treatment", "reward": "recovered"}
TASKS, ARMS = ("mild", "severe"), ("0", "1", "2")


def sklearn_theta(frame, columns, intercept):
    """theta (2, 3, q) by scikit-learn's LinearRegression, group by group; columns are names or (name, level)."""
    from sklearn.linear_model import LinearRegression

    theta = []
    for task in TASKS:
        for arm in ARMS:
            rows = frame.filter((pl.col("patient_group") == task) & (pl.col("treatment") == int(arm)))
            x = np.column_stack(
                [rows[c].to_numpy() if isinstance(c, str) else rows[c[0]].to_numpy() == c[1] for c in columns]
            )
            model = LinearRegression(fit_intercept=intercept).fit(x, rows["recovered"].to_numpy())
            theta.append([*([model.intercept_] if intercept else []), *model.coef_])
    return np.array(theta).reshape(2, 3, -1)
