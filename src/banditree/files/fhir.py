"""A plan as FHIR R4: a Library with its CQL, an ActivityDefinition for each option, and the PlanDefinition of both.

They come as one Bundle, a transaction: sent to a FHIR server it puts all of them there, and again changes nothing.
"""

import json
from base64 import b64encode
from typing import Any

from banditree.files.cql import VERSION, cql_text, library_name
from banditree.files.plans import fingerprint
from banditree.plans.plan import Plan
from banditree.plans.wording import heading, plan_text

TERMS = "http://terminology.hl7.org/CodeSystem"


def fhir_json(plan: Plan) -> str:
    """The text of a Bundle."""
    resources = [_library(plan), *(_activity(plan, number) for number in range(len(plan.arms))), _definition(plan)]
    entries = [
        {"resource": one, "request": {"method": "PUT", "url": f"{one['resourceType']}/{one['id']}"}}
        for one in resources
    ]
    bundle = {"resourceType": "Bundle", "type": "transaction", "entry": entries}
    return json.dumps(bundle, indent=2, ensure_ascii=False) + "\n"


def _about(kind: str, plan: Plan, part: str, name: str, title: str) -> dict[str, Any]:
    own = f"banditree-{fingerprint(plan)}{part}"
    return {
        "resourceType": kind,
        "id": own,
        "url": f"urn:banditree:{kind}:{own}",
        "version": VERSION,
        "name": name,
        "title": title,
        "status": "draft",
    }


def _library(plan: Plan) -> dict[str, Any]:
    return {
        **_about("Library", plan, "", library_name(plan), heading(plan)),
        "type": {"coding": [{"system": f"{TERMS}/library-type", "code": "logic-library"}]},
        "content": [{"contentType": "text/cql", "data": b64encode(cql_text(plan).encode()).decode()}],
    }


def _activity(plan: Plan, number: int) -> dict[str, Any]:
    arm = plan.arms[number]
    name = f"{library_name(plan)}_Option_{number + 1}"
    return {
        **_about("ActivityDefinition", plan, f"-option-{number + 1}", name, f"{plan.vocabulary.give} {arm}"),
        "kind": "Task",
        "intent": "proposal",
        "code": {"text": arm},
    }


def _definition(plan: Plan) -> dict[str, Any]:
    """Of its actions the one applies whose option the library gives."""
    actions = [
        {
            "id": f"option-{number}",
            "title": f"{plan.vocabulary.give} {arm}",
            "condition": [_holds(f'"Gives option {number}"')],
            "definitionCanonical": _canonical(_activity(plan, number - 1)),
            "dynamicValue": [{"path": "description", "expression": _cql('"Says"')}],
        }
        for number, arm in enumerate(plan.arms, start=1)
    ]
    person = {"id": "person", "title": "A person decides", "condition": [_holds("\"Reason\" = 'person_needed'")]}
    return {
        **_about("PlanDefinition", plan, "-plan", f"{library_name(plan)}_Definition", heading(plan)),
        "type": {"coding": [{"system": f"{TERMS}/plan-definition-type", "code": "eca-rule"}]},
        "description": plan_text(plan),
        "library": [_canonical(_library(plan))],
        "action": [*actions, person],
    }


def _canonical(resource: dict[str, Any]) -> str:
    return f"{resource['url']}|{resource['version']}"


def _holds(expression: str) -> dict[str, Any]:
    return {"kind": "applicability", "expression": _cql(expression)}


def _cql(expression: str) -> dict[str, str]:
    return {"language": "text/cql", "expression": expression}
