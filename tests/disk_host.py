"""Facts of a quiet host with one disk, of sizes that are known; each test changes what it is about."""

from dataclasses import replace

from suites.base import Context, StepEvidence, Suite, complete_values, tuned_values
from suites.checks import CheckOutcome, NotChecked
from suites.facts import (
    Absent,
    BlockDevice,
    CpuFacts,
    Directory,
    Facts,
    FileSystem,
    MemoryFacts,
    ProbeMeasurements,
    SystemFacts,
    Tool,
)

MIB, GIB = 2**20, 2**30

ENGINES = ("mmap", "sync", "psync", "pvsync2", "posixaio", "io_uring", "libaio")

DATA = Directory(path="/srv", mount="/srv", kind="ext4", device="nvme0n1", free=100 * GIB, writable=True, direct=True)
HOME = Directory(path="/home/ann", mount="/", kind="ext4", device="sda", free=20 * GIB, writable=True, direct=True)
SHM = Directory(path="/tmp", mount="/tmp", kind="tmpfs", free=500 * GIB, writable=True, direct=True)


def disk_host(
    *directories: Directory,
    cpus: int = 8,
    memory: int = 16 * GIB,
    urandom: float | None = 460e6,
    distribution: str = "debian",
    user: str = "ann",
) -> Facts:
    """Return the facts of a host with `directories`, or with a home, a data disk and a /tmp in memory."""
    return Facts(
        host="web-1",
        read_at="2026-01-02T03:04:05Z",
        system=SystemFacts(
            distribution_id=distribution,
            user=user,
            virtualisation="none",
            kernel="6.1.0-32-amd64",
            load_1_minute=0.04,
            clock_source="tsc",
            clock_offset=0.002,
        ),
        cpu=CpuFacts(usable=cpus, threads=cpus, offline=0, governor="performance", quota=Absent("no limit")),
        memory=MemoryFacts(total=memory, limit=Absent("no limit")),
        measured=ProbeMeasurements(
            urandom_rate=Absent("dd prints no times") if urandom is None else urandom, foreign_cpu=0.004
        ),
        block_devices=(BlockDevice(name="nvme0n1", rotational=False), BlockDevice(name="sda", rotational=True)),
        file_systems=(
            FileSystem(mount="/", kind="ext4", free=20 * GIB),
            FileSystem(mount="/srv", kind="ext4", free=100 * GIB),
            FileSystem(mount="/srv/nfs", kind="nfs4", free=900 * GIB),
        ),
        directories=directories or (HOME, SHM, DATA),
        tools=(
            Tool(name="fio", version="fio-3.33", path="/usr/bin/fio", engines=ENGINES),
            Tool(name="dd", version="dd (coreutils) 9.1", path="/usr/bin/dd"),
        ),
    )


def without_tool(facts: Facts, name: str) -> Facts:
    """Return `facts` of a host where the tool was looked for and not found."""
    missing = Tool(name=name, version=Absent("not installed"), path=Absent("not installed"))
    return replace(facts, tools=(*(tool for tool in facts.tools if tool.name != name), missing))


def tuned_step(suite: Suite, facts: Facts | None = None, **given: object) -> StepEvidence:
    """Return a step of `suite` tuned to the host, with `given` values instead."""
    context = Context(disk_host() if facts is None else facts)
    values = complete_values(suite, {**tuned_values(suite, context), **given})
    return StepEvidence("step", suite, values, context, "web-1")


def outcomes(step: StepEvidence) -> dict[str, CheckOutcome | NotChecked]:
    """Return what the suite's own checks say of the step, by id."""
    shown = {check.id: check.evaluate(step) for check in step.suite.checks}
    return {name: outcome for name, outcome in shown.items() if outcome is not None}


def changes(step: StepEvidence, check: str) -> dict[str, object]:
    """Return the changes that the finding `check` offers."""
    outcome = outcomes(step)[check]
    assert isinstance(outcome, CheckOutcome)
    return dict(outcome.changes)


def measured(step: StepEvidence, check: str) -> str:
    """Return the evidence that the finding `check` gives."""
    outcome = outcomes(step)[check]
    assert isinstance(outcome, CheckOutcome)
    return outcome.measured
