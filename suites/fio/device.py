"""fio on a raw block device: nothing is laid out, nothing lies between, and what is written destroys what was there."""

from dataclasses import replace

from suites.base import Context
from suites.disk import DIRECTORY, MIB
from suites.facts import known
from suites.fio.parameters import total_size, writes
from suites.parameters import Parameter, Type, Values

DEVICE_PATTERN = r"/dev/(?!.*\.\.)[A-Za-z0-9_/.:+@=-]{1,200}"


def on_device(values: Values) -> str:
    """Return the path of the raw device that a step works on; empty where it works on files."""
    return str(values.get("device", ""))


DEVICE = Parameter(
    name="device",
    title="Raw device",
    type=Type.TEXT,
    default="",
    help="A block device instead of a directory, such as /dev/disk/by-id/…: no file system, no files. Whatever writes "
    "to it destroys all that is on it, and is started only once you have typed its serial number.",
    option="--filename",
    pattern=DEVICE_PATTERN,
    identity=False,
)

FIO_DIRECTORY = replace(
    DIRECTORY,
    help=f"{DIRECTORY.help} For several volumes at once, see “Do two volumes add up?” among the questions.",
    applies=lambda values: not on_device(values),
)


def device_options(values: Values, size: str) -> list[str]:
    """Return fio's options for the device; `size` is that of one job's part as fio writes it.

    Jobs work on parts of their own, one after the other from the beginning, as they would on files of their own. What
    only reads is told never to write.
    """
    path = on_device(values)
    if not path:
        return []
    options = [f"--filename={path.replace(':', chr(92) + ':')}"]  # a colon would begin another file (fio, filename)
    if int(values["numjobs"]) > 1:
        options.append(f"--offset_increment={size}")
    return options if writes(values) else [*options, "--readonly"]


def needs_root(values: Values, context: Context) -> bool:
    """Whether the step runs as root: to read what only root may read, and for whatever writes.

    Only root sees everybody who uses a device, and that is looked at in the same moment in which the test begins.
    """
    path, facts = on_device(values), context.facts
    if not path or (facts is not None and known(facts.system.user) == "root"):
        return False
    device = None if facts is None else facts.device(path)
    return writes(values) or device is None or device.readable is not True


def part_of_device(values: Values) -> int:
    """Return the bytes from the device's beginning that all jobs together work on."""
    return max(MIB, total_size(values))
