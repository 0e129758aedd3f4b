"""iperf3: TCP or UDP throughput between two hosts, one way or both."""

from suites.base import Command, Context, Estimate, Purpose, RateLimit, TestedTool, Workload, version_of
from suites.equivalents import Traits, pattern_text
from suites.facts import Facts
from suites.iperf3.checks import IPERF3_CHECKS
from suites.iperf3.link import is_paced, is_tcp, is_udp, link_speed, tuned_bitrate, tuned_streams
from suites.iperf3.output import Iperf3Parser
from suites.iperf3.output_formats import iperf_formats
from suites.iperf3.syntax import IPERF3_SYNTAX
from suites.iperf3.text import CONGESTION, METRICS
from suites.outputs import OutputFormat
from suites.parameters import (
    Choice,
    Parameter,
    Tuned,
    Type,
    Values,
    count_parameter,
    port_parameter,
    runtime_parameter,
    text_parameter,
)
from suites.peer import ADDRESS, PeerSuite, peer_address, port_text
from suites.programs import Program, same_package_name
from suites.runtime_checks import TRUSTED
from suites.vocab import Resource

# The parameters of iperf3.


PARAMETERS = (
    Parameter(
        name="protocol",
        title="Protocol",
        default="tcp",
        help="TCP sends as fast as the network allows; UDP sends at the given rate and counts lost datagrams.",
        option="-u",
        choices=(Choice("tcp", "TCP"), Choice("udp", "UDP")),
    ),
    Parameter(
        name="direction",
        title="Direction",
        default="send",
        help="Direction of the data, seen from the host; the peer is the other end.",
        option="-R, --bidir",
        choices=(
            Choice("send", "Send: host to peer"),
            Choice("receive", "Receive: peer to host"),
            Choice("both", "Both at once (3.7 and later)"),
        ),
    ),
    count_parameter(
        name="streams",
        title="parallel",
        default=1,
        help="Parallel connections in each direction.",
        option="-P",
        maximum=128,
    ),
    runtime_parameter(default=10.0, help="Duration of the test after the omitted seconds.", option="-t"),
    Parameter(
        name="omit",
        type=Type.DURATION,
        default=0.0,
        help="Seconds at the start that run but do not count, such as TCP slow start.",
        option="-O",
        unit="s",
        minimum=0,
        maximum=600,
        whole=True,
    ),
    Parameter(
        name="bitrate",
        title="bitrate (UDP)",
        type=Type.NUMBER,
        default=1.0,
        help="UDP rate of each stream; 0 is as fast as the host can.",
        option="-b",
        unit="Mbit/s",
        minimum=0,
        maximum=1_000_000,
        applies=is_udp,
    ),
    Parameter(
        name="length",
        type=Type.SIZE,
        default=0,
        help="Bytes of each write or UDP datagram; 0 is iperf3's default: 128 KiB, for UDP one packet.",
        option="-l",
        unit="B",
        minimum=0,
        maximum=2**20,
    ),
    Parameter(
        name="window",
        type=Type.SIZE,
        default=0,
        help="Socket buffer of both ends, which bounds the TCP window; 0 leaves it to the kernel.",
        option="-w",
        unit="B",
        minimum=0,
        maximum=512 * 2**20,
    ),
    Parameter(
        name="mss",
        title="set-mss",
        type=Type.SIZE,
        default=0,
        help="Maximum TCP segment size (MSS); 0 leaves it to the kernel: the MTU less 40 bytes of headers, or 52.",
        option="-M",
        unit="B",
        minimum=0,
        maximum=9216,
        applies=is_tcp,
    ),
    Parameter(
        name="tcp_rate",
        title="bitrate (TCP)",
        type=Type.NUMBER,
        default=0.0,
        help="Rate limit of each TCP stream, to measure below saturation; 0 is unlimited.",
        option="-b, --fq-rate",
        unit="Mbit/s",
        minimum=0,
        maximum=1_000_000,
        applies=is_tcp,
    ),
    Parameter(
        name="pacing",
        title="Pacing",
        default="application",
        help="Where TCP is paced: in iperf3, in bursts of its timer, or in the kernel, packet by packet.",
        option="-b, --fq-rate",
        choices=(Choice("application", "iperf3: in bursts (-b)"), Choice("kernel", "kernel: each packet (--fq-rate)")),
        applies=is_paced,
    ),
    text_parameter(
        name="congestion",
        help="TCP congestion control, such as cubic or bbr; empty leaves it to the kernel.",
        option="-C",
        pattern=CONGESTION.pattern,
        applies=is_tcp,
    ),
    port_parameter(default=5201, help="Port of the server end; 0 picks a free one right before the test.", option="-p"),
    ADDRESS,
)


JSON_STREAM = (3, 17)
"""The version that added --json-stream; before it only text arrives while the test runs."""

TUNED_OMIT = 2.0

IPERF3 = Program("iperf3", ("iperf3",), {**same_package_name("iperf3"), "zypper": "iperf"}, timed=True)


