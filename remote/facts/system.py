"""The operating system, what it runs on, and how far its clock is off."""

import ipaddress
import re

from remote.facts.items import Items
from remote.facts.values import fields, number, whole, word
from suites.facts import Absent, SystemFacts

_VENDORS = (
    ("amazon", "amazon"),
    ("google", "google"),
    ("qemu", "qemu"),
    ("vmware", "vmware"),
    ("innotek", "oracle"),
    ("xen", "xen"),
    ("microsoft", "microsoft"),
)
"""Makers in DMI and what `systemd-detect-virt` calls their machines."""


def system_facts(items: Items, sent: float, received: float) -> SystemFacts:
    """Return the facts; the script was sent at `sent` and read to its end at `received`, the workstation's epoch."""
    uname = (items.text("uname") or "").split()
    names: list[str | None] = [word(part) for part in uname] if len(uname) == 3 else [None] * 3
    release = fields(items.text("os_release"), "=")
    uptime, load = (number((items.text(name) or "").split(" ")[0], high=1e11) for name in ("uptime", "load"))
    return SystemFacts(
        host_name=names[0] or items.missing("uname"),
        kernel=names[1] or items.missing("uname"),
        architecture=names[2] or items.missing("uname"),
        distribution=_unquoted(release.get("PRETTY_NAME"))
        or items.missing("os_release", "os-release does not name it"),
        distribution_id=_unquoted(release.get("ID")) or items.missing("os_release", "os-release does not name it"),
        distribution_version=_unquoted(release.get("VERSION_ID"))
        or items.missing("os_release", "os-release does not name it"),
        distribution_like=_unquoted(release.get("ID_LIKE"))
        or items.missing("os_release", "os-release does not name it"),
        virtualisation=_virtualisation(items),
        container=_container(items),
        boot_id=word(items.text("boot_id")) or items.missing("boot_id"),
        uptime=items.missing("uptime") if uptime is None else uptime,
        load_1_minute=items.missing("load") if load is None else load,
        clock_source=word(items.text("clock_source"), 32) or items.missing("clock_source"),
        clock_offset=_clock_offset(items, sent, received),
        user=_user(items),
        workstation_address=_client(items),
        io_uring_disabled=_io_uring(items),
    )


def _unquoted(text: str | None) -> str | None:
    return None if text is None else word(re.sub(r"\\(.)", r"\1", text.strip().strip("\"'")))


def _clock_offset(items: Items, sent: float, received: float) -> float | Absent:
    """Return host minus workstation by the middle of the round trip (RFC 5905, section 8: the clock filter's theta)."""
    moments = [items.text("first.epoch"), items.text("last.epoch")]
    first, last = (number(moment, high=1e11) for moment in moments)
    if any(moment is not None and "%N" in moment for moment in moments):
        return Absent("date on this host tells whole seconds only")
    if first is None or last is None or last < first:
        return items.missing("last.epoch", "the host's date is not a number of seconds")
    return ((first - sent) + (last - received)) / 2


def _virtualisation(items: Items) -> str | Absent:
    found = _detected(items, "virtualisation")
    if found:
        return found
    vendor = (items.text("dmi.sys_vendor") or items.text("hypervisor") or "").lower()
    flags = fields(items.text("cpuinfo")).get("flags", "").split()
    named = next((name for part, name in _VENDORS if part in vendor), None)
    if "hypervisor" in flags:
        return named or "vm-other"
    if flags:
        return "none"  # every hypervisor on x86 shows itself in this flag
    return named or Absent("systemd-detect-virt is not installed, and neither CPU nor DMI tell")


def _container(items: Items) -> str | Absent:
    found = _detected(items, "container")
    if found:
        return found
    signs = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
    for sign in items.all("container_sign"):
        return signs.get(sign, "container-other")
    return Absent("no sign of one, and systemd-detect-virt is not installed")


def _detected(items: Items, name: str) -> str | None:
    text = (items.text(name) or "").strip()
    return text if re.fullmatch(r"[a-z0-9-]{1,32}", text) else None


def _user(items: Items) -> str | Absent:
    found = re.match(r"uid=([0-9]{1,10})(?:\(([^)]{1,64})\))?", items.text("id") or "")
    return items.missing("id") if found is None else word(found[2] or found[1]) or items.missing("id")


def _io_uring(items: Items) -> int | Absent:
    """Return the kernel's switch; before Linux 6.6 there is none."""
    found = whole(items.text("io_uring_disabled"), high=2)
    return items.missing("io_uring_disabled", "the kernel has no such switch") if found is None else found


def _client(items: Items) -> str | Absent:
    address = (items.text("client") or "").split(" ")[0]
    if not address:
        return Absent("it was not reached over SSH")
    try:
        return str(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return Absent("SSH_CONNECTION on the host is no address")
