"""What telemetry measures on a host: every metric with its unit."""

from suites.units import Unit
from suites.vocab import Better, Kind, Metric


def _share(name: str, title: str, better: Better = Better.LOWER) -> Metric:
    return Metric(name, title, Unit.PERCENT, better, Kind.SHARE)


def _bytes(name: str, title: str, better: Better) -> Metric:
    return Metric(name, title, Unit.BYTE, better, Kind.COUNT)


def _rate(name: str, title: str, unit: Unit, better: Better = Better.HIGHER) -> Metric:
    return Metric(name, title, unit, better, Kind.RATE)


CPU_USER = _share("cpu_user", "CPU, programs")
CPU_SYSTEM = _share("cpu_system", "CPU, kernel")
CPU_IOWAIT = _share("cpu_iowait", "CPU, waiting for I/O")
CPU_STEAL = _share("cpu_steal", "CPU, stolen by the hypervisor")
CPU_IDLE = _share("cpu_idle", "CPU, idle", Better.HIGHER)
LOAD = Metric("load_1_minute", "Load, 1 minute", Unit.ONE, Better.LOWER, Kind.COUNT)

PRESSURE = {
    "cpu": _share("pressure_cpu", "Time some task waited for CPU"),
    "memory": _share("pressure_memory", "Time some task waited for memory"),
    "io": _share("pressure_io", "Time some task waited for I/O"),
}
"""Pressure stall information, by the kernel's name (kernel, accounting/psi)."""

MEMORY = {
    "MemAvailable": _bytes("memory_available", "Memory available", Better.HIGHER),
    "Cached": _bytes("memory_cached", "Memory, page cache", Better.HIGHER),
    "Dirty": _bytes("memory_dirty", "Memory, not yet written back", Better.LOWER),
}
"""By the name in /proc/meminfo."""

SWAP = {
    "pswpin": _rate("swap_in", "Swapped in", Unit.BYTES_PER_SECOND, Better.LOWER),
    "pswpout": _rate("swap_out", "Swapped out", Unit.BYTES_PER_SECOND, Better.LOWER),
}
"""By the name in /proc/vmstat."""

DISK_READ_RATE = _rate("disk_read_rate", "Disk, read", Unit.BYTES_PER_SECOND)
DISK_WRITE_RATE = _rate("disk_write_rate", "Disk, written", Unit.BYTES_PER_SECOND)
DISK_READ_IOS = _rate("disk_read_ios", "Disk, reads", Unit.PER_SECOND)
DISK_WRITE_IOS = _rate("disk_write_ios", "Disk, writes", Unit.PER_SECOND)
DISK_BUSY = _share("disk_busy", "Disk, time busy")

NETWORK_RECEIVED = _rate("network_received", "Network, received", Unit.BYTES_PER_SECOND)
NETWORK_SENT = _rate("network_sent", "Network, sent", Unit.BYTES_PER_SECOND)

TELEMETRY_METRICS: tuple[Metric, ...] = (
    CPU_USER,
    CPU_SYSTEM,
    CPU_IOWAIT,
    CPU_STEAL,
    CPU_IDLE,
    LOAD,
    *PRESSURE.values(),
    *MEMORY.values(),
    *SWAP.values(),
    DISK_READ_RATE,
    DISK_WRITE_RATE,
    DISK_READ_IOS,
    DISK_WRITE_IOS,
    DISK_BUSY,
    NETWORK_RECEIVED,
    NETWORK_SENT,
)
"""Disk metrics carry the label ``device``, network metrics ``interface``; shares of CPU are of all CPUs together."""
