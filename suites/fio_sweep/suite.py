"""fio-sweep: IOPS and latency of a disk over queue depth, jobs and block size, with the knee of each curve."""

from collections.abc import Iterable
from dataclasses import replace

from suites.base import Command, Context, Estimate, Histograms, Purpose, StepCheck, StepEvidence, Suite, TestedTool
from suites.checks import Check, CheckOutcome, NotChecked
from suites.equivalents import Traits
from suites.facts import Facts, cpus_for
from suites.fio.checks import FIO_CHECKS
from suites.fio.device import DEVICE_CHECKS, needs_root, on_device
from suites.fio.metrics import latency_slices
from suites.fio.parameters import total_size, writes
from suites.fio.suite import FILES, FIO, REPORT, job_file_of, layout_options, measure_options, percentile_options
from suites.fio.syntax import FIO_SYNTAX
from suites.fio.tuning import MOST_JOBS, tune_fio
from suites.fio_sweep.output import METRICS, SweepParser
from suites.fio_sweep.parameters import SWEEP_PARAMETERS, file_options, point_values, points, widest
from suites.outputs import TrialParser
from suites.parameters import Tuned, Values
from suites.vocab import Resource, Severity

# fio's checks applied to every point of a sweep.


_SWEEP_ONLY = frozenset(parameter.name for parameter in SWEEP_PARAMETERS) | {"device"}


NOT_OF_POINTS = ("ends-before-its-size", "one-io-in-flight", "depth-beyond-queue")
"""Checks that do not apply: a point always has a runtime, and the curve begins at depth 1 and ends beyond the knee."""

LONG = 3600.0
"""Seconds of a trial beyond which a sweep should have fewer points."""


def _of_points(check: StepCheck) -> StepCheck:
    """Return `check` applied to each point; the first finding is reported with its point."""

    def evaluate(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
        unsure: NotChecked | None = None
        for point in points(evidence.values):
            outcome = check.evaluate(replace(evidence, values=point_values(evidence.values, point)))
            if isinstance(outcome, CheckOutcome):
                changes = {name: value for name, value in outcome.changes.items() if name in _SWEEP_ONLY}
                return replace(outcome, measured=f"At {point.words}: {outcome.measured}", changes=changes)
            unsure = unsure or outcome
        return unsure

    return replace(check, evaluate=evaluate)


def _long(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    number = len(points(values))
    seconds = number * (float(values["runtime"]) + float(values["ramp_time"]))
    if seconds <= LONG:
        return None
    return CheckOutcome(f"{number} points of {seconds / number:g} s take {seconds / 60:.0f} min per trial.")


def _without(checks: Iterable[StepCheck], *ids: str) -> tuple[StepCheck, ...]:
    return tuple(check for check in checks if check.id not in ids)


SWEEP_CHECKS: tuple[StepCheck, ...] = (
    *(_of_points(check) for check in _without((*FIO_CHECKS, *DEVICE_CHECKS), *NOT_OF_POINTS)),
    Check(
        id="sweep-takes-long",
        of_result=False,
        severity=Severity.WARNING,
        title="Sweep takes more than an hour",
        why="Slow changes of the host or volume, such as burst credits, then look like an effect of depth or "
        "block size.",
        remedy="Double the depth from point to point, or sweep one block size per step.",
        source="AWS, Amazon EBS volume types: burst buckets last for about half an hour at full rate.",
        needs="The swept values; the duration of a trial.",
        evaluate=_long,
    ),
)


TUNED_RAMP = 2.0
"""Seconds. The files are laid out and the device is awake from the point before."""


class FioSweep(Suite):
    """Each point is a separate fio run on the same files, one after the other.

    One job file with stonewalls would measure the same, but its documents would grow with every point, and an error in
    one point would abort the others.
    """

    id = "fio-sweep"
    title = "fio sweep"
    summary = "IOPS and latency over iodepth, numjobs and bs: the knee, and the cost of each step."
    resource = Resource.DISK
    tried = TestedTool(
        "fio 3.33 run for real",
        "every second of every point",
        "depth, jobs and block size, with the knee and the price of each step in p99",
    )
    program = FIO
    parameters = SWEEP_PARAMETERS
    main_parameters = ("rw", "blocks", "depths", "job_counts", "size", "runtime")
    syntax = replace(
        FIO_SYNTAX,
        extra={"--runtime": "runtime", "--directory": "directory"},
        invisible=frozenset({"runtime"}),
        joined=frozenset({"blocks", "depths", "job_counts"}),
    )
    metrics = METRICS
    directory_parameter = "directory"
    sweeps = True
    checks = SWEEP_CHECKS
    histograms = Histograms(latency_slices)

    def device(self, values: Values) -> str:
        """Return the raw device that a step uses; empty if it uses files."""
        return on_device(values)

    def destroys(self, values: Values) -> bool:
        """Return whether a step writes to a raw device."""
        return bool(on_device(values)) and writes(values)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the file parameters tuned by fio's own suite; job counts 1 and as many as are useful."""
        names = {parameter.name for parameter in SWEEP_PARAMETERS} - {"runtime", "ramp_time"}
        tuned = {name: value for name, value in tune_fio(context).items() if name in names}
        tuned["ramp_time"] = Tuned(TUNED_RAMP, f"Leaves out {TUNED_RAMP:g} s at each point, while the queue fills.")
        most = min(MOST_JOBS, (None if context.facts is None else cpus_for(context.facts)) or 1)
        if most > 1:
            tuned["job_counts"] = Tuned(
                f"1, {most}", f"One job may be CPU-bound before the device is saturated; {most} show whether it is."
            )
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the layout for the largest number of jobs, and one command per point.

        Random offsets differ from point to point: the device's own cache would serve the same blocks again.
        """
        root = needs_root(point_values(values, widest(values)), context)
        shared = file_options(values)
        files = () if on_device(values) else FILES
        report = (*shared, *REPORT, *percentile_options(context))
        measured = tuple(
            Command(("fio", *measure_options(point_values(values, point)), *report), root=root, targets=files)
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
        """Return the cost of a trial: the number of points times their seconds."""
        number = len(points(values))
        space = 0 if on_device(values) else total_size(point_values(values, widest(values)))
        return Estimate(
            duration=number * (float(values["runtime"]) + float(values["ramp_time"])),
            written=None if writes(values) else 0,
            prepared=space,
            space=space,
        )

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the threads of the widest point."""
        return Traits(threads=widest(values).jobs)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser with the expected points."""
        return SweepParser(points(values))
