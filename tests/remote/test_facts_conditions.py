"""The conditions of a host that checks speak of: understood from what the probe prints, absent with a reason."""

import pytest

from remote.facts.block import Disks, block_devices
from remote.facts.cpu import cpu_facts
from remote.facts.items import Items
from remote.facts.mounts import directories, parse_mounts
from remote.facts.tools import measured, tools
from suites.facts import Absent, Facts, known
from suites.registry import programs


def items(**values: str) -> Items:
    return Items({name.replace("__", "."): (value,) for name, value in values.items()}, complete=True)


BEFORE = "cpu  100 0 50 1000 10 0 0 0 0 0"


@pytest.mark.parametrize(
    ("after", "share"),
    [
        ("cpu  100 0 50 1030 10 0 0 0 0 0", 0.0),
        ("cpu  101 0 50 1029 10 0 0 0 0 0", 0.0),  # the tick that starting sleep may take
        ("cpu  110 0 51 1019 10 0 0 0 0 0", 10 / 30),
        ("cpu  100 0 50 1010 30 0 0 0 0 0", 0.0),  # waiting for a disk is idle
        ("cpu  100 0 50 1010 10 0 0 21 0 0", 20 / 31),  # what the hypervisor takes is gone, too
        ("cpu  110 0 51 1019 10 0 0 0 10 0", 10 / 30),  # a guest's time is the user's, counted once
    ],
)
def test_what_others_used_is_what_was_not_idle(after: str, share: float) -> None:
    found = measured(items(idle__before=BEFORE, idle__after=after)).foreign_cpu
    assert found == pytest.approx(share)


@pytest.mark.parametrize(
    ("own", "share"),
    [
        (("7 (python 3) S 1 7 7 0 -1 0 0 0 0 0 100 20 0 0", "7 (python 3) S 1 7 7 0 -1 0 0 0 0 0 105 23 0 0"), 2 / 30),
        (("7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 100 20 0 0", "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 100 20 0 0"), 10 / 30),
        (("7 (x) S 1 7 7 0 -1 0 0 0 0 0 100 20 0 0", "7 (x) S 1 7 7 0 -1 0 0 0 0 0 900 20 0 0"), 0.0),
        (("7 (x) S 1 7", "9 (y) S"), 10 / 30),
        (("7 (x) S 1 7 7 0 -1 0 0 0 0 0 many 20 0 0", ""), 10 / 30),
    ],
)
def test_what_benchwright_itself_used_is_not_others(own: tuple[str, str], share: float) -> None:
    before, after = own
    reported = {"idle__before__own": before, "idle__after__own": after}
    found = measured(items(idle__before=BEFORE, idle__after="cpu  110 0 51 1019 10 0 0 0 0 0", **reported)).foreign_cpu
    assert found == pytest.approx(share)


@pytest.mark.parametrize(
    "after", ["", "cpu 1 2 3", "intr 5", BEFORE, "cpu  90 0 50 1030 10 0 0 0 0 0", "cpu " + "x " * 9]
)
def test_ticks_that_cannot_be_are_no_share(after: str) -> None:
    assert isinstance(measured(items(idle__before=BEFORE, idle__after=after)).foreign_cpu, Absent)


def test_a_tool_took_as_long_as_until_the_next_was_started() -> None:
    found = Facts(
        host="h",
        read_at="",
        tools=tools(
            items(started__fio="100.5", started__dd="100.52", started__end="100.523", tool__fio__path="/bin/fio"),
            programs(),
        ),
    )
    assert found.tool("fio").start_up == pytest.approx(0.02)
    assert found.tool("dd").start_up == pytest.approx(0.003)
    assert isinstance(found.tool("sysbench").start_up, Absent)
    assert isinstance(found.tool("gcc").start_up, Absent)


def test_a_clock_that_was_set_back_times_no_tool() -> None:
    found = Facts(host="h", read_at="", tools=tools(items(started__fio="100.5", started__end="90"), programs()))
    assert found.tool("fio").start_up == Absent("the host's date is too coarse")


@pytest.mark.parametrize(("text", "count"), [("", 0), ("3", 1), ("2-3,8", 3)])
def test_offline_cpus_are_counted(text: str, count: int) -> None:
    assert cpu_facts(items(cpu__offline=text), "none").offline == count


def test_a_list_that_is_none_is_absent() -> None:
    assert isinstance(cpu_facts(items(cpu__offline="all"), "none").offline, Absent)
    assert isinstance(cpu_facts(items(), "none").offline, Absent)


