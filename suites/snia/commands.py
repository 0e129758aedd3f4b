"""The command lines of the SNIA tests: purge, preconditioning, and one line of fio for each point of a round."""

from suites.base import Context
from suites.disk import KIB
from suites.facts import known
from suites.fio.commands import NAME, time_text
from suites.fio.device import on_device
from suites.parameters import Values, size_word
from suites.snia.parameters import LATENCY, SATURATION, SniaPoint

DOCUMENTS = 12
"""Documents of fio for each point, but never more than one a second: a test of a day prints some 20 KiB each."""


def range_size(values: Values, context: Context) -> int | None:
    """Return the bytes that are worked on; None where it is all of a device whose size is not known."""
    given = int(values["size"])
    if given or not on_device(values):
        return given
    device = None if context.facts is None else context.facts.device(on_device(values))
    return None if device is None else known(device.size)


def until(values: Values, context: Context) -> str:
    """Return the driver's word for what ends the test."""
    if values["test"] != SATURATION:
        return str(values["criterion"])
    size = range_size(values, context)
    return f"bytes:{0 if size is None else round(float(values['fill']) * size)}"


def _where(values: Values) -> list[str]:
    """Return fio's words for the device or the file, and how much of it is used."""
    path = on_device(values).replace(":", "\\:")  # a colon would begin another file (fio, filename)
    size = int(values["size"])
    return [f"--filename={path or NAME}", *([f"--size={size_word(size)}"] if size else [])]


def precondition(values: Values) -> tuple[str, ...]:
    """Return the line that writes the range over in sequence, as often as it is asked for.

    As the standard says, whatever is tested then: blocks of 128 KiB.
    """
    return (
        "fio", f"--name={NAME}", *_where(values), "--rw=write", f"--bs={size_word(128 * KIB)}", "--iodepth=16",
        f"--direct={int(values['direct'])}", f"--ioengine={values['ioengine']}", f"--loops={values['passes']}",
        "--end_fsync=1", "--thread=1",
    )  # fmt: skip


def purge(values: Values) -> tuple[str, ...]:
    """Return the line that tells the device that nothing on it is needed."""
    return ("blkdiscard", "-f", on_device(values))


def point_line(values: Values, point: SniaPoint) -> str:
    """Return the line of a point. Its words hold no blanks: neither a device's path nor anything else may have one.

    Random offsets need no map of what was done, which a large device would pay for in memory, and differ each time.
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
