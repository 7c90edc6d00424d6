"""Whatever is in a file, it is read or refused in one line; whatever is written to, nothing is replaced by surprise."""

import json
import os
import random
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from state_plans import hand_made

from banditree import Give, Line, Rounds, make_plan
from banditree.cli import main
from banditree.errors import InvalidInput
from banditree.files.collections import load_collection, save_collection
from banditree.files.cql import cql_text
from banditree.files.dmn import dmn_text
from banditree.files.documents import read_json, write_text
from banditree.files.machines import machine_json
from banditree.files.plans import load_plan, save_plan
from banditree.files.results import load_results
from banditree.files.sessions import load_session, save_session
from banditree.files.statistics import load_statistics, save_statistics
from banditree.policies.starting import start_session
from banditree.tasks.collection import Collection
from banditree.training.statistics import Statistics
from banditree.trees.tree import build_tree

GOLDEN = Path(__file__).parents[1] / "golden" / "files"
CLINIC = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"])
PLAN = build_tree(CLINIC, 100)
WORTH = "group,A,B\nmild,.9,.1\nsevere,.1,.8\nprice per round,2,30\ncost of a change,40,\nunit,EUR,\nharm,.1,.2\n"
ODD = ["null", "-1", "1e999", "9" * 5000, '"\\ud800"', '"\\u0000"', "[]", "{}", "true", "[[[]]]", "0.5", '"x"']


def samples(folder):
    """(path of a good file, function that reads it) of every kind of file."""
    session = start_session(PLAN)
    for reward in (1, 0, 1):
        session.tell(reward, session.ask().round)
    save_collection(CLINIC, folder / "clinic.json")
    save_plan(PLAN, folder / "clinic.plan.json")
    save_session(session, folder / "one.case.json")
    (folder / "means.csv").write_text("task,A,B\nmild,0.9,0.1\nsevere,0.1,0.8\n")
    (folder / "worth.csv").write_text(WORTH)
    known, by_state = hand_made()
    session = start_session(by_state)
    for state in (0, 1, 0):
        session.tell(1, session.ask(state=known.states[state]).round)
    session.ask(state=known.states[1])
    save_session(session, folder / "state.case.json")
    save_plan(by_state, folder / "state.plan.json")
    save_collection(known, folder / "states.json")
    log = {"task": ["x", "x", "y", "y"], "arm": ["A", "B", "A", "B"], "reward": [1, 0, 0, 1]}
    readers = {
        folder / "clinic.json": load_collection,
        folder / "clinic.plan.json": load_plan,
        folder / "one.case.json": lambda path: go_on(load_session(PLAN, path)),
        folder / "means.csv": load_collection,
        folder / "state.case.json": lambda path: load_session(by_state, path).tell(1),
        folder / "state.plan.json": follow,
        folder / "states.json": load_collection,
        folder / "worth.csv": load_collection,
        GOLDEN / "linear-4-5-3.json": load_collection,
        **{path: follow for path in sorted(GOLDEN.glob("*.plan.json"))},
    }
    if (statistics := statistics_of(log)) is not None:
        save_statistics(statistics, folder / "log.statistics.json")
        readers[folder / "log.statistics.json"] = load_statistics
    return readers


def follow(path):
    """A plan that was taken can be followed, and used by other programs."""
    plan = load_plan(path)
    str(plan), start_session(plan)
    for text in (machine_json, cql_text, dmn_text):
        with suppress(InvalidInput):
            text(plan)


def go_on(session):
    """A session that was taken must work."""
    step = session.ask()
    if step.arm is not None:
        session.tell(1, step.round)
    return session.describe()


def statistics_of(log):
    import numpy as np

    tasks, arms = ("x", "y"), ("A", "B")
    rows = list(zip(log["task"], log["arm"], log["reward"], strict=True))
    sums = np.array([[1.0, r] for _, _, r in rows])
    products = np.array([np.outer(row, row) for row in sums])
    codes = np.array([[tasks.index(t), arms.index(a)] for t, a, _ in rows])
    from banditree.tasks.contexts import Feature

    features = (Feature("intercept"),)
    return Statistics(tasks, arms, features, codes[:, 0], codes[:, 1], np.ones(4, int), sums, products, np.zeros(2))


def mutated(content, rng):
    """A copy with a few bytes, a value or a piece changed, doubled or gone."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        place, kind = rng.randrange(len(changed) or 1), rng.random()
        if kind < 0.25:
            changed[place : place + 1] = bytes([rng.randrange(256)])
        elif kind < 0.4:
            del changed[place : place + rng.randint(1, 200)]
        elif kind < 0.5:
            changed[place:place] = changed[place : place + rng.randint(1, 100)]
        else:
            text = changed.decode("utf-8", "replace")
            numbers = [i for i, letter in enumerate(text) if letter.isdigit()]
            if numbers:
                at = rng.choice(numbers)
                changed = bytearray((text[:at] + rng.choice(ODD) + text[at + 1 :]).encode("utf-8", "replace"))
    return bytes(changed)


def leaves(data, place=()):
    """Where the values of a JSON document are."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if inside is None:
        yield place
    for key, value in inside or ():
        yield from leaves(value, (*place, key))


def at(data, place):
    for key in place:
        data = data[key]
    return data


def other_values(content, rng):
    """A copy that is JSON still, of which a value is another one."""
    data = json.loads(content)
    places = list(leaves(data))
    for _ in range(rng.randint(1, 2)):
        *above, key = rng.choice(places)
        value = at(data, above)[key]
        near = [value + 1, value - 1, -value] if isinstance(value, int | float) else []
        odd = [None, "", 10**30, 1e308, -1, "x" * 3000, "A", at(data, rng.choice(places))]
        at(data, above)[key] = rng.choice([*near, *near, *odd])
    return json.dumps(data).encode()


