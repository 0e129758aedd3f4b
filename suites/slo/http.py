"""http-slo: the highest rate of HTTP requests whose latency percentile stays within a limit."""

from collections.abc import Sequence
from dataclasses import replace

from suites.base import Command, Context, TestedTool
from suites.host_files import HostFile
from suites.http import Http
from suites.parameters import Tuned, Values
from suites.slo.search import (
    DRIVER,
    RATE,
    READER,
    SECONDS,
    SLO_PARAMETERS,
    WINDOW,
    ServerSearch,
    driven,
)

SCHEDULE = HostFile("open-loop.lua", resource="open-loop.lua")

# With errors there is no line, and the search ends with wrk's output.
_READ = r"""# sh percentiles.sh SECONDS <OUTPUT: the latencies of wrk, in us, of a window without errors.
sed -n 's/^open loop: \([0-9]*\) requests in \([0-9.]*\) s: \([0-9. ]*\) us, .*, 0 errors$/\1 \2 \3/p'
"""

_FIXED = {"time": 10.0}
"""Values of wrk's own suite that the search sets in each window."""

_TOOL = Http()

_OF_ONE_RUN = frozenset({"short-runtime"})


_SEARCH = tuple(
    replace(one, help="Time that each rate is measured.") if one is WINDOW else one for one in SLO_PARAMETERS
)


def _of_window(words: Sequence[str], threads: int) -> list[str]:
    """Return wrk's words with the duration that the driver sets, and with the schedule of the requests."""
    found = [f"{SECONDS}s" if before == "-d" else word for before, word in zip(("", *words), words, strict=False)]
    # An overloaded server is what the search looks for: its late replies count, and are no errors after wrk's 2 s.
    late = ("--timeout", f"{SECONDS}s")
    return ["env", f"RATE={RATE}", f"THREADS={threads}", found[0], "-s", SCHEDULE.name, *late, *found[1:]]


_SET = {"-d", "--duration", "-s", "--script", "--timeout"}
"""Options with a value that the search sets in each window."""


def _own_words(words: Sequence[str]) -> list[str]:
    """Return the words of the driver, and of wrk those that state a parameter."""
    pairs = zip(("", *words), words, strict=False)
    kept = [word for before, word in pairs if not {before, word} & _SET]
    return _TOOL.syntax.normalised(
        [word for word in kept if word not in {"env", "wrk"} and not word.startswith(("RATE=", "THREADS="))]
    )


class HttpSlo(ServerSearch):
    """wrk with a script that sends each request at the next of random moments, from whichever connection is free."""

    id = "http-slo"
    title = "HTTP SLO search"
    summary = "The highest rate of HTTP requests whose p99 stays within a target: load against latency, open loop."
    tried = TestedTool("wrk 4.1.0 on nginx 1.22.1 run for real", "each window", "moments in steps of 1 ms, as in wrk2")
    tool_suite = _TOOL
    fixed = _FIXED
    program = _TOOL.program
    other_programs = _TOOL.other_programs
    has_senders = True
    settle = 0
    parameters = (*_SEARCH, *(parameter for parameter in _TOOL.parameters if parameter.name not in _FIXED))
    syntax = replace(_TOOL.syntax, programs=(DRIVER.name,), normalised=_own_words)
    server_processes = _TOOL.server_processes
    checks = tuple(check for check in _TOOL.checks if check.id not in _OF_ONE_RUN)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the threads of wrk's own suite, and more connections than are busy at a time."""
        connections = Tuned(512, "Many more than are busy at once: a request needs a free one.")
        return {**super().tune(context), "connections": connections}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the search, inside the script that starts nginx and adds the URL, or on the URL set."""
        (command,) = _TOOL.commands(self.of_tool(values), context)
        at = command.argv.index("wrk")
        wrk = _of_window(command.argv[at:], int(values["threads"]))
        files = (*command.files, DRIVER, SCHEDULE, HostFile(READER, text=_READ))
        return (replace(command, argv=(*command.argv[:at], *driven(values, wrk)), files=files),)
