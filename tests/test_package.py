"""The package as a user gets it: light to import, complete in a wheel, and as the README says."""

import ast
import doctest
import os
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

import banditree

ROOT = Path(__file__).parents[1]
HEAVY = (
    "numba",
    "scipy",
    "ibis",
    "duckdb",
    "matplotlib",
    "fastapi",
    "pandas",
    "polars",
    "pyarrow",
    "ortools",
    "dask",
    "joblib",
)
SLOW_PAGES = ("README.md", "docs/simulation.md", "docs/start/researchers.md")


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", ["import banditree", "from banditree.cli import main; main(['--help'])"])
def test_heavy_libraries_are_not_imported_before_they_are_needed(code):
    check = f"import sys\ntry:\n    {code}\nexcept SystemExit: pass\nprint([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_certificate_needs_neither_policies_nor_simulations(tmp_path):
    two = banditree.Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    banditree.save_plan(banditree.build_tree(two, 500), tmp_path / "plan.json")
    (tmp_path / "rates.csv").write_text("task,arm 1,arm 2\ntask 1,.7,.2\ntask 2,.3,.6\n")
    files = [str(tmp_path / name) for name in ("plan.json", "rates.csv")]
    command = f"from banditree.cli import main; main(['certify', *{files}])"
    rooms = "[m for m in sys.modules if m.startswith(('banditree.policies', 'banditree.simulation.engine'))]"
    check = f"import sys\ntry:\n    {command}\nexcept SystemExit: pass\nprint({rooms})"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert "No algorithm, however clever" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_public_names_exist_and_type_checkers_see_them():
    stub = ast.parse((ROOT / "src/banditree/__init__.pyi").read_text())
    seen = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen - {"__version__"} == set(banditree.__all__) == set(dir(banditree))
    for name in banditree.__all__:
        assert getattr(banditree, name) is not None
    with pytest.raises(AttributeError, match="banditree has no 'nonsense'"):
        banditree.nonsense  # noqa: B018


@pytest.mark.parametrize("folder", ["benchmarks", "docs", "examples"])
def test_scripts_import_names_that_exist(folder):
    """No other test runs most of them, and a name that moves would break them unseen."""
    for path in sorted((ROOT / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("banditree"):
                names = ", ".join(alias.name for alias in node.names)
                exec(f"from {node.module} import {names}")


def pages_to_run():
    """Those with Python and without commands: `test_docs.py` runs the others, Python and commands in their order."""
    for page in ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]:
        if python_blocks(page) and "\n```bash\n" not in (ROOT / page).read_text():
            yield pytest.param(page, marks=pytest.mark.slow if page in SLOW_PAGES else ())


@pytest.mark.parametrize("page", list(pages_to_run()))
def test_code_on_the_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in python_blocks(page):
        if block.startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
            assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example).failed == 0
        else:
            exec(compile(block, page, "exec"), names)


def interpreter(version, clean):
    """A Python of this version without anything installed, or a skip."""
    asked = ["import sys; print(sys.executable)"]
    places = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    for name in [f"python{version}", *places]:
        with suppress(OSError, subprocess.CalledProcessError):
            return subprocess.run(
                [name, "-c", *asked], env=clean, capture_output=True, text=True, check=True
            ).stdout.strip()
    return pytest.skip(f"Python {version} is not here")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "kind"),
    [
        (None, "wheel"),
        *(pytest.param(one, "wheel", marks=pytest.mark.soak) for one in ("3.11", "3.12", "3.13")),
        pytest.param(None, "sdist", marks=pytest.mark.soak),
    ],
)
def test_what_make_dist_builds_runs_the_first_example(version, kind, tmp_path):
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PIP_CONSTRAINT")}
    built = [sys.executable, "-m", "hatchling", "build", "-d", tmp_path, "-t", kind]
    subprocess.run(built, check=True, cwd=ROOT, env=clean, capture_output=True)
    archive = next(tmp_path.glob("banditree-*"))
    bare = sys.executable if version is None else interpreter(version, clean)
    subprocess.run([bare, "-m", "venv", tmp_path / "clean"], check=True, env=clean)
    python = tmp_path / "clean" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]  # all of scipy
    subprocess.run([*install, "-c", ROOT / "constraints.txt", archive], check=True, env=clean)
    (tmp_path / "first.py").write_text(python_blocks("README.md")[0])
    done = subprocess.run([python, "first.py"], cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "\n1. Give" in done.stdout
    demo = [python, "-m", "banditree", "demo", "--folder", tmp_path / "demo"]
    subprocess.run(demo, cwd=tmp_path, env=clean, check=True, capture_output=True)


def test_the_citation_names_this_version():
    from banditree.version import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = yaml.safe_load((ROOT / "deploy" / "conda" / "recipe.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [f"python {project['requires-python']}", *project["dependencies"]]
    assert [one.replace(" ", "") for one in recipe["requirements"]["run"]] == [one.replace(" ", "") for one in asked]
    assert recipe["context"]["version"] == banditree.__version__
    assert recipe["build"]["python"]["entry_points"] == [f"banditree = {project['scripts']['banditree']}"]
    assert recipe["about"]["summary"] == project["description"]
