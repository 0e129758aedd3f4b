"""Limits that the lab sets, so that the truth is known: what Benchwright measures of them, and what it names.

One table for the tests and for `make bench`. The twin of a group is the same question without the limit: it has to
raise no warning, and its figure is what a share is a share of.
"""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from app.checks.evidence import tool_cpus
from app.events import TrialEnded, TrialStarted
from app.plans.plan import Plan, Repetition
from app.services import Workstation
from app.verdict.steps import step_verdict
from app.verdict.stored import evidence_of
from suites.evidence import StepOutcomeEvidence
from suites.verdict import Limiter, Verdict
from suites.vocab import Finding, Severity
from tests.app.trial_evidence import step, trial
from tests.lab.links import TCP_SHARE, LinkedHost
from tests.lab.pitfalls import OF_OTHERS, OF_THE_HOST, UDP, between, cpu, fio, granted, one_step, run_events
from tests.lab.staging import GIB, MIB, Stage

SECONDS = 6
"""Of each trial."""

CPUS = "CPUs"
"""In place of a metric: the CPUs that the test used."""

OF_THE_STAGE = frozenset({"file-backed-disk"})
"""What is as true of the lab's devices as it would be of any other."""

_LONG = MappingProxyType({"runtime": 11, "ramp_time": 2})
"""Of a disk's twin: less has a warning of its own."""

Make = Callable[[Stage], Plan]


@dataclass(frozen=True, slots=True, eq=False)
class KnownLimit:
    """A limit, or a twin that has to be free of warnings.

    `right` are the limiters that name it, `finds` what has to be reported besides, `besides` what may be. `truth` is
    the true value of `metric`, of CPUS the CPU time per second: the rate of a CPU depends on what others do beside it.
    """

    group: str
    name: str
    stage: Make
    right: frozenset[Limiter] = frozenset()
    truth: float | None = None
    metric: str = ""
    tools: tuple[str, ...] = ()
    finds: frozenset[str] = frozenset()
    besides: frozenset[str] = frozenset()
    clean: bool = False
    computed: StepOutcomeEvidence | None = None
    """Counters in place of a stage: what this kernel cannot be made to do."""

    @property
    def id(self) -> str:
        """The name of its library."""
        return "".join(letter if letter.isalnum() else "-" for letter in f"{self.group} {self.name}")


@dataclass(frozen=True, slots=True)
class Judged:
    """A run of a known limit: its figure, the limiter named with its evidence, and its warnings.

    `used` are the means of the host's counters in the measured interval.
    """

    figure: float
    unit: str
    verdict: Verdict
    evidence: str
    warnings: frozenset[str]
    disturbed: bool
    used: Mapping[str, float] = field(default_factory=dict)


def repeat(stage: Stage, limit: KnownLimit, times: int) -> None:
    """Stage a limit and run so many trials of its plan."""
    plan = replace(limit.stage(stage), repetition=Repetition(times))
    stage.let_others(run=False)
    for event in run_events(stage, plan):
        if isinstance(event, TrialStarted | TrialEnded):
            stage.let_others(run=isinstance(event, TrialStarted))


def judged(workstation: Workstation, limit: KnownLimit) -> Iterator[Judged]:
    """Yield what today's checks make of each stored trial of a limit, as of a step of one trial."""
    for summary in reversed(workstation.runs()):
        record = workstation.load(summary.id)
        (first,), (host,) = record.plan.steps, record.plan.hosts
        samples, telemetry = workstation.samples(summary.id), workstation.telemetry(summary.id)
        evidence = evidence_of(record, samples, telemetry, first, host)
        for one in evidence.done:
            yield judge(replace(evidence, trials=(one,)), limit)


def judge(evidence: StepOutcomeEvidence, limit: KnownLimit) -> Judged:
    """Return what today's checks make of the evidence of a limit."""
    verdict = step_verdict(evidence).verdict
    findings = {finding.id: finding for finding in (*evidence.findings, *verdict.findings)}
    return Judged(
        *_figure(evidence, limit.metric), verdict, _named_for(verdict), _warnings(findings, limit),
        "other-process" in findings, _used(evidence),
    )  # fmt: skip


def _figure(evidence: StepOutcomeEvidence, metric: str) -> tuple[float, str]:
    if metric == CPUS:
        return tool_cpus(evidence.trials[0]) or 0.0, CPUS
    figures = [one for trial in evidence.trials for one in trial.figures if metric in {"", one.metric.name}]
    received = [one for one in figures if dict(one.labels).get("end") == "receiver"]
    first = (received or figures)[0]
    return first.value, first.metric.unit.value


