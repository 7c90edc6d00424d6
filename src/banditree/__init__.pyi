"""The public names of banditree: this list drives the loader in `__init__.py` and what type checkers see.

One name per line, in the order of the modules. Everything else is imported from its room, as in
`from banditree.theory.graves_lai import graves_lai`.
"""

from banditree.cases.reading import read_cases as read_cases
from banditree.cases.table import Cases as Cases
from banditree.certificates.certify import Certificate as Certificate
from banditree.certificates.certify import certify as certify
from banditree.errors import InvalidInput as InvalidInput
from banditree.errors import PlanWarning as PlanWarning
from banditree.evaluation.evaluate import evaluate as evaluate
from banditree.evaluation.fit import Fit as Fit
from banditree.evaluation.fit import fit as fit
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
from banditree.monitoring.monitor import Monitoring as Monitoring
from banditree.monitoring.monitor import monitor as monitor
from banditree.plans.assemble import Box as Box
from banditree.plans.assemble import assemble as assemble
from banditree.plans.plan import Plan as Plan
from banditree.plans.plan import Vocabulary as Vocabulary
from banditree.policies.rounds import MISSING as MISSING
from banditree.policies.session import Session as Session
from banditree.policies.session import resume_session as resume_session
from banditree.policies.session import start_session as start_session
from banditree.progress import Progress as Progress
from banditree.reports.analyze import analyze as analyze
from banditree.reports.report import write_report as write_report
from banditree.scores.build import build_plan as build_plan
from banditree.scores.front import pareto_front as pareto_front
from banditree.scores.protocol import build_protocol as build_protocol
from banditree.simulation.engine import Player as Player
from banditree.simulation.engine import simulate as simulate
from banditree.simulation.results import Results as Results
from banditree.tasks.collection import Collection as Collection
from banditree.tasks.contexts import fixed_context as fixed_context
from banditree.tasks.contexts import gaussian_contexts as gaussian_contexts
from banditree.tasks.contexts import moment_contexts as moment_contexts
from banditree.tasks.contexts import sampled_contexts as sampled_contexts
from banditree.tasks.rewards import Rewards as Rewards
from banditree.tasks.separation import least_separation as least_separation
from banditree.training.learning import learn as learn
from banditree.training.relearning import relearn as relearn
from banditree.trees.optimal import build_optimal as build_optimal
from banditree.trees.tree import build_tree as build_tree
from banditree.trees.tree import lazy_tree as lazy_tree
from banditree.version import __version__ as __version__
