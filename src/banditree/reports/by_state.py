"""What can be said of a collection with states before a plan is made: gains, and where no plan promises much."""

from dataclasses import dataclass
from typing import Any

from banditree.nouns import counted
from banditree.plans.words import amount, quoted
from banditree.tasks.optimal_states import Optimal, optimal
from banditree.tasks.states import StateCollection
from banditree.theory.by_state import Alike, HardState, alike_of, hard_states_of


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
    rows = [_task_sentence(task) for task in facts["tasks"]]
    return StateAnalysis(facts, "\n".join([sizes, "", *rows, "", *warnings_of(collection, hard, alike)]))


def _of_task(collection: StateCollection, best: Optimal, i: int) -> dict[str, Any]:
    options = {name: collection.arms[k] for name, k in zip(collection.states, best.options[i], strict=True)}
    earned = {"total": float(best.total[i]), "per_round_in_the_long_run": float(best.gain[i])}
    return {"task": collection.tasks[i], "options": options, **earned}


def _names(collection: StateCollection, task: int, **more: int) -> dict[str, str]:
    named = {"state": collection.states, "treated": collection.tasks}
    return {"task": collection.tasks[task], **{word: named[word][number] for word, number in more.items()}}


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
