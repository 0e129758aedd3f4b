"""What fooled people, staged for real: each case with what has to be found, and its clean twin with nothing to find.

One list for the tests and for `make bench`. A twin asks the same question well, on the same stage; where all that is
wrong is a limit, the story itself is asked well, too, and the verdict has to name the limit.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from app.checks.catalogue import HOST_CHECKS
from app.events import Event
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.records import RunRecord
from app.runs.control import Control
from suites.memory_sizes import CACHE_FACTOR
from suites.verdict import Limiter
from suites.vocab import Finding, Severity
from tests.lab.links import LinkedHost
from tests.lab.staging import GIB, MIB, Stage

OF_THE_HOST = frozenset(check.id for check in HOST_CHECKS)
"""What is so of this computer, whatever is measured on it: its clock, its governor, its kernel."""

OF_OTHERS = frozenset({
    "host-busy", "host-in-use", "disk-in-use", "other-process", "others-on-the-disk", "cpu-stolen", "memory-short",
})  # fmt: skip
"""What others on this computer do. It is told rightly, and is no false alarm."""


@dataclass(frozen=True, slots=True)
class Case:
    """A way of measuring, how to stage it, and what has to be found of it.

    `stage` prepares everything and returns the plan. `finds` are the ids that have to be told, `limiter` what the
    verdict has to name as the limit, `not_limiter` what it may not. No other warning or error may be told, but for
    `besides`: what is as true of the stage, and no part of the story. `local` cases run on this computer itself.
    `core` cases are quick enough for every change.
    """

    name: str
    stage: Callable[[Stage], Plan]
    finds: tuple[str, ...] = ()
    limiter: Limiter | None = None
    not_limiter: Limiter | None = None
    besides: tuple[str, ...] = ()
    local: bool = True
    core: bool = False
    tools: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether it is a twin, of which nothing has to be found."""
        return not self.finds and self.limiter is None


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found of a case: all ids, those of warnings and errors, and the verdict."""

    reported: frozenset[str]
    grave: frozenset[str]
    limiter: Limiter | None = None
    summary: str = ""

    @property
    def disturbed(self) -> bool:
        """Whether others took so much of this computer that they may be the limit."""
        return bool(self.grave & {"host-busy", "other-process"})


def missed(case: Case, seen: Seen) -> list[str]:
    """Return what had to be told and was not."""
    found = sorted(set(case.finds) - seen.reported)
    if case.limiter not in {None, seen.limiter} and not excused(case, seen):
        found.append(f"limit: {case.limiter}")
    return found


def excused(case: Case, seen: Seen) -> bool:
    """Whether no other limit can be asked for, because others here left too little: the CPU, or nothing, is named."""
    elsewhere = case.limiter not in {None, seen.limiter}
    return elsewhere and seen.disturbed and seen.limiter in {Limiter.CPU, Limiter.UNKNOWN}


def false_alarms(case: Case, seen: Seen) -> list[str]:
    """Return the warnings and errors that were told without a reason."""
    found = sorted(seen.grave - set(case.finds) - set(case.besides) - OF_THE_HOST - OF_OTHERS)
    if case.not_limiter is not None and seen.limiter is case.not_limiter:
        found.append(f"limit: {case.not_limiter}")
    return found


def run(stage: Stage, case: Case) -> Seen:
    """Stage a case, run its plan and return what was found, before, during and after."""
    return seen(run_plan(stage, case.stage(stage)))


def run_plan(stage: Stage, made: Plan) -> RunRecord:
    """Run a plan and return the run as stored."""
    for _event in run_events(stage, made):
        pass
    return stage.workstation.load("last")


def run_events(stage: Stage, made: Plan) -> Iterator[Event]:
    """Run a plan and yield what happens."""
    stage.workstation.consents.remember_filled(made)  # a job file too is the user's own here
    stage.workstation.consents.remember_made(made)
    yield from stage.workstation.run(made, RefusingAsker(), Control())


def look(stage: Stage, case: Case) -> Seen:
    """Return what is found of a case on this computer before anything runs."""
    return _of(stage.workstation.report(case.stage(stage), {LOCAL: stage.facts()}).findings)


def seen(record: RunRecord) -> Seen:
    """Return what was found of a run of one step on one host."""
    (verdict,) = (one for one in record.verdicts if one.step is not None)
    found = _of((*record.findings, *verdict.findings))
    return replace(found, limiter=verdict.limited_by, summary=verdict.summary)


def _of(findings: tuple[Finding, ...]) -> Seen:
    grave = frozenset(finding.id for finding in findings if finding.severity is not Severity.INFO)
    return Seen(frozenset(finding.id for finding in findings), grave)


def one_step(suite: str, given: Mapping[str, object], host: str = LOCAL, peer: str | None = None) -> Plan:
    """Return the plan of one trial."""
    step = make_step(suite, given, peer=peer)
    return Plan("story", (host,), (step,), repetition=Repetition(1), question="What is it worth?")


def fio(stage: Stage, **given: object) -> Plan:
    """Return random reads past memory, 32 at a time, for eleven seconds; `given` values instead."""
    well = {"rw": "randread", "size": GIB, "direct": True, "ioengine": "libaio", "iodepth": 32, "block_size": 4096}
    where = {} if "directory" in given else {"directory": stage.disk()}
    return one_step("fio", {**well, "runtime": 11, "ramp_time": 2, **where, **given})


def _one_at_a_time(stage: Stage, **given: object) -> Plan:
    """Return reads through memory, as fio makes them untold."""
    return fio(stage, **{"direct": False, "ioengine": "psync", "iodepth": 1, **given})


def _whole_file(stage: Stage, **given: object) -> Plan:
    return _one_at_a_time(stage, **{"runtime": 0, "ramp_time": 0, **given})


def _dd(stage: Stage, **given: object) -> Plan:
    return one_step("dd", {"directory": stage.disk(), "block_size": MIB, "count": 4096, "flush": "direct", **given})


def _unflushed(stage: Stage) -> Plan:
    os.sync()  # what others wrote, and the kernel still has to write, would have it write out ours at once
    return _dd(stage, count=256, flush="none")


def _cp(stage: Stage, **given: object) -> Plan:
    well = {"size": 2 * GIB, "reflink": "never", "read": "cold", "flush": "sync"}
    return one_step("cp", {"directory": stage.disk(), **well, **given})


def cpu(host: str = LOCAL, **given: object) -> Plan:
    """Return primes on two threads for ten seconds."""
    return one_step("sysbench-cpu", {"threads": 2, "cpu_max_prime": 50_000, "time": 10, **given}, host)


def _memory(stage: Stage) -> Plan:
    block = 256 * MIB
    while 2 * block < CACHE_FACTOR * (stage.facts().last_level_cache() or 0):
        block *= 2
    large = {"block_size": block, "scope": "local", "total_size": 2**50}
    return one_step("sysbench-memory", {"time": 10, "threads": 2, **large})


def _fileio(stage: Stage, **given: object) -> Plan:
    well = {"mode": "rndrd", "total_size": 256 * MIB, "file_num": 4, "block_size": 4096, "time": 10}
    return one_step("sysbench-fileio", {"directory": stage.disk(), **well, **given})


def _job(stage: Stage, *lines: str) -> Plan:
    text = "\n".join(("[global]", "ioengine=libaio", "runtime=10", "ramp_time=2", "time_based", "[job]", *lines))
    return one_step("fio-job", {"directory": stage.disk(), "job": text + "\n"})


def _holes(stage: Stage, *, written: bool) -> Plan:
    file = stage.file("holes.dat", 512 * MIB)
    if written:
        stage.fill(file)
    return _job(stage, "rw=randread", "direct=1", "iodepth=32", "bs=4k", "size=512m", f"filename={file}")


def _cached(stage: Stage) -> Plan:
    """Return reads of a file that is in memory before they begin, however slow the disk is."""
    file = stage.file("cached.dat", 256 * MIB)
    stage.fill(file)
    file.read_bytes()
    return _job(stage, "rw=randread", "size=256m", "invalidate=0", f"filename={file}")


def _writes(stage: Stage, *lines: str) -> Plan:
    return _job(stage, "rw=write", "direct=1", "iodepth=4", "bs=1m", "size=1g", *lines)


def between(
    stage: Stage,
    shape: Callable[[LinkedHost, LinkedHost], None] | None = None,
    given: Mapping[str, object] = MappingProxyType({}),
) -> Plan:
    """Return what iperf3 sends from one host to another for ten seconds, on links that `shape` has changed."""
    near, far = stage.links()
    if shape is not None:
        shape(near, far)
    return one_step("iperf3", {"time": 10, "omit": 2, "address": far.address, **given}, near.alias, far.alias)


def granted(stage: Stage, limit: str = "", number: int = 0, **given: object) -> Plan:
    """Return random reads by a host whose group has a limit on the disk: the kernel's name of it, and how much."""
    limits = {f"throttle__{limit}_device": f"{stage.disk_number()} {number}"} if limit else {}
    return replace(fio(stage, **given), hosts=(stage.grouped("blkio", **limits),))


