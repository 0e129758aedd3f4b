"""curl: time of name look-up, TCP connect, TLS handshake and first byte of a URL, each request on a new connection."""

import ipaddress
import re
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from suites.base import Command, Context, Effect, EffectKind, Estimate, StepCheck, StepEvidence, Suite, TestedTool
from suites.checks import Check, CheckOutcome, blocking_check
from suites.command_line import CommandSyntax, Respelled, Words
from suites.curl_text import DOWNLOAD, FIRST, LINE, read_curl
from suites.host_files import HostFile
from suites.line_parser import LineParser
from suites.outputs import OutputFormat, ParsedTrial, TrialParser
from suites.parameters import Parameter, Tuned, Type, Values, count_parameter, flag_parameter, text_parameter
from suites.ping import nearest_rank
from suites.programs import Program, same_package_name
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample, Severity, labels


def _time(name: str, title: str, percentile: float | None = None) -> Metric:
    return Metric(name, title, Unit.MILLISECOND, Better.LOWER, MetricKind.TIME, percentile)


MEDIAN = _time("phase_p50", "Median time", 50)
P99 = _time("phase_p99", "99th percentile of time", 99)
LONGEST = _time("phase_max", "Longest time", 100)
EACH = _time("phase_time", "Time")
FIRST_LOOKUP = _time("first_lookup", "First name look-up")
FAILED = Metric("failed_requests", "Failed requests", Unit.PERCENT, Better.LOWER, MetricKind.SHARE, most=100)
METRICS = (MEDIAN, P99, LONGEST, FIRST_LOOKUP, FAILED, EACH, DOWNLOAD)

DNS, TCP, TLS, FIRST_BYTE, TOTAL = "DNS", "TCP connect", "TLS handshake", "first byte", "total"

FORMAT = (
    "curl %{time_namelookup} %{time_connect} %{time_appconnect} %{time_pretransfer} %{time_starttransfer} "
    "%{time_total} %{http_code}\\n"
)

FEWEST_FOR_P99 = 100
MOST_REQUESTS = 100_000
MAX_TIME = 30
"""Seconds after which curl gives a request up; its own limit is 300 s to connect, and none after."""

FILE = HostFile(
    "repeat.sh",
    text="""# sh repeat.sh COUNT PAUSE COMMAND...: runs the command COUNT times, each time as a new process.
count=$1 pause=$2 status=0
shift 2
while [ "$count" -gt 0 ]; do
    read -r uptime _ </proc/uptime
    printf 'request %s\\n' "$uptime"
    "$@" 2>&1 || {
        status=$?
        printf 'failed %s\\n' "$status"
        [ "$status" -lt 126 ] || exit "$status"
    }
    count=$((count - 1))
    sleep "$pause"
done
printf 'done\\n'
""",
)

_N = r"(\d{1,6}[.,]\d{3,9})"
_REQUEST = re.compile(r"request (\d{1,12}\.\d{1,6})")
_TIMES = re.compile(rf"curl {_N} {_N} {_N} {_N} {_N} {_N} (\d{{3}})")
_FAILED = re.compile(r"failed \d{1,3}")
_MESSAGE = re.compile(r"curl: .+|.*: (?:command )?not found")


