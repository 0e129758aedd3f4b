# Two commands do everything on a fresh Debian or Ubuntu: make run, make test.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help run test test-slow lint format bench shots setup setup-test clean

help:
	@echo "make run        open Benchwright and benchmark this computer (without a display: write the report)"
	@echo "make test       run the tests"
	@echo "make test-slow  run the long and calibrating tests too"
	@echo "make lint       check style, types and layers"
	@echo "make bench      measure Benchwright itself"
	@echo "make probes     compile the probes that are copied to hosts, for x86-64 and aarch64"
	@echo "make shots      take pictures of every window into shots/"
	@echo "make setup      install what the others need: .venv, and what the system lacks"

run: setup
	@$(BIN)/benchwright

# What measures has the computer to itself; the rest shares the processors, one more at a time than there are of them:
# much of the lab waits.
test: setup-test
	$(BIN)/pytest -m "not slow and not alone" -n $$(($$(nproc) + 1)) --dist loadfile
	$(BIN)/pytest -m "alone and not slow"

test-slow: setup-test
	BENCHWRIGHT_EXPLORE=1 $(BIN)/pytest

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup-test
	$(BIN)/python -m tests.perf

shots: setup-test
	$(BIN)/python -m tests.shots shots

setup: $(READY)
	@.make/system run

setup-test: setup
	@.make/system test

# The lock file pins every package by its hash; the program itself is installed in place.
$(READY): requirements.lock pyproject.toml
	@.make/system run
	@test -x $(BIN)/python || "$$(.make/python)" -m venv $(VENV)
	@echo "Installing the locked Python packages into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The lock file is made anew only by hand, with uv: make lock
.PHONY: lock
lock:
	uv pip compile --universal --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
	  --group pyproject.toml:dev pyproject.toml -o requirements.lock

# The probes that Benchwright ships, compiled anew: the same bytes as those in the tree, unless a source was changed.
.PHONY: probes
probes: setup
	@.make/probes

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache shots
