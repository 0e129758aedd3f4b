"""sysbench fileio: reads and writes of a set of files."""

from collections.abc import Mapping
from dataclasses import replace

from suites.base import Command, Context, Estimate, Purpose, Suite, TestedTool, Workload
from suites.disk import DIRECT_TOTAL, GIB, MIB, best_directory, room_for, whole_mebibytes
from suites.equivalents import (
    DISK_QUESTION,
    Equivalent,
    MetricMapping,
    ParameterMapping,
    Traits,
    at_least_a_second,
    backwards,
    mapped,
    mix_text,
    pattern_text,
)
from suites.facts import Directory, Facts
from suites.fio.parameters import in_flight, total_size
from suites.outputs import OutputFormat, TrialParser
from suites.parameters import Tuned, Value, Values
from suites.quantities import quantity
from suites.runtime_checks import TRUSTED
from suites.sysbench.fileio_output import (
    FILEIO_CHECKS,
    FILEIO_LINE,
    FILEIO_STATED,
    IOPS,
    METRICS,
    TUNED_BLOCK,
    TUNED_FILES,
    TUNED_THREADS,
    conclude,
    read_live,
)
from suites.sysbench.fileio_parameters import (
    CREATION,
    FILEIO_PARAMETERS,
    FILES,
    direct,
    mixes,
    queues,
    writes,
)
from suites.sysbench.output import SYSBENCH, SysbenchParser, command, is_old, requested_rate, sysbench_syntax
from suites.sysbench.output_formats import sysbench_format
from suites.targets import Match, Target
from suites.vocab import Resource

_FILES = (Target("test_file.", match=Match.NUMBERED),)
"""sysbench's file names, in its working directory."""


_OF_FIO: Mapping[Value, Value] = {
    "seqrd": "read", "seqwr": "write", "rndrd": "randread", "rndwr": "randwrite", "rndrw": "randrw",
}  # fmt: skip
_DIRECT: Mapping[Value, Value] = {"direct": True, "none": False}


def _of_each_thread(value: Value, values: Values, _facts: Facts | None) -> Value:
    """Return the bytes of each of fio's files: it has one per job, sysbench's threads share all."""
    return whole_mebibytes(int(value) / int(values["threads"]))


def _of_all_jobs(_value: Value, values: Values, _facts: Facts | None) -> Value:
    return total_size(values)


def _threads_of_fio(_value: Value, values: Values, _facts: Facts | None) -> Value:
    """Return the threads that keep as many requests in flight as fio's jobs do: each waits for its own."""
    return in_flight(values)


def _share_of_ratio(value: Value, _values: Values, _facts: Facts | None) -> Value:
    return round(100 * _read_share(float(value)))


def _ratio_of_share(value: Value, _values: Values, _facts: Facts | None) -> Value:
    return int(value) / (100 - int(value))


def _read_share(ratio: float) -> float:
    """Return the share of reads of a ratio of reads to writes."""
    return ratio / (1 + ratio)


def _every(_value: Value, values: Values, _facts: Facts | None) -> Value:
    """Return after how many writes sysbench flushes."""
    return 1 if values["fsync_all"] else int(values["fsync_freq"])


