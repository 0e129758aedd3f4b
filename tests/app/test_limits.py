"""What limited a trial: each hypothesis beside the others, from figures that were measured, and their twins."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.checks.catalogue import DURING_CHECKS
from app.checks.evidence import RUNNING, contention, share
from app.checks.limits import LIMITED_BY, QUOTA_BOUND
from app.checks.limits.hypothesis import UNCOUNTED
from app.verdict.steps import step_verdict
from suites.base import Suite, complete_values
from suites.checks import CheckOutcome
from suites.evidence import DONE, HostWatch, TrialEvidence
from suites.facts import BlockDevice
from suites.registry import SUITES
from suites.registry import suite as find_suite
from suites.verdict import Limiter, Trust
from suites.vocab import Figure, Labels, labels
from tests.app.test_step_checks import DEEP, DISK, FULL, ONE, disk
from tests.app.trial_evidence import READ, facts, repeated, step, trial, watch
from tests.messages import messages

MESSAGES = messages("app", "test_limits")

(OTHER_PROCESS,) = (check for check in DURING_CHECKS if check.id == "other-process")

SENT = labels(direction="send", end="receiver")
WRITE = labels(operation="write")


def by_threads(suite: str, metric: str, curve: Mapping[int, float]) -> TrialEvidence:
    """Return a trial that swept the threads."""
    one = trial(suite, {metric: 1.0}, host={"cpu_user": 60.0})
    figure = one.figures[0]
    swept = (replace(figure, value=value, labels=labels(threads=str(count))) for count, value in curve.items())
    return replace(one, figures=tuple(swept))


def use(test: float, others: float = 0.0, waiting: float = 0.0, thread: float = 0.0, **more: float) -> dict[str, float]:
    """Return the counters of the test's own processes on a host of four CPUs, in CPUs and waiting threads."""
    return {
        "cpu_user": 25 * (test + others), "cpu_system": 0.0, "tool_cpu_user": 25 * test, "tool_cpu_system": 0.0,
        "other_cpu": 25 * others, "tool_waiting": waiting, "tool_busiest_thread": 100 * thread, **more,
    }  # fmt: skip


def computing(host: Mapping[str, float], **values: Any) -> TrialEvidence:
    """Return a trial of sysbench cpu."""
    return trial("sysbench-cpu", {"events_per_second": 1393.0}, host=host, **values)


def with_figures(one: TrialEvidence, figures: Mapping[tuple[str, Labels], float]) -> TrialEvidence:
    """Return the trial with further figures, by metric and labels."""
    metrics = {metric.name: metric for metric in one.suite.metrics}
    more = tuple(Figure(metrics[name], value, at) for (name, at), value in figures.items())
    return replace(one, figures=(*one.figures, *more))


def sent(
    rate: float,
    *,
    samples: tuple[float, ...] = (),
    ends: tuple[float, float] | None = (3.0, 4.0),
    trip: float | None = 5000.0,
    congestion: float | None = None,
    host: Mapping[str, float] | None = None,
    speed: int | None = 10_000_000_000,
    **values: Any,
) -> TrialEvidence:
    """Return a trial of iperf3 to another host: bits per second, CPU of client and server, round trip in µs."""
    counted = {"network_sent:eth0": rate / 8, "network_received:eth0": 1e5, **(host or {})}
    one = trial("iperf3", {"throughput": rate}, at=SENT, samples=samples, host=counted, known=facts(speed=speed),
                **{"time": 10, **values})  # fmt: skip
    given = {("cpu_utilization", labels(side=side)): value
             for side, value in zip(("client", "server"), ends or (), strict=False)}  # fmt: skip
    if congestion is not None:
        given["congestion_window", labels(direction="send", end="sender")] = congestion
    if trip is not None:
        given["tcp_round_trip", labels(direction="send", end="sender")] = trip
    return with_figures(one, given)


def from_peer(peer: Mapping[str, float], direction: str = "receive", **given: Any) -> TrialEvidence:
    """Return what a peer with these counters sent, where iperf3 prints no CPU use (3.12 with -R)."""
    one = sent(95.6e6, ends=None, direction=direction, host=use(0.05, 0.0, 0.0, 0.05), **given)
    return replace(one, peer="web-2", peer_watch=watch(peer, known=facts()))


def lost(receiver: float | None, share_lost: float = 54.0, **values: Any) -> TrialEvidence:
    """Return 10 s of UDP of which a share is lost: `receiver` datagrams a second in the receiver's buffer."""
    one = sent(1e9, trip=None, protocol="udp", bitrate=2000, **values)
    one = with_figures(one, {("lost", SENT): share_lost, ("datagrams", SENT): 100_000.0})
    peer = None if receiver is None else watch({"network_datagrams_dropped": receiver})
    return replace(one, peer="web-2", peer_watch=peer)


def provisioned(rate: float, depth: int, median: float, spread: float = 0.001, busy: float = 99.0) -> TrialEvidence:
    """Return `depth` I/Os in flight at a rate, a median latency in ns, and samples that differ by `spread`."""
    mean = depth / rate * 1e9
    figures = {"iops": rate, "bandwidth": rate * 4096, "latency_mean": mean, "latency_p50": median,
               "latency_p99": 1.3 * mean}  # fmt: skip
    host = {"disk_read_rate:vda": rate * 4096, "disk_read_ios:vda": rate, "disk_busy:vda": busy}
    samples = [rate * (1 + spread * (-1) ** second) for second in range(20)]
    return trial("fio", figures, at=READ, samples=samples, host=host, **{**DEEP, "iodepth": depth})


def synced(each: float, **values: Any) -> TrialEvidence:
    """Return etcd's recipe of fio: 830 writes a second, each followed by a sync of `each` ns."""
    host = {"disk_write_rate:vda": 4e6, "disk_write_ios:vda": 1700.0, "disk_busy:vda": 97.0, "disk_read_rate:vda": 0.0}
    given = {"rw": "write", "block_size": 2300, "ioengine": "sync", "direct": False, "fsync": 1, "runtime": 10}
    one = trial("fio", {"iops": 830.0, "bandwidth": 1.9e6, "latency_mean": 6490.0}, at=WRITE, host=host,
                **{**given, **values})  # fmt: skip
    return with_figures(one, {("sync_latency_mean", labels(operation="sync")): each})


