"""Reads what block devices are and who uses them, and lets a command have one only while nothing about it changes."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

from remote.errors import RemoteError
from remote.facts.items import Items, parse_items
from remote.facts.values import whole, word
from remote.script import new_mark, run_script, script
from remote.session import Session
from remote.smart import wear_of
from suites.facts import Absent, RawDevice

SCRIPT = "device.sh"

TIMEOUT = 60.0
"""Seconds; a device takes half a second, one that sleeps may take ten."""

ANSWER_LIMIT = 2**20

CHANGED = 77
"""The exit status of the guard where the device is not as it was."""

_USES = ("part", "holder", "mount", "swap", "loop", "open")
"""The words of device.sh that tell of somebody who uses the device."""


class DeviceError(RemoteError):
    """A host did not say what a device is."""


def read_devices(session: Session, paths: Sequence[str]) -> tuple[RawDevice, ...]:
    """Return what the devices at `paths` are on the session's host, and who uses them. Changes nothing.

    A session of root sees more. Raises DeviceError where the host gives no answer.
    """
    if not paths:
        return ()
    mark = new_mark()
    completed = run_script(session, SCRIPT, mark, "look", mark, *paths, timeout=TIMEOUT, limit=ANSWER_LIMIT)
    items = parse_items(completed.stdout, mark)
    if not items.complete:
        raise DeviceError(f"{session.host} did not say what {paths[0]} is.", "Try again.", host=session.host)
    return tuple(_device(items, f"device.{number}", path) for number, path in enumerate(paths))


def guarded(device: RawDevice, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words that become `argv` if `device` is still as it was read, by root, and nobody uses it.

    They end with the status CHANGED, and say on standard error what has changed, where it is not.
    """
    state = "" if isinstance(device.state, Absent) else device.state
    return ("sh", "-c", script(SCRIPT).decode(), "sh", "guard", state, device.path, *argv)


def _device(items: Items, name: str, path: str) -> RawDevice:
    state = (items.text(f"{name}.state") or "").rstrip("\n")
    said = _words(state)
    missing = said.get("missing", ("the host said nothing about it",))[0]
    one = {key: values[0] for key, values in said.items()}
    if "node" not in one:
        return _unknown(path, missing)
    access = items.text(f"{name}.access")
    used, lifetime = wear_of(items.text(f"{name}.smart"))
    unread = Absent(said["unread"][0]) if "unread" in said else None
    return RawDevice(
        path=path,
        node=one["node"],
        kind=one.get("kind", Absent("the kernel does not tell")),
        size=whole(one.get("size"), 1) or Absent("the kernel tells no size"),
        model=one.get("model", Absent("it tells no model")),
        serial=one.get("serial", Absent("it tells no serial number")),
        by_id=tuple(sorted(said.get("by-id", ()))),
        backing_file=one.get("backing", Absent("it is not made of a file")),
        read_only=_flag(one.get("read-only"), "the kernel does not tell"),
        readable=Absent("it was not tried") if access is None else "r" in access,
        writable=Absent("it was not tried") if access is None else "w" in access,
        uses=tuple(f"{key} {value}" for key in _USES for value in said.get(key, ())),
        signatures=unread or said.get("signature", ()),
        free=_free(one.get("exclusive", "")),
        written=_flag(items.text(f"{name}.written"), "it was not read"),
        endurance_used=used,
        lifetime_written=lifetime,
        state=state,
    )


def _words(state: str) -> Mapping[str, tuple[str, ...]]:
    """Return the values of each word of a state, in order; what is no visible text has no place in it."""
    found: dict[str, tuple[str, ...]] = {}
    for line in state.splitlines():
        key, _, text = line.partition(" ")
        value = word(text, 512)
        if value is not None:
            found[key] = (*found.get(key, ()), value)
    return found


def _unknown(path: str, reason: str) -> RawDevice:
    absent = Absent(reason)
    return RawDevice(path=path, **{each.name: absent for each in fields(RawDevice) if each.name != "path"})


def _flag(text: str | None, otherwise: str) -> bool | Absent:
    value = (text or "").strip()
    return value == "1" if value in {"0", "1"} else Absent(otherwise)


def _free(said: str) -> bool | Absent:
    if said in {"free", "busy"}:
        return said == "free"
    return Absent(said.removeprefix("unknown ") or "it was not tried")
