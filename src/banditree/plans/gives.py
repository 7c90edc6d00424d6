"""What a line gives: one arm, the best arm of a kind, the best of several arms, or nothing more (it hands over).

Each class answers for its own words, checks, place among the ends of a plan and numbers in the machine.
"""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from banditree.errors import invalid
from banditree.plans.words import Part, Vocabulary

if TYPE_CHECKING:
    from banditree.plans.plan import Plan

NONE = -1  # In place of an arm, a task or a row of a machine: there is none.
HAND_OVER = -2  # The arm of a row at which a case goes to the fallback of the plan.
MOST_TALLY = 200  # Nobody counts further on a tally sheet, and exact certificates take the same in memory.
SEVERAL = -3  # The arm of a row with several arms, among which the outcomes so far choose.


@dataclass(frozen=True)
class Give(Part):
    """One arm."""

    arm: str
    kind: Literal["give"] = "give"
    is_scored: ClassVar[bool] = True  # Whether the safety rule scores it where it is given for good.
    chooses: ClassVar[bool] = False  # Whether the outcomes so far choose what is given.
    task: ClassVar[str | None] = None  # The task that is treated as.

    def check(self, plan: "Plan") -> str:
        """What is wrong with it in this plan, or nothing."""
        return "" if self.arm in plan.arm_numbers else f"names the arm {self.arm!r}, which the plan does not have"

    def numbers(self, plan: "Plan") -> tuple[int, int]:
        """(arm, task) in the machine."""
        return plan.arm_numbers[self.arm], NONE

    def order(self, plan: "Plan") -> tuple[float, ...]:
        """Its place among the ends of a plan."""
        return 0, *self.numbers(plan)

    def phrase(self, plan: "Plan") -> str:
        """In the middle of a sentence: "give A"."""
        return plan.vocabulary.say("{to_give} {name}", name=plan.vocabulary.quoted(self.arm))

    def settling(self, plan: "Plan", before: "Gives") -> str:
        """What to do on coming to rest here from a line that gives `before`: "stay with A"."""
        words, stays = plan.vocabulary, isinstance(before, Give) and before.arm == self.arm
        name = words.quoted(self.arm)
        return words.say("stay with {name}", name=name) if stays else words.say("settle on {name}", name=name)


@dataclass(frozen=True)
class TreatAs(Part):
    """The best arm for a task at the context: by its printed rule or, without one, the highest prediction."""

    task: str
    kind: Literal["treat as"] = "treat as"
    is_scored: ClassVar[bool] = True
    chooses: ClassVar[bool] = False

    def check(self, plan: "Plan") -> str:
        """What is wrong with it in this plan, or nothing."""
        if self.task not in plan.task_numbers:
            return f"names the task {self.task!r}, which the plan does not have"
        return "treats as a task, and the plan has no predictions" if plan.theta is None else ""

    def numbers(self, plan: "Plan") -> tuple[int, int]:
        """(arm, task) in the machine."""
        return NONE, plan.task_numbers[self.task]

    def order(self, plan: "Plan") -> tuple[float, ...]:
        """Its place among the ends of a plan."""
        return 0, *self.numbers(plan)

    def phrase(self, plan: "Plan") -> str:
        """In the middle of a sentence: "treat as early"."""
        return plan.vocabulary.say("treat as {kind}", kind=plan.vocabulary.quoted(self.task))

    def settling(self, plan: "Plan", before: "Gives") -> str:
        """What to do on coming to rest here from a line that gives `before`."""
        words, name = plan.vocabulary, plan.vocabulary.quoted(self.task)
        if self == before:
            return words.say("keep treating as {kind}", kind=name)
        return words.say("treat as {kind} from now on", kind=name)