def database(
    busy: float, queue: float, cpu: float = 0.5, *, others: float = 0.0, waiting: float = 0.0,
    disk: Mapping[str, float] | None = None, **values: Any,
) -> TrialEvidence:  # fmt: skip
    """Return a trial of pgbench on a server of its own."""
    host = {**use(cpu, others, waiting), "disk_busy:vda": busy, "disk_queue:vda": queue, "disk_read_rate:vda": 8e6,
            "disk_write_rate:vda": 4e6, "disk_read_ios:vda": 900.0, "disk_write_ios:vda": 1000.0,
            "tool_read_rate": 8e6, "tool_write_rate": 4e7, **(disk or {})}  # fmt: skip
    given = {"clients": 8, "threads": 8, "scale": 100, "directory": "/var/tmp", **values}
    return trial("pgbench", {"transactions_per_second": 300.0}, host=host, **given)


def commanded(host: Mapping[str, float]) -> TrialEvidence:
    """Return a trial of an own command."""
    return trial("command", {"wall_time": 10.0}, host=host, command="true")


def paced(median: float) -> TrialEvidence:
    """Return one I/O at a time at an uneven rate of 300 IOPS, with a narrow or a wide latency."""
    figures = {"iops": 299.8, "bandwidth": 1.23e6, "latency_mean": 3.302e6, "latency_p50": median,
               "latency_p95": 3.391e6, "latency_p99": 3.9e6}  # fmt: skip
    samples = (301.3, 290.0, 308.0, 280.0, 300.0, 311.0)
    return trial("fio", figures, at=READ, samples=samples, host={**DISK, "disk_busy:vda": 97.0}, **ONE)


def stepping(samples: tuple[float, ...]) -> TrialEvidence:
    """Return a full queue whose I/Os took one or two slices of 0.1 s."""
    figures = {"iops": 295.3, "bandwidth": 1.23e6, "latency_mean": 108.2e6, "latency_p50": 100.1e6,
               "latency_p95": 200.3e6, "latency_p99": 200.3e6}  # fmt: skip
    return trial("fio", figures, at=READ, samples=samples, host={**DISK, "disk_busy:vda": 99.0}, **DEEP)


def copying(own: float) -> TrialEvidence:
    """Return a dd that read `own` bytes per second of 200 MB/s at the device."""
    host = {**BYTES, "disk_busy:vda": 99.0, "disk_read_ios:vda": 200.0, **use(0.2)}
    given: dict[str, Any] = {"input": "file", "read": "direct", "block_size": 2**20}
    return trial("dd", {"bandwidth": own / 1e6, "elapsed": 10.0}, at=READ, host=host, **given)


BELOW = (330.3, 280.0, 293.0, 327.7, 299.3, 274.0)
BYTES = {"disk_read_rate:vda": 200e6, "disk_write_rate:vda": 0.0, "disk_write_ios:vda": 0.0}
GRAINY = (8_000.0, 12_000.0) * 10
SLICES = [4025.0, 4107.0, 3981.0, 3993.0, 4017.0, 4135.0, 3826.0, 4152.0, 4134.0, 3902.0, 3677.0]
EVEN = (95.5e6, 95.7e6) * 5
UNEVEN = (90e6, 101e6) * 5
CRYPT = replace(facts(), block_devices=(BlockDevice(name="dm-0", kind="crypt"),))
HALF_A_CPU = {"cpu_user": 2.0, "cpu_system": 3.0}
AWAY = {**DISK, "disk_busy:vda": 20.0}

OF_THE_HOST = {Limiter.CPU, Limiter.ONE_THREAD, Limiter.OTHERS, Limiter.STEAL, Limiter.MEMORY_BANDWIDTH, Limiter.SWAP,
               Limiter.DEVICE}  # fmt: skip
"""Limits whose evidence is the host's counters, which others may have caused."""

SATURATED = {
    "cpu_user": 90.0, "cpu_system": 9.0, "cpu_steal": 20.0, "core_busiest": 100.0, "disk_busy:vda": 100.0,
    "disk_queue:vda": 32.0, "disk_read_rate:vda": 9e8, "disk_write_rate:vda": 9e8, "disk_read_ios:vda": 9e3,
    "disk_write_ios:vda": 9e4, "network_sent:eth0": 125e6, "network_received:eth0": 125e6, "swap_in": 1e8,
    "pressure_memory": 90.0, "pressure_cpu": 90.0, "pressure_io": 90.0,
}  # fmt: skip


def without_own_counters(one: TrialEvidence) -> TrialEvidence:
    """Return the trial as of hosts that do not count its processes."""
    own = "tool_", "other_"

    def less(of: HostWatch | None) -> HostWatch | None:
        if of is None:
            return None
        return replace(of, series={name: points for name, points in of.series.items() if not name[0].startswith(own)})

    return replace(one, watch=less(one.watch), peer_watch=less(one.peer_watch))


