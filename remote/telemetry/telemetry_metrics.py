"""What telemetry measures on a host: every metric with its unit."""

from suites.units import Unit
from suites.vocab import Better, Kind, Metric


def _share(name: str, title: str, better: Better = Better.LOWER) -> Metric:
    return Metric(name, title, Unit.PERCENT, better, Kind.SHARE)


def _bytes(name: str, title: str, better: Better) -> Metric:
    return Metric(name, title, Unit.BYTE, better, Kind.COUNT)


def _count(name: str, title: str) -> Metric:
    return Metric(name, title, Unit.ONE, Better.LOWER, Kind.COUNT)


def _rate(name: str, title: str, unit: Unit, better: Better = Better.HIGHER) -> Metric:
    return Metric(name, title, unit, better, Kind.RATE)


CPU_USER = _share("cpu_user", "CPU, programs")
CPU_SYSTEM = _share("cpu_system", "CPU, kernel")
CPU_IOWAIT = _share("cpu_iowait", "CPU, waiting for I/O")
CPU_STEAL = _share("cpu_steal", "CPU, stolen by the hypervisor")
CPU_IDLE = _share("cpu_idle", "CPU, idle", Better.HIGHER)
CORE_BUSY = _share("core_busy", "One processor, time at work")
CORE_BUSIEST = _share("core_busiest", "The busiest processor, time at work")
LOAD = _count("load_1_minute", "Load, 1 minute")
TASKS_RUNNING = _count("tasks_running", "Tasks that run or wait for a processor")
TASKS_BLOCKED = _count("tasks_blocked", "Tasks that wait for I/O")

QUOTA_TIME = _share("cgroup_throttled", "Time a quota kept tasks from a processor")
QUOTA_PERIODS = _share("cgroup_throttled_periods", "Periods in which a quota was used up")
"""Of the control group of what is measured, or of one above it: the worst of them."""

FREQUENCY = _rate("clock_frequency", "Clock of the processors, cycles", Unit.PER_SECOND)
THROTTLE_EVENTS = _count("throttle_events", "Times a processor was slowed down for its heat")
TEMPERATURE = _share("temperature_of_limit", "Temperature, of the processor’s limit")
PROCESS_TIME = Metric("process_time", "Processor time of others", Unit.SECOND, Better.LOWER, Kind.TIME)
ALLOWANCE_EVENTS = _count("allowance_exceeded", "Packets held back beyond the instance’s allowance")
ALLOWANCE_TIME = Metric("allowance_exceeded_time", "Time beyond the allowance", Unit.SECOND, Better.LOWER, Kind.TIME)
LINK_CHANGES = _count("link_changes", "Times a link went up or down")
FILESYSTEM_ERRORS = _count("filesystem_errors", "Errors the file system met")
"""These are looked at every fifth second or less often; what counts something counts since the last look."""

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

PAGE_FAULTS = _rate("page_faults", "Page faults that had to read", Unit.PER_SECOND, Better.LOWER)
OUT_OF_MEMORY = _count("out_of_memory_kills", "Processes killed for lack of memory")

DISK_READ_RATE = _rate("disk_read_rate", "Disk, read", Unit.BYTES_PER_SECOND)
DISK_WRITE_RATE = _rate("disk_write_rate", "Disk, written", Unit.BYTES_PER_SECOND)
DISK_READ_IOS = _rate("disk_read_ios", "Disk, reads", Unit.PER_SECOND)
DISK_WRITE_IOS = _rate("disk_write_ios", "Disk, writes", Unit.PER_SECOND)
DISK_READ_MERGES = _rate("disk_read_merges", "Disk, reads merged", Unit.PER_SECOND)
DISK_WRITE_MERGES = _rate("disk_write_merges", "Disk, writes merged", Unit.PER_SECOND)
DISK_BUSY = _share("disk_busy", "Disk, time busy")
DISK_QUEUE = _count("disk_queue", "Disk, I/Os in flight on average")

NETWORK_RECEIVED = _rate("network_received", "Network, received", Unit.BYTES_PER_SECOND)
NETWORK_SENT = _rate("network_sent", "Network, sent", Unit.BYTES_PER_SECOND)
NETWORK_DROPS = _rate("network_drops", "Network, packets dropped", Unit.PER_SECOND, Better.LOWER)
NETWORK_ERRORS = _rate("network_errors", "Network, packets damaged", Unit.PER_SECOND, Better.LOWER)
TCP_SEGMENTS = _rate("network_segments", "TCP, segments sent", Unit.PER_SECOND)
TCP_RETRANSMITS = _rate("network_retransmits", "TCP, segments sent again", Unit.PER_SECOND, Better.LOWER)
UDP_DROPS = _rate(
    "network_datagrams_dropped", "UDP, datagrams no program fetched in time", Unit.PER_SECOND, Better.LOWER
)

TELEMETRY_METRICS: tuple[Metric, ...] = (
    CPU_USER,
    CPU_SYSTEM,
    CPU_IOWAIT,
    CPU_STEAL,
    CPU_IDLE,
    CORE_BUSY,
    CORE_BUSIEST,
    LOAD,
    TASKS_RUNNING,
    TASKS_BLOCKED,
    QUOTA_TIME,
    QUOTA_PERIODS,
    FREQUENCY,
    THROTTLE_EVENTS,
    TEMPERATURE,
    PROCESS_TIME,
    ALLOWANCE_EVENTS,
    ALLOWANCE_TIME,
    LINK_CHANGES,
    FILESYSTEM_ERRORS,
    *PRESSURE.values(),
    *MEMORY.values(),
    *SWAP.values(),
    PAGE_FAULTS,
    OUT_OF_MEMORY,
    DISK_READ_RATE,
    DISK_WRITE_RATE,
    DISK_READ_IOS,
    DISK_WRITE_IOS,
    DISK_READ_MERGES,
    DISK_WRITE_MERGES,
    DISK_BUSY,
    DISK_QUEUE,
    NETWORK_RECEIVED,
    NETWORK_SENT,
    NETWORK_DROPS,
    NETWORK_ERRORS,
    TCP_SEGMENTS,
    TCP_RETRANSMITS,
    UDP_DROPS,
)
"""Disk metrics carry the label ``device``, those of an interface ``interface``, of one processor ``cpu``, of a process
``process``; shares of CPU are of all CPUs together."""
