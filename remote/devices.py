"""Block devices: what they are, who uses them, and a guard that runs a command only if the device is unchanged."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from remote.errors import RemoteError
from remote.facts.items import Items, parse_items, text_line, whole
from remote.script import new_mark, run_script, script
from remote.session import Session
from suites.facts import Absent, RawDevice
from suites.strict_json import read_json

# Wear: SMART data in the JSON output of smartctl.


NVME_UNIT = 512_000
"""Bytes per unit of NVMe's Data Units Written (NVMe base specification: thousands of 512 B)."""

_PERCENT_LARGEST = 255
"""The largest value of NVMe's Percentage Used; values above 254 % are reported as 255 (NVMe base specification)."""

Wear = tuple["float | Absent", "int | Absent"]


def wear_of(text: str | None) -> Wear:
    """Return the percentage of the rated endurance that a drive has used, and its lifetime bytes written.

    `text` is the output of `smartctl -j -a`, "missing" where smartctl is not installed, or None without root.
    """
    if text is None:
        return Absent("SMART needs root"), Absent("SMART needs root")
    if text.strip() == "missing":
        return Absent("smartctl is not installed"), Absent("smartctl is not installed")
    try:
        smart = read_json(text)
    except ValueError:
        smart = None
    log = _within(smart, "nvme_smart_health_information_log")
    used = _number(log, "percentage_used")
    if used is None:
        used = _number(_within(smart, "endurance_used"), "current_percent")
    units = _number(log, "data_units_written")
    return (
        Absent("SMART reports no endurance used") if used is None or used > _PERCENT_LARGEST else float(used),
        Absent("SMART reports no bytes written") if units is None else int(units) * NVME_UNIT,
    )


def _within(source: object, name: str) -> dict[str, Any]:
    found = source.get(name) if isinstance(source, dict) else None
    return found if isinstance(found, dict) else {}


def _number(source: dict[str, Any], name: str) -> float | None:
    value = source.get(name)
    sane = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if sane else None


SCRIPT = "device.sh"

TIMEOUT = 60.0
"""Seconds; a device takes about 0.5 s, one in standby up to 10 s."""

ANSWER_LIMIT = 2**20

CHANGED = 77
"""The guard's exit status if the device has changed."""

_USES = ("part", "holder", "mount", "swap", "loop", "open")
"""The keys of device.sh that list users of the device."""


class DeviceError(RemoteError):
    """A device could not be read."""


def read_devices(session: Session, paths: Sequence[str]) -> tuple[RawDevice, ...]:
    """Read the devices at `paths` on the session's host and their users. Changes nothing.

    A root session reads more. Raises DeviceError where the answer is incomplete.
    """
    if not paths:
        return ()
    mark = new_mark()
    completed = run_script(session, SCRIPT, mark, "look", mark, *paths, timeout=TIMEOUT, limit=ANSWER_LIMIT)
    items = parse_items(completed.stdout, mark)
    if not items.complete:
        raise DeviceError(f"{session.host}: no answer about {paths[0]}.", "Try again.", host=session.host)
    return tuple(_device(items, f"device.{number}", path) for number, path in enumerate(paths))


def device_guard(devices: Sequence[RawDevice], argv: Sequence[str]) -> tuple[str, ...]:
    """Return an argv that execs `argv` only if all `devices` are unchanged since root read them, and not in use.

    Otherwise it prints what has changed on stderr and exits with CHANGED.
    """
    states = (word for each in devices for word in ("" if isinstance(each.state, Absent) else each.state, each.path))
    return ("sh", "-c", script(SCRIPT).decode(), "sh", "guard", str(len(devices)), *states, *argv)


def _device(items: Items, name: str, path: str) -> RawDevice:
    state = (items.text(f"{name}.state") or "").rstrip("\n")
    found = _parse_state(state)
    missing = found.get("missing", ("no answer from the host",))[0]
    one = {key: values[0] for key, values in found.items()}
    if "node" not in one:
        return _unknown(path, missing)
    access = items.text(f"{name}.access")
    used, lifetime = wear_of(items.text(f"{name}.smart"))
    unread = Absent(found["unread"][0]) if "unread" in found else None
    return RawDevice(
        path=path,
        node=one["node"],
        kind=one.get("kind", Absent("not reported by the kernel")),
        size=whole(one.get("size"), 1) or Absent("not reported by the kernel"),
        model=one.get("model", Absent("not reported by the device")),
        serial=one.get("serial", Absent("not reported by the device")),
        by_id=tuple(sorted(found.get("by-id", ()))),
        backing_file=one.get("backing", Absent("not a loop device")),
        read_only=_flag(one.get("read-only"), "not reported by the kernel"),
        readable=Absent("not tested") if access is None else "r" in access,
        writable=Absent("not tested") if access is None else "w" in access,
        uses=tuple(f"{key} {value}" for key in _USES for value in found.get(key, ())),
        signatures=unread or found.get("signature", ()),
        free=_free(one.get("exclusive", "")),
        written=_flag(items.text(f"{name}.written"), "not read"),
        endurance_used=used,
        lifetime_written=lifetime,
        state=state,
    )


def _parse_state(state: str) -> Mapping[str, tuple[str, ...]]:
    """Return the values of each key of a state, in order, without values that contain unprintable characters."""
    found: dict[str, tuple[str, ...]] = {}
    for line in state.splitlines():
        key, _, text = line.partition(" ")
        value = text_line(text, 512)
        if value is not None:
            found[key] = (*found.get(key, ()), value)
    return found


def _unknown(path: str, reason: str) -> RawDevice:
    absent = Absent(reason)
    return RawDevice(path=path, **{each.name: absent for each in fields(RawDevice) if each.name != "path"})


def _flag(text: str | None, otherwise: str) -> bool | Absent:
    value = (text or "").strip()
    return value == "1" if value in {"0", "1"} else Absent(otherwise)


def _free(exclusive: str) -> bool | Absent:
    if exclusive in {"free", "busy"}:
        return exclusive == "free"
    return Absent(exclusive.removeprefix("unknown ") or "not tested")
