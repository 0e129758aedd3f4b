"""Metrics of the host telemetry. CPU shares are of all CPUs together."""

from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind


def _share(name: str, title: str, better: Better = Better.LOWER) -> Metric:
    return Metric(name, title, Unit.PERCENT, better, MetricKind.SHARE)


def _bytes(name: str, title: str, better: Better) -> Metric:
    return Metric(name, title, Unit.BYTE, better, MetricKind.COUNT)


def _count(name: str, title: str) -> Metric:
    return Metric(name, title, Unit.ONE, Better.LOWER, MetricKind.COUNT)


def _rate(name: str, title: str, unit: Unit, better: Better = Better.HIGHER) -> Metric:
    return Metric(name, title, unit, better, MetricKind.RATE)


CPU_USER = _share("cpu_user", "CPU, user")
CPU_SYSTEM = _share("cpu_system", "CPU, system")
CPU_IOWAIT = _share("cpu_iowait", "CPU, iowait")
CPU_STEAL = _share("cpu_steal", "CPU, steal")
CPU_IDLE = _share("cpu_idle", "CPU, idle", Better.HIGHER)
CORE_BUSY = _share("core_busy", "CPU core, busy")
CORE_BUSIEST = _share("core_busiest", "Busiest CPU core, busy")
LOAD = _count("load_1_minute", "Load, 1 minute")
TASKS_RUNNING = _count("tasks_running", "Run queue (running or runnable tasks)")
TASKS_BLOCKED = _count("tasks_blocked", "Tasks blocked on I/O")

QUOTA_TIME = _share("cgroup_throttled", "CPU throttled (cgroup)")
QUOTA_PERIODS = _share("cgroup_throttled_periods", "Throttled periods (cgroup)")
"""The highest value among the cgroup of the test and its parents."""

FREQUENCY = _rate("clock_frequency", "CPU frequency", Unit.PER_SECOND)
POWER = _rate("power", "Power", Unit.WATT, Better.LOWER)
THROTTLE_EVENTS = _count("throttle_events", "Thermal throttle events")
TEMPERATURE = _share("temperature_of_limit", "Temperature, share of the limit")
PROCESS_TIME = Metric("process_time", "CPU time of other processes", Unit.SECOND, Better.LOWER, MetricKind.TIME)
ALLOWANCE_EVENTS = _count("allowance_exceeded", "Packets over the instance’s network allowance")
ALLOWANCE_TIME = Metric(
    "allowance_exceeded_time", "Time over the EBS allowance", Unit.SECOND, Better.LOWER, MetricKind.TIME
)
LINK_CHANGES = _count("link_changes", "Link state changes")
FILESYSTEM_ERRORS = _count("filesystem_errors", "File system errors")
"""Sampled every 5 s or less often; counts are since the previous sample."""

PRESSURE = {
    "cpu": _share("pressure_cpu", "CPU pressure (PSI some)"),
    "memory": _share("pressure_memory", "Memory pressure (PSI some)"),
    "io": _share("pressure_io", "I/O pressure (PSI some)"),
}
"""Pressure stall information, by the kernel's name (kernel, accounting/psi)."""

MEMORY = {
    "MemAvailable": _bytes("memory_available", "Memory available", Better.HIGHER),
    "Cached": _bytes("memory_cached", "Memory, page cache", Better.HIGHER),
    "Dirty": _bytes("memory_dirty", "Memory, dirty", Better.LOWER),
}
"""By the name in /proc/meminfo."""

SWAP = {
    "pswpin": _rate("swap_in", "Swapped in", Unit.BYTES_PER_SECOND, Better.LOWER),
    "pswpout": _rate("swap_out", "Swapped out", Unit.BYTES_PER_SECOND, Better.LOWER),
}
"""By the name in /proc/vmstat."""

