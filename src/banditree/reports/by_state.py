"""What can be said of a collection with states before a plan is made: gains, and where no plan promises much."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditree.nouns import counted
from banditree.plans.words import amount, quoted
from banditree.reports.certify import table_lines
from banditree.tasks.collection import Collection
from banditree.tasks.optimal_states import Optimal, optimal
from banditree.tasks.states import StateCollection
from banditree.theory.by_state import Alike, HardState, alike_of, hard_states_of
from banditree.theory.exploring_states import Exploring, exploring
from banditree.training.trajectories import LearnedStates


@dataclass(frozen=True)
class StateAnalysis:
    """The answers as flat `facts`, ready for JSON, and as `text` for a person."""

    facts: dict[str, Any]
    text: str


def analyze_states(collection: StateCollection, horizon: int) -> StateAnalysis:
    """The best policy of every task with what it earns, the states that are hard to leave, and the pairs of tasks that
    cannot be told apart while they are treated as one of them.

    >>> from banditree.tasks.state_instances import rand_states
    >>> analyze_states(rand_states(2, 2, 2), 100).facts["hard_to_leave"]
    []
    """
    best = optimal(collection, horizon)
    hard, alike = hard_states_of(collection, horizon, best), alike_of(collection, horizon, best)
    facts: dict[str, Any] = {
        "n_tasks": collection.n_tasks,
        "n_states": collection.n_states,
        "n_arms": collection.n_arms,
        "horizon": horizon,
        "tasks": [_of_task(collection, best, i) for i in range(collection.n_tasks)],
        "hard_to_leave": [{**one._asdict(), **_names(collection, one.task, state=one.state)} for one in hard],
        "alike": [{**one._asdict(), **_names(collection, one.task, treated=one.treated)} for one in alike],
    }
    sizes = (
        f"{counted(collection.n_tasks, 'task')}, {counted(collection.n_states, 'state')}, "
        f"{counted(collection.n_arms, 'arm')}, {counted(horizon, 'round')}."
    )
    tested = exploring(collection, horizon)
    facts["exploring"] = None if tested is None else _exploring(collection, tested)
    rows = [*(_task_sentence(task) for task in facts["tasks"]), "", exploring_sentence(collection, tested)]
    return StateAnalysis(facts, "\n".join([sizes, "", *rows, "", *warnings_of(collection, hard, alike)]))


def _of_task(collection: StateCollection, best: Optimal, i: int) -> dict[str, Any]:
    options = {name: collection.arms[k] for name, k in zip(collection.states, best.options[i], strict=True)}
    earned = {"total": float(best.total[i]), "per_round_in_the_long_run": float(best.gain[i])}
    return {"task": collection.tasks[i], "options": options, **earned}


def _names(collection: StateCollection, task: int, **more: int) -> dict[str, str]:
    named = {"state": collection.states, "treated": collection.tasks}
    return {"task": collection.tasks[task], **{word: named[word][number] for word, number in more.items()}}


def _exploring(collection: StateCollection, tested: Exploring) -> dict[str, Any]:
    tests = [{"treated": collection.tasks[k], "rounds": n} for k, n in tested.tests]
    return {"tests": tests, "wrong_at_most": float(tested.wrong.max()), "regret_at_most": float(tested.regret.max())}


def exploring_sentence(collection: StateCollection, tested: Exploring | None) -> str:
    """What the paper's way, to test first and then to settle, promises with policies as tests."""
    if tested is None:
        return (
            "Testing first: treating as one kind after the other does not tell all kinds apart in half of the rounds."
        )
    tests = ", then ".join(f"as {collection.tasks[k]} for {counted(n, 'round')}" for k, n in tested.tests)
    return (
        f"Testing first: treated {tests}, a case looks most like another kind than its own with a chance of at most "
        f"{tested.wrong.max():.2g}. Testing like this and then settling loses at most {amount(tested.regret.max())}."
    )


def _task_sentence(task: dict[str, Any]) -> str:
    rule = "; ".join(f"{quoted(state)}: {quoted(arm)}" for state, arm in task["options"].items())
    return (
        f"{task['task']} (best {rule}): {task['total']:,.1f} successes over the horizon, "
        f"{task['per_round_in_the_long_run']:.3f} per round in the long run."
    )


