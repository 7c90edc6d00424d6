"""The one way to make a plan: the methods, what each can do, and which options each uses."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from banditree.errors import InvalidInput, invalid
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.one_option import at_once
from banditree.plans.pages import given_arms
from banditree.plans.plan import Page, Plan
from banditree.plans.words import Vocabulary
from banditree.progress import OnProgress
from banditree.protocols.asked import why_no_protocol
from banditree.protocols.asking import asking
from banditree.protocols.by_state import build_by_state
from banditree.protocols.harm import barring
from banditree.protocols.protocol import build_protocol, find_protocol
from banditree.protocols.settings import PlanSettings
from banditree.protocols.variants import Nearby
from banditree.settings import keywords
from banditree.tasks.changes import without_arms
from banditree.tasks.collection import Collection
from banditree.tasks.states import StateCollection
from banditree.trees.optimal import build_optimal
from banditree.trees.tree import build_tree

EVERYWHERE = {"collection", "horizon", "vocabulary", "on_progress"}  # `build_plan` itself hands these to every method.


@dataclass(frozen=True)
class Method:
    """A way to make a plan: its function, and why it cannot do some collection ("" where it can).

    find: the same with what it takes to look for others near the plan, where that can be done.
    """

    name: str
    build: Callable[..., Plan]
    why_not: Callable[[Collection], str] = lambda _collection: ""
    find: Callable[..., Nearby] | None = None

    @cached_property
    def takes(self) -> frozenset[str]:
        """The names of the arguments of its function."""
        return frozenset(inspect.signature(self.build).parameters)

    @property
    def options(self) -> list[str]:
        """What a user may set."""
        return sorted(self.takes - EVERYWHERE)


# In the order of preference: the default is the first that can do the tasks and uses every option given.
METHODS = (
    Method("protocol", build_protocol, why_no_protocol, find_protocol),
    Method("tree", build_tree),
    Method("optimal", build_optimal),
)


@keywords(PlanSettings)
def build_plan(
    collection: Collection,
    horizon: int,
    method: str | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    on_progress: OnProgress | None = None,
    pages: bool = False,
    not_again: bool = False,
    ask: bool = False,
    **options: Any,
) -> Plan:
    """The plan for a collection over `horizon` rounds of one case.

    method: "protocol" (a few lines that keep a score, found by search: least regret), "tree" (DT-ECE, the decision tree
    of the paper) or "optimal" (the same with the fewest tests). By default the first of these that can do the tasks and
    uses all the options given. options: of `PlanSettings`, or others of `build_protocol`, `build_tree` or
    `build_optimal`; one that the method does not use is refused, and None counts as omitted. Where all ends of a plan
    would give the same option, the plan gives it at once. pages: see `add_pages`. not_again: with pages, and the rule
    that a case never gets an arm again under which it was harmed; a limit on harm is then kept with the rule. ask:
    see `asking`.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> build_plan(two, 1000, steps=300).origin.method, build_plan(two, 1000, stop_early=True).origin.method
    ('protocol', 'tree')
    >>> build_plan(two, 1000, "tree", steps=300)
    Traceback (most recent call last):
        ...
    banditree.errors.InvalidInput: steps must be omitted with method="tree". It is an option of method="protocol".
    """
    offered: dict[str, Any] = {"vocabulary": vocabulary, "on_progress": on_progress}
    return plan_and_near(collection, horizon, method, pages=pages, not_again=not_again, ask=ask, **offered, **options)[
        0
    ]


def plan_and_near(
    collection: Collection,
    horizon: int,
    method: str | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    on_progress: OnProgress | None = None,
    pages: bool = False,
    not_again: bool = False,
    ask: bool = False,
    **options: Any,
) -> tuple[Plan, Nearby | None]:
    """What `build_plan` builds, and what `variants` shows beside it; None where no others are looked for."""
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(collection, StateCollection):
        given |= {"vocabulary": vocabulary, "on_progress": on_progress, "pages": pages, "not_again": not_again}
        return build_by_state(collection, horizon, method, **given), None
    chosen = choose_method(collection, method, given)
    offered = {"vocabulary": vocabulary, "on_progress": on_progress}
    more = {name: value for name, value in offered.items() if name in chosen.takes}
    near = None if chosen.find is None else chosen.find(collection, horizon, **more, **given)
    plan = at_once(chosen.build(collection, horizon, **more, **given) if near is None else near.plan)
    if not_again:
        plan = add_rule(plan, collection, on_progress=on_progress, **given)
    elif pages:
        plan = add_pages(plan, collection, on_progress=on_progress, **given)
    if ask:
        plan = asking(plan, collection)
    by_others = plan.fallback is not None or plan.outcomes_choose
    alone = by_others or not_again or given.get("max_harm") is not None or given.get("numbers") == "free"
    return plan, None if near is None or alone else replace(near, plan=plan)


def add_rule(plan: Plan, collection: Collection, *, max_harm: float | None = None, **options: Any) -> Plan:
    """The plan with pages, as in `add_pages`, and the rule that a case turns to one after harm.

    max_harm: what the plan with the rule must keep; the pages need not keep it by themselves.
    """
    return barring(add_pages(plan, collection, **options), collection, max_harm)


def add_pages(
    plan: Plan,
    collection: Collection,
    missing: Iterable[Sequence[str]] | None = None,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Plan:
    """The plan with a page for each of its arms: the plan that is found where there is no such arm.

    missing: groups of arms that are missing together, instead. options: those that the plan was made with.

    >>> three = Collection.bernoulli([[0.8, 0.3, 0.6], [0.2, 0.7, 0.4]], arms=["A", "B", "C"])
    >>> plan = add_pages(build_plan(three, 100, steps=300), three, [("A", "C")], steps=300)
    >>> str(plan).splitlines()[-3:]
    ['Page 2, for a case that must not get A or C:', '', '1. Give B from now on.']
    """
    if plan.theta is not None or plan.fallback is not None or plan.outcomes_choose:
        raise InvalidInput("Pages are for plans without contexts and without a fallback. Omit pages, or these.")
    if (plan.arms, plan.tasks) != (collection.arms, collection.tasks):
        raise InvalidInput(
            "Pages are made with the collection that the plan was made from: its arms and tasks must be those of the "
            f"plan, {', '.join(plan.arms[:5])} and {', '.join(plan.tasks[:5])}."
        )
    method = _named(plan.origin.method)
    given = {**options, "on_progress": on_progress} if "on_progress" in method.takes else options

    def page(without: tuple[str, ...]) -> Page:
        left = [arm for arm in plan.arms if arm not in without]
        if not left:
            raise invalid("the missing arms of a page", "fewer than all arms", without)
        if len(left) == 1:
            return Page(without, (Line(Give(left[0])),))
        found = at_once(method.build(without_arms(collection, without), plan.horizon, **given))
        return Page(without, found.lines, found.rule)

    groups = [(arm,) for arm in plan.arms if arm in given_arms(plan)] if missing is None else missing
    return replace(plan, pages=tuple(page(tuple(group)) for group in groups))


def choose_method(collection: Collection, method: str | None = None, options: Iterable[str] = ()) -> Method:
    """The method of that name, or the default for these tasks and options; an error if it cannot do or use them."""
    for name in options:
        if not any(name in known.options for known in METHODS):
            every = sorted({option for known in METHODS for option in known.options})
            raise InvalidInput(f"No method has an option {name!r}. The options are: {', '.join(every)}.")
    if method is not None:
        return _able(_named(method), collection, options)
    fitting = [known for known in METHODS if not set(options) - set(known.options)]
    if not fitting:
        uses = "; ".join(f"{name} is an option of {_users(name)}" for name in options)
        raise InvalidInput(f"No method uses all of these options: {uses}.")
    able = [known for known in fitting if not known.why_not(collection)]
    return able[0] if able else _able(fitting[0], collection, options)


def _named(name: str) -> Method:
    for known in METHODS:
        if known.name == name:
            return known
    raise invalid("method", f"one of {', '.join(known.name for known in METHODS)}", name)


def _users(option: str) -> str:
    """The methods that use an option, for a sentence."""
    return " or ".join(f'method="{known.name}"' for known in METHODS if option in known.options)


def _able(method: Method, collection: Collection, options: Iterable[str]) -> Method:
    """The method, or the error that says which option it does not use or why it cannot do the collection."""
    for name in options:
        if name not in method.options:
            rule = f'{name} must be omitted with method="{method.name}".'
            raise InvalidInput(f"{rule} It is an option of {_users(name)}.")
    if reason := method.why_not(collection):
        others = [f'method="{known.name}"' for known in METHODS if not known.why_not(collection)]
        hint = f" Use {' or '.join(others)}." if others else ""
        raise InvalidInput(f"{reason}{hint}")
    return method
