"""Plans that treat as the leader by tallies: exact where tallies are few, else simulated and said so; text, session and
simulation say the same."""

import re
from dataclasses import replace

import numpy as np
import pytest

from banditree import (
    InvalidInput,
    build_plan,
    certify,
    load_plan,
    resume_session,
    save_plan,
    simulate_states,
    start_session,
)
from banditree.certificates.outcomes import Claim
from banditree.plans.line import Line
from banditree.plans.tally_machine import tally_machine_of
from banditree.protocols.leader import leader
from banditree.tasks.optimal_states import optimal
from banditree.tasks.state_instances import clinic_states, hard_states, rand_states


def enumerated(plan, known, task, horizon):
    """Expected successes, by going through everything that can happen."""
    machine, S = tally_machine_of(plan), known.n_states

    def go(left, tally, state, chance):
        if not left:
            return 0.0
        arm = machine.options[min(range(len(tally)), key=lambda i: tally[i]), state]
        rate = known.rates[task, state, arm]
        total = chance * rate
        for outcome, p in ((0, 1 - rate), (1, rate)):
            for to in range(S):
                new = tally + machine.outcomes[state, arm, outcome] + machine.moves[state, arm, to]
                new = np.minimum(new - new.min(), machine.most[0])
                total += go(left - 1, new, to, chance * p * known.moves[task, state, arm, to])
        return total

    return sum(go(horizon, np.zeros(known.n_tasks, int), s, p) for s, p in enumerate(known.start) if p)


@pytest.mark.parametrize("seed", [1, 2])
def test_certificates_are_those_of_enumeration(seed):
    known = rand_states(3, 2, 3, seed)
    plan = build_plan(known, 100, method="remember")
    found, best = certify(plan, known, 6), optimal(known, 6)
    assert found.claim is Claim.EXACT
    for task in range(3):
        assert found.regret[task] == pytest.approx(best.total[task] - enumerated(plan, known, task, 6), abs=1e-10)


def test_simulated_cases_lose_what_is_certified_and_many_kinds_are_said_to_be_simulated():
    known = rand_states(3, 3, 3, 2)
    plan = build_plan(known, 80, method="remember")
    seen, found = simulate_states(known, {"plan": plan}, 80, runs=3000, seed=2), certify(plan, known)
    assert (np.abs(seen.means[0] - found.regret) < 4 * seen.errors[0]).all()
    many = rand_states(6, 3, 3, 2)
    plan = build_plan(many, 80, method="remember")
    seen, found = simulate_states(many, {"plan": plan}, 80, runs=2000, seed=2), certify(plan, many)
    assert found.claim is Claim.ESTIMATE
    assert "simulated, with 10,000 cases of each kind" in found.remarks[0]
    assert (np.abs(seen.means[0] - found.regret) < 5 * seen.errors[0]).all()


def test_it_loses_about_what_sampling_does_where_a_score_forgets():
    known = rand_states(4, 4, 4, 102)
    lost = simulate_states(known, {"it": build_plan(known, 500, method="remember"), "mts": "mts"}, 500, runs=500)
    assert lost.worst["it"] < 1.6 * lost.worst["mts"]


class Reader:
    """Follows a plan that remembers by its printed text alone."""

    def __init__(self, text, states):
        said = re.search(r"in this order: (.*)\.\n", text)[1]
        self.rules = [dict(part.split(": ") for part in rule.split("; ")) for rule in re.findall(r"\((.*?)\)", said)]
        self.most = int(re.search(r"No tally counts above (\d+)", text)[1])
        self.points, self.tally = {}, [0] * len(self.rules)
        for state, arm, rest in re.findall(r"^  (.+?), (.+?): (.*)$", text, re.M):
            outcomes, moves = rest.split("; next ")
            row = dict(part.rsplit(" ", 1) for part in [*outcomes.split(", "), *moves.split(", ")])
            self.points[state, arm] = {name: list(map(int, each.split("/"))) for name, each in row.items()}
        assert all(state in row for row in self.points.values() for state in states)

    def ask(self, state):
        return self.rules[self.tally.index(min(self.tally))][state]

    def tell(self, state, arm, outcome, to):
        row = self.points[state, arm]
        both = zip(row["success" if outcome else "failure"], row[to], strict=True)
        self.tally = [have + a + b for have, (a, b) in zip(self.tally, both, strict=True)]
        self.tally = [min(have - min(self.tally), self.most) for have in self.tally]


def test_who_reads_the_text_decides_as_the_session_does(tmp_path):
    known = clinic_states(3, 3, 3, 3)
    plan = build_plan(known, 150, method="remember")
    save_plan(plan, tmp_path / "plan.json")
    assert str(load_plan(tmp_path / "plan.json")) == str(plan)
    rng = np.random.default_rng(0)
    for case in range(6):
        session, reader, state = start_session(plan), Reader(str(plan), known.states), 1
        for number in range(150):
            step = session.ask(state=state)
            assert step.name == reader.ask(known.states[state])
            reward = int(rng.random() < known.rates[case % 3, state, step.arm])
            session.tell(reward)
            to = int(rng.choice(3, p=known.moves[case % 3, state, step.arm]))
            reader.tell(known.states[state], step.name, reward, known.states[to])
            state = to
            if number == 70:
                session = resume_session(plan, session.snapshot())
    assert "Tallies:" in session.describe()


def test_what_is_wrong_with_a_sheet_is_refused():
    known = rand_states(3, 2, 3, 1)
    plan = build_plan(known, 50, method="remember")
    gives = plan.lines[0].gives
    for change, said in (
        ({"most": 0}, "the most that a tally counts"),
        ({"sheet": gives.sheet[1:]}, "the rows of a tally sheet"),
        ({"sheet": (replace(gives.sheet[0], failure=(1, -1, 0)), *gives.sheet[1:])}, "the points of a tally sheet"),
        ({"rules": gives.rules[:1]}, "the rules of a leader"),
    ):
        with pytest.raises(InvalidInput, match=said):
            replace(gives, **change)
    with pytest.raises(InvalidInput, match="a rule for each task of the plan"):
        replace(plan, lines=(Line(replace(gives, rules=(gives.rules[1], gives.rules[0], gives.rules[2]))),))
    with pytest.raises(InvalidInput, match="pages must be omitted with states"):
        build_plan(known, 50, method="remember", pages=True)
    assert leader(known, optimal(known, 50).options, 0.5, 20).most == 20


def test_by_default_it_is_taken_where_it_loses_less_by_a_quarter():
    """Tallies win where the good options tell the kinds apart, lines where only bad ones do; who asks for lines gets
    them."""
    telling, hard = rand_states(4, 4, 4, 102), hard_states(3, 2, 1)
    assert build_plan(telling, 300, steps=40).origin.method == "remember"
    assert build_plan(telling, 300, lines=5, steps=40).origin.method == "protocol"
    assert build_plan(telling, 300, "protocol", steps=40).origin.method == "protocol"
    assert build_plan(hard, 300, steps=1500).origin.method == "protocol"
