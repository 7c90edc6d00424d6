"""The way a case took through its plan, and how likely each task is now: computed beside the desk, on a copy."""

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput
from banditree.languages.language import Language
from banditree.policies.base import Facts
from banditree.policies.latent import PosteriorState, init_posterior, make_posterior, update_posterior
from banditree.policies.rounds import Missing
from banditree.policies.snapshots import fill_state, state_to_json
from banditree.service.cases.case import Case, Followed
from banditree.service.cases.models import Outlook, Standing, TaskChance
from banditree.service.cases.standings import standing
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection

ENGLISH = Language()
USUAL = 5.0  # Outcomes further than this many standard deviations from every mean are asked about before they count.


class Outcome(NamedTuple):
    """A round with a known outcome; tallied: the plan counted it."""

    arm: int
    reward: float
    context: FloatArray
    tallied: bool


@dataclass
class Ahead:
    """The outlook of a case after `n_done` of its rounds: the plan's state, the boxes passed, the weights of tasks."""

    n_done: int
    state: Any
    path: list[int]
    weights: PosteriorState | None


class Seen(NamedTuple):
    """A case as it was at one moment, safe to look at while the case goes on; outcomes: those that `ahead` lacks.

    late: outcomes of rounds after one that is still open, which the plan has not taken in yet. round_states: the states
    of open rounds.
    """

    followed: Followed
    on_record: Followed
    standing: Standing
    params: Any
    ahead: Ahead
    outcomes: list[Outcome]
    late: list[Outcome]
    round_arms: list[str]
    last_told: int | None
    undoable: int | None
    own_context: FloatArray | None
    facts: Facts
    person_decides: bool
    round_states: dict[int, str]


def see(case: Case) -> Seen:
    """A copy of what the pages and the outlook need of a case; called by the desk, so it is quick."""
    session = case.session
    ahead = deepcopy(case.ahead) if case.ahead is not None else _begin(case)
    arms = [session.arms[session.rounds[number - 1].arm] for number in session.open_rounds]
    first = getattr(session.rounds, "n_before", 0)
    told = next((n for n in range(len(session.rounds), first, -1) if session.rounds[n - 1].reward is not None), None)
    outcomes, late = _outcomes(case, ahead.n_done), _outcomes(case, session.n_applied, len(session.rounds))
    undoable = None if case.last_report is None or case.closed else case.last_report.round
    context = session.own_context
    return Seen(
        case.followed,
        case.on_record,
        standing(case),
        session.params,
        ahead,
        outcomes,
        late,
        arms,
        told,
        undoable,
        context,
        session.explain(),
        case.person_decides,
        session.round_states,
    )


def go_ahead(case: Case) -> Ahead:
    """Bring the outlook that is kept with a case up to its last outcome; for snapshots."""
    ahead: Ahead = case.ahead if case.ahead is not None else _begin(case)
    _advance(ahead, case.followed, case.session.params, _outcomes(case, ahead.n_done), case.session.horizon)
    ahead.n_done, case.ahead = case.session.n_applied, ahead
    return ahead


def ahead_document(case: Case) -> dict[str, Any]:
    """The outlook of a case as JSON data."""
    ahead = go_ahead(case)
    weights = None if ahead.weights is None else state_to_json(ahead.weights)
    return {"n_done": ahead.n_done, "state": state_to_json(ahead.state), "path": ahead.path, "weights": weights}


def ahead_from(case: Case, content: dict[str, Any]) -> Ahead:
    """The outlook that `ahead_document` was taken of."""
    ahead = _begin(case)
    fill_state(ahead.state, content["state"])
    if ahead.weights is not None and content["weights"] is not None:
        fill_state(ahead.weights, content["weights"])
    ahead.n_done, ahead.path = content["n_done"], content["path"]
    return ahead