LIMITS: dict[str, tuple[TrialEvidence, Limiter]] = {
    # CPUs, with the test's own counters
    "cpu of the test": (computing(use(3.95, 0.02, 0.03), threads=4), Limiter.CPU),
    "cpu of others alone": (computing(use(0.1, 3.9, 0.0, 0.1), threads=4), Limiter.UNKNOWN),
    "two of four threads": (computing(use(1.98, thread=0.99), threads=2), Limiter.ONE_THREAD),
    "two threads at 1,393 where 2,280 is free": (
        computing(use(2.44, 1.56, 1.5), threads=4), Limiter.OTHERS,
    ),
    "many threads that wait for each other": (computing(use(3.97, 0.02, 12.0), threads=16), Limiter.CPU),
    "sleep on a busy host": (commanded(use(0.01, 1.1, 0.0, 0.01, core_busiest=99.0)), Limiter.UNKNOWN),
    "a command of one thread": (commanded(use(0.99, 0.0, 0.0, 0.99)), Limiter.ONE_THREAD),
    "a command of one thread, beside others": (commanded(use(0.6, 3.4, 0.4, 0.6)), Limiter.OTHERS),
    "one lock": (
        trial("sysbench-threads", {"events_per_second": 230.0}, host=use(1.02, 0.0, 0.1, 0.15), threads=8),
        Limiter.ONE_THREAD,
    ),
    "one lock of four threads, beside others": (
        trial("sysbench-threads", {"events_per_second": 1217.0}, threads=4,
              host=use(1.52, 0.46, 0.64, 0.39, tool_switches=499_000.0)),
        Limiter.ONE_THREAD,
    ),
    "one mutex of four threads, beside others": (
        trial("sysbench-mutex", {"total_time": 5.7}, threads=4,
              host=use(1.46, 0.39, 1.4, 0.39, tool_switches=24_800.0)),
        Limiter.ONE_THREAD,
    ),
    "threads that hand over a mutex": (
        trial("sysbench-threads", {"events_per_second": 1217.0}, threads=4,
              host=use(3.9, 0.0, 0.0, 0.99, tool_switches=24_000.0)),
        Limiter.UNKNOWN,
    ),
    "one lock? counted for the host only": (
        trial("sysbench-threads", {"events_per_second": 230.0}, host={"cpu_user": 15.0, "core_busiest": 97.0},
              threads=8),
        Limiter.UNKNOWN,
    ),
    "steal": (computing(use(2.8, 0.0, 0.0, cpu_steal=29.0), threads=4), Limiter.STEAL),
    "little steal": (computing(use(3.9, 0.0, 0.0, cpu_steal=1.0), threads=4), Limiter.CPU),
    "quota": (computing(use(1.0, thread=0.5), known=facts(quota=1.0), threads=4), Limiter.QUOTA),
    "quota, and others beyond it": (computing({"cpu_user": 50.0}, known=facts(quota=1.5), threads=4), Limiter.UNKNOWN),
    "throttled": (computing({"cpu_user": 10.0, "cgroup_throttled": 60.0}), Limiter.QUOTA),
    "throttled, the best of many passes": (
        trial("stream", {"bandwidth": 20e3}, host=use(1.48, cgroup_throttled=60.0), known=facts(quota=1.48),
              array_size=80_000_000, threads=4),
        Limiter.MEMORY_BANDWIDTH,
    ),
    "throttled, the best pass longer than a period": (
        trial("stream", {"bandwidth": 5.9e3}, host=use(0.37, cgroup_throttled=63.0), known=facts(quota=0.37),
              array_size=2 * 2**30, threads="1"),
        Limiter.QUOTA,
    ),
    "one thread of STREAM, with a quota of one CPU": (
        trial("stream", {"bandwidth": 16.1e3}, host=use(1.0, thread=1.0), known=facts(quota=1.0), array_size=2**30,
              threads=1),
        Limiter.UNKNOWN,
    ),
    "all processors, the test’s own use not counted": (computing({"cpu_user": 94.0}, threads=4), Limiter.UNKNOWN),
    "one processor, the test’s own use not counted": (computing({"cpu_user": 20.0}, threads=1), Limiter.UNKNOWN),
    "a command too short to be sampled": (commanded({"cpu_user": 90.0, "cpu_system": 10.0}), Limiter.UNKNOWN),
    "not watched": (trial("sysbench-cpu", {"events_per_second": 900.0}), Limiter.UNKNOWN),
    # Memory
    "memory": (trial("stream", {"bandwidth": 20e3}, host=use(3.9), array_size=80_000_000), Limiter.MEMORY_BANDWIDTH),
    "memory, the test’s own processes not counted": (
        trial("stream", {"bandwidth": 20e3}, host={"cpu_user": 95.0}, array_size=80_000_000), Limiter.UNKNOWN,
    ),
    "hardly beyond the caches": (
        trial("stream", {"bandwidth": 20e3}, host=use(3.9), array_size=16 * 2**20), Limiter.UNKNOWN,
    ),
    "caches": (trial("stream", {"bandwidth": 90e3}, host=use(3.9), array_size=1_048_576), Limiter.CPU),
    "caches, by three arrays of bytes": (
        trial("stream", {"bandwidth": 90e3}, host=use(3.9), array_size=8 * 2**20), Limiter.CPU,
    ),
    "a loop that computes": (
        trial("sysbench-memory", {"throughput": 6000.0}, host=use(3.9), block_size=256 * 2**20, threads=4,
              access_mode="rnd"),
        Limiter.UNKNOWN,
    ),
    "a loop that only moves memory": (
        trial("sysbench-memory", {"throughput": 6000.0}, host=use(3.9), block_size=256 * 2**20, threads=4),
        Limiter.MEMORY_BANDWIDTH,
    ),
    "small blocks": (
        trial("sysbench-memory", {"throughput": 6000.0}, host={"cpu_user": 20.0}, block_size=1024), Limiter.TOOL,
    ),
    "one of several threads in the caches": (
        trial("sysbench-memory", {"throughput": 90e3}, host=use(1.99, thread=0.99), block_size=2**20, threads=2),
        Limiter.ONE_THREAD,
    ),
    "few threads beyond the caches": (
        trial("sysbench-memory", {"throughput": 9e3}, host=use(1.99, thread=0.99), block_size=256 * 2**20, threads=2,
              scope="local"),
        Limiter.UNKNOWN,
    ),
    "a loop that moves no bytes": (
        trial("sysbench-memory", {"operations_per_second": 6e6}, host=use(3.9), block_size=256 * 2**20, threads=4,
              operation="none"),
        Limiter.TOOL,
    ),
    "swap": (
        trial("stress-ng", {"read_bandwidth": 9.0},
              host=use(0.4, swap_in=4e6, tool_major_faults=900.0, pressure_memory=70.0)),
        Limiter.SWAP,
    ),
    "swap under a limit of memory": (
        trial("sysbench-memory", {"throughput": 4261.0}, threads=4, block_size=128 * 2**20,
              host=use(2.8, 1.06, 0.6, 0.9, swap_in=6e7, tool_major_faults=2400.0, pressure_memory=22.0)),
        Limiter.SWAP,
    ),
    "swap of others": (
        computing(use(3.95, 0.02, swap_in=4e6, tool_major_faults=0.0, pressure_memory=70.0), threads=4), Limiter.CPU,
    ),
    "memory, by a sweep": (by_threads("stream", "triad", {1: 12e3, 2: 20e3, 4: 20.5e3}), Limiter.MEMORY_BANDWIDTH),
    "processors, by a sweep": (
        by_threads("compute", "floating_point_rate_by_threads", {1: 1e9, 2: 2e9, 4: 3.9e9}), Limiter.CPU,
    ),
    "a sweep beside others": (
        replace(by_threads("stream", "triad", {1: 12e3, 2: 20e3, 4: 20.5e3}), watch=watch(use(1.8, 2.0, 1.5))),
        Limiter.OTHERS,
    ),
    "a sweep under a quota": (
        replace(by_threads("stream", "triad", {1: 6e3, 2: 12e3}), watch=watch(use(1.5, cgroup_throttled=40.0))),
        Limiter.QUOTA,
    ),
    "a sweep that tells nothing": (by_threads("stream", "triad", {1: 12e3, 2: 20e3, 4: 26e3}), Limiter.UNKNOWN),
    # Disks
    "device": (disk(), Limiter.DEVICE),
    "a provisioned rate, by the latency of whole requests": (
        trial("fio", {"iops": 299.8, "bandwidth": 1.23e6, "total_latency_mean": 3.302e6, "total_latency_p50": 79e3,
                      "latency_mean": 2000.0, "latency_p50": 1900.0}, at=READ, samples=[299.8, 300.1] * 10,
              host={**DISK, "disk_busy:vda": 97.0}, **ONE),
        Limiter.PROVISIONED,
    ),
    "device, beside others": (
        trial("fio", {**FULL, **HALF_A_CPU}, at=READ, host={**DISK, "disk_busy:vda": 99.0, "cpu_user": 98.0}, **DEEP),
        Limiter.DEVICE,
    ),
    "device, beside others that are counted": (
        trial("fio", FULL, at=READ, host={**DISK, "disk_busy:vda": 99.0, **use(0.2, 3.8, 0.2, 0.2)}, **DEEP),
        Limiter.DEVICE,
    ),
    "device or a limit of 50 MB/s below it": (
        trial("fio", {"iops": 739.0, "bandwidth": 48.6e6, "latency_mean": 21.6e6, "latency_p50": 20.8e6,
                      "latency_p95": 24.2e6}, at=READ, host={**DISK, "disk_busy:vda": 99.0},
              **{**DEEP, "iodepth": 16, "block_size": 65536}),
        Limiter.UNKNOWN,
    ),
    "a limit in slices of 0.1 s below the device": (stepping(BELOW), Limiter.PROVISIONED),
    "an even rate beside others on the disk": (
        trial("fio", {"iops": 1971.0, "bandwidth": 8.07e6, "latency_mean": 16.2e6, "latency_p50": 16.1e6,
                      "latency_p95": 20.0e6, "latency_p99": 24.8e6}, at=READ, samples=[1970.0, 1972.0] * 10,
              host={**DISK, "disk_busy:vda": 99.0, "disk_read_rate:vda": 16.2e6, "tool_read_rate": 8.1e6},
              **{**DEEP, "runtime": 20}),
        Limiter.DEVICE,
    ),
    "a device or a limit in slices, at an uneven rate": (stepping(GRAINY), Limiter.UNKNOWN),
    "500 IOPS on the way, in slices of 0.1 s": (
        trial("fio", {"iops": 499.8, "bandwidth": 2e6, "latency_mean": 64.35e6, "latency_p50": 100.1e6,
                      "latency_p95": 100.1e6, "latency_p99": 100.1e6}, at=READ, host={**DISK, "disk_busy:vda": 0.1},
              samples=(532.0, 500.5, 500.0, 500.0, 549.5, 418.4), **DEEP),
        Limiter.PROVISIONED,
    ),
    "device that serves eight at once": (
        trial("fio", {"iops": 3958.0, "bandwidth": 16.2e6, "latency_mean": 8.07e6, "latency_p50": 7.7e6,
                      "latency_p95": 12.6e6}, at=READ, host={**DISK, "disk_busy:vda": 99.0}, **DEEP),
        Limiter.DEVICE,
    ),
    "depth 1, beside others on the disk": (
        trial("fio", {**FULL, "iops": 1784.0, "bandwidth": 1784 * 4096.0, "latency_mean": 5.56e5}, at=READ,
              host={"disk_busy:vda": 97.0, "disk_read_rate:vda": 1e9, "disk_read_ios:vda": 2800.0,
                    "disk_write_rate:vda": 0.0, "tool_read_rate": 1784 * 4096.0, "tool_write_rate": 0.0}, **ONE),
        Limiter.UNKNOWN,
    ),
    "depth 1": (
        trial("fio", {**FULL, "iops": 1e4, "latency_mean": 1e5}, at=READ, host={**DISK, "disk_busy:vda": 97.0}, **ONE),
        Limiter.QUEUE_DEPTH,
    ),
    "300 IOPS below the device, depth 1": (provisioned(300.1, 1, 79e3), Limiter.PROVISIONED),
    "300 IOPS below the device, depth 2": (provisioned(299.8, 2, 79e3), Limiter.PROVISIONED),
    "300 IOPS below the device, depth 4": (provisioned(300.1, 4, 79e3), Limiter.PROVISIONED),
    "300 IOPS below the device, at an even pace, depth 1": (paced(3.293e6), Limiter.UNKNOWN),
    "300 IOPS of the device itself, at an uneven pace": (paced(3.0e6), Limiter.QUEUE_DEPTH),
    "a synchronous engine that cannot keep the requested depth": (
        trial("fio", {**FULL, "iops": 1e4, "latency_mean": 1e5}, at=READ, host={**DISK, "disk_busy:vda": 97.0},
              **{**DEEP, "ioengine": "psync"}),
        Limiter.UNKNOWN,
    ),
    "libaio through the page cache": (
        trial("fio", {**FULL, "iops": 1e4, "latency_mean": 1e5}, at=READ, host={**DISK, "disk_busy:vda": 97.0},
              **{**DEEP, "direct": False}),
        Limiter.UNKNOWN,
    ),
    "dd on a full device": (copying(200e6), Limiter.DEVICE),
    "dd beside others on a full device": (copying(40e6), Limiter.UNKNOWN),
    "300 IOPS of the device itself": (provisioned(300.1, 1, 3.0e6, 0.02), Limiter.QUEUE_DEPTH),
    "a disk whose cache hits at times": (provisioned(300.1, 1, 79e3, 0.05), Limiter.UNKNOWN),
    "from memory": (
        trial("fio", FULL, at=READ, host={**DISK, "disk_busy:vda": 1.0, **use(0.98, thread=0.98)}, **ONE),
        Limiter.TOOL,
    ),
    "flat": (
        replace(disk(), samples=trial("fio", FULL, at=READ, samples=[10_000.0, 10_010.0] * 10).samples),
        Limiter.PROVISIONED,
    ),
    "on the way": (
        trial("fio", FULL, at=READ, samples=[10_000.0, 10_300.0] * 10, host=AWAY, **DEEP), Limiter.PROVISIONED,
    ),
    "on the way, unevenly": (trial("fio", FULL, at=READ, samples=GRAINY, host=AWAY, **DEEP), Limiter.UNKNOWN),
    "on the way, in slices": (
        trial("fio", {**FULL, "latency_p50": FULL["latency_mean"] / 20}, at=READ, samples=SLICES,
              host={**DISK, "disk_busy:vda": 6.0}, **DEEP),
        Limiter.PROVISIONED,
    ),
    "on the way, as unevenly without slices": (
        trial("fio", {**FULL, "latency_p50": FULL["latency_mean"]}, at=READ, samples=[*SLICES, 3500.0, 4500.0],
              host={**DISK, "disk_busy:vda": 6.0}, **DEEP),
        Limiter.UNKNOWN,
    ),
    "on the way, beside others": (
        trial("fio", {**FULL, **HALF_A_CPU}, at=READ, samples=[10_000.0, 10_300.0] * 10,
              host={**AWAY, "cpu_user": 98.0}, **DEEP),
        Limiter.PROVISIONED,
    ),
    "encrypted on the way": (
        trial("fio", {**FULL, **HALF_A_CPU}, at=READ, samples=[10_000.0, 10_300.0] * 10,
              host={**AWAY, "cpu_system": 98.0}, known=CRYPT, **DEEP),
        Limiter.UNKNOWN,
    ),
    "others have the processors": (
        trial("fio", {**FULL, **HALF_A_CPU}, at=READ, samples=GRAINY, host={**AWAY, "cpu_user": 98.0}, **DEEP),
        Limiter.UNKNOWN,
    ),
    "beyond the allowance": (disk(DEEP, 50.0, allowance_exceeded=3.0), Limiter.PROVISIONED),
    "requested rate": (disk({**DEEP, "rate_iops": 10_000}), Limiter.RATE),
    "requested rate, half reached": (disk({**DEEP, "numjobs": 2, "rate_iops": 10_000}), Limiter.DEVICE),
    "requested rate of each job": (disk({**DEEP, "numjobs": 4, "rate_iops": 2_500}), Limiter.RATE),
    "requested rate of reads and writes": (disk({**DEEP, "rw": "randrw", "rate_iops": 5_000}), Limiter.RATE),
    "busy fio": (
        trial("fio", {**FULL, "cpu_user": 20.0, "cpu_system": 78.0}, at=READ, host={**DISK, "disk_busy:vda": 99.0},
              **DEEP),
        Limiter.TOOL,
    ),
    "a sync after each write": (synced(1.18e6), Limiter.SYNC),
    "a sync after 100,000 writes": (synced(1.18e6, fsync=100_000), Limiter.UNKNOWN),
    "an engine of another host": (
        trial("fio-job", FULL, at=READ, host={**DISK, "disk_busy:vda": 99.0},
              job="[a]\nioengine=nbd\nuri=nbd://far\nrw=randread\ndirect=1\niodepth=32\nruntime=10\ntime_based\n"),
        Limiter.UNKNOWN,
    ),
    "a database on a full device": (database(98.0, 9.0), Limiter.DEVICE),
    "a database that waits for its log": (database(96.0, 1.1), Limiter.SYNC),
    "a database that waits for its log, beside others": (
        database(70.0, 1.6, 0.16, others=3.8, waiting=0.27, clients=1, threads=1), Limiter.SYNC,
    ),
    "a database beside others that write": (
        database(98.0, 21.2, 0.1, clients=1, threads=1, disk={"disk_write_rate:vda": 200e6, "tool_write_rate": 4e6}),
        Limiter.UNKNOWN,
    ),
    "a database beside others that read": (
        database(98.0, 21.2, 0.1, clients=1, threads=1, disk={"disk_read_rate:vda": 50e6}), Limiter.UNKNOWN,
    ),
    "a database that waits for its log, beside others that write": (
        database(96.0, 1.1, disk={"disk_write_rate:vda": 200e6, "tool_write_rate": 4e6}), Limiter.UNKNOWN,
    ),
    "a database without fsync": (database(60.0, 1.1, fsync=False), Limiter.UNKNOWN),
    "a database at a requested rate": (database(20.0, 0.2, rate=300.0), Limiter.RATE),
    "a database, and saturated CPUs beside a saturated device": (database(98.0, 9.0, 3.9), Limiter.UNKNOWN),
    "one client thread": (
        trial("pgbench", {"transactions_per_second": 3e4}, host=use(2.5, 0.0, 0.1, 0.98), clients=32, threads=1),
        Limiter.CLIENT,
    ),
    "a command on a full device": (
        commanded({**BYTES, "disk_busy:vda": 98.0, "disk_queue:vda": 1.4, "disk_read_ios:vda": 300.0, **use(0.2),
                   "tool_read_rate": 199e6, "tool_write_rate": 0.0}),
        Limiter.DEVICE,
    ),
    "a command beside others on a full device": (
        commanded({**BYTES, "disk_busy:vda": 98.0, "disk_queue:vda": 1.4, "disk_read_ios:vda": 300.0, **use(0.2),
                   "tool_read_rate": 2e6, "tool_write_rate": 0.0}),
        Limiter.UNKNOWN,
    ),
    # Networks
    "link": (sent(941e6, speed=1_000_000_000, samples=(941e6,) * 10), Limiter.LINK),
    "link, of an unknown speed, the CPU of the ends unknown": (
        sent(941e6, speed=None, samples=(941e6,) * 10, ends=None), Limiter.UNKNOWN,
    ),
    "shaped": (sent(95.6e6, samples=EVEN), Limiter.SHAPED),
    "shaped, by the kernel": (sent(95.6e6, samples=UNEVEN), Limiter.SHAPED),
    "shaped, as the receiving host counts": (
        replace(sent(95.6e6, samples=UNEVEN, host={"network_sent:eth0": 0.0}), peer="web-2",
                peer_watch=watch({"network_received:eth0": 12e6, "network_sent:eth0": 1e5})),
        Limiter.SHAPED,
    ),
    "as flat, by the CPU of one end": (sent(3e9, samples=(3e9,) * 10, ends=(80.0, 60.0)), Limiter.UNKNOWN),
    "the client’s CPU": (sent(3e9, samples=(3e9,) * 10, ends=(99.0, 60.0)), Limiter.CLIENT),
    "the peer’s CPU": (sent(3e9, samples=(3e9,) * 10, ends=(50.0, 98.0)), Limiter.RECEIVER),
    "the peer’s quota": (
        replace(sent(3e9, samples=(3e9, 4e9) * 5, ends=(14.0, 10.0)), peer="web-2",
                peer_watch=watch({"cgroup_throttled": 88.0})),
        Limiter.RECEIVER,
    ),
    "the quota of a peer that sends": (
        replace(sent(3e9, samples=(3e9, 4e9) * 5, ends=(14.0, 10.0), direction="receive"), peer="web-2",
                peer_watch=watch({"cgroup_throttled": 88.0})),
        Limiter.QUOTA,
    ),
    "the quota of a peer, both ways": (from_peer({"cgroup_throttled": 88.0}, direction="both"), Limiter.QUOTA),
    "others on a peer that sends": (from_peer(use(0.5, 3.4, 0.45, 0.5)), Limiter.OTHERS),
    "others on a peer that waits for data": (from_peer(use(0.2, 3.4, 0.2, 0.2)), Limiter.UNKNOWN),
    "the CPU of a peer that sends": (from_peer(use(0.97, 0.0, 0.0, 0.97)), Limiter.TOOL),
    "received, as shaped": (from_peer(use(0.04, 0.0, 0.0, 0.04), samples=EVEN), Limiter.SHAPED),
    "received, as shaped, at an unknown round trip": (
        from_peer({**use(0.04, 0.0, 0.0, 0.04), "network_retransmits": 4.0, "network_segments": 9000.0}, samples=EVEN,
                  trip=None),
        Limiter.SHAPED,
    ),
    "received as evenly, at an unknown round trip, without loss": (
        from_peer({**use(0.04, 0.0, 0.0, 0.04), "network_retransmits": 0.0, "network_segments": 9000.0}, samples=EVEN,
                  trip=None),
        Limiter.UNKNOWN,
    ),
    "received as evenly, by the CPU of the sender": (from_peer(use(0.7, 0.0, 0.0, 0.7), samples=EVEN), Limiter.UNKNOWN),
    "window of 64 KiB at 20 ms": (
        sent(26.2e6, samples=(26.2e6, 26.3e6) * 5, trip=20_000.0, window=65536), Limiter.WINDOW,
    ),
    "window of 64 MiB at 20 ms": (
        sent(95.6e6, samples=EVEN, trip=20_000.0, window=64 * 2**20), Limiter.SHAPED,
    ),
    "the kernel’s own window at 100 ms": (sent(240e6, samples=(240e6,) * 10, trip=100_000.0), Limiter.UNKNOWN),
    "window of 64 KiB at an unknown round trip": (
        sent(26.2e6, samples=(26.2e6, 26.3e6) * 5, trip=None, congestion=131e3, window=65536), Limiter.WINDOW,
    ),
    "shaped, at an unknown round trip": (sent(95.6e6, samples=EVEN, trip=None, congestion=70e3), Limiter.SHAPED),
    "flat, at an unknown round trip and a large window": (
        sent(240e6, samples=(240e6,) * 10, trip=None, congestion=4e6), Limiter.UNKNOWN,
    ),
    "a requested TCP rate": (sent(50e6, samples=(50e6,) * 10, tcp_rate=50), Limiter.RATE),
    "segments lost at random": (
        sent(22e6, samples=(15e6, 30e6) * 5, trip=20_000.0,
             host={"network_retransmits": 2.0, "network_segments": 2000.0, "network_sent:eth0": 2e6,
                   "network_sent:eth1": 0.0}),
        Limiter.LOSS,
    ),
    "segments lost at random, at an unknown round trip": (
        with_figures(sent(11e6, samples=(10.5e6, 12.3e6, 10.1e6) * 4, trip=None),
                     {("retransmits", labels(direction="send", end="sender")): 87.0}),
        Limiter.LOSS,
    ),
    "segments lost in bursts at a shaper": (
        with_figures(sent(47.8e6, samples=(47.9e6, 38e6, 57e6, 44e6, 55e6, 40e6), trip=None, congestion=35e3),
                     {("retransmits", labels(direction="send", end="sender")): 4500.0}),
        Limiter.UNKNOWN,
    ),
    "datagrams lost, the receiver not watched": (lost(None), Limiter.UNKNOWN),
    "datagrams lost on the path": (lost(0.0), Limiter.LOSS),
    "datagrams lost in the receiver’s buffer": (lost(5_400.0), Limiter.RECEIVER),
    "requested rate of two streams": (
        sent(99.9e6, trip=None, protocol="udp", bitrate=50, streams=2), Limiter.RATE,
    ),
    "requested rate of two streams, half reached": (
        sent(50e6, trip=None, protocol="udp", bitrate=50, streams=2), Limiter.UNKNOWN,
    ),
    "nothing": (sent(300e6, ends=None, trip=None), Limiter.UNKNOWN),
}  # fmt: skip
"""Counters as recorded by hand on a host of four CPUs; iperf3’s on namespaces with tbf, delay and loss."""


