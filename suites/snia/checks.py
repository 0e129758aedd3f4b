"""Checks of steady-state tests, including their duration and wear."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from suites.base import StepCheck, StepEvidence, version_of
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.disk import GIB, KIB, MIB, disk_under
from suites.facts import known
from suites.fio.checks import FIO_CHECKS
from suites.fio.device import DEVICE_CHECKS, on_device
from suites.parameters import Value, Values, format_size
from suites.quantities import quantity
from suites.snia.commands import cost, hours_text, range_size
from suites.snia.parameters import (
    BOTH,
    NONE,
    PTS,
    SATURATION,
    SNIA_PARAMETERS,
    departures,
    fio_values,
    most_rounds,
    points,
    tracked,
)
from suites.snia.steady import PTS_RANGE, PTS_SLOPE, WINDOW, WINDOWS_AGREE, Window, steady_round, window_of
from suites.vocab import Severity

OLDEST_FIO = (3, 0)
"""The first version whose output has bw_bytes and lat_ns, which the script on the host reads."""

_OWN = frozenset(parameter.name for parameter in SNIA_PARAMETERS)

NOT_OF_POINTS = frozenset(
    {
        "ends-before-its-size",
        "one-io-in-flight",
        "short-runtime",
        "readahead-merges",
        "unaligned-direct",
        "depth-beyond-queue",
    }
)
"""Checks of fio that do not apply: a point always has a time and a minute is long enough, QD1 is the purpose of the
latency test, every test writes, the standard sets the depths, and block sizes below the sector are reported for all
points."""

NOT_APPLICABLE = frozenset({"device-never-written", "fresh-device"})
"""The range is overwritten in full before measuring."""

_FIXED: dict[str, Value] = {
    "block_sizes": "", "ramp_time": 0.0, "loops": 1, "fsync": 0, "end_fsync": False, "rate_iops": 0,
    "randrepeat": False, "buffer_compress_percentage": 0, "refill_buffers": False, "verify": "none", "invalidate": True,
    "fadvise_hint": "1", "steady_state": "", "steady_duration": 0.0, "steady_ramp": 0.0, "prewarm": False,
}  # fmt: skip


def as_fio(values: Values, size: int) -> dict[str, Value]:
    """Return the tracked point as the values of a step of fio, on a range of `size` bytes.

    It writes, whatever the point does: every test overwrites the range before.
    """
    shared = {name: values[name] for name in ("directory", "device", "direct", "ioengine", "runtime")}
    return {
        **_FIXED,
        **shared,
        **fio_values(values, points(values)[tracked(values)]),
        "rw": "randwrite",
        "size": max(MIB, size),
    }


def _on_tracked_point(check: StepCheck) -> StepCheck:
    """Return `check` of fio's own suite, applied to the tracked point."""

    def evaluate(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
        size = int(evidence.values["size"]) or range_size(evidence.values, evidence.context) or 0
        values = as_fio(evidence.values, size)
        if on_device(evidence.values):
            values["numjobs"] = 1  # all jobs use the same range
        outcome = check.evaluate(replace(evidence, values=values))
        if isinstance(outcome, CheckOutcome):
            return replace(outcome, changes={name: value for name, value in outcome.changes.items() if name in _OWN})
        return outcome

    return replace(check, evaluate=evaluate)


def _no_range(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    least = max(point.block for point in points(values))
    if on_device(values) and not int(values["size"]):
        return None
    if int(values["size"]) >= least:
        return None
    what = f"The active range is {format_size(int(values['size']))}" if int(values["size"]) else "size is not set"
    return CheckOutcome(f"{what}; the largest block is {format_size(least)}.", changes={"size": GIB})


def _small_sector(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values = evidence.values
    if evidence.context.facts is None:
        return FACTS_NOT_READ
    disk = disk_under(evidence)
    sector = None if disk is None else known(disk.sector)
    if disk is None or sector is None:
        return NotChecked("The sector size of the disk is not known.")
    refused = {point.block for point in points(values) if point.block % sector}
    if not refused or not values["direct"]:
        return None
    kept_blocks = dict.fromkeys(point.block for point in points(values) if point.block not in refused)
    sizes = ", ".join(f"{block // KIB}k" if block % KIB == 0 else str(block) for block in kept_blocks)
    return CheckOutcome(
        f"{disk.name} has sectors of {format_size(sector)}; "
        f"{', '.join(format_size(block) for block in sorted(refused))} is tested.",
        changes={"blocks": sizes} if sizes else {},
    )


def _old_fio(evidence: StepEvidence) -> CheckOutcome | None:
    version = version_of(evidence.context.facts, "fio")
    if version is None or version >= OLDEST_FIO:
        return None
    return CheckOutcome(f"fio is version {'.'.join(map(str, version))}.")


def _departs(evidence: StepEvidence) -> CheckOutcome | None:
    found = list(departures(evidence.values))
    return CheckOutcome(f"{'; '.join(found).capitalize()}.") if found else None


def _cannot_purge(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if not on_device(values):
        return None
    if values["purge"] == NONE:
        return CheckOutcome("The device is not purged; earlier writes are part of its state.")
    return CheckOutcome(
        "blkdiscard declares all blocks unused. Whether the device erases them is up to its firmware.",
        remedy="If the drive supports it, erase it yourself with nvme format or hdparm before, and set purge to none.",
    )


def _repeats(evidence: StepEvidence) -> CheckOutcome | None:
    if evidence.trials < 2:
        return None
    values = evidence.values
    each = most_rounds(values) * len(points(values)) * float(values["runtime"])
    return CheckOutcome(f"{evidence.trials} trials of up to {hours_text(each)} each.")


def _single_window(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if values["test"] == SATURATION or values["criterion"] != PTS:
        return None
    return CheckOutcome("The test ends as soon as one window of five rounds is steady.", changes={"criterion": "both"})


SNIA_CHECKS: tuple[StepCheck, ...] = (
    *(_on_tracked_point(check) for check in FIO_CHECKS if check.id not in NOT_OF_POINTS),
    *(_on_tracked_point(check) for check in DEVICE_CHECKS if check.id not in NOT_APPLICABLE),
    Check(
        id="no-active-range",
        severity=Severity.ERROR,
        blocks=True,
        title="File size missing",
        why="fio needs the size of a file; only a raw device has its own.",
        remedy="Set size as large as the volume allows.",
        source="fio manual, size.",
        needs="Size, device and block sizes.",
        evaluate=_no_range,
    ),
    Check(
        id="block-under-sector",
        severity=Severity.ERROR,
        blocks=True,
        title="Block size below the sector size",
        why="With direct I/O a block must be a multiple of the sector. fio ends with “Invalid argument” in the "
        "middle of the first round.",
        remedy="Remove the smaller block sizes.",
        source="open(2), O_DIRECT; TKperf skips 512 B on drives with 4 KiB sectors.",
        needs="Block sizes; the disk's sector size.",
        evaluate=_small_sector,
    ),
    Check(
        id="fio-before-3",
        severity=Severity.ERROR,
        blocks=True,
        title="fio older than 3.0",
        why="The script that decides between rounds parses fio’s output on the host; before 3.0 the fields had "
        "other names, and the test would end after its first round.",
        remedy="Install fio 3.0 or later.",
        source="fio’s own HOWTO and release notes: bw_bytes and lat_ns.",
        needs="The version of fio.",
        evaluate=_old_fio,
    ),
    Check(
        id="not-by-the-standard",
        title="Departs from the SNIA standard",
        why="SNIA figures are compared with those of other drives. A shortened test may end before the drive has "
        "left its fresh state and does not conform to the standard.",
        remedy="Use the standard’s times, rounds and points, or report the changes with the figure.",
        source="SNIA Solid State Storage Performance Test Specification; TKperf, which has its numbers.",
        needs="runtime, rounds, passes, block sizes and shares of reads.",
        evaluate=_departs,
    ),
    Check(
        id="cannot-purge",
        severity=Severity.INFO,
        title="Purge differs from the standard",
        why="The standard begins with an erased drive. A cloud volume or a file has no secure erase, and the "
        "storage below it keeps its state.",
        remedy="Report it with the figure.",
        source="SNIA PTS, purge; TKperf, which continues without a purge where there is no secure erase.",
        needs="Device and purge.",
        evaluate=_cannot_purge,
    ),
    Check(
        id="standard-window-alone",
        title="Single window accepts a slow decay",
        why="A rate that falls slowly stays within 20 % all the way: the figure is 29 % too high or more. A "
        "later drop is never seen: three times too high.",
        remedy="Require two windows to agree: at least ten rounds.",
        source="Simulated for this project: decays and drops of known size.",
        needs="Steady-state criterion.",
        evaluate=_single_window,
    ),
    Check(
        id="repeated-rounds",
        of_result=False,
        title="Several trials of a test in rounds",
        why="A trial is a series of rounds that ends when they agree: the rounds are its repetitions, and another "
        "trial preconditions and measures all of them again.",
        remedy="Set one trial, in a plan of its own.",
        source="SNIA Solid State Storage Performance Test Specification: one test run to steady state.",
        needs="The number of trials.",
        evaluate=_repeats,
    ),
    Check(
        id="steady-state-cost",
        of_result=False,
        severity=Severity.INFO,
        title="Duration and wear of this test",
        why="The test runs until steady state, so its duration is not known. Writing wears the drive.",
        remedy="Make sure that host and device are not needed meanwhile.",
        source="The plan; SMART, where available.",
        needs="The points, their time, the rounds and the range.",
        evaluate=cost,
    ),
)


# Notes of a SNIA test: its deviation, and how it departs from the standard.


OF_A_FILE = "whose device can be neither purged nor overwritten as a whole"
NOT_PURGED = "not purged"


def window_text(window: Window) -> str:
    """Return the deviation of the last rounds: range, change, and difference from the rounds before."""
    difference = "" if window.difference is None else f"; {100 * window.difference:.1f} % from the five before"
    rounds = f"the last {len(window.values)} rounds" if len(window.values) > 1 else "one round"
    return f"{rounds} range over {100 * window.range:.1f} % and change by {100 * window.slope:.1f} %{difference}"


def ended_notes(values: Values, found: Sequence[float], written: float, most: int) -> Iterator[str]:
    """Yield whether the steady state was reached, after how many rounds, and by which criterion."""
    window = window_of(found)
    if window is None:
        return
    point = points(values)[tracked(values)].words
    if values["test"] == SATURATION:
        yield f"{quantity(written)} written in {len(found)} rounds; {window_text(window)}."
        return
    after = steady_round(found, both=values["criterion"] == BOTH)
    if after is not None:
        yield f"Steady state was reached in round {after}, by {point}: {window_text(window)}."
        if not window.steady:
            yield (
                "Only by the standard's window, which also accepts a slow decay, far too high: no two windows agree."
            )
        return
    yield (
        f"Steady state was not reached in {len(found)} of {most} rounds, by {point}: {window_text(window)} (at most "
        f"{100 * PTS_RANGE:.0f}, {100 * PTS_SLOPE:.0f} and {100 * WINDOWS_AGREE:.0f} %). The figures are the means of "
        f"the last {min(WINDOW, len(found))}."
    )


def standard_notes(values: Values) -> Iterator[str]:
    """Yield how the test deviates from the standard, if it does."""
    found = [*departures(values), *circumstances(values)]
    if found:
        yield f"Not by the standard: {'; '.join(found)}."


def circumstances(values: Values) -> Iterator[str]:
    """Yield deviations from the standard caused by the target, not by shorter times."""
    if not on_device(values):
        yield f"on a file of {quantity(int(values['size']))}, {OF_A_FILE}"
    elif values["purge"] == NONE:
        yield NOT_PURGED
    if on_device(values) and int(values["size"]):
        yield f"on the first {quantity(int(values['size']))} of the device"
    if not values["direct"]:
        yield "through the page cache"
