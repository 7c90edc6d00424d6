"""Plans that keep a limit on harm: what does harm costs ever more in the search until its plans keep it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import OnHarm, Plan, make_plan
from banditree.plans.words import amount
from banditree.protocols.judging import loses
from banditree.protocols.objectives import Objective
from banditree.protocols.variants import Nearby
from banditree.protocols.worlds import World
from banditree.tasks.collection import Collection
from banditree.tasks.harm import Harm

DEARER = 6.0  # Harm costs six times as much from one search to the next ...
SEARCHES = 4  # ... in at most four searches after the one that does not heed it, until one keeps the limit.
CLOSER = 2  # This many more searches look between the last two prices for a plan that loses less.
PRICED_STEPS = 0.5  # Each of these searches takes this share of the steps.

Search = Callable[[float, float], Nearby]  # (price of a harm, share of the steps) -> what a search finds


def within_harm(collection: Collection, horizon: int, limit: float, objective: Objective, search: Search) -> Nearby:
    """The plan of least loss found with at most `limit` expected harms of a case in every task.

    An error where no plan can keep the limit, with the task and the least that is possible, or where none was found.
    """
    _require_possible(collection, horizon, limit)
    found, low, high = [search(0.0, 1.0)], 0.0, _first_price(collection)
    if _harms(found[0].plan, collection) <= limit:
        return found[0]
    for _ in range(SEARCHES):
        found.append(search(high, PRICED_STEPS))
        if _harms(found[-1].plan, collection) <= limit:
            break
        low, high = high, high * DEARER
    else:
        high = np.inf
    for _ in range(CLOSER if np.isfinite(high) else 0):
        between = (low * high) ** 0.5 if low else high / DEARER
        found.append(search(between, PRICED_STEPS))
        low, high = (low, between) if _harms(found[-1].plan, collection) <= limit else (between, high)
    found += _one_arm(collection, found[0])
    kept = [one for one in found if keeps(one.plan, collection, limit)]
    if not kept:
        raise _none_found(collection, limit, [one.plan for one in found])
    return min(kept, key=lambda one: loses(one.plan, collection, objective))


def priced(world: World, collection: Collection) -> World:
    """The world with the harm of its scenarios: that of their task, or of the worst task where they have none."""
    assert collection.harm is not None
    most, n = collection.harm.most, collection.n_tasks
    drawn = world.group[: world.n_scenarios - world.n_added]
    added = np.repeat(most.max(axis=0)[None], world.n_added, axis=0)
    rates = np.concatenate([most[np.minimum(drawn, n - 1)], added])
    return replace(world, scenarios=replace(world.scenarios, harm=Harm.of(rates)))


def _require_possible(collection: Collection, horizon: int, limit: float) -> None:
    if collection.harm is None:
        raise InvalidInput(
            "max_harm must be omitted where the collection has no rates of harm. Add them: to a table as a last row "
            "'harm', in Python by with_harm."
        )
    if collection.theta is not None:
        raise InvalidInput("max_harm must be omitted with contexts: it is for rates.")
    least = horizon * collection.harm.most.min(axis=1)
    worst = int(least.argmax())
    if least[worst] > limit:
        arm = collection.arms[int(collection.harm.most[worst].argmin())]
        raise InvalidInput(
            f"max_harm must be at least {_up(float(least[worst]))}: over {horizon:,} rounds the harms of a case of "
            f"task {collection.tasks[worst]!r} come to {amount(float(least[worst]))} even if it always gets {arm!r}, "
            f"which does least. Got {limit:g}."
        )


def _up(value: float) -> str:
    """Rounded up, so that what is said to be enough is."""
    digits = 10.0 ** (2 - int(np.floor(np.log10(value))))
    return f"{np.ceil(value * digits) / digits:g}"


def _first_price(collection: Collection) -> float:
    assert collection.harm is not None
    return float(collection.gaps.mean() / collection.harm.most.mean())


def keeps(plan: Plan, collection: Collection, limit: float | None) -> bool:
    """Whether cases of a plan have at most `limit` harms on average in every task, if there is a limit."""
    return limit is None or _harms(plan, collection) <= limit


def _harms(plan: Plan, collection: Collection) -> float:
    harm = certify(plan, collection, must_rest=False).harm
    assert harm is not None
    return float(harm.max())


def _one_arm(collection: Collection, like: Nearby) -> list[Nearby]:
    """Every arm given from the first round: one of them may keep a limit that no longer plan keeps."""
    horizon, origin = like.plan.horizon, like.plan.origin
    plans = [make_plan([Line(Give(arm))], collection, horizon, origin=origin) for arm in collection.arms]
    return [replace(like, plan=plan, draft=None, known={}) for plan in plans]


def _none_found(collection: Collection, limit: float, found: list[Plan]) -> InvalidInput:
    least = min(found, key=lambda plan: _harms(plan, collection))
    harm = certify(least, collection, must_rest=False).harm
    assert harm is not None
    worst = int(harm.argmax())
    return InvalidInput(
        f"No plan was found whose cases have at most {limit:g} harms; in the one with fewest, a case of task "
        f"{collection.tasks[worst]!r} has {amount(float(harm[worst]))}. Allow more steps or lines, or more harm."
    )


def barring(plan: Plan, collection: Collection, limit: float | None = None) -> Plan:
    """The plan with the rule that an arm is not given again after harm; an error where it then exceeds a limit."""
    ruled = replace(plan, on_harm=OnHarm.NOT_AGAIN)
    if limit is None or keeps(ruled, collection, limit):
        return ruled
    raise _none_found(collection, limit, [ruled])
