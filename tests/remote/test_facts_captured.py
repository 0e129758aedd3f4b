"""The facts of captured hosts: what each says is understood, and what it does not say is absent with the reason."""

from dataclasses import replace
from pathlib import Path

import pytest

from remote.facts.items import parse_items
from remote.probe import understand
from suites.facts import Absent, Cache, Directory, DirectoryFault, Facts, known
from tests.messages import messages

MESSAGES = messages("remote", "test_facts_captured")

DATA = Path(__file__).parent.parent / "data" / "facts"
MARK = "0123456789abcdef"


def captured(name: str) -> bytes:
    return (DATA / f"{name}.txt").read_bytes()


def facts_of(output: bytes) -> Facts:
    return understand(parse_items(output, MARK), "host", "2026-11-20T12:00:00+00:00")


def reason(fact: object) -> str:
    assert isinstance(fact, Absent), fact
    return fact.reason


def directory(facts: Facts, path: str) -> Directory:
    found = facts.directory(path)
    assert found is not None
    return found


def test_a_virtual_machine_is_read_whole() -> None:
    facts = facts_of(captured("debian12-vm"))
    system = facts.system
    assert (system.host_name, system.kernel, system.architecture) == ("vm", "6.18.44", "x86_64")
    assert system.distribution == MESSAGES["debian_gnu_linux_12_bookworm"]
    assert (system.distribution_id, system.user) == ("debian", "root")
    assert (system.virtualisation, system.container) == ("kvm", "docker")
    assert system.boot_id == "5d0b3c1e-7c0a-4b8e-9a43-0f6f2b1c9d77"
    assert system.workstation_address == "192.0.2.7"
    assert isinstance(system.uptime, float)
    assert isinstance(system.load_1_minute, float)


def test_processors_and_caches_are_counted_once() -> None:
    cpu = facts_of(captured("debian12-vm")).cpu
    assert (cpu.model, cpu.sockets, cpu.cores, cpu.threads, cpu.usable) == ("AMD EPYC", 1, 2, 2, 2)
    assert isinstance(cpu.flags, tuple)
    assert "avx512f" in cpu.flags
    assert cpu.numa_nodes == 1
    assert cpu.caches == (
        Cache(level=1, kind="data", size=48 * 1024, shared_by=1, instances=2),
        Cache(level=1, kind="instruction", size=32 * 1024, shared_by=1, instances=2),
        Cache(level=2, kind="unified", size=2**20, shared_by=1, instances=2),
        Cache(level=3, kind="unified", size=2**25, shared_by=2, instances=1),
    )
    assert reason(cpu.governor) == MESSAGES["no_cpufreq_in_sys_the_host"]
    assert reason(cpu.frequency_maximum) == MESSAGES["no_cpufreq_in_sys_the_host"]
    assert cpu.frequency_guest == 2600.0
    assert reason(cpu.quota) == MESSAGES["no_group_limits_the_cpu_time"]


def test_memory_is_in_bytes() -> None:
    memory = facts_of(captured("debian12-vm")).memory
    assert memory.total == 24684092 * 1024
    assert (memory.swap_total, memory.swap_used) == (0, 0)
    assert (memory.huge_page_size, memory.huge_pages, memory.transparent_huge_pages) == (2**21, 0, "madvise")
    assert memory.page_size == 4096
    assert reason(memory.limit) == MESSAGES["no_group_limits_the_memory"]


def test_a_disk_is_described() -> None:
    facts = facts_of(captured("debian12-vm"))
    (disk,) = facts.block_devices
    assert (disk.name, disk.kind, disk.size) == ("vda", "disk", 536870912 * 512)
    assert (disk.rotational, disk.scheduler, disk.readahead, disk.queue_depth) == (True, "mq-deadline", 8 * 2**20, 256)
    assert reason(disk.model) == MESSAGES["the_device_tells_no_model"]
    root = next(found for found in facts.file_systems if found.mount == "/")
    assert (root.kind, root.source, root.options) == ("ext4", "/dev/vda", "rw,relatime,discard")
    assert root.size == 264212084 * 1024


def test_directories_lead_to_their_disk() -> None:
    facts = facts_of(captured("debian12-vm"))
    assert [found.path for found in facts.directories] == ["/var/tmp/bench", "/nowhere", "/root", "/var/tmp", "/tmp"]
    bench = directory(facts, "/var/tmp/bench")
    assert (bench.mount, bench.kind, bench.device, bench.writable, bench.direct) == ("/", "ext4", "vda", True, True)
    assert isinstance(bench.free, int)
    assert reason(directory(facts, "/nowhere").writable) == MESSAGES["there_is_no_such_directory"]


@pytest.mark.parametrize(
    ("name", "megabits", "speed"),
    [("veth7", 10_000, None), ("eth0", 10_000, None), ("bond0", 10_000, 10**10), ("ens1.100", 10_000, 10**10),
     ("eth0", 1_000, 10**9)],
)  # fmt: skip
def test_a_pair_of_virtual_interfaces_tells_no_speed(name: str, megabits: int, speed: int | None) -> None:
    text = f"{name}/mtu:1500\n{name}/speed:{megabits}\n{name}/operstate:up"
    (found,) = facts_of(f"@@{MARK} net {len(text)}\n{text}\n".encode()).interfaces
    assert known(found.speed) == speed
    if speed is None:
        assert "10 Gbit/s is nominal" in reason(found.speed)


