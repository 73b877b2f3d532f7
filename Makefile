# Everything lives in .venv of this checkout. `make PYTHON3=python3.12 test` chooses the Python to make it with,
# `make PYTEST_ARGS='-k sigkill' test` hands arguments to pytest, `make ZOO_ARGS='--only memory' zoo` to the zoo,
# `make BENCH_ARGS='start --no-peers' bench` to the benchmarks.

PYTHON3 ?= python3
PYTHON := .venv/bin/python
INSTALLED := .venv/.installed
READY := .venv/.ready
PAGE_SOURCES := $(shell find ui -type f -not -path '*/node_modules/*')
SOURCES := pyproject.toml scripts/setup hatch_build.py build_page.py src/holter/native/signal_witness.c $(PAGE_SOURCES)
QUICK_TESTS := $(wildcard tests/unit tests/contract tests/architecture)

# With -j each job prints in one piece; make before 4.0 cannot.
ifneq ($(filter output-sync,$(.FEATURES)),)
MAKEFLAGS += --output-sync=target
endif

# Compiled once, not by each process of each test.
export PYTHONDONTWRITEBYTECODE :=
# Tests of one file stay together, since they may share something costly, and the order is that of tests/conftest.py.
# Most of them wait for processes of theirs, and even the quick ones for a disk: several for each core keep it busy.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
IN_PARALLEL := --dist loadfile --no-loadscope-reorder -n

.PHONY: help demo test check bench bench-server bench-page bench-test zoo format lint types quick-tests every-test system-packages

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

demo: $(INSTALLED) ## record real runs, kill one of them, show what is left
	@$(PYTHON) scripts/demo

test: lint every-test ## run every test, and the checks

check: lint quick-tests ## format, lint, types, import contracts, unit, contract and architecture tests

bench: $(READY) ## measure the figures that the README quotes
	@$(PYTHON) benchmarks/run.py $(BENCH_ARGS)

bench-server: $(READY) ## measure what the server's index costs, beside MLflow, Aim and trackio
	@$(PYTHON) benchmarks/server_run.py $(BENCH_ARGS)

bench-page: $(READY) system-packages ## measure the web page in Chromium, beside MLflow's and trackio's
	@$(PYTHON) benchmarks/page_run.py $(BENCH_ARGS)

bench-test: $(READY) system-packages ## a quick pass of every benchmark, to see that all of them work
	@$(PYTHON) -m pytest tests/benchmarks $(PYTEST_ARGS)

zoo: $(READY) system-packages ## provoke every fault in every mode, say how good the verdicts are, write docs/zoo.md
	@$(PYTHON) -m tests.zoo --write $(ZOO_ARGS)

format: $(READY) ## bring the code into the house format
	@$(PYTHON) -m ruff format
	@$(PYTHON) -m ruff check --fix

lint: $(READY)
	@$(PYTHON) -m ruff format --check
	@$(PYTHON) -m ruff check

types: $(READY)
	@$(PYTHON) -m mypy

quick-tests: $(READY)
	@$(PYTHON) -m pytest $(IN_PARALLEL) $(shell expr $(CORES) + 1) $(QUICK_TESTS) $(PYTEST_ARGS)

every-test: $(READY) system-packages
	@$(PYTHON) -m pytest $(IN_PARALLEL) $(shell expr 3 \* $(CORES)) --ignore tests/benchmarks $(PYTEST_ARGS)

system-packages:
	@scripts/system-packages

# Whoever wants to see the product waits for what it needs, not for what its tests need.
$(INSTALLED): $(SOURCES)
	@scripts/setup $(PYTHON3)
	@touch $@

$(READY): $(SOURCES)
	@scripts/setup $(PYTHON3) dev
	@touch $(INSTALLED) $@
