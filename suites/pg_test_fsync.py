"""pg_test_fsync: PostgreSQL's own test of how fast each method flushes its log to stable storage."""

import re
from dataclasses import dataclass, field, replace

from suites import disk
from suites.base import Command, Context, Estimate, StepCheck, StepEvidence, Suite, TestedTool, Workload
from suites.checks import Check, CheckOutcome
from suites.command_line import CommandSyntax
from suites.equivalents import Traits
from suites.facts import Facts, known
from suites.line_parser import LineParser
from suites.output_reading import StatedLine, by_parser
from suites.outputs import OutputFormat, ParsedTrial
from suites.parameters import Tuned, Values, count_parameter
from suites.programs import POSTGRESQL_SERVER, Program
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, labels

FDATASYNC = Metric("fdatasync_rate", "fdatasync per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
FDATASYNC_TIME = Metric("fdatasync_time", "Time of a fdatasync", Unit.MICROSECOND, Better.LOWER, MetricKind.TIME)
RATE = Metric("sync_rate", "Operations per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
TIME = Metric("sync_time", "Time of an operation", Unit.MICROSECOND, Better.LOWER, MetricKind.TIME)
METRICS = (FDATASYNC, FDATASYNC_TIME, RATE, TIME)

FILE_SIZE = 16 * disk.MIB
"""Bytes of the file, which is written and flushed before the tests (pg_test_fsync.c, DEFAULT_XLOG_SEG_SIZE)."""

TESTS = 16
"""Methods that run on Linux, each for the time set; fsync_writethrough does not exist there (n/a)."""

_SECTIONS = (
    (re.compile(r"Compare file sync methods using one \d{1,4}kB write:"), "one write"),
    (re.compile(r"Compare file sync methods using two \d{1,4}kB writes:"), "two writes"),
    (re.compile(r"Compare open_sync with different write sizes:"), "write sizes"),
    (re.compile(r"Test if fsync on non-write file descriptor is honored:"), "other descriptor"),
    (re.compile(r"Non-sync'ed \d{1,4}kB writes:"), "not flushed"),
)
_RESULT = re.compile(r"(\S.{0,60}?)\s{2,}(\d{1,12}\.\d{3}) ops/sec\s{1,20}(\d{1,15}) usecs/op")
_FAILURE = re.compile(
    r"pg_test_fsync: .+|(?:could not|write failed|fsync failed|seek failed)\b.*|.*: (?:command )?not found"
)


@dataclass(slots=True)
class PgTestFsyncParser(LineParser):
    """Parser of one run. A method that the file system refuses (n/a) has no figure."""

    unfinished = (_FAILURE,)
    _section: str = ""
    _found: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    def _read(self, line: str) -> None:
        line = line.strip()
        if match := _RESULT.fullmatch(line):
            if self._section and len(self._found) < 2 * TESTS:
                self._found[self._section, " ".join(match[1].split())] = float(match[2]), float(match[3])
        elif _FAILURE.fullmatch(line):
            self._fail(line)
        else:
            self._section = next((name for title, name in _SECTIONS if title.match(line)), self._section)

    def _result(self, exit_status: int | None) -> ParsedTrial:
        notes = [f"pg_test_fsync failed: {words}" for words in self._failures]
        if not (("one write", "fdatasync") in self._found and ("not flushed", "write") in self._found) and not notes:
            notes.append("pg_test_fsync was cut off: not all methods were tested.")
        notes += exit_notes("pg_test_fsync", exit_status)
        figures = []
        if led := self._found.get(("one write", "fdatasync")):
            figures += [Figure(FDATASYNC, led[0]), Figure(FDATASYNC_TIME, led[1])]
        for (section, method), numbers in self._found.items():
            marks = labels(test=section, method=method)
            figures += [Figure(metric, number, marks) for metric, number in zip((RATE, TIME), numbers, strict=True)]
        return ParsedTrial(tuple(one for one in figures if one.value > 0), (), tuple(notes), not notes)


SECONDS = count_parameter(
    name="seconds",
    title="secs-per-test",
    default=5,
    help=f"Time of each of the {TESTS} tests.",
    option="-s",
    unit="s",
    maximum=3600,
)


def _short(evidence: StepEvidence) -> CheckOutcome | None:
    seconds = int(evidence.values["seconds"])
    return CheckOutcome(f"{seconds} s per test.", changes={"seconds": 5}) if seconds < 2 else None


CHECKS: tuple[StepCheck, ...] = (
    Check(
        id="pg-test-fsync-short",
        title="Tests too short",
        why="On a slow volume one second holds few flushes, and one stall decides the figure.",
        remedy="Use the tool's 5 s.",
        source="PostgreSQL documentation, pg_test_fsync.",
        needs="secs-per-test.",
        evaluate=_short,
    ),
)

PG_TEST_FSYNC = Program(
    "pg_test_fsync",
    ("pg_test_fsync",),
    {**POSTGRESQL_SERVER.packages, "dnf": "postgresql-contrib", "zypper": "postgresql-server postgresql-contrib"},
    search=POSTGRESQL_SERVER.search,
    sign="pg_test_fsync",
)


class PgTestFsync(Suite):
    """PostgreSQL's test of wal_sync_method: one process, each write followed by its flush."""

    id = "pg-test-fsync"
    title = "pg_test_fsync"
    summary = "Flushes per second of each method that PostgreSQL can use for its log."
    resource = Resource.DISK
    tried = TestedTool("pg_test_fsync 15.18 run for real", "no", "a method refused by the file system has no figure")
    program = PG_TEST_FSYNC
    parameters = (SECONDS, replace(disk.DIRECTORY))
    syntax = CommandSyntax(("pg_test_fsync",))
    metrics = METRICS
    parser_type = PgTestFsyncParser
    directory_parameter = "directory"
    usual_cov = 0.10
    checks = CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of pg_test_fsync's output."""
        stated = (StatedLine("seconds", re.compile(r"(\d{1,6}) seconds? per test$")),)
        sections = "|".join(pattern.pattern for pattern, _name in _SECTIONS)
        line = re.compile(rf"{sections}|{_RESULT.pattern}")
        first = re.compile(r"\d{1,6} seconds? per test$")
        broken = re.compile(r"\S[^\n]{0,99} ops/sec\n\d{1,15} usecs/op")
        read = by_parser(self, stated)
        return (OutputFormat(title="pg_test_fsync", first=first, line=line, broken=broken, read=read),)

    def workload(self, values: Values) -> Workload:
        """Return that each operation waits for the disk."""
        return Workload(commits=True, queue_depth=1)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the directory with the most free space; 5 s per test are the tool's own."""
        directory = disk.best_directory(context.facts)
        return {} if directory is None else {
            "directory": Tuned(directory.path, "Most free space of the directories tried.")
        }  # fmt: skip

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command, by its path: Debian's is on no PATH. The tool removes its file at the end."""
        found = None if context.facts is None else known(context.facts.tool("pg_test_fsync").path)
        return (Command((found or "pg_test_fsync", "-f", "pg_test_fsync.out", "-s", str(values["seconds"]))),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of the tests; how much they write depends on the disk."""
        return Estimate(duration=float(TESTS * int(values["seconds"])), written=FILE_SIZE, space=FILE_SIZE)

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        return Traits(flushed=True, in_flight=1, threads=1, working_set=FILE_SIZE)
