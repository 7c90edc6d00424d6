"""What the pages say of a case, in the words of its plan."""

from dataclasses import dataclass

from banditree.plans.plan import BoxKind, Plan
from banditree.plans.wording import box_sentence, tally_sentence
from banditree.service.models import Standing
from banditree.tasks.rewards import Outcome as PossibleOutcome


@dataclass(frozen=True)
class Tally:
    """What is counted in the box at hand: a sentence, and how far along it is where that is known."""

    sentence: str
    done: int | None = None
    of: int | None = None


def outcomes(plan: Plan) -> tuple[PossibleOutcome, ...]:
    """The outcomes a person chooses from, the best first; empty where a number is reported."""
    return plan.rewards.outcomes(plan.vocabulary.success, plan.vocabulary.failure)


def where(plan: Plan, standing: Standing) -> str:
    """The rule that the case follows now."""
    if standing.box is None:
        return f"The plan is no longer followed, since the evidence fits no {plan.vocabulary.task} of the collection."
    return f"Box {standing.box}: {box_sentence(plan, standing.box - 1)}"


def tally(plan: Plan, standing: Standing) -> Tally | None:
    """The tally so far in the box at hand, or None where nothing is tallied."""
    if standing.box is None or standing.exploiting or standing.pulls is None:
        return None
    box, pulls = standing.box - 1, standing.pulls
    sentence = tally_sentence(plan, box, pulls, standing.total or 0.0)
    return Tally(sentence, pulls, int(plan.pulls[box])) if plan.kind[box] == BoxKind.FIXED else Tally(sentence)


def shown_chance(p: float) -> str:
    """A chance as a percentage that never says impossible or certain.

    >>> shown_chance(0.4567), shown_chance(0.00001), shown_chance(0.99999)
    ('46%', 'below 1%', 'above 99%')
    """
    if p < 0.01:
        return "below 1%"
    return "above 99%" if p > 0.99 else f"{100 * p:.0f}%"