@pytest.mark.parametrize("case", LIMITS)
def test_the_limiter_is_named_from_what_was_used_up(case: str) -> None:
    one, limiter = LIMITS[case]
    found = LIMITED_BY.evaluate(one)
    assert isinstance(found, CheckOutcome)
    assert found.limiter is limiter, found.measured
    assert found.remedy, "the next test stands in it"


def test_every_limiter_is_named_by_a_case() -> None:
    assert {limiter for _, limiter in LIMITS.values()} == set(Limiter)


@pytest.mark.parametrize("case", [case for case in LIMITS if "sweep" not in case])
def test_counters_of_the_whole_host_name_no_limit(case: str) -> None:
    one = without_own_counters(LIMITS[case][0])
    found = LIMITED_BY.evaluate(one)
    assert isinstance(found, CheckOutcome)
    assert found.limiter not in OF_THE_HOST or (found.limiter is Limiter.DEVICE and one.suite.uniform), found.measured


@pytest.mark.parametrize("suite", sorted(one.id for one in SUITES))
def test_a_saturated_host_is_no_limit_of_a_test_whose_counters_are_missing(suite: str) -> None:
    found = LIMITED_BY.evaluate(trial(suite, {find_suite(suite).metrics[0].name: 1.0}, host=SATURATED))
    assert found is None or isinstance(found, CheckOutcome)
    assert found is None or found.limiter in {Limiter.UNKNOWN, Limiter.TOOL}, found.measured