def _beside_others(stage: Stage) -> Plan:
    stage.compete(2)
    return cpu()


UDP: Mapping[str, object] = MappingProxyType({"protocol": "udp", "bitrate": 50})
SHORT = ("page-cache", "short-runtime", "too-brief")

CASES: tuple[Case, ...] = (
    Case("cp twice", lambda stage: _cp(stage, size=256 * MIB, read="cached", flush="none"),
         ("source-in-memory", "unflushed-write", "not-from-the-device"), besides=SHORT),
    Case("cp once, from the disk, flushed", _cp),
    Case("dd from zero, unflushed", _unflushed,
         ("unflushed-write", "not-from-the-device"), besides=SHORT, core=True),
    Case("dd from zero, direct", _dd),
    Case("dd from urandom", lambda stage: _dd(stage, count=2048, input="/dev/urandom"),
         ("random-source", "generator-bound"), Limiter.TOOL),
    Case("sysbench cpu, defaults", lambda _stage: one_step("sysbench-cpu", {}), ("sysbench-cpu-defaults",),
         tools=("sysbench",)),
    Case("sysbench cpu, ended by its events", lambda _stage: one_step("sysbench-cpu", {"events": 200}),
         ("sysbench-cpu-defaults", "too-brief"), besides=SHORT, tools=("sysbench",)),
    Case("sysbench cpu, all processors", lambda _stage: cpu(), tools=("sysbench",)),
    Case("sysbench memory, defaults", lambda _stage: one_step("sysbench-memory", {}), ("sysbench-memory-block",),
         Limiter.TOOL, tools=("sysbench",)),
    Case("sysbench memory, blocks beyond the caches", _memory, not_limiter=Limiter.TOOL, tools=("sysbench",)),
    Case("fio of 1 MB", lambda stage: _whole_file(stage, size=MIB), ("page-cache", "short-runtime", "too-brief"),
         besides=("not-from-the-device", "thin-tail"), tools=("fio",), core=True),
    Case("fio of 1 GiB, direct", fio, tools=("fio",)),
    Case("fio with invalidate=0", lambda stage: _one_at_a_time(stage, size=256 * MIB, invalidate=False),
         ("page-cache", "not-from-the-device"), tools=("fio",)),
    Case("a job file with invalidate=0", _cached,
         ("cache-kept", "page-cache", "not-from-the-device"), tools=("fio",)),
    Case("a job file, direct", lambda stage: _job(stage, "rw=randread", "size=1g", "direct=1", "iodepth=32"),
         tools=("fio",)),
    Case("readahead merges", lambda stage: _whole_file(stage, rw="read"), ("readahead-merges", "merged-on-the-way"),
         besides=(*SHORT, "generator-bound"), tools=("fio",)),
    Case("in sequence, direct, large blocks", lambda stage: fio(stage, rw="read", block_size=MIB, iodepth=4),
         tools=("fio",)),
    Case("working set below the memory", _fileio, ("page-cache", "not-from-the-device"), tools=("sysbench",)),
    Case("the same set, direct", lambda stage: _fileio(stage, extra_flags="direct"), tools=("sysbench",)),
    Case("depth 1", lambda stage: fio(stage, iodepth=1), ("one-io-in-flight",), Limiter.QUEUE_DEPTH, tools=("fio",)),
    Case("depth 32", fio, not_limiter=Limiter.QUEUE_DEPTH, tools=("fio",)),
    Case("device held to a rate", lambda stage: granted(stage, "read_iops", 4000), (), Limiter.PROVISIONED,
         besides=("mean-above-median",), local=False, tools=("fio",)),
    Case("the same device, not held", granted, not_limiter=Limiter.PROVISIONED, local=False,
         tools=("fio",)),
    Case("link held to a rate", lambda stage: between(stage, lambda near, _far: near.shape(100)), (), Limiter.SHAPED,
         local=False, tools=("iperf3",)),
    Case("the same link, not held", between, not_limiter=Limiter.SHAPED, local=False, tools=("iperf3",)),
    Case("quota on the processors", lambda stage: cpu(stage.grouped("cpu", cfs_quota_us="20000")),
         ("cpu-quota", "quota-throttled", "quota-bound"), Limiter.QUOTA, local=False, tools=("sysbench",)),
    Case("a group without a quota", lambda stage: cpu(stage.grouped("cpu")), not_limiter=Limiter.QUOTA, local=False,
         tools=("sysbench",)),
    Case("a competing process", _beside_others, ("host-busy", "other-process"), tools=("sysbench",)),
    Case("UDP with loss", lambda stage: between(stage, lambda _near, far: far.lose(0.05), UDP), ("datagrams-lost",),
         Limiter.LOSS, local=False, tools=("iperf3",)),
    Case("UDP without loss", lambda stage: between(stage, given=UDP), not_limiter=Limiter.LOSS, local=False,
         tools=("iperf3",)),
    Case("server and client on one host", lambda _stage: one_step("iperf3", {"time": 10, "omit": 2}, peer=LOCAL),
         ("same-host-peer",), tools=("iperf3",)),
    Case("a fresh file, through its holes", lambda stage: _holes(stage, written=False), ("not-from-the-device",),
         tools=("fio",)),
    Case("the same file, written before", lambda stage: _holes(stage, written=True), tools=("fio",)),
    Case("zero-filled buffers", lambda stage: _writes(stage, "zero_buffers=1"), ("repeated-data",), tools=("fio",)),
    Case("random buffers", _writes, tools=("fio",)),
)  # fmt: skip
"""Every story with its twin behind it. That of the competing process is the test of all processors; that of server
and client on one host, the link that is not held."""
