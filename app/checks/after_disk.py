"""What a trial says it did on a disk, and what the disk below did meanwhile."""

from dataclasses import dataclass

from suites.checks import CannotTell
from suites.disk import lowest_device
from suites.evidence import HostWatch, TrialEvidence
from suites.fio.parameters import past_memory
from suites.units import Unit, convert
from suites.vocab import Resource

READ, WRITE = "read", "write"

COUNTED = frozenset({"fio", "sysbench-fileio", "dd", "cp"})
"""Suites that do one thing all the time, so that a rate times the time is what was done. A sweep does not."""

IN_PARTS = frozenset({"fio-sweep", "fio-job", "fio-snia"})
"""Suites whose parts may run one after the other: their rates do not add up to what was done in a trial's time."""


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes and I/Os in one direction; None where it is not known."""

    size: float | None = None
    ios: float | None = None


def seconds_of(trial: TrialEvidence) -> float | None:
    """Return how long the tool itself says that it measured, or is bound to have measured, without any ramp."""
    for metric in ("elapsed", "total_time"):
        found = trial.all_of(metric)
        if found:
            return convert(found[0].value, found[0].metric.unit, Unit.SECOND)
    asked = trial.values.get("runtime", 0)
    if trial.suite.id == "fio":
        return float(asked) if isinstance(asked, int | float) and asked else _by_size(trial)
    return trial.duration


def _by_size(trial: TrialEvidence) -> float | None:
    """Return how long fio took for its files, where it ends by their size."""
    rate = trial.sum_of("bandwidth")
    try:
        size = int(trial.values["size"]) * int(trial.values["numjobs"]) * int(trial.values["loops"])
    except (KeyError, ValueError):
        return None
    return size / rate if rate else None


def issued(trial: TrialEvidence, operation: str) -> Work | None:
    """Return what the tool says it read or wrote; None where it did not, or does not tell."""
    if trial.suite.id not in COUNTED:
        return None
    copied = trial.value("copied")
    if copied is not None:
        return Work(copied) if operation in _copied(trial) else None
    seconds = None if trial.suite.id in IN_PARTS else seconds_of(trial)
    if seconds is None:
        return None
    size = _total(trial, "bandwidth", operation, seconds, Unit.BYTES_PER_SECOND)
    ios = _total(trial, "iops", operation, seconds, Unit.PER_SECOND)
    return None if size is None else Work(size, ios)


def _copied(trial: TrialEvidence) -> tuple[str, ...]:
    if trial.suite.id == "cp":
        return (READ, WRITE)
    return (WRITE,) if str(trial.values.get("input", "")).startswith("/dev/") else (READ,)


def _total(trial: TrialEvidence, metric: str, operation: str, seconds: float, unit: Unit) -> float | None:
    rates = [
        convert(figure.value, figure.metric.unit, unit)
        for figure in trial.all_of(metric)
        if dict(figure.labels).get("operation") == operation
    ]
    return sum(rates) * seconds if rates else None


def disk_below(trial: TrialEvidence) -> str | CannotTell:
    """Return the name of the whole disk or loop device that the step works on, or why none is known or watched."""
    facts, watch = trial.context.facts, trial.watch
    if trial.suite.resource is not Resource.DISK:
        return CannotTell("It is no test of a disk.")
    if facts is None or watch is None:
        return CannotTell("The host was not watched while it ran.")
    name = lowest_device(trial.suite, trial.values, facts)
    if name is None or (("device", name),) not in watch.labels_of("disk_read_rate"):
        return CannotTell("No disk is known below it whose I/Os the kernel counts.")
    return name


def reached(watch: HostWatch, disk: str, operation: str) -> Work:
    """Return what the kernel counted at the disk in the measured time."""
    return Work(watch.total(f"disk_{operation}_rate", device=disk), watch.total(f"disk_{operation}_ios", device=disk))


def buffered(trial: TrialEvidence) -> bool:
    """Whether the page cache stands between the tool and the disk."""
    values = trial.values
    if trial.suite.id == "fio":
        return not past_memory(values)
    if trial.suite.id == "sysbench-fileio":
        return values.get("extra_flags") != "direct"
    if trial.suite.id == "dd":
        return "direct" not in {values.get("flush"), values.get("read")}
    return trial.suite.id == "cp" or values.get("cache") == "cached"


def in_sequence(trial: TrialEvidence) -> bool:
    """Whether neighbouring I/Os lie side by side, so that the kernel may put several into one."""
    pattern = str(trial.values.get("rw", trial.values.get("mode", "seq")))
    return not pattern.startswith(("rand", "rnd"))


def depth_of(trial: TrialEvidence) -> int | None:
    """Return how many I/Os the tool was told to keep in flight, as far as its engine can; None where not known."""
    values = trial.values
    if trial.suite.id == "fio":
        jobs, depth = int(values["numjobs"]), int(values["iodepth"])
        alone = values["ioengine"] not in {"libaio", "io_uring", "posixaio"}
        waits = values["ioengine"] == "libaio" and not values["direct"]
        return jobs if alone or waits else jobs * depth
    if trial.suite.id == "sysbench-fileio":
        return int(values["threads"]) if values.get("io_mode", "sync") == "sync" else None
    return 1 if trial.suite.id in {"dd", "cp", "ioping"} else None
