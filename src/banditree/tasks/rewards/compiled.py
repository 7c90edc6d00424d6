"""The numbers by which compiled functions know the reward families; their arithmetic is in `policies.families`."""

from collections.abc import Mapping

from banditree.errors import InvalidInput
from banditree.tasks.rewards.base import Family, Rewards

TWO_POINT, GAUSSIAN, GRADED = 0, 1, 2  # TWO_POINT rewards take the two ends of their range.
COMPILED_FAMILIES: Mapping[Family, int] = {
    Family.BERNOULLI: TWO_POINT,
    Family.BOUNDED: TWO_POINT,
    Family.GAUSSIAN: GAUSSIAN,
    Family.GRADED: GRADED,
}


def compiled_family(rewards: Rewards) -> int:
    """The number of the family of `rewards`, or an error if nobody wrote its arithmetic in `policies.families`."""
    if rewards.family not in COMPILED_FAMILIES:
        raise InvalidInput(
            f"{rewards.family} rewards can be neither simulated nor followed: policies/families.py has no lines for "
            f"them, only for {', '.join(COMPILED_FAMILIES)} ones. docs/design/families.md says what a new family needs."
        )
    return COMPILED_FAMILIES[rewards.family]
