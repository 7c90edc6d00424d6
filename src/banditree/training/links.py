"""What a log without labels can show: kinds are found from how one individual responds to several options."""

from dataclasses import dataclass, replace

import numpy as np

from banditree.errors import InvalidInput
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.training.estimates import Estimates, wider
from banditree.training.regression import Outcome
from banditree.training.statistics import Statistics

ENOUGH = 20  # An arm is called weakly linked if fewer individuals tried it and another one.


@dataclass(frozen=True, eq=False)
class Links:
    """Which arms were tried by the same individuals: both (K, K) counts them; tried (U, K) says who tried what."""

    arms: tuple[str, ...]
    both: IntArray
    tried: BoolArray

    @property
    def groups(self) -> list[list[int]]:
        """Arms in groups that individuals link, directly or through other arms."""
        K = len(self.arms)
        linked, group = self.both + np.eye(K) > 0, np.arange(K)
        while (least := np.where(linked, group, K).min(axis=1)).tolist() != group.tolist():
            group = least
        return [np.flatnonzero(group == number).tolist() for number in np.unique(group)]

    @property
    def linked(self) -> BoolArray:
        """(U, K): whether an individual that tried an arm also tried another, which is what ties the two together."""
        return np.asarray(self.tried & (self.tried.sum(axis=1, keepdims=True) > 1))


def find_links(statistics: Statistics) -> Links:
    """The links of a log whose tasks are individuals.

    >>> from banditree.training.statistics import collect
    >>> find_links(collect(["ann", "ann", "bob"], ["x", "y", "y"], [1, 0, 1])).both.tolist()
    [[1, 1], [1, 2]]
    """
    tried = np.zeros((len(statistics.tasks), len(statistics.arms)), dtype=bool)
    tried[statistics.task, statistics.arm] = True
    number = tried.astype(np.int64)
    return Links(statistics.arms, number.T @ number, tried)


def require_links(links: Links, n_rows: int) -> None:
    """Refuse a log in which nobody links some arms: which kind responds how to both is not in it."""
    groups = links.groups
    if len(groups) < 2:
        return
    several = int((links.tried.sum(axis=1) > 1).sum())
    apart = " and ".join(_listed([links.arms[k] for k in group]) for group in groups[:3])
    more = f" and {len(groups) - 3} more" if len(groups) > 3 else ""
    why = f"{several:,} of {len(links.tried):,} individuals tried more than one option"
    if n_rows == len(links.tried):
        why = "every individual has one row"
    raise InvalidInput(
        f"This log cannot show which kinds there are: nobody tried both {apart}{more} ({why}). Kinds are found from "
        "how one individual responds to several options; where nobody had both, any pairing of responses fits equally "
        'well. Name the kinds in a column, which `learn` takes as task="NAME", or use a log in which individuals '
        "change options, such as a crossover."
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:4])
    return shown + (f" or {len(names) - 4} more" if len(names) > 4 else "")


def weak_links(links: Links) -> list[str]:
    """A sentence for every arm whose kinds rest on few individuals who also tried another arm."""
    both = links.linked.sum(axis=0)
    found = []
    for k in np.flatnonzero(both < np.minimum(ENOUGH, links.tried.sum(axis=0))):
        of = int(links.tried[:, k].sum())
        found.append(
            f"Only {both[k]:,} of the {of:,} individuals who tried {links.arms[k]!r} also tried another option, so "
            "little is known about what it does for each kind; its margins say how little."
        )
    return found


def linked_rows(links: Links, statistics: Statistics, chances: FloatArray) -> FloatArray:
    """Rows (M, K) of individuals that link an arm to others, by the chance (U, M) of each individual's kind."""
    task, arm = statistics.task, statistics.arm
    rows = np.where(links.linked[task, arm], statistics.count, 0)
    return np.array([np.bincount(arm, rows * chance[task], len(statistics.arms)) for chance in chances.T])


def widen_weakly_linked(estimates: Estimates, rows: FloatArray) -> Estimates:
    """The estimates with radii as if only the rows (M, K) of linking individuals showed the kinds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = estimates.radius * np.sqrt(np.maximum(estimates.counts / rows, 1.0))
    family = estimates.rewards
    if family.has_range:
        most = np.maximum(estimates.means - family.low, family.high - estimates.means)
        return wider(estimates, np.fmin(np.where(np.isnan(radius), np.inf, radius), most))
    outcomes = estimates.outcomes.copy()
    outcomes[(outcomes == Outcome.FINE) & ~np.isfinite(radius)] = Outcome.TOO_FEW_ROWS
    return replace(wider(estimates, radius), outcomes=outcomes)
