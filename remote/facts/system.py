"""Operating system, virtualisation, clock offset, cloud, memory and network interfaces."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from remote.facts.items import Items, fields, number, text_line, tree, whole
from suites.facts import NO_MEMORY_LIMIT, Absent, CloudFacts, Interface, MemoryFacts, SystemFacts

_VENDORS = (
    ("amazon", "amazon"),
    ("google", "google"),
    ("qemu", "qemu"),
    ("vmware", "vmware"),
    ("innotek", "oracle"),
    ("xen", "xen"),
    ("microsoft", "microsoft"),
)
"""Parts of the DMI vendor and the names of `systemd-detect-virt`."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A reading of the host's clock, and of this computer's before and after it (epoch seconds)."""

    sent: float
    host: float
    received: float


def system_facts(items: Items, exchanges: Iterable[Exchange]) -> SystemFacts:
    """Return the facts; `exchanges` are readings of the host's clock."""
    offset, uncertainty = clock_offset(exchanges)
    uname = (items.text("uname") or "").split()
    names: list[str | None] = [text_line(part) for part in uname] if len(uname) == 3 else [None] * 3
    release = fields(items.text("os_release"), "=")
    uptime, load = (number((items.text(name) or "").split(" ")[0], high=1e11) for name in ("uptime", "load"))
    unnamed = items.missing("os_release", "not in os-release")
    return SystemFacts(
        host_name=names[0] or items.missing("uname"),
        kernel=names[1] or items.missing("uname"),
        architecture=names[2] or items.missing("uname"),
        distribution=_unquoted(release.get("PRETTY_NAME")) or unnamed,
        distribution_id=_unquoted(release.get("ID")) or unnamed,
        distribution_version=_unquoted(release.get("VERSION_ID")) or unnamed,
        distribution_like=_unquoted(release.get("ID_LIKE")) or unnamed,
        virtualisation=_virtualisation(items),
        container=_container(items),
        boot_id=text_line(items.text("boot_id")) or items.missing("boot_id"),
        uptime=items.missing("uptime") if uptime is None else uptime,
        load_1_minute=items.missing("load") if load is None else load,
        clock_source=text_line(items.text("clock_source"), 32) or items.missing("clock_source"),
        clock_offset=offset,
        clock_offset_uncertainty=uncertainty,
        command_line=text_line(items.text("command_line"), 2048) or items.missing("command_line"),
        user=_user(items),
        workstation_address=_client(items),
        io_uring_disabled=_io_uring(items),
    )


def _unquoted(text: str | None) -> str | None:
    return None if text is None else text_line(re.sub(r"\\(.)", r"\1", text.strip().strip("\"'")))


def clock_offset(exchanges: Iterable[Exchange]) -> tuple[float | Absent, float | Absent]:
    """Return host minus workstation in seconds and its uncertainty, of the exchange with the shortest round trip.

    The host's time was read at an unknown moment between both readings here (RFC 5905, section 8: theta and delta / 2).
    """
    found = [one for one in exchanges if one.received >= one.sent]
    if not found:
        absent = Absent("date on this host prints whole seconds only, or no time")
        return absent, absent
    best = min(found, key=lambda one: one.received - one.sent)
    return best.host - (best.sent + best.received) / 2, (best.received - best.sent) / 2


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
        return "none"  # on x86 every hypervisor sets this CPUID flag
    return named or Absent("not in CPU flags or DMI; systemd-detect-virt is not installed")


def _container(items: Items) -> str | Absent:
    found = _detected(items, "container")
    if found:
        return found
    signs = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
    for sign in items.all("container_sign"):
        return signs.get(sign, "container-other")
    return Absent("none found; systemd-detect-virt is not installed")


def _detected(items: Items, name: str) -> str | None:
    text = (items.text(name) or "").strip()
    return text if re.fullmatch(r"[a-z0-9-]{1,32}", text) else None


def _user(items: Items) -> str | Absent:
    found = re.match(r"uid=([0-9]{1,10})(?:\(([^)]{1,64})\))?", items.text("id") or "")
    return items.missing("id") if found is None else text_line(found[2] or found[1]) or items.missing("id")


def _io_uring(items: Items) -> int | Absent:
    """Return kernel.io_uring_disabled (0 to 2), which exists since Linux 6.6."""
    found = whole(items.text("io_uring_disabled"), high=2)
    return items.missing("io_uring_disabled", "no such sysctl") if found is None else found


