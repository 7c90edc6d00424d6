"""The compiled values of drafts against one linear system over all places, on random drafts."""

from types import SimpleNamespace

import numpy as np
import pytest

from banditree.protocols.draft import NO_RULE, Draft
from banditree.protocols.sheets import Ends

S, K, ARMS, R = 3, 5, 4, 4  # scenarios; ends, of which the last is where others choose; arms; rules


def random_draft(seed, back=False, dear=True):
    """A draft of up to eight lines, some of which nothing leads to, with or without links back and costs of changes."""
    rng = np.random.default_rng(seed)
    N, first = int(rng.integers(1, 9)), K + 1
    chances = rng.dirichlet(np.ones(4), size=(N, S)) * 0.999  # down, up, never left, still there when the horizon ends
    lines = np.column_stack([rng.integers(ARMS, size=N), np.ones(N), rng.integers(2, size=N), np.zeros(N)]).astype(int)
    links = np.zeros((N, 2), int)
    for n in range(N):
        ahead = np.arange(first if back else first + n + 1, first + N)
        links[n] = rng.choice(np.concatenate([np.arange(first), ahead, ahead]), 2)
    watching = lines[:, 2] == 0
    links[watching, 1], chances[watching, :, 1] = links[watching, 0], 0.0
    chances[~watching, :, 2] = 0.0
    exits = np.stack([chances[..., 0], chances[..., 1], rng.exponential(size=(N, S)), chances[..., 2]])
    cost, rules = rng.exponential(size=(K, S)) * 10, rng.dirichlet(np.ones(3), size=(R, K, S)).transpose(3, 0, 1, 2)
    moving = rng.exponential(size=(K, S)) * dear
    kept = rng.uniform(0.8, 1.0, size=(K, S)) if dear else np.ones((K, S))
    ends = Ends(cost, 10 * rules[0], 0.9 * rules[1], rules[2].copy(), np.arange(ARMS), moving, kept, not dear, ARMS)
    tables = SimpleNamespace(ends=ends)
    rule = int(rng.integers(-1, R))
    return Draft(tables, first, lines, links, exits, rule, back), ends


def solved(draft, ends):
    """(regret, visits, circling) by one system of equations per scenario."""
    N, first, lines = draft.n_lines, K + 1, draft.lines
    arms = [*range(ARMS), *[-1] * (K - ARMS), int(lines[draft.root - first, 0]), *lines[:, 0].tolist()]
    regret, visits, circles = np.zeros(S), np.zeros((N, S)), []
    for s in range(S):
        moves, cost = np.zeros((first + N, first + N)), np.zeros(first + N)
        resting = np.zeros(first + N)
        moves[K, draft.root] = 1.0
        for k in range(K):
            ruled = draft.rule != NO_RULE
            cost[k] = ends.rule_cost[draft.rule, k, s] if ruled else ends.cost[k, s]
            moves[k, draft.root] = ends.rule_down[draft.rule, k, s] if ruled else 0.0
            resting[k] = ends.rule_rest[draft.rule, k, s] if ruled else 1.0
            if not ends.is_free and arms[k] != arms[draft.root]:
                cost[k] += moves[k, draft.root] * ends.moving[arms[draft.root], s]
                moves[k, draft.root] *= ends.kept[arms[draft.root], s]
        for n in range(N):
            down, up, cost[first + n], resting[first + n] = draft.exits[:, n, s]
            for chance, to in zip((down, up), draft.links[n], strict=True):
                turns = not ends.is_free and (arms[to] == -1 or arms[to] != arms[first + n])
                cost[first + n] += chance * ends.moving[arms[to], s] * turns
                moves[first + n, to] += chance * (ends.kept[arms[to], s] if turns else 1.0)
        values = np.linalg.solve(np.eye(first + N) - moves, cost)
        regret[s] = values[draft.root]
        once = moves if draft.back else moves * (np.arange(first + N) >= first)[:, None]  # a pass ends at line 1
        begun = np.eye(first + N)[draft.root]
        entered = np.linalg.solve(np.eye(first + N) - once.T, begun)
        visits[:, s] = entered[first:]
        again = entered[K] + entered[:K] @ moves[:K, draft.root]
        rests = entered[:K] @ resting[:K] + entered[first:] @ resting[first:]
        circles.append(again / (again + rests))
    return regret, visits, max(circles)


@pytest.mark.slow
@pytest.mark.parametrize("dear", [False, True], ids=["free", "changes cost"])
@pytest.mark.parametrize("seed", range(40))
def test_values_solve_one_system_of_equations(seed, dear):
    draft, ends = random_draft(seed, dear=dear)
    regret, visits, circling = solved(draft, ends)
    np.testing.assert_allclose(draft.regret, regret, rtol=1e-12)
    np.testing.assert_allclose(draft.visits, visits, rtol=1e-12, atol=1e-15)
    assert draft.circling == pytest.approx(circling, rel=1e-12)
    assert draft.settled
    assert not draft.returns
    assert sorted(draft.order) == list(range(draft.n_lines))
    assert draft.before.max() == draft.after.max() == draft.after[draft.root - draft.first_line]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_values_with_links_back_solve_it_too(seed):
    draft, ends = random_draft(seed, back=True)
    regret, visits, _ = solved(draft, ends)
    assert draft.settled
    np.testing.assert_allclose(draft.regret, regret, rtol=1e-4)
    np.testing.assert_allclose(draft.visits, visits, rtol=1e-4, atol=1e-5)


def test_what_can_reach_a_line_is_what_leads_there():
    for seed in range(20):
        draft, _ = random_draft(seed)
        leads = np.eye(draft.n_lines, dtype=int)
        for n, to in np.argwhere(np.ones_like(draft.links)):
            if draft.links[n, to] >= draft.first_line:
                leads[n, draft.links[n, to] - draft.first_line] = 1
        reached = np.linalg.matrix_power(leads, draft.n_lines) > 0
        for n in range(draft.n_lines):
            assert (draft.ancestors(n) == reached[:, n]).all()
