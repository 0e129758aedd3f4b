"""CPU facts: topology, flags, frequency, caches and cgroup quota."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from remote.facts.items import Items, count_cpus, fields, listed_cpus, number, text_line, whole
from suites.facts import NO_CPU_LIMIT, Absent, Cache, Core, CpuFacts, known

MOST_FLAGS = 512
MOST_CACHES = 64
MOST_CORES = 512
LARGEST_CACHE = 2**36
"""Limits of flags, caches and cores read, and the largest plausible cache size in bytes."""
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def cpu_facts(items: Items, virtualisation: str | Absent) -> CpuFacts:
    """Return the facts; `virtualisation` gives the reason for missing frequencies."""
    described = fields(items.text("cpuinfo"))
    threads = count_cpus(items.text("cpu.online"))
    allowed = fields(items.text("status")).get("Cpus_allowed_list")
    usable = count_cpus(allowed)
    governor, frequency = _frequency(items, virtualisation)
    return CpuFacts(
        model=_model(items),
        microcode=text_line(described.get("microcode"), 32) or items.missing("cpuinfo", "not in /proc/cpuinfo"),
        emulated=_emulated(items, described, virtualisation),
        mitigations=_mitigations(items),
        sockets=_distinct(items, "cpu.packages"),
        cores=_distinct(items, "cpu.cores"),
        threads=threads or items.missing("cpu.online", "invalid list of CPUs"),
        offline=_offline(items),
        usable=usable or items.missing("status", "invalid list of allowed CPUs"),
        layout=_layout(items, listed_cpus(allowed)),
        flags=_flags(described.get("flags") or described.get("Features"), items),
        governor=governor,
        energy_preference=_preferences(items),
        energy_counters=_energy_counters(items, virtualisation),
        boost=_boost(items),
        hyperthreading=text_line(items.text("cpu.smt"), 32) or items.missing("cpu.smt"),
        frequency_maximum=frequency,
        frequency_guest=_guest_frequency(described, frequency, virtualisation),
        caches=tuple(_caches(items.text("cpu.caches"))) or items.missing("cpu.caches", "no caches in /sys"),
        numa_nodes=whole(items.text("cpu.nodes"), 1, 1024) or items.missing("cpu.nodes", "no NUMA nodes in /sys"),
        numa_balancing=_numa_balancing(items),
        quota=_quota(items),
    )


def _emulated(items: Items, described: Mapping[str, str], virtualisation: str | Absent) -> bool | Absent:
    """Return whether the instructions are translated, by QEMU (TCG) or Rosetta (VirtualApple).

    QEMU's own CPU models are named after TCG. For others systemd-detect-virt reads the hypervisor's signature by CPUID:
    qemu is TCG, kvm is QEMU with KVM. Other architectures have no CPUID; there qemu is the vendor in DMI.
    """
    if any(name in described.get("model name", "") for name in ("TCG", "VirtualApple")):
        return True
    if "flags" not in described:
        return Absent("not reported by this architecture")
    if "hypervisor" not in described["flags"].split():
        return False
    if not items.text("virtualisation"):
        return Absent("systemd-detect-virt is not installed")
    return known(virtualisation) == "qemu"


MOST_MITIGATIONS = 64


def _mitigations(items: Items) -> tuple[str, ...] | Absent:
    """Return lines ``vulnerability: state`` of /sys/devices/system/cpu/vulnerabilities, without those not affected."""
    lines = re.findall(r"^\./([a-z0-9_]{1,40}):(.*)$", items.text("cpu.vulnerabilities") or "", re.MULTILINE)
    if not lines:
        return items.missing("cpu.vulnerabilities", "not in /sys (Linux before 4.15)")
    states = [(name, text_line(state, 200)) for name, state in lines[:MOST_MITIGATIONS]]
    return tuple(f"{name}: {state}" for name, state in sorted(states, key=lambda one: one[0]) if state not in _SAFE)


_SAFE = (None, "Not affected")


def _offline(items: Items) -> int | Absent:
    """Return the number of offline CPUs; the kernel's list is empty if there are none."""
    if "cpu.offline" not in items.values:
        return items.missing("cpu.offline")
    text = "".join(items.all("cpu.offline")).strip()
    found = count_cpus(text) if text else 0
    return Absent("invalid list of offline CPUs") if found is None else found


