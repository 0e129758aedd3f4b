"""wrk: HTTP requests per second of nginx started for the test, or of a URL."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from suites.base import Command, Context, Effect, EffectKind, Estimate, StepCheck, StepEvidence, Suite, TestedTool
from suites.checks import CheckOutcome, blocking_check
from suites.command_line import CommandSyntax, Respelled, Words
from suites.dd.output import ELAPSED
from suites.equivalents import Traits
from suites.facts import Facts, cpus_for
from suites.identities import Identities, PrintedLine, Product
from suites.iperf3.link import is_loopback
from suites.line_parser import LineParser
from suites.oltp.server import SAME_HOST, SERVER, is_named, is_started_here, server_version
from suites.output_reading import NAMED_SERVER, StatedLine, by_parser
from suites.outputs import OPEN_LOOP, OutputFormat, ParsedTrial, ToolOutput
from suites.own_server import FAILED, NOT_STARTED, server_script
from suites.parameters import Parameter, Tuned, Type, Values, count_parameter, text_parameter
from suites.programs import Program, same_package_name
from suites.redis import REQUESTS_RATE
from suites.runtime_checks import SHORT_RUNTIME, TRUSTED
from suites.sysbench.output import LATENCY_MAXIMUM, LATENCY_MEAN, latency_percentile
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource

PERCENTILES = {
    **{str(rank): latency_percentile(rank) for rank in (50, 75, 90, 99)},
    "99.9": replace(latency_percentile(99), name="latency_p999", title="Latency, p99.9", percentile=99.9),
    "99.99": replace(latency_percentile(99), name="latency_p9999", title="Latency, p99.99", percentile=99.99),
}
"""Metrics by rank; only wrk2 prints the last two."""
TRANSFER = Metric("transfer_rate", "Bytes read", Unit.BYTES_PER_SECOND, Better.HIGHER, MetricKind.RATE)
ERRORS = Metric("failed_responses", "Responses not 2xx or 3xx", Unit.ONE, Better.LOWER, MetricKind.COUNT)
SOCKET_ERRORS = Metric("socket_errors", "Socket errors and timeouts", Unit.ONE, Better.LOWER, MetricKind.COUNT)
TOTAL = Metric("total_requests", "Total requests", Unit.ONE, Better.HIGHER, MetricKind.COUNT)
METRICS = (
    REQUESTS_RATE, LATENCY_MEAN, *PERCENTILES.values(), LATENCY_MAXIMUM, TRANSFER, ERRORS, SOCKET_ERRORS, TOTAL, ELAPSED
)  # fmt: skip

_N = r"(\d{1,15}(?:\.\d{1,6})?)"
_T = rf"{_N}(us|ms|s|m|h)"
_LATENCY = re.compile(rf"Latency\s+{_T}\s+{_T}\s+{_T}\s+\S+")
_PERCENTILE = re.compile(rf"(\d{{2,3}}(?:\.\d{{3}})?)%\s+{_T}")
_OF_WRK2 = re.compile(r"Latency Distribution \(HdrHistogram - (\w+) Latency.*")
_SPECTRUM = "Detailed Percentile spectrum:"
_RATE_OF_WRK2 = re.compile(r"\swrk\s(?:.*\s)?(?:-R\s*|--rate[= ])(\w{1,12})")
_REQUESTS = re.compile(rf"(\d{{1,15}}) requests in {_T}, \S+ read")
_RATE = re.compile(rf"Requests/sec:\s+{_N}")
_TRANSFER = re.compile(rf"Transfer/sec:\s+{_N}([KMGTP]?)B")
_SOCKET = re.compile(r"Socket errors: connect (\d{1,15}), read (\d{1,15}), write (\d{1,15}), timeout (\d{1,15})")
_STATUS = re.compile(r"Non-2xx or 3xx responses: (\d{1,15})")
_BROKEN_ERRORS = re.compile(r"Socket errors|Non-2xx or 3xx responses")
_FAILURE = re.compile(
    rf"unable to (?:connect|resolve|create) .+|number of connections must be .+|invalid .+|{NOT_STARTED}.*|"
    r".*: (?:command )?not found"
)
REFUSED = 0.01
"""Refused connections, as a share of the responses, from which the server was away; full queues refuse a few."""

_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}


@dataclass(slots=True)
class WrkParser(LineParser):
    """Parser of one run. wrk prints its errors only if there are any."""

    unfinished = (_FAILURE,)
    _numbers: dict[Metric, float] = field(default_factory=dict)
    _refused: int = 0
    _server: str | None = None
    _latencies: str = ""
    _left_out: dict[str, None] = field(default_factory=dict)

    def _read(self, line: str) -> None:
        line, numbers = line.strip(), self._numbers
        if match := _LATENCY.fullmatch(line):
            numbers[LATENCY_MEAN] = float(match[1]) * _MILLISECONDS[match[2]]
            numbers[LATENCY_MAXIMUM] = float(match[5]) * _MILLISECONDS[match[6]]
        elif match := _REQUESTS.fullmatch(line):
            numbers[TOTAL], numbers[ELAPSED] = float(match[1]), float(match[2]) * _MILLISECONDS[match[3]] / 1e3
        elif match := _SOCKET.fullmatch(line):
            numbers[SOCKET_ERRORS] = float(sum(map(int, match.groups())))
            self._refused = int(match[1]) + int(match[3])  # a refused connection fails in its first write
        elif match := _STATUS.fullmatch(line):
            numbers[ERRORS] = float(match[1])
        elif match := _RATE.fullmatch(line):
            numbers[REQUESTS_RATE] = float(match[1])
        elif match := _TRANSFER.fullmatch(line):  # powers of 1024: wrk, units.c
            numbers[TRANSFER] = float(match[1]) * 1024.0 ** " KMGTP".index(match[2] or " ")
        elif server := server_version(line):
            self._server = server
        elif _FAILURE.fullmatch(line):
            self._fail(line)
        elif words := _BROKEN_ERRORS.match(line):
            self._left_out[words[0].lower()] = None
        else:
            self._take_distribution(line)

    def _take_distribution(self, line: str) -> None:
        if match := _PERCENTILE.fullmatch(line):
            self._take_percentile(f"{float(match[1]):g}", float(match[2]) * _MILLISECONDS[match[3]])
        elif match := _OF_WRK2.fullmatch(line):
            self._latencies = match[1]
        elif line == _SPECTRUM:
            self._left_out["detailed percentile spectrum"] = None

    def _take_percentile(self, rank: str, latency: float) -> None:
        if self._latencies == "Uncorrected":
            self._left_out["uncorrected latencies"] = None
        elif rank in PERCENTILES:
            self._numbers[PERCENTILES[rank]] = latency
        elif rank != "100":
            self._left_out[f"p{rank}"] = None

    def _result(self, exit_status: int | None) -> ParsedTrial:
        notes = [f"wrk failed: {words}" for words in self._failures]
        found = {ERRORS: 0.0, SOCKET_ERRORS: 0.0, **self._numbers}
        total, wrong, broken = found.get(TOTAL, 0.0), found[ERRORS], found[SOCKET_ERRORS]
        whole = {TOTAL, REQUESTS_RATE, TRANSFER} <= found.keys()
        if not whole and not notes:
            notes.append("wrk was cut off: it printed no summary.")
        elif whole and total <= wrong:
            notes.append(f"All {total:,.0f} responses are errors: no figure." if total else "No response: no figure.")
        elif self._refused > REFUSED * total:
            notes.append(f"The server refused {self._refused:,} connections: it did not serve for the whole time.")
        notes += exit_notes("wrk", exit_status)
        remarks = []
        if wrong and not notes:
            remarks.append(f"{wrong:,.0f} of {total:,.0f} responses are not 2xx or 3xx; the rate counts them.")
        if broken:
            remarks.append(f"{broken:,.0f} socket errors or timeouts; the latency excludes these requests.")
        if self._left_out:
            remarks.append(f"Not read: {', '.join(self._left_out)}.")
        unknown = {SOCKET_ERRORS: "socket errors", ERRORS: "non-2xx or 3xx responses"}
        counted = {metric for metric, words in unknown.items() if words not in self._left_out}
        shown = [one for one in METRICS if found.get(one, 0) > 0 or one in counted]
        figures = tuple(Figure(one, found[one]) for one in shown) if whole and total > wrong else ()
        return ParsedTrial(figures, (), (*notes, *remarks), not notes, self._server)


URL = text_parameter(
    name="url",
    title="URL",
    help="URL that every request gets, as seen from the host.",
    pattern=r"https?://[^\s/]+\S*",
    applies=is_named,
    identity=False,
)
SIZE = Parameter(
    name="size",
    title="File size",
    type=Type.SIZE,
    default=1024,
    help="Bytes of the file that nginx serves.",
    minimum=0,
    maximum=2**26,
    applies=is_started_here,
)
CONNECTIONS = count_parameter(
    name="connections", default=10, help="Open connections; each waits for its reply (closed loop).", option="-c",
    maximum=100_000,
)  # fmt: skip
THREADS = count_parameter(name="threads", default=2, help="Threads of wrk.", option="-t", maximum=1024)
TIME = Parameter(
    name="time", type=Type.DURATION, default=10.0, help="Duration of the test.", option="-d", minimum=1,
    maximum=86400, whole=True,
)  # fmt: skip

# nginx binds its sockets before it writes its process id. Started by root, its workers would change to an account that
# cannot enter root's directory. The port is below the ephemeral range.
_START = r"""size=$1
shift
mkdir -p www && head -c "$size" /dev/zero >www/file || exit
ulimit -n "$(ulimit -Hn)" 2>/dev/null
user="" port=$((20000 + $$ % 10000))
last=$((port + 9))
[ "$(id -u)" != 0 ] || user="user root;"
until
    cat >nginx.conf <<END