class Iperf3(PeerSuite):
    """TCP or UDP throughput. The host is the client; the server runs once on the peer."""

    id = "iperf3"
    title = "iperf3"
    summary = "TCP or UDP throughput between two hosts, as received."
    resource = Resource.NETWORK
    tried = TestedTool(
        "iperf3 3.12 run for real, on links of known rate, loss and pacing; 3.9 and 3.21 from captured outputs",
        "every second",
        "both ends’ processors; TCP’s window and round trip; `--json-stream` from 3.17",
    )
    program = IPERF3
    parameters = PARAMETERS
    main_parameters = ("protocol", "direction", "streams", "time", "bitrate", "address")
    syntax = IPERF3_SYNTAX
    metrics = METRICS
    parser_type = Iperf3Parser
    counting_label = "end"
    checks = IPERF3_CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of iperf3, and the text of iperf 2."""
        return iperf_formats(self)

    def workload(self, values: Values) -> Workload:
        """Return the runtime and the rate; a UDP rate missed by one percent is attributed to the network."""
        rate = _requested_rate(values)
        return Workload(
            seconds=float(values["time"]),
            ramp=float(values["omit"] or 0),
            rate_limit=RateLimit("throughput", rate, reached=0.99 if is_udp(values) else 0.95) if rate else None,
            window=int(values["window"]) or None,
        )

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return a longer run without slow start, and parameters fitted to the slower end's interface."""
        tuned = {
            "time": Tuned(TRUSTED, f"{TRUSTED:g} s give {TRUSTED:g} samples; the tool's default gives 10."),
            "omit": Tuned(TUNED_OMIT, f"TCP slow start falls into the first {TUNED_OMIT:g} s, which do not count."),
            "port": Tuned(0, "A free port on the peer; if a firewall restricts ports, set one that it permits."),
        }
        speed = link_speed(context)
        if speed is None:
            return tuned
        link = f"{speed / 1e9:g} Gbit/s"
        streams = tuned_streams(speed)
        if streams > 1:
            why = f"The slower interface does {link}; clouds limit a single TCP stream to about 5 Gbit/s of it."
            tuned["streams"] = Tuned(streams, why)
        rate = tuned_bitrate(speed, streams)
        why = f"{streams} x {rate:g} Mbit/s is 90 % of the slower interface's {link}; UDP's default is 1 Mbit/s."
        tuned["bitrate"] = Tuned(rate, why)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the server's command, for the peer, and the client's.

        If the peer's address is not known yet, a placeholder in angle brackets replaces it, which neither a shell nor a
        resolver takes for a host.
        """
        serve = ("iperf3", "-s", "-1", "-p", port_text(values, context), "--forceflush")
        return (Command(serve, Purpose.SERVE, on_peer=True), Command(_client(values, context)))

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time and, if the rate is limited, the bytes sent over the network."""
        seconds = float(values["time"]) + float(values["omit"])
        rate = _requested_rate(values)
        return Estimate(duration=seconds, network=int(rate / 8 * seconds) if rate > 0 else None)

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        streams, tcp = int(values["streams"]), values["protocol"] == "tcp"
        return Traits(
            operation={"send": "upload", "receive": "download"}.get(str(values["direction"]), "both ways at once"),
            pattern=pattern_text(str(values["protocol"]), limits=_limits(values)),
            block=int(values["length"]) or (128 * 1024 if tcp else None),  # iperf3(1): UDP uses the path MTU
            in_flight=streams,
            threads=streams,
            seconds=float(values["time"]),
        )


def _limits(values: Values) -> tuple[str, ...]:
    """Return the rate that all streams together are limited to."""
    rate = float(values["bitrate"] if is_udp(values) else values["tcp_rate"] if is_paced(values) else 0)
    return (f"{rate * int(values['streams']):g} Mbit/s",) if rate else ()


def _client(values: Values, context: Context) -> tuple[str, ...]:
    """Return the client's arguments. Text output is in kbit/s: in Mbit/s a rate under 100 has only three digits."""
    words = ["iperf3", "-c", peer_address(values, context), "-p", port_text(values, context)]
    if is_udp(values):
        words += ["-u", "-b", _rate_word(float(values["bitrate"]))]
    if is_paced(values):
        words += ["--fq-rate" if values["pacing"] == "kernel" else "-b", _rate_word(float(values["tcp_rate"]))]
    words += {"send": [], "receive": ["-R"], "both": ["--bidir"]}[str(values["direction"])]
    for option, name in (("-P", "streams"), ("-O", "omit"), ("-l", "length"), ("-w", "window"), *_TCP):
        words += _option(option, name, values)
    words += ["-t", str(int(values["time"])), "-i", "1"]
    version = version_of(context.facts, "iperf3")
    words += ["--json-stream"] if version is not None and version >= JSON_STREAM else ["--forceflush", "-f", "k", "-V"]
    return tuple(words)


_TCP = (("-M", "mss"), ("-C", "congestion"))


def _option(option: str, name: str, values: Values) -> list[str]:
    """Return the option's arguments, or none if the parameter has no effect or the tool's default."""
    parameter = next(parameter for parameter in PARAMETERS if parameter.name == name)
    value = values[name]
    if value == parameter.default or not parameter.applies(values):
        return []
    return [option, str(value) if isinstance(value, str) else str(int(value))]


def _requested_rate(values: Values) -> float:
    """Return the bits per second requested of all streams and directions; 0 without a limit."""
    megabits = float(values["bitrate" if is_udp(values) else "tcp_rate"] or 0)
    return megabits * 1e6 * int(values["streams"]) * (2 if values["direction"] == "both" else 1)


def _rate_word(megabits: float) -> str:
    """Return the rate as iperf3 reads it: M is 10^6 bits per second, 0 is unlimited."""
    return f"{megabits:.6f}".rstrip("0").rstrip(".") + ("M" if megabits else "")
