"""A small plan with states written by hand, a reader of its printed text alone, and the slow way to its numbers."""

import re

import numpy as np

from banditree import Line, Score, Watch, make_plan
from banditree.plans.gives import TreatByState
from banditree.plans.points import StateTable
from banditree.plans.state_machine import state_machine_of
from banditree.tasks.optimal_states import optimal
from banditree.tasks.state_instances import rand_states


def table(seed, n_states):
    rng = np.random.default_rng(seed)
    outcomes, moves = rng.integers(-3, 4, (n_states, 2)), rng.integers(-3, 4, (n_states, n_states))
    return StateTable(tuple(map(tuple, outcomes.tolist())), tuple(map(tuple, moves.tolist())))


def treat_as(known, horizon, task):
    options = optimal(known, horizon).options[task]
    return TreatByState(known.tasks[task], known.states, tuple(known.arms[k] for k in options))


def hand_made(horizon=8, seed=1, n_states=2, capped=True):
    """(collection of 3 tasks, plan with a score line, two watch lines and a restart)."""
    known = rand_states(3, n_states, 3, seed)
    rules = [treat_as(known, horizon, task) for task in range(3)]
    lines = [
        Line(rules[0], Score(table(1, n_states), 3, 4), below=2, above=Line(rules[2])),
        Line(rules[1], Watch(table(2, n_states), 2, 3 if capped else 0), below=3),
        Line(rules[2], Watch(table(3, n_states), 4), below=1),
    ]
    return known, make_plan(lines, known, horizon)


def enumerated(plan, known, task, horizon):
    """(expected successes, chance of each row at the end) by going through everything that can happen."""
    machine, S = state_machine_of(plan), known.n_states
    at_end = np.zeros(machine.n_rows)

    def after(row, score, state, outcome, to):
        if machine.kind[row] == 2:
            return row, 0
        score += machine.outcomes[row, state, outcome] + machine.moves[row, state, to]
        if machine.cap[row]:
            score = min(score, machine.cap[row])
        if machine.kind[row] == 1 and score >= machine.ceil[row]:
            return machine.high[row], 0
        return (machine.low[row], 0) if score <= -machine.floor[row] else (row, score)

    def go(left, row, score, state, chance):
        if not left:
            at_end[row] += chance
            return 0.0
        arm = machine.options[row, state]
        rate = known.rates[task, state, arm]
        total = chance * rate
        for outcome, p in ((0, 1 - rate), (1, rate)):
            for to in range(S):
                both = chance * p * known.moves[task, state, arm, to]
                if both:
                    total += go(left - 1, *after(row, score, state, outcome, to), to, both)
        return total

    return sum(go(horizon, 0, 0, s, p) for s, p in enumerate(known.start) if p), at_end


class Reader:
    """Follows a plan by its printed text alone."""

    def __init__(self, text):
        self.lines = re.findall(r"^\d+\. (.*)$", text, re.M)
        self.tables = {}
        for name, rows in re.findall(r"^Table (\d+):\n((?:  .*\n?)+)", text, re.M):
            self.tables[name] = {}
            for row in rows.strip().split("\n"):
                state, own, to = re.fullmatch(r"\s*(.+): success (\S+), failure \S+; next (.*)", row)[1], row, row
                success, failure = re.search(r"success (\S+), failure (\S+);", own).groups()
                steps = dict(part.rsplit(" ", 1) for part in to.split("; next ")[1].split(", "))
                points = {1: int(success), 0: int(failure)}
                self.tables[name][state] = points, {s: int(p) for s, p in steps.items()}
        self.go_to(self.lines[0], 1)

    def go_to(self, text, number=None):
        self.text, self.number, self.score = text, number, 0
        self.rule = dict(part.split(": ") for part in re.search(r"\((.*?)\)", text)[1].split("; "))

    def ask(self, state):
        return self.rule[state]

    def tell(self, state, outcome, to):
        named = re.search(r"points of table (\d+)", self.text)
        if not named:
            return
        points, steps = self.tables[named[1]][state]
        self.score += points[outcome] + steps[to]
        if cap := re.search(r"never count above \+(\d+)", self.text):
            self.score = min(self.score, int(cap[1]))
        if (above := re.search(r"At \+(\d+): (.*?)\. At", self.text)) and self.score >= int(above[1]):
            self.follow(above[2])
        elif self.score <= int(re.search(r"stays above (-\d+)|\. At (-\d+)", self.text).expand(r"\1\2")):
            self.follow(re.search(r"(?:Then|At -\d+): ([^.]*)\.$", self.text)[1])

    def follow(self, where):
        if where == "next line":
            self.go_to(self.lines[self.number], self.number + 1)
        elif found := re.fullmatch(r"(?:line|start again at line|go back to line) (\d+)", where):
            self.go_to(self.lines[int(found[1]) - 1], int(found[1]))
        elif where.startswith("keep"):
            self.go_to(re.sub(r" for as long.*|; points.*", "", self.text) + " from now on.")
        else:
            self.go_to(where)