def test_a_command_too_short_to_be_sampled_says_so() -> None:
    found = LIMITED_BY.evaluate(LIMITS["a command too short to be sampled"][0])
    assert isinstance(found, CheckOutcome)
    assert f"because {UNCOUNTED}" in found.measured


@pytest.mark.parametrize("case", LIMITS)
def test_no_share_exceeds_its_whole(case: str) -> None:
    found = LIMITED_BY.evaluate(LIMITS[case][0])
    assert isinstance(found, CheckOutcome)
    for part, whole in re.findall(r"([\d.]+) of ([\d.]+) CPUs", found.measured):
        assert float(part) <= float(whole), found.measured
    assert all(float(percent) <= 100 for percent in re.findall(r"(?<!\d)([\d.]+) % ", found.measured)), found.measured


def test_the_throttled_time_of_several_threads_is_no_share_of_the_time() -> None:
    counters = use(0.5, cgroup_throttled=98.0, cgroup_throttled_periods=100.0)
    one = computing(counters, known=facts(quota=0.5), threads=2)
    found = LIMITED_BY.evaluate(one)
    assert isinstance(found, CheckOutcome)
    assert found.limiter is Limiter.QUOTA
    assert "100 % of its periods" in found.measured
    assert "98 %" not in found.measured
    throttled = next(check for check in DURING_CHECKS if check.id == "quota-throttled").evaluate(one)
    assert isinstance(throttled, CheckOutcome)
    assert "98 %" not in throttled.measured


