"""The explicit list of suites."""

from dataclasses import astuple

from suites.base import Histograms, Suite
from suites.command.suite import UserCommand
from suites.compute import Compute
from suites.cp import Cp
from suites.curl import Curl
from suites.dd.suite import Dd
from suites.errors import UnknownSuiteError
from suites.fio.suite import Fio
from suites.fio_job.suite import FioJob
from suites.fio_sweep.suite import FioSweep
from suites.geekbench import Geekbench
from suites.http import Http
from suites.ioping import Ioping
from suites.iperf3.suite import Iperf3
from suites.linpack.suite import Linpack
from suites.memory_blocks import MemoryBlocks
from suites.mtr import Mtr
from suites.net_blocks.suite import NetBlocks
from suites.oltp.suite import SysbenchOltp
from suites.outputs import OutputFormat
from suites.pg_test_fsync import PgTestFsync
from suites.pgbench.suite import Pgbench
from suites.ping import LatencyUnderLoad
from suites.programs import TASKSET, Program
from suites.read_only.csv_table import CsvTable
from suites.read_only.cyclictest import Cyclictest
from suites.read_only.diskmark import DiskMark
from suites.read_only.elbencho import Elbencho
from suites.read_only.flent import Flent
from suites.read_only.go_bench import GoBenchmark
from suites.read_only.hackbench import Hackbench
from suites.read_only.hyperfine import Hyperfine
from suites.read_only.openssl import Openssl
from suites.read_only.phoronix import Phoronix
from suites.read_only.ping_text import Ping
from suites.read_only.pyperf import Pyperf
from suites.read_only.seven_zip import SevenZip
from suites.redis import Redis
from suites.rrul import Rrul
from suites.slo.fio import FioSlo
from suites.slo.http import HttpSlo
from suites.slo.pgbench import PgbenchSlo
from suites.snia.suite import FioSnia
from suites.sockperf import Sockperf
from suites.speccpu import SpecCpu
from suites.sqlite import Sqlite
from suites.stream.suite import Stream
from suites.stress_ng import StressNg
from suites.sysbench.cpu import SysbenchCpu
from suites.sysbench.fileio import SysbenchFileio
from suites.sysbench.memory import SysbenchMemory
from suites.sysbench.mutex import SysbenchMutex
from suites.sysbench.threads import SysbenchThreads
from suites.udp_rate import UdpRate
from suites.unixbench import UnixBench
from suites.vocab import Resource
from suites.yabs import yabs_formats

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
    FioSlo(),
    FioJob(),
    SysbenchFileio(),
    Dd(),
    Cp(),
    Ioping(),
    PgTestFsync(),
    Iperf3(),
    UdpRate(),
    NetBlocks(),
    Sockperf(),
    LatencyUnderLoad(),
    Rrul(),
    Mtr(),
    Curl(),
    SysbenchOltp(),
    Pgbench(),
    PgbenchSlo(),
    Redis(),
    Http(),
    HttpSlo(),
    Sqlite(),
    UserCommand(),
)

READ_ONLY: tuple[Suite, ...] = (
    Flent(),
    Pyperf(),
    GoBenchmark(),
    Phoronix(),
    Elbencho(),
    DiskMark(),
    Hyperfine(),
    Ping(),
    Cyclictest(),
    Hackbench(),
    SevenZip(),
    Openssl(),
    CsvTable(),
)
"""Suites of tools that are never run: their outputs are read and judged."""


def readable() -> tuple[Suite, ...]:
    """Return every suite whose tool's outputs may be read, those that are never run last."""
    return (*SUITES, *READ_ONLY)


def output_formats() -> dict[OutputFormat, str]:
    """Return every format of an output, and its tool: of the suites, and of the scripts that run several of these."""
    found = {each: suite.tool for suite in readable() for each in suite.output_formats}
    return found | dict.fromkeys(yabs_formats(), "yabs.sh")


def programs() -> tuple[Program, ...]:
    """Return every program that a suite declares, and TASKSET, each once: those to search for on a host."""
    declared = (*(program for each in SUITES for program in (each.program, *each.other_programs)), TASKSET)
    return tuple(dict.fromkeys(program for program in declared if not program.bundled))


def help_table(resource: Resource) -> str:
    """Return the test status of the suites of `resource` as a Markdown table."""
    rows = [f"| {each.id} | {' | '.join(astuple(each.tried))} |" for each in SUITES if each.resource is resource]
    return "\n".join(("| suite | tool and versions tried | live | note |", "|---|---|---|---|", *rows))


def help_page(suite_id: str) -> str:
    """Return the help of a suite as Markdown, with a heading for each parameter; raise UnknownSuiteError."""
    chosen = suite(suite_id)
    about = (
        f"### {each.title}\n\n{f'`{each.option}`. ' if each.option else ''}{each.help} "
        f"Default: {each.format(each.default) or 'empty'}{f' ({each.bounds()})' if each.bounds() else ''}."
        for each in chosen.parameters
    )
    return "\n\n".join((f"# {chosen.title}", chosen.summary, "[Supported tools](suites.md)", *about))


def suite(suite_id: str) -> Suite:
    """Return the suite `suite_id`; raise UnknownSuiteError if there is none."""
    for candidate in readable():
        if candidate.id == suite_id:
            return candidate
    known = ", ".join(candidate.id for candidate in SUITES)
    raise UnknownSuiteError(f"Unknown suite “{suite_id[:60]}”.", f"Known suites: {known}.")


def histograms_of(suite_id: str) -> Histograms | None:
    """Return the histogram readers of a suite; None if its tool has none or the suite is unknown."""
    return next((candidate.histograms for candidate in SUITES if candidate.id == suite_id), None)
