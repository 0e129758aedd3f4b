"""redis-benchmark: requests per second of Redis, on the user's server or one started for the test."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from suites.base import (
    Command,
    Context,
    Effect,
    EffectKind,
    Estimate,
    StepCheck,
    StepEvidence,
    Suite,
    TestedTool,
    Workload,
)
from suites.checks import Check, CheckOutcome
from suites.command_line import CommandSyntax
from suites.dd.output import ELAPSED
from suites.equivalents import Traits
from suites.facts import Facts
from suites.identities import Identities, PrintedLine, Product, in_text
from suites.line_parser import LineParser
from suites.oltp.server import ADDRESS, SAME_HOST, SERVER, is_named, is_started_here, server_version
from suites.output_reading import NAMED_ELSEWHERE, StatedLine, by_parser, stated_by_command
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput, TrialParser
from suites.own_server import FAILED, NOT_STARTED, server_script
from suites.parameters import Choice, Parameter, Tuned, Type, Values, count_parameter
from suites.programs import Program, same_package_name
from suites.sysbench.output import LATENCY_MAXIMUM, LATENCY_MEAN, MAXIMUM_SAMPLES, latency_percentile
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample, Severity

REQUESTS_RATE = Metric("requests_per_second", "Requests per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
RANKS = (50, 95, 99)
PERCENTILES = tuple(map(latency_percentile, RANKS))
METRICS = (REQUESTS_RATE, LATENCY_MEAN, *PERCENTILES, LATENCY_MAXIMUM, ELAPSED)

TICK = 0.25
"""Seconds between two live figures (redis-benchmark.c, showThroughput); a threaded run also ends on one."""

_N = r"(\d{1,15}(?:\.\d{1,9})?)"
_LIVE = re.compile(rf"([A-Z][\w ()-]{{0,60}}): (?:rps=)?{_N}(?: \(overall: .*?\) avg_msec=(?:{_N}|-?nan) .*)?")
_TITLE = re.compile(r"====== (\w[\w ()-]{0,60}?) ======")
_COMPLETED = re.compile(rf"\d+ requests completed in {_N} seconds")
_RATE = re.compile(rf"(?:throughput summary: )?{_N} requests per second")
_LATENCIES = re.compile(r"(?:\d{1,9}\.\d{3}\s+){5}\d{1,9}\.\d{3}")
_BOUND = re.compile(rf"{_N}% <= (\d{{1,9}}(?:\.(\d{{1,6}}))?) milliseconds")
"""A row of the latencies before 6.2: the share of the requests below the next time that has one."""
_COLUMNS = (LATENCY_MEAN, None, *PERCENTILES, LATENCY_MAXIMUM)
_SAVING = re.compile(r'host configuration "(save|appendonly)": (\S.*)')
_FAILURE = re.compile(
    r"Could not connect to .+|(?:Server )?E(?:rror|RROR)\b.+|Invalid option .+|(?:WRONGPASS|NOAUTH) .+|"
    rf"{NOT_STARTED}.*|.*: (?:command )?not found"
)


@dataclass(slots=True)
class RedisParser(LineParser):
    """Parser of one run. Tests before the one that is measured only fill the server: their samples are its ramp."""

    unfinished = (_FAILURE,)
    test: str = "set"
    _title: str = ""
    _numbers: dict[Metric, float] = field(default_factory=dict)
    _time: float = 0.0
    _before: float = 0.0
    _server: str | None = None
    _saves: dict[str, str] = field(default_factory=dict)
    _bounds: list[tuple[float, str, float]] = field(default_factory=list)

    def _read(self, line: str) -> None:
        line = line.strip()
        if match := _TITLE.fullmatch(line):
            self._title, self._numbers, self._bounds = match[1], {}, []
        elif match := _COMPLETED.fullmatch(line):
            self._numbers[ELAPSED] = float(match[1])
            self._before = self._time = self._before + float(match[1])
        elif match := _RATE.fullmatch(line):
            self._numbers[REQUESTS_RATE] = float(match[1])
        elif _LATENCIES.fullmatch(line):
            pairs = zip(_COLUMNS, map(float, line.split()), strict=True)
            self._numbers |= {metric: value for metric, value in pairs if metric is not None}
        elif (match := _BOUND.fullmatch(line)) and len(self._bounds) < MAXIMUM_SAMPLES:
            self._bounds.append((float(match[1]), match[2], 10.0 ** -len(match[3] or "")))
        elif match := _SAVING.fullmatch(line):
            self._saves[match[1]] = match[2]
        elif server := server_version(line):
            self._server = server
        elif _FAILURE.fullmatch(line):
            self._fail(line)
        elif match := _LIVE.fullmatch(line):
            self._take_live(match)

    def _take_live(self, match: re.Match[str]) -> None:
        """Add the rate since the last line; the first line of a test covers no time."""
        if float(match[2]) <= 0 or len(self._samples) >= MAXIMUM_SAMPLES:
            return
        self._time += TICK
        fills = not self._is_measured(match[1])
        pairs = ((REQUESTS_RATE, match[2]), (LATENCY_MEAN, match[3]))
        self._samples += [Sample(self._time, one, float(text), warm_up=fills) for one, text in pairs if text]

    def _is_measured(self, title: str) -> bool:
        return title.lower().split(" ", 1)[0] == self.test and "needed" not in title

    def _bounds_text(self) -> str:
        """Return the bounds of the percentiles. The time of the last row is rounded down, and bounds nothing."""
        found = [(rank, next((text for share, text, _ in self._bounds[:-1] if share >= rank), "")) for rank in RANKS]
        texts = [f"p{rank} ≤ {text} ms" for rank, text in found if text]
        if self._bounds and self._bounds[-1][0] == 100:
            _, text, step = self._bounds[-1]
            texts.append(f"maximum < {float(text) + step:g} ms")
        return f", only bounds ({', '.join(texts)})" if texts else ""

    def _result(self, exit_status: int | None) -> ParsedTrial:
        notes = [f"redis-benchmark failed: {words}" for words in self._failures]
        done = self._is_measured(self._title) and self._numbers.get(REQUESTS_RATE, 0) > 0
        whole = LATENCY_MAXIMUM in self._numbers or not any(one.metric is LATENCY_MEAN for one in self._samples)
        if not (done and whole) and not notes:
            notes.append(f"redis-benchmark was cut off: it printed no summary of {self.test.upper()}.")
        notes += exit_notes("redis-benchmark", exit_status)
        figures = [Figure(one, self._numbers[one]) for one in METRICS if done and self._numbers.get(one, 0) > 0]
        remarks = []
        if done and LATENCY_MEAN not in self._numbers:
            remarks.append(f"redis-benchmark before 6.2 prints no percentiles{self._bounds_text()}: no latency.")
        saving = [f"{name} {value}" for name, value in self._saves.items() if value not in {"no", '""'}]
        if saving:
            remarks.append(f"The server writes its data to disk ({', '.join(saving)[:60]}): part of the figure.")
        return ParsedTrial(tuple(figures), tuple(self._samples), (*notes, *remarks), not notes, self._server)


FILLED_BY = {
    "get": "set", "lpop": "lpush", "rpop": "rpush", "spop": "sadd", "zpopmin": "zadd",
}  # fmt: skip
"""The test that redis-benchmark runs before one that would find nothing in an empty server."""

TEST = Parameter(
    name="test",
    title="Request",
    default="set",
    help="Kind of request. Those that read or take run after the one that writes what they find.",
    option="-t",
    choices=(
        Choice("set", "set: write a value"),
        Choice("get", "get: read it, after set"),
        Choice("incr", "incr: add to a counter"),
        Choice("lpush", "lpush: add to a list"),
        Choice("lpop", "lpop: take from it, after lpush"),
        Choice("sadd", "sadd: add to a set"),
        Choice("hset", "hset: write a field of a hash"),
        Choice("zadd", "zadd: add to a sorted set"),
        Choice("mset", "mset: write 10 values"),
        Choice("lrange_100", "lrange_100: read 100 items of a list"),
        Choice("ping_mbulk", "ping_mbulk: no data"),
        Choice("ping_inline", "ping_inline: no data, as a line of text"),
        Choice("rpush", "rpush: add to the end of a list"),
        Choice("rpop", "rpop: take from its end, after rpush"),
        Choice("spop", "spop: take from a set, after sadd"),
        Choice("zpopmin", "zpopmin: take from a sorted set, after zadd"),
        Choice("lrange_300", "lrange_300: read 300 items of a list"),
        Choice("lrange_500", "lrange_500: read 500 items of a list"),
        Choice("lrange_600", "lrange_600: read 600 items of a list"),
        Choice("xadd", "xadd: add to a stream; 7.0 lacks it"),
    ),
)


_whole_number = partial(Parameter, type=Type.INTEGER)
REQUESTS = count_parameter(
    name="requests", default=100_000, help="Number of requests, which end the run.", option="-n", minimum=1,
    maximum=10**10,
)  # fmt: skip
CLIENTS = count_parameter(
    name="clients", default=50, help="Parallel connections; each waits for its replies.", option="-c", minimum=1,
    maximum=10_000,
)  # fmt: skip
PIPELINE = count_parameter(
    name="pipeline", default=1, help="Requests sent at once by each connection.", option="-P", minimum=1,
    maximum=10_000,
)  # fmt: skip
DATA_SIZE = Parameter(
    name="data_size", type=Type.SIZE, default=3, help="Bytes of each value.", option="-d", minimum=1, maximum=2**29
)
KEYSPACE = count_parameter(
    name="keyspace", default=0, help="Number of random keys; 0: all requests use one key.", option="-r", minimum=0,
    maximum=10**9,
)  # fmt: skip
CLIENT_THREADS = count_parameter(
    name="client_threads", default=0, help="Threads of redis-benchmark; 0: its event loop alone.",
    option="--threads", minimum=0, maximum=500,
)  # fmt: skip
PORT = count_parameter(
    name="port", title="Port", default=6379, help="The server's port.", option="-p", minimum=1, maximum=65535,
    applies=is_named, identity=False,
)  # fmt: skip
DATABASE = count_parameter(
    name="database", default=0, help="Number of the database in which keys are written.", option="--dbnum", minimum=0,
    maximum=10**6, applies=is_named, identity=False,
)  # fmt: skip

ENOUGH_REQUESTS = 1_000_000
FEW_REQUESTS = 500_000
TUNED_KEYSPACE = 100_000

FILE = server_script(
    "redis.sh",
    "serve redis.sock redis-server --port 0 --unixsocket redis.sock --save '' --appendonly no ||\n    " + FAILED,
    "redis-server --version",
)


def _few(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    batches = int(values["requests"]) // int(values["pipeline"])
    if batches >= FEW_REQUESTS:
        return None
    sent = f"{int(values['requests']):,} requests" + f" in batches of {values['pipeline']}" * (values["pipeline"] != 1)
    return CheckOutcome(f"{sent}.", changes={"requests": ENOUGH_REQUESTS * int(values["pipeline"])})


def _one_key(evidence: StepEvidence) -> CheckOutcome | None:
    if evidence.values["keyspace"] or str(evidence.values["test"]).startswith("ping"):
        return None
    return CheckOutcome("keyspace is 0, the default.", changes={"keyspace": TUNED_KEYSPACE})


def _pipelined(evidence: StepEvidence) -> CheckOutcome | None:
    depth = int(evidence.values["pipeline"])
    return CheckOutcome(f"pipeline is {depth}.") if depth > 1 else None


_SOURCE = "Redis documentation, Redis benchmark."

CHECKS: tuple[StepCheck, ...] = (
    Check(
        id="redis-few-requests",
        title="Runtime too short",
        why=f"At 100,000/s they take less than {FEW_REQUESTS // 100_000} s: start-up and a single disturbance "
        "dominate. With threads, redis-benchmark rounds its time up to 0.25 s.",
        remedy=f"Set requests to {ENOUGH_REQUESTS:,} times the pipeline.",
        source="redis-benchmark.c, showThroughput.",
        needs="requests and pipeline.",
        evaluate=_few,
    ),
    Check(
        id="redis-one-key",
        severity=Severity.INFO,
        title="All requests use one key",
        why="The key stays in the CPU caches: the figure is higher than with the keys of an application.",
        remedy=f"Set keyspace to {TUNED_KEYSPACE:,} or to the number of keys of the application.",
        source=_SOURCE,
        needs="keyspace.",
        evaluate=_one_key,
    ),
    Check(
        id="redis-pipelined",
        severity=Severity.INFO,
        title="Requests are pipelined",
        why="Each connection sends several requests at once: the rate is several times that of clients that wait for "
        "each reply, and the latency is that of the batch.",
        remedy="Set pipeline to 1 unless the application pipelines. Compare only runs with the same pipeline.",
        source=_SOURCE,
        needs="pipeline.",
        evaluate=_pipelined,
    ),
    replace(SAME_HOST, id="redis-same-host", source=_SOURCE),
)

REDIS_BENCHMARK = Program(
    "redis-benchmark",
    ("redis-benchmark",),
    {**same_package_name("redis"), "apt": "redis-tools", "pacman": "valkey"},
    version_line=r"-benchmark \d",  # 6.0 prints its usage, with an address
)
REDIS_SERVER = Program(
    "Redis server",
    ("redis-server",),
    {**same_package_name("redis"), "apt": "redis-server", "pacman": "valkey"},
    version_line=r"v=\d",
)


def _test_of(name: str) -> str:
    return name.lower().replace("ping_bulk", "ping_mbulk")


_STATED = (
    StatedLine("test", re.compile(r"={6} (\w{1,30}).* ={6}$"), _test_of),
    StatedLine("requests", re.compile(r"\s*(\d{1,12}) requests completed in ")),
    StatedLine("clients", re.compile(r"\s*(\d{1,6}) parallel clients")),
    StatedLine("data_size", re.compile(r"\s*(\d{1,9}) bytes payload")),
    StatedLine("client_threads", re.compile(r"\s*threads: (\d{1,4})$")),
)
_LINE = re.compile(
    r"\d+ requests completed in [\d.]+ seconds|\d+ parallel clients$|\d+ bytes payload$|"
    r"(?:throughput summary: )?[\d.]+ requests per second$|[\d.]+% <= [\d.]+ milliseconds"
)

_NOT_CONNECTED = re.compile(r"(?<!: )(?:Could not connect to Redis at .+|(?:NOAUTH|WRONGPASS) )")

_QUIET = re.compile(rf"([A-Z][A-Z_0-9]{{1,20}})(?: \([\w ]{{1,40}}\))?: {_N} requests per second(?:, p50={_N} msec)?$")
"""A line of -q."""

_CSV = re.compile(rf'"([A-Z][A-Z_0-9]{{1,20}})(?: \([\w ]{{1,40}}\))?","{_N}"' + rf'(?:,"{_N}"){{6}}$')
"""A row of --csv since 6.2: the rate, and the mean, minimum, p50, p95, p99 and maximum of the latency in ms."""

_BRIEF = re.compile(f"{_QUIET.pattern}|{_CSV.pattern}")


def _not_judged(title: str) -> str:
    """Return why an output is of no test of redis-benchmark; empty if it is of one."""
    name = _test_of(title.split(" ", 1)[0])
    if not any(one.value == name for one in TEST.choices):
        return "is none of redis-benchmark's tests: a command of its user."
    return "only fills the server for another test." if "needed" in title else ""


def _named(test: str) -> str:
    """Return the name of a result by its test: ``redis SET``."""
    return f"redis {test.upper()}"


def _brief(line: str) -> tuple[str, tuple[Figure, ...]]:
    """Return the test and the figures of a line of -q or --csv; no figures of any other line."""
    match = _QUIET.match(line) or _CSV.match(line)
    if match is None or _not_judged(match[1]) or "needed" in line:
        return "", ()
    metrics = (REQUESTS_RATE, *((PERCENTILES[0],) if match.re is _QUIET else _COLUMNS))
    numbers = re.findall(r'"([\d.]+)"', line) if match.re is _CSV else match.groups()[1:]
    pairs = zip(metrics, numbers, strict=True)
    return _test_of(match[1]), tuple(Figure(one, float(text)) for one, text in pairs if one and text)


_IDENTITIES = Identities(
    (
        PrintedLine(re.compile(r"\s*(?P<count>\d{1,12}) requests completed in (?P<seconds>\d{1,9}(?:\.\d{1,3})?) sec")),
        PrintedLine(re.compile(r"\s*(?:throughput summary: )?(?P<rate>\d{1,15}(?:\.\d{1,3})?) requests per second$")),
    ),
    (Product(text="requests / time", result="rate", factors=("count",), divisors=("seconds",), unit=Unit.PER_SECOND),),
    begins=_TITLE,
)
"""Identities of one test of redis-benchmark."""


class Redis(Suite):
    """redis-benchmark. Each connection sends a request and waits for its reply: a closed loop."""

    id = "redis"
    title = "Redis"
    summary = "Requests per second and latency of Redis, on a server you name or one started without persistence."
    resource = Resource.APPLICATION
    tried = TestedTool(
        "redis-benchmark 7.0.15 run for real; outputs of 6.0.16 and 8.0.2 captured",
        "four times a second",
        "own server: Unix socket, no persistence; no percentiles before 6.2",
    )
    program = REDIS_BENCHMARK
    other_programs = (REDIS_SERVER,)
    parameters = (
        SERVER, TEST, REQUESTS, CLIENTS, PIPELINE, DATA_SIZE, KEYSPACE, CLIENT_THREADS,
        replace(ADDRESS, help="Address of the server as seen from the host, or the path of its socket."),
        PORT, DATABASE,
    )  # fmt: skip
    main_parameters = ("test", "requests", "clients", "pipeline", "data_size", "keyspace")
    syntax = CommandSyntax(
        extra={"-h": "address", "-s": "address"}, texts={"test": lambda text: text.rpartition(",")[2].lower()}
    )
    metrics = METRICS
    uses_server = True
    server_processes = frozenset({"redis-server", "valkey-server"})
    checks = CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of redis-benchmark's output."""
        keys = {"keyspace": (0, TUNED_KEYSPACE)}
        open_ = {**keys, "requests": (REQUESTS.default, ENOUGH_REQUESTS)}  # a test that did not end states none
        whole = by_parser(self, _STATED, unstated=open_, assumed=NAMED_ELSEWHERE, contradictions=in_text(_IDENTITIES))

        def read(text: str, command: str | None) -> Iterator[ToolOutput]:
            titles = [match[1] for line in text.splitlines() if (match := _TITLE.search(line))]
            own = [f"“{title}” {why}" for title in titles if (why := _not_judged(title))]
            for one in whole(text, command):
                named = replace(one, name=_named(titles[-1].split(" ", 1)[0]) if titles else "")
                yield replace(named, undecided=own[-1], parsed=replace(one.parsed, notes=())) if own else named

        def read_brief(text: str, command: str | None) -> Iterator[ToolOutput]:
            given = {**NAMED_ELSEWHERE, **(stated_by_command(self, command, NAMED_ELSEWHERE) or {})}
            left = {} if "keyspace" in given else keys
            for number, line in enumerate(text.splitlines()):
                test, figures = _brief(line.strip())
                if figures:
                    values = {**given, "test": test}
                    yield ToolOutput(self.id, ParsedTrial(figures), values, left, _named(test), line=number)

        return (
            OutputFormat(
                title="redis-benchmark", first=_TITLE, line=_LINE, failed=_NOT_CONNECTED, read=read, several=True
            ),
            OutputFormat(title="redis-benchmark, brief", first=_BRIEF, line=_BRIEF, read=read_brief, several=True),
        )

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return redis-benchmark, and the server if the step starts one."""
        return (REDIS_BENCHMARK, REDIS_SERVER) if is_started_here(values) else (REDIS_BENCHMARK,)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return enough requests for some ten seconds, and as many keys as Redis' documentation uses."""
        return {
            "requests": Tuned(ENOUGH_REQUESTS, "About 10 s at 100,000/s; the tool's 100,000 take about 1 s."),
            "keyspace": Tuned(TUNED_KEYSPACE, "Random keys, as in Redis' documentation; the default is a single one."),
        }

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the run, on its own server inside the script that starts it."""
        test = str(values["test"])
        run = ["redis-benchmark", *self._where(values), "-t", ",".join(filter(None, (FILLED_BY.get(test), test)))]
        for option, name in (("-n", "requests"), ("-c", "clients"), ("-P", "pipeline"), ("-d", "data_size")):
            run += [option, str(values[name])]
        for option, name in (("-r", "keyspace"), ("--threads", "client_threads")):
            run += [option, str(values[name])] if values[name] else []
        if is_started_here(values):
            return (Command(("sh", FILE.name, *run), files=(FILE,)),)
        return (Command(tuple(run)),)

    @staticmethod
    def _where(values: Values) -> list[str]:
        if is_started_here(values):
            return ["-s", "redis.sock"]
        address = str(values["address"])
        words = ["-h" if address[:1] != "/" else "-s", address] if address else []
        if address[:1] != "/":
            words += ["-p", str(values["port"])]
        return words + (["--dbnum", str(values["database"])] if values["database"] else [])

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the keys written to a server set by the user, which stay there."""
        if is_started_here(values):
            return ()
        text = shlex.join(["redis-benchmark", *self._where(values)])
        return (Effect(EffectKind.CHANGES, text, "Redis server: writes keys such as key:000000000001, which stay"),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return that the requests, not the time, end the run."""
        return Estimate(None, network=0 if is_started_here(values) else None)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser for the chosen test."""
        return RedisParser(test=str(values["test"]))

    def workload(self, values: Values) -> Workload:
        """Return the threads of redis-benchmark and of a server started here, which share all connections."""
        return Workload(workers=max(1, int(values["client_threads"])) + is_started_here(values))

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        return Traits(in_flight=int(values["clients"]) * int(values["pipeline"]), block=int(values["data_size"]))
