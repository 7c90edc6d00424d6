"""Cases whose state changes, in the service: the state is the context of a round, over HTTP and on the pages."""

import pytest
from running_service import client_of
from state_plans import hand_made

from banditree import build_plan, start_session
from banditree.service.client import ServiceError

KNOWN, PLAN = hand_made(40)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["by hand", "remember"])
def test_a_case_is_followed_by_its_states(service, method):
    app, http = service
    client = client_of(http)
    plan = PLAN if method == "by hand" else build_plan(KNOWN, 40, method=method)
    id = client.add_plan(plan, method, sign="tested")
    case = client.start(id, f"case-{len(method)}")
    session = start_session(plan)
    assert client.ask(case.id)[0].outcome == "state_needed"
    for n in range(12):
        state = KNOWN.states[n * n % 3 % 2]
        assert client.ask(case.id, context={"state": state})[0].arm == session.ask(state=state).name
        client.tell(case.id, n + 1, n % 2)
        session.tell(n % 2)
    app.state.desk._forget(case.id)  # read again from its events
    assert client.case(case.id).description == session.describe()
    with pytest.raises(ServiceError, match="state must be one of state 1, state 2"):
        client.ask(case.id, context={"state": "dead"})
    page = http.get(f"/cases/{case.id}")
    assert page.status_code == 200, page.text[:500]
    assert '<select name="context-state" required><option value=""></option>' in page.text  # none is chosen unasked
    awaited = "The points of the last round follow with the next state."
    assert (awaited in page.text) == (awaited in session.describe())
    assert ("Tallies: " in page.text) == (method == "remember")
    assert f"state: {KNOWN.states[1]}" in page.text
    for path in (f"/plans/{id}", f"/api/v1/plans/{id}", f"/cases/{case.id}?all=true", "/cases"):
        assert http.get(path).status_code == 200, path
    client.correct(case.id, 3, 0, "typed wrongly")
    session.correct(0, 3)
    assert client.case(case.id).description == session.describe()
    client.ask(case.id, context={"state": "state 2"})
    assert "(state: state 2)" in http.get(f"/cases/{case.id}").text
    assert session.ask(state="state 2").name in http.get(f"/cases/{case.id}").text