def _named_for(verdict: Verdict) -> str:
    return next((one.measured for one in verdict.findings if one.id == "limited-by"), verdict.summary)


def _warnings(findings: Mapping[str, Finding], limit: KnownLimit) -> frozenset[str]:
    grave = {found.id for found in findings.values() if found.severity is not Severity.INFO}
    return frozenset(grave - OF_THE_HOST - OF_OTHERS - OF_THE_STAGE - limit.finds - limit.besides)


def _used(evidence: StepOutcomeEvidence) -> dict[str, float]:
    found = {}
    watches = [one.watch for one in evidence.trials if one.watch is not None]
    for watch in watches:
        for name, at in watch.series:
            mean = watch.mean(name, **dict(at))
            if mean:
                found[f"{name}{{{','.join(value for _, value in at)}}}" if at else name] = mean
    return found


def _limits(group: str, *tools: str, metric: str = "") -> "_Group":
    return _Group(group, tools, metric)


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    tools: tuple[str, ...]
    metric: str

    def limit(self, name: str, stage: Make, *right: Limiter, truth: float | None = None, **given: Any) -> KnownLimit:
        limit = KnownLimit(self.name, name, stage, frozenset(right), truth, self.metric, tools=self.tools)
        return replace(limit, **given)

    def twin(self, name: str, stage: Make, *right: Limiter, **given: Any) -> KnownLimit:
        return self.limit(f"without: {name}", stage, *right, clean=True, **given)


def _cpu(host: str = "", *, stage: Stage | None = None, **given: object) -> Plan:
    name = stage.host()[0] if stage is not None else host
    return cpu(name, **{"time": SECONDS, **given})


def _quota(share: float, threads: int = 1) -> KnownLimit:
    return _QUOTA.limit(
        f"{share:.0%} of a CPU (cfs_quota), {threads} thread{'s' * (threads > 1)}",
        lambda stage: _cpu(stage.grouped("cpu", cfs_quota_us=f"{share * 100_000:.0f}"), threads=threads),
        Limiter.QUOTA, truth=share,
        finds=frozenset({"cpu-quota", "quota-throttled", "quota-bound"}),
    )  # fmt: skip


def _pinned(stage: Stage) -> Plan:
    name, host = stage.host()
    os.sched_setaffinity(host.pid, {0})
    return _cpu(name, threads=2)


def _hogged(count: int, *prefix: str) -> KnownLimit:
    def staged(stage: Stage) -> Plan:
        name, host = stage.host(*prefix)
        stage.compete(count, host)
        return _cpu(name, threads=2)

    where = "outside the container" if prefix else "on the same CPUs"
    return _OTHERS.limit(f"{count} hog{'s' * (count > 1)} {where}", staged, Limiter.OTHERS)


_HIDDEN = (
    "sh", "-c", 'unshare -p -m -f --mount-proc --kill-child "$@" & trap "kill -9 $!" TERM; wait', "sh",
)  # fmt: skip
"""Words that run a host in process and mount namespaces of its own; unshare itself ignores SIGTERM."""


def _threads(stage: Stage, suite: str, **given: object) -> Plan:
    return one_step(suite, given, stage.host()[0])


def _memory(stage: Stage, host: str | None = None, **given: object) -> Plan:
    return one_step("sysbench-memory", {
        "time": SECONDS, "threads": 2, "scope": "local", "total_size": 2**50, **given,
    }, host or stage.host()[0])  # fmt: skip


def _stream_beside(stage: Stage) -> Plan:
    name, host = stage.host()
    stage.compete(2, host)
    return _stream(name)


def _stream(host: str, array_size: int = 2 * GIB, times: int = 5) -> Plan:
    return one_step("stream", {"array_size": array_size, "times": times}, host)


def _swapping(stage: Stage, limit: int) -> Plan:
    file = stage.file("swap")
    file.chmod(0o600)
    for words in (["fallocate", "-l", "512M", str(file)], ["mkswap", str(file)], ["swapon", str(file)]):
        subprocess.run(words, check=True, capture_output=True)
    return _memory(stage, stage.grouped("memory", limit_in_bytes=str(limit)), block_size=128 * MIB, threads=2)


