"""The checks of what lies between a directory and its disk, and of what a cloud lends of disks and networks."""

import itertools
from dataclasses import replace

import pytest

from app.checks.before import SkippedCheck, evaluate
from app.checks.cloud import STEP_CHECKS as CLOUD_CHECKS
from app.checks.storage import NO_SPACE, NOT_A_DISK
from app.checks.storage_layers import LAYER_CHECKS
from app.plans.context import loops_below
from app.plans.plan import Plan, make_step
from suites.base import Context, StepEvidence, complete_values, tuned_values
from suites.facts import Absent, BlockDevice, Directory, Facts, FileSystem, RawDevice
from suites.registry import suite
from suites.vocab import Finding, Severity
from tests.app.test_false_warnings import server
from tests.disk_host import DATA, GIB
from tests.messages import messages

MESSAGES = messages("app-checks", "test_storage_layer_checks")

CHECKS = (*LAYER_CHECKS, *CLOUD_CHECKS)
DISK = BlockDevice(name="nvme0n1", kind="disk", rotational=False, size=200 * GIB, parent=Absent("a whole disk"))


def layered(
    *layers: BlockDevice, kind: str = "ext4", options: str = "rw", attributes: str | Absent = "", source: str = "/dev/x"
) -> Facts:
    """Return a server whose /srv is on `layers`, the uppermost first, or on its disk itself."""
    below = (*layers, DISK)
    stacked = [replace(upper, parent=lower.name) for upper, lower in itertools.pairwise(below)]
    directory = replace(DATA, kind=kind, volume=below[0].name, attributes=attributes or Absent("none is set"))
    facts = server()
    mounted = FileSystem(mount="/srv", kind=kind, options=options, free=100 * GIB, source=source)
    return replace(facts, block_devices=(*stacked, DISK), directories=(directory,), file_systems=(mounted,))


def step(facts: Facts | None, suite_id: str = "fio", peer: Facts | None = None, **given: object) -> StepEvidence:
    chosen, context = suite(suite_id), Context(facts, peer)
    return StepEvidence(
        "step", chosen, complete_values(chosen, {**tuned_values(chosen, context), **given}), context, "h"
    )


def shown(evidence: StepEvidence) -> dict[str, Finding | SkippedCheck]:
    return {word.id: word for word in evaluate(CHECKS, evidence)}


def finding(evidence: StepEvidence, check: str) -> Finding:
    (found,) = shown(evidence).values()
    assert isinstance(found, Finding), found
    assert found.id == check
    return found


def test_a_plain_disk_draws_nothing() -> None:
    assert shown(step(layered())) == {}
    assert shown(step(None)) == {}  # where nothing was read, the checks of the directory itself say so


@pytest.mark.parametrize(
    ("check", "facts", "words"),
    [
        ("zfs-cache", layered(kind="zfs"), "/srv is on zfs."),
        ("thin-volume", layered(BlockDevice(name="dm-1"), BlockDevice(name="dm-0", kind="thin-pool")), "pool dm-0"),
        ("file-backed-disk", layered(BlockDevice(name="loop7")), "on loop7, a loop device"),
        ("file-backed-disk", layered(BlockDevice(name="loop7", backing_file="/srv/a.img")), "over a file on ext4."),
        ("substitute-device", layered(BlockDevice(name="zram0", kind="zram")), "zram0 is zram: compressed memory."),
        ("substitute-device", layered(BlockDevice(name="nullb0", kind="disk")), "nullb0 is null_blk"),
        ("substitute-device", layered(BlockDevice(name="bcache0", kind="bcache")), "bcache0 is bcache"),
        ("substitute-device", layered(BlockDevice(name="dm-3", kind="cache")), "dm-3 is dm-cache"),
        ("substitute-device", layered(BlockDevice(name="dm-1", kind="vdo")), "dm-1 is VDO"),
    ],
)
def test_what_answers_in_place_of_the_disk_is_warned_of(check: str, facts: Facts, words: str) -> None:
    found = finding(step(facts, directory="/srv"), check)
    assert found.severity is Severity.WARNING
    assert words in found.measured


def test_a_device_that_facts_do_not_list_is_known_by_its_mount() -> None:
    facts = layered(source="/dev/ram0")
    facts = replace(facts, directories=(replace(facts.directories[0], volume=Absent("its device is not in /sys")),))
    assert "brd: a RAM disk" in finding(step(facts, directory="/srv"), "substitute-device").measured


def test_a_raw_device_in_memory_is_no_disk() -> None:
    facts = replace(layered(), devices=(RawDevice(path="/dev/zram1", node="/dev/zram1"),))
    found = shown(step(facts, device="/dev/zram1"))["substitute-device"]
    assert isinstance(found, Finding)


@pytest.mark.parametrize(
    ("options", "rw", "words", "why"),
    [
        ("rw,sync", "write", "mounted with sync.", "lower"),
        ("rw,nobarrier", "randwrite", "mounted with nobarrier.", "faster than they are"),
        ("rw,barrier=0,sync", "randwrite", "mounted with barrier=0, sync.", "lower"),
        ("rw,data=journal", "randread", "mounted with data=journal.", "ignores O_DIRECT"),
        ("rw,nobarrier,barrier=0", "randwrite", "mounted with barrier=0.", "faster than they are"),
    ],
)
def test_mount_options_that_change_the_figure(options: str, rw: str, words: str, why: str) -> None:
    found = finding(step(layered(options=options), directory="/srv", rw=rw), "mount-options")
    assert words in found.measured
    assert why in found.why


