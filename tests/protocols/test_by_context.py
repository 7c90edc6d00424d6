"""Protocols for contextual tasks: exact against simulated, rules against brute force, the text against the session."""

import itertools

import numpy as np
import pytest
from boxes import arrays_of

from banditree.certificates.certify import certify
from banditree.certificates.outcomes import Claim
from banditree.errors import InvalidInput
from banditree.files.plans import load_plan, plan_json, save_plan
from banditree.plans.context_wording import rule_lines
from banditree.policies.starting import resume_session, start_session
from banditree.protocols.build import build_plan
from banditree.protocols.by_context import around_slopes, contextual_tasks
from banditree.protocols.front import pareto_front
from banditree.protocols.kind_rules import printed_rules
from banditree.simulation.engine import simulate
from banditree.tasks.changes import with_case_features
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import (
    INTERCEPT,
    Feature,
    asked_names,
    fixed_context,
    gaussian_contexts,
    moment_contexts,
    sampled_contexts,
)
from banditree.tasks.rewards import BERNOULLI, Bernoulli, Gaussian
from tests.contextual_play import arm_of, play
from tests.contextual_reader import Reader, conditions, holds

HORIZON, CASES = 80, 100
LOGISTIC = Bernoulli(link="logistic")


def shop(rewards=BERNOULLI, n_rows=60, seed=0):
    """Three kinds of customers over prices, ages and sex, as sampled rows."""
    rng = np.random.default_rng(seed)
    columns = (np.ones(n_rows), rng.uniform(1.5, 3, n_rows).round(2), rng.integers(20, 80, n_rows))
    rows = np.column_stack([*columns, rng.integers(0, 2, n_rows)])
    features = [Feature(INTERCEPT), Feature("price"), Feature("age"), Feature("sex", "m", ("f", "m"))]
    theta = np.array(
        [
            [[1.0, -0.3, 0, 0.1], [0.2, 0, 0.005, 0], [0.4, 0, 0, 0.2]],
            [[0.2, 0.1, 0, 0], [0.9, -0.1, -0.008, 0], [0.3, 0.1, 0, -0.1]],
            [[0.5, 0, -0.003, 0], [0.4, 0, 0.002, 0.2], [0.1, 0.2, 0, 0.1]],
        ]
    )
    if rewards.link == "logistic":
        theta = 4 * theta - [2.0, 0, 0, 0]
    names = {"arms": ["A", "B", "C"], "tasks": ["early", "late", "mixed"]}
    return Collection.linear(theta, sampled_contexts(rows, features), rewards, **names)


def random_collection(kind, rewards, seed=0):
    rng = np.random.default_rng(seed)
    theta = np.concatenate([rng.uniform(0.2, 0.8, (3, 3, 1)), rng.normal(0, 0.15, (3, 3, 2))], axis=2)
    rows = np.column_stack([np.ones(40), rng.normal(size=40), rng.exponential(size=40) - 1])
    make = {
        "gaussian": lambda: gaussian_contexts([1.0, 0.0, 0.0], np.diag([0.0, 1.0, 1.0])),
        "moments": lambda: moment_contexts([1.0, 0.0, 0.0], np.diag([0.0, 1.0, 1.0])),
        "sample": lambda: sampled_contexts(rows),
        "fixed": lambda: fixed_context([1.0, 0.5, -0.5]),
    }
    return Collection.linear(theta if rewards.link == "linear" else 4 * theta - 2, make[kind](), rewards)


FIT, OUTCOME, TABLE = {"rule_size": 3}, {"points": "outcome"}, {"points": "table"}
NORMAL = Gaussian(sigma=0.4)
COMBINATIONS = [
    *((BERNOULLI, kind, FIT) for kind in ("gaussian", "sample", "moments", "fixed")),
    *((NORMAL, kind, FIT) for kind in ("gaussian", "sample", "moments", "fixed")),
    *((rewards, kind, OUTCOME) for rewards in (BERNOULLI, NORMAL) for kind in ("gaussian", "sample")),
    *((BERNOULLI, kind, TABLE) for kind in ("gaussian", "fixed")),
    *((LOGISTIC, kind, FIT) for kind in ("gaussian", "moments")),
    (LOGISTIC, "sample", TABLE | FIT),
    (LOGISTIC, "fixed", OUTCOME),
]


