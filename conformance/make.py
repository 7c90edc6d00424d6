"""Writes conformance/following.json and its schema: plans, what happens in cases that follow them, and the answers.

python conformance/make.py          writes both
python conformance/make.py --check  says whether what is there is what this banditree does
"""

import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from plans import plans
from pydantic import Field

from banditree.errors import InvalidInput
from banditree.files.documents import Document, Part, dump
from banditree.files.machines import MachineFile, machine_document
from banditree.plans.pages import page_number
from banditree.plans.plan import Plan
from banditree.policies.rounds import MISSING, Step
from banditree.policies.session import Session
from banditree.policies.starting import start_session
from banditree.tasks.contexts import INTERCEPT

HERE = Path(__file__).parent
N_EVENTS = 60  # of each case.
# What a case is like: how often each thing happens in it, beside asking and telling in turn.
LIKE: dict[str, dict[str, int]] = {
    "in turn": {},
    "in turn, again": {},
    "late": {"ask several": 6, "ask on": 3, "tell missing": 2, "tell late": 8},
    "corrected": {"correct": 4, "override": 3, "tell missing": 1, "ask on": 1},
    "unavailable": {"ask available": 10, "override": 1},
    "never one option": {"ask several": 1},
    "wrong": {"tell again": 3, "tell unknown": 3, "tell wrong": 3, "ask on": 2, "correct": 1},
}
Number = int | float


class StepPart(Part):
    """A round and its option, or why there is none: what `outcome` says."""

    round: int
    arm: str | None = None
    outcome: str | None = None


class EventPart(Part):
    """Something that is done, and what is to come of it.

    do: "ask" (what is next), "tell" (the outcome of a round, or "missing"; harm: whether it did harm), "override" (a
    person gives another option) or "correct" (a wrong outcome is replaced). at: where the case then stands: page (from
    1), row (from 0), rounds tallied there, and the total or score there. open: the rounds that wait for an outcome.
    refused: it must be refused and change nothing.
    """

    do: Literal["ask", "tell", "override", "correct"]
    n: int | None = None
    wait: bool | None = None
    context: dict[str, Number | str] | None = None
    available: list[str] | None = None
    round: int | None = None
    reward: Number | Literal["missing"] | None = None
    harm: bool | None = None
    arm: str | None = None
    refused: bool | None = None
    steps: list[StepPart] | None = None
    at: tuple[int, int, int, Number]
    open: list[int]


class CasePart(Part):
    """One case. seed, case: of its random numbers. without: the options that it must never get."""

    name: str
    seed: int
    case: int
    without: list[str] = Field(default_factory=list)
    events: list[EventPart]
    off_plan: list[int] = Field(description="the rounds whose option was not the plan's, in the end")


class PlanPart(Part):
    """A plan, and cases that follow it."""

    about: str
    machine: MachineFile
    cases: list[CasePart]


class ConformanceFile(Document):
    """What following a plan means: whoever answers all of this the same follows as banditree does."""

    schema_: Literal["banditree/conformance/1"] = Field("banditree/conformance/1", alias="schema")
    plans: list[PlanPart]


def conformance(named: Iterable[tuple[str, Plan]], n_events: int = N_EVENTS) -> ConformanceFile:
    """Plans with a case of each sort; each case has its own seed."""
    parts = []
    for number, (about, plan) in enumerate(named):
        cases = [played(plan, name, 100 * number + place, n_events) for place, name in enumerate(LIKE)]
        parts.append(PlanPart(about=about, machine=machine_document(plan), cases=cases))
    return ConformanceFile(plans=parts)


def played(plan: Plan, name: str, seed: int, n_events: int) -> CasePart:
    """A case in which things happen by chance, most of them asking and telling."""
    rng = random.Random(seed)
    able = [arm for arm in plan.arms if _has_page(plan, arm)]
    without = {"never one option": able[:1], "in turn, again": able[1:2], "corrected": able[2:3]}.get(name, [])
    session = start_session(plan, seed=seed, case=seed % 7, without=without)
    ways, luck = {"tell": 20, **LIKE[name]}, rng.choice([0.3, 1.0, 3.0])
    asks = ["ask", *(way for way in ways if way.startswith("ask"))]
    events: list[EventPart] = []
    while len(events) < n_events and [event.do for event in events[-3:]] != ["ask"] * 3:
        idle = not session.open_rounds and rng.random() < 0.9
        way = rng.choice(asks) if idle else rng.choices([*ways], [*ways.values()])[0]
        events.append(_answered(session, _event(session, way, rng, luck) or {"do": "ask"}))
    return CasePart(
        name=name, seed=seed, case=seed % 7, without=without, events=events, off_plan=session.off_plan_rounds
    )