def _deep(stage: Stage, depth: int = 32, run: Mapping[str, object] | None = None, **limits: float) -> Plan:
    """Return random reads of a slow device."""
    disk = stage.slow_disk(4 * GIB, **limits)
    given = {"directory": str(disk.folder), "size": 256 * MIB, "iodepth": depth, "runtime": SECONDS, "ramp_time": 1}
    return replace(fio(stage, **{**given, **(run or {})}), hosts=(stage.host()[0],))


def _granted(limit: str, number: int, depth: int, right: Limiter = Limiter.PROVISIONED, **given: object) -> KnownLimit:
    what = f"{number} IOPS" if limit == "read_iops" else f"{number // MIB} MiB/s"
    return _PROVISIONED.limit(
        f"{what} (blkio.throttle), depth {depth}",
        lambda stage: granted(stage, limit, number, iodepth=depth, runtime=SECONDS, ramp_time=1, **given), right,
        truth=number, metric="iops" if limit == "read_iops" else "bandwidth",
    )  # fmt: skip


def _below(depth: int, iops: int = 300, part: float = 0.1) -> KnownLimit:
    slices = f", in slices of {part:g} s" if part else ""
    return _PROVISIONED.limit(
        f"{iops} IOPS below the device{slices}, depth {depth}",
        lambda stage: _deep(stage, depth, None, iops=iops, slice=part), Limiter.PROVISIONED, truth=iops,
    )  # fmt: skip


def _shallow(depth: int, delay: float) -> KnownLimit:
    return _DEPTH.limit(
        f"depth {depth}, {delay * 1000:g} ms each", lambda stage: _deep(stage, depth, delay=delay, varies=0.2),
        Limiter.QUEUE_DEPTH, finds=frozenset({"one-io-in-flight"}),
    )  # fmt: skip


def _busy_device(delay: float, at_once: int) -> KnownLimit:
    return _DEVICE.limit(
        f"{at_once / delay:.0f} IOPS: {at_once} at once, {delay * 1000:g} ms each, depth 32",
        lambda stage: _deep(stage, delay=delay, at_once=at_once, varies=True), Limiter.DEVICE, truth=at_once / delay,
    )  # fmt: skip


def _synced(delay: float, **given: object) -> KnownLimit:
    run = {"rw": "randwrite", "iodepth": 1, "ioengine": "psync", "direct": False, "fsync": 1, "refill_buffers": True}
    return _SYNC.limit(
        f"{delay * 1000:g} ms each, {given or 'fsync after each'}",
        lambda stage: _deep(stage, run={**run, **given}, sync=delay), Limiter.SYNC,
    )  # fmt: skip


def _beside_fio(stage: Stage, rw: str) -> Plan:
    disk = stage.slow_disk(delay=0.002, at_once=8, varies=True)
    words = ("fio", "--name=other", f"--filename={disk.folder}/other", "--size=128m", f"--rw={rw}", "--direct=1",
             "--ioengine=libaio", "--iodepth=32", "--time_based", "--runtime=120", "--bs=4k")  # fmt: skip
    stage.beside(*words)
    given = {"directory": str(disk.folder), "size": 256 * MIB, "iodepth": 32, "runtime": SECONDS, "ramp_time": 1}
    return replace(fio(stage, **given), hosts=(stage.host()[0],))


def _job(stage: Stage, *lines: str, folder: str = "") -> Plan:
    """Return a job file of one section."""
    text = "\n".join(("[job]", f"runtime={SECONDS}", "ramp_time=1", "time_based", *lines))
    where = {"directory": folder} if folder else {}
    return one_step("fio-job", {**where, "job": f"{text}\n"}, stage.host()[0])


def _datasynced(stage: Stage) -> Plan:
    disk = stage.slow_disk(GIB, sync=0.005)
    return _job(stage, "rw=randwrite", "ioengine=psync", "fdatasync=1", "bs=4k", "size=256m", "refill_buffers",
                f"directory={disk.folder}", folder=str(disk.folder))  # fmt: skip


def _written(stage: Stage, flush: str) -> Plan:
    """Return a dd to a device that serves one I/O at a time."""
    disk = stage.slow_disk(4 * GIB, delay=0.02, at_once=1, varies=0.5)
    given = {"directory": str(disk.folder), "block_size": MIB, "count": 400, "flush": flush}
    return one_step("dd", given, stage.host()[0])


