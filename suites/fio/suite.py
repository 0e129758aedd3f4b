"""fio: disk I/O in any pattern of reads and writes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from suites.base import (
    QUICK_SECONDS,
    Command,
    Context,
    Estimate,
    Histograms,
    Purpose,
    QuickStep,
    RateLimit,
    Suite,
    TestedTool,
    Workload,
    tuned_values,
    version_of,
)
from suites.disk import GIB, KIB, MIB, whole_mebibytes
from suites.equivalents import Traits, mix_text, pattern_text
from suites.facts import Facts, known
from suites.fio.checks import FIO_CHECKS
from suites.fio.device import (
    DEVICE_CHECKS,
    FIO_DEVICES,
    FIO_DIRECTORIES,
    VOLUME_CHECKS,
    device_options,
    directory_options,
    needs_root,
    on_device,
    on_volumes,
)
from suites.fio.engine_checks import NO_DATA_MOVED
from suites.fio.metrics import LARGE_BLOCK, METRICS, latency_bins, latency_slices, ordered
from suites.fio.output import FioParser
from suites.fio.parameters import (
    FIO_PARAMETERS,
    NO_DEVICE,
    NONE,
    block_options,
    flushes,
    in_flight,
    iops_limit,
    is_random,
    is_stated,
    job_option,
    mixes,
    one_in_flight,
    past_memory,
    pause_limit,
    redraws_offsets,
    total_size,
    verifies_after,
    waits_for_steady_state,
    writes,
    writes_per_sync,
)
from suites.fio.syntax import FIO_SYNTAX, FIO_TEXTS, devices_typed
from suites.fio.tuning import tune_fio
from suites.outputs import TrialParser
from suites.parameters import Tuned, Value, Values, size_word
from suites.programs import Program, same_package_name
from suites.targets import Match, Target
from suites.vocab import Metric, Resource

# fio's command lines: layout and measurement.


FIO = Program("fio", ("fio",), same_package_name("fio"), engines=("--enghelp",), timed=True)

NAME = "benchwright"
"""The job's name: fio derives file names from it, benchwright.0.0 for the first job."""

QUICK_SIZE, QUICK_DEPTH = GIB // 2, 8
"""Size of the file in bytes, and depth of sequential I/O of 1 MiB, in the quick benchmark; CrystalDiskMark has Q8T1."""

FILES = (Target(f"{NAME}.", match=Match.NUMBERED),)
"""Write targets in the step's private directory; a raw device is checked separately (device.sh)."""

REPORT = ("--output-format=json+", "--status-interval=1")
"""Options for the whole latency histogram every second."""


BOTH_PERCENTILES = (3, 20)
"""The version from which fio reports percentiles of the total latency beside those of the completion."""


def percentile_options(context: Context) -> tuple[str, ...]:
    """Return the option for percentiles of the total latency, if the host's fio has it."""
    version = version_of(context.facts, FIO.title)
    return ("--lat_percentiles=1",) if version is not None and version >= BOTH_PERCENTILES else ()


def layout_options(values: Values) -> list[str]:
    """Return fio's options that write every block of every job's file."""
    size = int(values["size"])
    # A power of two that divides the size, or a remainder would stay unwritten. Below 64 KiB it would take too long.
    block = min(MIB, max(64 * KIB, size & -size))
    return [
        f"--name={NAME}",
        "--rw=write",
        f"--bs={size_word(block)}",
        f"--numjobs={values['numjobs']}",
        f"--direct={int(values['direct'])}",
        f"--size={size_word(size)}",
        "--end_fsync=1",
        "--thread=1",
        "--group_reporting",
    ]


def prewarm_options(values: Values) -> list[str]:
    """Return fio's options that read every block of the device's range once, sequentially with direct I/O."""
    reading = {**values, "rw": "read", "numjobs": 1, "size": total_size(values)}
    size = size_word(total_size(values))
    return [
        f"--name={NAME}",
        "--rw=read",
        "--bs=1m",
        "--direct=1",
        f"--size={size}",
        *device_options(reading, size),
        "--thread=1",
    ]