@pytest.mark.parametrize(
    ("part", "whole", "result"),
    [(1.0, 2.0, 0.5), (1.52, 1.5, 1.0), (2.0, 1.5, None), (308.0, 100.0, None), (None, 1.0, None), (1.0, 0.0, None)],
)
def test_a_share_of_more_than_the_whole_is_none(part: float | None, whole: float, result: float | None) -> None:
    assert share(part, whole) == result


def test_what_is_not_identified_lists_whose_use_it_was() -> None:
    found = LIMITED_BY.evaluate(LIMITS["cpu of others alone"][0])
    assert isinstance(found, CheckOutcome)
    assert "CPU: test 2.5 %, others 98 %" in found.measured


def test_a_link_that_is_half_full_each_way_is_not_full() -> None:
    one = sent(45.4e6, speed=100_000_000, direction="both")
    both = with_figures(one, {("throughput", labels(direction="receive", end="receiver")): 45.5e6})
    found = LIMITED_BY.evaluate(both)
    assert isinstance(found, CheckOutcome)
    assert found.limiter is not Limiter.LINK


@pytest.mark.parametrize(
    ("host", "peer", "named", "trust"),
    [
        (use(0.5), use(0.5), "", None),
        (use(0.5), use(0.5, 3.4, 0.45), "On the peer: ", Trust.DOUBTFUL),
        (use(0.5, 3.4, 0.45), use(0.5), "Other processes", Trust.DOUBTFUL),
        (use(0.5, 3.4, 0.45), use(0.9, 3.0, 0.05), "Other processes", Trust.DOUBTFUL),
    ],
)
def test_other_processes_are_found_on_both_ends(
    host: dict[str, float], peer: dict[str, float], named: str, trust: Trust | None
) -> None:
    one = sent(3e9, host=host)
    found = OTHER_PROCESS.evaluate(replace(one, peer="web-2", peer_watch=watch(peer, known=facts())))
    text, level = (found.measured, found.trust) if isinstance(found, CheckOutcome) else ("", None)
    assert text.startswith(named)
    assert bool(text) is bool(named)
    assert level is trust


