"""The parameters of the network probe."""

from dataclasses import replace

from suites.memory_blocks.parameters import BLOCKS
from suites.parameters import Choice, Parameter, Type, Values
from suites.peer import ADDRESS
from suites.probe.probe import BUILD, SWEEP, THREADS

MOST_THREADS = 256
"""What the probe accepts."""

LARGEST_BUFFER = 64 * 2**20

DATAGRAM = 1472
"""Bytes that a packet of 1500 holds beside the headers of IPv4 (20) and UDP (8)."""

LARGEST_DATAGRAM = 65507


def uses_udp(values: Values) -> bool:
    """Return whether anything is measured over UDP."""
    return values.get("protocol") != "tcp"


def uses_tcp(values: Values) -> bool:
    """Return whether anything is measured over TCP."""
    return values.get("protocol") != "udp"


PROTOCOL = Parameter(
    name="protocol",
    title="Protocol",
    type=Type.CHOICE,
    default="both",
    help="TCP carries as much as the network lets it; UDP sends at the rate you give, and what is lost is counted.",
    option="--protocols",
    choices=(Choice("both", "TCP, then UDP"), Choice("tcp", "TCP"), Choice("udp", "UDP")),
)

TESTS = Parameter(
    name="tests",
    title="Tests",
    type=Type.CHOICE,
    default="all",
    help="Upload goes from the host to the peer, download back; latency is a buffer there and back, again and again.",
    option="--tests",
    choices=(
        Choice("all", "Upload, download and latency"),
        Choice("upload,download", "Upload and download"),
        Choice("upload", "Upload"),
        Choice("download", "Download"),
        Choice("latency", "Latency"),
    ),
)

BUFFERS = replace(
    BLOCKS,
    name="buffers",
    title="Buffer sizes",
    help="Bytes of each write, and of what goes there and back: sizes such as “1 B, 1 KiB, 64 KiB, 1 MiB”.",
)

TIME = Parameter(
    name="time",
    title="Time",
    type=Type.DURATION,
    default=1.0,
    help="How long each combination of protocol, test, buffer size and threads is measured.",
    option="--time",
    unit="s",
    minimum=0.1,
    maximum=86400,
)

OMIT = Parameter(
    name="omit",
    title="Omit",
    type=Type.DURATION,
    default=0.0,
    help="Seconds at the beginning of each that run but do not count, such as TCP's slow start.",
    option="--omit",
    unit="s",
    minimum=0,
    maximum=600,
)

RATE = Parameter(
    name="rate",
    title="UDP rate",
    type=Type.INTEGER,
    default=0,
    help="What all UDP flows together send; 0 is as fast as the host can, and most of the loss is then its own doing.",
    option="--rate",
    unit="Mbit/s",
    minimum=0,
    maximum=1_000_000,
    applies=uses_udp,
)

DATAGRAM_SIZE = Parameter(
    name="datagram",
    title="Datagram",
    type=Type.SIZE,
    default=DATAGRAM,
    help="The largest UDP datagram; a larger buffer is sent as several. More than a packet holds travels in fragments.",
    option="--datagram",
    unit="B",
    minimum=1,
    maximum=LARGEST_DATAGRAM,
    applies=uses_udp,
)

NODELAY = Parameter(
    name="nodelay",
    title="TCP_NODELAY",
    type=Type.FLAG,
    default=True,
    help="Each write leaves at once. Without it Nagle's algorithm lets small ones wait until others are acknowledged.",
    option="--nodelay",
    applies=uses_tcp,
)

PORT = Parameter(
    name="port",
    title="Port",
    type=Type.INTEGER,
    default=0,
    help="The port of the server end, for TCP and UDP; 0 takes one that is free there, right before the test.",
    option="--port",
    minimum=0,
    maximum=65535,
    identity=False,
)

FLOWS = replace(
    THREADS,
    default=1,
    maximum=MOST_THREADS,
    help="How many flows at once, each in a thread of its own at both ends; 0 is one for each usable CPU of the host.",
)

PARAMETERS = (
    PROTOCOL,
    TESTS,
    BUFFERS,
    FLOWS,
    replace(SWEEP, default="single"),
    TIME,
    OMIT,
    RATE,
    DATAGRAM_SIZE,
    NODELAY,
    PORT,
    replace(ADDRESS, option="--connect"),
    BUILD,
)