class SysbenchFileio(Suite):
    """File I/O: six patterns over a set of files, with threads that each wait for their I/O."""

    id = "sysbench-fileio"
    title = "sysbench file I/O"
    summary = "Sequential or random reads and writes of a set of files, with the flush modes of databases."
    resource = Resource.DISK
    tried = TestedTool(
        "sysbench 1.0.20 run for real; 0.4.12 from a captured output",
        "every second with 1.0, not with 0.4",
        "all six modes; sync, async (its latencies are of handing over) and mmap",
    )
    program = SYSBENCH
    parameters = FILEIO_PARAMETERS
    main_parameters = ("mode", "block_size", "total_size", "threads", "time", "extra_flags")
    syntax = sysbench_syntax("fileio")
    metrics = METRICS
    directory_parameter = "directory"
    uniform = True
    checks = FILEIO_CHECKS
    equivalents = (
        Equivalent(
            "fio",
            DISK_QUESTION,
            (
                ParameterMapping("directory", "directory"),
                ParameterMapping("mode", "rw", mapped(_OF_FIO), backwards(_OF_FIO), required=True),
                ParameterMapping("block_size", "block_size"),
                ParameterMapping("total_size", "size", _of_each_thread, _of_all_jobs),
                ParameterMapping("extra_flags", "direct", mapped(_DIRECT), backwards(_DIRECT)),
                ParameterMapping("threads", "numjobs", backward=_threads_of_fio, required=True),
                ParameterMapping("threads", "iodepth", lambda *_: 1, _threads_of_fio),
                ParameterMapping("file_num", "numjobs", lambda _value, values, _facts: values["threads"]),
                ParameterMapping("rw_ratio", "rwmixread", _share_of_ratio, _ratio_of_share),
                ParameterMapping("fsync_freq", "fsync", _every, lambda value, *_: 0 if value == 1 else value),
                ParameterMapping("fsync_all", "fsync", _every, lambda value, *_: value == 1),
                ParameterMapping("time", "runtime", at_least_a_second, at_least_a_second),
                ParameterMapping("fsync_end", "end_fsync"),
            ),
            tuple(
                MetricMapping((ours,), (fios,))
                for ours, fios in (("iops",) * 2, ("bandwidth",) * 2, ("latency_mean", "total_latency_mean"))
            ),
            fixed=(("ioengine", "psync"),),
            fixed_backward=(("file_num", 1), ("fsync_freq", 0)),
        ),
    )

    def workload(self, values: Values) -> Workload:
        """Return the expected work; the I/Os in flight of asynchronous modes are not known."""
        depth = int(values["threads"]) if values["io_mode"] == "sync" else None
        every = int(_every(0, values, None))
        return Workload(
            buffered=not direct(values),
            queue_depth=depth,
            deepened_by="threads",
            writes_per_sync=every or None if writes(values) else None,
            rate_limit=requested_rate(values, IOPS.name),
        )

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return small blocks by many threads with direct I/O, on the disk with the most free space."""
        tuned = {
            "mode": Tuned("rndrd", "Volumes are rated in random reads, which neither wear nor fill a device."),
            "block_size": Tuned(
                TUNED_BLOCK,
                "4 KiB measures the IOPS limit; sysbench's default of 16 KiB often reaches the throughput limit first.",
            ),
            "threads": Tuned(
                TUNED_THREADS,
                f"One I/O in flight per thread: {TUNED_THREADS} keep a volume busy, 1 measures the round trip.",
            ),
            "file_num": Tuned(
                TUNED_FILES, "One file per thread; with sysbench's default of 128 every flush is 128 flushes."
            ),
            "time": Tuned(
                TRUSTED, f"{TRUSTED:g} s give {TRUSTED:g} samples of one second; sysbench's default of 10 s gives 10."
            ),
        }
        facts, directory = context.facts, best_directory(context.facts)
        if facts is None or directory is None:
            return tuned
        tuned["directory"] = Tuned(directory.path, "Most free space of the directories tried.")
        tuned["total_size"] = _total(facts, directory)
        if directory.direct is True:
            why = f"{directory.path} accepts direct I/O (tried): measures the device, not the page cache."
            tuned["extra_flags"] = Tuned("direct", why)
            tuned["fsync_freq"] = Tuned(
                0, "With direct I/O there is no page cache to flush; each fsync would flush every file."
            )
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the command that writes the files (seqwr does that itself), and the one that measures."""
        options = [*_file_options(values), *_test_options(values, context)]
        run = replace(command("fileio", options, values, context), targets=_FILES)
        if values["mode"] == CREATION:
            return (run,)
        test = "--test=fileio" if is_old(context) else "fileio"
        return (Command(("sysbench", test, *_file_options(values), "prepare"), Purpose.PREPARE, targets=_FILES), run)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the cost of a trial; what it writes is determined by the device."""
        size = int(values["total_size"])
        return Estimate(
            duration=float(values["time"]),
            written=None if writes(values) else 0,
            prepared=0 if values["mode"] == CREATION else size,
            space=size,
        )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of the test's output."""
        unstated = {"file_num": (FILES.default, 1)}
        return (sysbench_format(self, FILEIO_LINE, FILEIO_STATED, unstated=unstated),)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        return SysbenchParser("fileio", read_live, conclude)

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        mode, flags, threads = str(values["mode"]), values["extra_flags"], int(values["threads"])
        operation = {"rd": "read", "rw": mix_text(_read_share(float(values["rw_ratio"])))}.get(mode[-2:], "write")
        depth = int(values["async_backlog"]) if values["io_mode"] == "async" else 1
        safe = flags != "none" or bool(values["fsync_all"]) or bool(values["fsync_end"])
        return Traits(
            operation=operation,
            pattern=pattern_text(
                "random" if mode.startswith("rnd") else "sequential",
                every=int(_every(0, values, facts)) if writes(values) else 0,
            ),
            block=int(values["block_size"]),
            cached=not direct(values),
            flushed=None if operation == "read" else safe,
            in_flight=depth * threads,
            threads=threads,
            working_set=int(values["total_size"]),
            seconds=float(values["time"]),
        )


def _file_options(values: Values) -> list[str]:
    options = [
        f"--file-num={values['file_num']}",
        f"--file-total-size={_size(int(values['total_size']))}",
        f"--file-block-size={values['block_size']}",
    ]
    return options if values["extra_flags"] == "none" else [*options, f"--file-extra-flags={values['extra_flags']}"]


def _test_options(values: Values, context: Context) -> list[str]:
    options = [f"--file-test-mode={values['mode']}"]
    if values["io_mode"] != "sync":
        options.append(f"--file-io-mode={values['io_mode']}")
    if queues(values):
        options.append(f"--file-async-backlog={values['async_backlog']}")
    if writes(values):
        options += [
            f"--file-fsync-freq={values['fsync_freq']}",
            f"--file-fsync-all={_switch(values['fsync_all'])}",
            f"--file-fsync-end={_switch(values['fsync_end'])}",
            f"--file-fsync-mode={values['fsync_mode']}",
        ]
    if mixes(values):
        options.append(f"--file-rw-ratio={float(values['rw_ratio']):g}")
    # Without it, 0.4 reads the same blocks in the same order each time. 1.0 has no such option.
    return [*options, "--init-rng=on"] if is_old(context) else options


def _switch(value: object) -> str:
    return "on" if value else "off"


def _size(size: int) -> str:
    """Return `size` as sysbench takes it, where M and G are powers of 1024."""
    for power, letter in ((GIB, "G"), (MIB, "M")):
        if size % power == 0:
            return f"{size // power}{letter}"
    return str(size)


def _total(facts: Facts, directory: Directory) -> Tuned:
    memory = facts.memory_for_cache()
    if directory.direct is True or memory is None:
        limit = room_for(DIRECT_TOTAL, directory)
        why = "small enough to write quickly; direct I/O bypasses the page cache"
    else:
        limit = room_for(2 * memory, directory, 2)
        why = f"with {quantity(memory)} of memory, which can cache files of less than twice that"
    total = whole_mebibytes(limit / TUNED_FILES) * TUNED_FILES
    return Tuned(total, f"{TUNED_FILES} files, {quantity(total)} in all: {why}.")
