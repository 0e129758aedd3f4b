"""The explicit list of suites."""

from suites.base import Suite
from suites.command.suite import OwnCommand
from suites.compute.suite import Compute
from suites.cp.suite import Cp
from suites.dd.suite import Dd
from suites.errors import UnknownSuiteError
from suites.fio.suite import Fio
from suites.fio_job.suite import FioJob
from suites.fio_sweep.suite import FioSweep
from suites.geekbench.suite import Geekbench
from suites.ioping.suite import Ioping
from suites.iperf3.suite import Iperf3
from suites.linpack.suite import Linpack
from suites.memory_blocks.suite import MemoryBlocks
from suites.net_blocks.suite import NetBlocks
from suites.oltp.suite import SysbenchOltp
from suites.pgbench.suite import Pgbench
from suites.ping.suite import LatencyUnderLoad
from suites.snia.suite import FioSnia
from suites.speccpu.suite import SpecCpu
from suites.stream.suite import Stream
from suites.stress_ng.suite import StressNg
from suites.sysbench.cpu import SysbenchCpu
from suites.sysbench.fileio import SysbenchFileio
from suites.sysbench.memory import SysbenchMemory
from suites.sysbench.mutex import SysbenchMutex
from suites.sysbench.threads import SysbenchThreads
from suites.unixbench.suite import UnixBench

SUITES: tuple[Suite, ...] = (
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


def suite(suite_id: str) -> Suite:
    """Return the suite `suite_id`; raise UnknownSuiteError where there is none."""
    for candidate in SUITES:
        if candidate.id == suite_id:
            return candidate
    known = ", ".join(candidate.id for candidate in SUITES)
    raise UnknownSuiteError(f"There is no suite “{suite_id[:60]}”.", f"There are {known}.")