def _client(items: Items) -> str | Absent:
    address = (items.text("client") or "").split(" ")[0]
    if not address:
        return Absent("not connected over SSH")
    try:
        return str(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return Absent("invalid SSH_CONNECTION")


# Cloud metadata.


_PROVIDERS = {"aws": "AWS", "gcp": "GCP", "azure": "Azure", "alibaba": "Alibaba Cloud", "oracle": "Oracle Cloud"}
_SILENT = "no metadata service answered within 300 ms"


def cloud_facts(items: Items) -> CloudFacts:
    """Return the facts. The metadata service is queried only if DMI names one of the clouds."""
    cloud = (items.text("cloud") or "").strip()
    if cloud not in _PROVIDERS:
        absent = _no_cloud(items)
        return CloudFacts(provider=absent, instance_type=absent, instance_id=absent, region=absent, baseline=absent)
    lines = [*(items.text("metadata") or "").splitlines(), "", "", "", ""]
    kind, identity, location, baseline = (line.strip().rpartition("/")[2] for line in lines[:4])  # GCP returns paths
    region = re.sub(r"-[a-z]$", "", location) if cloud == "gcp" else location  # GCP returns the zone
    return CloudFacts(
        provider=_PROVIDERS[cloud],
        instance_type=_metadata(items, kind),
        instance_id=_metadata(items, identity),
        region=_metadata(items, region),
        baseline=_metadata(items, baseline) if cloud == "oracle" else Absent("only of Oracle Cloud"),
    )


def _no_cloud(items: Items) -> Absent:
    if items.text("dmi.sys_vendor"):
        return Absent("DMI names no supported cloud")
    return Absent(f"no DMI vendor: {items.missing('dmi.sys_vendor').reason}")


def _metadata(items: Items, value: str) -> str | Absent:
    if not value:
        return items.missing("metadata", _SILENT)
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", value):
        return Absent("invalid answer of the metadata service")
    return value


# Memory, swap, huge pages and the cgroup's memory limit.


NO_LIMIT = 2**60
"""cgroup v1 writes "no limit" as the largest number of whole pages, about 2**63."""


def memory_facts(items: Items) -> MemoryFacts:
    """Return the facts."""
    described = fields(items.text("meminfo"))

    def size(name: str) -> int | Absent:
        """Return the value of a line such as ``MemTotal: 16318480 kB`` in bytes; the kernel's kB is KiB."""
        found = whole(described.get(name, "").removesuffix(" kB"), high=2**50)
        return items.missing("meminfo", f"/proc/meminfo has no {name}") if found is None else found * 1024

    total, free = size("SwapTotal"), size("SwapFree")
    pages = whole(described.get("HugePages_Total"), high=2**40)
    used: int | Absent = Absent("SwapFree > SwapTotal")
    if isinstance(total, Absent) or isinstance(free, Absent):
        used = free if isinstance(free, Absent) else total
    elif total >= free:
        used = total - free
    return MemoryFacts(
        total=size("MemTotal"),
        available=size("MemAvailable"),
        swap_total=total,
        swap_used=used,
        page_size=_page_size(items),
        huge_page_size=size("Hugepagesize"),
        huge_pages=items.missing("meminfo", "/proc/meminfo has no HugePages_Total") if pages is None else pages,
        transparent_huge_pages=_chosen(items),
        limit=_limit(items),
    )


def _page_size(items: Items) -> int | Absent:
    found = whole(items.text("page_size"), 1, 2**30)
    return items.missing("page_size", "invalid output of getconf") if found is None else found


def _chosen(items: Items) -> str | Absent:
    """Return the word in brackets in ``always [madvise] never``."""
    found = re.search(r"\[([a-z]{1,16})\]", items.text("huge_pages") or "")
    return found[1] if found else items.missing("huge_pages", "no value in brackets in /sys")


def _limit(items: Items) -> int | Absent:
    texts = (*items.all("cgroup.memory.max"), *items.all("cgroup.memory.limit_in_bytes"))
    limits = [limit for text in texts if (limit := whole(text, 1, NO_LIMIT)) is not None]
    return min(limits) if limits else NO_MEMORY_LIMIT


# Network interfaces.


MOST_INTERFACES = 64
MOST_ADDRESSES = 32

NOMINAL = 10_000
"""Mbit/s that every veth interface reports (kernel, veth.c), regardless of its throughput."""

_BUILT_ON_OTHERS = re.compile(r"bond|team|vlan|br|[^.]+\.\d")
"""Names of interfaces without a driver that report the speed of their lower devices."""


def interfaces(items: Items) -> tuple[Interface, ...]:
    """Return the interfaces by name."""
    found = tree(items.text("net"))
    drivers = dict(re.findall(r" (\S+)/device/driver -> \S*?([^/\s]+)$", items.text("net.drivers") or "", re.MULTILINE))
    addresses = _addresses(items.text("net.addresses"))
    return tuple(
        Interface(
            name=name,
            speed=_speed(name, found[name], driver=name in drivers),
            mtu=whole(found[name].get("mtu"), 1, 2**24) or Absent("not in /sys"),
            state=text_line(found[name].get("operstate"), 32) or Absent("not in /sys"),
            driver=text_line(drivers.get(name), 64) or Absent("a virtual interface without a driver"),
            addresses=addresses.get(name) or items.missing("net.addresses", "none"),
        )
        for name in sorted(found)[:MOST_INTERFACES]
        if text_line(name, 64) == name
    )


def _speed(name: str, found: Mapping[str, str], *, driver: bool) -> int | Absent:
    """Return bit/s; /sys has Mbit/s, and -1 or no value if the driver reports none."""
    megabits = whole(found.get("speed"), 1, 10_000_000)
    if megabits == NOMINAL and not driver and not _BUILT_ON_OTHERS.match(name):
        return Absent("a virtual interface: the reported 10 Gbit/s is nominal")
    if megabits is not None:
        return megabits * 1_000_000
    return Absent("the link is down" if found.get("operstate") == "down" else "not reported by the driver")


def _addresses(text: str | None) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, address in re.findall(r"^[0-9]+:\s+([^\s@]+)\S*\s+inet6?\s+([0-9a-fA-F.:]+)", text or "", re.MULTILINE):
        try:
            valid = str(ipaddress.ip_address(address))
        except ValueError:
            continue
        found[name] = (*found.get(name, ()), valid)[:MOST_ADDRESSES]
    return found
