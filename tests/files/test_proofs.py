"""Proofs: the checker, which uses nothing of banditree, finds what certify says, and refuses what was changed."""

import ast
import copy
import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from boxes import Box, assemble
from random_plans import certified

from banditree import Collection, Give, Line, certify, make_plan
from banditree.cli import main
from banditree.designs import n_of_1, simon
from banditree.errors import InvalidInput
from banditree.files.collections import collection_document, save_collection
from banditree.files.documents import dump
from banditree.files.plans import plan_json, save_plan
from banditree.files.proofs import proof_json, stamp
from banditree.plans.gives import HAND_OVER, BestOf
from banditree.plans.plan import Decider, Fallback, OnHarm, SafetyRule
from banditree.tasks.harm import with_harm
from banditree.tasks.worth import Worth

CHECKER = Path(__file__).parents[2] / "conformance" / "check_proof.py"
PLANS, CHANGES = 14, 100
FAST = 2 * 10**7  # Of the work that the checker may do, so that tests are


def checker():
    spec = importlib.util.spec_from_file_location("check_proof", CHECKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECK = checker()


def known(rng):
    """A collection of 0/1 or graded rewards in decimals, perhaps with prices and harm."""
    M, K = rng.integers(2, 4), rng.integers(2, 4)
    if rng.random() < 0.6:
        found = Collection.bernoulli(rng.uniform(0.02, 0.98, (M, K)).round(2))
    else:
        chances = (rng.dirichlet([1, 1, 1], (M, K)) * 100).round() / 100
        chances[..., 2] = 1 - chances[..., 0] - chances[..., 1]
        found = Collection.graded(np.maximum(chances, 0), [0, 0.5, 1.5])
    if rng.random() < 0.3:
        outcomes = rng.integers(-40, 90, (K, len(found.rewards.anchors)))
        found = replace(found, worth=Worth(tuple(map(tuple, outcomes.tolist())), 7.5, "EUR"))
    return with_harm(found, rng.uniform(0, 0.3, (M, K)).round(3)) if rng.random() < 0.5 else found


def random_plan(rng, collection):
    """Lines of every kind that no learning goes into, with restarts, caps, a rule, a hand-over, a washout."""
    K, n, grades = collection.n_arms, int(rng.integers(1, 6)), collection.chances is not None
    cuts = (0.25, 1.0) if grades else (0.5,)

    def points():
        middle = [int(rng.integers(-1, 2))] if grades else []
        return (-int(rng.integers(1, 4)), *middle, int(rng.integers(1, 4)))

    away = rng.random() < 0.4
    fallback = (
        None if not away else Fallback(Decider.PERSON) if rng.random() < 0.5 else Fallback(Decider.OPTION, "arm 1")
    )
    fallback = replace(fallback, starts=int(rng.integers(2, 5))) if fallback and rng.random() < 0.5 else fallback
    ends = [Box(k) for k in range(K)] + [Box(HAND_OVER)] * away
    lines = []
    for place in range(n):
        forward, anywhere = (int(rng.integers(low, n + len(ends))) for low in (place + 1, 0))
        low, high = rng.permutation([forward, anywhere if anywhere != place else forward]).tolist()
        arm, kind = int(rng.integers(K)), rng.random()
        scored = {"points": points(), "cuts": cuts, "floor": int(rng.integers(1, 8))}
        if kind < 0.25:
            pulls = int(rng.integers(1, 12))
            lines.append(Box(arm, low, high, pulls=pulls, threshold=float(rng.integers(0, pulls))))
        elif kind < 0.6:
            lines.append(Box(arm, low, high, ceil=int(rng.integers(1, 8)), **scored))
        else:
            lines.append(Box(arm, forward, cap=int(rng.choice([0, 0, 5])), **scored))
    hands_over = away and rng.random() < 0.5
    rule = SafetyRule(points(), int(rng.integers(1, 9)), cuts, int(rng.choice([0, 6])), hands_over)
    more = {"rule": rule if rng.random() < 0.6 else None, "fallback": fallback}
    plan = assemble([*lines, *ends], collection, int(rng.integers(20, 400)), **more)
    return replace(plan, washout=int(rng.integers(1, 4))) if rng.random() < 0.3 and not away else plan


def cases(count):
    """Random plans that come to rest, what they are about, and their certificates."""
    rng, found = np.random.default_rng(11), 0
    while found < count:
        collection = known(rng)
        try:
            plan = random_plan(rng, collection)
            certificate = certified(plan, collection, plan.horizon)
        except InvalidInput:
            continue
        if certificate is not None:
            found += 1
            yield plan, collection, certificate


def written(plan, collection, certificate):
    """The three documents as the checker reads them."""
    texts = plan_json(plan), dump(collection_document(collection)), proof_json(plan, collection, certificate)
    return [json.loads(text, parse_float=str) for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("count", [PLANS, pytest.param(200, marks=pytest.mark.soak)])
def test_the_checker_finds_what_certify_says(count, monkeypatch):
    monkeypatch.setattr(CHECK, "WORK", FAST if count == PLANS else 5 * FAST)
    exact = 0
    for plan, collection, certificate in cases(count):
        documents = written(plan, collection, certificate)
        n_sentences = len(list(CHECK.check(*copy.deepcopy(documents)))) - 1
        places = CHECK.places_of(copy.deepcopy(documents[0]))
        for task, claims in enumerate(documents[2]["tasks"]):
            tails, work = claims.get("unlucky") or {}, CHECK.WORK // collection.n_tasks
            found, times = CHECK.proven(places, documents[1], task, plan.horizon, tails, work)
            n_sentences -= len(found) + (times > 1)
            for what, (least, most, whole) in found.items():
                low, high = map(float, tails[what]) if what in tails else [getattr(certificate, what)[task]] * 2
                assert low - 3e-9 * whole <= most
                assert high + 3e-9 * whole >= least
                assert most - least <= 1e-6 * whole
                exact += what in tails and low == high
        assert n_sentences == 0
    assert exact >= 2 * count  # of two or three tasks a plan, and three shares


def leaves(value, place=()):
    """Where the numbers, names and lists of a document are."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    yield from ((*place, key) for key, _ in parts)
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from leaves(part, (*place, key))


def change(document, rng):
    """One thing of a document changed or removed."""
    places = list(leaves(document))
    *way, last = places[rng.integers(len(places))]
    for key in way:
        document = document[key]
    old = document[last]
    if isinstance(old, bool | None) or rng.random() < 0.2:
        del document[last]
    elif isinstance(old, int):
        document[last] = old + int(rng.choice([-1, 1]))
    elif isinstance(old, str):
        at = int(rng.integers(len(old) + 1))
        document[last] = old[:at] + str(rng.integers(10)) + old[at:]
    else:
        document[last] = [] if old else [0]


@pytest.mark.parametrize("count", [CHANGES, pytest.param(1000, marks=pytest.mark.soak)])
def test_whatever_was_changed_is_refused(count):
    rng, some = np.random.default_rng(5), [written(*case) for case in cases(5)]
    for number in range(count):
        documents = copy.deepcopy(some[number % len(some)])
        change(documents[rng.integers(3)], rng)
        if documents != some[number % len(some)]:
            with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
                list(CHECK.check(*documents))


@pytest.mark.slow
@pytest.mark.parametrize("count", [PLANS, pytest.param(1000, marks=pytest.mark.soak)])
def test_numbers_that_are_sealed_again_are_refused(count, monkeypatch):
    """Who makes a proof of other numbers can seal it: it is refused, or what is said is what is proven all the same."""
    monkeypatch.setattr(CHECK, "WORK", FAST)
    rng, refused, some = np.random.default_rng(3), 0, [written(*case) for case in cases(PLANS)]

    def sentences(*documents):
        return [one for one in CHECK.check(*copy.deepcopy(documents)) if "Not proven" not in one]

    genuine = [sentences(*documents) for documents in some]
    for number in range(count):
        *about, proof = copy.deepcopy(some[number % PLANS])
        claims = proof["tasks"][rng.integers(len(proof["tasks"]))]
        what = str(rng.choice([name for name in claims if name != "task" and claims[name]]))
        forged = [-0.001, 0.001, 0.05, 1.0][rng.integers(4)]
        if what == "unlucky":
            share = str(rng.choice(list(claims[what])))
            claims[what][share] = [str(float(one) * (1 + forged) + (float(one) == 0)) for one in claims[what][share]]
        else:
            claims[what] = str(float(claims[what]) * (1 + forged) + (float(claims[what]) == 0))
        del proof["seal"]
        proof["seal"] = stamp(json.dumps(proof))
        try:
            said = sentences(*about, proof)
        except ValueError:
            refused += 1
        else:
            assert said == genuine[number % PLANS]
    assert refused >= 0.7 * count  # the others are of losses that nobody proves for lack of work, or of rare ends


def test_losses_of_trials_are_proven():
    """Whose cases end with the last round, so that nobody spends a round where they end."""
    rates = {"A better": [0.7, 0.4], "alike": [0.5, 0.5]}
    for design in (
        n_of_1("ABBA", rates, rounds=7, at_most=3, washout=2),
        simon((1, 10), (5, 29), null=0.1, alternative=0.3),
    ):
        documents = written(design.plan, design.collection, certify(*design))
        said = [line.split() for line in CHECK.check(*documents) if "do not exceed" in line]
        assert len(said) == 6
        assert all(float(line[-1][:-1]) >= float(line[-5]) - 2e-6 for line in said), said


def test_the_checker_stands_on_its_own():
    tree = ast.parse(CHECKER.read_text())
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names


def test_a_proof_is_written_and_checked(tmp_path, capsys):
    rates, plan, proof = (tmp_path / name for name in ("rates.csv", "plan.json", "proof.json"))
    rates.write_text("task,A,B\nmild,0.7,0.2\nsevere,0.3,0.6\nharm,0.1,0.01\n")
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    save_plan(make_plan([Line(Give("A"))], two, 100), plan)
    with pytest.raises(SystemExit):
        main(["certify", str(plan), str(rates), "--proof", str(proof), "--limit-seconds", "0"])
    beside = tmp_path / "proof.collection.json"
    assert f"check_proof.py {plan} {beside} {proof}" in capsys.readouterr().out
    said = run(plan, beside, proof)
    assert said.returncode == 0
    assert "regret of 'severe' is at most 30.0 and at least 30.0" in said.stdout or "at most 30.000001" in said.stdout
    save_collection(two, beside)
    assert run(plan, beside, proof).stderr == "Not proven. This is the proof of another collection.\n"
    assert run(plan, proof).stderr == "Not proven. Give three files: plan.json collection.json proof.json.\n"
    (tmp_path / "empty.json").touch()
    assert run(plan, beside, tmp_path / "empty.json").stderr.endswith("empty.json is not JSON.\n")


def run(*files):
    return subprocess.run([sys.executable, CHECKER, *files], capture_output=True, text=True, check=False)


TWO = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
ONE = make_plan([Line(Give("A"))], TWO, 100)


@pytest.mark.parametrize(
    ("plan", "collection", "why"),
    [
        (ONE, Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], radius=0.1), "--trust-estimates"),
        (make_plan([Line(BestOf(("A", "B")))], TWO, 100), TWO, "what was learned"),
        (replace(ONE, on_harm=OnHarm.NOT_AGAIN), with_harm(TWO, {"A": 0.1, "B": 0}), "bars the option"),
    ],
)
def test_what_no_checker_follows_is_refused(plan, collection, why):
    with pytest.raises(InvalidInput, match=why):
        proof_json(plan, collection, certify(plan, collection))
