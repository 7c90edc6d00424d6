"""banditree: short exploration plans that a person can read.

Logs or simulators become a Collection, a Collection becomes a Plan, and a Plan is shown, certified, simulated or
followed.
Names are loaded when they are first used, so that importing banditree costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from banditree.version import __version__ as __version__

if TYPE_CHECKING:
    from banditree.errors import InvalidInput as InvalidInput
    from banditree.errors import PlanWarning as PlanWarning
    from banditree.files.collections import load_collection as load_collection
    from banditree.files.collections import save_collection as save_collection
    from banditree.files.plans import load_plan as load_plan
    from banditree.files.plans import save_plan as save_plan
    from banditree.files.sessions import load_session as load_session
    from banditree.files.sessions import save_session as save_session
    from banditree.plans.plan import Plan as Plan
    from banditree.plans.plan import Vocabulary as Vocabulary
    from banditree.plans.tree import LazyTree as LazyTree
    from banditree.plans.tree import build_tree as build_tree
    from banditree.plans.tree import lazy_tree as lazy_tree
    from banditree.policies.session import MISSING as MISSING
    from banditree.policies.session import Session as Session
    from banditree.policies.session import resume_session as resume_session
    from banditree.policies.session import start_session as start_session
    from banditree.tasks.collection import Collection as Collection
    from banditree.tasks.contexts import fixed_context as fixed_context
    from banditree.tasks.contexts import gaussian_contexts as gaussian_contexts
    from banditree.tasks.contexts import moment_contexts as moment_contexts
    from banditree.tasks.contexts import sampled_contexts as sampled_contexts
    from banditree.tasks.instances import hard as hard
    from banditree.tasks.instances import linear as linear
    from banditree.tasks.instances import rand as rand
    from banditree.tasks.rewards import Rewards as Rewards
    from banditree.tasks.separation import Sense as Sense
    from banditree.tasks.separation import least_separation as least_separation
    from banditree.tasks.separation import separations as separations

_ROOMS = {
    "errors": ["InvalidInput", "PlanWarning"],
    "files.collections": ["load_collection", "save_collection"],
    "files.plans": ["load_plan", "save_plan"],
    "files.sessions": ["load_session", "save_session"],
    "plans.plan": ["Plan", "Vocabulary"],
    "plans.tree": ["LazyTree", "build_tree", "lazy_tree"],
    "policies.session": ["MISSING", "Session", "resume_session", "start_session"],
    "tasks.collection": ["Collection"],
    "tasks.contexts": ["fixed_context", "gaussian_contexts", "moment_contexts", "sampled_contexts"],
    "tasks.instances": ["hard", "linear", "rand"],
    "tasks.rewards": ["Rewards"],
    "tasks.separation": ["Sense", "least_separation", "separations"],
}
_HOMES = {name: f"banditree.{room}" for room, names in _ROOMS.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"banditree has no {name!r}. It has: {', '.join(__all__)}.")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
