# Every target makes or renews its own .venv first (tools/bootstrap); a second call installs nothing.
#   PYTHON=/path/to/python3   the interpreter for .venv (CPython 3.11 to 3.13)
#   PIP_ARGS="..."            more arguments for every `pip install`
#   PYTEST_ARGS="..."         more arguments for pytest
#   MUTANTS_ARGS="..."        arguments for the mutation run, see `--help`
#   BENCH_ARGS="-k networks"  the benchmarks to run; all by default
.POSIX:
.PHONY: help demo test mutants lint format types docs wheel bench clean

PY = .venv/bin/python
PYTEST_ARGS =
BENCH_ARGS =
MUTANTS_ARGS = --sample 300 --seed 1
export PYTHON PIP_ARGS

help:
	@echo "make demo    train, quantize, export, check, compile, simulate and count four networks; report in runs/demo"
	@echo "make test    run the tests"
	@echo "make mutants change 300 places of the sources, one at a time; tests must notice each"
	@echo "make lint    ruff (lint and format), codespell and the import contracts"
	@echo "make format  let ruff format the sources"
	@echo "make types   mypy"
	@echo "make docs    build the documentation in docs/_build"
	@echo "make wheel   build the wheel, install it in a fresh environment and import it there"
	@echo "make bench   time mfsim beside its peers; results in benchmarks/results.json and docs/performance.md"
	@echo "make clean   remove what was built, but not .venv"

demo:
	@tools/bootstrap
	$(PY) -m mfsim demo --out runs/demo

test:
	@tools/bootstrap
	$(PY) -m pytest -n 2 $(PYTEST_ARGS)

mutants:
	@tools/bootstrap
	$(PY) -m tools.mutants $(MUTANTS_ARGS)

lint:
	@tools/bootstrap dev
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m codespell_lib
	.venv/bin/lint-imports

format:
	@tools/bootstrap dev
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

types:
	@tools/bootstrap dev
	$(PY) -m mypy

docs:
	@tools/bootstrap dev
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build

wheel:
	@tools/bootstrap dev
	$(PY) tools/check_wheel.py

bench:
	@tools/bootstrap bench
	$(PY) -m benchmarks $(BENCH_ARGS)

clean:
	rm -rf build dist docs/_build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