def fuzz(folder, n, seed):
    """Mutate files of every kind and read them; how many were refused."""
    rng, readers, refused = random.Random(seed), samples(folder), 0
    contents = {path: path.read_bytes() for path in readers}
    for _ in range(n):
        path = rng.choice(list(readers))
        target = folder / f"mutated{path.suffix}"
        change = other_values if path.suffix == ".json" and rng.random() < 0.5 else mutated
        target.write_bytes(change(contents[path], rng))
        try:
            readers[path](target)
        except InvalidInput as refusal:
            refused += "\n" not in str(refusal)
        except Exception as error:
            target.rename(folder / "guilty")
            raise AssertionError(f"{path.name}, seed {seed}: {(folder / 'guilty').read_bytes()[:3000]!r}") from error
    return refused


def test_mutated_files_are_read_or_refused(tmp_path):
    assert fuzz(tmp_path, 400, seed=1) > 100


@pytest.mark.parametrize(
    ("sample", "before", "after"),
    [
        ("rand-10-20.plan.json", '"task": "task 7"', '"task": ""'),
        ("hard-5-10.plan.json", '"task 3"', '""'),
        ("rand-10-20.plan.json", '"rounds": 1', f'"rounds": {10**30}1'),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(tmp_path, sample, before, after):
    text = (GOLDEN / sample).read_text()
    head, found, tail = text.rpartition(before)
    assert found
    (tmp_path / sample).write_text(head + after + tail)
    with pytest.raises(InvalidInput):
        load_plan(tmp_path / sample)


def test_totals_that_cql_cannot_hold_are_refused():
    line = Line(Give("A"), Rounds(10, 1e300), below=Line(Give("A")), above=Line(Give("B")))
    with pytest.raises(InvalidInput, match="in CQL"):
        cql_text(make_plan([line], CLINIC, 100))


def test_a_case_whose_next_report_would_fail_is_refused(tmp_path):
    samples(tmp_path)
    path, (_, by_state) = tmp_path / "state.case.json", hand_made()
    data = json.loads(path.read_text())
    data["session"]["state"]["pending"] = [2, 2, 2]
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidInput, match="does not fit this plan"):
        load_session(by_state, path)


def test_what_is_said_about_a_row_of_worth_is_one_line(tmp_path):
    (tmp_path / "worth.csv").write_text(WORTH.replace("unit,EUR,", 'unit,EUR,"a\nb"'))
    with pytest.raises(InvalidInput, match="must say one thing") as refusal:
        load_collection(tmp_path / "worth.csv")
    assert "\n" not in str(refusal.value)


@pytest.mark.soak
def test_ten_thousand_mutated_files_are_read_or_refused(tmp_path):
    assert fuzz(tmp_path, 10_000, seed=2) > 3000


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"schema": "banditree/plan/1", "horizon": ' + "9" * 5000 + "}",
        '{"schema": "banditree/plan/' + "9" * 5000 + '"}',
        '{"schema": "banditree/plan/12345678901"}',
        "{}",
        "",
        "\x00",
        "null",
    ],
)
@pytest.mark.parametrize("load", [load_plan, load_collection, load_statistics, load_results])
def test_files_that_are_none_of_ours_are_refused_in_one_line(tmp_path, content, load):
    path = tmp_path / "odd.json"
    path.write_text(content)
    with pytest.raises(InvalidInput) as refusal:
        load(path)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 600


def test_a_table_with_a_huge_field_is_refused(tmp_path):
    path = tmp_path / "means.csv"
    path.write_text("task,A,B\n" + '"' + "x" * 200_000 + '",0.5,0.6\n')
    with pytest.raises(InvalidInput, match="field larger than field limit"):
        load_collection(path)


@pytest.mark.parametrize("name", ["A\x00", "\ud800"])
def test_names_that_cannot_be_kept_are_refused(tmp_path, name):
    with pytest.raises(InvalidInput, match="arms must be text without null characters"):
        Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=[name, "B"])
    path = tmp_path / "plan.json"
    save_plan(PLAN, path)
    document = json.loads(path.read_text())
    document["arms"][0] = name
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInput):
        load_plan(path)


def test_a_device_is_written_through_and_stays(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"x")
    except OSError:
        pytest.skip("no devices can be made here")
    write_text(device, "text")
    assert stat.S_ISCHR(os.stat(device).st_mode)
    save_plan(PLAN, tmp_path / "plan.json")
    for command in (["show", str(tmp_path / "plan.json"), "--format", "svg", "-o", str(device)],):
        with suppress(SystemExit):
            main(command)
    assert stat.S_ISCHR(os.stat(device).st_mode)


def test_a_pipe_gets_the_content(tmp_path):
    import threading

    pipe, seen = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: seen.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "hello")
    reader.join()
    assert seen == ["hello"]
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


def test_a_link_is_replaced_and_what_it_led_to_stays(tmp_path):
    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.write_text("mine")
    link.symlink_to(precious)
    write_text(link, "new")
    assert (precious.read_text(), link.read_text(), link.is_symlink()) == ("mine", "new", False)
    with pytest.raises(InvalidInput, match="it is a folder"):
        write_text(tmp_path, "x")


def test_deep_files_are_refused(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 50_000 + "]" * 50_000)
    with pytest.raises(InvalidInput, match="nested too deeply"):
        read_json(path)
