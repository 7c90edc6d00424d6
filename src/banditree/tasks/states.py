"""Collections with states: what is given today changes the state that a case is in tomorrow (Markov processes).

A patient is mild, moderate or severe. In every round the state is known, an option is given, an outcome is seen, and
the next state follows. What nobody knows is the kind of the case.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from banditree.errors import InvalidInput, check_texts, invalid
from banditree.nouns import counted
from banditree.tasks.arrays import FloatArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.collection_checks import checked_shares
from banditree.tasks.rewards import BERNOULLI, Rewards

ADDS_UP = 1e-6  # Chances of next states may be off by this much in all; they are then made to add up.


class Refused:
    """What a collection with states does not have: whoever asks for it cannot do such collections yet, and says so."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, known: "StateCollection | None", owner: type) -> Any:
        if known is None:
            return self
        raise refusal(known)


def refusal(known: "StateCollection") -> InvalidInput:
    """The error where something is asked of a collection with states that is only there without them."""
    return InvalidInput(
        f"This is for collections without states, and the collection has {counted(known.n_states, 'state')} "
        f"({', '.join(known.states[:5])}{', ...' if known.n_states > 5 else ''}). With states there are: build_plan, "
        "certify, simulate_states, sessions, and the commands plan, show, certify, run and analyze (docs/states.md)."
    )


