# Two commands do everything on a fresh Debian or Ubuntu: make run, make test.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
# Python compiles a module when it is first imported: most of what is installed never is.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --no-compile

.PHONY: help run test test-slow lint format bench shots fresh setup setup-dev setup-test clean

help:
	@echo "make run        open Benchwright (without a display: benchmark this computer, write the report)"
	@echo "make test       run the tests"
	@echo "make test-slow  run the long and calibrating tests too"
	@echo "make lint       check style, types and layers"
	@echo "make bench      measure Benchwright itself"
	@echo "make probes     compile the probes that are copied to hosts, for x86-64 and aarch64"
	@echo "make shots      take pictures of every window into shots/"
	@echo "make fresh      prove make run on fresh roots of Debian and Ubuntu (as root, with debootstrap)"
	@echo "make setup      install what make run needs: .venv, and what the system lacks"

run: setup
	@$(BIN)/benchwright

# What measures has the computer to itself; the rest shares the processors, two more at a time than there are of them:
# much of the lab waits, but each process collects all tests. The first round compiles them, for those of the second to
# read. Files keep the order of tests/conftest.py, in which those that take longest come first: the last ones end
# together.
SHARED := -n $$(($$(nproc) + 2)) --dist loadfile --no-loadscope-reorder

# A test that runs real tools may fail because others share its processors: what failed runs once more, by itself, and
# must pass then. Its first failure stays in the output. Any other end of pytest (an error of collection, a crash) counts.
AGAIN := { [ $$? -eq 1 ] && echo "Once more, alone: what failed" && $(BIN)/pytest --last-failed --last-failed-no-failures none

test: setup-test
	$(BIN)/pytest -m "alone and not slow" || $(AGAIN) -m "alone and not slow"; }
	$(BIN)/pytest -m "not slow and not alone" $(SHARED) || $(AGAIN) -m "not slow and not alone"; }

test-slow: export BENCHWRIGHT_EXPLORE = 1
test-slow: setup-test
	$(BIN)/pytest -m "alone"
	$(BIN)/pytest -m "not alone" $(SHARED)

lint: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# `make bench first-window` measures that alone: the words behind `bench` are its arguments, not targets.
bench: setup-test
	@.make/system bench
	$(BIN)/python -m tests.perf $(filter-out bench,$(MAKECMDGOALS))

ifeq (bench,$(firstword $(MAKECMDGOALS)))
$(filter-out bench,$(MAKECMDGOALS)): bench
	@:
endif

shots: setup-test
	$(BIN)/python -m tests.shots shots

fresh:
	@.make/fresh $(ROOTS)

setup: $(READY)
	@.make/system run

setup-dev: setup $(READY_DEV)

setup-test: setup-dev
	@.make/system test
	@.make/benchstat

# The lock files pin every package by its hash; the program itself is installed in place.
$(READY): requirements.lock .make/pip.lock pyproject.toml
	@.make/system run
	@.make/venv
	@.make/step "Updating pip in $(VENV)" $(PIP) --require-hashes -r .make/pip.lock
	@.make/step "Installing the locked Python packages" $(PIP) --require-hashes -r requirements.lock
	@.make/step "Installing Benchwright in place" $(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(READY_DEV): .make/dev.lock $(READY)
	@.make/step "Installing the tools of development" $(PIP) --require-hashes -r .make/dev.lock
	@touch $@

# The lock files are made anew only by hand, with uv: make lock
.PHONY: lock
LOCK := uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
  --no-emit-find-links
lock:
	$(LOCK) --group pyproject.toml:build --extra window pyproject.toml -o requirements.lock
	$(LOCK) --group pyproject.toml:dev -c requirements.lock -o .make/dev.lock
	$(LOCK) --group pyproject.toml:pip -o .make/pip.lock

# The probes that Benchwright ships, compiled anew: the same bytes as those in the tree, unless a source was changed.
.PHONY: probes
probes: setup
	@.make/probes

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache shots
