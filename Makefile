# Every target makes or renews its own .venv first (tools/bootstrap); a second call installs nothing.
#   PYTHON=/path/to/python3   the interpreter for .venv (CPython 3.11 to 3.13)
#   PIP_ARGS="..."            more arguments for every `pip install`
#   PYTEST_ARGS="..."         more arguments for pytest
#   MUTANTS_ARGS="..."        arguments for the mutation run, see `--help`
#   BENCH_ARGS="-k networks"  the benchmarks to run; all by default
#   LOWER_ARGS="tests -n 2"   arguments of pytest for `make lower-bounds`; a subset by default
.POSIX:
.PHONY: help demo test mutants lint format types docs papers wheel bench coverage lower-bounds hooks clean

PY = .venv/bin/python
PYTEST_ARGS =
BENCH_ARGS =
LOWER_ARGS =
MUTANTS_ARGS = --sample 300 --seed 1
export PYTHON PIP_ARGS

help:
	@echo "make demo          train, quantize, export, check, compile, simulate and count four networks; report in runs/demo"
	@echo "make test          run the tests"
	@echo "make mutants       change 300 places of the sources, one at a time; tests must notice each"
	@echo "make lint          ruff (lint and format), codespell and the import contracts"
	@echo "make format        let ruff format the sources"
	@echo "make types         mypy"
	@echo "make docs          build the documentation in docs/_build"
	@echo "make papers        print the tables of four papers beside ours and write docs/papers.md"
	@echo "make wheel         build the wheel, install it in a fresh environment and import it there"
	@echo "make bench         time mfsim beside its peers; results in benchmarks/results.json and docs/performance.md"
	@echo "make coverage      run the tests and say which lines and branches they miss; pages in build/coverage"
	@echo "make lower-bounds  run tests with the oldest releases that pyproject.toml admits, in .venv.lower"
	@echo "make hooks         let git run the checks of .pre-commit-config.yaml before each commit"
	@echo "make clean         remove what was built, but not .venv"

demo:
	@tools/bootstrap
	$(PY) -m mfsim demo --out runs/demo

test:
	@tools/bootstrap
	$(PY) -m pytest -n 2 --dist worksteal $(PYTEST_ARGS)

mutants:
	@tools/bootstrap
	$(PY) -m tools.mutants $(MUTANTS_ARGS)

lint:
	@tools/bootstrap dev
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m codespell_lib
	$(PY) tools/assemble.py
	cd build/tree && ../../.venv/bin/lint-imports --config ../../pyproject.toml

format:
	@tools/bootstrap dev
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

types:
	@tools/bootstrap dev
	$(PY) tools/assemble.py
	cd build/tree && ../../$(PY) -m mypy --config-file ../../pyproject.toml

docs:
	@tools/bootstrap dev
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build

papers:
	@tools/bootstrap
	$(PY) -m examples.papers --page docs/papers.md

wheel:
	@tools/bootstrap dev
	$(PY) tools/check_wheel.py

bench:
	@tools/bootstrap bench
	$(PY) -m benchmarks $(BENCH_ARGS)

coverage:
	@tools/bootstrap dev
	$(PY) -m pytest -n 2 --dist worksteal --cov --cov-report=term --cov-report=html $(PYTEST_ARGS)

lower-bounds:
	@tools/bootstrap
	$(PY) tools/lower_bounds.py $(LOWER_ARGS)

hooks:
	@tools/bootstrap dev
	.venv/bin/pre-commit install

clean:
	rm -rf build dist .coverage .coverage.* docs/_build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