@pytest.mark.slow
@pytest.mark.parametrize(("rewards", "kind", "options"), COMBINATIONS)
def test_certificates_agree_with_a_simulation_of_their_own(options, kind, rewards):
    # Five standard errors and 2% of the integral over contexts: less than one false alarm in 10,000 runs of them all.
    collection = random_collection(kind, rewards)
    plan = build_plan(collection, HORIZON, steps=200, **options)
    certificate = certify(plan, collection)
    assert certificate.claim is (Claim.AS_IF_GAUSSIAN if kind == "moments" else Claim.EXACT)
    for task in range(collection.n_tasks):
        regret, box = play(plan, collection, task, CASES, HORIZON, seed=task)
        expected = certificate.regret[task]
        assert abs(regret.mean() - expected) <= 5 * regret.std() / np.sqrt(CASES) + 0.02 * expected + 1e-9
        chance = certificate.at_end[task]
        share = np.bincount(box, minlength=plan.n_boxes) / CASES
        assert (np.abs(share - chance) <= 5 * np.sqrt(chance * (1 - chance) / CASES) + 0.01).all()


@pytest.mark.slow
def test_the_compiled_simulator_plays_contextual_protocols_as_they_are_certified():
    collection = shop()
    table = build_plan(collection, 200, steps=300, points="table", rule_size=4)
    plans = {"fit": build_plan(collection, 200, steps=300), "paper": paper_plan(collection, 200), "table": table}
    result = simulate(collection, plans, horizon=200, runs=300, seed=1)
    for number, plan in enumerate(plans.values()):
        regret, expected = result.regret[number, :, :, -1], certify(plan, collection).regret
        assert (np.abs(regret.mean(axis=1) - expected) <= 5 * regret.std(axis=1) / np.sqrt(300)).all()


def paper_plan(collection, horizon, size=3):
    """A plan that needs no arithmetic: points of outcomes, and printed rules."""
    return build_plan(collection, horizon, points="outcome", rule_size=size, steps=300)


def test_rules_lose_least_among_all_trees_of_their_cuts():
    """Brute force over two questions, each with every cut and arm."""
    collection = shop(n_rows=25)
    rows = collection.contexts.rows
    rules = printed_rules(collection, 3)
    for task, rule in enumerate(rules):
        values = np.clip(rows @ collection.theta[task].T, 0, 1)
        questions = [(f, cut) for f in (1, 2, 3) for cut in np.unique(rows[:, f])[:-1]]
        best = 0.0
        for (f, a), (g, b) in itertools.product(questions, repeat=2):
            first, second = rows[:, f] <= a, rows[:, g] <= b
            for parts in ((first, ~first & second, ~first & ~second), (~first, first & second, first & ~second)):
                best = max(best, sum(values[part].sum(axis=0).max() for part in parts) / len(rows))
        # The cuts that are tried are quantiles with few digits, between any two of which the rules are equal here.
        assert rule.n_leaves <= 3
        assert values.max(axis=1).mean() - rule.loss <= best + 1e-12
        assert values.max(axis=1).mean() - rule.loss >= best - 0.004
    losses = [max(rule.loss for rule in printed_rules(collection, size)) for size in (1, 2, 3, 6, 12)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] / 4


def printed_arm(lines, values):
    """The arm that a printed rule gives, read from its text alone."""
    for line in lines[1:]:
        when, arm = line.strip().rsplit(": ", 1)
        if when in ("otherwise", "always") or all(holds(part, values) for part in conditions(when)):
            return arm
    raise AssertionError("no line holds")


def test_the_session_gives_what_the_printed_rule_says():
    collection = shop(n_rows=200)
    plan = paper_plan(collection, 100, size=6)
    text = str(plan)
    for task in range(3):
        lines = rule_lines(plan, task)
        assert "\n".join(lines) in text or task not in arrays_of(plan).task[arrays_of(plan).arm < 0]
        for x in collection.contexts.rows[:50]:
            values = {"price": x[1], "age": x[2], "sex": "m" if x[3] else "f"}
            assert plan.arms[arm_of(plan, task, x)] == printed_arm(lines, values)
    case = start_session(plan)
    assert case.ask().outcome is not None  # the context comes first
    first = int(arrays_of(plan).task[0])
    step = case.ask(context={"price": 2.0, "age": 50, "sex": "f"})
    assert step.name == printed_arm(rule_lines(plan, first), {"price": 2.0, "age": 50, "sex": "f"})


