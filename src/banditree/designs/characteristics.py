"""What a design does at given rates: error rates, power, expected and longest length, exactly and by `certify`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput, invalid
from banditree.plans.counts import Counting
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.links import longest_path, reading_order
from banditree.plans.machine import Machine, machine_of
from banditree.plans.plan import Origin, Plan, make_plan
from banditree.plans.words import Vocabulary
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection

WORDS = Vocabulary(success="response", failure="no response", task="assumption")
METHOD = "a design of trials"


class Design(NamedTuple):
    """A design as a plan, and the rates at which it was meant to be judged, a kind for each assumption."""

    plan: Plan
    collection: Collection


@dataclass(frozen=True, eq=False)
class Characteristics:
    """Exact numbers for each of M assumptions about the rates.

    chances: by arm, the chance (M,) that the design settles on it; undecided (M,): that the horizon comes first.
    mean_rounds (M,): the rounds of testing, on average. most_rounds: in the longest case.
    """

    assumptions: tuple[str, ...]
    chances: dict[str, FloatArray]
    undecided: FloatArray
    mean_rounds: FloatArray
    most_rounds: int

    def __str__(self) -> str:
        heads = ["assumption", *self.chances, "undecided", "rounds on average", "at most"]
        shares = [*self.chances.values(), self.undecided]
        rows = [
            [name, *(f"{chance[n]:.4f}" for chance in shares), f"{self.mean_rounds[n]:.2f}", f"{self.most_rounds:,}"]
            for n, name in enumerate(self.assumptions)
        ]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in [heads, *rows]
        )


def characteristics(design: Design, rates: Mapping[str, float | Sequence[float]] | None = None) -> Characteristics:
    """What the design does at its own rates, or at others: for each assumption a chance of success for every arm, or
    one number for all of them.

    >>> from banditree.designs import simon
    >>> design = simon((1, 10), (5, 29), null=0.1, alternative=0.3)
    >>> found = characteristics(design, {"no effect": 0.1, "large": 0.5})
    >>> found.chances["treatment"].round(4).tolist(), found.most_rounds
    ([0.0471, 0.9891], 29)
    """
    plan, collection = design.plan, design.collection
    if rates is not None:
        at_least_two("rates", rates)
        rows = [np.broadcast_to(given, len(plan.arms)).tolist() for given in rates.values()]
        collection = Collection.bernoulli(rows, tasks=list(rates), arms=plan.arms)
    certificate = certify(plan, collection)
    if certificate.at_end is None:
        raise InvalidInput("The characteristics of a design need rates that are known, without margins.")
    machine = machine_of(plan)
    ends = machine.kind == Counting.EXPLOIT
    chances = {
        arm: certificate.at_end[:, ends & (machine.arm == number)].sum(axis=1)
        for number, arm in enumerate(plan.arms)
        if (ends & (machine.arm == number)).any()
    }
    return Characteristics(
        collection.tasks, chances, certificate.undecided, certificate.pulls, _most_rounds(machine, plan.horizon)
    )


def _most_rounds(machine: Machine, horizon: int) -> int:
    tests = machine.kind == Counting.FIXED
    if not (tests | (machine.kind == Counting.EXPLOIT)).all():
        return horizon  # a score sets no limit
    return longest_path(machine.links, machine.pulls.tolist(), reading_order(machine.links))


def at_least_two(name: str, assumptions: Mapping[str, Any]) -> None:
    """Refuse fewer assumptions than a collection has kinds."""
    if len(assumptions) < 2:
        raise invalid(name, "at least two assumptions", dict(assumptions))


def one_arm(
    lines: Sequence[Line], horizon: int, null: float, alternative: float, arm: str, control: str, **more: Any
) -> Design:
    """A design about one arm, whose rate is compared with two assumptions; `control` is what is given otherwise.

    Its rate lies halfway, so that the best arm is the control under the null and the arm under the alternative: the
    chance of a wrong option is the error of the first and of the second kind.
    """
    if not 0 <= null < alternative <= 1:
        raise invalid("null and alternative", "rates from 0 to 1, the null below the alternative", (null, alternative))
    if arm == control:
        raise invalid("control", "another name than the arm", control)
    middle = (null + alternative) / 2
    kinds = [f"null, {null:g}", f"alternative, {alternative:g}"]
    collection = Collection.bernoulli([[null, middle], [alternative, middle]], tasks=kinds, arms=[arm, control])
    plan = make_plan(lines, collection, horizon, vocabulary=WORDS, origin=Origin(METHOD), **more)
    return Design(plan, collection)


def end(arm: str) -> Line:
    """To settle on an arm."""
    return Line(Give(arm))
