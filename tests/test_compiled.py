"""A machine on which nothing can be written beside the package or at home still compiles, and says what to do."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = """
import banditree, os, warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from banditree.certificates.lean import lean
@lean()
def nothing(x):
    return x
print(nothing(3), os.environ["NUMBA_CACHE_DIR"], *(str(one.message) for one in said), sep="|")
"""


def _run(tmp_path: Path, given: Path) -> list[str]:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(given), "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    return run.stdout.strip().split("|")


def test_without_a_place_compiled_code_goes_with_the_process(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    number, place, said = _run(tmp_path, file / "no folder")
    assert number == "3"
    assert not Path(place).exists()
    assert said.startswith("Compiled code cannot be kept")
    assert "NUMBA_CACHE_DIR" in said


def test_with_a_place_nothing_is_said(tmp_path: Path) -> None:
    assert _run(tmp_path, tmp_path / "new") == ["3", str(tmp_path / "new")]
    assert list((tmp_path / "new").rglob("*.nbi"))
