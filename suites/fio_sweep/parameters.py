"""Parameters of a fio sweep, and its points."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from suites.fio.device import DEVICE, FIO_DIRECTORY, on_device
from suites.fio.parameters import (
    COMPRESSIBLE,
    DIRECT,
    FIO_PARAMETERS,
    FSYNC,
    IOENGINE,
    RAMP_TIME,
    RANDREPEAT,
    RUNTIME,
    RW,
    RWMIXREAD,
    SIZE,
)
from suites.parameters import Parameter, Type, Value, Values, format_size, parse_size

_COUNT = r"[1-9]\d{0,3}"
_BLOCK = r"[1-9]\d{0,8} ?(?:[kKmM](?:i?B)?)?"


def _list_of(one: str) -> str:
    return rf"\s*{one}(?:\s*,\s*{one}){{0,15}}\s*"


DEPTHS = Parameter(
    name="depths",
    type=Type.TEXT,
    default="1, 2, 4, 8, 16, 32, 64",
    help="Queue depths to measure, one point each: “1, 4, 16”.",
    option="--iodepth",
    pattern=_list_of(_COUNT),
)

JOB_COUNTS = Parameter(
    name="job_counts",
    type=Type.TEXT,
    default="1",
    help="Numbers of threads to measure, each thread with its own file, one point each: “1, 4”.",
    option="--numjobs",
    pattern=_list_of(r"[1-9]\d{0,2}"),
)

BLOCKS = Parameter(
    name="blocks",
    type=Type.TEXT,
    default="4k",
    help="Block sizes to measure, each with every depth and number of jobs: “4k, 64k”.",
    option="--bs",
    pattern=_list_of(_BLOCK),
)

POINT_TIME = replace(RUNTIME, title="runtime", default=10.0, minimum=1, help="Measured time of each point.")

SWEEP_PARAMETERS = (
    FIO_DIRECTORY, DEVICE, RW, RWMIXREAD, DEPTHS, JOB_COUNTS, BLOCKS, replace(DIRECT, default=True), SIZE, POINT_TIME,
    replace(RAMP_TIME, help="Time that each point runs before measuring."), replace(IOENGINE, default="libaio"),
    FSYNC, COMPRESSIBLE,
)  # fmt: skip

_FIXED: Mapping[str, Value] = MappingProxyType(
    {parameter.name: parameter.default for parameter in FIO_PARAMETERS} | {RANDREPEAT.name: False}
)


@dataclass(frozen=True, slots=True, order=True)
class FioSweepPoint:
    """One point of a sweep: block size in bytes, jobs, and queue depth."""

    block: int
    jobs: int
    depth: int

    @property
    def words(self) -> str:
        """The point as text."""
        return f"{format_size(self.block)}, {self.jobs} {'job' if self.jobs == 1 else 'jobs'}, depth {self.depth}"


def points(values: Values) -> tuple[FioSweepPoint, ...]:
    """Return the points of a sweep in order of measurement, each once: the depth changes first."""
    blocks = [parse_size(text) for text in _parts(values, "blocks")]
    jobs = [int(text) for text in _parts(values, "job_counts")]
    depths = [int(text) for text in _parts(values, "depths")]
    return tuple(
        dict.fromkeys(FioSweepPoint(block, count, depth) for block in blocks for count in jobs for depth in depths)
    )


def point_values(values: Values, point: FioSweepPoint) -> dict[str, Value]:
    """Return the point as the values of a fio step."""
    shared = {name: value for name, value in values.items() if name in _FIXED or name == DEVICE.name}
    return {**_FIXED, **shared, "block_size": point.block, "numjobs": point.jobs, "iodepth": point.depth}


def widest(values: Values) -> FioSweepPoint:
    """Return the point with the most jobs, which has the most files."""
    return max(points(values), key=lambda point: point.jobs)


def file_options(values: Values) -> list[str]:
    """Return fio's options that make all points share the same files; a raw device needs none."""
    return [] if on_device(values) else ["--filename_format=benchwright.$jobnum"]


def _parts(values: Values, name: str) -> list[str]:
    return [text.strip() for text in str(values[name]).split(",")]
