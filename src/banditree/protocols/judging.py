"""What a plan loses by the one number that it was made for, and by which it is compared with others."""

import math
from contextlib import suppress

import numpy as np

from banditree.certificates.certify import Certificate, certify
from banditree.certificates.unlucky import SHARES
from banditree.certificates.varying import VaryingCertificate, certify_cases
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.protocols.objectives import CARE, WORST_CASES, Caps, Objective, objective_named
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection

Judged = Certificate | VaryingCertificate


def judge(plan: Plan, collection: Collection, *, must_rest: bool = True) -> Judged:
    """The numbers by which plans for a collection are compared: those of `certify`, or where cases of a task vary,
    averages over drawn cases, the same ones for all plans and none that a search has seen.

    Cases are drawn around the rates as they are given, also where these are estimates. must_rest: of `certify`.
    """
    return certify_cases(plan, collection) if collection.varies else certify(plan, collection, must_rest=must_rest)


def lost(found: Judged, objective: Objective | str = Objective.WORST) -> float:
    """What a plan loses by the objective it was made for: in the worst task, with the unlucky or not, or on average."""
    objective = objective_named(objective)
    if objective is Objective.UNLUCKY and isinstance(found, Certificate):
        return float(with_the_unlucky(found).max(axis=1).sum())
    return found.mean_regret if objective is Objective.MEAN else found.worst_regret


def with_the_unlucky(found: Certificate) -> FloatArray:
    """What each task loses on average, and CARE times what the worst 1% of its cases do, (2, M).

    Where single cases can only be simulated, they are taken to lose all that is lost: the most that it could be.
    """
    worst = found.regret / WORST_CASES if found.unlucky is None else found.unlucky.worst
    return np.stack([found.regret, CARE * worst])


def broken(found: Certificate, caps: Caps) -> str:
    """Which cap a plan does not keep to, as the end of "No plan was found ...", or ""."""
    reached = float((found.wrong_arm + found.undecided).max())
    if caps.wrong_arm is not None and reached > caps.wrong_arm:
        return (
            f"whose chance of a wrong arm, or of none yet when the horizon ends, is at most {caps.wrong_arm:g}; the "
            f"last one reached {reached:.2g}"
        )
    if caps.loss is None:
        return ""
    if found.unlucky is None:
        raise InvalidInput("max_loss must be omitted here: what single cases of such plans lose can only be simulated.")
    most = float(found.unlucky.at_most[:, SHARES.index(1 - WORST_CASES)].max())
    lost = f"that loses at most {caps.loss:g} in 99% of the cases of each task; in the last one it was {most:.3g}"
    return lost if most > caps.loss else ""


def loses(plan: Plan, collection: Collection, objective: Objective | str = Objective.WORST) -> float:
    """What a plan loses by the objective; infinite if it cannot be certified, so that any other is better."""
    with suppress(InvalidInput):
        return lost(judge(plan, collection), objective)
    return math.inf