def test_both_directions_are_in_the_summary() -> None:
    one = sent(45.4e6, direction="both")
    both = with_figures(one, {("throughput", labels(direction="receive", end="receiver")): 91e6,
                              ("throughput", labels(direction="send", end="sender")): 46e6})  # fmt: skip
    summaries = [step_verdict(step(found)).verdict.summary.partition("(")[0] for found in (one, both)]
    assert ["receive 91" in text for text in summaries] == [False, True]
    assert all("45.4" in text for text in summaries)


def test_no_more_datagrams_are_dropped_at_the_receiver_than_were_lost() -> None:
    found = LIMITED_BY.evaluate(lost(20_000.0))
    assert isinstance(found, CheckOutcome)
    assert "54000 of 54000 in the receiver’s buffer" in found.measured


def test_an_end_that_waits_for_a_cpu_is_not_shaped() -> None:
    flat = (100e6, 100.1e6, 99.9e6, 100e6, 100.2e6, 99.8e6, 100e6, 100.1e6)
    idle, crowded = (sent(100e6, samples=flat, host=use(0.48, 2.0, waiting)) for waiting in (0.0, 0.42))
    limiters = [found.limiter for one in (idle, crowded) if isinstance(found := LIMITED_BY.evaluate(one), CheckOutcome)]
    assert limiters[0] is Limiter.SHAPED
    assert limiters[1] is not Limiter.SHAPED


def test_an_idle_disk_that_others_also_use_may_be_held_to_a_rate() -> None:
    one = provisioned(700.0, 32, 0.35e6, busy=3.2)
    assert one.watch is not None
    others = watch({**{name: value for (name, at), ((_, value), *_) in one.watch.series.items() if not at},
                    "disk_read_rate:vda": 700 * 4096.0, "disk_read_ios:vda": 700.0, "disk_busy:vda": 3.2,
                    "disk_write_rate:vda": 3.61e6, "disk_write_ios:vda": 90.0, "tool_write_rate": 0.0,
                    "tool_read_rate": 700 * 4096.0})  # fmt: skip
    found = LIMITED_BY.evaluate(replace(one, watch=others))
    assert isinstance(found, CheckOutcome)
    assert found.limiter is Limiter.PROVISIONED, found.measured


def test_thinktime_is_a_requested_rate() -> None:
    one = trial("fio", {"iops": 187.0, "bandwidth": 187 * 4096.0, "latency_mean": 0.1e6}, at=READ,
                host={**DISK, "disk_busy:vda": 3.0}, **{**ONE, "ioengine": "psync"})  # fmt: skip
    found = LIMITED_BY.evaluate(replace(one, values={**one.values, "pause": 0.005, "pause_blocks": 1}))
    assert isinstance(found, CheckOutcome)
    assert (found.limiter, "thinktime" in (found.remedy or "")) == (Limiter.RATE, True)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.id)
def test_the_queue_is_deepened_by_a_parameter_of_the_suite(suite: Suite) -> None:
    values = complete_values(suite, {})
    assert suite.workload(values).deepened_by in {"", *(parameter.name for parameter in suite.parameters)}


ONE_BUSY = use(0.99, 0.0, 0.0, 0.99)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.id)
@pytest.mark.parametrize("host", [ONE_BUSY, {}, use(0.1)])
def test_no_remedy_names_workers_that_the_suite_cannot_have(suite: Suite, host: dict[str, float]) -> None:
    found = LIMITED_BY.evaluate(trial(suite.id, {suite.metrics[0].name: 1.0}, host=host))
    remedy = (found.remedy or "") if isinstance(found, CheckOutcome) else ""
    names = {parameter.name for parameter in suite.parameters}
    asked = set(re.findall(r"(?:Raise|Set|Double) (\w+)", remedy))
    assert asked <= names, remedy
    assert "threads" not in remedy or "threads" in names or "own option" in remedy or "curve" in remedy, remedy


