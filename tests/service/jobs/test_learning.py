"""Tomorrow's collection learns from today's cases."""

import io
import random

import numpy as np
import pytest
from running_service import CLINIC, client_of, clinic_plan

from banditree.cli import main
from banditree.files.collections import load_collection


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_learn_reads_the_decisions(service, tmp_path, monkeypatch, format):
    """30 simulated cases, half of either task, each with 10 rounds of the other arm so that all is tried."""
    client, rng = client_of(service[1]), random.Random(4)
    plan = client.add_plan(clinic_plan(60), "clinic", sign="tested")
    for number in range(30):
        case, means = f"{format}-{number}", CLINIC.means[number % 2]
        client.start(plan, case)
        for _ in range(2):
            tells = [_told(case, step.round, means, step.arm, rng) for step in client.ask(case, 20)]
            service[1].post("/api/v1/cases/tell", json={"tells": tells})
        for _ in range(10):
            step = client.override(case, "AB"[number % 2 == 0], "to learn of it")
            tells = [_told(case, step.round, means, step.arm, rng)]
            service[1].post("/api/v1/cases/tell", json={"tells": tells})
    path = tmp_path / f"decisions.{format}"
    path.write_bytes(client.export("decisions", format))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    arguments = ["learn", path, "--individual", "case", "--arm", "arm", "--reward", "reward", "--kinds", 2]
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in [*arguments, "-o", "tasks.json"]])
    assert not end.value.code
    learned = load_collection(tmp_path / "tasks.json")
    assert set(learned.arms) == {"A", "B"}
    order = np.argsort(learned.means[:, learned.arms.index("A")])[::-1]
    found = learned.means[order][:, [learned.arms.index("A"), learned.arms.index("B")]]
    assert np.abs(found - CLINIC.means).max() < 0.12  # three standard deviations of 150 rewards


def _told(case, number, means, arm, rng):
    return {"case": case, "round": number, "reward": int(rng.random() < means["AB".index(arm)])}