def measure_options(values: Values) -> list[str]:
    """Return fio's options of the measurement, without those of its report."""
    options = [f"--name={NAME}", f"--rw={values['rw']}"]
    if mixes(values):
        options.append(f"--rwmixread={values['rwmixread']}")
    if redraws_offsets(values):
        options.append("--randrepeat=0")
    options += [
        *block_options(values, size_word(int(values["block_size"]))),
        f"--iodepth={values['iodepth']}",
        f"--numjobs={values['numjobs']}",
        f"--direct={int(values['direct'])}",
        f"--size={size_word(int(values['size']))}",
        f"--ioengine={values['ioengine']}",
        *device_options(values, size_word(int(values["size"]))),
    ]
    options += [*_until(values), *_flushing(values), *_caching(values)]
    # Threads die with fio; separate processes would survive a broken connection.
    return [*options, "--thread=1", "--group_reporting"]


def _writes_new_file(values: Values) -> bool:
    """Return whether each trial writes a file of its own from its start to its end, each write flushed."""
    once = values["rw"] == "write" and not values["runtime"] and int(values["loops"]) == 1
    return once and writes_per_sync(values) == 1 and not on_device(values)


def _until(values: Values) -> list[str]:
    """Return the options of runtime, ramp and rate limit."""
    options = []
    if values["runtime"]:
        options += [f"--runtime={time_text(float(values['runtime']))}", "--time_based"]
    elif int(values["loops"]) > 1:
        options.append(f"--loops={values['loops']}")
    if values["ramp_time"]:
        options.append(f"--ramp_time={time_text(float(values['ramp_time']))}")
    if values["rate_iops"]:
        options.append(f"--rate_iops={values['rate_iops']}")
    if waits_for_steady_state(values):
        options.append(f"--steadystate={values['steady_state']}")
        options.append(f"--ss_dur={time_text(float(values['steady_duration']))}")
        if values["steady_ramp"]:
            options.append(f"--ss_ramp={time_text(float(values['steady_ramp']))}")
    return options


def _caching(values: Values) -> list[str]:
    """Return the page cache options that differ from fio's defaults."""
    options = [] if values["invalidate"] else ["--invalidate=0"]
    return options if values["fadvise_hint"] == "1" else [*options, f"--fadvise_hint={values['fadvise_hint']}"]


def _flushing(values: Values) -> list[str]:
    """Return the options of flushing and of the written data; none if nothing is written."""
    if not writes(values):
        return []
    options = []
    options += [f"--{name}={values[name]}" for name in ("fsync", "fdatasync") if values.get(name)]
    if values["end_fsync"]:
        options.append("--end_fsync=1")
    if values["buffer_compress_percentage"]:
        options.append(f"--buffer_compress_percentage={values['buffer_compress_percentage']}")
    if values["refill_buffers"]:
        options.append("--refill_buffers")
    if values["verify"] != NONE:
        options.append(f"--verify={values['verify']}")
    return options


def time_text(seconds: float) -> str:
    """Return `seconds` as fio takes it: whole seconds, or milliseconds."""
    return f"{seconds:.0f}" if seconds.is_integer() else f"{max(1, round(seconds * 1000))}ms"


# A step's fio commands as the equivalent job file.


_NOT_OF_A_JOB = ("--output-format", "--status-interval", "--readonly")
"""Options of fio itself, which a job file cannot contain."""

MOST_OF_ONE = 2
"""Commands of a step that measures once: the layout and the measurement."""

_FILES = "filename_format"


def job_file_of(commands: Sequence[Command]) -> str:
    """Return `commands` as one job file: one section each, one after the other, with common options in [global]."""
    sections = [(_name(command, len(commands)), _options(command)) for command in commands]
    if not any(name in options for _, options in sections for name in ("filename", _FILES)):
        # fio derives file names from the job name; here the sections' names differ.
        for _, options in sections:
            options[_FILES] = f"{NAME}.$jobnum.$filenum"
    shared = {
        name: value
        for name, value in sections[0][1].items()
        if all(options.get(name) == value for _, options in sections)
    }
    lines = ["; Written by Benchwright. Run it with:", f"; {_line(commands)}", "[global]", *_lines(shared)]
    for number, (name, options) in enumerate(sections):
        own = {option: value for option, value in options.items() if option not in shared}
        lines += ["", f"[{name}]", *(["stonewall"] if number else []), *_lines(own)]
    return "\n".join(lines) + "\n"


