"""3+3: cohorts of three at rising doses, until two of three or of six were harmed."""

from collections.abc import Mapping, Sequence

from banditree.designs.boxes import Situation, Test, boxes
from banditree.designs.characteristics import METHOD, Design, at_least_two
from banditree.designs.stages import Look, count_on
from banditree.errors import invalid
from banditree.nouns import counted
from banditree.plans.plan import Origin, make_plan
from banditree.plans.words import Vocabulary
from banditree.tasks.collection import Collection

TOLERATED = Vocabulary(arm="dose", task="assumption", success="good outcome", failure="harm", reward="outcome")
# Of three: none harmed, up; one, three more; two, down. Of six: at most one, up.
COHORTS = (Look(3, few=1, many=3), Look(6, few=4, many=5))


def three_plus_three(doses: Sequence[str], harm: Mapping[str, Sequence[float]], none: str = "no dose") -> Design:
    """The 3+3 design: an outcome is good where the dose was tolerated; it settles on the last dose that passed.

    harm: for each assumption the chance of harm at every dose. none: what is given if the first dose fails.

    >>> from banditree.designs import characteristics
    >>> design = three_plus_three(["low", "high"], {"as hoped": [0.05, 0.3], "worse": [0.2, 0.5]})
    >>> found = characteristics(design)
    >>> {dose: round(float(chance[0]), 4) for dose, chance in found.chances.items()}
    {'low': 0.4923, 'high': 0.4811, 'no dose': 0.0266}
    """
    if not doses or len(set(doses)) < len(doses) or none in doses:
        raise invalid("doses", f"different names, none of them {none!r}", list(doses))
    passed = [none, *doses]

    def rule(situation: Situation) -> Test | str:
        if isinstance(situation, str):
            return situation
        number = situation[0]
        last = number + 1 == len(doses)
        above = doses[number] if last else (number + 1, 0, 0)
        return count_on(COHORTS, doses[number], passed[number], above, number)(situation)

    at_least_two("harm", harm)
    rates = [[*(1 - chance for chance in chances), 1.0] for chances in harm.values()]
    if any(len(row) != len(passed) for row in rates):
        raise invalid("harm", f"a chance for each of {counted(len(doses), 'dose')}", dict(harm))
    collection = Collection.bernoulli(rates, tasks=list(harm), arms=[*doses, none])
    lines = boxes((0, 0, 0), rule)
    plan = make_plan(lines, collection, 6 * len(doses), vocabulary=TOLERATED, origin=Origin(METHOD))
    return Design(plan, collection)
