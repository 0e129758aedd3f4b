"""fio: what a disk delivers, in any pattern of reads and writes."""

from collections.abc import Mapping
from types import MappingProxyType

from suites.base import Command, Context, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.fio.checks import FIO_CHECKS
from suites.fio.commands import FILES, REPORT, layout_options, measure_options, prewarm_options
from suites.fio.device import DEVICE, FIO_DIRECTORY, needs_root, on_device
from suites.fio.device_checks import DEVICE_CHECKS
from suites.fio.export import job_file_of
from suites.fio.metrics import METRICS
from suites.fio.output import FioParser
from suites.fio.parameters import FIO_PARAMETERS, mixes, total_size, writes
from suites.fio.tuning import tune_fio
from suites.parameters import Parameter, Tuned, Values
from suites.vocab import Metric, Resource


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
        files = () if on_device(values) else FILES
        measure = Command(("fio", *measure_options(values), *REPORT), root=needs_root(values, context), targets=files)
        if on_device(values):
            prewarm = Command(("fio", *prewarm_options(values)), Purpose.PREPARE, root=measure.root)
            return (prewarm, measure) if values["prewarm"] else (measure,)
        return (Command(("fio", *layout_options(values)), Purpose.PREPARE, targets=files), measure)

    def job_file(self, values: Values, context: Context) -> str:
        """Return the step as a job file: the layout, and what is measured behind a stonewall."""
        return job_file_of(self.commands(values, context))

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
