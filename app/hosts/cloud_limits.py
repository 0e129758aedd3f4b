"""Limits of instances and volumes, read from the JSON of the user's own cloud CLI and stored beside the saved hosts.

Sources: aws ec2 describe-instance-types and describe-volumes (EC2 API: EbsOptimizedInfo, NetworkCardInfo, Volume),
gcloud compute disks describe (Compute Engine API: provisionedIops, provisionedThroughput in MB/s), az vm list-skus
(UncachedDiskIOPS, UncachedDiskBytesPerSecond) and az disk show (diskIOPSReadWrite, diskMBpsReadWrite in 10^6 B/s).
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from app.hosts.hosts import HostsError
from app.output import write_whole
from remote.local_file import read_file
from remote.locked_file import locked
from suites.facts import CloudLimit
from suites.strict_json import read_json
from suites.units import Unit

CLOUD_LIMITS_FILE = "cloud-limits.json"
"""Its name, in the folder of the saved hosts."""

LARGEST = 2**26
"""Most bytes of a file of the cloud CLI: az vm list-skus of all regions has some 30 MB."""

MOST = 20
"""Most limits that are kept of a host."""

_NEEDED = "Give the JSON of one instance type, or of one volume with --device."


def limits_in(text: str, device: str = "", instance_type: str = "") -> tuple[CloudLimit, ...]:
    """Return the limits in the JSON of a cloud CLI; raise HostsError if it has none or those of several.

    `device` is the disk of the host that is the volume; `instance_type` chooses one of several.
    """
    try:
        content = read_json(text)
    except ValueError as error:
        raise HostsError(f"not valid JSON: {error}.", "Write it with: aws … --output json > FILE") from error
    found = list(
        dict.fromkeys(one for one in _all(content) if one.value > 0 and instance_type in {"", one.instance_type})
    )
    if not found:
        raise HostsError("no limit of an instance or a volume is in it.", _NEEDED)
    if len({one.name.rpartition(" of ")[2] for one in found}) > 1:
        raise HostsError("it has the limits of several.", f"{_NEEDED} Choose a type with --type.")
    if not all(one.instance_type for one in found) and not device:
        raise HostsError("the disk of this volume is not known.", "Add --device, such as --device nvme1n1.")
    return tuple(one if one.instance_type else replace(one, device=device) for one in found)[:MOST]


def _all(content: object) -> Iterator[CloudLimit]:
    for one in content if isinstance(content, list) else [content]:
        if isinstance(one, dict):
            for kind in _objects(one, "InstanceTypes"):
                yield from _aws_type(kind)
            for volume in _objects(one, "Volumes"):
                of = _word(volume.get("VolumeId")) or "the volume"
                yield _limit("IOPS", of, volume.get("Iops"), Unit.PER_SECOND)
                yield _limit("throughput", of, volume.get("Throughput"), Unit.BYTES_PER_SECOND, 2**20)
            yield from _other(one)


def _aws_type(kind: Mapping[str, Any]) -> Iterator[CloudLimit]:
    of = _word(kind.get("InstanceType"))
    ebs = _object(_object(kind, "EbsInfo"), "EbsOptimizedInfo")
    for word, level in (("Baseline", "baseline"), ("Maximum", "maximum")):
        yield _limit(f"{level} EBS IOPS", of, ebs.get(f"{word}Iops"), Unit.PER_SECOND, kind=of)
        rate = ebs.get(f"{word}ThroughputInMBps")
        yield _limit(f"{level} EBS throughput", of, rate, Unit.BYTES_PER_SECOND, 1e6, kind=of)
    for card in _objects(_object(kind, "NetworkInfo"), "NetworkCards")[:1]:
        for word, level in (("Baseline", "baseline"), ("Peak", "peak")):
            rate = card.get(f"{word}BandwidthInGbps")
            yield _limit(f"{level} bandwidth", of, rate, Unit.BITS_PER_SECOND, 1e9, kind=of)


def _other(one: Mapping[str, Any]) -> Iterator[CloudLimit]:
    of = _word(one.get("name")) or "the volume"
    for iops, throughput in (("provisionedIops", "provisionedThroughput"), ("diskIOPSReadWrite", "diskMBpsReadWrite")):
        yield _limit("IOPS", of, one.get(iops), Unit.PER_SECOND)
        yield _limit("throughput", of, one.get(throughput), Unit.BYTES_PER_SECOND, 1e6)
    if one.get("resourceType") == "virtualMachines":
        can = {_word(each.get("name")): each.get("value") for each in _objects(one, "capabilities")}
        yield _limit("uncached disk IOPS", of, can.get("UncachedDiskIOPS"), Unit.PER_SECOND, kind=of)
        rate = can.get("UncachedDiskBytesPerSecond")
        yield _limit("uncached disk throughput", of, rate, Unit.BYTES_PER_SECOND, kind=of)


def _limit(what: str, of: str, value: object, unit: Unit, times: float = 1, *, kind: str = "") -> CloudLimit:
    """Return a limit; of 0 if `value`, which may be a text, is no number."""
    try:
        number = float(value) * times if isinstance(value, int | float | str) and len(str(value)) <= 30 else 0.0
    except ValueError:
        number = 0.0
    return CloudLimit(
        name=f"{what} of {of}", value=number if math.isfinite(number) else 0.0, unit=str(unit), instance_type=kind
    )


def _object(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = content.get(key)
    return found if isinstance(found, dict) else {}


def _objects(content: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = content.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


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
        scope = {(one.device, bool(one.instance_type)) for one in new}
        kept = [one for one in self.of(host) if (one.device, bool(one.instance_type)) not in scope]
        self._write(host, (*kept, *new))
        return self.of(host)

    def forget(self, host: str) -> None:
        """Delete the limits of a host."""
        self._write(host, ())

    def _read(self) -> dict[str, tuple[CloudLimit, ...]]:
        try:
            return read_file(self._path, LARGEST, HostsError, "Fix or move the file.", _stored)
        except HostsError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return {}
            raise

    def _write(self, host: str, limits: tuple[CloudLimit, ...]) -> None:
        with locked(self._path):
            known = {**self._read(), host: limits}
            content = {name: [asdict(one) for one in each] for name, each in sorted(known.items()) if each}
            write_whole(self._path, json.dumps(content, indent=1).encode(), private=True)


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
