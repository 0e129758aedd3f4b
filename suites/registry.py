"""The explicit list of suites."""

from suites.base import Suite
from suites.errors import UnknownSuiteError


def _all() -> tuple[Suite, ...]:
    from suites.command import OwnCommand
    from suites.compute import Compute
    from suites.cp import Cp
    from suites.dd import Dd
    from suites.fio import Fio
    from suites.fio_job import FioJob
    from suites.fio_sweep import FioSweep
    from suites.geekbench import Geekbench
    from suites.ioping import Ioping
    from suites.iperf3 import Iperf3
    from suites.linpack import Linpack
    from suites.memory_blocks import MemoryBlocks
    from suites.net_blocks import NetBlocks
    from suites.oltp import SysbenchOltp
    from suites.pgbench import Pgbench
    from suites.ping import LatencyUnderLoad
    from suites.snia import FioSnia
    from suites.speccpu import SpecCpu
    from suites.stream import Stream
    from suites.stress_ng import StressNg
    from suites.sysbench_cpu import SysbenchCpu
    from suites.sysbench_fileio import SysbenchFileio
    from suites.sysbench_memory import SysbenchMemory
    from suites.sysbench_mutex import SysbenchMutex
    from suites.sysbench_threads import SysbenchThreads
    from suites.unixbench import UnixBench

    return (
        SysbenchCpu(),
        SysbenchThreads(),
        SysbenchMutex(),
        Compute(),
        Linpack(),
        UnixBench(),
        Geekbench(),
        SpecCpu(),
        SysbenchMemory(),
        Stream(),
        MemoryBlocks(),
        StressNg(),
        Fio(),
        FioSweep(),
        FioSnia(),
        FioJob(),
        SysbenchFileio(),
        Dd(),
        Cp(),
        Ioping(),
        Iperf3(),
        NetBlocks(),
        LatencyUnderLoad(),
        SysbenchOltp(),
        Pgbench(),
        OwnCommand(),
    )


SUITES: tuple[Suite, ...] = _all()


def suite(suite_id: str) -> Suite:
    """Return the suite `suite_id`; raise UnknownSuiteError where there is none."""
    for candidate in SUITES:
        if candidate.id == suite_id:
            return candidate
    known = ", ".join(candidate.id for candidate in SUITES)
    raise UnknownSuiteError(f"There is no suite “{suite_id[:60]}”.", f"There are {known}.")
