"""What a policy is: a name and a few functions over plain arrays, written once for people and for the simulator.

`choose`, `update` and `patience` are scalar loops and `math.*` in the subset that numba compiles: a live session runs
them as ordinary Python, the simulator compiles the very same functions. A new policy is a new `Policy(...)`, not a
subclass.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from banditree.languages.language import message
from banditree.plans.words import Vocabulary
from banditree.tasks.arrays import BoolArray, FloatArray

Rng = tuple[int, int, int]  # (seed, run or case, round)

# What `commitment` returns in place of a task number.
UNDECIDED = -1  # The policy is still finding out.
NO_TASK = -2  # It uses an arm for good that is best for every task still possible.
FALLBACK = -3  # The case fits no task, and a policy that does not use them plays.
ADAPTIVE = -4  # The policy never commits.


class Outcome(IntEnum):
    """Why there is no arm to pull; negative, so that `choose` can return it in place of an arm."""

    HORIZON_REACHED = -1
    ARM_NOT_AVAILABLE = -2
    NO_ARM_AVAILABLE = -3
    CONTEXT_NEEDED = -4
    OUTCOME_NEEDED = -5
    PERSON_NEEDED = -6
    STATE_NEEDED = -7

    def sentence(self, words: Vocabulary | None = None) -> str:
        """What to tell the person, in the words of the plan where there is one."""
        words = words or Vocabulary()
        return words.say(_SENTENCES[self])


_SENTENCES = {
    Outcome.HORIZON_REACHED: message("All rounds of this case have been used."),
    Outcome.ARM_NOT_AVAILABLE: message(
        "The {arm} that comes next is not available. Wait until it is, or override; a case that must never get it goes "
        "on without it."
    ),
    Outcome.NO_ARM_AVAILABLE: message("No {arm} is available. Wait until one is."),
    Outcome.CONTEXT_NEEDED: message("The choice depends on the context. Give the context of this round."),
    Outcome.OUTCOME_NEEDED: message("What comes next depends on outcomes that are still missing. Report them first."),
    Outcome.STATE_NEEDED: message("The choice depends on the state that the case is in. Give the state of this round."),
    Outcome.PERSON_NEEDED: message(
        "The case has been handed over to a person. Record which {arm} the person gives (override)."
    ),
}


@dataclass(frozen=True)
class Facts:
    """What `explain` says about a case: enough for a sentence, in numbers that the caller puts names to.

    pulls and total are of the test at hand; pulls is None for a policy without tests.
    """

    exploiting: bool
    arm: int | None = None
    possible: tuple[int, ...] | None = None
    box: int | None = None
    pulls: int | None = 0
    total: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Policy:
    """An algorithm that plays one case.

    make(subject, horizon, options) -> params: Python, once; subject is a Collection, a Plan or a LazyTree.
    init(params) -> state: a named tuple of fixed-shape numeric arrays, or of such named tuples.
    choose(params, state, context, available, rng) -> arm, or a negative Outcome; never writes the state.
    update(params, state, context, arm, reward): in place and deterministic.
    patience(params, state) -> how many rounds may be open at once before the next choice needs an outcome.
    explain(params, state) -> Facts: Python.
    replan(params, state): Python, after every update, for what cannot be compiled.
    commitment(params, state) -> the task that is exploited for good, or UNDECIDED, NO_TASK, FALLBACK, ADAPTIVE; for
    policies that explore first and then commit.
    pass_over(params, state, context): a round that is not tallied; for policies that look at the state after a round.
    """

    name: str
    make: Callable[..., Any]
    init: Callable[[Any], Any]
    choose: Callable[[Any, Any, FloatArray, BoolArray, Rng], int]
    update: Callable[[Any, Any, FloatArray, int, float], None]
    explain: Callable[[Any, Any], Facts]
    patience: Callable[[Any, Any], int] | None = None
    replan: Callable[[Any, Any], None] | None = None
    commitment: Callable[[Any, Any], int] | None = None
    pass_over: Callable[[Any, Any, FloatArray], None] | None = None
