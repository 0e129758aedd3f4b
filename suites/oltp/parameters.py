"""What can be chosen about sysbench's database tests."""

from suites.oltp.server import is_own
from suites.parameters import Choice, Parameter, Type

PGSQL, MYSQL_DRIVER = "pgsql", "mysql"

WORKLOAD = Parameter(
    name="workload",
    title="Transaction",
    type=Type.CHOICE,
    default="oltp_read_write",
    help="What each transaction does. Rates of different ones do not compare.",
    choices=(
        Choice("oltp_read_only", "oltp_read_only: 14 reads of rows and ranges"),
        Choice("oltp_read_write", "oltp_read_write: these, and 4 writes"),
        Choice("oltp_point_select", "oltp_point_select: one read of one row"),
        Choice("oltp_write_only", "oltp_write_only: 4 writes"),
    ),
)

DRIVER = Parameter(
    name="driver",
    title="Database system",
    type=Type.CHOICE,
    default=MYSQL_DRIVER,
    help="What is measured. A server of the test's own is MariaDB or PostgreSQL, whichever is installed.",
    option="--db-driver",
    choices=(Choice(MYSQL_DRIVER, "MySQL or MariaDB"), Choice(PGSQL, "PostgreSQL")),
)

TABLE_COUNT = Parameter(
    name="table_count",
    title="Tables",
    type=Type.INTEGER,
    default=1,
    help="How many tables there are.",
    option="--tables",
    minimum=1,
    maximum=10_000,
)

TABLE_SIZE = Parameter(
    name="table_size",
    title="Rows",
    type=Type.INTEGER,
    default=10_000,
    help="Rows of each table, about 260 B each with their indexes.",
    option="--table-size",
    minimum=1,
    maximum=10**10,
)

DISTRIBUTION = Parameter(
    name="distribution",
    title="Which rows",
    type=Type.CHOICE,
    default="special",
    help="How rows are drawn. sysbench's own asks for 1 % of them in 3 of 4 cases, so that little comes from the disk.",
    option="--rand-type",
    choices=(
        Choice("special", "special: few rows most often"),
        Choice("uniform", "uniform: all alike"),
        Choice("gaussian", "gaussian: those in the middle more often"),
        Choice("pareto", "pareto: the first more often"),
        Choice("zipfian", "zipfian: the first much more often"),
    ),
)

PORT = Parameter(
    name="port",
    title="Port",
    type=Type.INTEGER,
    default=0,
    help="The server's port; 0 for the usual one, 3306 of MySQL and 5432 of PostgreSQL.",
    minimum=0,
    maximum=65535,
    applies=lambda values: not is_own(values),
    identity=False,
)

CONFIG_FILE = Parameter(
    name="config_file",
    title="Password file",
    type=Type.TEXT,
    default="",
    help="A file on the host, readable by you alone, with a line mysql-password=…; PostgreSQL's is ~/.pgpass instead.",
    option="--config-file",
    pattern=r"/.*",
    applies=lambda values: not is_own(values),
    identity=False,
)
"""sysbench takes the options of its command line from such a file (--config-file); it reads no my.cnf."""