class StateCollection(Collection):
    """M tasks x S states x K arms: chances of a success, and of every next state. `Collection.states` makes it.

    rates: (M, S, K). moves: (M, S, K, S), the chance of each next state. start: (S,), of the state of the first round.
    shares: (M,) of the tasks among cases, None where unknown. rate_margin (M, S, K) and move_margin (M, S, K, S): how
    far estimated chances may be off, None where they are known. Outcomes are 0 or 1. Whatever a collection has only
    without states, such as `means`, raises: nothing that does not know of states computes wrong numbers.

    >>> rates = [[[0.8, 0.3], [0.4, 0.2]], [[0.3, 0.7], [0.1, 0.5]]]
    >>> moves = [[[[0.9, 0.1], [0.5, 0.5]]] * 2, [[[0.4, 0.6], [0.8, 0.2]]] * 2]
    >>> known = Collection.states(rates, moves, states=["mild", "severe"])
    >>> known.n_states, str(known)
    (2, 'Collection of 2 tasks, 2 states and 2 arms, bernoulli rewards, known')
    >>> known.means
    Traceback (most recent call last):
        ...
    banditree.errors.InvalidInput: This is for collections without states, and the collection has 2 states (mild,
    severe). With states there are: build_plan, certify, simulate_states, sessions, and the commands plan, show,
    certify, run and analyze (docs/states.md).
    """

    means = Refused()
    contexts = Refused()
    theta = Refused()
    radius = Refused()
    counts = Refused()
    spread = Refused()
    chances = Refused()
    theta_error = Refused()
    noise = Refused()
    worth = Refused()
    harm = Refused()

    def __init__(
        self,
        rates: Any,
        moves: Any,
        *,
        tasks: Sequence[str],
        arms: Sequence[str],
        states: Sequence[str],
        start: Any = None,
        shares: Any = None,
        provenance: str = "known",
        rate_margin: Any = None,
        move_margin: Any = None,
    ) -> None:
        rates = _chances("rates", rates, 3)
        M, S, K = rates.shape
        found = {
            "rates": rates,
            "tasks": _checked_names("tasks", tasks, M),
            "states": _checked_names("states", states, S),
            "arms": _checked_names("arms", arms, K),
            "rewards": BERNOULLI,
            "provenance": provenance,
            "shares": None if shares is None else checked_shares(shares, M),
            "rate_margin": _checked_margin("rate_margin", rate_margin, (M, S, K)),
            "move_margin": _checked_margin("move_margin", move_margin, (M, S, K, S)),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "moves", _checked_moves(self, moves))
        object.__setattr__(self, "start", _checked_start(self, start))
        _check_reached(self)

    rates: FloatArray
    moves: FloatArray
    states: tuple[str, ...]  # type: ignore[assignment]
    start: FloatArray
    rewards: Rewards
    rate_margin: FloatArray | None
    move_margin: FloatArray | None

    @property
    def is_estimated(self) -> bool:
        """Whether some chance is known only within a margin."""
        return self.rate_margin is not None or self.move_margin is not None

    @property
    def n_tasks(self) -> int:
        """M."""
        return int(self.rates.shape[0])

    @property
    def n_states(self) -> int:
        """S."""
        return int(self.rates.shape[1])

    @property
    def n_arms(self) -> int:
        """K."""
        return int(self.rates.shape[2])

    @property
    def varies(self) -> bool:
        """Whether cases of one task differ: with states, never."""
        return False

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of each task in a mean over tasks (M,)."""
        return frozen(np.full(self.n_tasks, 1 / self.n_tasks) if self.shares is None else self.shares, float)

    def __str__(self) -> str:
        sizes = f"{counted(self.n_tasks, 'task')}, {counted(self.n_states, 'state')} and {counted(self.n_arms, 'arm')}"
        return f"Collection of {sizes}, bernoulli rewards, {self.provenance}"

    __repr__ = __str__

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": str(self)}

    def __replace__(self, **changes: Any) -> NoReturn:
        raise refusal(self)


def with_states(
    rates: Any,
    moves: Any,
    *,
    tasks: Sequence[str] | None = None,
    arms: Sequence[str] | None = None,
    states: Sequence[str] | None = None,
    start: Any = None,
    shares: Any = None,
    provenance: str = "known",
    rate_margin: Any = None,
    move_margin: Any = None,
) -> StateCollection:
    """The collection with these rates (M, S, K) and chances of next states (M, S, K, S).

    start: the name of the first state, or the chance of each (S,); by default the first of the states.
    """
    shape = np.shape(rates)
    if len(shape) != 3:
        raise invalid("rates", "a table by task, state and arm (three dimensions)", f"shape {shape}")
    return StateCollection(
        rates,
        moves,
        tasks=tasks or [f"task {i + 1}" for i in range(shape[0])],
        states=states or [f"state {s + 1}" for s in range(shape[1])],
        arms=arms or [f"arm {k + 1}" for k in range(shape[2])],
        start=start,
        shares=shares,
        provenance=provenance,
        rate_margin=rate_margin,
        move_margin=move_margin,
    )


def _chances(name: str, given: Any, n_dimensions: int) -> FloatArray:
    try:
        array = frozen(given, np.float64)
    except (TypeError, ValueError):
        raise invalid(name, f"a rectangular array of numbers with {n_dimensions} dimensions", given) from None
    if array.ndim != n_dimensions:
        raise invalid(name, f"an array with {n_dimensions} dimensions", f"shape {array.shape}")
    if array.size == 0 or not np.isfinite(array).all() or array.min() < 0 or array.max() > 1 + ADDS_UP:
        bad = array[~((array >= 0) & (array <= 1 + ADDS_UP))]
        raise invalid(name, "chances, in [0, 1]", float(bad[0]) if bad.size else "nothing")
    return array


def _checked_names(word: str, given: Sequence[str], count: int) -> tuple[str, ...]:
    names = tuple(str(name) for name in given)
    if count < 2:
        raise invalid(f"the number of {word}", "at least 2", count)
    if len(names) != count or len(set(names)) < count or not all(name.strip() for name in names):
        raise invalid(word, f"{count} different names", list(names))
    check_texts(word, names)
    return names


def _checked_margin(name: str, given: Any, shape: tuple[int, ...]) -> FloatArray | None:
    if given is None:
        return None
    margin = _chances(name, given, len(shape))
    if margin.shape != shape:
        raise invalid(name, f"of shape {shape}", margin.shape)
    return margin


def _checked_moves(known: StateCollection, given: Any) -> FloatArray:
    moves, (M, S, K) = _chances("moves", given, 4), known.rates.shape
    if moves.shape != (M, S, K, S):
        raise invalid("moves", f"of shape {(M, S, K, S)}, by task, state, arm and next state", moves.shape)
    total = moves.sum(axis=3)
    if (off := np.argwhere(np.abs(total - 1) > ADDS_UP)).size:
        i, s, k = off[0]
        raise InvalidInput(
            f"The chances of the next state must add up to 1. For task {known.tasks[i]!r}, state {known.states[s]!r}, "
            f"arm {known.arms[k]!r} they add up to {total[i, s, k]:g} ({len(off)} such rows in all). Correct them."
        )
    exact = np.abs(total - 1) <= 1e-12  # what a file brings back is not touched again
    return frozen(moves / np.where(exact, 1.0, total)[..., None], float)


def _checked_start(known: StateCollection, given: Any) -> FloatArray:
    S = known.n_states
    if given is None or isinstance(given, str):
        name = known.states[0] if given is None else given
        if name not in known.states:
            raise invalid("start", f"one of {', '.join(known.states)}, or {S} chances", name)
        return frozen(np.eye(S)[known.states.index(name)], float)
    start = _chances("start", given, 1)
    if start.shape != (S,) or abs(start.sum() - 1) > ADDS_UP:
        raise invalid("start", f"{S} chances that add up to 1, one per state", start.tolist())
    return frozen(start if abs(start.sum() - 1) <= 1e-12 else start / start.sum(), float)


def _check_reached(known: StateCollection) -> None:
    """Every state must be reached in some task by some arms; what never happens is mostly a mistake."""
    leads = (known.moves > 0).any(axis=(0, 2))
    here = known.start > 0
    for _ in known.states:
        here = here | (here @ leads)
    if not here.all():
        lost = [name for name, reached in zip(known.states, here, strict=True) if not reached]
        raise InvalidInput(
            f"No case ever reaches the state {lost[0]!r}: not from the start, in any task, with any arm "
            f"({counted(len(lost), 'such state')}). Remove it, or correct the chances of next states."
        )


def state_number(states: Sequence[str], given: str | int) -> int:
    """The number of a state given by name or number."""
    if isinstance(given, str):
        if given in states:
            return list(states).index(given)
    elif not isinstance(given, bool) and isinstance(given, int | np.integer) and 0 <= given < len(states):
        return int(given)
    raise invalid("state", f"one of {', '.join(states)}", given)


def with_its_states(collection: Collection) -> StateCollection:
    """The collection, where it has states; an error where it has none."""
    if isinstance(collection, StateCollection):
        return collection
    raise InvalidInput("The plan has states, and the collection has none. Give the collection that the plan is about.")
