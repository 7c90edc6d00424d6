"""The published JSON Schemas of the files: `python -m banditree.files.schemas docs/schemas` writes them."""

import json
import sys
from pathlib import Path
from typing import Any

from banditree.files.collections import CollectionFile
from banditree.files.documents import Document
from banditree.files.machines import MachineFile
from banditree.files.plans import PlanFile
from banditree.files.proofs import ProofFile
from banditree.files.results import ResultsFile
from banditree.files.sessions import CaseFile
from banditree.files.states import StatesFile
from banditree.files.statistics import StatisticsFile

DOCUMENTS: dict[str, type[Document]] = {
    "collection": CollectionFile,
    "states": StatesFile,
    "plan": PlanFile,
    "machine": MachineFile,
    "case": CaseFile,
    "results": ResultsFile,
    "statistics": StatisticsFile,
    "proof": ProofFile,
}


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind of file: collection, states, plan, machine, case, results, statistics or proof."""
    return DOCUMENTS[kind].model_json_schema(by_alias=True)


def schema_text(kind: str) -> str:
    """The JSON Schema of one kind of file, as it is published."""
    return json.dumps(json_schema(kind), indent=2) + "\n"


if __name__ == "__main__":
    for kind in DOCUMENTS:
        Path(sys.argv[1], f"{kind}.schema.json").write_text(schema_text(kind))
