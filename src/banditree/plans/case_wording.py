"""Sentences on a case that follows a plan: its tally, its outcomes, what it may still be."""

from collections.abc import Sequence

from banditree.nouns import counted
from banditree.plans.counts import Pause, Rounds
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.plans.wording import outcome_names
from banditree.plans.words import Vocabulary, number, signed
from banditree.tasks.rewards import Rewards

MOST_NAMES = 12  # A sentence lists this many names; the rest is only counted.


def tally_sentence(plan: Plan, box: int, pulls: int, total: float) -> str:
    """What has been counted so far in a box."""
    counts = plan.rows[box].counts
    if isinstance(counts, Pause):
        return f"{pulls} of {counted(counts.rounds, 'round')} that the plan does not count."
    if isinstance(counts, Rounds):
        return fixed_tally(plan.rewards, plan.vocabulary, pulls, counts.rounds, counts.at_most, total)
    low, high = score_levels(plan, box)
    ends = f"at {low:+d}" if high is None else f"at {high:+d} and at {low:+d}"
    return f"{counted(pulls, 'round')} tallied, score {signed(int(total))}; it ends {ends}."


def score_levels(plan: Plan, box: int) -> tuple[int, int | None]:
    """The scores at which a box is left, below and above (None: nowhere); at an end they are those of the rule."""
    machine = machine_of(plan)
    return -int(machine.floor[box]), int(machine.ceil[box]) or None


def is_scored(plan: Plan, box: int) -> bool:
    """Whether a case in this box has a score: on a score or watch line, or at an end with a safety rule."""
    return bool(machine_of(plan).floor[box] > 0)


def fixed_tally(rewards: Rewards, words: Vocabulary, pulls: int, needed: int, limit: float, total: float) -> str:
    """What has been counted so far in a test of a fixed number of pulls."""
    so_far = f"{pulls} of {counted(needed, 'round')} tallied; the limit is {number(limit)}"
    if rewards.counts:
        good = int(total)
        return f"{counted(good, words.success)}, {counted(pulls - good, words.failure)} ({so_far})."
    return f"Total {words.reward} {total:g} ({so_far})."


def outcome_text(plan: Plan, reward: float | None) -> str:
    """An outcome in words: "recovery", "3.2", "not known"."""
    if reward is None:
        return "not known"
    return next((name for value, name in outcome_names(plan) if value == reward), f"{reward:g}")


def possible_sentence(names: Sequence[str], n_tasks: int, words: Vocabulary, most: int = MOST_NAMES) -> str:
    """Which of the tasks are still possible: how many, and up to `most` by name; nothing where all of several are."""
    if len(names) == n_tasks > 1:
        return ""
    if not names:
        return f"The case fits no {words.task} of the collection."
    if len(names) == 1:
        return f"The evidence leaves one {words.task}: {names[0]}."
    listed = f": {', '.join(names[:most])}" if most else ""
    more = f" and {len(names) - most:,} more" if 0 < most < len(names) else ""
    return f"{len(names):,} of {counted(n_tasks, words.task)} still possible{listed}{more}."