def _short_command(stage: Stage) -> Plan:
    """Return a command that ends before its processes are sampled, beside two that compute."""
    name, host = stage.host()
    stage.compete(2, host)
    return one_step("command", {"command": "echo done"}, name)


def _throttled_command(stage: Stage) -> Plan:
    """Return a dd by its command line in a cgroup that may write 50 MB/s."""
    limit = f"{stage.disk_number()} 50000000"
    line = f"dd if=/dev/zero of={stage.file('written')} bs=1M count=300 oflag=direct"
    return one_step("command", {"command": line}, stage.grouped("blkio", throttle__write_bps_device=limit))


def _committed(stage: Stage, sync: float, clients: int = 1) -> Plan:
    disk = stage.slow_disk(4 * GIB, sync=sync)
    given = {"time": SECONDS, "clients": clients, "threads": clients, "script": "tpcb-like", "scale": 5}
    return one_step("pgbench", {**given, "directory": str(disk.folder)}, stage.host()[0])


def _beyond_memory(stage: Stage, limit: str) -> Plan:
    """Return reads through the page cache, of which a cgroup's memory has no room."""
    disk = stage.slow_disk(delay=0.001, varies=0.5)
    given = {"directory": str(disk.folder), "size": 256 * MIB, "ioengine": "psync", "iodepth": 1, "direct": False,
             "runtime": SECONDS, "ramp_time": 1}  # fmt: skip
    return replace(fio(stage, **given), hosts=(stage.grouped("memory", limit_in_bytes=limit),))


def _sent(stage: Stage, near: LinkedHost, far: LinkedHost, **given: object) -> Plan:
    whole = {"time": SECONDS, "omit": 1, "address": far.address, **given}
    return one_step("iperf3", whole, near.alias, far.alias)


def _link(megabits: int) -> KnownLimit:
    def staged(stage: Stage) -> Plan:
        near, far = stage.links(megabits=megabits)
        near.shape(megabits)
        return _sent(stage, near, far)

    return _LINK.limit(
        f"{megabits} Mbit/s (tbf) on an interface of that speed", staged, Limiter.LINK,
        truth=megabits * 1e6 * TCP_SHARE,
    )  # fmt: skip


def _shaped(megabits: int, *, here: bool = False) -> KnownLimit:
    def staged(stage: Stage) -> Plan:
        near, far = stage.links()
        (near.shape if here else far.shape_arrivals)(megabits)
        return _sent(stage, near, far)

    where = "by the sender’s tbf" if here else "on the way"
    return _SHAPED.limit(
        f"{megabits} Mbit/s {where}, on an interface of 10 Gbit/s", staged,
        Limiter.SHAPED, *((Limiter.LINK,) * here), truth=megabits * 1e6 * TCP_SHARE,
    )  # fmt: skip


def _window(kib: int, milliseconds: float) -> KnownLimit:
    def staged(stage: Stage) -> Plan:
        near, far = stage.links()
        return _sent(stage, near, far, address=stage.far_away(near, far, milliseconds), window=kib * 1024)

    return _WINDOW.limit(f"{kib} KiB, {milliseconds:g} ms round trip", staged, Limiter.WINDOW)


def _lossy(share: float, protocol: str, milliseconds: float = 0) -> KnownLimit:
    def staged(stage: Stage) -> Plan:
        near, far = stage.links()
        far.lose(share, protocol=protocol)
        given: dict[str, object] = {"protocol": "udp", "bitrate": 50} if protocol == "udp" else {}
        if milliseconds:
            given |= {"address": stage.far_away(near, far, milliseconds), "congestion": "cubic"}
        return _sent(stage, near, far, **given)

    far_away = f", {milliseconds:g} ms round trip" if milliseconds else ""
    return _LOSS.limit(
        f"{share:.1%} of {protocol.upper()} packets{far_away}", staged, Limiter.LOSS,
        finds=frozenset({"datagrams-lost", "retransmits"}),
    )  # fmt: skip


def _small_buffer(stage: Stage, megabits: float, window: int = 4096) -> Plan:
    near, far = stage.links()
    return _sent(stage, near, far, protocol="udp", bitrate=megabits, window=window)


def _slow_receiver(stage: Stage, share: float) -> Plan:
    near, far = stage.links()
    stage.limit(far.ssh, "cpu", cfs_quota_us=f"{share * 100_000:.0f}")
    return _sent(stage, near, far, protocol="udp", bitrate=1000)


