"""Logs in which one option is best for everyone, made in ways that real logs are made; and the same with kinds.

Cases differ in how much they give whatever they get, so that there is something to mistake for kinds.
"""

from typing import Any

import numpy as np

from banditree.cases.table import Cases, cases_of
from banditree.tasks.contexts import INTERCEPT, Feature

ARMS = ("A", "B")
ONE_BEST = (0.5, 0.6)
SEVERITY = (Feature(INTERCEPT), Feature("severe"))
KINDS = np.array([[0.75, 0.35], [0.35, 0.75]])


def null_world(
    design: str, seed: int, *, n_cases: int = 300, rounds: int = 20, kinds: bool = False, full: bool = False
) -> Cases:
    """A log; design: random, sticky N (changes in N% of rounds), parallel, few (3 cases changed over), severity by kind
    or by round (with its propensities, or seen as a context), drift, or calendar (it drifts, and options change with
    it). full: with what every option would have given."""
    rng, shape = np.random.default_rng([seed, 31]), (n_cases, rounds)
    who = rng.integers(0, 2, n_cases)
    rates = KINDS[who] if kinds else np.array(ONE_BEST) + np.where(who == 0, -0.2, 0.2)[:, None]
    harm, chance_of_a = np.zeros(shape), np.full(shape, 0.5)
    if design.startswith("severity"):
        severe = rng.integers(0, 2, shape if "round" in design else (n_cases, 1)) * np.ones(shape)
        harm, chance_of_a = 0.15 - 0.3 * severe, np.where(severe > 0, 0.2, 0.8)
    if design in ("drift", "calendar"):
        harm = np.linspace(0.15, -0.15, n_cases)[:, None] * np.ones(shape)
    if design == "calendar":
        chance_of_a = np.linspace(0.8, 0.2, n_cases)[:, None] * np.ones(shape)
    arm = (rng.random(shape) >= chance_of_a).astype(np.int64)
    if design.startswith(("sticky", "parallel", "few")):
        often = float(design.split()[1]) / 100 if design.startswith("sticky") else 0.0
        moves = rng.random(shape) < often
        if design == "few":
            moves[:3, rounds // 2] = True
        arm = (arm[:, :1] + np.cumsum(moves, axis=1) - moves[:, :1]) % 2
    given = np.eye(2)[arm] > 0
    outcome = rng.random((*shape, 2)) < np.clip(rates[:, None] + harm[:, :, None], 0, 1)
    told = dict[str, Any]()
    if "seen" in design:
        told |= {"contexts": np.column_stack([np.ones(severe.size), severe.ravel()]), "features": SEVERITY}
    if full:
        return cases_of(np.repeat(np.arange(n_cases), rounds), ARMS, outcome.reshape(-1, 2).astype(float), **told)
    if "propensities" in design:
        told["chances"] = np.where(arm == 0, chance_of_a, 1 - chance_of_a).ravel()
    if design == "calendar":
        told["at"] = (np.arange(n_cases)[:, None] + np.arange(rounds) / rounds).ravel()
    return cases_of(
        np.repeat(np.arange(n_cases), rounds), ARMS, np.where(given, outcome, np.nan).reshape(-1, 2), **told
    )
