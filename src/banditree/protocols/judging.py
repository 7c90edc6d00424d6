"""What a plan loses by the one number that it was made for, and by which it is compared with others."""

import math
from contextlib import suppress

from banditree.certificates.certify import Certificate, certify
from banditree.certificates.varying import VaryingCertificate, certify_cases
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.protocols.objectives import Objective, objective_named
from banditree.tasks.collection import Collection

Judged = Certificate | VaryingCertificate


def judge(plan: Plan, collection: Collection, *, must_rest: bool = True) -> Judged:
    """The numbers by which plans for a collection are compared: those of `certify`, or where cases of a task vary,
    averages over drawn cases, the same ones for all plans and none that a search has seen.

    Cases are drawn around the rates as they are given, also where these are estimates. must_rest: of `certify`.
    """
    return certify_cases(plan, collection) if collection.varies else certify(plan, collection, must_rest=must_rest)


def lost(found: Judged, objective: Objective | str = Objective.WORST) -> float:
    """What a plan loses by the objective it was made for: in the worst task, or on average."""
    return found.worst_regret if objective_named(objective) is Objective.WORST else found.mean_regret


def loses(plan: Plan, collection: Collection, objective: Objective | str = Objective.WORST) -> float:
    """What a plan loses by the objective; infinite if it cannot be certified, so that any other is better."""
    with suppress(InvalidInput):
        return lost(judge(plan, collection), objective)
    return math.inf