def _slow_end(stage: Stage, share: float, *, sends: bool) -> Plan:
    """Return TCP between a free host and one with a part of a CPU."""
    near, far = stage.links()
    stage.limit((near if sends else far).ssh, "cpu", cfs_quota_us=f"{share * 100_000:.0f}")
    return _sent(stage, near, far)


def _small_datagrams(stage: Stage) -> Plan:
    near, far = stage.links()
    return _sent(stage, near, far, protocol="udp", bitrate=0, length=64)


def _small_writes(stage: Stage, length: int) -> Plan:
    near, far = stage.links()
    for processor, host in enumerate((near, far)):
        os.sched_setaffinity(host.ssh.pid, {processor})
    return _sent(stage, near, far, length=length)


def _rated(iops: int) -> KnownLimit:
    return _RATE.limit(
        f"fio rate_iops={iops}", lambda stage: _deep(stage, run={"rate_iops": iops}, delay=0.0005), Limiter.RATE,
        truth=iops, metric="iops", tools=("fio",),
    )  # fmt: skip


def _paced(megabits: int, protocol: str) -> KnownLimit:
    def staged(stage: Stage) -> Plan:
        near, far = stage.links()
        return _sent(stage, near, far, protocol=protocol, **{"tcp_rate" if protocol == "tcp" else "bitrate": megabits})

    return _RATE.limit(
        f"iperf3 -b {megabits}M, {protocol}", staged, Limiter.RATE, truth=megabits * 1e6, metric="throughput",
        tools=("iperf3",),
    )  # fmt: skip


def _stolen(share: float) -> KnownLimit:
    """Return a trial whose counters are computed: a guest cannot take its own time away."""
    left = 100 * (1 - share)
    host = {"cpu_user": left - 1, "cpu_system": 0.5, "cpu_steal": 100 - left, "tool_cpu_user": left - 1.5,
            "tool_cpu_system": 0.4, "other_cpu": 0.4, "telemetry_cpu": 0.1, "tool_waiting": 0.1}  # fmt: skip
    one = trial("sysbench-cpu", {"events_per_second": 1000 * (1 - share)}, host=host, threads=4)
    limit = _STEAL.limit(f"{share:.0%} of all CPUs (computed counters)", lambda stage: _cpu(stage=stage), Limiter.STEAL)
    return replace(limit, computed=step(one))


_STEAL = _limits("steal", metric="events_per_second")
_QUOTA = _limits("quota", "sysbench", metric=CPUS)
_CPUSET = _limits("affinity", "sysbench", metric=CPUS)
_THREAD = _limits("one-thread", "sysbench")
_CPU = _limits("cpu", "sysbench", metric="events_per_second")
_OTHERS = _limits("others", "sysbench", metric="events_per_second")
_MEMORY = _limits("memory", "sysbench")
_SWAP = _limits("swap", "sysbench")
_DEVICE = _limits("device", "fio", metric="iops")
_PROVISIONED = _limits("provisioned", "fio", metric="iops")
_DEPTH = _limits("depth", "fio", metric="iops")
_SYNC = _limits("sync", "fio", metric="iops")
_DISK_OTHERS = _limits("disk-others", "fio", metric="iops")
_APPLICATION = _limits("application")
_CACHE = _limits("page-cache", "fio", metric="iops")
_LINK = _limits("link", "iperf3", metric="throughput")
_SHAPED = _limits("shaped", "iperf3", metric="throughput")
_WINDOW = _limits("window", "iperf3", metric="throughput")
_LOSS = _limits("loss", "iperf3", metric="throughput")
_RECEIVER = _limits("receiver", "iperf3", metric="throughput")
_CLIENT = _limits("client", "iperf3", metric="throughput")
_RATE = _limits("rate")

LOSSES = frozenset({"datagrams-lost", "retransmits"})

