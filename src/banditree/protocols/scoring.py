"""The ways to score the rewards of a collection that a search may use, and the levels at which a line may be left."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.reward_cells import cells_of
from banditree.tasks.rewards.base import Scoring

# Levels that are easy to keep in mind; being held to them costs a search next to nothing.
ROUND = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
LARGER = (120, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1200, 1500, 2000)
ALWAYS = 60  # Levels up to this one are tried at any horizon; above, up to the square root of the horizon.


@dataclass(frozen=True, eq=False)
class Templates:
    """T ways to score: points (T, B) and cuts (T, B-1) of the bins, and the chance (T, K, B, S) of each bin.

    unit: (T,), by which levels are multiplied. usable: (T, K), which arms' lines may use a template. common: (T,),
    which templates suit all arms, so that the safety rule may use them. grading: (T,), the number of the grading that
    gives the points, or NONE for those of the cuts; no array where all are of cuts.
    """

    points: IntArray
    cuts: FloatArray
    chance: FloatArray
    unit: IntArray
    usable: BoolArray
    common: BoolArray
    grading: IntArray | None = None


def levels_for(horizon: int) -> IntArray:
    """The round levels that are worth a look: a score without drift takes as many rounds as its level squared.

    >>> levels_for(1000)[-3:].tolist()
    [40, 50, 60]
    """
    most = max(ALWAYS, int(horizon**0.5))
    return np.array([level for level in (*ROUND, *LARGER) if level <= most])


def templates_of(scenarios: Collection, more: Sequence[Scoring] = ()) -> Templates:
    """The templates for the lines of all arms and, from all arms together, for the safety rule; `more` suit all too."""
    K, parameters = scenarios.n_arms, scenarios.parameters
    everything = parameters.reshape(-1, *parameters.shape[2:])
    own = scenarios.rewards.scorings([*(parameters[:, arm] for arm in range(K)), everything])
    own[K] = [*own[K], *more]
    scorings = list(dict.fromkeys(scoring for arm in own for scoring in arm))
    points, cuts = np.array([one.points for one in scorings]), np.array([one.cuts for one in scorings])
    common = np.array([one in own[K] for one in scorings])
    usable = np.array([[one in own[arm] or one in own[K] for arm in range(K)] for one in scorings])
    # An arm of which all scenarios have the same mean tells nothing, but may be settled on.
    usable &= np.ptp(scenarios.means, axis=0) > 0
    return Templates(points, cuts, bin_chances(scenarios, cuts), unit_of(points), usable, common)


def unit_of(points: IntArray) -> IntArray:
    """By what levels are multiplied (T,): they are in steps of the score, of which those of 1:9 are one unit."""
    steps = np.sqrt(-points.min(axis=1) * points.max(axis=1)) / 3
    return np.asarray(np.maximum(1, np.round(steps)), dtype=np.int64)


def bin_chances(scenarios: Collection, cuts: FloatArray) -> FloatArray:
    """The chance (T, K, B, S) of each bin of each arm's rewards, at rates that are known exactly; cuts: (T, B-1)."""
    K = scenarios.n_arms
    cells = cells_of(replace(scenarios, radius=np.zeros(())), np.arange(K))
    chance = [scenarios.rewards.bins(cells, np.broadcast_to(row, (K, len(row))))[0] for row in cuts]
    return np.ascontiguousarray(np.stack(chance).transpose(0, 2, 3, 1))
