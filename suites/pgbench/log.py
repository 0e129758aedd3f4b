"""pgbench's log of transactions: how many of them it holds, and what the host makes of it: median, p95 and p99."""

from suites.base import Command
from suites.disk import MIB
from suites.host_files import HostFile
from suites.parameters import Parameter, Tuned, Type, Values

LOGGED = Parameter(
    name="logged",
    title="Transactions logged",
    type=Type.NUMBER,
    default=0.0,
    help="The share of transactions whose latency is kept for the median, p95 and p99; 0 is none, as pgbench has it.",
    option="-l, --sampling-rate",
    unit="%",
    minimum=0,
    maximum=100,
    identity=False,  # a line in memory for each transaction: a microsecond, where one takes from 20 on
)

LINE = 40
"""Bytes of a line: seven numbers at most, of which a number of microseconds and one of seconds are the longest."""

LARGEST = 64 * MIB
"""Bytes of a log that is read within a second, and that nobody notices on a disk."""

WRITING, READING = 10_000, 50_000
"""Transactions a second that a thread of pgbench may reach where each waits for a commit, and where it only reads."""

SCRIPT = "percentiles.sh"

# The log is named after the process, with a number behind for each thread but the first. What a run that was broken off
# left behind is older. Failed and skipped transactions have a word in place of their time. Nearest rank: the least time
# that so many of a hundred transactions do not exceed.
_TEXT = r"""# sh percentiles.sh: the median, p95 and p99 of the transactions in the log of the last pgbench here.
last=$(ls -t pgbench_log.* 2>/dev/null | head -n 1 | cut -d. -f2)
cat "pgbench_log.$last" "pgbench_log.$last".* 2>/dev/null |
    awk '$3 ~ /^[0-9]+$/ { number[$3]++; all++ }
        END { print -1, all + 0; for (time in number) print time, number[time] }' |
    sort -n |
    awk '$1 < 0 { all = $2; next }
        { for (sofar += $2; place < 3 && sofar >= int((all * rank[place] + 99) / 100); place++) time[place] = $1 }
        BEGIN { rank[0] = 50; rank[1] = 95; rank[2] = 99; place = 0 }
        END { printf "%d logged transactions: ", all
            printf "p50 = %d us, p95 = %d us, p99 = %d us\n", time[0], time[1], time[2] }'
rm -f pgbench_log.*
"""

SUMMARY = Command(("sh", SCRIPT), files=(HostFile(SCRIPT, text=_TEXT),))


def is_logged(values: Values) -> bool:
    """Whether transactions are logged."""
    return _share(values) > 0


def log_options(values: Values) -> list[str]:
    """Return pgbench's options for its log, where there is one."""
    if not is_logged(values):
        return []
    share = _share(values)
    return ["-l"] if share == 1 else ["-l", f"--sampling-rate={share:g}"]


def log_size(values: Values) -> int:
    """Return the bytes that the log may have at a rate that such transactions may reach."""
    return round(LINE * _transactions(values) * _share(values))


def fitting_share(values: Values) -> float:
    """Return the largest share, in percent, whose log stays small whatever the rate."""
    most = LINE * _transactions(values)
    return 100.0 if most <= LARGEST else float(f"{100 * LARGEST / most:.2g}")


def tuned_share(values: Values) -> Tuned:
    """Return that share, and why."""
    share = fitting_share(values)
    whole = "Every transaction is logged" if share == 100 else f"So many keep the log below {LARGEST // MIB} MiB"
    return Tuned(share, f"{whole}, for the median, p95 and p99; pgbench itself tells the mean alone.")


def _share(values: Values) -> float:
    return float(values.get(LOGGED.name, LOGGED.default)) / 100  # a stored step may be older than the parameter


def _transactions(values: Values) -> float:
    reading = values["script"] == "select-only"
    plausible = float((READING if reading else WRITING) * int(values["threads"]))
    rate = float(values["rate"])
    return float(values["time"]) * (min(rate, plausible) if rate else plausible)
