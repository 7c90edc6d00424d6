"""What changed from one plan to another, line by line as people read them."""

from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

from banditree.plans.plan import Plan
from banditree.plans.wording import plain_text


class Kind(StrEnum):
    """Whether a line is in both plans, only in the old one, or only in the new one."""

    SAME = "same"
    GONE = "gone"
    NEW = "new"


class Change(NamedTuple):
    """A line of either plan."""

    kind: Kind
    text: str


def changed_lines(old: Plan, new: Plan) -> list[Change]:
    """The lines of both plans in one list: those that stay, go and are new.

    >>> from banditree.plans.gives import Give
    >>> from banditree.plans.line import Line
    >>> from banditree.plans.plan import make_plan
    >>> from banditree.tasks.collection import Collection
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> old, new = (make_plan([Line(Give(arm))], two, 50) for arm in two.arms)
    >>> for change in changed_lines(old, new)[-2:]:
    ...     print(f"{change.kind}: {change.text}")
    gone: 1. Give A from now on.
    new: 1. Give B from now on.
    """
    before, after = plain_text(old).splitlines(), plain_text(new).splitlines()
    found: list[Change] = []
    for same, a, a_end, b, b_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if same == "equal":
            found += [Change(Kind.SAME, line) for line in before[a:a_end]]
        else:
            found += [Change(Kind.GONE, line) for line in before[a:a_end]]
            found += [Change(Kind.NEW, line) for line in after[b:b_end]]
    return found
