"""A short probe for the tests of runs: a host is asked for the programs of a few suites alone, and not for twenty."""

import pytest

from suites import registry
from suites.programs import Program

NOT_ASKED_FOR = {
    "cc", "cp", "gcc", "geekbench", "hpcc", "ioping", "make", "mariadbd", "mpirun", "nginx", "perl", "pgbench",
    "postgres", "python3", "redis-benchmark", "redis-server", "speccpu", "sqlite3", "stress-ng", "unixbench", "wrk",
}  # fmt: skip


@pytest.fixture
def few_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look on hosts for what sysbench, fio, dd, iperf3 and a test's own suites run: a run starts each four times."""
    every = registry.programs

    def few() -> tuple[Program, ...]:
        return tuple(program for program in every() if not NOT_ASKED_FOR.intersection(program.names))

    monkeypatch.setattr(registry, "programs", few)
