"""fio-slo: the highest rate of I/Os of a disk whose latency percentile stays within a limit."""

from collections.abc import Sequence
from dataclasses import replace

from suites.base import Command, Context, Estimate, Purpose, TestedTool, Workload
from suites.command_line import CommandSyntax
from suites.disk import DIRECTORY
from suites.fio.parameters import BLOCK_SIZE, DIRECT, RW, SIZE, writes
from suites.fio.suite import FILES, FIO, NAME, layout_options
from suites.fio.syntax import FIO_TEXTS
from suites.fio.tuning import tune_fio
from suites.host_files import HostFile
from suites.parameters import Tuned, Values, size_word
from suites.slo.search import (
    DRIVER,
    EACH,
    NEAREST_RANK,
    READER,
    SECONDS,
    SENDERS,
    SETTLE,
    SLO_PARAMETERS,
    SloSearch,
    driven,
)
from suites.vocab import Resource

LOG = f"{NAME}_lat.log"

# fio's status documents cannot leave the first seconds out: while threads sleep they are printed up to a second late,
# because each waits until every thread has done one more I/O (stat.c, rusage_sem).
_READ = rf"""# sh percentiles.sh SECONDS: the latencies of the last fio here in us, without the first {SETTLE} s.
awk -F ', *' -v end="$1" '
    $1 >= {SETTLE}000 && $1 < end * 1000 {{ count[int($2 / 100)]++ }}
    END {{ for (time in count) print time / 10, count[time]; print -1, end - {SETTLE} }}' {LOG} | {NEAREST_RANK}
status=$?
rm -f {LOG}
exit "$status"
"""

_PATTERNS = {"read", "write", "randread", "randwrite"}

PATTERN = replace(RW, default="randread", choices=tuple(choice for choice in RW.choices if choice.value in _PATTERNS))

BLOCK = replace(BLOCK_SIZE, applies=lambda _values: True)

FIO_SLO_PARAMETERS = (*SLO_PARAMETERS, DIRECTORY, PATTERN, BLOCK, replace(DIRECT, default=True), SIZE)

_TUNED = frozenset({"directory", "direct"})

FILE = f"{NAME}.0.0"
"""The file that the layout writes, which all threads share."""

_FIXED = {"--name", "--filename", "--numjobs", "--rate_iops", "--rate_process", "--ioengine", "--time_based",
          "--thread", "--group_reporting", "--norandommap", "--randrepeat", "--disable_clat", "--disable_slat",
          "--write_lat_log", "--per_job_logs"}  # fmt: skip


def _own(words: Sequence[str]) -> list[str]:
    """Return the words of the driver, and of fio those that state a parameter; fio's runtime is the window again."""
    fio = words.index("fio") if "fio" in words else len(words)
    return [*words[:fio], *(word for word in words[fio + 1 :] if word.split("=")[0] not in {*_FIXED, "--runtime"})]


class FioSlo(SloSearch):
    """Up to some 256 threads, each with one I/O at a time, at random moments: together an open loop.

    The rate limit of one job with a queue is a closed loop: fio waits for all I/Os in flight before it sleeps (io_u.c,
    rate_ddir). Its remedy, io_submit_mode=offload, does not end with a rate in fio 3.33 (tried).
    """

    id = "fio-slo"
    title = "fio SLO search"
    summary = "The highest IOPS of a disk whose p99 latency stays within a target: load against latency, open loop."
    resource = Resource.DISK
    tried = TestedTool("fio 3.33 run for real", "each window", "rates are bracketed, bisected and confirmed")
    program = FIO
    has_senders = True
    parameters = FIO_SLO_PARAMETERS
    syntax = CommandSyntax(
        (DRIVER.name,), extra={"--bs": "block_size"}, texts=FIO_TEXTS, unshown=frozenset({"directory"}), normalised=_own
    )
    directory_parameter = "directory"

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the directory and the file that fio's own suite would take, all of it in one."""
        found = {name: tuned for name, tuned in tune_fio(context).items() if name in {*_TUNED, "size", "numjobs"}}
        size, jobs = found.pop("size", None), found.pop("numjobs", None)
        if size is not None:
            whole = int(size.value) * (int(jobs.value) if jobs else 1)
            found["size"] = Tuned(whole, size.why)
        return found

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the layout of the file, and the search."""
        words = (
            "fio", f"--name={NAME}", f"--filename={FILE}", f"--rw={values['rw']}",
            f"--bs={size_word(int(values['block_size']))}", f"--direct={int(values['direct'])}",
            f"--size={size_word(int(values['size']))}", "--ioengine=psync", f"--numjobs={SENDERS}",
            f"--rate_iops={EACH}", "--rate_process=poisson", "--norandommap", "--randrepeat=0",
            f"--runtime={SECONDS}", "--time_based", "--thread", "--group_reporting", f"--write_lat_log={NAME}",
            "--per_job_logs=0", "--disable_clat=1", "--disable_slat=1",
        )  # fmt: skip
        return (
            Command(("fio", *layout_options({**values, "numjobs": 1})), Purpose.PREPARE, targets=FILES),
            Command(driven(values, words), files=(DRIVER, HostFile(READER, text=_READ)), targets=FILES),
        )

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of the usual number of windows, and the size of the file."""
        size = int(values["size"])
        return replace(
            super().estimate(values, context), written=None if writes(values) else 0, prepared=size, space=size
        )

    def workload(self, values: Values) -> Workload:
        """Return whether the I/O goes through the page cache."""
        return Workload(buffered=not values["direct"])