def test_one_thread_of_dd_is_not_told_to_have_more() -> None:
    found = LIMITED_BY.evaluate(trial("dd", {"bandwidth": 1e3}, host={**DISK, "disk_busy:vda": 20.0, **ONE_BUSY}))
    assert isinstance(found, CheckOutcome)
    assert found.limiter is Limiter.ONE_THREAD
    assert "numjobs" in (found.remedy or "")


@pytest.mark.parametrize("foreign", [0.0, 980e6])
def test_a_device_that_others_use_is_measured_without_them_next(foreign: float) -> None:
    host = {**DISK, "disk_busy:vda": 99.0, "disk_read_rate:vda": 41e6 + foreign, "tool_read_rate": 41e6,
            "disk_write_rate:vda": 0.0, "tool_write_rate": 0.0}  # fmt: skip
    found = LIMITED_BY.evaluate(trial("fio", FULL, at=READ, host=host, **DEEP))
    assert isinstance(found, CheckOutcome)
    assert found.limiter is Limiter.DEVICE
    assert ("Double iodepth" in (found.remedy or "")) is not bool(foreign)


def test_the_queue_of_a_tool_without_a_depth_is_not_deepened() -> None:
    found = LIMITED_BY.evaluate(trial("dd", {"bandwidth": 1e3}, host={**DISK, "disk_busy:vda": 80.0}))
    assert isinstance(found, CheckOutcome)
    assert "fio" in (found.remedy or "")


def test_nothing_is_claimed_of_a_disk_that_the_engine_does_not_use() -> None:
    found = LIMITED_BY.evaluate(LIMITS["an engine of another host"][0])
    assert isinstance(found, CheckOutcome)
    assert "vda" not in found.measured


def test_trials_with_different_limits_name_none() -> None:
    by_device = disk()
    by_depth = LIMITS["depth 1"][0]
    both = repeated(by_device, (10_000.0,) * 4)
    mixed = replace(both, trials=(*both.trials[:2], *(replace(by_depth, id=one.id) for one in both.trials[2:])))
    verdict = step_verdict(mixed).verdict
    assert verdict.limited_by is Limiter.UNKNOWN
    (finding,) = (one for one in verdict.findings if one.id == "limited-by")
    assert finding.measured.count("(2 of 4)") == 2


def test_an_idle_and_a_full_link_are_no_sweep() -> None:
    found = LIMITED_BY.evaluate(trial("latency-under-load", {"round_trip": 0.3}))
    assert isinstance(found, CheckOutcome)
    assert found.limiter is Limiter.UNKNOWN
    assert found.remedy is not None
    assert "curve" not in found.remedy
    assert "iperf3" in found.remedy


def test_the_cpu_time_lost_to_others_reduces_the_trust() -> None:
    def trust_at(others: float, waiting: float) -> Trust:
        one = computing(use(4 - others, others, waiting), threads=4)
        return step_verdict(repeated(one, (1393.0, 1394.0, 1393.0, 1392.0, 1393.0, 1394.0))).verdict.trust

    assert [trust_at(0.0, 0.02), trust_at(0.3, 0.3), trust_at(1.56, 1.5)] == [
        Trust.VALID, Trust.CAVEATS, Trust.DOUBTFUL,
    ]  # fmt: skip


def test_connections_are_no_threads_that_wait_for_a_cpu() -> None:
    one = trial("redis", {"requests_per_second": 25e3}, host=use(0.41, 3.55, 1.0, 0.2), clients=50)
    found = LIMITED_BY.evaluate(one)
    assert isinstance(found, CheckOutcome)
    assert found.limiter is Limiter.OTHERS


def test_a_program_that_sleeps_beside_others_loses_nothing() -> None:
    for got, others, waiting, lost in ((0.001, 3.9, 0.003, 0.003), (0.4, 3.6, 0.6, 0.6)):
        found = contention(commanded(use(got, others, waiting)))
        assert found is not None
        assert found.lost == pytest.approx(lost)


@pytest.mark.parametrize(("others", "lost"), [(0.1, 0.003), (3.9, 0.75)])
def test_a_wake_up_that_waits_for_a_cpu_beside_others_is_late(others: float, lost: float) -> None:
    """A wake-up beside little else waits a few microseconds too: that is what is measured."""
    at = use(0.001, others, 0.003)
    one = trial("command", {"own_figure": 30.0}, host=at, command="cyclictest", figure="pattern", unit="us")
    found = contention(one)
    assert found is not None
    assert found.lost == pytest.approx(lost)


@pytest.mark.parametrize(
    ("state", "words"),
    [(DONE, MESSAGES["others_had_0_899_done"]), (RUNNING, MESSAGES["others_had_0_899_running"])],
)
def test_the_limit_and_the_warning_have_the_same_cpus_of_others(state: str, words: str) -> None:
    """The trial is at a tenth of its time, and the named process had a part of what all others had."""
    host = use(1.36, 0.899, 0.9, 0.7, **{"process_time:make": 0.76})
    one = replace(computing(host, threads=4), state=state, expected=100.0)
    found = OTHER_PROCESS.evaluate(one)
    assert isinstance(found, CheckOutcome)
    assert found.measured == words
    limit = LIMITED_BY.evaluate(one)
    assert (limit is None) is (state == RUNNING)
    if isinstance(limit, CheckOutcome):
        assert limit.measured == MESSAGES["limited_by_others_that_had_0_899"]


def test_processes_that_had_more_than_all_together_have_no_figure() -> None:
    one = computing(use(3.0, 0.5, 1.0, **{"process_time:make": 0.76}), threads=4)
    found = OTHER_PROCESS.evaluate(one)
    assert isinstance(found, CheckOutcome)
    assert "0.5 CPUs (make)" in found.measured


def test_a_quota_that_the_best_pass_escapes_is_no_finding() -> None:
    assert QUOTA_BOUND.evaluate(LIMITS["throttled, the best of many passes"][0]) is None
    assert isinstance(QUOTA_BOUND.evaluate(LIMITS["throttled"][0]), CheckOutcome)


def test_a_connection_that_carried_nothing_is_not_identified() -> None:
    dead = LIMITED_BY.evaluate(sent(0.0, trip=None, congestion=131e3, window=65536))
    assert isinstance(dead, CheckOutcome)
    assert dead.limiter is Limiter.UNKNOWN


def test_steal_time_is_no_limit_where_the_cpu_use_is_unknown() -> None:
    alone = LIMITED_BY.evaluate(replace(computing({}), watch=watch({"cpu_steal": 0.1})))
    assert isinstance(alone, CheckOutcome)
    assert alone.limiter is Limiter.UNKNOWN