def _preferences(items: Items) -> str | Absent:
    lines = (items.text("cpu.preferences") or "").splitlines()
    found = sorted({preference for line in lines if (preference := text_line(line.rpartition(":")[2], 32))})
    return ", ".join(found) or items.missing("cpu.preferences", "no energy preference in cpufreq")


def _boost(items: Items) -> bool | Absent:
    """Return whether boost is enabled: cpufreq's boost, or the inverse of intel_pstate's no_turbo."""
    boost, no_turbo = (whole(items.text(name), 0, 1) for name in ("cpu.boost", "cpu.no_turbo"))
    if boost is not None:
        return boost == 1
    return items.missing("cpu.boost") if no_turbo is None else no_turbo == 0


def _numa_balancing(items: Items) -> bool | Absent:
    """Return whether it is on: 1 is NUMA balancing, 2 memory tiering, 3 both (kernel, admin-guide/sysctl/kernel)."""
    found = whole(items.text("cpu.numa_balancing"), 0, 3)
    return items.missing("cpu.numa_balancing") if found is None else found > 0


def _model(items: Items) -> str | Absent:
    described, listed = fields(items.text("cpuinfo")), fields(items.text("lscpu"))
    name = text_line(described.get("model name") or listed.get("Model name") or described.get("cpu model"))
    return name or items.missing("cpuinfo", "not in /proc/cpuinfo or lscpu")


def _distinct(items: Items, name: str) -> int | Absent:
    """Return the number of distinct lines; a platform without topology writes -1."""
    lines = {line.strip() for line in (items.text(name) or "").splitlines()} - {"", "-1"}
    return len(lines) or items.missing(name, "no topology in /sys")


def _layout(items: Items, allowed: Sequence[int] | None) -> tuple[Core, ...] | Absent:
    """Return the cores with CPUs in `allowed`; a CPU that no list of packages or NUMA nodes names is in the first."""
    lines = {line.strip() for line in (items.text("cpu.cores") or "").splitlines()}
    cores = [found for line in lines if (found := listed_cpus(line))]
    if allowed is None or not cores:
        return items.missing("cpu.cores", "no topology in /sys")
    if len(cores) > MOST_CORES or len({cpu for core in cores for cpu in core}) < sum(map(len, cores)):
        return Absent("invalid lists of SMT siblings")
    packages, nodes = (_groups(items.text(name)) for name in ("cpu.package_lists", "cpu.node_lists"))
    usable = ((core, tuple(cpu for cpu in core if cpu in set(allowed))) for core in cores)
    made = [
        Core(node=nodes.get(core[0], 0), package=packages.get(core[0], 0), cpus=cpus) for core, cpus in usable if cpus
    ]
    return tuple(sorted(made, key=lambda core: (core.node, core.package, core.cpus)))


def _groups(text: str | None) -> dict[int, int]:
    """Return the number of the list (from 0, by first CPU) that each CPU is in."""
    lists = {tuple(found) for line in (text or "").splitlines() if (found := listed_cpus(line.strip()))}
    return {cpu: place for place, cpus in enumerate(sorted(lists)) for cpu in cpus}


def _flags(text: str | None, items: Items) -> tuple[str, ...] | Absent:
    found = tuple(flag for part in (text or "").split()[:MOST_FLAGS] if (flag := text_line(part, 32)))
    return found or items.missing("cpuinfo", "none in /proc/cpuinfo")


