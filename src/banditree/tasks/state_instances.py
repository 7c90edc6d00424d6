"""Generators of collections with states: `hard_states`, `rand_states` and the clinic of the examples."""

import numpy as np

from banditree.errors import invalid
from banditree.tasks.collection import Collection
from banditree.tasks.states import StateCollection


def rand_states(n_tasks: int, n_states: int, n_arms: int, seed: int = 0) -> StateCollection:
    """Uniform success rates, and chances of next states drawn evenly from all there are (Dirichlet with ones).

    >>> rand_states(3, 4, 2).moves.shape
    (3, 4, 2, 4)
    """
    _check_sizes(n_tasks, n_states, n_arms)
    rng = np.random.default_rng(seed)
    rates = rng.random((n_tasks, n_states, n_arms))
    moves = rng.dirichlet(np.ones(n_states), (n_tasks, n_states, n_arms))
    sizes = f"rand-states-{n_tasks}-{n_states}-{n_arms}, seed {seed}"
    return Collection.states(rates, moves, provenance=sizes)


def hard_states(n_tasks: int, n_states: int, seed: int = 0, separation: float = 0.4) -> StateCollection:
    """The `hard` collection of the paper with states: the good arms tell nothing, and the telling arms are bad.

    Arm i < M is best in task i (0.85, against 0.75 in the other tasks) and leads everywhere alike. Under the other M
    arms the success rate is 1/2, up or down by separation/2 at random, and the next state is drawn from a distribution
    of the task's own.

    >>> hard_states(3, 2).rates[0, 0, :3].tolist()
    [0.85, 0.75, 0.75]
    """
    _check_sizes(n_tasks, n_states, 2 * n_tasks)
    if not 0 < separation < 1:
        raise invalid("separation", "between 0 and 1", separation)
    rng = np.random.default_rng(seed)
    M, S = n_tasks, n_states
    rates = np.full((M, S, 2 * M), 0.75)
    rates[np.arange(M), :, np.arange(M)] = 0.85
    rates[:, :, M:] = 0.5 + (rng.integers(0, 2, (M, S, M)) * 2 - 1) * separation / 2
    moves = np.full((M, S, 2 * M, S), 1.0 / S)
    moves[:, :, M:] = rng.dirichlet(np.ones(S), (M, S, M))
    return Collection.states(rates, moves, provenance=f"hard-states-{M}-{S}, separation {separation:g}, seed {seed}")


def clinic_states(n_tasks: int, n_states: int, n_arms: int, seed: int = 0) -> StateCollection:
    """States from well to ill, each a step or none away from the last: what is given moves a case up or down.

    Success is likelier in better states. In every task and state each arm has its own chance of getting better (0.05
    to 0.6) and of getting worse (the more, the less it helps); a case starts in the middle.

    >>> clinic_states(3, 3, 3).states
    ('well', 'moderate', 'ill')
    """
    _check_sizes(n_tasks, n_states, n_arms)
    rng = np.random.default_rng(seed)
    S, helps = n_states, rng.uniform(0, 1, (n_tasks, n_states, n_arms))
    better, worse = 0.05 + 0.55 * helps, 0.05 + 0.35 * (1 - helps)
    moves = np.zeros((n_tasks, S, n_arms, S))
    for s in range(S):
        moves[:, s, :, max(s - 1, 0)] += better[:, s]
        moves[:, s, :, min(s + 1, S - 1)] += worse[:, s]
        moves[:, s, :, s] += 1 - better[:, s] - worse[:, s]
    wellness = np.linspace(0.85, 0.15, S)[None, :, None]
    rates = np.clip(wellness + rng.uniform(-0.1, 0.1, (n_tasks, S, n_arms)), 0.02, 0.98)
    names = {2: ["well", "ill"], 3: ["well", "moderate", "ill"]}.get(S, [f"stage {s + 1}" for s in range(S)])
    provenance = f"clinic-states-{n_tasks}-{S}-{n_arms}, seed {seed}"
    return Collection.states(rates, moves, states=names, start=names[S // 2], provenance=provenance)


def _check_sizes(n_tasks: int, n_states: int, n_arms: int) -> None:
    for name, value in (("n_tasks", n_tasks), ("n_states", n_states), ("n_arms", n_arms)):
        if value < 2:
            raise invalid(name, "at least 2", value)