@pytest.mark.parametrize("rewards", [BERNOULLI, LOGISTIC], ids=["linear", "logistic"])
@pytest.mark.parametrize(
    "options",
    [{}, {"points": "table"}, {"points": "table", "rule_size": 4}, {"points": "outcome", "rule_size": 3}],
    ids=["fit", "table", "table with rules", "outcome"],
)
def test_who_reads_only_the_text_does_what_the_session_does(options, rewards):
    rng = np.random.default_rng(5)
    collection = shop(rewards)
    plan = build_plan(collection, 60, steps=100, **options)
    for case in range(6):
        reader, session = Reader(str(plan)), start_session(plan)
        for _ in range(60):
            x = collection.contexts.rows[rng.integers(len(collection.contexts.rows))]
            values = {"price": float(x[1]), "age": float(x[2]), "sex": "m" if x[3] else "f"}
            assert session.ask(context=values).name == reader.arm(values)
            reward = int(rng.random() < (0.1, 0.5, 0.9)[case % 3])
            session.tell(reward)
            reader.tell(values, reward)
        facts = session.explain()
        assert reader.line is None or (facts.box + 1, facts.total) == (reader.line, reader.score)


def test_a_table_tells_more_than_the_outcome_alone():
    collection = shop(n_rows=200)
    lost = {
        points: certify(build_plan(collection, 500, points=points, steps=600), collection).worst_regret
        for points in ("outcome", "table")
    }
    assert lost["table"] < 0.8 * lost["outcome"]
    with pytest.raises(InvalidInput, match="points must be fit or outcome for rewards that are not 0 or 1"):
        build_plan(shop(Gaussian(0.3)), 100, points="table")


@pytest.mark.parametrize("context", [{"price": 2.0, "age": 50}, {"price": "x", "age": 5, "sex": "f"}, [1.0, 2.0], {}])
def test_a_missing_or_impossible_context_changes_nothing(context):
    plan = build_plan(shop(), 50, steps=100)
    case = start_session(plan)
    case.ask(context={"price": 2.0, "age": 50, "sex": "f"})
    case.tell(1)
    before = case.snapshot()
    with pytest.raises(InvalidInput, match="context|price|sex"):
        case.ask(context=context)
    with pytest.raises(InvalidInput, match="one of f, m"):
        case.ask(context={"price": 2.0, "age": 50, "sex": "x"})
    assert case.snapshot() == before
    assert resume_session(plan, before).snapshot() == before


def test_what_stays_the_same_for_a_case_is_asked_once():
    plan = build_plan(with_case_features(shop(), ["age", "sex"]), 50, steps=100)
    case = start_session(plan)
    assert asked_names(case.features, case.own_context) == ["price", "age", "sex"]
    with pytest.raises(InvalidInput, match="no value for .'age', 'sex'."):
        case.ask(context={"price": 2.0})
    case.ask(context={"price": 2.0, "age": 50, "sex": "m"})
    case.tell(1)
    case = resume_session(plan, case.snapshot())
    assert asked_names(case.features, case.own_context) == ["price"]
    case.ask(context={"price": 2.5})
    assert case.rounds[1].context == [1.0, 2.5, 50.0, 1.0]
    case.tell(0)
    with pytest.raises(InvalidInput, match="no value for .'price'."):
        case.ask(context={"age": 50})
    case.ask(context={"price": 2.5, "age": 51})  # a birthday
    assert case.rounds[2].context == [1.0, 2.5, 51.0, 1.0]


def test_contextual_plans_come_back_from_their_files_the_same(tmp_path):
    for plan in (
        build_plan(shop(), 50, steps=100),
        paper_plan(shop(), 50),
        build_plan(shop(Gaussian(0.3)), 50, steps=100),
        build_plan(shop(), 50, steps=100, points="table", rule_size=3),
    ):
        save_plan(plan, tmp_path / "plan.json")
        assert '"banditree/plan/4"' in plan_json(plan)
        assert plan_json(load_plan(tmp_path / "plan.json")) == plan_json(plan)


def test_tasks_that_differ_in_slopes_only_get_a_plan():
    contexts = gaussian_contexts([1.0, 0.0], np.diag([0.0, 1.0]), [INTERCEPT, "x"])
    theta = [[[0.5, 0.2], [0.5, -0.2]], [[0.5, -0.2], [0.5, 0.2]]]
    slopes = Collection.linear(theta, contexts, Gaussian(sigma=0.3))
    plan = build_plan(slopes, 500, steps=300)
    one_arm = 500 * slopes.gaps.min(axis=1).max()
    assert certify(plan, slopes).worst_regret < 0.05 * one_arm


