"""How long the theory takes to prove its numbers on the paper's collections, and against a general solver.

For hard-5-10, rand-10-20, rand-20-40 and rand-40-40 (separation 0.4): each coefficient and depth with its bounds, the
gap between them, and the CPU seconds. Then one question, "is there a set of n tasks in which every test fails at t?",
put to our search and to a mixed-integer programme solved by HiGHS (and, where OR-Tools is installed and --cp-sat is
given, to CP-SAT) with the same answer expected; the ratio of their times is the last column. Exits 1 if an answer is
wrong or a coefficient of the paper's sizes is not proven.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from banditree.tasks.instances import hard, rand
from banditree.theory.coefficients import _witness_tests, deterministic_coefficient, soft_coefficient
from banditree.theory.randomised import randomised_coefficient
from banditree.theory.separating_tests import separating_arms
from banditree.theory.subsets import NONE_EXISTS, find_subset
from banditree.trees.expected_depth import least_expected_depth
from banditree.trees.optimal import optimal_depth

LAMBDA = 0.4
INSTANCES = {
    "hard-5-10": lambda: hard(5, 10, LAMBDA, LAMBDA / 40),
    "rand-10-20": lambda: rand(10, 20, LAMBDA),
    "rand-20-40": lambda: rand(20, 40, LAMBDA),
    "rand-40-40": lambda: rand(40, 40, LAMBDA),
}
PEER_QUESTIONS = ((12, 12, 1), (16, 20, 1), (20, 40, 1))  # tasks, arms, t


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    answer = call()
    return answer, time.process_time() - start


def values(effort: int) -> bool:
    find_subset(_witness_tests(np.array([[[0, 1], [1, 0]]], dtype=bool)), 1, 2, 10)  # compile first
    print(f"{'collection':<12}{'quantity':<16}{'lower':>8}{'upper':>8}{'gap':>7}{'CPU s':>8}")
    good = True
    for name, make in INSTANCES.items():
        collection = make()
        table = separating_arms(collection, LAMBDA)
        for quantity, call in {
            "deterministic": lambda table=table: deterministic_coefficient(table),
            "soft": lambda collection=collection: soft_coefficient(collection, LAMBDA),
            "randomised": lambda table=table: randomised_coefficient(table, effort=effort),
            "optimal depth": lambda collection=collection: optimal_depth(collection, LAMBDA),
            "expected depth": lambda collection=collection: least_expected_depth(collection, LAMBDA),
        }.items():
            found, seconds = timed(call)
            gap = found.upper / found.lower
            print(
                f"{name:<12}{quantity:<16}{found.lower:>8.4g}{found.upper:>8.4g}{gap:>7.2f}{seconds:>8.2f}", flush=True
            )
            good &= found.proven or quantity == "expected depth"
    return good


def by_highs(table: np.ndarray, limit: int, size: int, seconds: float) -> bool | None:
    """Whether a set of `size` tasks exists in which every test fails at `limit`; None if not settled in time."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    K, M, _ = table.shape
    rows, low, high = [], [], []
    for k in range(K):
        chosen = np.zeros(M + K * M)
        chosen[M + k * M : M + (k + 1) * M] = 1
        rows.append(chosen)
        low.append(1)
        high.append(np.inf)
        for i in range(M):
            y = M + k * M + i
            part = np.zeros(M + K * M)
            part[y], part[i] = 1, -1  # the witness is in S
            rows.append(part)
            part = np.zeros(M + K * M)
            degree = table[k, i].sum()
            part[:M], part[y] = table[k, i], max(degree - limit, 0)  # at most `limit` of its tasks are, if it is used
            rows.append(part)
            low += [-np.inf, -np.inf]
            high += [0, max(degree, limit)]
    rows.append(np.concatenate([np.ones(M), np.zeros(K * M)]))
    low.append(size)
    high.append(np.inf)
    answer = milp(
        np.zeros(M + K * M),
        constraints=LinearConstraint(np.array(rows), low, high),
        integrality=np.ones(M + K * M),
        bounds=Bounds(0, 1),
        options={"time_limit": seconds},
    )
    return None if answer.status == 1 else answer.status == 0


def by_cp_sat(table: np.ndarray, limit: int, size: int, seconds: float) -> bool | None:
    """The same by CP-SAT on one worker."""
    from ortools.sat.python import cp_model

    K, M, _ = table.shape
    model = cp_model.CpModel()
    x = [model.new_bool_var("") for _ in range(M)]
    for k in range(K):
        y = [model.new_bool_var("") for _ in range(M)]
        model.add_bool_or(y)
        for i in range(M):
            model.add_implication(y[i], x[i])
            model.add(sum(x[j] for j in np.flatnonzero(table[k, i])) <= limit).only_enforce_if(y[i])
    model.add(sum(x) >= size)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    return None if status == cp_model.UNKNOWN else status != cp_model.INFEASIBLE


def against_solvers(cp_sat: bool, seconds: float) -> bool:
    peers = {"HiGHS": by_highs} | ({"CP-SAT": by_cp_sat} if cp_sat else {})
    print(f"\n{'question':<26}{'solver':<8}{'answer':>10}{'CPU s':>8}{'ours':>8}{'ratio':>8}")
    good = True
    for M, K, limit in PEER_QUESTIONS:
        table = separating_arms(rand(M, K, LAMBDA), LAMBDA)
        size = int(deterministic_coefficient(table).lower * limit) + 1
        (status, _, _), ours = timed(lambda: find_subset(_witness_tests(table), limit, size, 10**7))  # noqa: B023
        for name, peer in peers.items():
            answer, theirs = timed(lambda: peer(table, limit, size, seconds))  # noqa: B023
            shown = "gave up" if answer is None else str(answer)
            question = f"rand-{M}-{K}: {size} tasks at {limit}?"
            print(f"{question:<26}{name:<8}{shown:>10}{theirs:>8.2f}{ours:>8.3f}{theirs / max(ours, 1e-4):>8.0f}")
            good &= answer is None or answer == (status != NONE_EXISTS)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cp-sat", action="store_true", help="also compare with OR-Tools' CP-SAT")
    parser.add_argument("--seconds", type=float, default=10.0, help="what a peer may take for one question")
    parser.add_argument("--effort", type=int, default=40_000, help="nodes for the randomised coefficient")
    arguments = parser.parse_args()
    proven = values(arguments.effort)
    agreed = against_solvers(arguments.cp_sat, arguments.seconds)
    return 0 if proven and agreed else 1


if __name__ == "__main__":
    sys.exit(main())