daemon off; $user worker_processes auto; pid nginx.pid; error_log server.log;
events { worker_connections 16384; }
http {
    access_log off; sendfile on; keepalive_requests 1000000000;
    client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
    server { listen 127.0.0.1:$port; root www; }
}
END
    serve nginx.pid nginx -p "$(pwd)/" -c nginx.conf
do
    grep -q "Address already in use" server.log && [ "$port" -lt "$last" ] ||
        @FAILED@
    port=$((port + 1))
done
set -- "$@" "http://127.0.0.1:$port/file"
"""

FILE = server_script("nginx.sh", _START.replace("@FAILED@", FAILED).strip(), "nginx -v")


def _no_url(evidence: StepEvidence) -> CheckOutcome | None:
    missing = is_named(evidence.values) and not evidence.values["url"]
    return CheckOutcome("The server runs already; no URL is set.") if missing else None


def _few_connections(evidence: StepEvidence) -> CheckOutcome | None:
    threads, connections = int(evidence.values["threads"]), int(evidence.values["connections"])
    if connections >= threads:
        return None
    return CheckOutcome(f"{connections} connections, {threads} threads.", changes={"connections": threads})


def _same_host(evidence: StepEvidence) -> CheckOutcome | None:
    host = re.match(r"https?://(?:[^/@]*@)?\[?([\w.:%-]+?)\]?(?::\d+)?(?:[/?#]|$)", str(evidence.values["url"]))
    if not is_named(evidence.values) or host is None or not is_loopback(host[1]):
        return None
    return CheckOutcome(f"The host of the URL is {host[1]}.")


CHECKS: tuple[StepCheck, ...] = (
    blocking_check(
        id="http-no-url",
        title="URL missing",
        why="wrk needs the URL that it requests.",
        remedy="Set the URL, or let the step start its own server.",
        source="The step's parameters.",
        needs="The URL.",
        evaluate=_no_url,
    ),
    blocking_check(
        id="http-few-connections",
        title="Fewer connections than threads",
        why="wrk refuses to start: each thread has at least one connection.",
        remedy="Set connections to at least the number of threads.",
        source="wrk 4.1.0: number of connections must be >= threads.",
        needs="connections and threads.",
        evaluate=_few_connections,
    ),
    replace(SAME_HOST, id="http-same-host", source="wrk 4.1.0, README.", needs="The URL.", evaluate=_same_host),
    SHORT_RUNTIME,
)

WRK = Program("wrk", ("wrk",), {"apt": "wrk", "apk": "wrk"}, version=("-v",))
NGINX = Program(
    "nginx", ("nginx",), same_package_name("nginx"), ("PATH", "/usr/sbin", "/usr/local/sbin"), version=("-v",)
)


def _with_url(words: Words) -> list[str]:
    """Return the words with the URL, which has no option, as one."""
    return [Respelled(f"--url={word}", word) if word.startswith(("http://", "https://")) else word for word in words]


_STATED = (
    StatedLine("time", re.compile(r"Running (\d{1,6}[smh]) test @ ")),
    StatedLine("url", re.compile(r"Running \S+ test @ (\S{1,2000})")),
    StatedLine("threads", re.compile(r"\s*(\d{1,6}) threads and ")),
    StatedLine("connections", re.compile(r"\s*\d+ threads and (\d{1,7}) connections")),
)

_IDENTITIES = Identities(
    (
        PrintedLine(
            re.compile(
                r"\s*(?P<count>\d{1,15}) requests in (?P<seconds>\d{1,9}(?:\.\d{1,3})?)(?P<seconds_unit>ms|s|m|h),"
            ),
            units={"ms": (0.001,), "s": (1.0,), "m": (60.0,), "h": (3600.0,)},
        ),
        PrintedLine(re.compile(r"\s*Requests/sec: +(?P<rate>\d{1,15}(?:\.\d{1,3})?)$")),
    ),
    (Product(text="requests / time", result="rate", factors=("count",), divisors=("seconds",), unit=Unit.PER_SECOND),),
)
"""Identities of wrk's summary."""


