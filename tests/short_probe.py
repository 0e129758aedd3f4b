"""A short probe for the tests of runs: a host is asked for the programs of a few suites alone, and not for twenty."""

import os

import pytest

from suites import registry
from suites.programs import Program

NOT_ASKED_FOR = {
    "cc", "cp", "gcc", "geekbench", "hpcc", "ioping", "make", "mariadbd", "mpirun", "nginx", "perl", "pgbench",
    "postgres", "python3", "redis-benchmark", "redis-server", "speccpu", "sqlite3", "stress-ng", "unixbench", "wrk",
}  # fmt: skip


FEW = "BENCHWRIGHT_TEST_FEW_PROGRAMS"
"""The variable that has the command line of a test ask for a few programs."""
_every = registry.programs


def few() -> tuple[Program, ...]:
    """Return the programs of the suites that tests run."""
    return tuple(program for program in _every() if not NOT_ASKED_FOR.intersection(program.names))


def shorten_probe() -> None:
    """Ask for a few programs in this process, if a test wants that."""
    if FEW in os.environ:
        registry.programs = few


@pytest.fixture
def few_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look on hosts for what sysbench, fio, dd, iperf3 and a test's own suites run: a run starts each four times."""
    monkeypatch.setattr(registry, "programs", few)
    monkeypatch.setenv(FEW, "1")
