"""A case from the upload of its plan to its end: python example.py http://127.0.0.1:8000 plan.json [token]."""

import json
import sys
from pathlib import Path
from uuid import uuid4

from banditree_client import AuthenticatedClient, Client
from banditree_client.api.cases import ask_case, close_case, show_case, start_case, tell_case
from banditree_client.api.plans import add_plan
from banditree_client.models import Ask, Close, Failure, NewCase, NewPlan, NewPlanPlan, SignPlan, Tell


def main(url: str, file: str, token: str | None = None) -> None:
    """Follow a plan for three rounds."""
    service = Client(url) if token is None else AuthenticatedClient(url, token)
    plan = NewPlanPlan.from_dict(json.loads(Path(file).read_text(encoding="utf-8")))
    signed = NewPlan("from Python", plan, sign=SignPlan("Read and agreed."))
    added = add_plan.sync(client=service, body=signed).data.id

    # With a key of its own a request may be sent again after a lost connection: it is carried out once.
    new, key = NewCase(added, label="bed 12"), uuid4().hex
    id, again = (start_case.sync(client=service, body=new, idempotency_key=key).data.id for _ in range(2))
    assert id == again

    step = ask_case.sync(id, client=service, body=Ask()).data[0]
    for reward in (1, 0, "missing"):
        step = tell_case.sync(id, client=service, body=Tell(step.round_, reward, ask=Ask())).data.steps[0]
    refused = tell_case.sync_detailed(id, client=service, body=Tell(1, 0))
    assert isinstance(refused.parsed, Failure)
    print(f"{refused.status_code.value} {refused.parsed.error.code}")
    close_case.sync(id, client=service, body=Close(reason="well"))
    standing = show_case.sync(id, client=service).data
    print(f"{id} {standing.state}, {standing.rounds} rounds")


if __name__ == "__main__":
    main(*sys.argv[1:])