LONGEST_TEST = 100.0
"""Times its planned duration that no test of wrk takes; beyond it, the clock stepped."""


def _contradictions(text: str) -> Iterator[tuple[str, str]]:
    """Yield what contradicts itself in the output of a test: among its figures, and its time with its plan."""
    yield from _IDENTITIES.contradictions(text)
    planned, summary = re.search(rf"Running {_T} test @ ", text), _REQUESTS.search(text)
    if planned is None or summary is None:
        return
    asked, elapsed = (float(one[at]) * _MILLISECONDS[one[at + 1]] for one, at in ((planned, 1), (summary, 2)))
    if elapsed > LONGEST_TEST * asked:
        yield "", f"{summary[1]} requests in {summary[2]}{summary[3]}, in a test of {planned[1]}{planned[2]}"


def _at_rate(parsed: ParsedTrial, rate: str) -> ParsedTrial:
    """Return what was read of wrk2, with the note that its rate limits it."""
    note = f"{OPEN_LOOP}wrk2 sends at its rate (-R{f' {rate}' if rate else ''}), which limits the requests per second."
    return replace(parsed, notes=(*parsed.notes, note)) if parsed.figures else parsed


class Http(Suite):
    """wrk. Each connection sends a request when the reply to the last one is there."""

    id = "http"
    title = "HTTP"
    summary = "HTTP requests per second and latency by wrk (closed loop), on nginx started for the test or your URL."
    resource = Resource.APPLICATION
    tried = TestedTool(
        "wrk 4.1.0 on nginx 1.22.1 run for real",
        "no",
        "closed loop: a stall delays the requests that would have measured it (coordinated omission)",
    )
    program = WRK
    other_programs = (NGINX,)
    parameters = (SERVER, SIZE, CONNECTIONS, THREADS, TIME, URL)
    main_parameters = ("connections", "threads", "time", "size")
    syntax = CommandSyntax(
        extra={"--url": "url"},
        aliases={"--connections": "-c", "--threads": "-t", "--duration": "-d"},
        normalised=_with_url,
    )
    metrics = METRICS
    parser_type = WrkParser
    uses_server = True
    server_processes = frozenset({"nginx"})
    checks = CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of wrk's output."""
        line = re.compile(
            r"\d+ threads and \d+ connections$|Thread Stats +Avg|(?:Latency|Req/Sec) +\d[\d.]*(?:[num]?s|k?) +\d|"
            rf"{_RATE.pattern}|{_REQUESTS.pattern}|Socket errors: connect \d"
        )
        by_wrk = by_parser(self, _STATED, assumed=NAMED_SERVER, contradictions=_contradictions)

        def read(text: str, command: str | None) -> Iterator[ToolOutput]:
            rate = _RATE_OF_WRK2.search(f" {command or ''}")
            for one in by_wrk(text, command):
                is_wrk2 = rate is not None or _OF_WRK2.search(text) is not None
                yield replace(one, parsed=_at_rate(one.parsed, rate[1] if rate else "")) if is_wrk2 else one

        first = re.compile(r"Running \d+[smh] test @ ")
        failed = re.compile(r"(?<!: )unable to (?:connect to|resolve) \S+:\w+ \w")
        return (OutputFormat(title="wrk", first=first, line=line, failed=failed, read=read),)

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return wrk, and nginx if the step starts it."""
        return (WRK, NGINX) if is_started_here(values) else (WRK,)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return threads for half of the CPUs, and enough connections for all workers of nginx."""
        tuned = {"time": Tuned(TRUSTED, f"{TRUSTED:g} s: a single disturbance weighs little.")}
        cpus = None if context.facts is None else cpus_for(context.facts)
        if cpus is not None:
            tuned["threads"] = Tuned(max(1, cpus // 2), f"wrk and nginx share the {cpus} CPUs.")
            tuned["connections"] = Tuned(16 * cpus, f"Sixteen for each of the {cpus} CPUs: nginx has one worker each.")
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the run, inside the script that starts nginx and adds the URL, or on the URL set."""
        run = ("wrk", "-t", str(values["threads"]), "-c", str(values["connections"]), "-d", f"{values['time']:g}s",
               "--latency")  # fmt: skip
        if is_started_here(values):
            return (Command(("sh", FILE.name, str(values["size"]), *run), files=(FILE,)),)
        return (Command((*run, *filter(None, (str(values["url"]),)))),)

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the load on the URL set by the user."""
        if is_started_here(values):
            return ()
        return (Effect(EffectKind.SENDS, str(values["url"]), "HTTP requests, as many as the server answers"),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time; the file served is small."""
        return Estimate(float(values["time"]), network=0 if is_started_here(values) else None)

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        count = int(values["connections"])
        return Traits(in_flight=count, threads=int(values["threads"]), seconds=float(values["time"]))
