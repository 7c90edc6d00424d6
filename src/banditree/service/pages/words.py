"""What the pages say about a case, in the words of its plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from banditree.figures.html import Mark
from banditree.languages.language import Language
from banditree.plans.case_wording import is_scored, score_levels, tally_sentence
from banditree.plans.counts import Rounds
from banditree.plans.plan import Form, Plan
from banditree.plans.wording import box_sentence, fallback_sentence, is_end, on_page, place_name, rule_sentence
from banditree.plans.wording import rounds as rounds_of
from banditree.plans.words import Vocabulary, capital
from banditree.service.cases.models import Standing
from banditree.tasks.rewards import Outcome as PossibleOutcome

MOST_STEPS = 20  # The way of a case is listed up to this many lines; a case that starts again may pass many.


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
        return plan.vocabulary.say(
            "The plan is no longer followed, since the evidence fits no {task} of the collection."
        )
    box = standing.box - 1
    if box == plan.hand_over:
        return fallback_sentence(plan)
    rule = f" {rule_sentence(plan)}" if not plan.rows[box].counts.exits and is_scored(plan, box) else ""
    place = f"{capital(place_name(plan, box))}{on_page(plan)}"
    return plan.vocabulary.say("{place}: {says}", place=place, says=f"{box_sentence(plan, box)}{rule}")


def tally(plan: Plan, standing: Standing) -> Tally | None:
    """The tally so far in the box at hand, or None where nothing is tallied."""
    if standing.box is None or standing.pulls is None:
        return None
    box, pulls = standing.box - 1, standing.pulls
    counts = plan.rows[box].counts
    if not (is_scored(plan, box) or isinstance(counts, Rounds)):
        return None
    sentence = tally_sentence(plan, box, pulls, standing.total or 0.0)
    return Tally(sentence, pulls, counts.rounds) if isinstance(counts, Rounds) else Tally(sentence)


def mark(plan: Plan, standing: Standing, path: list[int]) -> Mark:
    """Where the case is on the picture of its plan, with its score between the exits."""
    if standing.box is None or not is_scored(plan, standing.box - 1):
        return Mark(path)
    low, high = score_levels(plan, standing.box - 1)
    return Mark(path, int(standing.total or 0), low, high)


def way_taken(plan: Plan, path: list[int], rings: bool) -> str:
    """The numbers of the lines or boxes so far, and where the case is now."""
    if not path:
        return ""
    numbered = [number for number in path if not is_end(plan, number - 1)]
    say, skipped = plan.vocabulary.say, "..., " if len(numbered) > MOST_STEPS else ""
    passed = f"{skipped}{', '.join(map(str, numbered[-MOST_STEPS:]))}"
    if plan.form is Form.LINES:
        so_far = say("Lines so far: {numbers}.", numbers=passed)
    else:
        so_far = say("Boxes so far: {numbers}.", numbers=passed)
    here = say("The case is at {place}.", place=f"{place_name(plan, path[-1] - 1)}{on_page(plan)}")
    return f"{so_far} {say('There the alarm rang.') if rings else here}"


def how_it_went(plan: Plan, rounds: Mapping[int, Mapping[str, Any]]) -> str:
    """What came of a case that has ended; rounds: its rounds after all corrections, as `folded_rounds` gives them."""
    told = [entry["reward"] for entry in rounds.values() if entry.get("reward") is not None]
    unknown = len(rounds) - len(told)
    words, possible = plan.vocabulary, outcomes(plan)
    if plan.rewards.counts:
        good = int(sum(told))
        parts = [words.counted(good, "success"), words.counted(len(told) - good, "failure")]
    elif possible:
        language = words.language
        parts = [language.counted(sum(reward == value for reward in told), name) for value, name in possible]
    else:
        mean = words.amount(sum(told) / len(told)) if told else ""
        parts = [words.say("{reward} {mean} on average", mean=mean)] if told else []
    parts += [words.count(unknown, "{n} outcome not known", "{n} outcomes not known")] if unknown else []
    return f"{capital(rounds_of(words, len(rounds)))}: {', '.join(parts)}.{_last_given(plan, rounds)}"


def _last_given(plan: Plan, rounds: Mapping[int, Mapping[str, Any]]) -> str:
    """Which arm was given in the end, and from which round on."""
    arms = [(n, entry["arm"]) for n, entry in rounds.items() if "arm" in entry]
    if not arms:
        return ""
    first = next((n for (_, before), (n, _) in reversed([*pairwise(arms)]) if before != arms[-1][1]), arms[0][0])
    return f" {plan.vocabulary.say('{arm} from round {round} on.', arm=arms[-1][1], round=first)}"


def shown_chance(p: float, words: Vocabulary) -> str:
    """A chance as a percentage that never says impossible or certain.

    >>> [shown_chance(p, Vocabulary()) for p in (0.4567, 0.00001, 0.99999)]
    ['46%', 'below 1%', 'above 99%']
    """
    if p < 0.01:
        return words.say("below 1%")
    return words.say("above 99%") if p > 0.99 else words.percent(f"{100 * p:.0f}")


def state_word(language: Language, state: str) -> str:
    """How a case is, in a language."""
    known = {
        "open": language.meant("state of a case", "open"),
        "closed": language.meant("state of a case", "closed"),
        "erased": language.meant("state of a case", "erased"),
        "waiting": language.meant("state of a case", "waiting for an outcome"),
        "due": language.meant("state of a case", "due or overdue"),
        "alarm": language.meant("state of a case", "alarm: fits no kind"),
    }
    return known[state]
