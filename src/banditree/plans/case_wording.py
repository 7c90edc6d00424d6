"""Sentences on a case that follows a plan: its tally, its outcomes, what it may still be."""

from collections.abc import Sequence

from banditree.plans.plan import Plan
from banditree.plans.wording import outcome_names
from banditree.plans.words import Vocabulary

MOST_NAMES = 12  # A sentence lists this many names; the rest is only counted.


def tally_sentence(plan: Plan, box: int, pulls: int, total: float) -> str:
    """What has been counted so far in a box."""
    return plan.counting(plan.rows[box]).tally(plan, pulls, total)


def score_levels(plan: Plan, box: int) -> tuple[int, int | None]:
    """The scores at which a box is left, below and above (None: nowhere); at an end they are those of the rule."""
    numbers = plan.counting(plan.rows[box]).numbers
    return -numbers.floor, numbers.ceil or None


def is_scored(plan: Plan, box: int) -> bool:
    """Whether a case in this box has a score: on a score or watch line, or at an end with a safety rule."""
    return plan.counting(plan.rows[box]).numbers.floor > 0


def outcome_text(plan: Plan, reward: float | None) -> str:
    """An outcome in words: "recovery", "3.2", "not known"."""
    if reward is None:
        return plan.vocabulary.say("not known")
    shown = plan.vocabulary.digits(f"{reward:g}")
    return next((name for value, name in outcome_names(plan) if value == reward), shown)


def possible_sentence(names: Sequence[str], n_tasks: int, words: Vocabulary, most: int = MOST_NAMES) -> str:
    """Which of the tasks are still possible: how many, and up to `most` by name; nothing where all of several are."""
    if len(names) == n_tasks > 1:
        return ""
    if not names:
        return words.say("The case fits no {task} of the collection.")
    if len(names) == 1:
        return words.say("The evidence leaves one {task}: {name}.", name=names[0])
    values = {"n": words.digits(f"{len(names):,}"), "tasks": words.counted(n_tasks, "task")}
    if not most:
        return words.say("{n} of {tasks} still possible.", **values)
    listed = ", ".join(names[:most])
    if most >= len(names):
        return words.say("{n} of {tasks} still possible: {names}.", names=listed, **values)
    more = words.digits(f"{len(names) - most:,}")
    return words.say("{n} of {tasks} still possible: {names} and {more} more.", names=listed, more=more, **values)
