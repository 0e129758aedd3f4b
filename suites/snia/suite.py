"""fio-snia: the tests of the SNIA Solid State Storage Performance Test Specification, in rounds until steady state."""

from collections.abc import Sequence
from dataclasses import replace

from suites.base import Command, Context, Estimate, Purpose, Suite, TestedTool
from suites.command_line import Respelled
from suites.disk import GIB, best_directory, covered, room_for, whole_mebibytes
from suites.facts import known
from suites.fio.device import needs_root, on_device
from suites.fio.suite import FIO, NAME
from suites.fio.syntax import FIO_SYNTAX, fio_words
from suites.fio.tuning import tune_fio
from suites.host_files import HostFile
from suites.outputs import TrialParser
from suites.parameters import Tuned, Values
from suites.quantities import quantity
from suites.snia.checks import SNIA_CHECKS
from suites.snia.commands import most_written, point_line, precondition, purge, range_size, until
from suites.snia.output import ALL, TRACKED, SniaParser, metrics_of
from suites.snia.parameters import BLKDISCARD, SATURATION, SNIA_PARAMETERS, most_rounds, points, tracked
from suites.targets import Target
from suites.vocab import Metric, Resource

DRIVER = HostFile("steady-rounds.sh", resource="steady-rounds.sh")

_TUNED_AS_FIO: tuple[str, ...] = ("directory", "direct", "ioengine", "iodepth")

LARGEST_FILE = 64 * GIB
"""Maximum bytes of a tuned file: overwritten twice in 20 minutes by a volume of 100 MB/s."""

START_UP = 0.5
"""Seconds that fio takes to start and end, besides the time of its point."""


def _round_words(words: Sequence[str]) -> list[str]:
    """Return the arguments of the script and, once each, the options of its lines of fio."""
    lines = [word for word in words if word.startswith("fio ")]
    options = fio_words(list(dict.fromkeys(word for line in lines for word in line.split()[1:])))
    end, rounds, *follows = (*(word for word in words if word not in lines), "", "")
    own = [end, Respelled(f"--rounds={rounds}", rounds)] if not end.startswith("bytes:") else [end, rounds]
    return [*own, *follows, *options]


class FioSnia(Suite):
    """Steady-state performance of a solid-state drive: fio, point by point, until the rounds agree.

    A POSIX shell script on the host decides between two rounds whether to continue: it runs the lines of fio that are
    shown, and reads one figure of their output.
    """

    id = "fio-snia"
    title = "SSD to steady state"
    summary = "The SNIA tests of solid-state drives: IOPS, throughput, latency, write saturation, until steady."
    resource = Resource.DISK
    tried = TestedTool(
        "fio 3.33 run for real on files and loop devices, its driver under dash, bash and busybox 1.35; **no full "
        "run on a drive**",
        "every point of every round",
        "the SNIA tests until steady; a shortened one says so",
    )
    program = FIO
    parameters = SNIA_PARAMETERS
    main_parameters = ("test", "device", "size", "runtime", "rounds", "purge")
    syntax = replace(
        FIO_SYNTAX,
        programs=(DRIVER.name,),
        choices=("test", "criterion"),
        extra={"--runtime": "runtime", "--rounds": "rounds"},
        invisible=frozenset({"runtime", "blocks", "mixes", "passes"}),
        normalised=_round_words,
    )
    metrics = ALL
    directory_parameter = "directory"
    sweeps = True
    repeats_itself = True
    checks = SNIA_CHECKS

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the metrics of a step, the tracked one first."""
        return metrics_of(values)

    def device(self, values: Values) -> str:
        """Return the raw device that a step uses; empty if it uses a file."""
        return on_device(values)

    def destroys(self, values: Values) -> bool:
        """Return whether a step uses a raw device: every test writes, at least to precondition."""
        return bool(on_device(values))

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the file parameters tuned by fio's own suite; times and rounds are the standard's."""
        found = tune_fio(context)
        tuned: dict[str, Tuned] = {name: found[name] for name in _TUNED_AS_FIO if name in found}
        directory = best_directory(context.facts)
        if directory is not None and known(directory.free) is not None:
            size = whole_mebibytes(room_for(LARGEST_FILE, directory, 2))
            share = covered(size, context.facts, directory)
            tuned["size"] = Tuned(
                size,
                f"One file of {quantity(size)}{share}: half of the free space, at most {quantity(LARGEST_FILE)}. "
                "The standard tests the whole device: quote the figures with the size. For a raw device "
                "set 0: all of it.",
            )
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the purge, the preconditioning, and the rounds with every line of fio in the order of a round."""
        found = points(values)
        place = tracked(values)
        root = needs_root({**values, "rw": "write"}, context)  # it does, at least beforehand
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
        """Return the time of the maximum number of rounds, and the most bytes that they write."""
        size = range_size(values, context)
        count = most_rounds(values) * len(points(values))
        measured = count * float(values["runtime"])
        filled = None if size is None else round(float(values["fill"]) * size)
        return Estimate(
            duration=measured + count * START_UP,
            written=filled if values["test"] == SATURATION else round(most_written(values, measured)),
            prepared=(size or 0) * int(values["passes"]),
            space=0 if on_device(values) else int(values["size"]),
        )

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser with the expected points."""
        return SniaParser(values)