@dataclass(slots=True)
class CurlParser(LineParser):
    """Parser of one trial. A request is one line of times from its start; a failed one counts, but has none.

    `by_name`: the URL has a name that is looked up.
    """

    by_name: bool = True
    _phases: dict[str, list[float]] = field(default_factory=dict)
    _requests: int = 0
    _statuses: Counter[str] = field(default_factory=Counter)
    _broken: int = 0
    _begun: float | None = None
    _now: float = 0.0
    _pending: list[tuple[str, float]] = field(default_factory=list)
    _done: bool = False
    _status: str = ""

    def _read(self, line: str) -> None:
        if match := _REQUEST.fullmatch(line):
            self._take()
            self._begun = float(match[1]) if self._begun is None else self._begun
            self._now = max(0.0, float(match[1]) - self._begun)
            self._requests += 1
        elif match := _TIMES.fullmatch(line):
            times = [1000 * float(text.replace(",", ".")) for text in match.groups()[:6]]
            self._pending, self._status = _phases_of(times, by_name=self.by_name), match[7]
        elif _FAILED.fullmatch(line):
            self._pending = []
            self._broken += 1
        elif line == "done":
            self._take()
            self._done = True
        elif _MESSAGE.fullmatch(line):
            self._fail(line)

    def _take(self) -> None:
        """Add the times of the last request, which is known to have succeeded once the next line is there."""
        if self._pending and self._requests <= MOST_REQUESTS:
            self._statuses[self._status] += 1
            for phase, value in self._pending:
                self._phases.setdefault(phase, []).append(value)
                self._samples.append(Sample(round(self._now, 2), EACH, value, labels(phase=phase)))
        self._pending = []

    def _result(self, exit_status: int | None) -> ParsedTrial:
        notes: list[str] = []
        if not self._phases:
            notes += [f"{words.rstrip('.')}." for words in dict.fromkeys(self._failures)] or ["No request succeeded."]
            if any("certificate" in words for words in self._failures):
                notes.append(f"Set {INSECURE.name} to accept the certificate of a server of your own.")
        elif not self._done:
            notes.append("The output ends before the last request.")
        notes += exit_notes("The test", exit_status)
        remarks = []
        if self._broken and self._phases:
            why = "; ".join(dict.fromkeys(self._failures))
            remarks.append(f"{self._broken} of {self._requests} requests failed, and are in no time: {why}.")
        other = {status: count for status, count in self._statuses.items() if not status.startswith("2")}
        if other:
            found = ", ".join(f"{count} x {status}" for status, count in sorted(other.items()))
            remarks.append(f"Responses other than 2xx: {found}. The first byte is that of these responses.")
        return ParsedTrial(tuple(self._figures()), tuple(self._samples), (*notes, *remarks), not notes)

    def _figures(self) -> list[Figure]:
        figures = []
        for metric, share, least in ((MEDIAN, 0.5, 1), (P99, 0.99, FEWEST_FOR_P99), (LONGEST, 1.0, 1)):
            figures += [
                Figure(metric, nearest_rank(values, share), labels(phase=phase))
                for phase, values in sorted(self._phases.items(), key=lambda pair: _ORDER.index(pair[0]))
                if len(values) >= least
            ]
        if DNS in self._phases:
            figures.append(Figure(FIRST_LOOKUP, self._phases[DNS][0]))
        if self._requests and self._phases:
            figures.append(Figure(FAILED, 100 * self._broken / self._requests))
        return figures


_ORDER = (TLS, DNS, TCP, FIRST_BYTE, TOTAL)
"""The phases as shown: the handshake leads where there is one."""


def _phases_of(times: list[float], *, by_name: bool) -> list[tuple[str, float]]:
    """Return the duration of each phase in ms; curl counts each from the start of the request."""
    looked_up, connected, handshaken, ready, first, total = times
    found = [(DNS, looked_up)] if by_name else []
    found.append((TCP, connected - looked_up))
    found += [(TLS, handshaken - connected)] if handshaken else []
    return [*found, (FIRST_BYTE, first - ready), (TOTAL, total)]


def _of_one_request(times: list[float], command: str | None) -> list[Figure]:
    """Return the phases of one request; of an unknown URL, a look-up of no time is one of an address."""
    url = next((word for word in (command or "").split() if word.startswith(("http://", "https://"))), "")
    by_name = _by_name(url) if url else times[0] > 0
    phases = _phases_of(times, by_name=by_name)
    return [
        Figure(MEDIAN, value, labels(phase=phase))
        for phase, value in sorted(phases, key=lambda one: _ORDER.index(one[0]))
    ]


URL = text_parameter(
    name="url",
    title="URL",
    help="URL of each request, as seen from the host. Its answer should be short: the transfer is part of the total.",
    pattern=r"https?://[^\s/]+\S*",
)
REQUESTS = count_parameter(
    name="requests",
    title="Requests",
    default=1,
    help="Requests one after the other, each by a curl of its own: new look-up, connection and full handshake.",
    maximum=MOST_REQUESTS,
)
PAUSE = Parameter(
    name="pause",
    title="Pause",
    type=Type.NUMBER,
    default=0.1,
    help="Seconds between two requests.",
    unit="s",
    minimum=0,
    maximum=600,
)
INSECURE = flag_parameter(
    name="insecure",
    title="insecure",
    help="Accept a certificate that this host cannot verify, as of a server of your own.",
    option="-k, --insecure",
)


