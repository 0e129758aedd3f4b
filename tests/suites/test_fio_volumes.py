"""Several directories in one step of fio: its command, its files, its checks on every volume, and its figures."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.checks.before import CheckReport, check_plan
from app.plans.context import work_directory
from app.plans.plan import Plan, make_step
from suites.base import Context, Purpose, directories_of
from suites.facts import BlockDevice, Directory, Facts
from suites.fio.output import FioParser
from suites.fio.suite import Fio
from suites.parameters import Value, Values
from tests.messages import messages
from tests.suites.captured_outputs import capture

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
