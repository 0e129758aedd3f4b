"""The parameters of a sweep with fio, and the points that they make."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from suites.fio.device import DEVICE, FIO_DIRECTORY, on_device
from suites.fio.more_parameters import RANDREPEAT
from suites.fio.parameters import (
    COMPRESSIBLE,
    DIRECT,
    FIO_PARAMETERS,
    FSYNC,
    IOENGINE,
    RAMP_TIME,
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
    title="Queue depths",
    type=Type.TEXT,
    default="1, 2, 4, 8, 16, 32, 64",
    help="I/Os that each job keeps in flight, one point for each: “1, 4, 16”.",
    option="--iodepth",
    pattern=_list_of(_COUNT),
)

JOB_COUNTS = Parameter(
    name="job_counts",
    title="Jobs",
    type=Type.TEXT,
    default="1",
    help="How many threads do the same at once, each with a file of its own, one point for each: “1, 4”.",
    option="--numjobs",
    pattern=_list_of(r"[1-9]\d{0,2}"),
)

BLOCKS = Parameter(
    name="blocks",
    title="Block sizes",
    type=Type.TEXT,
    default="4k",
    help="Bytes of each I/O; every depth and number of jobs is measured with each: “4k, 64k”.",
    option="--bs",
    pattern=_list_of(_BLOCK),
)

POINT_TIME = replace(
    RUNTIME,
    title="Runtime of a point",
    default=10.0,
    minimum=1,
    help="Each point is measured for so long.",
)

SWEEP_PARAMETERS = (
    FIO_DIRECTORY, DEVICE, RW, RWMIXREAD, DEPTHS, JOB_COUNTS, BLOCKS, replace(DIRECT, default=True), SIZE, POINT_TIME,
    replace(RAMP_TIME, help="Each point runs for so long before anything counts."), replace(IOENGINE, default="libaio"),
    FSYNC, COMPRESSIBLE,
)  # fmt: skip

_FIXED: Mapping[str, Value] = MappingProxyType(
    {parameter.name: parameter.default for parameter in FIO_PARAMETERS} | {RANDREPEAT.name: False}
)


@dataclass(frozen=True, slots=True, order=True)
class SweepPoint:
    """One point of a sweep: bytes of a block, jobs, and the I/Os that each keeps in flight."""

    block: int
    jobs: int
    depth: int

    @property
    def words(self) -> str:
        """The point in words."""
        return f"{format_size(self.block)}, {self.jobs} {'job' if self.jobs == 1 else 'jobs'}, depth {self.depth}"


def points(values: Values) -> tuple[SweepPoint, ...]:
    """Return the points of a sweep in the order in which they are measured, each once: the depth changes first."""
    blocks = [parse_size(text) for text in _parts(values, "blocks")]
    jobs = [int(text) for text in _parts(values, "job_counts")]
    depths = [int(text) for text in _parts(values, "depths")]
    return tuple(
        dict.fromkeys(SweepPoint(block, count, depth) for block in blocks for count in jobs for depth in depths)
    )


def point_values(values: Values, point: SweepPoint) -> dict[str, Value]:
    """Return the point as the values of a step of fio."""
    shared = {name: value for name, value in values.items() if name in _FIXED or name == DEVICE.name}
    return {**_FIXED, **shared, "block_size": point.block, "numjobs": point.jobs, "iodepth": point.depth}


def widest(values: Values) -> SweepPoint:
    """Return the point with the most jobs, which has the most files."""
    return max(points(values), key=lambda point: point.jobs)


def file_options(values: Values) -> list[str]:
    """Return fio's options that let all points share the same files; a raw device has none."""
    return [] if on_device(values) else ["--filename_format=benchwright.$jobnum"]


def _parts(values: Values, name: str) -> list[str]:
    return [text.strip() for text in str(values[name]).split(",")]