def _frequency(items: Items, virtualisation: str | Absent) -> tuple[str | Absent, float | Absent]:
    """Return the governors and the highest frequency of any CPU in MHz; /sys has it in kHz."""
    lines = [words for line in (items.text("cpu.governors") or "").splitlines() if (words := line.split())]
    governors = sorted({governor for line in lines if (governor := text_line(line[0], 32))})
    frequencies = [kilohertz for line in lines if (kilohertz := number(line[-1], 1e3, 1e8)) is not None]
    guest = (known(virtualisation) or "none") != "none"
    absent = items.missing("cpu.governors", f"no cpufreq in /sys{' (virtual machine)' if guest else ''}")
    return ", ".join(governors) or absent, max(frequencies) / 1000 if frequencies else absent


def _guest_frequency(
    described: Mapping[str, str], maximum: float | Absent, virtualisation: str | Absent
) -> float | Absent:
    """Return ``cpu MHz`` of a virtual machine without cpufreq: there it is the rate of the TSC, as measured at boot.

    To 10 MHz, because two boots differ by less. Elsewhere the line is the clock of the moment.
    """
    if not isinstance(maximum, Absent) or (known(virtualisation) or "none") == "none":
        return Absent("not a virtual machine without cpufreq")
    found = number(described.get("cpu MHz"), 100, 1e5)
    return Absent("not in /proc/cpuinfo") if found is None else round(found, -1)


def _energy_counters(items: Items, virtualisation: str | Absent) -> tuple[str, ...] | Absent:
    """Return the domains of powercap from lines ``readable package-0``; why, if there are none or none is readable."""
    lines = re.findall(r"^(readable|refused) ([A-Za-z0-9_-]{1,32})$", items.text("cpu.energy") or "", re.MULTILINE)
    if lines:
        names = tuple(name for how, name in lines[:MOST_FLAGS] if how == "readable")
        return names or Absent("readable by root only (CVE-2020-8694)")
    guest = (known(virtualisation) or "none") != "none"
    return items.missing("cpu.energy", f"no powercap in /sys{' (virtual machine)' if guest else ''}")


def _caches(text: str | None) -> Iterator[Cache]:
    """Yield the caches from lines ``level kind shared-by-list size``, grouped by level, kind and size."""
    lines = sorted({found for line in (text or "").splitlines() if (found := _cache_line(line)) is not None})
    groups = groupby(lines, key=lambda line: (line[0], line[1], line[2]))
    for number_of_caches, ((level, kind, size), group) in enumerate(groups):
        if number_of_caches == MOST_CACHES:
            return
        lists = {line[3] for line in group}
        counts = [count for shared in lists if (count := count_cpus(shared)) is not None]
        yield Cache(
            level=level,
            kind=kind,
            size=size or Absent("no size in /sys"),
            shared_by=max(counts) if counts else Absent("invalid list of sharing CPUs"),
            instances=len(lists),
        )


def _cache_line(line: str) -> tuple[int, str, int, str] | None:
    """Return level, kind, size (0 if unknown) and the list of CPUs that share it."""
    level_text, kind, shared, size_text = (*line.split(" "), "", "", "", "")[:4]
    level, size = whole(level_text, 1, 9), whole(size_text[:-1], 1, 2**32)
    if level is None or kind not in {"Data", "Instruction", "Unified"} or not shared:
        return None
    size_bytes = (size or 0) * _UNITS.get(size_text[-1:], 0)
    return level, kind.lower(), size_bytes if size_bytes <= LARGEST_CACHE else 0, shared


def _quota(items: Items) -> float | Absent:
    """Return the CPUs of the lowest quota in the cgroup hierarchy: cpu.max (v2) or cfs_quota_us/cfs_period_us (v1)."""
    pairs = [tuple(text.split()) for text in items.all("cgroup.cpu.max")]
    pairs += zip(items.all("cgroup.cpu.cfs_quota_us"), items.all("cgroup.cpu.cfs_period_us"), strict=False)
    granted = []
    for pair in pairs:
        quota, period = (whole(part, 1) for part in (*pair, "", "")[:2])
        if quota is not None and period is not None:
            granted.append(quota / period)
    return min(granted) if granted else NO_CPU_LIMIT
