"""Parameters of the network probe."""

from dataclasses import replace

from suites.memory_blocks import BLOCKS
from suites.parameters import Choice, Parameter, Type, Values, flag_parameter, port_parameter
from suites.peer import ADDRESS
from suites.probe import BUILD, SWEEP, THREADS

MOST_THREADS = 256
"""Limit of the probe."""

LARGEST_BUFFER = 64 * 2**20

DATAGRAM = 1472
"""Bytes of a packet of 1500 after the headers of IPv4 (20) and UDP (8)."""

LARGEST_DATAGRAM = 65507


def uses_udp(values: Values) -> bool:
    """Return whether UDP is measured."""
    return values.get("protocol") != "tcp"


def uses_tcp(values: Values) -> bool:
    """Return whether TCP is measured."""
    return values.get("protocol") != "udp"


PROTOCOL = Parameter(
    name="protocol",
    title="Protocol",
    default="both",
    help="TCP sends as fast as the network allows; UDP sends at the given rate and counts lost datagrams.",
    option="--protocols",
    choices=(Choice("both", "TCP, then UDP"), Choice("tcp", "TCP"), Choice("udp", "UDP")),
)

TESTS = Parameter(
    name="tests",
    title="Tests",
    default="all",
    help="Upload: host to peer. Download: peer to host. Latency: round trips of a buffer.",
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
    help="Bytes of each write and of each round trip, such as “1 B, 1 KiB, 64 KiB, 1 MiB”.",
)

TIME = Parameter(
    name="time",
    title="Time",
    type=Type.DURATION,
    default=1.0,
    help="Measured time of each combination of protocol, test, buffer size and threads.",
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
    help="Seconds at the start of each that run but do not count, such as TCP slow start.",
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
    help="Total rate of all UDP flows; 0 is as fast as the host can, where the host itself causes most of the loss.",
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
    help="Largest UDP datagram; a larger buffer is split. Datagrams larger than a packet are fragmented.",
    option="--datagram",
    unit="B",
    minimum=1,
    maximum=LARGEST_DATAGRAM,
    applies=uses_udp,
)

NODELAY = flag_parameter(
    name="nodelay",
    title="TCP_NODELAY",
    default=True,
    help="Send each write at once. Otherwise Nagle's algorithm delays small writes until earlier ones are "
    "acknowledged.",
    option="--nodelay",
    applies=uses_tcp,
)

PORT = port_parameter(
    title="Port",
    default=0,
    help="Port of the server end, for TCP and UDP; 0 picks a free one right before the test.",
    option="--port",
)

FLOWS = replace(
    THREADS,
    default=1,
    maximum=MOST_THREADS,
    help="Number of concurrent flows, each with its own thread at both ends; 0 is one per usable CPU of the host.",
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
