"""pgbench-slo: the highest rate of transactions of PostgreSQL whose latency percentile stays within a limit."""

from collections.abc import Sequence
from dataclasses import replace

from suites.base import Command, Context, Purpose, TestedTool
from suites.host_files import HostFile
from suites.parameters import Values
from suites.pgbench.suite import Pgbench
from suites.slo.search import (
    DRIVER,
    NEAREST_RANK,
    RATE,
    READER,
    SECONDS,
    SETTLE,
    SLO_PARAMETERS,
    ServerSearch,
    driven,
)

# A transaction's time in pgbench's log includes its lag behind the schedule: the loop is open (PostgreSQL, --rate).
_READ = rf"""# sh percentiles.sh SECONDS: the latencies of the last pgbench here in us, without the first {SETTLE} s.
cat pgbench_log.* | awk -v wanted="$1" '
    $3 ~ /^[0-9]+$/ {{ now = $5 + $6 / 1e6; at[NR] = now; time[NR] = $3; if (!begin || now < begin) begin = now }}
    END {{
        for (i in at) if (at[i] >= begin + {SETTLE} && at[i] < begin + wanted) count[time[i]]++
        for (one in count) print one, count[one]
        print -1, wanted - {SETTLE}
    }}' | {NEAREST_RANK}
status=$?
rm -f pgbench_log.*
exit "$status"
"""

_FIXED = {"time": 10.0, "rate": 1.0, "logged": 100.0}
"""Values of pgbench's own suite that the search sets: its words are replaced, or hold for each window."""

_OF_SEARCH = ("-T", "-R", "-P")
"""Options with a value that the search sets in each window."""

_TOOL = Pgbench()

_OF_ONE_RUN = frozenset({"pgbench-log-large", "short-runtime", "no-checkpoint"})
"""Checks of pgbench's own suite that need the duration or the rate of its one run."""


def _of_window(words: Sequence[str]) -> list[str]:
    """Return the words of pgbench with those that the driver replaces."""
    texts = {"-T": SECONDS, "-R": RATE}
    return [texts.get(before, word) for before, word in zip(("", *words), words, strict=False)]


def _own(words: Sequence[str]) -> list[str]:
    """Return the words of the driver, and of pgbench those that state a parameter."""
    kept = [word for before, word in zip(("", *words), words, strict=False) if not {before, word} & {*_OF_SEARCH}]
    return _TOOL.syntax.normalised([word for word in kept if word not in {"-l", "pgbench"}])


class PgbenchSlo(ServerSearch):
    """pgbench starts transactions at random moments of a schedule, and counts what they wait for a client."""

    id = "pgbench-slo"
    title = "pgbench SLO search"
    summary = "The highest rate of transactions of PostgreSQL whose p99 stays within a target: load against latency."
    tried = TestedTool("pgbench 15.18 run for real", "each window", "rates are bracketed, bisected and confirmed")
    tool_suite = _TOOL
    fixed = _FIXED
    program = _TOOL.program
    other_programs = _TOOL.other_programs
    parameters = (
        *SLO_PARAMETERS,
        *(parameter for parameter in _TOOL.parameters if parameter.name not in _FIXED),
    )
    syntax = replace(
        _TOOL.syntax,
        programs=(DRIVER.name,),
        extra={"-h": "address", "-U": "user", "--host": "address"},
        invisible=frozenset({"scale"}),
        texts={},
        normalised=_own,
    )
    directory_parameter = "directory"
    server_processes = _TOOL.server_processes
    checks = tuple(check for check in _TOOL.checks if check.id not in _OF_ONE_RUN)

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return those of pgbench's own suite, with the search in place of the one run."""
        found = []
        for command in _TOOL.commands(self.of_tool(values), context):
            if command.purpose is not Purpose.MEASURE:
                found.append(command)
            elif "pgbench" in command.argv:
                at = command.argv.index("pgbench")
                line = (*command.argv[:at], *driven(values, _of_window(command.argv[at:])))
                found.append(replace(command, argv=line, files=(*command.files, DRIVER, HostFile(READER, text=_READ))))
        return tuple(found)