def test_interfaces_and_tools() -> None:
    facts = facts_of(captured("debian12-vm"))
    interface = facts.interfaces[0]
    assert (interface.name, interface.mtu, interface.state, interface.driver) == ("eth0", 1400, "up", "virtio_net")
    assert interface.addresses == ("192.0.2.2", "fd00::2", "fe80::fc:ff:fe00:1")
    assert reason(interface.speed) == MESSAGES["the_driver_tells_no_speed"]
    assert facts.tool("fio").version == "fio-3.33"
    assert facts.tool("fio").path == "/usr/bin/fio"
    assert facts.tool("iperf3").version == "iperf 3.12 (cJSON 1.7.15)"
    assert reason(facts.tool("stress-ng").version) == "not installed"
    assert isinstance(facts.measured.urandom_rate, float)
    assert 1e8 < facts.measured.urandom_rate < 1e10


def test_nobody_is_told_what_is_denied() -> None:
    facts = facts_of(captured("debian12-nobody"))
    assert facts.system.user == "nobody"
    assert directory(facts, "/root/private").fault is DirectoryFault.DENIED
    assert directory(facts, "/tmp").fault is None
    assert directory(facts, "/tmp").writable is True


def test_a_host_without_tools_still_has_facts() -> None:
    facts = facts_of(captured("minimal-path"))
    assert facts.system.virtualisation == "vm-other"  # the CPU says so; DMI, which would name it, is not there
    assert facts.system.container == "docker"
    assert reason(facts.interfaces[0].addresses) == "ip is not installed"
    assert reason(facts.tool("fio").path) == "not installed"
    assert facts.tool("dd").version == "dd (coreutils) 9.1"
    assert directory(facts, "/tmp").direct is True


def test_busybox_says_less_and_nothing_is_made_up() -> None:
    facts = facts_of(captured("busybox"))
    assert facts.tool("dd").version == "BusyBox v1.35.0 (Debian 1:1.35.0-4+deb12u1+b1) multi-call binary."
    assert reason(facts.measured.urandom_rate) == MESSAGES["dd_on_this_host_prints_no"]
    assert facts.cpu.threads == 2
    assert directory(facts, "/tmp").direct is True


def test_a_cloud_instance_names_itself() -> None:
    facts = facts_of(captured("aws-c7i"))
    assert facts.cloud.provider == "AWS"
    assert facts.cloud.instance_type == "c7i.2xlarge"
    assert facts.cloud.instance_id == "i-0123456789abcdef0"
    assert facts.cloud.region == "eu-central-1"
    assert (facts.system.virtualisation, facts.system.container) == ("amazon", "none")
    assert (facts.cpu.governor, facts.cpu.frequency_maximum) == ("performance", 3800.0)
    assert reason(facts.cpu.frequency_guest) == MESSAGES["not_a_virtual_machine_without_cpufreq"]


def test_threads_share_cores_and_groups_limit_them() -> None:
    cpu, memory = facts_of(captured("aws-c7i")).cpu, facts_of(captured("aws-c7i")).memory
    assert (cpu.sockets, cpu.cores, cpu.threads, cpu.usable, cpu.quota) == (1, 4, 8, 8, 4.0)
    assert isinstance(cpu.caches, tuple)
    assert cpu.caches[-1] == Cache(level=3, kind="unified", size=107520 * 1024, shared_by=8, instances=1)
    assert cpu.caches[0].shared_by == 2
    assert memory.limit == 8 * 2**30


def test_devices_on_devices_lead_to_the_whole_disk() -> None:
    facts = facts_of(captured("aws-c7i"))
    assert {found.name: found.kind for found in facts.block_devices} == {
        "dm-0": "lvm",
        "loop0": "loop",
        "nvme0n1": "disk",
        "nvme0n1p1": "part",
        "nvme1n1": "disk",
    }
    assert {found.name: found.parent for found in facts.block_devices if isinstance(found.parent, str)} == {
        "dm-0": "nvme1n1",
        "nvme0n1p1": "nvme0n1",
    }
    partition = facts.block_device("nvme0n1p1")
    assert partition is not None
    assert reason(partition.rotational) == "a property of nvme0n1"
    assert facts.block_devices[2].model == MESSAGES["amazon_elastic_block_store"]
    assert directory(facts, "/mnt/fast disk").device == "nvme1n1"
    assert directory(facts, "/mnt/fast disk").kind == "xfs"
    assert directory(facts, "/home/admin").device == "nvme0n1"


def test_places_without_a_disk_say_why() -> None:
    facts = facts_of(captured("aws-c7i"))
    assert reason(directory(facts, "/mnt/share").device) == "a network file system"
    assert directory(facts, "/mnt/share").direct is False
    assert reason(directory(facts, "/tmp").device) == MESSAGES["in_memory_there_is_no_disk"]
    assert directory(facts, "/srv").writable is False
    assert reason(directory(facts, "/srv").direct) == MESSAGES["nothing_could_be_written"]


@pytest.mark.parametrize("name", ["debian12-vm", "busybox", "aws-c7i"])
def test_an_answer_cut_off_says_so(name: str) -> None:
    output = captured(name)
    half = facts_of(output[: len(output) // 3])
    assert half.system.host_name == facts_of(output).system.host_name
    assert reason(half.tool("gcc").version) == MESSAGES["the_host_s_answer_was_cut"]
    assert reason(half.memory.total) == MESSAGES["the_host_s_answer_was_cut"]


def test_reading_nothing_is_all_absent() -> None:
    facts = facts_of(b"")
    assert replace(facts, tools=()) == replace(facts_of(b"no frame at all"), tools=())
    assert isinstance(facts.cpu.threads, Absent)
