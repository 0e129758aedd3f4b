"""fio-snia: the tests of the Solid State Storage Performance Test Specification, round by round until steady."""

from collections.abc import Mapping
from types import MappingProxyType

from suites.base import Command, Context, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.disk import GIB, amount, best_directory, whole_mebibytes
from suites.facts import known
from suites.fio.commands import NAME
from suites.fio.device import needs_root, on_device
from suites.fio.tuning import tune_fio
from suites.host_files import HostFile
from suites.parameters import Parameter, Tuned, Values
from suites.snia.checks import SNIA_CHECKS
from suites.snia.commands import point_line, precondition, purge, range_size, until
from suites.snia.metrics import ALL, TRACKED, metrics_of
from suites.snia.output import SniaParser
from suites.snia.parameters import (
    BLKDISCARD,
    SATURATION,
    SNIA_PARAMETERS,
    most_rounds,
    points,
    tracked,
)
from suites.targets import Target
from suites.vocab import Metric, Resource

DRIVER = HostFile("steady-rounds.sh", resource="steady-rounds.sh")

_TUNED_AS_FIO: tuple[str, ...] = ("directory", "direct", "ioengine", "iodepth")

SHARE_OF_FREE = 10
LARGEST_FILE = 64 * GIB
"""Bytes that a tuned file has at most: written over twice in 20 minutes by a volume of 100 MB/s."""

START_UP = 0.5
"""Seconds that fio takes to start and end, beside the time of its point."""

__all__ = ["FioSnia"]


class FioSnia:
    """What a solid-state drive gives once it is no longer fresh: fio, point by point, until the rounds are alike.

    Whether to go on is decided between two rounds, on the host: a POSIX shell script runs the lines of fio that are
    shown, and reads one figure of their output.
    """

    id = "fio-snia"
    title = "SSD to steady state"
    summary = "The SNIA tests of solid-state drives: IOPS, throughput, latency, write saturation, until steady."
    resource = Resource.DISK
    tool = "fio"
    packages: Mapping[str, str] = MappingProxyType(dict.fromkeys(("apt", "dnf", "zypper", "apk", "pacman"), "fio"))
    parameters: tuple[Parameter, ...] = SNIA_PARAMETERS
    metrics: tuple[Metric, ...] = ALL
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = SNIA_CHECKS

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the metrics of a step, what its test tracks first."""
        return metrics_of(values)

    def device(self, values: Values) -> str:
        """Return the raw device that a step works on; empty where it works on a file."""
        return on_device(values)

    def destroys(self, values: Values) -> bool:
        """Return whether a step writes: each does, if only to precondition."""
        del values
        return True

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return what fio's own suite would choose for its file; how long and how often is the standard's."""
        found = tune_fio(context)
        tuned: dict[str, Tuned] = {name: found[name] for name in _TUNED_AS_FIO if name in found}
        directory = best_directory(context.facts)
        free = None if directory is None else known(directory.free)
        if free is not None:
            size = whole_mebibytes(min(LARGEST_FILE, free // SHARE_OF_FREE))
            tuned["size"] = Tuned(
                size,
                f"One file of {amount(size)}, a tenth of what is free, {amount(LARGEST_FILE)} at most: the larger, the "
                "sooner the drive runs out of empty blocks. For a raw device give 0, which is all of it.",
            )
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the purge, the preconditioning, and the rounds with every line of fio in the order of a round."""
        found = points(values)
        place = tracked(values)
        root = needs_root({**values, "rw": "write"}, context)  # it does, if only beforehand
        files = () if on_device(values) else (Target(NAME),)
        emptied = Command(purge(values), Purpose.PREPARE, root=root)
        follows = (str(place + 1), found[place].operation, TRACKED[str(values["test"])])
        driven = ("sh", DRIVER.name, until(values, context), str(most_rounds(values)), *follows)
        lines = tuple(point_line(values, point) for point in found)
        return (
            *((emptied,) if on_device(values) and values["purge"] == BLKDISCARD else ()),
            Command(precondition(values), Purpose.PREPARE, root=root, targets=files),
            Command((*driven, *lines), files=(DRIVER,), root=root, targets=files),
        )

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of all rounds that there may be, and what is written beforehand."""
        size = range_size(values, context)
        seconds = most_rounds(values) * len(points(values)) * (float(values["runtime"]) + START_UP)
        filled = None if size is None else round(float(values["fill"]) * size)
        return Estimate(
            duration=seconds,
            written=filled if values["test"] == SATURATION else None,
            prepared=(size or 0) * int(values["passes"]),
            space=0 if on_device(values) else int(values["size"]),
        )

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser, which knows the points to expect."""
        return SniaParser(values)
