"""A plan of those that a search found, taken: on record as a draft."""

from dataclasses import replace

from banditree.files.documents import parse
from banditree.files.plans import PlanFile, fingerprint, plan_from_document
from banditree.nouns import counted
from banditree.plans.plan import Plan
from banditree.service.problems import NotFound
from banditree.service.store import records
from banditree.service.store.database import Connection
from banditree.service.store.jobs import Job
from banditree.service.store.studies import Study, change_study


def plan_found(job: Job, number: int) -> Plan:
    """The plan of a number among those that a search found."""
    if number >= len(job.found):
        raise NotFound(
            f"The search has found {counted(len(job.found), 'plan')} so far, and none has the number {number}."
        )
    return plan_from_document(parse(PlanFile, job.found[number]["plan"], "The plan"), "The plan")


def take(connection: Connection, actor: str, study: Study, plan: Plan, collection: str) -> None:
    """Put a plan on record with its collection, and go on with it.

    The same lines may be on record for other data. A signature is for a plan with its data, so this one is marked.
    """
    if records.is_of_other_data(connection, fingerprint(plan), collection):
        plan = replace(plan, origin=plan.origin.marked(f"of collection {collection}"))
    id = records.add_plan(connection, actor, study.name, fingerprint(plan), plan, collection)
    change_study(connection, actor, study.id, study.version, study.content.model_copy(update={"plan": id}))
