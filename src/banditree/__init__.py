"""banditree: short exploration plans that a person can read.

Logs or simulators become a Collection, a Collection becomes a Plan, and a Plan is shown, certified, simulated or
followed. Names are loaded when they are first used, so that importing banditree costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from banditree.version import __version__ as __version__

if TYPE_CHECKING:
    from banditree.certificates.certify import Certificate as Certificate
    from banditree.certificates.certify import certify as certify
    from banditree.certificates.certify import course as course
    from banditree.certificates.certify import regret_bound as regret_bound
    from banditree.errors import InvalidInput as InvalidInput
    from banditree.errors import PlanWarning as PlanWarning
    from banditree.evaluation.evaluate import evaluate as evaluate
    from banditree.evaluation.history import History as History
    from banditree.evaluation.reading import read_history as read_history
    from banditree.figures.html import ladder_html as ladder_html
    from banditree.figures.ladder import ladder_info as ladder_info
    from banditree.files.collections import load_collection as load_collection
    from banditree.files.collections import save_collection as save_collection
    from banditree.files.plans import load_plan as load_plan
    from banditree.files.plans import save_plan as save_plan
    from banditree.files.results import load_results as load_results
    from banditree.files.results import save_results as save_results
    from banditree.files.sessions import load_session as load_session
    from banditree.files.sessions import save_session as save_session
    from banditree.files.statistics import load_statistics as load_statistics
    from banditree.files.statistics import save_statistics as save_statistics
    from banditree.plans.assemble import Box as Box
    from banditree.plans.assemble import assemble as assemble
    from banditree.plans.plan import Plan as Plan
    from banditree.plans.plan import Vocabulary as Vocabulary
    from banditree.policies.alarm import with_alarm as with_alarm
    from banditree.policies.base import Policy as Policy
    from banditree.policies.registry import policy_named as policy_named
    from banditree.policies.session import MISSING as MISSING
    from banditree.policies.session import Session as Session
    from banditree.policies.session import resume_session as resume_session
    from banditree.policies.session import start_session as start_session
    from banditree.reports.analyze import analyze as analyze
    from banditree.reports.report import write_report as write_report
    from banditree.scores.build import build_plan as build_plan
    from banditree.scores.pareto import pareto_front as pareto_front
    from banditree.scores.score_plan import build_score_plan as build_score_plan
    from banditree.simulation.engine import Player as Player
    from banditree.simulation.engine import simulate as simulate
    from banditree.simulation.frames import as_pandas as as_pandas
    from banditree.simulation.frames import as_polars as as_polars
    from banditree.simulation.results import Results as Results
    from banditree.simulation.results import mean_band as mean_band
    from banditree.simulation.results import summaries as summaries
    from banditree.simulation.results import worst_band as worst_band
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
    from banditree.theory.coefficients import deterministic_coefficient as deterministic_coefficient
    from banditree.theory.coefficients import soft_coefficient as soft_coefficient
    from banditree.theory.dec import dec as dec
    from banditree.theory.limits import bayes_regret as bayes_regret
    from banditree.theory.limits import graves_lai as graves_lai
    from banditree.theory.randomised import randomised_coefficient as randomised_coefficient
    from banditree.training.classes import find_classes as find_classes
    from banditree.training.collection import to_collection as to_collection
    from banditree.training.estimates import estimate as estimate
    from banditree.training.learning import learn as learn
    from banditree.training.logs import read_log as read_log
    from banditree.training.merging import merge as merge
    from banditree.training.simulators import train as train
    from banditree.training.simulators import train_sequentially as train_sequentially
    from banditree.training.statistics import Statistics as Statistics
    from banditree.training.statistics import merge_statistics as merge_statistics
    from banditree.trees.optimal import build_optimal as build_optimal
    from banditree.trees.optimal import optimal_depth as optimal_depth
    from banditree.trees.tree import LazyTree as LazyTree
    from banditree.trees.tree import build_tree as build_tree
    from banditree.trees.tree import lazy_tree as lazy_tree

_ROOMS = {
    "errors": ["InvalidInput", "PlanWarning"],
    "evaluation.evaluate": ["evaluate"],
    "evaluation.history": ["History"],
    "evaluation.reading": ["read_history"],
    "figures.html": ["ladder_html"],
    "figures.ladder": ["ladder_info"],
    "files.collections": ["load_collection", "save_collection"],
    "files.plans": ["load_plan", "save_plan"],
    "files.results": ["load_results", "save_results"],
    "files.sessions": ["load_session", "save_session"],
    "files.statistics": ["load_statistics", "save_statistics"],
    "plans.assemble": ["Box", "assemble"],
    "certificates.certify": ["Certificate", "certify", "course", "regret_bound"],
    "trees.optimal": ["build_optimal", "optimal_depth"],
    "plans.plan": ["Plan", "Vocabulary"],
    "scores.build": ["build_plan"],
    "scores.pareto": ["pareto_front"],
    "scores.score_plan": ["build_score_plan"],
    "trees.tree": ["LazyTree", "build_tree", "lazy_tree"],
    "policies.alarm": ["with_alarm"],
    "policies.base": ["Policy"],
    "policies.registry": ["policy_named"],
    "policies.session": ["MISSING", "Session", "resume_session", "start_session"],
    "reports.analyze": ["analyze"],
    "training.learning": ["learn"],
    "reports.report": ["write_report"],
    "simulation.engine": ["Player", "simulate"],
    "simulation.frames": ["as_pandas", "as_polars"],
    "simulation.results": ["Results", "mean_band", "summaries", "worst_band"],
    "tasks.collection": ["Collection"],
    "tasks.contexts": ["fixed_context", "gaussian_contexts", "moment_contexts", "sampled_contexts"],
    "tasks.instances": ["hard", "linear", "rand"],
    "tasks.rewards": ["Rewards"],
    "tasks.separation": ["Sense", "least_separation", "separations"],
    "theory.coefficients": ["deterministic_coefficient", "soft_coefficient"],
    "theory.dec": ["dec"],
    "theory.limits": ["bayes_regret", "graves_lai"],
    "theory.randomised": ["randomised_coefficient"],
    "training.classes": ["find_classes"],
    "training.estimates": ["estimate"],
    "training.logs": ["read_log"],
    "training.merging": ["merge"],
    "training.simulators": ["train", "train_sequentially"],
    "training.statistics": ["Statistics", "merge_statistics"],
    "training.collection": ["to_collection"],
}
_HOMES = {name: f"banditree.{room}" for room, names in _ROOMS.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"banditree has no {name!r}. It has: {', '.join(__all__)}.")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
