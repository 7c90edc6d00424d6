"""From a log of trajectories to a collection with states: what was given in each state, and what came of it.

A case is a row of counts: how often each outcome, and each next state, followed an option in a state. Kinds that nobody
wrote down are found as a mixture of such processes (EM); margins are by case, as the rounds of one case go together.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from banditree.cases.reading import read_cases
from banditree.cases.table import Cases
from banditree.errors import InvalidInput, invalid
from banditree.nouns import counted
from banditree.progress import OnProgress
from banditree.settings import keywords
from banditree.shown import Shown
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection_checks import checked_shares
from banditree.tasks.states import StateCollection
from banditree.training.collection import Untried
from banditree.training.intervals import radius_of_clustered_rate
from banditree.training.links import Links, require_links, weak_links
from banditree.training.process_mixture import ProcessMixture, find_processes
from banditree.training.settings import LearnSettings

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

COLUMNS = ("table", "task", "individual", "arm", "reward", "state", "time")
HOW = ("states", "drop_bad_rows", "untried", "failure_probability", "kinds", "criterion", "shares", "seed")
USES = (*COLUMNS, *HOW)
SURE = 0.8  # Kinds that most cases are of with less certainty than this are hardly told apart.


class Layout(NamedTuple):
    """What the columns of the counts of a case are: S states, K options; outcomes (S, K, 2) first, then moves
    (S, K, S)."""

    n_states: int
    n_arms: int

    @property
    def groups(self) -> list[slice]:
        """The columns of which one is counted at a time."""
        S, K = self
        both = [slice(2 * n, 2 * n + 2) for n in range(S * K)]
        return both + [slice(2 * S * K + n * S, 2 * S * K + (n + 1) * S) for n in range(S * K)]

    def tables(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Columns (M, C) as outcomes (M, S, K, 2) and moves (M, S, K, S)."""
        S, K = self
        outcomes, moves = columns[:, : 2 * S * K], columns[:, 2 * S * K :]
        return outcomes.reshape(-1, S, K, 2), moves.reshape(-1, S, K, S)


@dataclass(frozen=True, eq=False)
class Trajectories:
    """The cases of a log: counts (U, C) by the layout, the state that each began in (U,), and their kinds where the log
    names them."""

    counts: "csr_matrix"
    layout: Layout
    first: IntArray
    states: tuple[str, ...]
    arms: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    labels: IntArray | None = None
    n_rows: int = 0
    notes: tuple[str, ...] = ()

    @property
    def tried(self) -> BoolArray:
        """(U, S K): whether a case was given an option in a state."""
        size = 2 * self.layout.n_states * self.layout.n_arms
        return np.asarray(self.counts[:, :size].toarray().reshape(len(self.first), -1, 2).sum(axis=2) > 0)


@dataclass(frozen=True, eq=False)
class LearnedStates(Shown):
    """A collection with states and what was found on the way: rounds (M, S, K) that show it, and kinds if these were
    found."""

    name: str
    trajectories: Trajectories
    collection: StateCollection
    rounds: FloatArray
    mixture: ProcessMixture | None = None
    notes: tuple[str, ...] = ()


@keywords(LearnSettings)
def learn_states(source: Any, *, on_progress: OnProgress | None = None, **settings: Any) -> LearnedStates:
    """The collection with states that a log of trajectories gives.

    The log has a row per round: the case, its state, the option and its outcome (0, 1 or missing), in the order of
    `time` or of the rows. settings: of `LearnSettings`, with `state`. Without a task the kinds are found.

    >>> import polars
    >>> log = {"case": [1] * 5 + [2] * 5, "task": ["mild"] * 5 + ["bad"] * 5, "state": list("aabba") * 2}
    >>> log |= {"arm": list("ABABA") * 2, "reward": [1, 0, 1, 0, 1, 0, 1, 0, 1, 1]}
    >>> found = learn_states(polars.DataFrame(log), state="state", task="task")
    >>> found.collection.rates[:, 0].tolist(), found.rounds[0, 0].tolist()
    ([[0.5, 1.0], [1.0, 0.0]], [2.0, 1.0])
    """
    how = LearnSettings(**settings)
    if others := [name for name in how.changed if name not in USES]:
        raise InvalidInput(f"{others[0]} must be omitted with states. A log with states may have {', '.join(USES)}.")
    seen = read_trajectories(source, how)
    mixture = None
    if seen.labels is None:
        mixture = _kinds(seen, how, on_progress)
        seen = replace(seen, tasks=tuple(f"kind {i + 1}" for i in range(len(mixture.shares))))
        chances = mixture.chances
    else:
        chances = np.eye(len(seen.tasks))[seen.labels]
    name = getattr(source, "name", None) or (str(source) if isinstance(source, str | Path) else "the log")
    provenance = f"estimated from {name}, {counted(seen.n_rows, 'row')} of {counted(len(seen.first), 'case')}"
    provenance += "" if mixture is None else f", {counted(len(mixture.shares), 'kind')} found"
    collection, rounds, notes = _collection(seen, chances, mixture, how, provenance)
    if mixture is not None and (sure := mixture.chances.max(axis=1).mean()) < SURE:
        notes += (f"Cases are of their likeliest kind with a chance of only {sure:.0%} on average.",)
    return LearnedStates(name, seen, collection, rounds, mixture, (*seen.notes, *notes))


