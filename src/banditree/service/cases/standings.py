"""Cases and steps as they are answered."""

import json
from typing import Any

from banditree.certificates.waiting import GoingOn
from banditree.plans.plan import Plan
from banditree.plans.wording import decider_sentence
from banditree.policies.rounds import Step
from banditree.policies.wording import going_on_sentence
from banditree.service.cases.case import Case
from banditree.service.cases.events import Event
from banditree.service.cases.models import AlarmOut, EventOut, GoingOnOut, Standing, StepOut


def step_out(case: Case, step: Step) -> StepOut:
    """A step of a case as it is answered."""
    outcome = None if step.outcome is None else step.outcome.name.lower()
    going_on = _going_on(case, step.going_on)
    return StepOut(round=step.round, arm=step.name, outcome=outcome, message=str(step), going_on=going_on)


def _going_on(case: Case, found: GoingOn | None) -> GoingOnOut | None:
    if found is None:
        return None
    return GoingOnOut(
        outcomes=found.n_out,
        arm=case.session.arms[found.arm],
        chance=found.chance,
        loss=found.loss,
        at_estimates=found.at_estimates,
        message=going_on_sentence(case.session, found),
    )


def event_out(event: Event) -> EventOut:
    """An event as it is answered."""
    details = None if event.details is None else json.loads(event.details)
    return EventOut(**{**event._asdict(), "details": details})


def standing(case: Case) -> Standing:
    """Where a case stands and why."""
    session = case.session
    common: dict[str, Any] = {
        "id": case.id,
        "plan": case.followed.id,
        "label": case.label,
        "owner": case.arranged.owner,
        "due": case.due,
        "every": case.arranged.every,
        "without": list(case.without),
        "at": case.at,
        "state": case.state,
    }
    common |= {"events": case.seq, "horizon": session.horizon}
    if case.erased:
        return Standing(**common, rounds=0, open_rounds=[], description="This case was erased.")
    common["barred"] = [session.arms[arm] for arm in sorted(session.harmful)]
    facts, strayed = session.explain(), session.off_plan_rounds
    return Standing(
        **common,
        rounds=len(session.rounds),
        open_rounds=session.open_rounds,
        box=None if facts.box is None else case.followed.plan.place_of(facts.box) + 1,
        exploiting=facts.exploiting,
        arm=None if facts.arm is None else session.arms[facts.arm],
        pulls=facts.pulls,
        total=facts.total,
        possible=None if facts.possible is None else [session.tasks[i] for i in facts.possible],
        as_planned=not strayed,
        off_plan_rounds=strayed,
        certificate="not as planned" if strayed else "as planned",
        alarm=_alarm(case),
        going_on=_going_on(case, session.going_on()) if case.state == "open" else None,
        description=session.describe(),
    )


def _alarm(case: Case) -> AlarmOut | None:
    if not case.followed.has_alarm:
        return None
    ringing = "alarm" in case.session.explain().details
    return AlarmOut(ringing=ringing, message=alarm_sentence(case.followed.plan, ringing))


def alarm_sentence(plan: Plan, ringing: bool) -> str:
    """Whether the outcomes of a case fit any kind, and what follows if they fit none."""
    words = plan.vocabulary
    tasks = words.counted(len(plan.tasks), "task")
    if not ringing:
        return words.say("The evidence fits at least one of the {tasks}.", tasks=tasks)
    none = words.say(
        "The evidence fits none of the {tasks} of the collection, so the plan's promise does not hold for this case.",
        tasks=tasks,
    )
    by_thompson = words.say("From now on a computer chooses, by what this case alone has shown.")
    return f"{none} {decider_sentence(plan) or by_thompson}"
