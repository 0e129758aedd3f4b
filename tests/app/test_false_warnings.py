"""A tuned plan shows nothing at all on a quiet host, whatever it measures: what our own defaults raise is noise."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from app.checks.before import CheckReport, check_plan
from app.plans.plan import Plan, make_step
from app.plans.presets import quick_plan, tuned_plan
from suites.facts import Absent, BlockDevice, Cache, Facts, FileSystem, Interface, MemoryFacts, Tool
from suites.registry import SUITES, programs
from tests.disk_host import DATA, ENGINES, GIB, HOME, MIB, disk_host


def server(name: str = "web-1") -> Facts:
    """Return the facts of a bare-metal server that nobody uses, with every tool."""
    facts = disk_host(HOME, replace(DATA, volume="nvme0n1", attributes=Absent("none is set")), memory=64 * GIB)
    tools = [name for program in programs() for name in program.names]
    versions = {"iperf3": "iperf 3.18", "fio": "fio-3.33", "sysbench": "sysbench 1.0.20"}
    return replace(
        facts,
        host=name,
        system=replace(facts.system, boot_id=f"boot of {name}", architecture="x86_64"),
        cpu=replace(
            facts.cpu,
            threads=8,
            boost=True,
            hyperthreading="on",
            numa_nodes=1,
            caches=(Cache(level=3, kind="unified", size=32 * MIB, shared_by=8, instances=1),),
        ),
        memory=MemoryFacts(total=64 * GIB, available=60 * GIB, swap_total=0, swap_used=0, limit=Absent("no limit")),
        block_devices=(
            BlockDevice(
                name="nvme0n1", kind="disk", rotational=False, size=2000 * GIB, sector=512, scheduler="none",
                readahead=128 * 1024, parent=Absent("a whole disk"),
            ),
            BlockDevice(name="sda", kind="disk", rotational=False, sector=512, parent=Absent("a whole disk")),
        ),
        file_systems=(
            FileSystem(mount="/", kind="ext4", free=20 * GIB, options="rw,relatime"),
            FileSystem(mount="/srv", kind="ext4", free=100 * GIB, options="rw,noatime"),
        ),
        interfaces=(
            Interface(name="lo", state="unknown", mtu=65536),
            Interface(name="eth0", state="up", speed=10**10, mtu=1500, addresses=("192.0.2.1",)),
        ),
        tools=tuple(
            Tool(
                name=tool, version=versions.get(tool, "1.0.0"), path=f"/usr/bin/{tool}", engines=ENGINES, start_up=0.004
            )
            for tool in tools
        ),
    )  # fmt: skip


FACTS = {"web-1": server(), "web-2": server("web-2")}
PEERS = {"web-1": "192.0.2.1", "web-2": "192.0.2.2"}


def report(plan: Plan) -> CheckReport:
    return check_plan(plan, FACTS, PEERS)


def shown(found: CheckReport) -> list[tuple[str, str]]:
    return [(finding.id, finding.measured) for finding in found.findings]


CHOSEN: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "speccpu": {"config": "gcc-linux-x86.cfg"},
        "mtr": {"target": "198.51.100.7"},
        "curl-times": {"url": "https://shop.example/"},
        "command": {"command": "make -j8 -C /home/ann/shop check"},
        "fio-job": {
            "job": "[global]\ndirect=1\nioengine=libaio\nsize=4g\nruntime=60\ntime_based\n[j]\nrw=randread\n"
            "randrepeat=0\niodepth=32"
        },
    }
)
"""What nobody but the user can say of a suite."""


def untouched_plan(suite: str) -> Plan:
    """Return the tuned plan, with what only the user can say of the suite."""
    plan = tuned_plan(["web-1"], [suite], FACTS, "p")
    steps = tuple(
        make_step(
            step.suite_id,
            {**step.values, **CHOSEN.get(suite, {})},
            name=step.name,
            peer="web-2" if step.peer is not None else None,
        )
        for step in plan.steps
    )
    return replace(plan, steps=steps)


@pytest.mark.parametrize("suite", [suite.id for suite in SUITES])
def test_a_tuned_plan_on_a_quiet_host_shows_nothing(suite: str) -> None:
    found = report(untouched_plan(suite))
    assert shown(found) == []
    assert found.cannot_tell == ()


def test_the_quick_plan_on_a_quiet_host_shows_nothing() -> None:
    plan = quick_plan("web-1", FACTS["web-1"])
    assert plan.repetition.is_quick_look
    found = report(plan)
    assert shown(found) == []
    assert found.cannot_tell == ()


def on_disk(name: str, *, cpus: int = 8, memory: int = 64 * GIB, **given: object) -> Facts:
    """Return another healthy host: its data is on this disk, and transparent huge pages are as Ubuntu sets them."""
    facts = server()
    disk = BlockDevice(name=name, kind="disk", sector=512, parent=Absent("a whole disk"), **given)  # type: ignore[arg-type]
    home, data = facts.directories
    return replace(
        facts,
        directories=(home, replace(data, device=name, volume=name)),
        block_devices=(disk, *facts.block_devices[1:]),
        cpu=replace(facts.cpu, threads=cpus, usable=cpus),
        memory=replace(facts.memory, total=memory, available=memory - 2 * GIB, transparent_huge_pages="madvise"),
    )


OTHER_HOSTS: Mapping[str, Facts] = MappingProxyType(
    {
        "SATA SSD": on_disk("sdb", rotational=False, size=480 * GIB, queue_depth=32, scheduler="mq-deadline"),
        "hard disk": on_disk("sdb", rotational=True, size=4000 * GIB, queue_depth=32, scheduler="mq-deadline"),
        "NVMe": on_disk("nvme1n1", rotational=False, size=7000 * GIB, queue_depth=1023, scheduler="none", cpus=128),
        "small VM": on_disk("vdb", rotational=True, size=40 * GIB, queue_depth=128, cpus=2, memory=8 * GIB),
    }
)


@pytest.mark.parametrize("name", OTHER_HOSTS)
@pytest.mark.parametrize(
    "suite",
    ["fio", "fio-sweep", "fio-snia", "dd", "sysbench-fileio", "ioping", "cp", "pgbench", "sysbench-oltp", "stream"],
)
def test_a_tuned_plan_on_other_healthy_hosts_shows_nothing(suite: str, name: str) -> None:
    facts = {"web-1": OTHER_HOSTS[name]}
    plan = tuned_plan(["web-1"], [suite], facts, "p")
    assert shown(check_plan(plan, facts, PEERS)) == []
