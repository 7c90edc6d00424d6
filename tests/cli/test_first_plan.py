"""The first minute: what a first plan on a machine compiles."""

import json
import os
import subprocess
import sys

import pytest

from banditree.files.clinic import clinic_table

MOST_LOOPS = 50
COUNTING = """
import collections, json, sys
from numba.core import event
from banditree.cli import main
compiled = collections.Counter()
class Listens(event.Listener):
    def on_start(self, _): pass
    def on_end(self, seen):
        loop = seen.data["dispatcher"].py_func
        compiled[f"{loop.__module__}.{loop.__qualname__}"] += 1
event.register("numba:compile", Listens())
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(compiled), file=sys.stderr)
"""


@pytest.mark.soak
def test_a_first_plan_compiles_few_loops_and_each_of_them_once(tmp_path):
    """A loop for several kinds of arguments, or a literal in place of a number, would be compiled several times."""
    (tmp_path / "rates.csv").write_text(clinic_table())
    plan = ["plan", str(tmp_path / "rates.csv"), "--horizon", "1000", "--lines", "5", "--steps", "200"]
    empty = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, *plan], env=empty, capture_output=True, text=True, check=True
    )
    compiled = {
        loop: n for loop, n in json.loads(done.stderr.splitlines()[-1]).items() if loop.startswith("banditree.")
    }
    assert len(compiled) <= MOST_LOOPS
    assert {loop for loop, n in compiled.items() if n > 1} == set()
