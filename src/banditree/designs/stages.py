"""Designs in stages: count the successes of all rounds so far, and stop at a look where there are few or many."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from banditree.designs.boxes import Rule, Situation, Test, boxes
from banditree.designs.characteristics import Design, one_arm
from banditree.errors import InvalidInput, invalid


@dataclass(frozen=True)
class Look:
    """After `rounds` rounds in all: at most `few` successes stop below, at least `many` above; None where none do."""

    rounds: int
    few: int | None = None
    many: int | None = None

    def side(self, successes: int) -> str | None:
        """Where a number of successes leads: "few", "many", or on to the next look."""
        if self.few is not None and successes <= self.few:
            return "few"
        return "many" if self.many is not None and successes >= self.many else None


def check_looks(looks: Sequence[Look]) -> None:
    """Refuse looks that are out of order, or a last one at which nothing is decided."""
    if not looks or any(b.rounds <= a.rounds for a, b in pairwise(looks)) or looks[0].rounds < 1:
        raise invalid("the rounds of looks", "at least one, increasing from 1", [look.rounds for look in looks])
    for look in looks:
        if look.few is not None and look.many is not None and look.few >= look.many:
            raise invalid(f"the limits after {look.rounds} rounds", "few below many", (look.few, look.many))
    last = looks[-1]
    if any(last.side(successes) is None for successes in range(last.rounds + 1)):
        raise InvalidInput(
            f"The last look, after {last.rounds} rounds, must decide. Got few {last.few} and many {last.many}: "
            "many must be few + 1."
        )


def count_on(looks: Sequence[Look], arm: str, few: Situation, many: Situation, mark: Situation = None) -> Rule:
    """The rule of a design in stages. Situations are (mark, rounds so far, successes so far); `few`, `many`: what
    follows a stop."""
    after = {look.rounds: look for look in looks}

    def rule(situation: Situation) -> Test:
        _, rounds, successes = situation
        ahead = next(look for look in looks if look.rounds > rounds)
        left = ahead.rounds - rounds

        def then(more: int, gained: int) -> Situation:
            look = after.get(rounds + more)
            side = None if look is None else look.side(successes + gained)
            return {"few": few, "many": many, None: (mark, rounds + more, successes + gained)}[side]

        reachable = {ahead.side(successes + gained) for gained in range(left + 1)}
        if len(reachable) == 1 and None not in reachable:  # The rounds to the look are given, and change nothing.
            return Test(arm, left, left, then(left, 0), then(left, 0))
        if None not in reachable and ahead.few is not None:  # This look decides: few or many.
            return Test(arm, left, ahead.few - successes, then(left, 0), then(left, left))
        return Test(arm, 1, 0, then(1, 0), then(1, 1))

    return rule


def group_sequential(
    looks: Sequence[Look], *, null: float, alternative: float, arm: str = "treatment", control: str = "control"
) -> Design:
    """A design of one arm against a fixed rate: stop for `control` at few successes, for `arm` at many.

    >>> from banditree.designs import characteristics
    >>> design = group_sequential([Look(10, 1), Look(29, 5, 6)], null=0.1, alternative=0.3)
    >>> found = characteristics(design)  # Simon's two stages
    >>> found.chances["treatment"].round(4).tolist(), found.mean_rounds.round(2).tolist()
    ([0.0471, 0.8051], [15.01, 26.16])
    """
    check_looks(looks)
    inside = count_on(looks, arm, control, arm)
    lines = boxes((None, 0, 0), lambda situation: situation if isinstance(situation, str) else inside(situation))
    return one_arm(lines, looks[-1].rounds, null, alternative, arm, control)
