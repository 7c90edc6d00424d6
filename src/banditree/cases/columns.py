"""Which column of a log says what: the task, the case, the arm, the reward, the round, the time, the context."""

from collections.abc import Iterator, Mapping, Sequence
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
    "round": ("round", "period", "occasion", "visit", "visit_id", "purchase", "purchase_id", "decision_id"),
    "time": ("time", "timestamp", "date", "datetime", "at"),
    "overridden": ("overridden",),
}


@dataclass(frozen=True)
class Columns:
    """The columns of a log that are used: the task, the individual (the case), or both.

    An individual alone: the tasks are to be found. Both: rows of one individual count together.
    `context` are the context columns; of these, `categorical` and `numeric` settle what their type leaves open.
    labels: columns by which cases can be told apart, such as their site.
    """

    task: str | None
    individual: str | None
    arm: str
    reward: str
    context: tuple[str, ...] = ()
    propensity: str | None = None
    categorical: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()
    round: str | None = None
    time: str | None = None
    overridden: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The column whose values are the tasks of the statistics: the individual if there is one, else the task."""
        name = self.individual if self.individual is not None else self.task
        assert name is not None
        return name


def find_columns(
    names: Sequence[str],
    *,
    context: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    labels: Sequence[str] = (),
    by_case: bool = False,
    **given: str | None,
) -> Columns:
    """The columns of a log whose columns are called `names`: those given, and the usual names for the others.

    given: task, individual, arm, reward, propensity, round, time. by_case: rows are needed case by case and in order,
    so there must be an individual, and round and time are looked for; otherwise there must be a task or an individual,
    and a propensity that is recognised but not given is used only in a log without context columns: with contexts means
    need none (NOTES 9).

    >>> find_columns(["user_id", "occasion", "item_id", "click"], by_case=True).round
    'occasion'
    """
    if unknown := sorted(given.keys() - USUAL_NAMES.keys()):
        raise invalid("a role of a column", f"one of {', '.join(USUAL_NAMES)}", unknown[0])
    used = [name for name in (*given.values(), *context) if name is not None]
    for name in (*used, *categorical, *numeric, *labels):
        if name not in names:
            raise invalid("a column", f"one of {', '.join(names)}", name)
    if repeated := sorted({name for name in used if used.count(name) > 1}):
        raise invalid("columns", "used for one thing each", repeated)
    if stray := sorted({*categorical, *numeric} - set(context)):
        raise invalid("categorical and numeric columns", "among the context columns", stray)
    found = dict.fromkeys(USUAL_NAMES, None) | given
    for role in _looked_for(found, by_case, bool(context)):
        found[role] = found[role] or recognise(role, names, used)
    if not by_case and found["task"] is None and found["individual"] is None:
        raise unknown_column("task", names, ' (or individual="NAME")')
    for role in ("individual", "arm", "reward") if by_case else ("arm", "reward"):
        if found[role] is None:
            raise unknown_column(role, names)
    kinds = {"categorical": frozenset(categorical), "numeric": frozenset(numeric)}
    return Columns(context=tuple(context), labels=tuple(labels), **kinds, **found)  # type: ignore[arg-type]


def _looked_for(given: Mapping[str, str | None], by_case: bool, has_context: bool) -> Iterator[str]:
    """The roles that a column may have by its name alone; what names kinds is not also asked who the cases are."""
    if by_case:
        yield from ("individual", "round", "time", "propensity", "overridden")
    else:
        if given["task"] is None and given["individual"] is None:
            yield "task"
        if given["task"] is None:
            yield "individual"
        if not has_context:
            yield "propensity"
    yield from ("arm", "reward")


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