def read_trajectories(source: Any, how: LearnSettings) -> Trajectories:
    """The cases of a log, as counts."""
    if how.state is None:
        raise invalid("state", "the name of the column with the state", None)
    columns = [how.state, *([] if how.task is None else [how.task])]
    roles = {name: getattr(how, name) for name in ("individual", "arm", "reward", "time")}
    cases = read_cases(
        source,
        table=how.table,
        drop_bad_rows=how.drop_bad_rows,
        context=columns,
        categorical=columns,
        by_row=True,
        **roles,
    )
    names, state = _levels(cases, how.state)
    if how.states:
        if set(how.states) != set(names):
            raise invalid("states", f"the states of the log in your order ({', '.join(names)})", ", ".join(how.states))
        state, names = np.array([how.states.index(name) for name in names])[state], tuple(how.states)
    tasks: tuple[str, ...] = ()
    labels = None
    if how.task is not None:
        tasks, of_round = _levels(cases, how.task)
        labels = of_round[cases.first[:-1]]
        if (off := np.flatnonzero(of_round != labels[cases.owner])).size:
            case = cases.cases[cases.owner[off[0]]]
            raise InvalidInput(f"Case {case!r} has several values of {how.task!r}. The kind of a case stays the same.")
    counts, layout = _counted(cases, state, len(names))
    about: dict[str, Any] = {"tasks": tasks, "labels": labels, "n_rows": len(state), "notes": cases.notes}
    return Trajectories(counts, layout, state[cases.first[:-1]], names, cases.arms, **about)


def _levels(cases: Cases, column: str) -> tuple[tuple[str, ...], IntArray]:
    """(names, number of each round) of a column of text, from its features."""
    assert cases.contexts is not None
    places = [n for n, feature in enumerate(cases.features) if feature.name == column]
    if not places:
        raise invalid(f"column {column!r}", "of at least two different values", "one")
    names = cases.features[places[0]].levels
    return tuple(names), (cases.contexts[:, places] * np.arange(1, len(places) + 1)).sum(axis=1).astype(np.int64)


def _counted(cases: Cases, state: IntArray, n_states: int) -> tuple["csr_matrix", Layout]:
    from scipy.sparse import csr_matrix

    layout = Layout(n_states, len(cases.arms))
    cell, owner = state * layout.n_arms + cases.arm, cases.owner
    outcome = (2 * cell + (cases.reward > 0.5))[cases.told]
    goes_on = owner[:-1] == owner[1:]
    move = 2 * n_states * layout.n_arms + cell[:-1][goes_on] * n_states + state[1:][goes_on]
    rows, columns = np.concatenate([owner[cases.told], owner[:-1][goes_on]]), np.concatenate([outcome, move])
    shape = (cases.n_cases, n_states * layout.n_arms * (2 + n_states))
    return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape), layout


def _kinds(seen: Trajectories, how: LearnSettings, on_progress: OnProgress | None) -> ProcessMixture:
    links = _links(seen)
    require_links(links, seen.n_rows)
    found = find_processes(
        seen.counts,
        seen.layout.groups,
        n_kinds=how.kinds,
        criterion=how.criterion,
        seed=how.seed,
        on_progress=on_progress,
    )
    if len(found.shares) < 2:
        raise InvalidInput(
            "All cases go alike: one kind fits best, so there is nothing to find out about a new case. Give the "
            "best option in each state, or ask for two kinds: kinds=2."
        )
    return found


def _links(seen: Trajectories) -> Links:
    """Which options in which states the same cases were given."""
    tried = seen.tried
    used = np.flatnonzero(tried.any(axis=0))
    names = [f"{seen.arms[cell % len(seen.arms)]} in {seen.states[cell // len(seen.arms)]}" for cell in used]
    number = tried[:, used].astype(np.int64)
    return Links(tuple(names), number.T @ number, tried[:, used])


