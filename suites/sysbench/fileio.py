"""sysbench fileio: reads and writes of a set of files, as databases were long sized by."""

from collections.abc import Mapping
from dataclasses import replace

from suites.base import Command, Context, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.disk import GIB, MIB, amount, best_directory, whole_mebibytes
from suites.facts import Directory, Facts, known
from suites.parameters import Parameter, Tuned, Values
from suites.runtime_checks import TRUSTED
from suites.sysbench.common import PACKAGES, command, is_old
from suites.sysbench.fileio_checks import FILEIO_CHECKS, TUNED_BLOCK, TUNED_FILES, TUNED_THREADS
from suites.sysbench.fileio_output import METRICS, conclude, read_live
from suites.sysbench.fileio_parameters import CREATION, FILEIO_PARAMETERS, mixes, queues, writes
from suites.sysbench.output import SysbenchParser
from suites.targets import Match, Target
from suites.vocab import Metric, Resource

DIRECT_TOTAL = 2 * GIB
"""Bytes of all files with direct I/O: no cache to outgrow, and written within 35 s even at 64 MB/s."""

SHARE_OF_FREE = 10

_FILES = (Target("test_file.", match=Match.NUMBERED),)
"""What sysbench calls its files, in the directory in which it runs."""


class SysbenchFileio:
    """The file test: six patterns over a set of files, by threads that each wait for their I/O."""

    id = "sysbench-fileio"
    title = "sysbench file I/O"
    summary = "Reads and writes of a set of files, in sequence or at random, with a database's ways of flushing."
    resource = Resource.DISK
    tool = "sysbench"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = FILEIO_PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = FILEIO_CHECKS

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return small blocks by many threads past the page cache, on the roomiest disk."""
        tuned = {
            "mode": Tuned("rndrd", "Random reads are what volumes are quoted in, and neither wear nor fill one."),
            "block_size": Tuned(
                TUNED_BLOCK, "4 KiB find the IOPS limit; sysbench's own 16 KiB often meet the throughput limit first."
            ),
            "threads": Tuned(
                TUNED_THREADS, f"A thread keeps one I/O in flight: {TUNED_THREADS} keep a volume busy, 1 waits for it."
            ),
            "file_num": Tuned(TUNED_FILES, "A file for each thread; sysbench's own 128 make every flush 128 flushes."),
            "time": Tuned(
                TRUSTED, f"{TRUSTED:g} s give {TRUSTED:g} samples of one second; sysbench's own 10 s give 10."
            ),
        }
        facts, directory = context.facts, best_directory(context.facts)
        if facts is None or directory is None:
            return tuned
        tuned["directory"] = Tuned(directory.path, "The most room of the directories that were tried.")
        tuned["total_size"] = _total(facts, directory)
        if directory.direct is True:
            why = f"{directory.path} accepts direct I/O (tried), so that the device is measured, not the page cache."
            tuned["extra_flags"] = Tuned("direct", why)
            tuned["fsync_freq"] = Tuned(
                0, "Direct I/O leaves nothing in memory to flush; each flush would be of every file."
            )
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the command that writes the files (seqwr does that itself), and the one that measures."""
        words = [*_file_words(values), *_test_words(values, context)]
        run = replace(command("fileio", words, values, context), targets=_FILES)
        if values["mode"] == CREATION:
            return (run,)
        test = "--test=fileio" if is_old(context) else "fileio"
        return (Command(("sysbench", test, *_file_words(values), "prepare"), Purpose.PREPARE, targets=_FILES), run)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return what a trial takes; where it writes, the device decides how much."""
        del context
        size = int(values["total_size"])
        return Estimate(
            duration=float(values["time"]),
            written=None if writes(values) else 0,
            prepared=0 if values["mode"] == CREATION else size,
            space=size,
        )

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return SysbenchParser("fileio", read_live, conclude)


def _file_words(values: Values) -> list[str]:
    words = [
        f"--file-num={values['file_num']}",
        f"--file-total-size={_size(int(values['total_size']))}",
        f"--file-block-size={values['block_size']}",
    ]
    return words if values["extra_flags"] == "none" else [*words, f"--file-extra-flags={values['extra_flags']}"]


def _test_words(values: Values, context: Context) -> list[str]:
    words = [f"--file-test-mode={values['mode']}"]
    if values["io_mode"] != "sync":
        words.append(f"--file-io-mode={values['io_mode']}")
    if queues(values):
        words.append(f"--file-async-backlog={values['async_backlog']}")
    if writes(values):
        words += [
            f"--file-fsync-freq={values['fsync_freq']}",
            f"--file-fsync-all={_switch(values['fsync_all'])}",
            f"--file-fsync-end={_switch(values['fsync_end'])}",
            f"--file-fsync-mode={values['fsync_mode']}",
        ]
    if mixes(values):
        words.append(f"--file-rw-ratio={float(values['rw_ratio']):g}")
    # Without it the old generation reads the same blocks in the same order each time. 1.0 has no such option.
    return [*words, "--init-rng=on"] if is_old(context) else words


def _switch(value: object) -> str:
    return "on" if value else "off"


def _size(size: int) -> str:
    """Return `size` as sysbench takes it, where M and G are powers of 1024."""
    for power, letter in ((GIB, "G"), (MIB, "M")):
        if size % power == 0:
            return f"{size // power}{letter}"
    return str(size)


def _total(facts: Facts, directory: Directory) -> Tuned:
    free, memory = known(directory.free), facts.memory_for_cache()
    if directory.direct is True or memory is None:
        limit = DIRECT_TOTAL if free is None else min(DIRECT_TOTAL, free // SHARE_OF_FREE)
        why = "small enough to write quickly; direct I/O has no page cache to outgrow"
    else:
        limit = 2 * memory if free is None else min(2 * memory, free // 2)
        why = f"against {amount(memory)} of memory, which can cache files of less than twice that"
    total = whole_mebibytes(limit / TUNED_FILES) * TUNED_FILES
    return Tuned(total, f"{TUNED_FILES} files, {amount(total)} in all: {why}.")
