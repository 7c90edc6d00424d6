"""What is known before a round: a context, or the state that a case is in."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.contexts import Feature, asked_names, encode
from banditree.tasks.states import state_number

STATE = "state"  # The name of the state where it comes as the context of a round.


def in_state(states: tuple[str, ...], state: str | int | None, context: Any) -> Any:
    """The context of a round in a state."""
    if state is None:
        return context
    if not states:
        raise invalid("state", "omitted, since this case has no states", state)
    if context is not None:
        raise invalid("context", "omitted where a state is given", context)
    return [state_number(states, state)]


def context_given(
    states: tuple[str, ...], features: tuple[Feature, ...], given: Any, known: FloatArray | None = None
) -> FloatArray:
    """The context that is given, with what is known about the case from an earlier one."""
    if states:
        return state_context(states, given)
    d = len(features)
    if given is None and d == 0:
        return np.empty(0)
    if given is None:
        complete = known is not None and not asked_names(features, known)
        return known if known is not None and complete else np.full(d, np.nan)
    if d == 0:
        raise invalid("context", "omitted, since these tasks have none", given)
    if isinstance(given, Mapping):
        return encode(features, given, known)
    try:
        x = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise invalid("context", f"{d} numbers, or a mapping of names to values", given) from None
    if x.shape != (d,) or not np.isfinite(x).all():
        names = ", ".join(map(str, features))
        raise invalid("context", f"{d} finite numbers ({names})", given)
    return x


def state_context(states: tuple[str, ...], given: Any) -> FloatArray:
    """The number of a state as the context of a round; not a number where none is given."""
    if given is None:
        return np.full(1, np.nan)
    if isinstance(given, Mapping) and list(given) == [STATE]:
        return np.full(1, float(state_number(states, given[STATE])))
    if not (isinstance(given, list) and len(given) == 1 and float(given[0]).is_integer()):
        raise invalid("context", "omitted with states: give state", given)
    return np.full(1, float(state_number(states, int(given[0]))))
