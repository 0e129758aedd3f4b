"""Several directories or raw devices in one step of fio: its command, its files, its checks on every volume."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.checks.before import CheckReport, check_plan
from app.checks.catalogue import blocks
from app.plans.context import work_directory
from app.plans.plan import Plan, make_step
from suites.base import Context, Purpose, devices_of, directories_of, own_directories
from suites.errors import ParameterError
from suites.facts import Absent, BlockDevice, Directory, Facts, RawDevice
from suites.fio.output import FioParser
from suites.fio.suite import Fio
from suites.fio_job.targets import parts
from suites.parameters import Value, Values
from suites.vocab import Finding, Severity
from tests.messages import messages
from tests.suites.captured_outputs import capture
from tests.suites.test_fio_device import FREE, SEEN_BY_A_USER

MESSAGES = messages("suites", "test_fio_volumes")

FIO, GIB, TIB = Fio(), 2**30, 2**40


def values_of(**given: Any) -> Mapping[str, Value]:
    return make_step("fio", {"directory": "/a:/b", "numjobs": 2, **given}).values


def words_of(values: Values, context: Context | None = None) -> list[tuple[str, ...]]:
    return [command.argv for command in FIO.commands(values, context or Context())]


def test_layout_and_measurement_name_both_directories() -> None:
    assert all("--directory=/a:/b" in argv for argv in words_of(values_of()))
    assert not any(word.startswith("--directory") for argv in words_of(values_of(directory="/a")) for word in argv)


def test_at_the_run_they_are_the_private_ones_and_so_are_the_targets() -> None:
    context = Context(work_directories=("/a/benchwright-1", "/b/benchwright-2"))
    for command in FIO.commands(values_of(), context):
        assert "--directory=/a/benchwright-1:/b/benchwright-2" in command.argv
        assert [each.path for each in command.targets] == [
            "/a/benchwright-1/benchwright.", "/b/benchwright-2/benchwright.",
        ]  # fmt: skip


def test_a_colon_in_a_name_is_escaped() -> None:
    values = values_of(directory=r"/a\:1:/b")
    assert directories_of(FIO, values) == ("/a:1", "/b")
    assert words_of(values)[1].count(r"--directory=/a\:1:/b") == 1
    assert work_directory(FIO, values_of(directory=r"/a\:1"), None) == "/a:1"


def test_the_command_line_is_read_back() -> None:
    values = values_of()
    (line,) = [one.line for one in FIO.commands(values, Context()) if one.purpose is Purpose.MEASURE]
    parsed = FIO.parse_command(line, make_step("fio", {}).values, Context())
    assert parsed is not None
    assert (parsed.values["directory"], parsed.unread) == ("/a:/b", ())


@pytest.mark.parametrize(("jobs", "each"), [(2, [1, 1]), (5, [3, 2]), (1, [1, 1])])
def test_the_jobs_take_the_directories_in_turn(jobs: int, each: list[int]) -> None:
    parts = FIO.volumes(values_of(numjobs=jobs))
    assert [(part["directory"], part["numjobs"]) for part in parts] == list(zip(("/a", "/b"), each, strict=True))


def facts(**second: Any) -> Facts:
    shared: dict[str, Any] = {"kind": "ext4", "free": TIB, "writable": True, "direct": True}
    return Facts(
        host="local",
        read_at="2026-01-01T00:00:00Z",
        directories=(
            Directory(path="/a", mount="/a", device="sda", **shared),
            Directory(path="/b", **{"mount": "/b", "device": "sdb", **shared, **second}),
        ),
        block_devices=(BlockDevice(name="sda", size=TIB), BlockDevice(name="sdb", size=TIB)),
    )


def checked(read: Facts, **given: Any) -> CheckReport:
    step = make_step("fio", values_of(**given))
    return check_plan(Plan("volumes", ("local",), (step,)), {"local": read})


def found(report: CheckReport) -> dict[str, str]:
    return {one.id: one.measured for one in report.findings}


@pytest.mark.parametrize(
    ("second", "check"),
    [
        ({"free": 2**20}, "no-space"),
        ({"free": int(1.5 * GIB)}, "low-space"),
        ({"writable": False}, "directory-not-writable"),
        ({"kind": "tmpfs"}, "not-a-disk"),
        ({"direct": False}, "direct-refused"),
    ],
)
def test_every_volume_is_checked(second: dict[str, Any], check: str) -> None:
    good, bad = (found(checked(facts(**given), size=GIB, direct=True)) for given in ({}, second))
    assert check not in good
    assert "/b" in bad[check]
    assert "/a" not in bad[check]


def test_a_volume_without_a_job_blocks_and_uneven_ones_are_warned_of() -> None:
    idle, uneven, even = (checked(facts(), numjobs=jobs) for jobs in (1, 3, 4))
    assert found(idle)["volume-without-load"] == MESSAGES["idle"]
    (finding,) = [one for one in idle.findings if one.id == "volume-without-load"]
    assert blocks(finding)
    assert finding.changes == {"numjobs": 2}
    assert found(uneven)["volume-without-load"] == MESSAGES["uneven"]
    assert "volume-without-load" not in found(even)


def test_two_directories_of_one_volume_share_its_space() -> None:
    report = found(checked(facts(mount="/a", free=GIB), size=int(0.7 * GIB)))
    assert report["one-volume-twice"] == MESSAGES["one_volume"]
    assert "no-space" in report


def test_remedies_do_not_move_all_volumes_to_one() -> None:
    report = checked(facts(kind="tmpfs"))
    (finding,) = [one for one in report.findings if one.id == "not-a-disk"]
    assert finding.changes == {}


@pytest.mark.parametrize(
    "path", ["fio/2.21/jsonplus_status1", "fio/3.39/jsonplus_status1_randrw", "fio/3.33/write_fsync"]
)
def test_the_disks_are_reported_each_for_several_volumes_only(path: str) -> None:
    for several in (True, False):
        found_names = {one.metric.name for one in capture(path).parse(FioParser(several=several)).figures}
        assert ({"disk_ios", "disk_util"} <= found_names) is several


# Several raw devices


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("/dev/a:/dev/b", ("/dev/a", "/dev/b")),
        ("/dev/a:", ("/dev/a",)),
        ("/dev/a:/dev/b:", ("/dev/a", "/dev/b")),
        ("/dev/a:/dev/a", ("/dev/a",)),
        ("/dev/disk/by-path/pci-0000:00:1f.2-ata-1:/dev/b", ("/dev/disk/by-path/pci-0000:00:1f.2-ata-1", "/dev/b")),
        (r"/dev/disk/by-path/pci-0000\:00\:1f.2-ata-1", ("/dev/disk/by-path/pci-0000:00:1f.2-ata-1",)),
        ("/dev/a:b", ("/dev/a:b",)),
    ],
)
def test_each_device_of_a_text_is_one_for_the_guards_and_for_fio(text: str, paths: tuple[str, ...]) -> None:
    values = make_step("fio", {"device": text, "rw": "write"}).values
    assert devices_of(FIO, values) == paths
    assert [FIO.volumes(part) for part in FIO.volumes(values)] == [(part,) for part in FIO.volumes(values)]
    (argv,) = words_of(values)
    (given,) = [word.partition("=")[2] for word in argv if word.startswith("--filename=")]
    assert set(parts(given)) == set(paths)  # as fio reads it
    assert (own_directories(FIO, values), [word for word in argv if "directory" in word]) == ((), [])


@pytest.mark.parametrize(
    "text",
    [
        "/dev/a /dev/b", "/dev/a: /dev/b", " /dev/a:/dev/b", "/dev/a,/dev/b", "/dev/a::/dev/b", ":/dev/a",
        "/dev/a:/tmp/file", "/tmp/file:/dev/a", "/dev/a:/", r"/dev/a\:/dev/b", "/dev/a:/dev/../etc/passwd", "/dev/a\\",
        "/dev/a:/dev/",
        ":".join(f"/dev/{number}" for number in range(17)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("suite", ["fio", "fio-sweep", "fio-snia"])
def test_what_may_be_read_in_two_ways_is_refused(suite: str, text: str) -> None:
    with pytest.raises(ParameterError):
        make_step(suite, {"device": text})


@pytest.mark.parametrize("suite", ["fio-sweep", "fio-snia"])
def test_suites_of_one_device_refuse_several(suite: str) -> None:
    with pytest.raises(ParameterError):
        make_step(suite, {"device": "/dev/a:/dev/b"})


def test_jobs_divide_their_size_among_the_devices_and_follow_each_other() -> None:
    values = make_step("fio", {"device": "/dev/a:/dev/b:/dev/c", "rw": "read", "numjobs": 2, "size": GIB}).values
    (argv,) = words_of(values)
    assert {"--filename=/dev/a:/dev/b:/dev/c", "--readonly", f"--offset_increment={349528}k"} <= set(argv)
    assert [part["size"] for part in FIO.volumes(values)] == [GIB // 3] * 3
    line = " ".join(argv)
    parsed = FIO.parse_command(line, make_step("fio", {}).values, Context())
    assert parsed is not None
    assert (parsed.values["device"], parsed.unread) == ("/dev/a:/dev/b:/dev/c", ())


def raw(path: str, **given: Any) -> RawDevice:
    return replace(FREE, **{"path": path, "node": path, "serial": f"S{path[-1]}", "by_id": (), **given})


def judged(*devices: RawDevice, rw: str = "write", user: str = "root", **given: Any) -> dict[str, Finding]:
    partitions = [BlockDevice(name=name, kind="part", parent="a") for name in ("a1", "a2")]
    read = replace(facts(), devices=devices, block_devices=(BlockDevice(name="a", size=TIB), *partitions))
    read = replace(read, system=replace(read.system, user=user))
    values = {"device": ":".join(one.path for one in devices), "rw": rw, "numjobs": 1, **given}
    step = make_step("fio", values)
    return {one.id: one for one in check_plan(Plan("raw", ("local",), (step,)), {"local": read}).findings}


USES = ("part b1", "holder b dm-0 LVM-x", "holder b md0", "mount b1 /srv", "swap b", "loop b loop0", "open b 7 dd")
B = "/dev/b"


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("bad", "check"),
    [
        *((raw(B, uses=(use,)), "device-in-use") for use in USES),
        *((raw(B, kind=kind), "device-in-use") for kind in ("part", "dm", "md", "memory", "network", "removable")),
        (raw(B, signatures=("b LVM2_member",)), "device-in-use"),
        (raw(B, free=False), "device-in-use"),
        (raw(B, read_only=True), "device-in-use"),
        (raw(B, serial=Absent("none")), "device-in-use"),
        (raw(B, free=Absent("neither python3 nor wipefs is installed"), uses=("swap b",)), "device-in-use"),
        (RawDevice(path=B, node=Absent("there is no such device")), "device-unusable"),
        (raw(B, size=2**20), "device-unusable"),
    ],
)
def test_one_device_that_must_not_be_written_to_blocks_the_step(bad: RawDevice, check: str, *, first: bool) -> None:
    good = raw("/dev/a")
    found_there = judged(*([bad, good] if first else [good, bad]))
    assert blocks(found_there[check])
    assert B in found_there[check].measured
    assert "/dev/a" not in found_there[check].measured
    assert not any(blocks(one) for one in judged(good, raw(B)).values())


def test_each_loss_is_named_with_its_own_confirmation() -> None:
    loss = judged(raw("/dev/a"), raw(B))["destroys-data"]
    assert all(path in loss.measured for path in ("/dev/a:", "/dev/b:"))
    assert all(text in loss.remedy for text in ("“Sa”", "“Sb”"))
    assert "destroys-data" not in judged(raw("/dev/a"), raw(B), rw="randread")


def test_namespaces_with_one_serial_number_are_confirmed_by_other_names() -> None:
    named = (raw("/dev/a", serial="card", by_id=("local-ssd-0",)), raw(B, serial="card", by_id=("local-ssd-1",)))
    found_there = judged(*named)
    assert all(text in found_there["destroys-data"].remedy for text in ("“local-ssd-0”", "“local-ssd-1”"))
    assert not blocks(found_there["one-device-twice"])
    assert "“”" in judged(*(replace(one, by_id=()) for one in named))["destroys-data"].remedy  # nothing confirms it
    both = [replace(one, serial=Absent("-"), backing_file=f"/{at}/disk.img") for at, one in enumerate(named)]
    assert all(f"“/{at}/disk.img”" in judged(*both)["destroys-data"].remedy for at in (0, 1))


@pytest.mark.parametrize(
    ("other", "severity"),
    [
        (raw("/dev/a"), Severity.ERROR),
        (raw("/dev/link", node="/dev/a"), Severity.ERROR),
        (raw("/dev/a1"), Severity.ERROR),
        (raw(B, backing_file="/x.img"), Severity.ERROR),
        (raw(B, serial="Sa"), Severity.WARNING),
        (raw(B), None),
    ],
)
def test_one_disk_under_two_names_is_found(other: RawDevice, severity: Severity | None) -> None:
    for pair in ((raw("/dev/a", backing_file="/x.img"), other), (other, raw("/dev/a", backing_file="/x.img"))):
        one = judged(*pair, rw="randread").get("one-device-twice")
        assert (one and one.severity) == severity
        assert one is None or other.path in one.measured
    parted = judged(raw("/dev/a1"), raw("/dev/a2"), rw="randread")["one-device-twice"]
    assert (parted.severity, parted.measured) == (Severity.WARNING, MESSAGES["partitions"])
    unknown = RawDevice(path=B, node=Absent("there is no such device"))
    assert judged(unknown, unknown)["one-device-twice"].severity is Severity.ERROR


def test_root_is_needed_if_one_of_the_devices_needs_it() -> None:
    seen = replace(facts(), devices=(raw("/dev/a"), replace(SEEN_BY_A_USER, path=B, node=B)))
    values = make_step("fio", {"device": "/dev/a:/dev/b", "rw": "randread"}).values
    assert FIO.commands(values, Context(seen))[0].root
    assert not FIO.commands(values, Context(replace(seen, devices=(raw("/dev/a"), raw(B)))))[0].root
