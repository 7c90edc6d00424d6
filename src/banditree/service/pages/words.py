"""What the pages say of a case, in the words of its plan."""

from dataclasses import dataclass

from banditree.plans.plan import BoxKind, Plan, Vocabulary
from banditree.plans.wording import box_sentence, counted, number, score_rule
from banditree.policies.base import Outcome
from banditree.service.models import EventOut, Standing
from banditree.tasks.rewards import Family


@dataclass(frozen=True)
class Tally:
    """What is counted in the box at hand: a sentence, and how far along it is where that is known."""

    sentence: str
    done: int | None = None
    of: int | None = None


def is_binary(plan: Plan) -> bool:
    """Whether an outcome is one of two."""
    return plan.rewards.family is Family.BERNOULLI


def where(plan: Plan, standing: Standing) -> str:
    """The rule that the case follows now."""
    if standing.box is None:
        return f"The plan is no longer followed, since the evidence fits no {plan.vocabulary.task} of the collection."
    return f"Box {standing.box}: {box_sentence(plan, standing.box - 1)}"


def tally(plan: Plan, standing: Standing) -> Tally | None:
    """The tally so far in the box at hand, or None where nothing is tallied."""
    if standing.box is None or standing.exploiting or standing.pulls is None:
        return None
    box, pulls, total = standing.box - 1, standing.pulls, standing.total or 0.0
    words, binary = plan.vocabulary, is_binary(plan)
    if plan.kind[box] == BoxKind.SCORE:
        ends = f"it ends at {plan.ceil[box]:+d} or {-plan.floor[box]:+d}"
        return Tally(f"{counted(pulls, 'outcome')} tallied, score {int(total):+d}; {ends}. {score_rule(plan, box)}")
    needed, limit = int(plan.pulls[box]), float(plan.threshold[box])
    if binary:
        good, bad = int(total), pulls - int(total)
        seen = f"{counted(good, words.success)}, {counted(bad, words.failure)}"
        return Tally(f"{seen} ({pulls} of {needed}; the limit is {number(limit)})", pulls, needed)
    return Tally(f"Total {words.reward} {total:g} ({pulls} of {needed}; the limit is {number(limit)})", pulls, needed)


def outcome_word(plan: Plan, reward: float | None) -> str:
    """An outcome in words: "recovery", "3.2", "not known"."""
    if reward is None:
        return "not known"
    if is_binary(plan):
        return plan.vocabulary.success if reward > 0.5 else plan.vocabulary.failure
    return f"{reward:g}"


def why_no_step(outcome: Outcome, words: Vocabulary) -> str:
    """Why there is nothing to give, in the plan's words."""
    return {
        Outcome.HORIZON_REACHED: "All rounds of this case have been used.",
        Outcome.ARM_NOT_AVAILABLE: f"The {words.arm} that comes next is not available. Wait until it is, or override.",
        Outcome.NO_ARM_AVAILABLE: f"No {words.arm} is available. Wait until one is.",
        Outcome.CONTEXT_NEEDED: "The choice depends on this case. Fill in what is asked below.",
        Outcome.OUTCOME_NEEDED: "What comes next depends on outcomes that are still missing. Report them first.",
    }[outcome]


def event_words(plan: Plan, event: EventOut) -> str:
    """One line of the history."""
    details = event.details or {}
    reason = f" Reason: {details['reason']}" if details.get("reason") else ""
    give = plan.vocabulary.give.lower()
    said = outcome_word(plan, event.reward)
    sentences = {
        "asked": f"Round {event.round}: {give} {event.arm}.{_context(details)}",
        "told": f"Round {event.round}: {said}.",
        "missing": f"Round {event.round}: the outcome will not be known.",
        "overridden": f"Round {event.round}: {event.arm} in place of the plan's {plan.vocabulary.arm}.{reason}",
        "corrected": f"Round {event.round} corrected: it was {said}.{reason}",
        "noted": f"Note: {details.get('text', '')}",
        "closed": f"Closed.{reason}",
        "erased": "Erased.",
    }
    return sentences[event.kind]


def _context(details: dict[str, object]) -> str:
    given = details.get("given")
    return "" if not isinstance(given, dict) else " " + ", ".join(f"{k}: {v}" for k, v in given.items()) + "."


def possible_sentence(plan: Plan, standing: Standing) -> str:
    """How many tasks are still possible by the plan's own tests."""
    words = plan.vocabulary
    if standing.possible is None:
        return ""
    if not standing.possible:
        return f"The case fits no {words.task} of the collection."
    if len(standing.possible) == 1:
        return f"The plan's tests leave one {words.task}: {standing.possible[0]}."
    all_ = len(standing.possible) == len(plan.tasks)
    return f"{'All ' if all_ else ''}{counted(len(standing.possible), words.task)} still possible by the plan's tests."


def shown_chance(p: float) -> str:
    """A chance as a percentage that never says impossible or certain.

    >>> shown_chance(0.4567), shown_chance(0.00001), shown_chance(0.99999)
    ('46%', 'below 1%', 'above 99%')
    """
    if p < 0.01:
        return "below 1%"
    return "above 99%" if p > 0.99 else f"{100 * p:.0f}%"
