"""Which column of a log says what: the task, the arm, the reward, the context."""

from collections.abc import Sequence
from dataclasses import dataclass

from banditree.errors import InvalidInput, invalid

# The usual names, also those of MABWiser (decision, reward), Open Bandit Pipeline (action, item_id, click, pscore)
# and mab2rec (user_id, item_id, response). Letters may be large or small.
USUAL_NAMES = {
    "task": ("task", "class", "segment", "group"),
    "individual": ("individual", "individual_id", "user_id", "patient_id", "customer_id", "case", "case_id"),
    "arm": ("arm", "action", "decision", "item_id", "treatment"),
    "reward": ("reward", "click", "response", "outcome"),
    "propensity": ("propensity", "pscore", "propensity_score"),
    "round": ("round", "occasion", "visit", "visit_id", "purchase", "purchase_id", "decision_id"),
    "time": ("time", "timestamp", "date", "datetime"),
}


@dataclass(frozen=True)
class Columns:
    """The columns of a log that are used: the task, the individual, or both.

    An individual alone: the tasks are to be found. Both: rows of one individual count together.
    `context` are the context columns; of these, `categorical` and `numeric` settle what their type leaves open.
    """

    task: str | None
    individual: str | None
    arm: str
    reward: str
    context: tuple[str, ...] = ()
    propensity: str | None = None
    categorical: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()

    @property
    def unit(self) -> str:
        """The column whose values are the tasks of the statistics: the individual if there is one, else the task."""
        name = self.individual if self.individual is not None else self.task
        assert name is not None
        return name


def find_columns(
    names: Sequence[str],
    *,
    task: str | None = None,
    individual: str | None = None,
    arm: str | None = None,
    reward: str | None = None,
    context: Sequence[str] = (),
    propensity: str | None = None,
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
) -> Columns:
    """The columns of a log whose columns are called `names`: those given, and the usual names for the others.

    A propensity that is recognised but not given is used only in a log without context columns: with contexts means
    need none (NOTES 9).

    >>> found = find_columns(["user_id", "item_id", "response", "age"])
    >>> found.individual, found.arm, found.reward
    ('user_id', 'item_id', 'response')
    """
    used = [name for name in (task, individual, arm, reward, propensity, *context) if name is not None]
    for name in (*used, *categorical, *numeric):
        if name not in names:
            raise invalid("a column", f"one of {', '.join(names)}", name)
    if repeated := sorted({name for name in used if used.count(name) > 1}):
        raise invalid("columns", "used for one thing each", repeated)
    if stray := sorted({*categorical, *numeric} - set(context)):
        raise invalid("categorical and numeric columns", "among the context columns", stray)
    if task is None and individual is None:
        task = recognise("task", names, used)
        individual = None if task is not None else recognise("individual", names, used)
        if task is None and individual is None:
            raise unknown_column("task", names, ' (or individual="NAME")')
    if propensity is None and not context:
        propensity = recognise("propensity", names, used)
    found = {"arm": arm or recognise("arm", names, used), "reward": reward or recognise("reward", names, used)}
    if unknown := [role for role, name in found.items() if name is None]:
        raise unknown_column(unknown[0], names)
    return Columns(
        task,
        individual,
        str(found["arm"]),
        str(found["reward"]),
        tuple(context),
        propensity,
        frozenset(categorical),
        frozenset(numeric),
    )


def recognise(role: str, names: Sequence[str], used: Sequence[str]) -> str | None:
    """The column of `names` that is called what `role` usually is and is not used for anything else, if any."""
    matches = [name for name in names if name.lower() in USUAL_NAMES[role] and name not in used]
    if len(matches) > 1:
        raise InvalidInput(f'The {role} could be {" or ".join(matches)}. Say which: {role}="{matches[0]}".')
    return matches[0] if matches else None


def unknown_column(role: str, names: Sequence[str], also: str = "") -> InvalidInput:
    """The error for a column that must be named because none has a usual name."""
    return InvalidInput(
        f'No column is called what the {role} usually is. Say which one it is: {role}="NAME"{also}. '
        f"The log has: {', '.join(names)}."
    )