@pytest.mark.parametrize(
    ("given", "boost"),
    [({"cpu__boost": "1"}, True), ({"cpu__boost": "0"}, False), ({"cpu__no_turbo": "1"}, False), ({}, None)],
)
def test_boost_is_told_by_either_driver(given: dict[str, str], *, boost: bool | None) -> None:
    assert known(cpu_facts(items(**given), "none").boost) is boost


def test_preferences_and_balancing_are_read() -> None:
    lines = "cpu0/cpufreq/energy_performance_preference:balance_power"
    found = cpu_facts(items(cpu__preferences=lines, cpu__numa_balancing="2", cpu__smt="off"), "none")
    assert (found.energy_preference, found.numa_balancing, found.hyperthreading) == ("balance_power", True, "off")


BLOCK = """dm-0/dev:253:0
dm-0/size:2048
dm-0/dm/name:vg-data
dm-0/dm/uuid:LVM-abc
dm-1/dev:253:1
dm-1/size:2048
dm-1/dm/name:vg-pool-tpool
dm-1/dm/uuid:LVM-def-tpool
dm-2/dev:253:2
dm-2/size:2048
dm-2/dm/name:luks
dm-2/dm/uuid:CRYPT-LUKS2-1
sda/dev:8:0
sda/size:4096
sda/queue/logical_block_size:4096
sda/queue/iosched/low_latency:1"""
LAYERED = {
    "block": BLOCK,
    "block__slaves": "dm-0/slaves/dm-1\ndm-1/slaves/dm-2\ndm-2/slaves/sda",
    "mounts": "36 35 253:0 / /srv rw,noatime shared:1 - btrfs /dev/mapper/vg-data rw,compress=zstd:3",
    "directory__0__path": "/srv",
    "directory__0__df": "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/x 100 0 100 0% /srv",
    "directory__0__attributes": "---------------C------ /srv",
}


def test_the_layers_below_a_directory_are_followed_down_to_the_disk() -> None:
    given = items(**LAYERED)
    disks = Disks.parse(given)
    (found,) = directories(given, parse_mounts(given.text("mounts")), disks)
    facts = Facts(host="h", read_at="", block_devices=block_devices(given, disks), directories=(found,))
    assert (found.volume, found.device, found.attributes) == ("dm-0", "sda", "C")
    assert [device.kind for device in facts.layers(found)] == ["lvm", "thin-pool", "crypt", "disk"]
    disk = facts.block_device("sda")
    assert disk is not None
    assert (disk.sector, disk.low_latency) == (4096, True)


def test_a_directory_without_a_device_has_no_layers() -> None:
    given = items(**{**LAYERED, "mounts": "36 35 0:99 / /srv rw - nfs4 host:/srv rw"})
    (found,) = directories(given, parse_mounts(given.text("mounts")), Disks.parse(given))
    assert isinstance(found.volume, Absent)
    assert Facts(host="h", read_at="").layers(found) == ()


OVERLAY = "46 27 0:40 / /srv rw,relatime - overlay o rw,upperdir=%s,workdir=/w,uuid=on"
UNDER = "27 1 254:0 / / rw - ext4 /dev/vda rw\n43 27 0:39 / /fast rw,relatime - tmpfs none rw\n"


@pytest.mark.parametrize(
    ("upper", "kind"), [("/fast/u", "tmpfs"), ("/var/u", "ext4"), ("/fast", "tmpfs"), ("/faster/u", "ext4")]
)
def test_an_overlay_names_the_file_system_of_its_upper_directory(upper: str, kind: str) -> None:
    given = items(**{**LAYERED, "mounts": UNDER + OVERLAY % upper})
    (found,) = directories(given, parse_mounts(given.text("mounts")), Disks.parse(given))
    assert (found.kind, found.upper) == ("overlay", kind)


@pytest.mark.parametrize(
    "mounts",
    [
        (UNDER + OVERLAY % "relative"),
        (UNDER + OVERLAY % "/srv/itself"),
        (OVERLAY % "/nowhere"),
        OVERLAY.replace("/srv", "/") % "/fast/u" + "\n" + UNDER.splitlines()[1],  # a container's root
    ],
)
def test_an_upper_directory_that_is_not_visible_is_absent(mounts: str) -> None:
    where = "/" if " / rw,relatime - overlay" in mounts else "/srv"
    df = f"Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/x 100 0 100 0% {where}"
    given = items(**{**LAYERED, "mounts": mounts, "directory__0__df": df})
    (found,) = directories(given, parse_mounts(given.text("mounts")), Disks.parse(given))
    assert isinstance(found.upper, Absent)
    assert isinstance(found.device, Absent)
