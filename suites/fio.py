"""fio: what a disk delivers, in any pattern of reads and writes."""

from collections.abc import Mapping
from types import MappingProxyType

from suites.base import Command, Context, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.disk import GIB, KIB, MIB
from suites.fio_checks import FIO_CHECKS
from suites.fio_device import DEVICE, FIO_DIRECTORY, device_options, needs_root, on_device
from suites.fio_device_checks import DEVICE_CHECKS
from suites.fio_metrics import METRICS
from suites.fio_output import FioParser
from suites.fio_parameters import FIO_PARAMETERS, block_options, mixes, total_size, writes
from suites.fio_tuning import tune_fio
from suites.parameters import Parameter, Tuned, Values
from suites.vocab import Metric, Resource

NAME = "benchwright"
"""The job's name: fio names the files after it, benchwright.0.0 for the first job."""


class Fio:
    """The disk test. Each job has a file of its own, laid out in full before the first trial."""

    id = "fio"
    title = "fio"
    summary = "I/Os per second, bandwidth and latency of a disk, for any pattern, block size and queue depth."
    resource = Resource.DISK
    tool = "fio"
    packages: Mapping[str, str] = MappingProxyType(dict.fromkeys(("apt", "dnf", "zypper", "apk", "pacman"), "fio"))
    parameters: tuple[Parameter, ...] = (FIO_DIRECTORY, DEVICE, *FIO_PARAMETERS[1:])
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = (*FIO_CHECKS, *DEVICE_CHECKS)

    def device(self, values: Values) -> str:
        """Return the raw device that a step works on; empty where it works on files."""
        return on_device(values)

    def destroys(self, values: Values) -> bool:
        """Return whether a step writes, in whatever pattern."""
        return writes(values)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return random reads past the page cache, deep enough to keep the device busy, for half a minute."""
        return tune_fio(context)

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the command that lays out the files, and the one that measures.

        The layout writes every block. Files that fio only allocates are unwritten extents: reading them never
        reaches the device, and the first write to each block also writes the file system's own records. On a raw
        device there is nothing to lay out.
        """
        measure = Command(("fio", *_measure_options(values)), root=needs_root(values, context))
        if on_device(values):
            return (measure,)
        return (Command(("fio", *_layout_options(values)), Purpose.PREPARE), measure)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return what a trial takes; the time of the layout before the first cannot be known."""
        del context
        seconds = float(values["runtime"])
        space = total_size(values)
        return Estimate(
            duration=seconds + float(values["ramp_time"]) if seconds else None,
            written=_written(values, space),
            prepared=0 if on_device(values) else space,
            space=0 if on_device(values) else space,
        )

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return FioParser()


def _written(values: Values, space: int) -> int | None:
    """Return the bytes that a trial writes; None where the device decides how many."""
    if not writes(values):
        return 0
    if not values["runtime"]:
        share = 1 - int(values["rwmixread"]) / 100 if mixes(values) else 1.0
        return round(space * share * int(values["loops"]))
    if values["block_sizes"]:
        return None
    rate = int(values["rate_iops"]) * int(values["numjobs"]) * int(values["block_size"])
    return round(rate * (float(values["runtime"]) + float(values["ramp_time"]))) if rate else None


def _layout_options(values: Values) -> list[str]:
    size = int(values["size"])
    # A power of two that divides the size: what is left over would stay unwritten. Below 64 KiB it would take too long.
    block = min(MIB, max(64 * KIB, size & -size))
    return [
        f"--name={NAME}",
        "--rw=write",
        f"--bs={_size(block)}",
        f"--numjobs={values['numjobs']}",
        f"--direct={int(values['direct'])}",
        f"--size={_size(size)}",
        "--end_fsync=1",
        "--thread=1",
        "--group_reporting",
    ]


def _measure_options(values: Values) -> list[str]:
    options = [f"--name={NAME}", f"--rw={values['rw']}"]
    if mixes(values):
        options.append(f"--rwmixread={values['rwmixread']}")
    options += [
        *block_options(values, _size(int(values["block_size"]))),
        f"--iodepth={values['iodepth']}",
        f"--numjobs={values['numjobs']}",
        f"--direct={int(values['direct'])}",
        f"--size={_size(int(values['size']))}",
        f"--ioengine={values['ioengine']}",
        *device_options(values, _size(int(values["size"]))),
    ]
    if values["runtime"]:
        options += [f"--runtime={_time(float(values['runtime']))}", "--time_based"]
    elif int(values["loops"]) > 1:
        options.append(f"--loops={values['loops']}")
    if values["ramp_time"]:
        options.append(f"--ramp_time={_time(float(values['ramp_time']))}")
    if values["rate_iops"]:
        options.append(f"--rate_iops={values['rate_iops']}")
    if writes(values) and values["fsync"]:
        options.append(f"--fsync={values['fsync']}")
    if writes(values) and values["end_fsync"]:
        options.append("--end_fsync=1")
    if writes(values) and values["buffer_compress_percentage"]:
        options.append(f"--buffer_compress_percentage={values['buffer_compress_percentage']}")
    if writes(values) and values["refill_buffers"]:
        options.append("--refill_buffers")
    # Threads die with fio; processes of its own would go on when the connection breaks.
    return [*options, "--thread=1", "--group_reporting", "--output-format=json+", "--status-interval=1"]


def _size(size: int) -> str:
    """Return `size` as fio takes it, where k, m and g are powers of 1024."""
    for power, letter in ((GIB, "g"), (MIB, "m"), (KIB, "k")):
        if size % power == 0:
            return f"{size // power}{letter}"
    return str(size)


def _time(seconds: float) -> str:
    """Return `seconds` as fio takes it: whole seconds, or milliseconds."""
    return f"{seconds:.0f}" if seconds.is_integer() else f"{max(1, round(seconds * 1000))}ms"