@pytest.mark.parametrize(
    ("options", "rw"),
    [
        ("rw,sync", "read"),
        ("rw,nobarrier", "randread"),
        ("rw,data=ordered,barrier=1", "write"),
        ("rw,dirsync", "write"),
    ],
)
def test_mount_options_of_no_consequence_are_not_shown(options: str, rw: str) -> None:
    assert shown(step(layered(options=options), directory="/srv", rw=rw)) == {}


def test_a_raw_loop_device_is_a_file() -> None:
    facts = replace(layered(), devices=(RawDevice(path="/dev/loop7", node="/dev/loop7"),))
    loop = BlockDevice(name="loop7", backing_file="/srv/a.img")
    for known_loop in ((), (loop,)):
        found = finding(step(replace(facts, block_devices=known_loop), device="/dev/loop7"), "file-backed-disk")
        assert "The device is loop7" in found.measured


def test_dirsync_delays_tests_whose_trials_make_files() -> None:
    found = finding(step(layered(options="rw,dirsync"), "dd", directory="/srv"), "mount-options")
    assert "mounted with dirsync." in found.measured


def test_a_file_below_a_directory_of_an_unknown_mount_is_not_elsewhere() -> None:
    facts = layered()
    own = replace(facts.directories[0], mount=Absent("not read"))
    facts = replace(facts, directories=(own, *facts.directories[1:]))
    for size, flagged in ((0, True), (200 * GIB, False)):
        there = replace(facts, directories=(*facts.directories, Directory(path="/srv/laid-out", file=size)))
        one = step(there, "fio-job", directory="/srv", job=FILE_JOB.format(name="/srv/laid-out"))
        assert isinstance(NO_SPACE.finding(one), Finding) is flagged


def test_a_file_system_in_user_space_is_no_plain_disk() -> None:
    for kind, expected in (("fuse.bindfs", True), ("fuseblk", True), ("fuse.sshfs", False), ("ext4", False)):
        found = NOT_A_DISK.finding(step(layered(kind=kind), directory="/srv"))
        warned = isinstance(found, Finding) and found.severity is Severity.WARNING
        assert warned is expected


FILE_JOB = "[a]\nrw=randread\ndirect=1\nsize=200g\nfilename={name}\n[b]\nstonewall\nrw=read\nsize=200g\nfilename={name}"


@pytest.mark.parametrize(
    ("name", "allocated", "flagged"),
    [
        ("/srv/laid-out", 200 * GIB, False),
        ("/srv/laid-out", 120 * GIB, False),  # 80 of 100 GiB that are free
        ("/srv/laid-out", 0, True),  # sparse
        ("/srv/laid-out", None, True),
        ("/elsewhere", 0, False),  # on another file system
        ("own-file", None, True),
    ],
)
def test_space_counts_files_that_exist(name: str, allocated: int | None, *, flagged: bool) -> None:
    facts = layered()
    existing = Directory(path=name, file=Absent("not a file") if allocated is None else allocated)
    root = FileSystem(mount="/", kind="ext4", free=GIB)
    facts = replace(facts, directories=(*facts.directories, existing), file_systems=(*facts.file_systems, root))
    one = step(facts, "fio-job", directory="/srv", job=FILE_JOB.format(name=name))
    found = NO_SPACE.finding(one)
    assert isinstance(found, Finding) is flagged


@pytest.mark.parametrize(
    ("check", "facts", "words"),
    [
        ("encrypted-disk", layered(BlockDevice(name="dm-0", kind="crypt")), "dm-crypt (LUKS) device dm-0"),
        ("copy-on-write", layered(kind="btrfs"), "on btrfs without NOCOW"),
        ("compressing-file-system", layered(kind="f2fs", options="rw,compression=zstd"), "compression=zstd"),
        ("compressing-file-system", layered(kind="btrfs", attributes="cC"), "attribute c"),
    ],
)
def test_what_lies_between_is_noted(check: str, facts: Facts, words: str) -> None:
    found = finding(step(facts, directory="/srv"), check)
    assert found.severity is Severity.INFO
    assert words in found.measured


@pytest.mark.parametrize(
    "facts",
    [
        layered(kind="btrfs", attributes="C"),
        layered(kind="btrfs", options="rw,nodatacow"),
        layered(options="rw,discard=async"),
        layered(BlockDevice(name="dm-0", kind="lvm")),
    ],
)
def test_its_clean_twin_is_not(facts: Facts) -> None:
    assert shown(step(facts, directory="/srv")) == {}


def with_disk(**facts: object) -> Facts:
    found = layered()
    return replace(found, block_devices=(replace(DISK, **facts),))  # type: ignore[arg-type]  # a field each


