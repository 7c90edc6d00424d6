"""The description says what every operation does, and the examples of the page run."""

import json
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()


def test_every_operation_says_what_it_does(service):
    document = service[1].get("/api/v1/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), (method, path)
            if path.startswith("/api"):
                assert operation["responses"]["4XX"]["content"]["application/json"]["schema"]["$ref"].endswith(
                    "Failure"
                )


def test_every_reference_of_the_description_leads_somewhere(service):
    text = service[1].get("/api/v1/openapi.json").text
    known = json.loads(text)["components"]["schemas"]
    named = set(re.findall(r'"\$ref":"([^"]+)"', text))
    assert {"#/components/schemas/NewPlan", "#/components/schemas/SignPlan"} & named
    assert {f"#/components/schemas/{name}" for name in known} >= named
    assert "$defs" not in text


def test_the_example_runs(service, capsys):
    code = re.search(r"^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
    exec(code.replace("http://127.0.0.1:8000", str(service[1].base_url)), {})
    assert "Not as planned: 1 round with another arm, not tallied." in capsys.readouterr().out


@pytest.mark.slow
def test_the_example_of_a_job_runs(service, capsys):
    code = re.findall(r"^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
    exec(code.replace("http://127.0.0.1:8000", str(service[1].base_url)), {})
    assert re.search(r"^0 lines lose [0-9.]+$", capsys.readouterr().out, re.MULTILINE)