@dataclass(frozen=True)
class TreatByState(Part):
    """One of `options` for each of `states`: the best arm of a task in the state that the case is in or, without a
    task, what tells the tasks apart there."""

    task: str | None = None
    states: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    kind: Literal["treat by state"] = "treat by state"
    is_scored: ClassVar[bool] = True
    chooses: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if len(self.states) < 2 or len(set(self.states)) < len(self.states):
            raise invalid("the states of a rule by state", "at least two different names", self.states)
        if len(self.options) != len(self.states):
            raise invalid("the options of a rule by state", "one for each state", self.options)

    def check(self, plan: "Plan") -> str:
        """What is wrong with it in this plan, or nothing."""
        if self.task is not None and self.task not in plan.task_numbers:
            return f"names the task {self.task!r}, which the plan does not have"
        unknown = [arm for arm in self.options if arm not in plan.arm_numbers]
        if unknown:
            return f"names the arm {unknown[0]!r}, which the plan does not have"
        return "" if self.states == plan.states else "has other states than line 1"

    def numbers(self, plan: "Plan") -> tuple[int, int]:
        """(arm, task) in the machine."""
        return NONE, NONE if self.task is None else plan.task_numbers[self.task]

    def order(self, plan: "Plan") -> tuple[float, ...]:
        """Its place among the ends of a plan."""
        return 0, *self.numbers(plan)

    @property
    def names(self) -> str:
        """Its task and the rule: "mild disease (well: A; ill: B)"."""
        return self.said(Vocabulary())

    def said(self, words: Vocabulary) -> str:
        """The same in the language of some words."""
        return f"{words.quoted(self.task or '')} ({self._rule(words)})".lstrip()

    def _rule(self, words: Vocabulary) -> str:
        pairs = zip(self.states, self.options, strict=True)
        return "; ".join(f"{listed(state, words)}: {listed(arm, words)}" for state, arm in pairs)

    def phrase(self, plan: "Plan") -> str:
        """In the middle of a sentence: "treat as mild disease (well: A; ill: B)", or "give by state (well: A; ...)"."""
        words = plan.vocabulary
        if self.task is None:
            return words.say("{to_give} by state ({rule})", rule=self._rule(words))
        return words.say("treat as {kind}", kind=self.said(words))

    def settling(self, plan: "Plan", before: "Gives") -> str:
        """What to do on coming to rest here from a line that gives `before`."""
        words = plan.vocabulary
        if self.task is None:
            return words.say("{action} from now on", action=self.phrase(plan))
        if self == before:
            return words.say("keep treating as {kind}", kind=words.quoted(self.task))
        return words.say("treat as {kind} from now on", kind=self.said(words))


@dataclass(frozen=True)
class BestOf(Part):
    """The best of several arms, for good: what was learned since the first round chooses.

    expected: the mean that each arm is expected to have, as if from `worth` rounds: the highest `horizon_index` is then
    given; without them Thompson sampling chooses.
    """

    arms: tuple[str, ...]
    expected: tuple[float, ...] = ()
    worth: int = 0
    kind: Literal["best of"] = "best of"
    is_scored: ClassVar[bool] = False
    chooses: ClassVar[bool] = True
    task: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        if len(set(self.arms)) < 2:
            raise invalid("the arms of an end between several", "at least two different ones", self.arms)
        if self.expected and (len(self.expected) != len(self.arms) or not np.isfinite(self.expected).all()):
            raise invalid("the expected means of an end between several", "one number per arm", self.expected)
        if (self.worth >= 1) != bool(self.expected):
            raise invalid("worth", "at least 1 exactly where means are expected", self.worth)

    def check(self, plan: "Plan") -> str:
        """What is wrong with it in this plan, or nothing."""
        unknown = [arm for arm in self.arms if arm not in plan.arm_numbers]
        if unknown:
            return f"names the arm {unknown[0]!r}, which the plan does not have"
        return "is between several arms, which a plan with contexts cannot be" if plan.theta is not None else ""

    def numbers(self, plan: "Plan") -> tuple[int, int]:
        """(arm, task) in the machine."""
        return SEVERAL, NONE

    def arms_in(self, plan: "Plan") -> list[int]:
        """The numbers of its arms."""
        return [plan.arm_numbers[arm] for arm in self.arms]

    def order(self, plan: "Plan") -> tuple[float, ...]:
        """Its place among the ends of a plan."""
        return 1, *self.arms_in(plan), *self.expected

    def phrase(self, plan: "Plan") -> str:
        """In the middle of a sentence: "give the best of D, B and Q", with what is expected of each."""
        words = plan.vocabulary
        return words.say("{to_give} the best of {names} and {last}", **self._names(words))

    def settling(self, plan: "Plan", before: "Gives") -> str:
        """What to do on coming to rest here."""
        words = plan.vocabulary
        return words.say("settle on the best of {names} and {last}", **self._names(words))

    def _names(self, words: Vocabulary) -> dict[str, str]:
        names = [_in_a_list(arm, words) for arm in self.arms]
        if self.expected:
            rates = [words.digits(f"{rate:g}") for rate in self.expected]
            names = [f"{name} ({rate})" for name, rate in zip(names, rates, strict=True)]
        return {"names": ", ".join(names[:-1]), "last": names[-1]}


