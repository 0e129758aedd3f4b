"""What a test to steady state costs: hours, bytes written, and a share of the drive's endurance."""

from suites.checks import Outcome, StepEvidence
from suites.disk import amount
from suites.facts import Absent, known
from suites.fio.device import on_device
from suites.parameters import Values
from suites.snia.commands import range_size
from suites.snia.parameters import LATENCY, SATURATION, fewest_rounds, most_rounds, points

SLOW_RATE, FAST_RATE = 100e6, 1e9
"""B/s between which volumes write in sequence: a small cloud volume's, and a round figure for solid-state ones."""

MOST_IOPS = 200_000
"""I/Os a second that are assumed at most for what a test may write: what a good NVMe drive sustains when it is full."""

ONE_AT_A_TIME = 50_000
"""The same of one I/O at a time: 20 us for each, as the fastest drives take."""


def cost(evidence: StepEvidence) -> Outcome:
    """Return how long the test takes at least and at most, what it writes at most, and how that wears the drive."""
    values = evidence.values
    size = range_size(values, evidence.context)
    filled = (size or 0) * int(values["passes"])
    told, written = _of_saturation(values, size) if values["test"] == SATURATION else _of_rounds(values)
    before = ""
    if size is not None:
        seconds = _between(filled / FAST_RATE, filled / SLOW_RATE)
        before = f" Before, {amount(filled)} are written in sequence, in {seconds} at 1 GB/s to 100 MB/s."
    return Outcome(f"{told}.{before}{_wear(evidence, written + filled)}")


def _of_saturation(values: Values, size: int | None) -> tuple[str, float]:
    """Return in words what is written, and its bytes; `size` is that of the range, None where it is not known."""
    most = most_rounds(values) * float(values["runtime"])
    if size is None:
        return f"It writes for up to {_hours(most)}", _most_written(values, most)
    whole = float(values["fill"]) * size
    return f"It writes {amount(whole)}, for {_between(min(most, whole / FAST_RATE), most)}", whole


def _of_rounds(values: Values) -> tuple[str, float]:
    """Return in words how long the rounds take and what they write, and the most bytes that this may be."""
    count, seconds = len(points(values)), float(values["runtime"])
    fewest, most = fewest_rounds(values), most_rounds(values)
    written = _most_written(values, most * count * seconds)
    lasts = f"{_hours(fewest * count * seconds)} ({fewest} rounds) to {_hours(most * count * seconds)} ({most} rounds)"
    rates = f"at no more than 1 GB/s and {_most_iops(values):,} I/Os a second"
    return f"{count} points of {seconds:g} s: {lasts}, writing up to {amount(written)} {rates}", written


def _most_written(values: Values, seconds: float) -> float:
    """Return the bytes that the rounds of `seconds` may write: limited by FAST_RATE, and by MOST_IOPS."""
    found = points(values)
    each = seconds / len(found)
    return sum((1 - point.reads / 100) * min(FAST_RATE, _most_iops(values) * point.block) * each for point in found)


def _most_iops(values: Values) -> int:
    return ONE_AT_A_TIME if values["test"] == LATENCY else MOST_IOPS


def _wear(evidence: StepEvidence, most: float) -> str:
    """Return what share of its rated endurance a drive has used, and what `most` bytes add; or why that is not known.

    SMART tells the share in whole percent, and what was written: both together tell what the drive is rated for.
    """
    values, facts = evidence.values, evidence.context.facts
    if not on_device(values):
        return ""
    device = None if facts is None else facts.device(on_device(values))
    if device is None:
        return ""
    if isinstance(device.endurance_used, Absent):
        return f" The wear is not known: {device.endurance_used.reason}."
    told = f" {device.endurance_used:g} % of the rated endurance are used"
    written = known(device.lifetime_written)
    if written is None or not device.endurance_used:
        return f"{told}."
    share = most / (written / (device.endurance_used / 100))
    return f"{told}, by {amount(written)}; this adds up to {100 * share:.2g} %."


def times(number: int) -> str:
    """Return a count of passes in words."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _between(least: float, most: float) -> str:
    first, last = _hours(least), _hours(most)
    return first if first == last else f"{first} to {last}"


def _hours(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"
