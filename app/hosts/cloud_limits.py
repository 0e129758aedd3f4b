"""Limits of instances and volumes, read from the JSON of the user's own cloud CLI and stored beside the saved hosts.

Sources: aws ec2 describe-instance-types and describe-volumes (EC2 API: EbsOptimizedInfo, NetworkCardInfo, Volume),
gcloud compute disks describe (Compute Engine API: provisionedIops, provisionedThroughput in MB/s), az vm list-skus
(UncachedDiskIOPS, UncachedDiskBytesPerSecond) and az disk show (diskIOPSReadWrite, diskMBpsReadWrite in 10^6 B/s).
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from app.hosts.hosts import HostsError
from app.output import write_whole
from remote.local_file import read_file
from remote.locked_file import locked
from suites.facts import CloudLimit
from suites.strict_json import object_in, objects_in, read_json
from suites.units import Unit

CLOUD_LIMITS_FILE = "cloud-limits.json"
"""Its name, in the folder of the saved hosts."""

LARGEST = 2**26
"""Most bytes of a file of the cloud CLI: az vm list-skus of all regions has some 30 MB."""

MOST = 100
"""Most limits of a file: those of an instance and of the volumes that can be attached to it."""

HIGHEST = 1e15
"""Bound of a believable limit in 1/s, B/s or bit/s."""

_NEEDED = "Give the JSON of one instance type, or of one volume and name its disk."

_NEXT = re.compile(r"(?<=[}\]])\s{1,20}(?=[{\[])")
"""Between two values: pages or volumes one after another, as of jq -c. Within one value a comma is there."""


def limits_in(text: str, device: str = "", instance_type: str = "") -> tuple[CloudLimit, ...]:
    """Return the limits in the JSON of a cloud CLI; raise HostsError if it has none or those of several.

    `device` is the disk of the host that is the volume, not needed for volumes whose id is their serial number (EBS),
    which may be several; `instance_type` chooses one of several.
    """
    try:
        content = read_json(f"[{_NEXT.sub(',', text)}]" if _NEXT.search(text) else text)
    except ValueError as error:
        raise HostsError(f"not valid JSON: {error}.", "Write it with: aws … --output json > FILE") from error
    found = list(
        dict.fromkeys(
            one
            for one in _all(content)
            if 0 < one.value < HIGHEST and instance_type.casefold() in {"", one.instance_type.casefold()}
        )
    )
    if not found:
        raise HostsError(f"no limit of {instance_type or 'an instance or a volume'} is in it.", _NEEDED)
    if len(found) > MOST:
        raise HostsError(f"it has {len(found)} limits, more than {MOST}.", "Give only the volumes of this host.")
    by_serial = not device and all(one.volume for one in found)
    if len({one.name.rpartition(" of ")[2] for one in found}) > 1 and not by_serial:
        ways = " Name one instance type, or no disk: EBS volumes are found by their serial numbers."
        raise HostsError("it has the limits of several.", f"{_NEEDED}{ways}")
    if not all(one.instance_type or one.volume for one in found) and not device:
        raise HostsError("the disk of this volume is not known.", "Name the disk, such as nvme1n1 (lsblk).")
    name = device.removeprefix("/dev/")
    if "/" in name:
        raise HostsError(f"{device} is a link to the disk.", "Give the kernel’s name of it, such as nvme1n1 (lsblk).")
    return tuple(one if one.instance_type else replace(one, device=name) for one in found)


def _all(content: object) -> Iterator[CloudLimit]:
    """Yield the limits of whole answers and of what --query or a REST call has of them."""
    for one in content if isinstance(content, list) else [content]:
        if isinstance(one, list):
            yield from _all(one)
        elif isinstance(one, dict):
            for key in ("InstanceTypes", "Volumes", "value"):
                yield from _all(objects_in(one, key))
            if "VolumeId" in one:
                yield from _aws_volume(one)
            elif "InstanceType" in one:
                yield from _aws_type(one)
            else:
                yield from _other({**one, **object_in(one, "properties")})


def _aws_volume(volume: Mapping[str, Any]) -> Iterator[CloudLimit]:
    name = _word(volume.get("VolumeId"))
    what = "baseline IOPS" if volume.get("VolumeType") == "gp2" else "IOPS"  # gp2: the rate of its credits
    yield _limit(what, name or "the volume", volume.get("Iops"), Unit.PER_SECOND, volume=name)
    rate = volume.get("Throughput")
    yield _limit("throughput", name or "the volume", rate, Unit.BYTES_PER_SECOND, 2**20, volume=name)


def _aws_type(kind: Mapping[str, Any]) -> Iterator[CloudLimit]:
    of = _word(kind.get("InstanceType"))
    ebs = object_in(object_in(kind, "EbsInfo"), "EbsOptimizedInfo")
    for word, level in (("Baseline", "baseline"), ("Maximum", "maximum")):
        yield _limit(f"{level} EBS IOPS", of, ebs.get(f"{word}Iops"), Unit.PER_SECOND, kind=of)
        rate = ebs.get(f"{word}ThroughputInMBps")
        yield _limit(f"{level} EBS throughput", of, rate, Unit.BYTES_PER_SECOND, 1e6, kind=of)
    for card in objects_in(object_in(kind, "NetworkInfo"), "NetworkCards")[:1]:
        for word, level in (("Baseline", "baseline"), ("Peak", "peak")):
            rate = card.get(f"{word}BandwidthInGbps")
            yield _limit(f"{level} bandwidth", of, rate, Unit.BITS_PER_SECOND, 1e9, kind=of)


def _other(one: Mapping[str, Any]) -> Iterator[CloudLimit]:
    of = _word(one.get("name")) or "the volume"
    known = {key.casefold(): value for key, value in one.items()}  # az wrote diskIopsReadWrite before 2023
    for iops, throughput in (("provisionediops", "provisionedthroughput"), ("diskiopsreadwrite", "diskmbpsreadwrite")):
        yield _limit("IOPS", of, known.get(iops), Unit.PER_SECOND)
        yield _limit("throughput", of, known.get(throughput), Unit.BYTES_PER_SECOND, 1e6)
    if one.get("resourceType") == "virtualMachines":
        can = {_word(each.get("name")): each.get("value") for each in objects_in(one, "capabilities")}
        yield _limit("uncached disk IOPS", of, can.get("UncachedDiskIOPS"), Unit.PER_SECOND, kind=of)
        rate = can.get("UncachedDiskBytesPerSecond")
        yield _limit("uncached disk throughput", of, rate, Unit.BYTES_PER_SECOND, kind=of)


def _limit(
    what: str, of: str, value: object, unit: Unit, times: float = 1, *, kind: str = "", volume: str = ""
) -> CloudLimit:
    """Return a limit; of 0 if `value`, which may be a text, is no number."""
    try:
        accepted = isinstance(value, int | float | str) and not isinstance(value, bool) and len(str(value)) <= 30
        number = float(str(value)) * times if accepted else 0.0
    except ValueError:
        number = 0.0
    return CloudLimit(
        name=f"{what} of {of}",
        value=number if math.isfinite(number) else 0.0,
        unit=str(unit),
        instance_type=kind,
        volume=volume,
    )


def _word(value: object) -> str:
    return "".join(filter(str.isprintable, value))[:60] if isinstance(value, str) else ""


class SavedCloudLimits:
    """The limits of each host, in a JSON file beside that of the saved hosts."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, host: str) -> tuple[CloudLimit, ...]:
        """Return the limits of a host; raise HostsError for a damaged file."""
        return self._read().get(host, ())

    def add(self, host: str, file: Path, device: str = "", instance_type: str = "") -> tuple[CloudLimit, ...]:
        """Store the limits in a file of a cloud CLI in place of the same ones; return all of the host."""
        hint = "Give the JSON of a cloud CLI."
        new = read_file(file, LARGEST, HostsError, hint, lambda text: limits_in(text, device, instance_type))
        scope = set(map(_scope, new))
        with self._changed() as known:
            known[host] = (*(one for one in known.get(host, ()) if _scope(one) not in scope), *new)
            return known[host]

    def remove(self, host: str, limits: Collection[CloudLimit]) -> None:
        """Delete some limits of a host."""
        with self._changed() as known:
            known[host] = tuple(one for one in known.get(host, ()) if one not in limits)

    def forget(self, host: str) -> tuple[CloudLimit, ...]:
        """Delete the limits of a host, and return them."""
        with self._changed() as known:
            return known.pop(host, ())

    def move(self, old: str, new: str) -> None:
        """Give the limits of a host that was renamed to its new name."""
        with self._changed() as known:
            if old in known:
                known[new] = known.pop(old)

    def put_back(self, host: str, limits: tuple[CloudLimit, ...]) -> None:
        """Store limits that forget() returned."""
        with self._changed() as known:
            known.setdefault(host, limits)

    def _read(self) -> dict[str, tuple[CloudLimit, ...]]:
        try:
            return read_file(self._path, LARGEST, HostsError, "Fix or move the file.", _stored)
        except HostsError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return {}
            raise

    @contextmanager
    def _changed(self) -> Iterator[dict[str, tuple[CloudLimit, ...]]]:
        """Yield the limits by host for a change that no other process interleaves; then write them, if they changed."""
        with locked(self._path):
            known = self._read()
            before = dict(known)
            yield known
            if known != before:
                content = {name: [asdict(one) for one in each] for name, each in sorted(known.items()) if each}
                write_whole(self._path, json.dumps(content, indent=1).encode(), private=True)


def _scope(one: CloudLimit) -> tuple[str, bool]:
    """Return what a newer limit replaces: those of the same volume or disk, or of the instance."""
    return one.volume or one.device, bool(one.instance_type)


def _stored(text: str) -> dict[str, tuple[CloudLimit, ...]]:
    try:
        return {
            host: tuple(
                CloudLimit(**{**one, "unit": str(Unit(one["unit"])), "value": float(one["value"])}) for one in of
            )
            for host, of in read_json(text).items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise HostsError("not a file of cloud limits.", "Fix or move the file.") from error
