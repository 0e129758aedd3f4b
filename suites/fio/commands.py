"""fio's command lines: the one that lays out the files, and the one that measures."""

from suites.disk import KIB, MIB
from suites.fio.device import device_options
from suites.fio.more_parameters import NONE, draws_anew, waits_for_steady_state
from suites.fio.parameters import block_options, mixes, total_size, writes
from suites.parameters import Values, size_word
from suites.targets import Match, Target

NAME = "benchwright"
"""The job's name: fio names the files after it, benchwright.0.0 for the first job."""

FILES = (Target(f"{NAME}.", match=Match.NUMBERED),)
"""What such a job writes in the step's private directory; a raw device is looked at otherwise (device.sh)."""

REPORT = ("--output-format=json+", "--status-interval=1")
"""The whole histogram of latencies, every second."""


def layout_options(values: Values) -> list[str]:
    """Return fio's options that write every block of every job's file."""
    size = int(values["size"])
    # A power of two that divides the size: what is left over would stay unwritten. Below 64 KiB it would take too long.
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
    """Return fio's options that read every block of the device's part once, in sequence and past the page cache."""
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
    """Return fio's options of the measurement, but for those of its report."""
    options = [f"--name={NAME}", f"--rw={values['rw']}"]
    if mixes(values):
        options.append(f"--rwmixread={values['rwmixread']}")
    if draws_anew(values):
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
    # Threads die with fio; processes of its own would go on when the connection breaks.
    return [*options, "--thread=1", "--group_reporting"]


def _until(values: Values) -> list[str]:
    """Return what ends a job, what comes before it counts, and how fast it may go."""
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
    """Return what the kernel is told about the page cache, where that is not what fio does untold."""
    options = [] if values["invalidate"] else ["--invalidate=0"]
    return options if values["fadvise_hint"] == "1" else [*options, f"--fadvise_hint={values['fadvise_hint']}"]


def _flushing(values: Values) -> list[str]:
    """Return when writes are flushed and what is written; nothing where nothing is."""
    if not writes(values):
        return []
    options = []
    if values["fsync"]:
        options.append(f"--fsync={values['fsync']}")
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