PAGE_FAULTS = _rate("page_faults", "Major page faults", Unit.PER_SECOND, Better.LOWER)
OUT_OF_MEMORY = _count("out_of_memory_kills", "OOM kills")

DISK_READ_RATE = _rate("disk_read_rate", "Disk, read", Unit.BYTES_PER_SECOND)
DISK_WRITE_RATE = _rate("disk_write_rate", "Disk, written", Unit.BYTES_PER_SECOND)
DISK_READ_IOS = _rate("disk_read_ios", "Disk, reads", Unit.PER_SECOND)
DISK_WRITE_IOS = _rate("disk_write_ios", "Disk, writes", Unit.PER_SECOND)
DISK_READ_MERGES = _rate("disk_read_merges", "Disk, reads merged", Unit.PER_SECOND)
DISK_WRITE_MERGES = _rate("disk_write_merges", "Disk, writes merged", Unit.PER_SECOND)
DISK_BUSY = _share("disk_busy", "Disk, busy")
DISK_QUEUE = _count("disk_queue", "Disk, mean queue depth")

NETWORK_RECEIVED = _rate("network_received", "Network, received", Unit.BYTES_PER_SECOND)
NETWORK_SENT = _rate("network_sent", "Network, sent", Unit.BYTES_PER_SECOND)
NETWORK_DROPS = _rate("network_drops", "Network, packets dropped", Unit.PER_SECOND, Better.LOWER)
NETWORK_ERRORS = _rate("network_errors", "Network, packet errors", Unit.PER_SECOND, Better.LOWER)
TCP_SEGMENTS = _rate("network_segments", "TCP, segments sent", Unit.PER_SECOND)
TCP_RETRANSMITS = _rate("network_retransmits", "TCP, retransmits", Unit.PER_SECOND, Better.LOWER)
UDP_DROPS = _rate("network_datagrams_dropped", "UDP, receive buffer errors", Unit.PER_SECOND, Better.LOWER)

TOOL_CPU_USER = _share("tool_cpu_user", "CPU of the test, user")
TOOL_CPU_SYSTEM = _share("tool_cpu_system", "CPU of the test, system")
"""CPU time of the process tree under test as a share of all CPUs together, like `cpu_user`."""

OTHER_CPU = _share("other_cpu", "CPU of others")
"""Busy time of all CPUs without the test's processes and without this telemetry."""

TELEMETRY_CPU = _share("telemetry_cpu", "CPU of this telemetry")
TOOL_WAITING = _count("tool_waiting", "Threads of the test that wait for a CPU")
"""Mean number over the interval: run-queue wait by the time (kernel, /proc/PID/schedstat)."""

TOOL_BUSIEST_THREAD = _share("tool_busiest_thread", "Busiest thread of the test")
"""Share of one CPU."""

TOOL_READ_RATE = _rate("tool_read_rate", "The test, read from storage", Unit.BYTES_PER_SECOND)
TOOL_WRITE_RATE = _rate("tool_write_rate", "The test, written to storage", Unit.BYTES_PER_SECOND)
"""Bytes that reached the block layer for the test's processes (proc(5), `read_bytes` and `write_bytes`)."""

TOOL_READ_CALLS = _rate("tool_read_calls", "The test, read calls", Unit.PER_SECOND)
TOOL_WRITE_CALLS = _rate("tool_write_calls", "The test, write calls", Unit.PER_SECOND)
TOOL_MAJOR_FAULTS = _rate("tool_major_faults", "The test, major page faults", Unit.PER_SECOND, Better.LOWER)
TOOL_MINOR_FAULTS = _rate("tool_minor_faults", "The test, minor page faults", Unit.PER_SECOND, Better.LOWER)
TOOL_SWITCHES = _rate("tool_switches", "The test, context switches", Unit.PER_SECOND, Better.LOWER)
TOOL_MEMORY = _bytes("tool_memory", "The test, resident memory", Better.LOWER)
TOOL_THREADS = _count("tool_threads", "The test, threads")
