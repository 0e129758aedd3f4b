"""Command lines of the SNIA tests: purge, preconditioning, and one line of fio for each point of a round."""

from suites.base import Context, StepEvidence
from suites.checks import CheckOutcome
from suites.disk import KIB
from suites.facts import Absent, known
from suites.fio.device import on_device
from suites.fio.suite import NAME, time_text
from suites.parameters import Values, size_word
from suites.quantities import ends_text, quantity
from suites.snia.parameters import LATENCY, SATURATION, SniaPoint, fewest_rounds, most_rounds, points

DOCUMENTS = 12
"""Maximum documents of fio per point, at most one per second: a test of a day prints about 20 KiB each."""


def range_size(values: Values, context: Context) -> int | None:
    """Return the bytes of the range; None for a whole device of unknown size."""
    given = int(values["size"])
    if given or not on_device(values):
        return given
    device = None if context.facts is None else context.facts.device(on_device(values))
    return None if device is None else known(device.size)


def until(values: Values, context: Context) -> str:
    """Return the script's argument for the end of the test."""
    if values["test"] != SATURATION:
        return str(values["criterion"])
    size = range_size(values, context)
    return f"bytes:{0 if size is None else round(float(values['fill']) * size)}"


def _where(values: Values) -> list[str]:
    """Return fio's options of the device or the file, and the size of the range."""
    path = on_device(values).replace(":", "\\:")  # fio separates file names with colons (filename): escape them
    size = int(values["size"])
    return [f"--filename={path or NAME}", *([f"--size={size_word(size)}"] if size else [])]


def precondition(values: Values) -> tuple[str, ...]:
    """Return the line that overwrites the range in sequence, for the set number of passes.

    The standard requires blocks of 128 KiB, whatever is tested then.
    """
    return (
        "fio", f"--name={NAME}", *_where(values), "--rw=write", f"--bs={size_word(128 * KIB)}", "--iodepth=16",
        f"--direct={int(values['direct'])}", f"--ioengine={values['ioengine']}", f"--loops={values['passes']}",
        "--end_fsync=1", "--thread=1",
    )  # fmt: skip


def purge(values: Values) -> tuple[str, ...]:
    """Return the line that discards the device."""
    return ("blkdiscard", "-f", on_device(values))


def point_line(values: Values, point: SniaPoint) -> str:
    """Return the line of a point. Its words must not contain blanks.

    Random offsets need no map of visited blocks, which would take much memory on a large device, and differ each time.
    """
    alone = values["test"] == LATENCY
    words = ["fio", f"--name={NAME}", *_where(values), f"--rw={point.rw}"]
    if 0 < point.reads < 100:
        words.append(f"--rwmixread={point.reads}")
    words += [
        f"--bs={size_word(point.block)}",
        f"--iodepth={1 if alone else values['iodepth']}",
        f"--numjobs={1 if alone else values['numjobs']}",
        f"--direct={int(values['direct'])}",
        f"--ioengine={values['ioengine']}",
        f"--runtime={time_text(float(values['runtime']))}",
        "--time_based",
    ]
    if not point.sequential:
        words += ["--norandommap", "--randrepeat=0"]
    if point.reads == 100 and on_device(values):
        words.append("--readonly")
    interval = max(1, round(float(values["runtime"]) / DOCUMENTS))
    return " ".join(
        [*words, "--thread=1", "--group_reporting", "--output-format=json+", f"--status-interval={interval}"]
    )


# Cost of a test to steady state: hours, bytes written, and a share of the drive's endurance.


SLOW_RATE, FAST_RATE = 100e6, 1e9
"""B/s of sequential writes: a small cloud volume, and a round figure for solid-state ones."""

MOST_IOPS = 200_000
"""Upper bound of IOPS for the estimate of writes: what a good NVMe drive sustains when it is full."""

ONE_AT_A_TIME = 50_000
"""The same at queue depth 1: 20 us for each, as the fastest drives take."""


def cost(evidence: StepEvidence) -> CheckOutcome | None:
    """Return duration, maximum writes and wear of a test on a raw device; the plan's totals show those on a file."""
    values = evidence.values
    if not on_device(values):
        return None
    size = range_size(values, evidence.context)
    filled = (size or 0) * int(values["passes"])
    text, written = _of_saturation(values, size) if values["test"] == SATURATION else _of_rounds(values)
    before = ""
    if size is not None:
        seconds = _between(filled / FAST_RATE, filled / SLOW_RATE)
        before = f" Before, {quantity(filled)} are written in sequence, in {seconds} at 1 GB/s to 100 MB/s."
    return CheckOutcome(f"{text}.{before}{_wear(evidence, written + filled)}")


def _of_saturation(values: Values, size: int | None) -> tuple[str, float]:
    """Return as text what is written, and its bytes; `size` is that of the range, None if not known."""
    most = most_rounds(values) * float(values["runtime"])
    if size is None:
        return f"It writes for up to {hours_text(most)}", most_written(values, most)
    whole = float(values["fill"]) * size
    return f"It writes {quantity(whole)}, for {_between(min(most, whole / FAST_RATE), most)}", whole


def _of_rounds(values: Values) -> tuple[str, float]:
    """Return as text how long the rounds take and what they write, and the maximum bytes."""
    count, seconds = len(points(values)), float(values["runtime"])
    fewest, most = fewest_rounds(values), most_rounds(values)
    written = most_written(values, most * count * seconds)
    least, longest = (hours_text(rounds * count * seconds) for rounds in (fewest, most))
    lasts = f"{least} ({fewest} rounds) to {longest} ({most} rounds)"
    rates = f"at no more than 1 GB/s and {_most_iops(values):,} IOPS"
    return f"{count} points of {seconds:g} s: {lasts}, writing up to {quantity(written)} {rates}", written


def most_written(values: Values, seconds: float) -> float:
    """Return the maximum bytes written by rounds of `seconds`: limited by FAST_RATE and MOST_IOPS."""
    found = points(values)
    each = seconds / len(found)
    return sum((1 - point.reads / 100) * min(FAST_RATE, _most_iops(values) * point.block) * each for point in found)


def _most_iops(values: Values) -> int:
    return ONE_AT_A_TIME if values["test"] == LATENCY else MOST_IOPS


def _wear(evidence: StepEvidence, most: float) -> str:
    """Return the used share of a drive's rated endurance, and what `most` bytes add; or why it is not known.

    SMART reports the share in whole percent, and the bytes written: both together give the rated endurance.
    """
    values, facts = evidence.values, evidence.context.facts
    if not on_device(values):
        return ""
    device = None if facts is None else facts.device(on_device(values))
    if device is None:
        return ""
    if isinstance(device.endurance_used, Absent):
        return f" The wear is not known: {device.endurance_used.reason}."
    text = f" {device.endurance_used:g} % of the rated endurance are used"
    written = known(device.lifetime_written)
    if written is None or not device.endurance_used:
        return f"{text}."
    share = most / (written / (device.endurance_used / 100))
    return f"{text}, by {quantity(written)}; this adds up to {100 * share:.2g} %."


def _between(least: float, most: float) -> str:
    return ends_text(hours_text(least), hours_text(most))


def hours_text(seconds: float) -> str:
    """Return `seconds` as text in seconds, minutes or hours."""
    if seconds < 60:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"