@dataclass(frozen=True)
class HandOver(Part):
    """Nothing more: the case fits no task, and the fallback of the plan decides from now on."""

    kind: Literal["hand over"] = field(default="hand over")
    is_scored: ClassVar[bool] = False
    task: ClassVar[str | None] = None
    chooses: ClassVar[bool] = False

    def check(self, plan: "Plan") -> str:
        """What is wrong with it in this plan, or nothing."""
        return "hands over, and the plan does not say to whom" if plan.fallback is None else ""

    def numbers(self, plan: "Plan") -> tuple[int, int]:
        """(arm, task) in the machine."""
        return HAND_OVER, NONE

    def order(self, plan: "Plan") -> tuple[float, ...]:
        """Its place among the ends of a plan: the last."""
        return (2,)

    def phrase(self, plan: "Plan") -> str:
        """In the middle of a sentence."""
        return plan.vocabulary.say("hand over")

    def settling(self, plan: "Plan", before: "Gives") -> str:
        """What to do on leaving a line for it."""
        return plan.vocabulary.say("hand over")


@dataclass(frozen=True)
class SheetRow(Part):
    """The points of a round against every task, by the state that the case was in and the arm: of a failure and a
    success, and of each next state; each a number per task."""

    state: str
    arm: str
    failure: tuple[int, ...]
    success: tuple[int, ...]
    moves: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class TreatAsLeader(Part):
    """The best arm, by state, of the task against which least has been tallied, the first of several; nothing that a
    round told is forgotten.

    rules: of every task. sheet: the points of a round against each, by state and arm. most: after a round the lowest
    tally is taken off all of them, and none counts above this, so that a case that changes is noticed.
    """

    rules: tuple[TreatByState, ...]
    sheet: tuple[SheetRow, ...]
    most: int
    kind: Literal["treat as leader"] = "treat as leader"
    is_scored: ClassVar[bool] = False
    chooses: ClassVar[bool] = True
    task: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        if len(self.rules) < 2 or len({rule.states for rule in self.rules}) > 1:
            raise invalid("the rules of a leader", "at least two, by the same states", len(self.rules))
        if not 1 <= self.most <= MOST_TALLY:
            raise invalid("the most that a tally counts", f"from 1 to {MOST_TALLY}", self.most)
        rows = {(row.state, row.arm): row for row in self.sheet}
        needed = {pair for rule in self.rules for pair in zip(rule.states, rule.options, strict=True)}
        if len(rows) < len(self.sheet) or set(rows) != needed:
            raise invalid("the rows of a tally sheet", "one for each arm of a rule in each state", len(self.sheet))
        for row in self.sheet:
            each = (row.failure, row.success, *row.moves)
            if len(row.moves) != len(self.states) or any(len(one) != len(self.rules) for one in each):
                raise invalid("the points of a tally sheet", "for each next state, and one per task", row)
            if any(not 0 <= point <= MOST_TALLY for one in each for point in one):
                raise invalid("the points of a tally sheet", f"from 0 to {MOST_TALLY}", row)

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states."""
        return self.rules[0].states

    @property
    def options(self) -> tuple[str, ...]:
        """The arms that it may give."""
        return tuple(dict.fromkeys(arm for rule in self.rules for arm in rule.options))

    def check(self, plan: "Plan") -> str:
        """What is wrong with it in this plan, or nothing."""
        if len(plan.lines) > 1:
            return "treats as the leader, which is a plan of its own"
        if tuple(rule.task for rule in self.rules) != plan.tasks:
            return "must have a rule for each task of the plan, in the same order"
        return next((problem for rule in self.rules if (problem := rule.check(plan))), "")

    def numbers(self, plan: "Plan") -> tuple[int, int]:
        """(arm, task) in the machine."""
        return NONE, NONE

    def order(self, plan: "Plan") -> tuple[float, ...]:
        """Its place among the ends of a plan."""
        return (1,)

    def phrase(self, plan: "Plan") -> str:
        """In the middle of a sentence: "treat as the kind with the lowest tally ..."."""
        words = plan.vocabulary
        rules = ", ".join(rule.said(words) for rule in self.rules)
        return words.say(
            "treat as the {task} with the lowest tally, of several the first in this order: {kinds}", kinds=rules
        )

    def settling(self, plan: "Plan", before: "Gives") -> str:
        """What to do on coming to rest here."""
        return self.phrase(plan)


Gives = Give | TreatAs | TreatByState | TreatAsLeader | BestOf | HandOver


def listed(name: str, words: Vocabulary) -> str:
    """A name of the user among others, with commas or in brackets: in quotation marks if it has any itself."""
    plain = words.quoted(name)
    apart = plain == name and any(mark in name for mark in ",()")
    return json.dumps(name, ensure_ascii=not name.isprintable()) if apart else plain


def _in_a_list(name: str, words: Vocabulary) -> str:
    plain, last = words.quoted(name), words.language.meant("between the last two of a list", "and")
    apart = plain == name and ("," in name or f" {last} " in f" {name} ")
    return json.dumps(name, ensure_ascii=not name.isprintable()) if apart else plain