LIMITS: tuple[KnownLimit, ...] = (
    *(_quota(share) for share in (0.25, 0.37, 0.5, 0.75)),
    _quota(1.5, threads=2),
    _QUOTA.limit("37 % of a CPU, STREAM, a pass longer than a period",
                 lambda stage: _stream(stage.grouped("cpu", cfs_quota_us="37000")),
                 Limiter.QUOTA, metric="", tools=(),
                 finds=frozenset({"cpu-quota", "quota-throttled", "quota-bound"})),
    _QUOTA.limit("37 % of a CPU, STREAM, best of 100 short passes",
                 lambda stage: _stream(stage.grouped("cpu", cfs_quota_us="37000"), 16 * MIB, 100),
                 Limiter.CPU, metric="", tools=(),
                 finds=frozenset({"cpu-quota", "quota-throttled", "quota-bound"})),
    _CPUSET.limit("two threads on one CPU (affinity)", _pinned, Limiter.CPU, truth=1.0),
    _CPUSET.limit("two threads on one CPU (cpuset)",
                  lambda stage: _cpu(stage.grouped("cpuset", mems="0", cpus="1")), Limiter.CPU,
                  truth=1.0),
    _THREAD.twin("one thread of sysbench cpu", lambda stage: _cpu(stage=stage, threads=1), Limiter.ONE_THREAD),
    _THREAD.limit("one lock of four threads (sysbench threads)",
                  lambda stage: _threads(stage, "sysbench-threads", threads=4, thread_locks=1, time=SECONDS),
                  Limiter.ONE_THREAD),
    _THREAD.limit("one mutex of four threads (sysbench mutex)",
                  lambda stage: _threads(stage, "sysbench-mutex", threads=4, mutex_num=1, mutex_locks=60_000_000,
                                         mutex_loops=0), Limiter.ONE_THREAD),
    _CPU.twin("two threads of sysbench cpu, no quota, no other process", lambda stage: _cpu(stage=stage), Limiter.CPU),
    _CPU.limit("four threads of sysbench cpu", lambda stage: _cpu(stage=stage, threads=4), Limiter.CPU),
    _hogged(1), _hogged(2), _hogged(4), _hogged(1, *_HIDDEN), _hogged(2, *_HIDDEN),
    _OTHERS.limit("2 hogs, STREAM on 1 and 2 CPUs", _stream_beside, Limiter.OTHERS, metric="", tools=()),
    _stolen(0.1), _stolen(0.3), _stolen(0.6),
    _MEMORY.twin("blocks of 256 KiB, in the caches", lambda stage: _memory(stage, block_size=256 * 1024),
                 besides=frozenset({"sysbench-memory-block"})),
    _MEMORY.limit("STREAM, arrays beyond the caches", lambda stage: _stream(stage.host()[0]),
                  Limiter.MEMORY_BANDWIDTH, Limiter.CPU, tools=()),
    _MEMORY.limit("sysbench memory, blocks of 2 GiB", lambda stage: _memory(stage, block_size=2 * GIB),
                  Limiter.MEMORY_BANDWIDTH),
    _SWAP.twin("256 MiB under a limit of 2 GiB",
               lambda stage: _memory(stage, stage.grouped("memory", limit_in_bytes="2G"), block_size=128 * MIB),
               besides=frozenset({"sysbench-memory-block"})),
    _SWAP.limit("256 MiB under a limit of 128 MiB", lambda stage: _swapping(stage, 128 * MIB), Limiter.SWAP),
    _SWAP.limit("256 MiB under a limit of 200 MiB", lambda stage: _swapping(stage, 200 * MIB), Limiter.SWAP),
    _DEVICE.twin("0.5 ms each, any number at once, depth 4", lambda stage: _deep(stage, 4, _LONG, delay=0.0005)),
    _busy_device(0.002, 8),
    _busy_device(0.005, 4),
    _busy_device(0.010, 2),
    _PROVISIONED.twin("blkio group without a limit", lambda stage: granted(stage, runtime=11, ramp_time=2)),
    _granted("read_iops", 500, 32), _granted("read_iops", 4000, 32),
    _granted("read_iops", 300, 1 ), _granted("read_iops", 300, 4),
    _granted("read_bps", GIB // 16, 16, block_size=65536),
    *(_below(depth) for depth in (1, 2, 4, 32)),
    _below(32, 2000), _below(1, 300, part=0), _below(32, 300, part=0),
    _PROVISIONED.limit("50 MB/s below the device, 64 KiB, depth 16",
                       lambda stage: _deep(stage, 16, {"block_size": 65536}, rate=50e6), Limiter.PROVISIONED,
                       truth=50e6, metric="bandwidth"),
    _shallow(1, 0.002), _shallow(1, 0.01), _shallow(4, 0.005),
    _SYNC.twin("no fsync", lambda stage: _deep(stage, run={**_LONG, "rw": "randwrite"}, sync=0.005)),
    _synced(0.002), _synced(0.005), _synced(0.02),
    _SYNC.limit("5 ms each, fdatasync after each", _datasynced, Limiter.SYNC),
    _APPLICATION.twin("dd in direct I/O to the disk",
                      lambda stage: one_step("dd", {"directory": stage.disk(), "block_size": MIB, "count": 4096,
                                                    "flush": "direct"}, stage.host()[0])),
    _APPLICATION.limit("dd in direct I/O to a device of one I/O in 20 ms",
                       partial(_written, flush="direct"), Limiter.DEVICE),
    _APPLICATION.limit("dd through the page cache, flushed, to a device of one I/O in 20 ms",
                       partial(_written, flush="fdatasync"), Limiter.DEVICE),
    _APPLICATION.limit("a command that writes, 50 MB/s (blkio.throttle)", _throttled_command, Limiter.PROVISIONED,
                       Limiter.UNKNOWN),
    _APPLICATION.limit("echo beside 2 hogs", _short_command, Limiter.UNKNOWN),
    _APPLICATION.limit("pgbench, each commit 10 ms, 1 client", partial(_committed, sync=0.01), Limiter.SYNC,
                       tools=("pgbench",)),
    _APPLICATION.limit("pgbench, each commit 10 ms, 4 clients", partial(_committed, sync=0.01, clients=4), Limiter.SYNC,
                       tools=("pgbench",)),
    _CACHE.twin("256 MiB past a page cache of 64 MiB",
                lambda stage: replace(fio(stage), hosts=(stage.grouped("memory", limit_in_bytes="96M"),))),
    _CACHE.limit("256 MiB through a page cache of 64 MiB, one read at a time", partial(_beyond_memory, limit="96M"),
                 Limiter.QUEUE_DEPTH),
    _DISK_OTHERS.limit("random reads of others at depth 32", lambda stage: _beside_fio(stage, "randread"),
                       Limiter.OTHERS, Limiter.DEVICE, finds=frozenset({"others-on-the-disk"})),
    _DISK_OTHERS.limit("random writes of others at depth 32", lambda stage: _beside_fio(stage, "randwrite"),
                       Limiter.OTHERS, Limiter.DEVICE, finds=frozenset({"others-on-the-disk"})),
    _LINK.twin("veth", between),
    _link(50), _link(100), _link(500),
    _shaped(50), _shaped(100), _shaped(500), _shaped(100, here=True),
    _window(64, 10), _window(64, 20), _window(256, 20),
    _lossy(0.02, "udp"), _lossy(0.05, "udp"), _lossy(0.01, "tcp", 10), _lossy(0.03, "tcp", 10),
    _RECEIVER.twin("UDP at 50 Mbit/s", lambda stage: between(stage, given=UDP), Limiter.RATE),
    _RECEIVER.limit("UDP at 500 Mbit/s, buffer of 4 KiB", lambda stage: _small_buffer(stage, 500), Limiter.RECEIVER,
                    finds=LOSSES),
    _RECEIVER.limit("UDP at 1000 Mbit/s, receiver with 10 % of a CPU", lambda stage: _slow_receiver(stage, 0.1),
                    Limiter.RECEIVER, finds=LOSSES),
    *(_CLIENT.limit(f"TCP, writes of {length} bytes, each end on a CPU of its own",
                    partial(_small_writes, length=length), Limiter.CLIENT, Limiter.TOOL, Limiter.RECEIVER)
      for length in (128, 512)),
    _CLIENT.limit("TCP, sender with 10 % of a CPU", partial(_slow_end, share=0.1, sends=True), Limiter.CLIENT,
                  Limiter.QUOTA),
    _RECEIVER.limit("TCP, receiver with 10 % of a CPU", partial(_slow_end, share=0.1, sends=False), Limiter.RECEIVER),
    _RECEIVER.limit("UDP of 64 bytes without a rate", _small_datagrams, Limiter.RECEIVER, Limiter.CLIENT, finds=LOSSES),
    _rated(200), _rated(1000), _paced(50, "udp"), _paced(200, "udp"), _paced(100, "tcp"),
    _RATE.limit("pgbench --rate=50",
                lambda stage: one_step("pgbench", {"rate": 50, "time": SECONDS, "clients": 2, "threads": 2,
                                                   "script": "select-only", "directory": stage.disk()},
                                       stage.host()[0]),
                Limiter.RATE, truth=50, metric="transactions_per_second", tools=("pgbench",)),
)  # fmt: skip
"""What a kernel cannot be made to do here comes from recorded counters."""
