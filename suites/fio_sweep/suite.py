"""fio-sweep: IOPS and latency of a disk over queue depth, jobs and block size, with the knee and its price."""

from collections.abc import Mapping
from types import MappingProxyType

from suites.base import Command, Context, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.fio.commands import FILES, REPORT, layout_options, measure_options
from suites.fio.device import needs_root, on_device
from suites.fio.export import job_file_of
from suites.fio.parameters import total_size, writes
from suites.fio.tuning import MOST_JOBS, tune_fio
from suites.fio_sweep.checks import SWEEP_CHECKS
from suites.fio_sweep.metrics import METRICS
from suites.fio_sweep.output import SweepParser
from suites.fio_sweep.parameters import SWEEP_PARAMETERS, file_options, point_values, points, widest
from suites.parameters import Parameter, Tuned, Values
from suites.thread_checks import cpus_for
from suites.vocab import Metric, Resource

TUNED_RAMP = 2.0
"""Seconds. The files are laid out and the device is awake from the point before."""


class FioSweep:
    """Every point is a fio of its own, on the same files, one after the other.

    One job file with stonewalls would measure the same; its documents would grow with every point, and an error in
    one point would take the others with it.
    """

    id = "fio-sweep"
    title = "fio sweep"
    summary = "IOPS and latency over queue depth, jobs and block size: where the knee is, and what each step costs."
    resource = Resource.DISK
    tool = "fio"
    packages: Mapping[str, str] = MappingProxyType(dict.fromkeys(("apt", "dnf", "zypper", "apk", "pacman"), "fio"))
    parameters: tuple[Parameter, ...] = SWEEP_PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = SWEEP_CHECKS

    def device(self, values: Values) -> str:
        """Return the raw device that a step works on; empty where it works on files."""
        return on_device(values)

    def destroys(self, values: Values) -> bool:
        """Return whether a step writes, in whatever pattern."""
        return writes(values)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return what fio's own suite would choose for the files; one job, and as many as are useful."""
        names = {parameter.name for parameter in SWEEP_PARAMETERS} - {"runtime", "ramp_time"}
        tuned = {name: value for name, value in tune_fio(context).items() if name in names}
        tuned["ramp_time"] = Tuned(TUNED_RAMP, f"{TUNED_RAMP:g} s are left out at each point, while its queue fills.")
        most = min(MOST_JOBS, (None if context.facts is None else cpus_for(context.facts)) or 1)
        if most > 1:
            tuned["job_counts"] = Tuned(
                f"1, {most}", f"One job may be held up by its CPU before the device is; {most} show whether it is."
            )
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the command that lays out the files of the most jobs, and one for each point.

        Random offsets differ from point to point: the same blocks again would come from the device's own cache.
        """
        root = needs_root(point_values(values, widest(values)), context)
        shared = file_options(values)
        files = () if on_device(values) else FILES
        measured = tuple(
            Command(("fio", *measure_options(point_values(values, point)), *shared, *REPORT), root=root, targets=files)
            for point in points(values)
        )
        if on_device(values):
            return measured
        layout = layout_options(point_values(values, widest(values)))
        return (Command(("fio", *layout, *shared), Purpose.PREPARE, targets=files), *measured)

    def job_file(self, values: Values, context: Context) -> str:
        """Return the sweep as a job file: a section for each point, one after the other."""
        return job_file_of(self.commands(values, context))

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return what a trial takes: so many points of so many seconds."""
        del context
        number = len(points(values))
        space = 0 if on_device(values) else total_size(point_values(values, widest(values)))
        return Estimate(
            duration=number * (float(values["runtime"]) + float(values["ramp_time"])),
            written=None if writes(values) else 0,
            prepared=space,
            space=space,
        )

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser, which knows the points to expect."""
        return SweepParser(points(values))
