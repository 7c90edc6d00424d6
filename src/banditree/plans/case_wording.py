"""Sentences on a case that follows a plan: its tally, its outcomes, what it may still be."""

from collections.abc import Sequence

from banditree.plans.counts import Numbers, Pause, Rounds
from banditree.plans.plan import Plan
from banditree.plans.wording import outcome_names, rounds
from banditree.plans.words import Vocabulary, signed
from banditree.tasks.rewards import Rewards

MOST_NAMES = 12  # A sentence lists this many names; the rest is only counted.


def tally_sentence(plan: Plan, box: int, pulls: int, total: float) -> str:
    """What has been counted so far in a box."""
    words, counts = plan.vocabulary, plan.rows[box].counts
    if isinstance(counts, Pause):
        return words.count(
            counts.rounds,
            "{pulls} of {n} round that the plan does not count.",
            "{pulls} of {n} rounds that the plan does not count.",
            pulls=pulls,
        )
    if isinstance(counts, Rounds):
        return fixed_tally(plan.rewards, plan.vocabulary, pulls, counts.rounds, counts.at_most, total)
    low, high = score_levels(plan, box)
    values = {"rounds": rounds(words, pulls), "score": signed(int(total)), "low": f"{low:+d}"}
    if high is None:
        return words.say("{rounds} tallied, score {score}; it ends at {low}.", **values)
    return words.say("{rounds} tallied, score {score}; it ends at {high} and at {low}.", high=f"{high:+d}", **values)


def score_levels(plan: Plan, box: int) -> tuple[int, int | None]:
    """The scores at which a box is left, below and above (None: nowhere); at an end they are those of the rule."""
    numbers = _numbers(plan, box)
    return -numbers.floor, numbers.ceil or None


def is_scored(plan: Plan, box: int) -> bool:
    """Whether a case in this box has a score: on a score or watch line, or at an end with a safety rule."""
    return _numbers(plan, box).floor > 0


def _numbers(plan: Plan, box: int) -> Numbers:
    row = plan.rows[box]
    return plan.rule.counts.numbers if plan.rule is not None and plan.is_ruled(row) else row.counts.numbers


def fixed_tally(rewards: Rewards, words: Vocabulary, pulls: int, needed: int, limit: float, total: float) -> str:
    """What has been counted so far in a test of a fixed number of pulls."""
    values = {"pulls": pulls, "rounds": rounds(words, needed), "limit": words.number(limit)}
    if rewards.counts:
        good = words.counted(int(total), "success")
        bad = words.counted(pulls - int(total), "failure")
        return words.say(
            "{good}, {bad} ({pulls} of {rounds} tallied; the limit is {limit}).", good=good, bad=bad, **values
        )
    return words.say(
        "Total {reward} {total} ({pulls} of {rounds} tallied; the limit is {limit}).",
        total=words.digits(f"{total:g}"),
        **values,
    )


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