def _line(commands: Iterable[Command]) -> str:
    words = [word for command in commands for word in command.argv if word.startswith(_NOT_OF_A_JOB)]
    return " ".join(["fio", *dict.fromkeys(words), "FILE"])


def _options(command: Command) -> dict[str, str]:
    """Return the options of the job by name; those without a value have none here either."""
    words = [word.removeprefix("--") for word in command.argv[1:] if not word.startswith(_NOT_OF_A_JOB)]
    found = dict(word.partition("=")[::2] for word in words)
    found.pop("name", None)
    return found


def _lines(options: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" if value else name for name, value in options.items()]


def _name(command: Command, commands: int) -> str:
    if command.purpose is Purpose.PREPARE:
        return "layout"
    options = _options(command)
    point = ", ".join(f"{name} {options[name]}" for name in ("bs", "numjobs", "iodepth") if name in options)
    return NAME if commands <= MOST_OF_ONE else point


_ALTERS_RATE = ("block_sizes", "rate_iops")
"""Parameters without an equivalent elsewhere, which determine the rate."""


def _rate_limit(rate: float, paused: float) -> RateLimit | None:
    """Return the lower of a requested rate and of what thinktime leaves, of which the I/O itself takes a part."""
    if paused and not 0 < rate < paused:
        return RateLimit("iops", paused, reached=0.9, then="Shorten or remove thinktime.")
    return RateLimit("iops", rate) if rate else None


class Fio(Suite):
    """Disk I/O with fio. Each job has its own file, laid out in full before the first trial."""

    id = "fio"
    title = "fio"
    summary = "IOPS, bandwidth and latency of a disk, for any pattern, block size and queue depth."
    resource = Resource.DISK
    tried = TestedTool(
        "fio 3.33 run for real; 2.21, 3.7 and 3.39 from captured outputs",
        "every second",
        "the whole histogram of every second is kept",
    )
    program = FIO
    parameters = (FIO_DIRECTORIES, FIO_DEVICES, *FIO_PARAMETERS[1:])
    main_parameters = ("rw", "block_size", "iodepth", "numjobs", "size", "runtime")
    syntax = replace(FIO_SYNTAX, texts={**FIO_TEXTS, "directory": str, "device": devices_typed})
    metrics = METRICS
    directory_parameter = "directory"
    uniform = True
    checks = (*FIO_CHECKS, NO_DATA_MOVED, *DEVICE_CHECKS)
    volume_checks = VOLUME_CHECKS
    histograms = Histograms(latency_slices, latency_bins)

    def device(self, values: Values) -> str:
        """Return the raw device that a step uses; empty if it uses files."""
        return on_device(values)

    def volumes(self, values: Values) -> tuple[Values, ...]:
        """Return the values of the jobs of each directory or device."""
        return on_volumes(values)

    def destroys(self, values: Values) -> bool:
        """Return whether a step writes to a raw device."""
        return bool(on_device(values)) and writes(values)

    def workload(self, values: Values) -> Workload:
        """Return the expected work."""
        jobs, depth = int(values["numjobs"]), in_flight(values)
        rate = 0.0 if values["block_sizes"] and job_option(values, "rate") else iops_limit(values) * jobs
        return Workload(
            seconds=float(values["runtime"]) or None,
            ramp=float(values["ramp_time"]),
            size=int(values["size"]) * jobs * int(values["loops"]) if is_stated(values, "size") else None,
            buffered=not past_memory(values),
            queue_depth=depth,
            # Buffered libaio waits for each I/O as it submits it, and counts the others until they are reaped.
            concurrency=jobs * int(values["iodepth"]) if values["ioengine"] == "libaio" else depth,
            deepened_by="numjobs" if one_in_flight(values) else "iodepth",
            rate_limit=_rate_limit(rate, pause_limit(values)),
            writes_per_sync=writes_per_sync(values) or None,
            flushes_last=writes(values) and bool(values["end_fsync"]),  # fio's runtime includes it
            no_device=values["ioengine"] in NO_DEVICE,
        )

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return random reads with direct I/O at a depth that keeps the device busy, for half a minute."""
        return tune_fio(context)

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the command that lays out the files, and the one that measures.

        The layout writes every block. Files that fio only allocates are unwritten extents: reading them never reaches
        the device, and the first write to each block also writes file system metadata. A raw device needs no layout.
        A log that is written once, each write flushed, is a new file in each trial: its flushes wait for that metadata.
        """
        where, folders = directory_options(values, context)
        where += ["--unlink=1"] if _writes_new_file(values) else []
        files = tuple(replace(each, path=folder + each.path) for folder in folders for each in FILES)
        files = () if on_device(values) else files
        report = (*REPORT, *percentile_options(context))
        line = ("fio", *measure_options(values), *where, *report)
        measure = Command(line, root=needs_root(values, context), targets=files)
        if on_device(values):
            prewarm = Command(("fio", *prewarm_options(values)), Purpose.PREPARE, root=measure.root)
            return (prewarm, measure) if values["prewarm"] else (measure,)
        if _writes_new_file(values):
            return (measure,)
        return (Command(("fio", *layout_options(values), *where), Purpose.PREPARE, targets=files), measure)

    def job_file(self, values: Values, context: Context) -> str:
        """Return the step as a job file: the layout, and the measurement behind a stonewall."""
        return job_file_of(self.commands(values, context))

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the cost of a trial; the time of the layout before the first is not known."""
        seconds = float(values["runtime"])
        space = total_size(values)
        return Estimate(
            duration=seconds + float(values["ramp_time"]) if seconds else None,
            written=_written(values, space),
            prepared=0 if on_device(values) or _writes_new_file(values) else space,
            space=0 if on_device(values) else space,
        )

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the metrics, the headline first."""
        large = not is_random(values) and int(values["block_size"]) >= LARGE_BLOCK
        return ordered(mixed=mixes(values), large=large, synced=writes_per_sync(values) == 1)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        several = len(self.volumes(values)) > 1
        verifies = verifies_after(values)
        return FioParser(self.metrics_of(values)[0].name, several=several, verifies=lambda _job: verifies)

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        kind = str(values["rw"])
        operation = mix_text(int(values["rwmixread"]) / 100) if mixes(values) else kind.removeprefix("rand")
        work = self.workload(values)
        safe = bool(values["direct"]) or bool(values["end_fsync"]) or flushes(values)
        return Traits(
            operation=operation,
            pattern=pattern_text(
                "random" if kind.startswith("rand") else "sequential",
                every=work.writes_per_sync or 0,
                limits=tuple(f"{name} {values[name]}" for name in _ALTERS_RATE if values[name]),
            ),
            block=int(values["block_size"]),
            cached=work.buffered,
            flushed=None if operation == "read" else safe,
            in_flight=work.queue_depth,
            threads=int(values["numjobs"]),
            working_set=total_size(values),
            seconds=work.seconds,
        )

    def quick_steps(self, context: Context) -> tuple[QuickStep, ...]:
        """Return sequential and random reads and writes of a file that is laid out within seconds on a slow volume."""
        tuned = tuned_values(self, context)
        directory = None if context.facts is None else context.facts.directory(str(tuned["directory"]))
        free = None if directory is None else known(directory.free)
        size = min(QUICK_SIZE, int(tuned["size"]) if free is None else free // 4)
        shared: dict[str, Value] = {
            "size": whole_mebibytes(size), "numjobs": 1, "runtime": QUICK_SECONDS, "ramp_time": 1.0,
        }  # fmt: skip
        large: dict[str, Value] = {"block_size": MIB, "iodepth": QUICK_DEPTH}
        return (
            ("disk read 1m", {**shared, **large, "rw": "read"}),
            ("disk write 1m", {**shared, **large, "rw": "write"}),
            ("disk randread 4k", {**shared, "rw": "randread", "block_size": 4 * KIB}),
            ("disk randwrite 4k", {**shared, "rw": "randwrite", "block_size": 4 * KIB}),
        )


def _written(values: Values, space: int) -> int | None:
    """Return the bytes that a trial writes; None if the device determines how many."""
    if not writes(values):
        return 0
    if not values["runtime"]:
        share = 1 - int(values["rwmixread"]) / 100 if mixes(values) else 1.0
        return round(space * share * int(values["loops"]))
    if values["block_sizes"]:
        return None
    rate = int(values["rate_iops"]) * int(values["numjobs"]) * int(values["block_size"])
    return round(rate * (float(values["runtime"]) + float(values["ramp_time"]))) if rate else None
