"""What a log says at first sight: which column is what, what is wrong with which rows, what was read.

Run beside the server, like the reading of the file itself: a log may have a million rows.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.cases.calendar import calendar_notes
from banditree.cases.columns import USUAL_NAMES
from banditree.cases.reading import read_cases
from banditree.errors import InvalidInput
from banditree.evaluation.propensities import understood as understood_design
from banditree.languages.language import message
from banditree.service.studio.content import Log, Option, Outcomes, Roles, Seen
from banditree.service.studio.tables import FIRST_ROWS, shown_rows
from banditree.service.studio.understanding import Understood, understood
from banditree.tasks.rewards import BERNOULLI, Family, Gaussian, Graded, Rewards
from banditree.training.logs import read_log

if TYPE_CHECKING:
    import pyarrow as pa

    from banditree.training.logs import Reading
    from banditree.training.statistics import Statistics

MOST_VALUES = 10  # Up to this many different outcomes may be grades.
LOOKED_AT = 100_000  # How a log was made is told from whole cases with about this many rows.
MOST_LISTED = 12  # The page names at most this many kinds.
TRUE_OR_FALSE = {"0", "1", "true", "false"}
# Words for a success, in English, German, French and Spanish.
GOOD = {"yes", "y", "success", "recovered", "recovery", "cured", "good", "bought", "better"}
GOOD |= {"ja", "j", "erfolg", "geheilt", "genesen", "gut", "besser", "gekauft", "wahr"}
GOOD |= {"oui", "o", "succès", "guéri", "guérie", "bon", "mieux", "acheté", "vrai"}
GOOD |= {"si", "sí", "s", "éxito", "curado", "curada", "bueno", "mejor", "comprado", "verdadero"}
# Parts of names that people give their columns, in these languages; the usual names come first.
HINTS = {
    "individual": "patient customer user person client household case individual subject "
    "kunde kundin fall proband usager paciente cliente persona sujet",
    "task": "kind group segment type class gruppe klasse groupe grupo clase tipo",
    "arm": "treatment option drug therapy offer arm action product brand price "
    "behandlung therapie mittel angebot produkt traitement offre produit tratamiento oferta terapia",
    "reward": "outcome reward recover success result response bought click sale cured "
    "ergebnis erfolg geheilt besser gekauft résultat guéri succès acheté resultado éxito curad comprad",
    "time": "date time datum zeit besuch fecha visite jour",
    "propensity": "propensity pscore",
}


def guess_roles(names: Sequence[str]) -> Roles:
    """Which column says what, by their names; each is used once.

    >>> guess_roles(["Patient no.", "Visit date", "Treatment", "Recovered"]).model_dump(exclude_none=True)
    {'individual': 'Patient no.', 'arm': 'Treatment', 'reward': 'Recovered', 'time': 'Visit date'}
    """
    found: dict[str, str] = {}
    for fits in (_is_usual, _is_near):
        for role in HINTS:
            left = [name for name in names if name not in found.values() and fits(role, name)]
            if left and role not in found:
                found[role] = left[0]
    return Roles(**found)


def _is_usual(role: str, name: str) -> bool:
    return name.lower() in USUAL_NAMES[role]


def _is_near(role: str, name: str) -> bool:
    return any(hint in name.lower() for hint in HINTS[role].split())


def first_look(content: bytes, log: Log) -> Log:
    """A log that was just brought, with its columns and outcomes guessed and what was seen of it."""
    read = understood(content, log.reading)
    log = _described(log, read)
    log = log.model_copy(update={"roles": guess_roles(log.columns)})
    return _looked(read, _with_outcomes(read.table, log))


def _described(log: Log, read: Understood) -> Log:
    """The log with what its table shows."""
    about = {"sheets": read.sheets, "sheet": read.sheet, "header": read.header, "notes": read.notes}
    about |= {"questions": read.questions, "columns": list(read.table.column_names), "n_rows": read.table.num_rows}
    about["reading"] = log.reading.model_copy(
        update={"sheet": read.sheet if len(read.sheets) > 1 else None, "header": read.header or None}
    )
    first = range(min(FIRST_ROWS, read.table.num_rows))
    return log.model_copy(
        update={**about, "numbers": [read.numbers[n] for n in first], "first": shown_rows(read.table, first)}
    )


def _with_outcomes(table: "pa.Table", log: Log) -> Log:
    """The log with what kind of outcome its column has, and which word is the good one."""
    values = _values(table, log.roles.reward)
    success = next((value for value in values if value.lower() in GOOD and len(values) == 2), "")
    return log.model_copy(update={"outcomes": _guess(values), "success": success})


def _guess(values: Sequence[str]) -> Outcomes:
    """What kind of outcome a column has, by its different values; none where there are many."""
    numbers = _numbers(values)
    if values and (not numbers or set(numbers) <= TRUE_OR_FALSE):
        return "yes or no"
    return "grades" if len(numbers) > 2 else "number"


def look(content: bytes, log: Log, before: Log) -> Log:
    """The log with what is seen of it when it is read the way it says now, and not as before.

    Another sheet or header has other columns, which are guessed anew; another column of outcomes, other outcomes.
    """
    if (log.reading.sheet, log.reading.header) != (before.reading.sheet, before.reading.header):
        return first_look(content, log)
    read = understood(content, log.reading)
    log = _described(log, read)
    return _looked(read, log if log.roles.reward == before.roles.reward else _with_outcomes(read.table, log))


def _looked(read: Understood, log: Log) -> Log:
    table, values = read.table, _values(read.table, log.roles.reward)
    success = log.success if log.success in values else ""
    log = log.model_copy(update={"success": success, "seen": Seen(values=values, n_rows=table.num_rows)})
    if log.questions:
        return log.model_copy(update={"seen": log.seen.model_copy(update={"problem": log.questions[0].text})})
    try:
        seen = _seen(table, log, read.numbers)
    except InvalidInput as problem:
        seen = log.seen.model_copy(update={"problem": _for_people(str(problem), log)})
    return log.model_copy(update={"seen": seen})


def _for_people(problem: str, log: Log) -> str:
    """What is wrong with a log, without the names of arguments."""
    what, nothing_left, _ = problem.replace("frame ", f"{log.file} ", 1).partition("No row is left")
    return what + message("Choose other columns, or another kind of outcome.") if nothing_left else what


def log_table(table: "pa.Table", log: Log) -> "pa.Table":
    """The table of a log as it is learned from: 1 and 0 for outcomes in two words, one spelling of each option."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if log.merge and log.roles.arm is not None and (spellings := spellings_of(table, log.roles.arm)):
        place, column = table.column_names.index(log.roles.arm), table[log.roles.arm]
        for first, *others in spellings:
            column = pc.if_else(pc.is_in(column, pa.array(others, pa.string())), first, column)
        table = table.set_column(place, log.roles.arm, column)
    for name in log.contexts:
        table = _as_numbers(table, name)
    if log.outcomes != "yes or no" or not log.success or log.roles.reward is None:
        return table
    place = table.column_names.index(log.roles.reward)
    column = pc.equal(table[place].cast(pa.string()), log.success).cast(pa.int8())
    return table.set_column(place, log.roles.reward, column)


