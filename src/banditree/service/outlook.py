"""The way a case took through its plan, and how likely each task is now: computed beside the desk, on a copy."""

from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput
from banditree.policies.latent import init_posterior, make_posterior, update_posterior
from banditree.policies.session import Missing
from banditree.service.cases import Case, Followed
from banditree.service.models import Outlook, Standing, TaskChance
from banditree.service.standings import standing
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection


class Outcome(NamedTuple):
    """A round with a known outcome; tallied: the plan counted it."""

    arm: int
    reward: float
    context: FloatArray
    tallied: bool


class Seen(NamedTuple):
    """A case as it was at one moment, safe to look at while the case goes on."""

    followed: Followed
    standing: Standing
    params: Any
    outcomes: list[Outcome]
    round_arms: list[str]
    last_told: int | None


def see(case: Case) -> Seen:
    """A copy of what the pages and the outlook need of a case; called by the desk, so it is quick."""
    session = case.session
    nothing = np.full(len(session.features), np.nan)
    outcomes = [
        Outcome(entry.arm, entry.reward, nothing if entry.context is None else np.array(entry.context), entry.tallied)
        for entry in session.rounds[: session.n_applied]
        if entry.reward is not None and not isinstance(entry.reward, Missing)
    ]
    arms = [session.arms[session.rounds[number - 1].arm] for number in session.open_rounds]
    told = next((n for n in range(len(session.rounds), 0, -1) if session.rounds[n - 1].reward is not None), None)
    return Seen(case.followed, standing(case), session.params, outcomes, arms, told)


def outlook(seen: Seen) -> Outlook:
    """The boxes a case went through, and the chance of each task given every outcome, from equal chances."""
    if seen.standing.state == "erased":
        return Outlook(path=[], chances=None, note="This case was erased.")
    path = path_of(seen)
    collection, tasks = seen.followed.collection, seen.followed.plan.tasks
    if collection is None:
        return Outlook(path=path, chances=None, note="The plan was put on record without its collection.")
    try:
        chances = posterior(collection, seen.outcomes, seen.standing.horizon)
    except InvalidInput as problem:
        return Outlook(path=path, chances=None, note=str(problem))
    listed = [TaskChance(task=name, chance=float(p)) for name, p in zip(tasks, chances, strict=True)]
    note = "From every outcome reported so far, all equally likely at first."
    if collection.is_estimated:
        note += " The estimated means are taken as they are."
    return Outlook(path=path, chances=listed, note=note)


def path_of(seen: Seen) -> list[int]:
    """The boxes a case went through, counted from 1; its last one is where it stands or stood when the alarm rang."""
    policy = seen.followed.policy
    state = policy.init(seen.params)
    path = [policy.explain(seen.params, state).box]
    for arm, reward, context, tallied in seen.outcomes:
        if tallied:
            policy.update(seen.params, state, context, arm, reward)
            box = policy.explain(seen.params, state).box
            if box is not None and box != path[-1]:
                path.append(box)
    return [box + 1 for box in path if box is not None]


def posterior(collection: Collection, outcomes: list[Outcome], horizon: int) -> FloatArray:
    """The chance (M,) of each task given the outcomes, whoever chose the arms.

    >>> clinic = Collection.bernoulli([[0.9, 0.1], [0.3, 0.8]])
    >>> posterior(clinic, [Outcome(0, 1.0, np.zeros(0), True)], horizon=10).round(2).tolist()
    [0.75, 0.25]
    """
    params = make_posterior(collection, horizon, {})
    state = init_posterior(params)
    for arm, reward, context, _ in outcomes:
        if not np.isnan(context).any():
            update_posterior(params, state, context, arm, reward)
    return np.asarray(state.weights / state.total[0])