def warnings_of(collection: StateCollection, hard: list[HardState], alike: list[Alike]) -> list[str]:
    """One sentence for every state that is hard to leave and every pair that cannot be told apart."""
    lines = [
        f"Hard to leave: {quoted(collection.states[one.state])} in {collection.tasks[one.task]}. The way back takes "
        f"{amount(one.rounds)} rounds or more, and costs {amount(one.cost)}; some kind's rule leads there."
        for one in hard
    ]
    lines += [
        f"Not told apart: {collection.tasks[one.task]} while it is treated as {collection.tasks[one.treated]}. All "
        f"rounds speak {one.nats:.1f} nats, and it loses {amount(one.cost)}."
        for one in alike
    ]
    return lines or ["No state is hard to leave, and kinds can be told apart whichever they are treated as."]


def learned_states_text(found: LearnedStates) -> str:
    """What a log of trajectories was found to say, for people."""
    known, seen = found.collection, found.trajectories
    lines = [
        f"Read {counted(seen.n_rows, 'row')} of {counted(len(seen.first), 'case')} in {found.name}: "
        f"{counted(known.n_tasks, 'kind')}, {counted(known.n_states, 'state')} ({', '.join(known.states)}), "
        f"{counted(known.n_arms, 'option')}."
    ]
    if (kinds := found.mixture) is not None:
        shares = ", ".join(f"{share:.0%}" for share in kinds.shares)
        sure = kinds.chances.max(axis=1).mean()
        lines += [
            f"Found {counted(len(kinds.shares), 'kind')} ({shares}), with a certainty of {sure:.1%} on average.",
            f"    kinds  log-likelihood  {kinds.criterion}",
            *(f"  {one.n_classes:>7}  {one.log_likelihood:>14,.1f}  {one.score:,.1f}" for one in kinds.trials),
        ]
    lines += [f"Note: {note}" for note in found.notes]
    head = ["kind", "state", "option", "rounds", "success", *(f"to {state}" for state in known.states)]
    rows = [_learned_row(row, known.states) for row in learned_states_rows(found)]
    return "\n".join([*lines, "", *table_lines(head, rows)])


def _learned_row(row: dict[str, Any], states: tuple[str, ...]) -> list[str]:
    within = f"{row['success']:.2f} ± {row['margin']:.2f}"
    moves = [f"{row[f'to {state}']:.2f} ± {row[f'margin to {state}']:.2f}" for state in states]
    return [row["kind"], row["state"], row["option"], f"{row['rounds']:,.0f}", within, *moves]


def learned_states_rows(found: LearnedStates) -> list[dict[str, Any]]:
    """For every kind, state and option the rounds that show it, and its chances with their margins."""
    known = found.collection
    assert known.rate_margin is not None
    assert known.move_margin is not None
    rows = []
    for i, s, k in np.ndindex(*known.rates.shape):
        row: dict[str, Any] = {"kind": known.tasks[i], "state": known.states[s], "option": known.arms[k]}
        row |= {"rounds": float(found.rounds[i, s, k]), "success": float(known.rates[i, s, k])}
        row |= {"margin": float(known.rate_margin[i, s, k])}
        for to, name in enumerate(known.states):
            row |= {f"to {name}": float(known.moves[i, s, k, to])}
            row |= {f"margin to {name}": float(known.move_margin[i, s, k, to])}
        rows.append(row)
    return rows


def learned_states_document(found: LearnedStates) -> dict[str, Any]:
    """The same as JSON."""
    kinds = found.mixture
    return {
        "rows": found.trajectories.n_rows,
        "cases": len(found.trajectories.first),
        "kinds": list(found.collection.tasks),
        "shares": found.collection.weights.tolist(),
        "certainty": None if kinds is None else float(kinds.chances.max(axis=1).mean()),
        "trials": [] if kinds is None else [one.__dict__ for one in kinds.trials],
        "notes": list(found.notes),
        "estimates": learned_states_rows(found),
    }


def rates_by_state(known: StateCollection) -> Collection:
    """The success rates as a collection without states, with a task for every kind in every state, to draw them."""
    names = [f"{task}, {state}" for task in known.tasks for state in known.states]
    return Collection.bernoulli(known.rates.reshape(-1, known.n_arms), tasks=names, arms=known.arms)