def _begin(case: Case) -> Ahead:
    policy, params = case.followed.policy, case.session.params
    state = policy.init(params)
    box = policy.explain(params, state).box
    try:
        model = _posterior_params(case.followed, case.session.horizon)
        weights = None if model is None else init_posterior(model)
    except InvalidInput:
        weights = None
    return Ahead(0, state, [] if box is None else [box + 1], weights)


def _outcomes(case: Case, first: int, last: int | None = None) -> list[Outcome]:
    """The known outcomes of rounds `first` + 1 to `last`, by default the last that the plan has taken in; those before
    harm turned the page are not tallied on this one."""
    session = case.session
    last = session.n_applied if last is None else last
    nothing = np.full(len(session.features), np.nan)
    return [
        Outcome(
            entry.arm,
            entry.reward,
            nothing if entry.context is None else np.array(entry.context),
            entry.tallied and number > session.turned_at,
        )
        for number, entry in enumerate(session.rounds[first:last], first + 1)
        if entry.reward is not None and not isinstance(entry.reward, Missing)
    ]


def _posterior_params(followed: Followed, horizon: int) -> Any:
    return None if followed.collection is None else make_posterior(followed.collection, horizon, {})


def _advance(ahead: Ahead, followed: Followed, params: Any, outcomes: list[Outcome], horizon: int) -> None:
    """Take some more outcomes into an outlook."""
    policy, weights = followed.policy, ahead.weights
    model = _posterior_params(followed, horizon) if weights is not None else None
    for arm, reward, context, tallied in outcomes:
        if tallied:
            policy.update(params, ahead.state, context, arm, reward)
            facts = policy.explain(params, ahead.state)
            box = None if facts.box is None else followed.plan.place_of(facts.box)
            # A test that has just been entered has no pulls: line 1 may start again at line 1.
            if box is not None and (ahead.path[-1:] != [box + 1] or (facts.pulls == 0 and _is_test(followed, box))):
                ahead.path.append(box + 1)
        if model is not None and weights is not None and not np.isnan(context).any():
            update_posterior(model, weights, context, arm, reward)


def _is_test(followed: Followed, box: int) -> bool:
    return bool(followed.plan.rows[box].counts.exits)


def outlook(seen: Seen, spoken: Language = ENGLISH) -> Outlook:
    """The boxes a case went through, and the chance of each task given every outcome, from equal chances; said in a
    language."""
    if seen.standing.state == "erased":
        return Outlook(path=[], chances=None, note=spoken.say("This case was erased."))
    late = [one._replace(tallied=False) for one in seen.late]
    _advance(seen.ahead, seen.followed, seen.params, [*seen.outcomes, *late], seen.standing.horizon)
    path, collection, tasks = seen.ahead.path, seen.followed.collection, seen.followed.plan.tasks
    if collection is None:
        note = spoken.say("The plan was put on record without its collection.")
        return Outlook(path=path, chances=None, note=note)
    try:
        make_posterior(collection, seen.standing.horizon, {})
    except InvalidInput as problem:
        return Outlook(path=path, chances=None, note=str(problem))
    assert seen.ahead.weights is not None
    chances = np.asarray(seen.ahead.weights.weights / seen.ahead.weights.total[0])
    listed = [TaskChance(task=name, chance=float(p)) for name, p in zip(tasks, chances, strict=True)]
    if collection.shares is None:
        note = spoken.say("From every outcome reported so far, all equally likely at first.")
    else:
        note = spoken.say("From every outcome reported so far, each as likely as its share of the cases at first.")
    if collection.is_estimated:
        note += f" {spoken.say('The estimated means are taken as they are.')}"
    return Outlook(path=path, chances=listed, note=note)


def usual_outcomes(collection: Collection) -> tuple[float, float] | None:
    """From where to where nearly all outcomes of a collection lie; None where the family says which are possible."""
    if collection.rewards.has_range or collection.theta is not None:
        return None
    wide = USUAL * math.sqrt(collection.rewards.variance_proxy)
    return float(np.min(collection.means) - wide), float(np.max(collection.means) + wide)
