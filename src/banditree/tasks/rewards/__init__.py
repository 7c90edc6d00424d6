"""Reward families: each is one class that answers the questions others ask (see `base.Rewards`)."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from banditree.errors import invalid
from banditree.tasks.rewards.base import LOG_FLOOR, Cells, Family, Outcome, Rewards, Scoring, require_likelihood
from banditree.tasks.rewards.bernoulli import Bernoulli
from banditree.tasks.rewards.bounded import Bounded
from banditree.tasks.rewards.gaussian import Gaussian, UnevenGaussian
from banditree.tasks.rewards.graded import Graded
from banditree.tasks.rewards.links import Link

BERNOULLI = Bernoulli()
FAMILIES: Mapping[Family, type[Rewards]] = {kind.family: kind for kind in (Bernoulli, Gaussian, Bounded, Graded)}

__all__ = [
    "BERNOULLI",
    "FAMILIES",
    "LOG_FLOOR",
    "Bernoulli",
    "Bounded",
    "Cells",
    "Family",
    "Gaussian",
    "Graded",
    "Link",
    "Outcome",
    "Rewards",
    "Scoring",
    "UnevenGaussian",
    "family_named",
    "make_rewards",
    "require_likelihood",
]


def family_named(name: str) -> type[Rewards]:
    """The class of a family.

    >>> family_named("gaussian").__name__
    'Gaussian'
    """
    try:
        return FAMILIES[Family(name)]
    except ValueError:
        raise invalid("the reward family", f"one of {', '.join(Family)}", name) from None


def make_rewards(family: str, **given: Any) -> Rewards:
    """The rewards of a family from its fields, as a file or a command gives them; a field of another one is refused.

    >>> make_rewards("bounded", low=0.0, high=5.0)
    Bounded(low=0.0, high=5.0)
    """
    kind = family_named(family)
    own = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for name, value in given.items():
        if name not in own:
            raise invalid(name, f"omitted for {kind.family} rewards", value)
    return kind(**given)