def _collection(
    seen: Trajectories, chances: FloatArray, mixture: ProcessMixture | None, how: LearnSettings, provenance: str
) -> tuple[StateCollection, FloatArray, tuple[str, ...]]:
    """The collection with its margins, the rounds (M, S, K) that show it, and what there is to say."""
    columns = np.asarray(chances.T @ seen.counts)
    outcomes, moves = seen.layout.tables(columns)
    rounds = outcomes.sum(axis=3)
    missing, notes = (rounds < 1) | (moves.sum(axis=3) < 1), () if mixture is None else tuple(weak_links(_links(seen)))
    tasks, arms = np.arange(len(seen.tasks)), np.arange(len(seen.arms))
    if missing.any():
        tasks, arms = _left(seen, missing, how.untried)
        notes += (f"{counted(int(missing.sum()), 'cell')} of kind, state and option had no rounds with a next state.",)
    error = None if mixture is None else mixture.errors
    within, next_within = seen.layout.tables(_margins(seen, chances, columns, error, how.failure_probability))
    rates, next_ = _shares(outcomes, tasks, arms)[..., 1], _shares(moves, tasks, arms)
    kept = np.ix_(tasks, np.arange(len(seen.states)), arms)
    shares = chances.mean(axis=0)[tasks] / chances.mean(axis=0)[tasks].sum()
    if how.shares:
        given = [how.shares[seen.tasks[i]] for i in tasks] if isinstance(how.shares, dict) else how.shares
        shares = checked_shares(given, len(tasks))
    found = StateCollection(
        rates,
        next_,
        tasks=[seen.tasks[i] for i in tasks],
        arms=[seen.arms[k] for k in arms],
        states=seen.states,
        start=np.bincount(seen.first, minlength=len(seen.states)) / len(seen.first),
        shares=shares,
        provenance=provenance,
        rate_margin=within[..., 1][kept],
        move_margin=next_within[kept],
    )
    return found, rounds[kept], notes


def _shares(counts: FloatArray, tasks: IntArray, arms: IntArray) -> FloatArray:
    """Counts (M, S, K, G) of some tasks and arms as shares; over all tasks together where a task has none."""
    total = counts.sum(axis=3, keepdims=True)
    filled = np.where(total < 1, counts.sum(axis=0), counts)[np.ix_(tasks, np.arange(counts.shape[1]), arms)]
    return np.asarray(filled / filled.sum(axis=3, keepdims=True))


def _left(seen: Trajectories, missing: BoolArray, untried: Untried) -> tuple[IntArray, IntArray]:
    """The tasks and arms that are left where some have no rounds."""
    tasks, arms = np.arange(len(missing)), np.arange(missing.shape[2])
    untried = Untried(untried)
    if untried is Untried.REFUSE:
        named = [f"{seen.arms[k]!r} in {seen.states[s]!r} for {seen.tasks[i]!r}" for i, s, k in np.argwhere(missing)]
        more = f"; and {len(named) - 5} more" if len(named) > 5 else ""
        raise InvalidInput(
            f"Some options have no round with a next state: {'; '.join(named[:5])}{more}. Drop these options or kinds, "
            'or borrow what they do over all kinds: untried="drop-arm", untried="drop-task" or untried="borrow".'
        )
    if untried is Untried.DROP_ARM:
        arms = np.flatnonzero(~missing.any(axis=(0, 1)))
    elif untried is Untried.DROP_TASK:
        tasks = np.flatnonzero(~missing.any(axis=(1, 2)))
    if untried is Untried.BORROW and (never := np.argwhere(missing.all(axis=0))).size:
        s, k = never[0]
        raise InvalidInput(f"{seen.arms[k]!r} was never given in {seen.states[s]!r}, so nothing can be borrowed.")
    if min(len(tasks), len(arms)) < 2:
        raise InvalidInput('Too little is left of the log. Borrow what is missing: untried="borrow".')
    return tasks, arms


def _margins(
    seen: Trajectories, chances: FloatArray, columns: FloatArray, errors: FloatArray | None, alpha: float
) -> FloatArray:
    """How far each share of a group of columns may be off (M, C), all at once; errors: those of a mixture."""
    found = np.ones(columns.shape)
    tail = alpha / (sum(max(group.stop - group.start - 1, 1) for group in seen.layout.groups) * len(columns))
    for group in seen.layout.groups:
        own = seen.counts[:, group].toarray()
        total, n = own.sum(axis=1), columns[:, group].sum(axis=1)[:, None]
        cases = (chances.T @ (total > 0))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            share, by = columns[:, group] / n, chances.T**2
            squares = by @ own**2 - 2 * share * (by @ (own * total[:, None])) + share**2 * (by @ total**2)[:, None]
            error = np.sqrt(np.maximum(squares, 0.0) * cases / np.maximum(cases - 1, 1e-9)) / n
            error = error if errors is None else np.maximum(error, errors[:, group])
            margin = radius_of_clustered_rate(share, error, n, cases, tail)
        found[:, group] = np.where(n > 0, np.clip(np.nan_to_num(margin, nan=1.0), 0.0, 1.0), 1.0)
    return found
