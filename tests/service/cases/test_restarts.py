"""Cases on a protocol whose safety rule leads back: settled, and then not any more; rebuilt, looked at, in batches."""

import json

from boxes import Box, assemble
from example_plans import protocol
from running_service import client_of

from banditree.plans.plan import Form
from banditree.policies.following import policy_for
from banditree.policies.starting import resume_session
from banditree.service.cases.case import Case, Followed
from banditree.service.cases.outlook import outlook, see
from banditree.service.cases.standings import standing
from banditree.tasks.collection import Collection

PLAN = protocol()
TO_AN_END = [1] * 8 + [0] * 2 + [0] * 4  # line 1 to line 4, line 5, and "settle on E" in box 7
BACK = [0] * 2  # -8 by +1/-4: start again at line 1


def fresh(plan=PLAN):
    return Case(1, "c", Followed("p", plan, policy_for(plan)), None, "2026-01-01T00:00:00.000000Z", None)


def followed(outcomes, plan=PLAN):
    case = fresh(plan)
    for outcome in outcomes:
        (step,) = case.ask("nurse", 1, None, None)
        case.tell("nurse", step.round, float(outcome))
    return case


def test_a_case_at_an_end_starts_again_and_is_not_settled_any_more():
    settled = standing(followed(TO_AN_END))
    assert (settled.box, settled.arm, settled.exploiting) == (7, "E", True)
    again = standing(followed(TO_AN_END + BACK))
    assert (again.box, again.arm, again.exploiting) == (1, "E", False)
    assert (again.pulls, again.total) == (0, 0)
    assert "line 1" in again.description.lower()
    assert outlook(see(followed(TO_AN_END + BACK))).path == [1, 4, 5, 7, 1]


def test_a_line_that_starts_again_at_itself_is_on_the_path_twice():
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    lines = [Box(arm=0, low=0, high=1, points=(-1, 1), floor=2, ceil=3), Box(arm=0)]
    plan = assemble(lines, two, horizon=100, form=Form.LINES)
    assert outlook(see(followed([1, 0], plan))).path == [1]
    assert outlook(see(followed([0, 0], plan))).path == [1, 1]
    assert outlook(see(followed([0, 0, 1, 1, 1, 1], plan))).path == [1, 1, 2]


def test_a_case_rebuilt_from_its_events_is_the_case_that_was():
    case = followed(TO_AN_END + BACK + TO_AN_END[:11])
    rebuilt = fresh()
    rebuilt.fold(case.new)
    assert standing(rebuilt) == standing(case)
    assert rebuilt.session.snapshot() == case.session.snapshot()


def test_a_correction_at_an_end_takes_the_restart_back():
    case = followed(TO_AN_END + BACK)
    case.correct("nurse", len(TO_AN_END) + 1, 1.0, "mistyped")
    assert (standing(case).box, standing(case).exploiting, standing(case).total) == (7, True, -3)


def test_batches_stop_where_the_rule_may_lead_back():
    case = followed(TO_AN_END)
    assert len(case.ask("nurse", 50, None, None)) == 2  # two failures would start it again
    watching = followed([0, 0])
    assert standing(watching).box == 2
    assert len(watching.ask("nurse", 50, None, None)) == 1  # -3 by one failure is below -2


def test_a_snapshot_goes_on_at_every_moment():
    outcomes = TO_AN_END + BACK + [0, 0, 1, 0]
    whole = followed(outcomes).session
    for moment in range(len(outcomes) + 1):
        text = json.dumps(followed(outcomes[:moment]).session.snapshot())
        session = resume_session(PLAN, json.loads(text))
        for outcome in outcomes[moment:]:
            session.tell(float(outcome), session.ask().round)
        assert session.snapshot() == whole.snapshot()


def test_the_service_says_so(service):
    client = client_of(service[1], retries=0)
    case = client.start(client.add_plan(PLAN, "protocol", sign="tested")).id
    for outcome in TO_AN_END:
        client.tell(case, client.ask(case)[0].round, float(outcome))
    assert client.case(case).exploiting
    for outcome in BACK:
        client.tell(case, client.ask(case)[0].round, float(outcome))
    where = client.case(case)
    assert (where.exploiting, where.box) == (False, 1)
