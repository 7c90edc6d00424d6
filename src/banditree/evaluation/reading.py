"""A log as a History: which rows are one round, in which order, and whose."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.evaluation.history import History
from banditree.evaluation.reading_contexts import CONTEXT, context_names, contexts_of
from banditree.tasks.arrays import IntArray
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import Rewards
from banditree.training.advice import advice
from banditree.training.cells import natural, padded_note
from banditree.training.columns import Columns, recognise, unknown_column
from banditree.training.rows import Problem, any_of, describe_bad_rows, problems_of
from banditree.training.sources import Log, open_log, plainly
from banditree.training.view import as_key, as_number

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Roles:
    """Which column says what: the case, the arm, the reward, and where there are any the round, time and propensity."""

    individual: str
    arm: str
    reward: str
    round: str | None = None
    time: str | None = None
    propensity: str | None = None


def find_roles(names: Sequence[str], **given: str | None) -> Roles:
    """The columns given, and for the others those with usual names.

    >>> find_roles(["user_id", "occasion", "item_id", "click"])
    Roles(individual='user_id', arm='item_id', reward='click', round='occasion', time=None, propensity=None)
    """
    used = [name for name in given.values() if name is not None]
    for name in used:
        if name not in names:
            raise invalid("a column", f"one of {', '.join(names)}", name)
    if len(set(used)) < len(used):
        raise invalid("columns", "used for one thing each", sorted(used))
    found = {role: given.get(role) or recognise(role, names, used) for role in Roles.__dataclass_fields__}
    for role in ("individual", "arm", "reward"):
        if found[role] is None:
            raise unknown_column(role, names)
    return Roles(**found)  # type: ignore[arg-type]


def read_history(
    source: Any,
    *,
    rewards: Rewards,
    table: str | None = None,
    drop_bad_rows: bool = False,
    features: Sequence[Feature] = (),
    hint: str | None = None,
    **roles: str | None,
) -> History:
    """The history of a log that has one row per decision, or one row per option of every decision.

    source, table: as in `open_log`. roles: individual, arm, reward, round, time, propensity, or their usual names.
    hint: what to try when rewards are not of the family.
    Rows of the same case and round are one decision whose outcomes are all known. Without a round column they are those
    of the same time, or every K consecutive rows that have every arm once. Rounds are in the order of `time`, else in
    that of the rows. features: of the contexts, whose columns have these names and one value in all rows of a decision.

    >>> import polars
    >>> from banditree.tasks.rewards import BERNOULLI
    >>> rows = {"individual": [1, 1, 1, 1], "arm": ["A", "B", "A", "B"], "reward": [1, 0, 0, 1]}
    >>> read_history(polars.DataFrame(rows), rewards=BERNOULLI).outcomes.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # engines warn about their own libraries, which the user cannot change
        log = open_log(source, table)
        found = find_roles(list(log.types), **roles)
        asked = context_names(features, log)
        context = tuple(asked)
        columns = Columns(None, found.individual, found.arm, found.reward, context, propensity=found.propensity)
        categorical = [name for name, is_category in asked.items() if is_category]
        problems = [*problems_of(log, columns, categorical, rewards), *_order_problems(log, found)]
        rows = _rows(log, found, problems, asked)
        good = ~rows["bad"].to_numpy()
        if not len(good):
            raise InvalidInput(f"{log.name} has a header and no rows. Check that it is the right file.")
        if not good.all() and not (drop_bad_rows and good.any()):
            bad = describe_bad_rows(log, problems)
            raise InvalidInput(f"{log.name} has {bad} {advice(log, bad, len(good), columns, rewards, hint)}")
    if not log.ordered and found.time is None and found.round is None:
        raise InvalidInput(f'The rows of {log.name} have no order. Say which column gives it: time="NAME".')
    return _history(rows.filter(good), found, features, in_order=log.ordered)


def _order_problems(log: Log, roles: Roles) -> list[Problem]:
    names = [name for name in (roles.round, roles.time) if name is not None]
    return [Problem(f"{name} missing", as_key(log.table[name]).isnull().fill_null(False)) for name in names]


def _rows(log: Log, roles: Roles, problems: Sequence[Problem], asked: Mapping[str, bool]) -> "pa.Table":
    """The columns that are used: u, a, r, if given o(ccasion), t(ime), p(ropensity), contexts; which rows are bad."""
    table = log.table
    used = {"u": as_key(table[roles.individual]), "a": as_key(table[roles.arm]), "r": as_number(table[roles.reward])}
    if roles.round is not None:
        used["o"] = as_key(table[roles.round])
    if roles.time is not None:
        time = table[roles.time]
        used["t"] = as_number(time) if log.types[roles.time].is_numeric() else time
    if roles.propensity is not None:
        used["p"] = as_number(table[roles.propensity])
    for name, is_category in asked.items():
        used[CONTEXT + name] = as_key(table[name]) if is_category else as_number(table[name])
    try:
        return table.select(**used, bad=any_of(problems)).to_pyarrow()
    except Exception as problem:
        raise InvalidInput(f"{log.name} cannot be read: {plainly(problem)}") from None