@pytest.mark.parametrize(
    ("rewards", "points"), [(BERNOULLI, "fit"), (LOGISTIC, "table")], ids=["linear, fit", "logistic, table"]
)
def test_at_most_holds_for_truths_anywhere_in_the_margins_of_a_contextual_protocol(rewards, points):
    rng = np.random.default_rng(3)
    known = random_collection("sample", rewards, seed=4)
    off = np.array([0.02, 0.05, 0.05]) * (1 if rewards.link == "linear" else 4)
    error = np.broadcast_to(np.diag(off) ** 2, (3, 3, 3, 3))
    estimated = Collection.linear(known.theta, known.contexts, rewards, radius=0.03, theta_error=error)
    plan = build_plan(estimated, 100, steps=200, points=points)
    bound = certify(plan, estimated)
    assert bound.claim is Claim.UPPER_BOUND
    ratios = []
    for _ in range(15):
        z = rng.normal(size=(3, 3, 3))
        z /= np.linalg.norm(z, axis=2, keepdims=True)
        truth = Collection.linear(known.theta + z * off, known.contexts, rewards)
        ratios.append((certify(plan, truth).regret / bound.regret).max())
    assert 0.05 < max(ratios) <= 1.0


def test_a_front_of_contextual_plans_goes_from_short_and_dear_to_long_and_cheap():
    collection = shop()
    front = pareto_front(collection, 100, steps=150)
    lost = [certify(plan, collection).worst_regret for plan in front]
    assert lost == sorted(lost, reverse=True)
    assert len(front) > 1


def test_options_for_contexts_are_refused_without_them():
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    with pytest.raises(InvalidInput, match="rule_size must be omitted for tasks without contexts"):
        build_plan(two, 100, rule_size=3)
    with pytest.raises(InvalidInput, match="points must be one of fit, table, outcome"):
        build_plan(shop(), 100, points="guess")
    with pytest.raises(InvalidInput, match="rule_size must be from 1 to 32"):
        build_plan(shop(), 100, rule_size=100)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sample", "gaussian"])
def test_features_of_a_case_are_averaged_over_cases_and_not_over_rounds(kind):
    collection = with_case_features(random_collection(kind, BERNOULLI, seed=7), ["x2", "x3"])
    plan = build_plan(collection, HORIZON, points="outcome", rule_size=1, steps=200)
    certificate = certify(plan, collection)
    assert any("the same for a whole case" in remark for remark in certificate.remarks)
    result = simulate(collection, {"plan": plan}, horizon=HORIZON, runs=1500, seed=3).regret[0, :, :, -1]
    # Five standard errors of the runs, and for drawn cases of the 60 that the certificate takes.
    off = 5 * result.std(axis=1) / np.sqrt(60 if kind == "gaussian" else 1500)
    assert (np.abs(result.mean(axis=1) - certificate.regret) <= off).all()
    over_rounds = certify(plan, random_collection(kind, BERNOULLI, seed=7)).regret
    if kind == "sample":
        assert (np.abs(result.mean(axis=1) - over_rounds) > off).any()


def test_no_row_of_a_table_rewards_a_failure():
    """Kinds whose order of chances changes along the promise: some rows would speak for the other kind."""
    from banditree.protocols.promise_tables import _ratios, _tables

    rng, reversed_rows = np.random.default_rng(0), 0
    for _ in range(40):
        promise, first, second = rng.random((3, 300)) * 0.9 + 0.05
        first = np.where(promise > rng.random(), first, second * 0.5)
        for table in _tables(first, second, promise):
            assert all(failure <= 0 <= success for failure, success in table.rows)
            reversed_rows += int((_ratios(first, second, promise, table.cuts)[:, 1] < 0).any())
    assert reversed_rows > 0, "or the check is empty"


def test_a_search_allows_for_slopes_that_are_off():
    """As many above the estimates as below, within their margins but for luck; a plan is judged by their average."""
    known = shop()
    error = np.broadcast_to(np.diag([0.01, 0.002, 1e-6, 0.01]), (3, 3, 4, 4))
    about = {"arms": known.arms, "tasks": known.tasks, "theta_error": error, "radius": 0.1}
    estimated = Collection.linear(known.theta, known.contexts, BERNOULLI, **about)
    several = around_slopes(estimated)
    off = several.theta.reshape(5, 3, 3, 4) - known.theta
    assert off[0].tolist() == np.zeros((3, 3, 4)).tolist()
    assert off.sum(axis=0) == pytest.approx(np.zeros((3, 3, 4)), abs=1e-12)
    away = off[1:] / np.sqrt(np.diag(error[0, 0]))  # in margins
    assert 0.2 < away.std() < 0.5
    world = contextual_tasks(estimated, "fit").world
    assert world.group.tolist() == [0, 1, 2] * 5
    assert world.weight == pytest.approx(0.2)
    assert around_slopes(known).n_tasks == 3
    plan = build_plan(estimated, HORIZON, lines=3, steps=300)
    assert not any("at their word" in remark for remark in certify(plan, estimated).remarks)
