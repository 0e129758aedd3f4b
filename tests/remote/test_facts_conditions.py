"""The conditions of a host that checks speak of: understood from what the probe prints, absent with a reason."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remote.facts.block import Disks, block_devices
from remote.facts.cpu import cpu_facts
from remote.facts.items import LONGEST_ITEM, Items
from remote.facts.load import foreign_cpu, foreign_disks, foreign_processes
from remote.facts.mounts import directories, parse_mounts
from remote.facts.system import Exchange, clock_offset
from remote.facts.tools import tools
from suites.facts import HIDDEN, OUTSIDE, SHORT_LIVED, Absent, DiskLoad, Facts, known
from suites.registry import programs


def items(**values: str) -> Items:
    return Items({name.replace("__", "."): (value,) for name, value in values.items()}, complete=True)


BEFORE = "cpu  100 0 50 1000 10 0 0 0 0 0"
BUSY = "cpu  110 0 51 1019 10 0 0 0 0 0"


@pytest.mark.parametrize(
    ("after", "share"),
    [
        ("cpu  100 0 50 1030 10 0 0 0 0 0", 0.0),
        ("cpu  101 0 50 1029 10 0 0 0 0 0", 0.0),  # the tick that the script's start may take
        (BUSY, 10 / 30),
        ("cpu  100 0 50 1010 30 0 0 0 0 0", 0.0),  # waiting for a disk is idle
        ("cpu  100 0 50 1010 10 0 0 21 0 0", 20 / 31),  # what the hypervisor takes is gone, too
        ("cpu  110 0 51 1019 10 0 0 0 10 0", 10 / 30),  # a guest's time is the user's, counted once
    ],
)
def test_what_others_used_is_what_was_not_idle(after: str, share: float) -> None:
    found = foreign_cpu(items(load__before__processors=BEFORE, load__after__processors=after))
    assert found == pytest.approx(share)


OWN = "70 60"  # the script and its client
EARLIER = "60 1 100 20 500 50 7 python 3\n70 60 0 0 0 0 9 sh\n80 1 1000 0 0 0 8 java\n90 1 5 5 0 0 8 cron"


KERNEL = "2 0 0 0 0 0 0 kthreadd"


def grown(*lines: str, container: str = "none", own: str = OWN, kernel: str = KERNEL) -> tuple[float, dict[str, float]]:
    """Return the share of the CPUs that others used in 30 ticks, 11 of them busy, and the use by name."""
    given = items(
        load__before__processors=BEFORE,
        load__after__processors=BUSY,
        load__before__processes=EARLIER,
        load__after__processes="\n".join((*lines, kernel)),
        load__after__own=own,
        load__before__uptime="100.00 90.00",
        load__after__uptime="100.15 90.00",
    )
    loads = foreign_processes(given, container)
    assert isinstance(loads, tuple)
    share = foreign_cpu(given)
    assert isinstance(share, float)
    return share, {load.name: round(known(load.cpus) or 0, 3) for load in loads}


def test_what_benchwright_itself_used_is_not_others() -> None:
    idle = ["80 1 1000 0 0 0 8 java", "90 1 5 5 0 0 8 cron"]
    client = "60 1 101 21 506 50 7 python 3"  # its children are counted where they are, not again when they ended
    script = "70 60 0 0 5 1 9 sh"
    share, found = grown(client, script, *idle)
    assert share == pytest.approx(2 / 30)
    assert found == {SHORT_LIVED: 0.133}
    below = ["71 70 0 1 0 0 9 sh", "72 71 1 0 0 0 9 dd", "73 60 0 0 0 0 9 sh"]
    assert grown(client, script, *below, *idle)[0] == 0.0


def test_processes_of_others_are_named_with_their_use() -> None:
    share, found = grown(
        "60 1 100 20 500 50 7 python 3", "80 1 1006 1 0 0 8 java", "99 1 2 1 0 0 9 cc1", "70 60 0 0 0 0 9 sh"
    )
    assert share == pytest.approx(10 / 30)
    assert found == {"java": 0.467, "cc1": 0.2}
    assert grown("80 1 1000 0 9 9 8 java")[1] == {SHORT_LIVED: 0.667}  # children that it waited for
    assert grown("80 1 5 0 0 0 99 java")[1] == {"java": 0.333, SHORT_LIVED: 0.333}  # another process with this PID


@pytest.mark.parametrize(
    ("container", "kernel", "name"),
    [("none", KERNEL, SHORT_LIVED), ("docker", KERNEL, SHORT_LIVED), ("docker", "", OUTSIDE), ("none", "", HIDDEN)],
)
def test_use_that_no_process_explains_is_named_for_what_is_not_visible(container: str, kernel: str, name: str) -> None:
    assert grown("80 1 1000 0 0 0 8 java", container=container, kernel=kernel)[1] == {name: 0.667}


def test_a_truncated_list_of_processes_names_nobody() -> None:
    lines = "\n".join(f"{pid} 1 {pid} 0 0 0 8 java" for pid in range(20000))[:LONGEST_ITEM]
    given = items(
        load__before__processors=BEFORE,
        load__after__processors=BUSY,
        load__before__processes=EARLIER,
        load__after__processes=lines,
        load__before__uptime="100.00",
        load__after__uptime="100.15",
    )
    assert isinstance(foreign_processes(given, "none"), Absent)


@pytest.mark.parametrize("lines", ["", "7", "a b c d e f g h", "1 2 3", "80 1 -5 0 0 0 8 java", "9" * 400])
@pytest.mark.parametrize("own", ["", "x y", "1", "0 0", "5 1"])
def test_lists_of_processes_that_cannot_be_blame_nobody(lines: str, own: str) -> None:
    given = items(
        load__before__processors=BEFORE,
        load__after__processors=BUSY,
        load__before__processes=lines,
        load__after__processes=lines,
        load__after__own=own,
        load__before__uptime="100.00",
        load__after__uptime="100.15",
    )
    assert foreign_cpu(given) == pytest.approx(10 / 30)
    assert isinstance(foreign_processes(given, "none"), Absent)


@pytest.mark.parametrize(
    "after", ["", "cpu 1 2 3", "intr 5", BEFORE, "cpu  90 0 50 1030 10 0 0 0 0 0", "cpu " + "x " * 9]
)
def test_ticks_that_cannot_be_are_no_share(after: str) -> None:
    given = items(load__before__processors=BEFORE, load__after__processors=after)
    assert isinstance(foreign_cpu(given), Absent)
    assert isinstance(foreign_processes(given, "none"), Absent)


DISKS = "   8       0 sda 100 0 1000 0 10 0 2000 0 0 0 0\n   8       1 sda1 100 0 1000 0 10 0 2000 0 0 0 0"
LATER = "   8       0 sda 200 0 9000 0 410 0 42000 0 0 0 0\n   8       1 sda1 200 0 9000 0 410 0 42000 0 0 0 0"


def disk_loads(**changed: str) -> tuple[DiskLoad, ...] | Absent:
    given = {
        "block": "sda/dev:8:0\nsda1/dev:8:1\nsda1/partition:1",
        "block__links": "lrwxrwxrwx sda1 -> ../x/sda/sda1",
        "load__before__uptime": "10.00 1",
        "load__after__uptime": "14.00 1",
        "load__before__disks": DISKS,
        "load__after__disks": LATER,
        "load__before__io": "read_bytes: 0\nwrite_bytes: 0",
        "load__after__io": "read_bytes: 0\nwrite_bytes: 0",
        **changed,
    }
    return foreign_disks(items(**given), Disks.parse(items(**given)))


def test_use_of_a_disk_by_others_is_per_second_and_without_our_own() -> None:
    assert disk_loads() == (DiskLoad(name="sda", read=1024000.0, written=5120000.0, requests=125.0, own_requests=0.0),)
    own = disk_loads(load__after__io="read_bytes: 4096000\nwrite_bytes: 480000")
    assert own == (DiskLoad(name="sda", read=0.0, written=5e6, requests=70.75, own_requests=54.25),)


@pytest.mark.parametrize(
    ("name", "text"), [("disks", ""), ("disks", "8 0 sda 1 2"), ("uptime", ""), ("uptime", "9.00"), ("uptime", "soon")]
)
def test_counters_of_disks_that_cannot_be_are_absent(name: str, text: str) -> None:
    assert isinstance(disk_loads(**{f"load__after__{name}": text}), Absent)


def test_counters_that_went_back_are_no_use() -> None:
    found = disk_loads(load__before__disks=LATER, load__after__disks=DISKS)
    assert found == (DiskLoad(name="sda", read=0.0, written=0.0, requests=0.0, own_requests=0.0),)


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


def test_a_tool_that_was_killed_has_no_version() -> None:
    found = items(
        tool__fio="Killed\n",
        tool__fio__path="/usr/bin/fio",
        tool__dd="Killed\ndd (coreutils) 9.1\n",
        tool__dd__path="/bin/dd",
    )
    versions = {tool.name: tool.version for tool in tools(found, programs())}
    assert isinstance(versions["fio"], Absent)
    assert versions["dd"] == "dd (coreutils) 9.1"


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("readable package-0\nreadable core", ("package-0", "core")),
        ("refused package-0\nrefused core", Absent("readable by root only (CVE-2020-8694)")),
        ("", Absent("no powercap in /sys (virtual machine)")),
        ("readable", Absent("no powercap in /sys (virtual machine)")),
    ],
)
def test_energy_counters_are_named_or_absent_with_the_reason(text: str, found: tuple[str, ...] | Absent) -> None:
    assert cpu_facts(items(cpu__energy=text), "kvm").energy_counters == found


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


def test_the_clock_offset_is_that_of_the_shortest_round_trip() -> None:
    exchanges = [Exchange(10.0, 13.9, 10.4), Exchange(20.0, 23.504, 20.01), Exchange(30.0, 33.5, 30.2)]
    offset, uncertainty = clock_offset(exchanges)
    assert known(offset) == pytest.approx(3.499)
    assert known(uncertainty) == pytest.approx(0.005)
    stepped = [*exchanges, Exchange(40.0, 43.0, 39.0)]  # this computer's clock was set back meanwhile
    assert clock_offset(stepped) == clock_offset(exchanges)
    assert all(isinstance(one, Absent) for one in clock_offset([]))


CPUINFO = "model name\t: %s\nmicrocode\t: 0x2b000590\nflags\t\t: fpu %s"


@pytest.mark.parametrize(
    ("model", "flags", "detected", "emulated"),
    [
        ("QEMU TCG CPU version 2.5+", "hypervisor", None, True),
        ("Intel Core Processor (Haswell)", "hypervisor", "qemu", True),
        ("Intel Core Processor (Haswell)", "hypervisor", "kvm", False),
        ("VirtualApple @ 2.50GHz", "sse4", "none", True),
        ("QEMU Virtual CPU version 2.5+", "hypervisor", "qemu", True),
        ("QEMU Virtual CPU version 2.5+", "hypervisor", "kvm", False),
        ("AMD EPYC 7B13", "sse4", "none", False),
        ("QEMU Virtual CPU version 2.5+", "hypervisor", None, None),  # this model also runs under KVM
    ],
)
def test_an_emulated_cpu_is_known(model: str, flags: str, detected: str | None, *, emulated: bool | None) -> None:
    given = items(cpuinfo=CPUINFO % (model, flags), **({} if detected is None else {"virtualisation": detected}))
    found = cpu_facts(given, detected or Absent("?"))
    assert known(found.emulated) is emulated
    assert found.microcode == "0x2b000590"


def test_mitigations_are_listed_without_what_the_cpu_does_not_need() -> None:
    lines = "./mds:Vulnerable: no microcode\n./l1tf:Not affected\n./a b:x\n./retbleed:\x1b[31m\n"
    assert cpu_facts(items(cpu__vulnerabilities=lines), "none").mitigations == (
        "mds: Vulnerable: no microcode",
        "retbleed: [31m",
    )
    assert cpu_facts(items(cpu__vulnerabilities="./l1tf:Not affected"), "none").mitigations == ()
    assert isinstance(cpu_facts(items(), "none").mitigations, Absent)


JUST_STARTED = """
import sys
from pathlib import Path
from remote.jobs.job import RemoteJob
from remote.jobs.workspace import make_workspace, remove_workspace
from remote.local import LocalSession
from remote.probe import read_facts
from suites.facts import known
session = LocalSession("testhost")
print(known(read_facts(session).system.uptime))
workspace = make_workspace(session, sys.argv[1])
job = RemoteJob.start(session, workspace, ["echo", "done"])
print(b"".join(chunk.data for chunk in job.follow() if chunk is not None).decode())
remove_workspace(session, workspace)
"""


@pytest.mark.quick(1)
@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")
@pytest.mark.parametrize("uptime", ["0.08 0.05", "9.09 9.00", "123.00 9.00"])
def test_a_container_that_has_just_started_is_read_and_runs_jobs(tmp_path: Path, uptime: str) -> None:
    """LXC shows the container's uptime. Of 0.08 s the shell would read 008, which is no octal number."""
    (tmp_path / "uptime").write_text(f"{uptime}\n")
    mount = f'mount --bind {tmp_path}/uptime /proc/uptime && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, "-c", JUST_STARTED, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [str(float(uptime.split(maxsplit=1)[0])), "done"]
