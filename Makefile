# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
PY := .venv/bin/python
# Pins what pip installs, in the build environment too, so that every machine gets what was tested.
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start a hundred processes: each would read the sources anew where what was read may not be kept.
unexport PYTHONDONTWRITEBYTECODE
# Each of the two begins with one half of the tests, so that little is compiled, started or made twice.
TWO := -n 2 --dist worksteal
# Types are checked on one core: meanwhile the other compiles what most tests use, which both would do at the same time.
READY := $(MAKE) --no-print-directory --jobs=2 --output-sync lint warm

.PHONY: demo test check clients coverage soak attack bench bench-plans dist docs pages pins clean

demo: .venv/demo.done
	@$(PY) -m banditree demo --folder banditree-demo

# Lint, types, import rules, and every test but the soak counts.
test: .venv/test.done
	@$(READY)
	@$(PY) -m pytest -q $(TWO) -m "not soak"

# The fast path while working.
check: .venv/test.done
	@$(READY)
	@$(PY) -m pytest -q $(TWO) -m "not slow and not soak"

# Which lines and branches no test of `make test` goes through.
coverage: .venv/test.done
	@$(PY) -m pytest -q $(TWO) -m "not soak" --cov --cov-report=term:skip-covered

soak: .venv/test.done
	@$(PY) -m pytest -q -m "soak or slow"

# Ten minutes of attacks on a service of its own, on this computer only; docs/reference/threats.md says what they are.
attack: .venv/test.done
	@timeout 600 $(PY) benchmarks/attack.py --seconds 90

# Hours, most of them for monitoring; docs/reference/performance.md has smaller settings. A machine that is busy may miss a limit.
bench: .venv/bench.done
	@missed=""; for bench in benchmarks/bench_*.py; do echo "== $$bench"; $(PY) $$bench || missed="$$missed $$bench"; done; \
	[ -z "$$missed" ] || { echo "Ended with an error:$$missed"; exit 1; }

# The table of protocols against mTS, on draws that were not looked at in making the search; about an hour on one core.
bench-plans: .venv/bench.done
	@$(PY) benchmarks/bench_plans.py --draws 7000-7009 --large 7000-7004 --huge 7000

# What the examples print on their pages, and the pictures, after a change of what they show.
pages: .venv/test.done
	@$(PY) docs/make_pages.py
	@$(PY) docs/make_pictures.py

# The TypeScript and the Python client, from the description of the API; clients/generate.py says why they are not kept.
clients: .venv/test.done
	@$(PY) clients/generate.py

# The wheel and the source archive, in dist/.
dist: .venv/test.done
	@$(PY) -m hatchling build

# The documentation of this version, in site/VERSION, beside the versions that are in site/ already.
docs: .venv/test.done
	@$(PY) docs/make_site.py

.PHONY: lint warm
warm: .venv/test.done
	@$(PY) -m banditree demo --folder .venv/warm > .venv/warm.txt

lint: .venv/test.done
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m ruff format --check .
	@.venv/bin/python -m mypy
	@.venv/bin/python -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

.venv/demo.done: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "banditree needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11 " + "demo")'
	@test -x $(PY) || $(PYTHON) -m venv .venv || { echo 'Could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv'; exit 1; }
	$(PY) -m pip install --quiet --editable .
	@touch $@

.venv/test.done: .venv/demo.done
	$(PY) -m pip install --quiet --editable '.[dev]'
	@sh .ci/tools
	@touch $@

.venv/bench.done: .venv/demo.done
	$(PY) -m pip install --quiet --editable '.[bench]'
	@touch $@

# Exact versions of everything the extras bring, to be committed after `make test`.
pins:
	@rm -rf .venv-pins && $(PYTHON) -m venv .venv-pins
	PIP_CONSTRAINT= .venv-pins/bin/python -m pip install --quiet '.[dev,bench]'
	@.venv-pins/bin/python -m pip freeze --exclude banditree > constraints.txt
	@rm -rf .venv-pins

clean:
	rm -rf .venv banditree-demo site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
