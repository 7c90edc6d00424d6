"""N-of-1: one person, two options in turn, and the one with more good periods from then on."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from banditree.designs.boxes import Situation, Test, boxes
from banditree.designs.characteristics import METHOD, Design, at_least_two
from banditree.errors import invalid
from banditree.plans.plan import Origin, make_plan
from banditree.plans.words import Vocabulary
from banditree.tasks.collection import Collection

GOOD_DAYS = Vocabulary(task="assumption", success="good day", failure="bad day")


def n_of_1(
    periods: Sequence[str],
    rates: Mapping[str, Sequence[float]],
    *,
    rounds: int = 1,
    at_most: int = 0,
    washout: int = 0,
    equal: str | None = None,
) -> Design:
    """A crossover for one person: the option of each period for some rounds, and a period is good with more than
    `at_most` successes. It settles on the option with more good periods; `equal`, the first option, where both have
    as many.

    rates: for each assumption the chance of a success under each option, in the order in which periods name them.
    washout: rounds after each change that are given and not counted.

    >>> from banditree.designs import characteristics
    >>> design = n_of_1("ABBAAB", {"A better": [0.7, 0.4], "alike": [0.5, 0.5]}, rounds=7, at_most=3, washout=2)
    >>> found = characteristics(design)
    >>> round(float(found.chances["A"][0]), 4), found.most_rounds
    (0.9832, 48)
    """
    options = list(dict.fromkeys(periods))
    if len(options) != 2:
        raise invalid("periods", "of two options", list(periods))
    if rounds < 1 or not 0 <= at_most < rounds:
        raise invalid("at_most", f"from 0 to {rounds - 1}, for periods of {rounds} rounds", at_most)
    equal = options[0] if equal is None else equal
    if equal not in options:
        raise invalid("equal", f"one of {', '.join(options)}", equal)
    at_least_two("rates", rates)
    if periods.count(options[0]) * 2 != len(periods):
        raise invalid("periods", "as many of one option as of the other", list(periods))

    def rule(situation: Situation) -> Test | str:
        place, ahead = situation
        if place == len(periods):
            return equal if ahead == 0 else options[ahead < 0]
        good = 1 if periods[place] == options[0] else -1
        return Test(periods[place], rounds, at_most, (place + 1, ahead), (place + 1, ahead + good))

    changes = sum(a != b for a, b in pairwise(periods))
    horizon = rounds * len(periods) + washout * changes
    collection = Collection.bernoulli(list(rates.values()), tasks=list(rates), arms=options)
    lines, origin = boxes((0, 0), rule), Origin(METHOD)
    plan = make_plan(lines, collection, horizon, vocabulary=GOOD_DAYS, origin=origin, washout=washout)
    return Design(plan, collection)
