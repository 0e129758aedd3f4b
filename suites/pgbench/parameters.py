"""What can be chosen about pgbench."""

from suites.oltp.server import TABLES, is_own
from suites.parameters import Choice, Parameter, Type
from suites.pgbench.log import LOGGED

SCRIPT = Parameter(
    name="script",
    title="Transaction",
    type=Type.CHOICE,
    default="tpcb-like",
    help="What each transaction does. Rates of different ones do not compare.",
    option="-b",
    choices=(
        Choice("tpcb-like", "tpcb-like: three updates, a read, an insert"),
        Choice("simple-update", "simple-update: without the contended tables"),
        Choice("select-only", "select-only: one read"),
    ),
)

SCALE = Parameter(
    name="scale",
    title="Scale",
    type=Type.INTEGER,
    default=1,
    help="Branches, of 100,000 accounts and about 16 MB each. Updates of one branch wait for each other.",
    option="-s",
    minimum=1,
    maximum=100_000,
)

CLIENTS = Parameter(
    name="clients",
    title="Clients",
    type=Type.INTEGER,
    default=1,
    help="How many sessions work at once.",
    option="-c",
    minimum=1,
    maximum=10_000,
)

THREADS = Parameter(
    name="threads",
    title="Threads",
    type=Type.INTEGER,
    default=1,
    help="How many threads of pgbench share the clients. One alone may be what limits many.",
    option="-j",
    minimum=1,
    maximum=4096,
)

TIME = Parameter(
    name="time",
    title="Time",
    type=Type.DURATION,
    default=10.0,
    help="How long the test runs.",
    option="-T",
    minimum=1,
    maximum=86400,
    whole=True,
)

PROTOCOL = Parameter(
    name="protocol",
    title="Protocol",
    type=Type.CHOICE,
    default="simple",
    help="How statements are sent. Prepared ones are planned once, which for short reads can nearly double the rate.",
    option="-M",
    choices=(
        Choice("simple", "simple: text, planned each time"),
        Choice("extended", "extended: parameters apart"),
        Choice("prepared", "prepared: planned once"),
    ),
)

RATE = Parameter(
    name="rate",
    title="Rate limit",
    type=Type.NUMBER,
    default=0.0,
    help="Transactions a second that are asked for, 0 for as many as can be; the latency then is that of this load.",
    option="-R",
    unit="1/s",
    minimum=0,
    maximum=10**7,
)

PORT = Parameter(
    name="port",
    title="Port",
    type=Type.INTEGER,
    default=5432,
    help="The server's port.",
    option="-p",
    minimum=1,
    maximum=65535,
    applies=lambda values: not is_own(values),
    identity=False,
)

PGBENCH_PARAMETERS = (SCRIPT, SCALE, CLIENTS, THREADS, TIME, PROTOCOL, RATE, LOGGED, TABLES)
