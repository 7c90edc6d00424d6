"""More kinds than a search looks at: some stand for all, and those that a plan serves worst are added.

Tables hold every line under every kind, so memory and time grow with the kinds. A plan that leads to one of a few best
options needs far fewer: a search over some of each group of kinds with one best option, then over these and the kinds
that its plan serves worst, and so on. What is promised in the end is about all kinds.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from banditree.certificates.outcomes import box_outcomes
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.plans.words import Vocabulary
from banditree.progress import OnProgress, Progress
from banditree.protocols.objectives import Objective
from banditree.protocols.reading import plan_of
from banditree.protocols.variants import Nearby
from banditree.tasks.arrays import BoolArray, IntArray
from banditree.tasks.changes import with_parameters
from banditree.tasks.collection import Collection

FEW = 60  # This many kinds, and one for each best option at least, stand for all at first ...
ADDED = 20  # ... and this many that the plan serves worst are added from one search to the next.
SHARES = (0.5, 0.25, 0.25)  # The searches share the steps like this ...
MORE = 3  # ... and there are up to this many more like the last, until a plan comes to rest under every kind.

Search = Callable[[Collection, Nearby | None, float, OnProgress], Nearby]
"""The kinds to look at, where to begin, the share of the steps, and who listens; what is found."""


def search_many(
    collection: Collection, horizon: int, objective: Objective, search: Search, on_progress: OnProgress | None
) -> Nearby:
    """The best of the plans that searches over some of the kinds find, for all kinds; no others are known near it."""
    from banditree.protocols.scenarios import Corners

    chosen, near, best, least, listening = standing_for_all(collection), None, None, np.inf, _Listening(on_progress)
    tried, regret = None, np.zeros(collection.n_tasks)
    for turn, share in enumerate((*SHARES, *SHARES[-1:] * MORE)):
        some, nearest = _some(collection, chosen)
        if near is not None:
            near = _about(near, some, horizon)
        near = search(some, near, share, listening.part(share))
        assert near.draft is not None
        if near.draft is not tried:  # it is where nothing better was found for more kinds
            tried, members = near.draft, np.eye(len(chosen))[:, nearest]
            found = _about(near, collection, horizon, members)
            regret = Corners(near.draft, collection).regret(np.zeros(collection.means.shape, np.int64))
            lost = float(regret @ collection.weights if objective is Objective.MEAN else regret.max())
            regret[_endless_under(found.plan, collection)] = np.inf
            lost = lost if np.isfinite(regret).all() else np.inf
            if best is None or lost < least:
                least, best = lost, found
        if listening.stopped or (turn + 1 >= len(SHARES) and least < np.inf):
            break
        others = np.setdiff1d(np.argsort(-regret, kind="stable")[: len(chosen) + ADDED], chosen, assume_unique=True)
        chosen = np.concatenate([chosen, others[np.argsort(-regret[others], kind="stable")][:ADDED]])
    assert best is not None
    return replace(best, draft=None, known={})


def standing_for_all(collection: Collection) -> IntArray:
    """The numbers of the kinds that stand for all: of each group with one best option as many as fit its size, as far
    from each other as can be."""
    best, means = collection.best_arms, collection.means
    groups, sizes = np.unique(best, return_counts=True)
    found = list[int]()
    for group, size in zip(groups, sizes, strict=True):
        members = np.flatnonzero(best == group)
        own = means[members]
        wanted = min(size, max(1, int(FEW * size / collection.n_tasks)))
        middle = int(((own - own.mean(axis=0)) ** 2).sum(axis=1).argmin())
        taken, far = [middle], ((own - own[middle]) ** 2).sum(axis=1)
        while len(taken) < wanted:
            taken.append(int(far.argmax()))
            far = np.minimum(far, ((own - own[taken[-1]]) ** 2).sum(axis=1))
        found += members[taken].tolist()
    return np.array(found)


def _some(collection: Collection, chosen: IntArray) -> tuple[Collection, IntArray]:
    """The chosen kinds with the shares of those they stand for, and which of them stands for each kind (M,)."""
    means, best = collection.means, collection.best_arms
    apart = ((means[:, None] - means[chosen]) ** 2).sum(axis=2)
    apart[best[:, None] != best[chosen]] += means.shape[1]  # another best option is farther than any rates are
    nearest = np.asarray(apart.argmin(axis=1))
    shares = np.bincount(nearest, collection.weights, len(chosen))
    names = tuple(collection.tasks[kind] for kind in chosen)
    about = {"tasks": names, "counts": None, "spread": None, "shares": shares / shares.sum()}
    return with_parameters(collection, collection.parameters[chosen], **about), nearest


def _endless_under(plan: Plan, collection: Collection) -> BoolArray:
    """The kinds (M,) under which a plan may never come to rest."""
    from banditree.certificates.equations import endless_under

    return endless_under(machine_of(plan), box_outcomes(plan, collection), plan.horizon)


def _about(near: Nearby, collection: Collection, horizon: int, members: "np.ndarray | None" = None) -> Nearby:
    """The same plan, said about other kinds; members: (S, M), which of the kinds looked at stands for each."""
    assert near.draft is not None
    plan = plan_of(near.draft, collection, horizon, near.seed, Vocabulary(), members=members)
    return replace(near, plan=plan, collection=collection, known={})


class _Listening:
    """Reports of several searches as those of one, and whether somebody said stop."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self.on_progress, self.stopped, self.reached = on_progress, False, 0.0

    def part(self, share: float) -> OnProgress:
        """The callback for the next search."""
        begin, self.reached = self.reached, self.reached + share

        def report(progress: Progress) -> bool:
            done = int(progress.total * min(1.0, begin + share * min(1.0, progress.done / max(progress.total, 1))))
            said = None if self.on_progress is None else self.on_progress(replace(progress, done=done))
            self.stopped = self.stopped or said is False
            return not self.stopped

        return report