def _as_numbers(table: "pa.Table", name: str) -> "pa.Table":
    """The table with a column of text as numbers, if all of its texts are."""
    import pyarrow as pa

    if name not in table.column_names or not pa.types.is_string(table[name].type):
        return table
    texts = table[name].drop_null().unique().to_pylist()
    if not texts or len(_numbers(texts)) < len(texts):
        return table
    number = {text: float(text) for text in texts}
    cells = [None if text is None else number[text] for text in table[name].to_pylist()]
    return table.set_column(table.column_names.index(name), name, pa.array(cells, pa.float64()))


def spellings_of(table: "pa.Table", column: str) -> list[list[str]]:
    """The texts of a column that differ only in capitals and blanks, each the most frequent spelling first."""
    import pyarrow as pa

    if column not in table.column_names or not pa.types.is_string(table[column].type):
        return []
    same = dict[str, list[str]]()
    counts = sorted(table[column].drop_null().value_counts().to_pylist(), key=lambda one: -one["counts"])
    for one in counts:
        same.setdefault("".join(one["values"].split()).casefold(), []).append(one["values"])
    return [spellings for spellings in same.values() if len(spellings) > 1]


def rewards_of(log: Log) -> Rewards | Family:
    """How outcomes are distributed, as the person said."""
    if log.outcomes == "number":
        return Family.GAUSSIAN
    if log.outcomes == "grades":
        return Graded(values=tuple(sorted(map(float, _numbers(log.seen.values)))))
    return BERNOULLI


def columns_of(log: Log) -> dict[str, Any]:
    """The columns as `learn` takes them."""
    roles = {name: getattr(log.roles, name) for name in ("individual", "task", "arm", "reward", "propensity")}
    return {**roles, "context": log.contexts}