def _no_url(evidence: StepEvidence) -> CheckOutcome | None:
    return None if evidence.values["url"] else CheckOutcome("No URL is set.")


def _few(evidence: StepEvidence) -> CheckOutcome | None:
    count = int(evidence.values["requests"])
    return CheckOutcome(f"{count} requests.", changes={"requests": FEWEST_FOR_P99}) if count < FEWEST_FOR_P99 else None


CHECKS: tuple[StepCheck, ...] = (
    blocking_check(
        id="curl-no-url",
        title="URL missing",
        why="curl needs the URL that it requests.",
        remedy="Set the URL.",
        source="The step's parameters.",
        needs="The URL.",
        evaluate=_no_url,
    ),
    Check(
        id="curl-few-requests",
        severity=Severity.INFO,
        title="Too few requests for a p99",
        why=f"With fewer than {FEWEST_FOR_P99} requests, the p99 is the slowest one.",
        remedy=f"Set requests to {FEWEST_FOR_P99} or more.",
        source="The definition of a percentile.",
        needs="Requests.",
        evaluate=_few,
    ),
)

CURL = Program("curl", ("curl",), same_package_name("curl"))


def _by_name(url: str) -> bool:
    """Return whether the host of a URL is a name, which is looked up."""
    try:
        ipaddress.ip_address((urlsplit(url).hostname or "").partition("%")[0])
    except ValueError:
        return True
    return False


def _request_words(words: Words) -> list[str]:
    """Return the arguments of the script and the URL, which have no options, as ones."""
    if "curl" in words[2:3]:
        words = [
            Respelled(f"--{name}={word}", word) for name, word in zip(("requests", "pause"), words, strict=False)
        ] + [*words[2:]]
    return [Respelled(f"--url={word}", word) if word.startswith(("http://", "https://")) else word for word in words]


class Curl(Suite):
    """curl -w, once for each request."""

    id = "curl-times"
    title = "DNS and TLS handshake (curl)"
    summary = "Time of name look-up, TCP connect, TLS handshake and first byte of a URL, each on a new connection."
    resource = Resource.NETWORK
    tried = TestedTool(
        "curl 7.88.1 run for real; outputs of 7.74.0 and 8.14.1 captured",
        "after each request",
        "look-ups after the first may come from a cache",
    )
    program = CURL
    parameters = (URL, REQUESTS, PAUSE, INSECURE)
    syntax = CommandSyntax(
        programs=("repeat.sh", "curl"),
        extra={"--url": "url", "--requests": "requests", "--pause": "pause"},
        normalised=_request_words,
    )
    metrics = METRICS
    several_limits = (
        "each phase waits for another: the resolver, the network, the server.",
        "Compare the phases, and the time of the TCP connect with that of ping.",
    )
    checks = CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The times of -w in the usual layout, and the progress meter."""
        return (OutputFormat(title="curl", first=FIRST, line=LINE, read=read_curl(self.id, _of_one_request)),)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return enough requests for a p99."""
        return {"requests": Tuned(FEWEST_FOR_P99, f"A p99 needs {FEWEST_FOR_P99}; a single request is no measurement.")}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the repeated request; its body is discarded."""
        words = ("curl", "-sS", *(("-k",) if values["insecure"] else ()), "-m", str(MAX_TIME), "-o", "/dev/null")
        repeat = ("sh", FILE.name, str(values["requests"]), f"{float(values['pause']):g}")
        return (Command((*repeat, *words, "-w", FORMAT, *filter(None, (str(values["url"]),))), files=(FILE,)),)

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the requests to the URL set by the user."""
        if not values["url"]:
            return ()
        return (Effect(EffectKind.SENDS, str(values["url"]), f"{values['requests']} HTTP requests"),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return unknown time and volume: they depend on the server."""
        return Estimate(None, network=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        return CurlParser(by_name=_by_name(str(values.get("url", ""))))
