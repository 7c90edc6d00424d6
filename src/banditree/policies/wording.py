"""Where a case stands, in words."""

from typing import TYPE_CHECKING

from banditree.plans.plan import Plan, Vocabulary
from banditree.plans.wording import box_sentence, counted, number, times
from banditree.policies.base import Facts
from banditree.tasks.rewards import Family
from banditree.trees.tree import LazyTree

if TYPE_CHECKING:
    from banditree.policies.session import Session

MOST_NAMES = 12  # tasks listed by name before the rest is only counted


def describe(session: "Session") -> str:
    """Sentences on where the case is, its evidence, the tasks still possible, and what comes next and why."""
    facts, subject = session.explain(), session.subject
    words = subject.vocabulary if isinstance(subject, Plan | LazyTree) else Vocabulary()
    lines = [f"{counted(len(session.rounds), 'round')} of {session.horizon:,} asked."]
    if (waiting := session.open_rounds) and len(waiting) <= MOST_NAMES:
        lines.append(f"Waiting for the outcome of round {', '.join(map(str, waiting))}.")
    elif waiting:
        lines.append(f"Waiting for the outcomes of {counted(len(waiting), 'round')}.")
    if isinstance(subject, Plan) and facts.box is not None:
        lines.append(f"The case is at box {facts.box + 1}: {box_sentence(subject, facts.box)}")
    elif not facts.exploiting and facts.arm is not None and "at_most" in facts.details:
        lines.append(_lazy_test(facts, session.arms[facts.arm], words))
    if not facts.exploiting and facts.pulls is not None:
        lines.append(_tally(session, facts.pulls, facts, words))
    lines += possible_lines(session, facts, words)
    if strayed := len(session.off_plan_rounds):
        lines.append(f"Not as planned: {counted(strayed, 'round')} with another {words.arm}, not tallied.")
    return " ".join(lines)


def _lazy_test(facts: Facts, arm: str, words: Vocabulary) -> str:
    pulls, limit = facts.details["pulls"], number(facts.details["at_most"])
    return (
        f"The test at hand: {words.give.lower()} {arm} {times(pulls)}; a total of at most {limit} leads one way, more "
        "leads the other."
    )


def _tally(session: "Session", pulls: int, facts: Facts, words: Vocabulary) -> str:
    if pulls == 0:
        return "Nothing is tallied here yet."
    subject = session.subject
    counts = session.rewards.family is Family.BERNOULLI
    if isinstance(subject, Plan) and facts.box is not None and subject.floor[facts.box] > 0:
        return f"So far: {times(pulls)}, score {int(facts.total):+d}."
    total = counted(int(facts.total), words.success) if counts else f"a total of {facts.total:g}"
    return f"So far: {times(pulls)}, with {total}."


def possible_lines(session: "Session", facts: Facts, words: Vocabulary) -> list[str]:
    """Which tasks are still possible, by name."""
    if facts.possible is None:
        return []
    names = [session.tasks[i] for i in facts.possible]
    if not names:
        return [f"The case fits no {words.task} of the collection."]
    if len(names) == 1:
        why = f"The evidence leaves one {words.task}: {names[0]}."
        if facts.exploiting and facts.arm is not None:
            why += f" {session.arms[facts.arm]} is best for it."
        return [why]
    listed = ", ".join(names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return [f"{counted(len(names), words.task)} still possible: {listed}{more}."]