def _history(rows: "pa.Table", roles: Roles, features: Sequence[Feature], *, in_order: bool) -> History:
    cases, case = _numbered(rows["u"])
    arms, arm = _numbered(rows["a"])
    time = _numbered(rows["t"])[1] if "t" in rows.column_names else np.zeros(len(case), np.int64)
    if "o" in rows.column_names:
        round_, how = _numbered(rows["o"])[1], f"Rounds are the values of {roles.round!r}."
    else:
        round_, how = _guessed_rounds(case, arm, time, len(arms), timed=roles.time is not None)
    key = case * (round_.max(initial=0) + 1) + round_
    _, begins, number = np.unique(key, return_index=True, return_inverse=True)
    place = begins if in_order else np.unique(key)
    order = np.lexsort((place, time[begins], case[begins]))
    rank = np.argsort(order)
    if len(np.unique(number * len(arms) + arm)) < len(arm):
        raise _repeated(roles, arms, number, arm)
    outcomes = np.full((len(begins), len(arms)), np.nan)
    outcomes[rank[number], arm] = rows["r"].to_numpy().astype(float)
    first = np.concatenate([[0], np.cumsum(np.bincount(case[begins], minlength=len(cases)))])
    chances = None
    if "p" in rows.column_names and len(begins) == len(arm):
        chances = np.empty(len(begins))
        chances[rank[number]] = rows["p"].to_numpy().astype(float)
    padded = [*padded_note(rows["u"], roles.individual), *padded_note(rows["a"], roles.arm)]
    contexts = None
    if features:
        each = contexts_of(rows, features)
        contexts = np.empty((len(begins), len(features)))
        contexts[rank[number]] = each
        if (differs := (contexts[rank[number]] != each).any(axis=0)).any():
            name = features[int(differs.argmax())].name
            raise InvalidInput(f"Context column {name!r} must be the same in all rows of one decision, and is not.")
    return History(cases, arms, first, outcomes, chances, (how, *padded), contexts)


def _guessed_rounds(case: IntArray, arm: IntArray, time: IntArray, n_arms: int, *, timed: bool) -> tuple[IntArray, str]:
    """The round of every row where no column says it, and how it was found."""
    if timed:
        place = case * (time.max(initial=0) + 1) + time
        if len(np.unique(place * n_arms + arm)) < len(case):
            return np.arange(len(case)), "Every row is one round: an option comes several times at one time of a case."
        if len(np.unique(place)) < len(case):
            return time, "Rows of one case at one time are one round."
    if _comes_in_blocks(case, arm, n_arms):
        return np.arange(len(case)) // n_arms, f"Every {n_arms} consecutive rows, one per option, are one round."
    return np.arange(len(case)), "Every row is one round."


def _comes_in_blocks(case: IntArray, arm: IntArray, n_arms: int) -> bool:
    """Whether every `n_arms` consecutive rows belong to one case and have every arm once, hardly ever by chance."""
    if n_arms < 2 or len(case) % n_arms or len(case) < 2 * n_arms:
        return False
    cases, arms = case.reshape(-1, n_arms), np.sort(arm.reshape(-1, n_arms), axis=1)
    return bool((cases == cases[:, :1]).all() and (arms == np.arange(n_arms)).all())


def _repeated(roles: Roles, arms: tuple[str, ...], number: IntArray, arm: IntArray) -> InvalidInput:
    values, counts = np.unique(number * len(arms) + arm, return_counts=True)
    name = arms[int(values[counts.argmax()] % len(arms))]
    column = roles.round or roles.time
    return InvalidInput(
        f"Column {column!r} must name one decision of one case, with one row per option. Got {int(counts.max())} rows "
        f'with option {name!r} in one. Say which column does: round="NAME".'
    )


def _numbered(column: "pa.ChunkedArray") -> tuple[tuple[str, ...], IntArray]:
    """The different values as names, in the order a person would give them, and the number of each row's."""
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    names = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v).strip() for v in values]
    is_text = any(isinstance(value, str) for value in values)
    by_name = dict(zip(names, values, strict=True))
    order = sorted(by_name, key=natural if is_text else by_name.__getitem__)
    place = {name: number for number, name in enumerate(order)}
    numbers = np.array([place[name] for name in names], np.int64)
    return tuple(order), numbers[encoded.indices.to_numpy().astype(np.int64)]
