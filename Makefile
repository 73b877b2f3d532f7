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
OF_SERVERS := $(wildcard $(addprefix tests/contract/test_,clickhouse.py leases.py papers.py postgres.py shared_sweeps.py))

# With -j each job prints in one piece; make before 4.0 cannot.
ifneq ($(filter output-sync,$(.FEATURES)),)
MAKEFLAGS += --output-sync=target
endif

# Compiled once, not by each process of each test.
export PYTHONDONTWRITEBYTECODE :=
# Tests of one file stay together, since they may share something costly, and the order is that of tests/conftest.py.
# Most of them wait for processes of theirs, and even the quick ones for a disk: several for each core keep it busy.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WORKERS ?= $(shell expr 3 \* $(CORES))
IN_PARALLEL := --dist loadfile --no-loadscope-reorder -n

.PHONY: help demo test check bench bench-server bench-engines bench-several bench-page bench-media bench-test test-scale gpu gpu-wheels frameworks zoo format lint types quick-tests every-test system-packages

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

bench-engines: $(READY) system-packages ## measure what charts and tables cost on PostgreSQL and ClickHouse, beside SQLite
	@$(PYTHON) -m benchmarks.engine_costs $(BENCH_ARGS)

bench-several: $(READY) system-packages ## measure three servers on one PostgreSQL: rows seen on another one, runs that another takes over
	@$(PYTHON) -m benchmarks.several_servers $(BENCH_ARGS)

bench-page: $(READY) system-packages ## measure the web page in Chromium, beside MLflow's and trackio's
	@$(PYTHON) benchmarks/page_run.py $(BENCH_ARGS)

bench-media: $(READY) ## measure what media cost a program, and whether they survive its death
	@$(PYTHON) benchmarks/media_run.py $(BENCH_ARGS)

bench-test: $(READY) system-packages ## a quick pass of every benchmark, to see that all of them work
	@$(PYTHON) -m pytest tests/benchmarks $(PYTEST_ARGS)

frameworks: ## train real frameworks for some steps and look at what was recorded; FRAMEWORKS=lightning takes one
	@[ -x .venv-frameworks/bin/python ] || $(PYTHON3) -m venv .venv-frameworks
	@.venv-frameworks/bin/python -m pip --disable-pip-version-check install -q --no-compile -r tests/frameworks/requirements.txt
	@HOLTER_SKIP_UI=1 .venv-frameworks/bin/python -m pip --disable-pip-version-check install -q --no-compile --editable .
	@HOLTER_FRAMEWORKS=1 .venv-frameworks/bin/python -m pytest -W default -p no:cacheprovider \
		--confcutdir tests/frameworks $(if $(FRAMEWORKS),tests/frameworks/test_$(FRAMEWORKS).py,tests/frameworks) $(PYTEST_ARGS)

test-scale: $(READY) ## a cluster of two old nodes of ClickHouse (Debian 12) and a current one, which are killed, and a storm over three servers
	@[ -x .venv-scale/bin/python ] || $(PYTHON3) -m venv .venv-scale
	@.venv-scale/bin/python -m pip --disable-pip-version-check install -q --no-compile 'chdb-core>=26.9'
	@scripts/system-packages clickhouse-server zookeeper
	@HOLTER_SCALE=1 $(PYTHON) -m pytest -n 2 --dist loadgroup -p no:cacheprovider -o timeout=1800 tests/scale $(PYTEST_ARGS)

gpu: ## on a machine with an NVIDIA GPU and torch: run what only a GPU can show; GPU=fragmentation takes one part
	@$(PYTHON3) tests/gpu/__main__.py $(GPU)

gpu-wheels: $(READY) ## lay what holter needs into .wheels, for a GPU machine without a network
	@for version in 3.11 3.12 3.13; do $(PYTHON) -m pip --disable-pip-version-check download -q --dest .wheels --only-binary :all: \
		--python-version $$version --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 \
		msgspec psutil nvidia-ml-py starlette uvicorn zstandard || exit; done

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

# What needs a server of its own is for `make test`.
quick-tests: $(READY)
	@$(PYTHON) -m pytest $(IN_PARALLEL) $(shell expr $(CORES) + 1) -k 'not postgres' $(addprefix --ignore ,$(OF_SERVERS)) $(QUICK_TESTS) $(PYTEST_ARGS)

every-test: $(READY) system-packages
	@$(PYTHON) -m pytest $(IN_PARALLEL) $(WORKERS) --ignore tests/benchmarks $(PYTEST_ARGS)

system-packages:
	@scripts/system-packages

# Whoever wants to see the product waits for what it needs, not for what its tests need.
$(INSTALLED): $(SOURCES)
	@scripts/setup $(PYTHON3)
	@touch $@

$(READY): $(SOURCES)
	@scripts/setup $(PYTHON3) dev
	@touch $(INSTALLED) $@