def _seen(table: "pa.Table", log: Log, numbers: Sequence[int]) -> Seen:
    _check_roles(log)
    table_read = log_table(table, log)
    read = read_log(table_read, rewards=rewards_of(log), drop_bad_rows=True, **columns_of(log))
    kinds = _kinds(read, log)
    return log.seen.model_copy(
        update={
            "n_bad": read.bad.n_rows,
            "bad": list(read.bad.kinds),
            "bad_rows": [numbers[number - 1] for number in read.bad.first],
            "bad_cells": shown_rows(table, [number - 1 for number in read.bad.first]),
            "n_individuals": None if log.roles.individual is None else len(read.statistics.tasks),
            "kinds": kinds[:MOST_LISTED],
            "n_kinds": len(kinds),
            "options": _options(read.statistics),
            "spellings": spellings_of(table, log.roles.arm or ""),
            **_made(table_read, log),
        }
    )


def _made(table: "pa.Table", log: Log) -> dict[str, Any]:
    """How options were given in a log that tells cases apart, and whether they drift over its days."""
    if log.roles.individual is None:
        return {}
    roles = {name: getattr(log.roles, name) for name in ("individual", "arm", "reward", "time", "propensity")}
    about: dict[str, Any] = {"drop_bad_rows": True, "most_rows": LOOKED_AT, "context": log.contexts}
    try:
        cases = read_cases(table, rewards=Gaussian(1.0), **about, **roles)
    except InvalidInput:
        return {}
    made = understood_design(cases, log.design, 0)[1]
    about = {"design": str(made), "is_chosen": bool(made.caution), "shows_plans": made.shows_plans}
    return {**about, "drift": list(calendar_notes(cases))}


def _kinds(read: "Reading", log: Log) -> list[str]:
    """The kinds that the log names."""
    if log.roles.task is None:
        return []
    return list(read.statistics.tasks if read.labels is None else read.labels.kinds)


def _options(statistics: "Statistics") -> list[Option]:
    """The options with how often they were given and how that went."""
    n = len(statistics.arms)
    rows = np.bincount(statistics.arm, statistics.count, n)
    total = np.bincount(statistics.arm, statistics.sums[:, -1] + statistics.count * statistics.shift[-1], n)
    mean = total / np.maximum(rows, 1)
    return [Option(name=statistics.arms[k], rows=int(rows[k]), mean=float(mean[k])) for k in range(n)]


def _check_roles(log: Log) -> None:
    roles, values = log.roles, log.seen.values
    used = log.used
    if unknown := [name for name in used if name not in log.columns]:
        raise InvalidInput(f"There is no column {unknown[0]!r}.")
    if len(set(used)) < len(used):
        twice = next(name for name in used if used.count(name) > 1)
        raise InvalidInput(f"Column {twice!r} is chosen for two things. Choose another one for one of them.")
    if roles.arm is None or roles.reward is None:
        raise InvalidInput("Say which column is the option that was given, and which is the outcome.")
    if roles.individual is None and roles.task is None:
        raise InvalidInput("Say which column tells cases apart, or which one names their kind; both is best.")
    is_told = bool(TRUE_OR_FALSE & {value.lower() for value in values})
    if log.outcomes == "yes or no" and values and not is_told and not log.success:
        raise InvalidInput(_no_success(roles.reward, values))
    if log.outcomes == "grades" and len(_numbers(values)) < 2:
        raise InvalidInput(
            f"Grades must be from 2 to {MOST_VALUES} different numbers, and column {roles.reward!r} has others. Choose "
            "another kind of outcome."
        )


def _no_success(column: str, values: list[str]) -> str:
    if len(values) == 2:
        return message(f"Say which of {values[0]!r} and {values[1]!r} in column {column!r} counts as a success.")
    return message(
        f"Column {column!r} has other outcomes than 0 and 1. Choose another kind of outcome or another column."
    )


def _values(table: "pa.Table", column: str | None) -> list[str]:
    """The different outcomes, in order; empty where there are more than a few."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column is None or column not in table.column_names:
        return []
    found = pc.unique(table[column].drop_null())
    if len(found) > MOST_VALUES:
        return []
    values = set(found.cast(pa.string()).to_pylist())
    numbers = {f"{float(value):g}" for value in _numbers(values)}
    return [*sorted(numbers, key=float), *sorted(values - set(_numbers(values)))]


def _numbers(values: Iterable[str]) -> list[str]:
    """Those of some texts that are numbers."""
    found = []
    for value in values:
        with suppress(ValueError):
            if np.isfinite(float(value)):
                found.append(value)
    return found
