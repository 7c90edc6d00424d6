"""The chances of harm as people write them in a table of rates: rows below its tasks, a column for every option.

    task,A,B
    mild,.7,.2
    severe,.3,.6
    harm,.01,.02
    harm of severe,.03,.05

"harm" is for all tasks, "harm of ..." for one.
"""

import numpy as np

from banditree.errors import InvalidInput
from banditree.files.matrix import HARM, Row, numbers
from banditree.tasks.collection import Collection
from banditree.tasks.harm import with_harm


def with_harm_rows(collection: Collection, rows: list[Row]) -> Collection:
    """The collection with the harm in some rows, whose fields are a name and one number per arm, in order."""
    if not rows:
        return collection
    given: dict[str, list[float]] = {}
    for row in rows:
        task = row.fields[0][len(HARM) :].strip().removeprefix("of ").strip()
        if task and task not in collection.tasks:
            known = ", ".join(map(repr, collection.tasks))
            raise InvalidInput(f"{row.place}: {task!r} is no task. Tasks are {known}.")
        if task in given:
            raise InvalidInput(f"{row.place}: there are two rows {row.fields[0]!r}. Remove one.")
        given[task] = numbers(row, list(collection.arms), "rate of harm", "Fill it in, 0 where there is none.")
    if missing := [task for task in collection.tasks if task not in given and "" not in given]:
        raise InvalidInput(f"{rows[0].place}: there is no row 'harm of {missing[0]}'. Add it, or a row 'harm' for all.")
    try:
        return with_harm(collection, np.array([given.get(task) or given[""] for task in collection.tasks]))
    except InvalidInput as problem:
        raise InvalidInput(f"{rows[0].place.rpartition(',')[0]}: {problem}") from None
