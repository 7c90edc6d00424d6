"""How much of a plan's regret no algorithm could avoid, as data and as a sentence."""

from typing import Any

from banditree.certificates.continuations import Continuation, continuations
from banditree.errors import InvalidInput
from banditree.nouns import plural
from banditree.plans.plan import Plan
from banditree.plans.wording import place_name
from banditree.plans.words import Vocabulary, amount
from banditree.progress import OnProgress
from banditree.tasks.changes import TRUSTED
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import averaging_rows
from banditree.theory.limits import Limit, limit

A_SECOND = 400_000_000  # One core makes about this many additions in a second.
MANY_LINES = 30  # With more tests, what each gives up is omitted, since that takes one certificate per test; ...
MANY_TASKS = 20  # ... likewise with more tasks, for which a certificate takes long.
NAMED = 8  # A sentence names at most this many lines.
QUICK = 300_000_000  # Additions for a limit that is one line among others, so that it takes less than a second.


def limit_or_none(
    collection: Collection, horizon: int, effort: int = QUICK, on_progress: OnProgress | None = None
) -> Limit | None:
    """What no algorithm can beat, or None where that is not worked out."""
    if effort < 1:
        return None
    try:
        return limit(collection, horizon, effort=effort, on_progress=on_progress)
    except InvalidInput:
        return None


def limit_document(found: Limit | None, collection: Collection) -> dict[str, Any] | None:
    """The limit as JSON."""
    if found is None:
        return None
    return {
        "regret": found.value,
        "horizon": found.horizon,
        "tasks": [collection.tasks[i] for i in found.tasks],
        "prior": list(found.prior),
        "rounds_of_proof": found.depth,
        "at_estimates": is_at_estimates(collection),
    }


def is_at_estimates(collection: Collection) -> bool:
    """Whether the limit is about the estimated means rather than the true ones."""
    return collection.is_estimated or collection.provenance.endswith(TRUSTED)


def limit_sentence(found: Limit, collection: Collection, words: Vocabulary, ending: str = "") -> str:
    """What no algorithm can beat: "No algorithm, however clever, loses less than 2.9 in its worst task"; and `ending`.

    >>> from banditree.theory.limits import Limit
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> limit_sentence(Limit(2.94, 100, (0, 1), (0.5, 0.5), 80, 0), two, Vocabulary(), "this plan loses 3.4")
    'No algorithm, however clever, loses less than 2.94 in its worst task; this plan loses 3.4.'
    """
    conditions = []
    if is_at_estimates(collection):
        conditions.append("at the estimated means")
    contexts = collection.contexts
    if contexts is not None and len(averaging_rows(contexts)) > found.contexts:
        conditions.append(f"averaged over {found.contexts:,} contexts")
    if collection.spread is not None:
        conditions.append(f"if all cases of a {words.task} are alike")
    when = "".join(f", {condition}" for condition in conditions)
    tail = f"; {ending}." if ending else "."
    least = amount(found.value) + ("" if collection.unit is None else f" {collection.unit}")
    return f"No algorithm, however clever, loses less than {least} in its worst {words.task}{when}{tail}"


def lines_or_none(
    plan: Plan, collection: Collection, horizon: int | None = None, effort: int = QUICK
) -> list[Continuation] | None:
    """What each line gives up at most, or None where that is not worked out."""
    if effort < 1 or plan.n_tests > MANY_LINES or collection.n_tasks > MANY_TASKS:
        return None
    try:
        return continuations(plan, collection, horizon, effort=effort)
    except InvalidInput:
        return None


def lines_document(plan: Plan, lines: list[Continuation] | None) -> list[dict[str, Any]] | None:
    """What each line gives up, as JSON."""
    if lines is None:
        return None
    return [
        {
            "box": line.box,
            "name": place_name(plan, line.box),
            "reached": line.reached,
            "loses_from_here": line.loses,
            "best_possible_at_least": line.at_least,
            "at_most_more": line.at_most_more,
        }
        for line in lines
    ]


def lines_sentence(plan: Plan, lines: list[Continuation]) -> str:
    """Which lines matter: how much more than the best possible each, with all that follows it, loses at most."""
    ranked = sorted(lines, key=lambda line: -line.at_most_more)[:NAMED]
    parts = [f"{amount(line.at_most_more, 2)} from {place_name(plan, line.box)} on" for line in ranked]
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    shares = f"at the worst shares of the {plural(plan.vocabulary.task)}"
    return f"Per case and {shares}, the best possible would save at most {listed}."