def _has_page(plan: Plan, arm: str) -> bool:
    try:
        return bool(page_number(plan, [arm]))
    except InvalidInput:
        return False


def _event(session: Session, way: str, rng: random.Random, luck: float) -> dict[str, Any] | None:
    """What is done; None where that makes no sense now. luck: below 1 outcomes are good, above 1 bad."""
    do, _, how = way.partition(" ")
    known = {"context": _context(session, rng)} if session.features and rng.random() < 0.95 else {}
    told = [n for n, entry in enumerate(session.rounds, 1) if entry.reward is not None]
    if do == "ask":
        more = {"several": {"n": rng.randint(2, 6)}, "on": {"wait": False}}
        some = sorted(rng.sample(session.arms, rng.randint(0, len(session.arms))))
        return {"do": "ask", **more.get(how, {}), **({"available": some} if how == "available" else {}), **known}
    if do == "override":
        return {"do": "override", "arm": rng.choice(session.arms), **known}
    if do == "correct":
        harm = {"harm": rng.random() < 0.3} if rng.random() < 0.3 else {}
        reward = _reward(session, rng, luck)
        return {"do": "correct", "round": rng.choice(told), "reward": reward, **harm} if told else None
    if how in ("again", "wrong", "unknown"):
        return _mistake(session, how, told, rng, luck)
    if not session.open_rounds:
        return None
    reward = "missing" if how == "missing" else _reward(session, rng, luck)
    place = rng.choice(session.open_rounds) if how == "late" else session.open_rounds[0]
    whole = session.whole
    harm = {"harm": rng.random() < 0.2} if whole is not None and whole.on_harm and rng.random() < 0.7 else {}
    return {"do": "tell", "round": place, "reward": reward, **harm}


def _mistake(session: Session, how: str, told: list[int], rng: random.Random, luck: float) -> dict[str, Any] | None:
    if how == "unknown":
        return {"do": "tell", "round": len(session.rounds) + rng.choice([1, 7]), "reward": _reward(session, rng, luck)}
    if how == "wrong":
        return {"do": "tell", "round": len(session.rounds), "reward": 17} if session.rewards.has_range else None
    late_harm = {"harm": True} if rng.random() < 0.3 else {}
    return (
        {"do": "tell", "round": rng.choice(told), "reward": _reward(session, rng, luck), **late_harm} if told else None
    )


def _reward(session: Session, rng: random.Random, luck: float) -> Number:
    rewards, share = session.rewards, rng.random() ** luck
    if rewards.support:
        return rewards.support[int(share * len(rewards.support))]
    return round(rewards.low + share * rewards.width if rewards.has_range else 4 * share - 2, 2)


def _context(session: Session, rng: random.Random) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for feature in session.features:
        if feature.name != INTERCEPT and rng.random() < 0.98:
            given[feature.name] = rng.choice(feature.levels) if feature.levels else round(rng.uniform(0, 60), 1)
    return given


def _answered(session: Session, event: dict[str, Any]) -> EventPart:
    """The event with what came of it."""
    steps: list[StepPart] | None = None
    refused = None
    try:
        steps = _done(session, event)
    except InvalidInput:
        refused = True
    facts = session.explain()
    missing = [(), *(page.missing for page in session.whole.pages)]
    at = (missing.index(session.subject.missing) + 1, facts.box, facts.pulls, facts.total)
    return EventPart(**event, steps=steps, refused=refused, at=at, open=session.open_rounds)


def _done(session: Session, event: dict[str, Any]) -> list[StepPart] | None:
    given = {key: value for key, value in event.items() if key != "do"}
    reward = MISSING if given.get("reward") == "missing" else given.get("reward")
    if event["do"] == "tell":
        session.tell(reward, given["round"], harm=given.get("harm"))
    elif event["do"] == "correct":
        session.correct(reward, given["round"], harm=given.get("harm"))
    elif event["do"] == "override":
        return [_step(session.override(given.pop("arm"), **given))]
    else:
        answer = session.ask(**given)
        return [_step(step) for step in (answer if isinstance(answer, list) else [answer])]
    return None


def _step(step: Step) -> StepPart:
    return StepPart(
        round=step.round, arm=step.name, outcome=None if step.outcome is None else step.outcome.name.lower()
    )


def texts() -> dict[str, str]:
    """The files by name."""
    schema = json.dumps(ConformanceFile.model_json_schema(by_alias=True), indent=2)
    return {"following.json": dump(conformance(plans())), "following.schema.json": f"{schema}\n"}


if __name__ == "__main__":
    for name, text in texts().items():
        if "--check" not in sys.argv:
            (HERE / name).write_text(text, encoding="utf-8")
        elif (HERE / name).read_text(encoding="utf-8") != text:
            sys.exit(f"conformance/{name} is not what this banditree does. Run python conformance/make.py.")
