"""The parameters of latency under load: how round trips are timed, and what loads the network meanwhile."""

from dataclasses import replace

from suites.iperf3.parameters import PARAMETERS as LOAD_PARAMETERS
from suites.parameters import Choice, Parameter, Type, Values
from suites.probe.probe import BUILD

PING, PROBE = "ping", "probe"

LOAD = ("protocol", "direction", "streams", "bitrate", "window", "congestion", "address")
"""Parameters of iperf3 that say how it loads the network."""


def _uses_probe(values: Values) -> bool:
    return values.get("method") == PROBE


def _of_load(name: str) -> Parameter:
    return next(parameter for parameter in LOAD_PARAMETERS if parameter.name == name)


METHOD = Parameter(
    name="method",
    title="Round trips by",
    type=Type.CHOICE,
    default=PING,
    help="ping sends ICMP; where it is missing or ICMP is dropped, Benchwright's own probe sends 64 B of UDP and back.",
    choices=(Choice(PING, "ping (ICMP)"), Choice(PROBE, "Benchwright's probe (UDP)")),
)

TIME = Parameter(
    name="time",
    title="Time of each phase",
    type=Type.DURATION,
    default=30.0,
    help="How long round trips are timed while the network is idle, and again while it is loaded.",
    unit="s",
    minimum=1,
    maximum=3600,
    whole=True,
)

INTERVAL = Parameter(
    name="interval",
    title="Interval",
    type=Type.NUMBER,
    default=0.2,
    help="Seconds between two round trips; older versions of ping leave less than 0.2 s to root.",
    option="-i",
    unit="s",
    minimum=0.01,
    maximum=10,
)

PORT = replace(
    _of_load("port"),
    default=0,
    help="The port of iperf3's server end; 0 takes one that is free there, right before the test.",
)

PARAMETERS = (
    METHOD,
    TIME,
    INTERVAL,
    *(_of_load(name) for name in LOAD),
    PORT,
    replace(BUILD, applies=_uses_probe),
)
