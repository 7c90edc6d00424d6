"""What is asked of a protocol: whether there can be one, within which limits, and who decides where it does not."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from banditree.certificates.unlucky import MOST_ROUNDS
from banditree.errors import InvalidInput, invalid
from banditree.plans.plan import ODDS, Decider, Fallback
from banditree.protocols.by_context import contextual_tasks
from banditree.protocols.defaults import MANY_TASKS, default_lines, default_path
from banditree.protocols.kind_rules import printed_rules
from banditree.protocols.objectives import Limits, Objective
from banditree.protocols.settings import ProtocolSettings
from banditree.tasks.collection import Collection

if TYPE_CHECKING:
    from banditree.protocols.by_context import ContextualTasks, PointsBy

TINY = 30  # Up to this horizon a case of random length stands badly for one of H rounds, and none can lose much.
MOST_CARED_FOR = 20  # A search for the unlucky takes twice as long with 20 tasks, and with 40 more than four times.


def why_no_protocol(collection: Collection) -> str:
    """Why there is no protocol for these tasks, or ""."""
    if not collection.rewards.has_likelihood:
        return (
            "Protocols need the chance of each reward, and of bounded rewards only the mean is known. Toss a coin for "
            "each reward: tasks.changes.by_coin."
        )
    return ""


def seen_by_context(
    collection: Collection, points: "PointsBy | None", rule_size: int | None
) -> "ContextualTasks | None":
    """How the search sees tasks with contexts; None for tasks without."""
    if collection.theta is None:
        for name, value in (("points", points), ("rule_size", rule_size)):
            if value is not None:
                raise invalid(name, "omitted for tasks without contexts", value)
        return None
    if points == "table" and not collection.rewards.counts:
        raise invalid("points", "fit or outcome for rewards that are not 0 or 1", points)
    rules = () if rule_size is None else printed_rules(collection, rule_size)
    return contextual_tasks(collection, points or "fit", rules)


def check_asked(collection: Collection, horizon: int, washout: int) -> None:
    """Refuse what no protocol can be made for."""
    if horizon < 1:
        raise invalid("horizon", "at least 1, the number of rounds of one case", horizon)
    if washout and washout >= horizon:
        raise invalid("washout", f"below the horizon of {horizon:,} rounds, or nothing counts after a change", washout)
    if reason := why_no_protocol(collection):
        raise InvalidInput(reason)


def fallback_for(collection: Collection, how: ProtocolSettings) -> Fallback | None:
    """What a plan does with cases that contradict every task; None where no setting asks for it."""
    if not (how.allow or how.unknown or how.fallback):
        return None
    if collection.theta is not None:
        raise InvalidInput(
            "allow, unknown and fallback must be omitted with contexts: they are for rates. A session that is started "
            "with the collection hands over cases that are none of its tasks."
        )
    if how.washout:
        raise InvalidInput("allow, unknown and fallback must be omitted with washout: all rounds count for them.")
    if collection.worth is not None:
        raise InvalidInput("allow, unknown and fallback must be omitted with worth: they decide by outcomes.")
    to = fallback_named(how.fallback or Decider.THOMPSON, collection.arms)
    return replace(to, odds=ODDS, allow=how.allow + float(collection.radius.max()))


def fallback_named(given: str, arms: Sequence[str]) -> Fallback:
    """The fallback that a user names: "thompson", "person", or an arm.

    >>> fallback_named("person", ["A", "B"]).to, fallback_named("B", ["A", "B"]).arm
    (<Decider.PERSON: 'person'>, 'B')
    """
    if given in (Decider.THOMPSON, Decider.PERSON):
        return Fallback(Decider(given))
    if given in arms:
        return Fallback(Decider.OPTION, given)
    some = ", ".join([*arms[:5], *["..."][: len(arms) > 5]])
    raise invalid("fallback", f"thompson, person, or an arm ({some})", given)


def by_some(collection: Collection, how: ProtocolSettings) -> bool:
    """Whether some of many tasks stand for all: where rates are known and all cases of a task are alike."""
    plain = collection.theta is None and not collection.varies and not collection.is_estimated
    asked = how.allow or how.unknown or how.fallback or how.max_harm is not None or how.caps.some
    return collection.n_tasks > MANY_TASKS and plain and not asked


def objective_for(collection: Collection, how: ProtocolSettings, horizon: int) -> Objective:
    """What must be least: by default the unlucky count where what they lose is computed, and that soon."""
    if how.objective is not None:
        return how.objective
    other = how.allow or how.unknown or how.fallback or how.max_wrong_arm or collection.varies
    untold = other or collection.theta is not None or not TINY < horizon <= MOST_ROUNDS
    return Objective.WORST if untold or collection.n_tasks > MOST_CARED_FOR else Objective.UNLUCKY


def limits_for(collection: Collection, how: ProtocolSettings) -> Limits:
    """How long a protocol and its paths may be, and what it may have."""
    longest = how.longest_path if how.longest_path is not None or how.links_back else default_path(collection)
    return Limits(how.lines or default_lines(collection), longest, how.rule, not how.forward_only, how.links_back)


def widths_of(limits: Limits, collection: Collection) -> list[Limits]:
    """The limits, after narrower ones with as many lines as by default, and then without links back."""
    widths = [limits]
    if limits.links_back:
        longest = limits.longest_path or default_path(collection)
        widths.insert(0, replace(limits, links_back=False, longest_path=longest))
    if limits.lines > default_lines(collection):
        widths.insert(0, replace(widths[0], lines=default_lines(collection)))
    return widths