def test_a_scheduler_that_favours_others_is_warned_of_once_the_disk_is_known() -> None:
    found = finding(step(with_disk(scheduler="bfq", low_latency=True), directory="/srv"), "bfq-low-latency")
    assert found.measured == MESSAGES["nvme0n1_is_scheduled_by_bfq"]
    assert shown(step(with_disk(scheduler="bfq", low_latency=False), directory="/srv")) == {}
    assert shown(step(with_disk(scheduler="bfq", low_latency=True), "sysbench-cpu")) == {}


def test_a_small_volume_may_live_on_credits() -> None:
    small = with_disk(model="Amazon Elastic Block Store", size=100 * GIB)
    found = finding(step(small, directory="/srv"), "volume-burst")
    assert found.severity is Severity.INFO
    assert MESSAGES["earns_300_i_os_a_second_and"] in found.measured
    assert shown(step(with_disk(model="Amazon Elastic Block Store", size=2000 * GIB), directory="/srv")) == {}


def test_a_local_disk_of_an_instance_is_noted() -> None:
    found = finding(step(with_disk(model="Amazon EC2 NVMe Instance Storage"), directory="/srv"), "ephemeral-disk")
    assert found.measured == MESSAGES["nvme0n1_is_a_local_disk_of"]


def test_blocks_of_a_raw_volume_may_be_fetched_at_first_touch() -> None:
    facts = with_disk(model="Amazon Elastic Block Store", size=2000 * GIB)
    facts = replace(facts, devices=(RawDevice(path="/dev/nvme0n1", node="/dev/nvme0n1"),))
    assert finding(step(facts, device="/dev/nvme0n1"), "snapshot-volume").severity is Severity.INFO


@pytest.mark.parametrize(
    ("kind", "trials", "warned"),
    [
        ("c5.xlarge", 6, True),
        ("c5.xlarge", 400, False),  # beyond what any bucket holds
        ("c5.9xlarge", 6, False),
        ("c5.metal", 6, False),
        ("n2-standard-4", 6, False),
    ],
)
def test_a_burst_of_the_network_is_warned_of(kind: str, trials: int, *, warned: bool) -> None:
    facts = server()
    facts = replace(facts, cloud=replace(facts.cloud, instance_type=kind))
    evidence = replace(step(facts, "iperf3", server("web-2")), trials=trials)
    assert ("network-burst" in shown(evidence)) is warned
    if warned:
        assert MESSAGES["c5_xlarge_may_burst_for_5_to"] in finding(evidence, "network-burst").measured


def test_without_facts_of_either_end_a_burst_cannot_be_told() -> None:
    assert isinstance(shown(step(None, "iperf3"))["network-burst"], SkippedCheck)


def test_layers_that_lie_in_a_circle_end() -> None:
    ring = (BlockDevice(name="a", parent="b"), BlockDevice(name="b", parent="a"))
    facts = Facts(host="h", read_at="", block_devices=ring)
    assert len(facts.layers(Directory(path="/x", volume="a"))) == 8


LOOP = BlockDevice(name="loop7", kind="loop", parent=Absent("backed by a file"))


@pytest.mark.parametrize("suite", ["fio", "pgbench"])
@pytest.mark.parametrize(
    ("devices", "watched"),
    [
        ((LOOP,), ("loop7",)),
        ((BlockDevice(name="dm-0", kind="crypt", parent="loop7"), LOOP), ("loop7",)),
        ((BlockDevice(name="dm-0", kind="crypt", parent="nvme0n1"), DISK), ()),
    ],
)
def test_a_loop_device_below_a_directory_is_found_to_be_watched(
    devices: tuple[BlockDevice, ...], watched: tuple[str, ...], suite: str
) -> None:
    directory = replace(DATA, volume=devices[0].name, device=Absent("backed by a file"))
    facts = replace(server(), block_devices=devices, directories=(directory,))
    plan = Plan("p", ("web-1",), (make_step(suite, {"directory": directory.path}), make_step("sysbench-cpu", {})))
    assert loops_below(plan, "web-1", facts) == watched
    assert loops_below(plan, "the other end", facts) == ()


def test_a_loop_device_is_found_by_its_own_name() -> None:
    plan = Plan("p", ("web-1",), (make_step("fio", {"device": "/dev/disk/by-id/x", "rw": "read"}),))
    facts = replace(layered(), devices=(RawDevice(path="/dev/disk/by-id/x", node="/dev/loop7"),), block_devices=(LOOP,))
    assert loops_below(plan, "web-1", facts) == ("loop7",)


def test_discard_is_noted_once_for_tests_that_delete_files_in_each_trial() -> None:
    first = step(layered(options="rw,discard"), "dd", directory="/srv")
    found = {word.id: word for word in evaluate(LAYER_CHECKS, first)}["discard-mount"]
    assert isinstance(found, Finding)
    assert "mounted with discard" in found.measured
    again = replace(first, name="again", earlier=(first,))
    assert "discard-mount" not in {word.id for word in evaluate(LAYER_CHECKS, again)}


def test_discard_is_of_no_concern_to_files_that_stay() -> None:
    assert "discard-mount" not in shown(step(layered(options="rw,discard"), directory="/srv"))
