"""The processors: how many, of what kind, with which caches, and how much of them a group may use."""

from collections.abc import Iterator
from itertools import groupby

from remote.facts.items import Items
from remote.facts.values import count_cpus, fields, number, whole, word
from suites.facts import Absent, Cache, CpuFacts, known

MOST_FLAGS = 512
MOST_CACHES = 64
LARGEST_CACHE = 2**36
"""How many flags and caches are read, and the bytes of a cache beyond which its size counts as not told."""
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def cpu_facts(items: Items, virtualisation: str | Absent) -> CpuFacts:
    """Return the facts; `virtualisation` explains why a virtual machine shows no frequency."""
    described = fields(items.text("cpuinfo"))
    threads = count_cpus(items.text("cpu.online"))
    usable = count_cpus(fields(items.text("status")).get("Cpus_allowed_list"))
    governor, frequency = _frequency(items, virtualisation)
    return CpuFacts(
        model=_model(items),
        sockets=_distinct(items, "cpu.packages"),
        cores=_distinct(items, "cpu.cores"),
        threads=threads or items.missing("cpu.online", "the host's list of CPUs is not one"),
        offline=_offline(items),
        usable=usable or items.missing("status", "the host's list of allowed CPUs is not one"),
        flags=_flags(described.get("flags") or described.get("Features"), items),
        governor=governor,
        energy_preference=_preferences(items),
        boost=_boost(items),
        hyperthreading=word(items.text("cpu.smt"), 32) or items.missing("cpu.smt"),
        frequency_maximum=frequency,
        caches=tuple(_caches(items.text("cpu.caches")))
        or items.missing("cpu.caches", "/sys does not describe the caches"),
        numa_nodes=whole(items.text("cpu.nodes"), 1, 1024) or items.missing("cpu.nodes", "no NUMA nodes in /sys"),
        numa_balancing=_numa_balancing(items),
        quota=_quota(items),
    )


def _offline(items: Items) -> int | Absent:
    """Return how many CPUs are switched off; the kernel's list of them is empty where none is."""
    if "cpu.offline" not in items.values:
        return items.missing("cpu.offline")
    text = "".join(items.all("cpu.offline")).strip()
    found = count_cpus(text) if text else 0
    return Absent("the host's list of offline CPUs is not one") if found is None else found


def _preferences(items: Items) -> str | Absent:
    lines = (items.text("cpu.preferences") or "").splitlines()
    found = sorted({preference for line in lines if (preference := word(line.rpartition(":")[2], 32))})
    return ", ".join(found) or items.missing("cpu.preferences", "the processor takes no preference")


def _boost(items: Items) -> bool | Absent:
    """Return whether the processor may boost: cpufreq says so, or intel_pstate says the contrary."""
    boost, no_turbo = (whole(items.text(name), 0, 1) for name in ("cpu.boost", "cpu.no_turbo"))
    if boost is not None:
        return boost == 1
    return items.missing("cpu.boost") if no_turbo is None else no_turbo == 0


def _numa_balancing(items: Items) -> bool | Absent:
    """Return whether it is on: 1 moves pages to their users, 2 to the faster tier, 3 does both."""
    found = whole(items.text("cpu.numa_balancing"), 0, 3)
    return items.missing("cpu.numa_balancing") if found is None else found > 0


def _model(items: Items) -> str | Absent:
    described, listed = fields(items.text("cpuinfo")), fields(items.text("lscpu"))
    name = word(described.get("model name") or listed.get("Model name") or described.get("cpu model"))
    return name or items.missing("cpuinfo", "neither /proc/cpuinfo nor lscpu names it")


def _distinct(items: Items, name: str) -> int | Absent:
    """Return how many different lines there are; a platform that does not know writes -1."""
    lines = {line.strip() for line in (items.text(name) or "").splitlines()} - {"", "-1"}
    return len(lines) or items.missing(name, "/sys does not describe the topology")


def _flags(text: str | None, items: Items) -> tuple[str, ...] | Absent:
    found = tuple(flag for part in (text or "").split()[:MOST_FLAGS] if (flag := word(part, 32)))
    return found or items.missing("cpuinfo", "/proc/cpuinfo lists none")


def _frequency(items: Items, virtualisation: str | Absent) -> tuple[str | Absent, float | Absent]:
    """Return the governors in use and the highest frequency of any CPU in MHz; /sys has it in kHz."""
    lines = [words for line in (items.text("cpu.governors") or "").splitlines() if (words := line.split())]
    governors = sorted({governor for line in lines if (governor := word(line[0], 32))})
    frequencies = [kilohertz for line in lines if (kilohertz := number(line[-1], 1e3, 1e8)) is not None]
    guest = (known(virtualisation) or "none") != "none"
    absent = items.missing("cpu.governors", f"no cpufreq in /sys{': the host is a virtual machine' if guest else ''}")
    return ", ".join(governors) or absent, max(frequencies) / 1000 if frequencies else absent


def _caches(text: str | None) -> Iterator[Cache]:
    """Yield the caches from lines ``level kind shared-by-list size``, those of one level, kind and size as one."""
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
            size=size or Absent("/sys does not tell its size"),
            shared_by=max(counts) if counts else Absent("the host's list of sharing CPUs is not one"),
            instances=len(lists),
        )


def _cache_line(line: str) -> tuple[int, str, int, str] | None:
    """Return level, kind, size (0 where it is not told) and the list of CPUs that share it."""
    level_text, kind, shared, size_text = (*line.split(" "), "", "", "", "")[:4]
    level, size = whole(level_text, 1, 9), whole(size_text[:-1], 1, 2**32)
    if level is None or kind not in {"Data", "Instruction", "Unified"} or not shared:
        return None
    size_bytes = (size or 0) * _UNITS.get(size_text[-1:], 0)
    return level, kind.lower(), size_bytes if size_bytes <= LARGEST_CACHE else 0, shared


def _quota(items: Items) -> float | Absent:
    """Return the CPUs that the tightest group grants: cpu.max of cgroup v2, or the two cfs files of v1."""
    pairs = [tuple(text.split()) for text in items.all("cgroup.cpu.max")]
    pairs += zip(items.all("cgroup.cpu.cfs_quota_us"), items.all("cgroup.cpu.cfs_period_us"), strict=False)
    granted = []
    for pair in pairs:
        quota, period = (whole(part, 1) for part in (*pair, "", "")[:2])
        if quota is not None and period is not None:
            granted.append(quota / period)
    return min(granted) if granted else Absent("no group limits the CPU time")
