"""fio on a raw device: the exact command, when it is root's, and what is said before anything is lost."""

from dataclasses import replace

import pytest

from app.plans.plan import make_step
from suites.base import Context, Purpose, complete_values
from suites.checks import CheckOutcome, NotChecked
from suites.errors import ParameterError
from suites.facts import Absent, BlockDevice, Facts, RawDevice, SystemFacts
from suites.fio.parameters import RW
from suites.fio.suite import Fio
from suites.sysbench.cpu import SysbenchCpu
from suites.vocab import Severity
from tests.disk_host import GIB, disk_host, outcomes, tuned_step

FIO = Fio()
PATH = "/dev/disk/by-id/ata-Samsung_SSD_870_S6P1"

FREE = RawDevice(
    path=PATH,
    node="/dev/sdb",
    kind="disk",
    size=931 * GIB,
    model="Samsung SSD 870",
    serial="S6P1",
    by_id=("ata-Samsung_SSD_870_S6P1",),
    read_only=False,
    readable=True,
    writable=True,
    uses=(),
    signatures=(),
    free=True,
    written=True,
    state="node /dev/sdb",
)
SEEN_BY_A_USER = replace(
    FREE, readable=False, writable=False, free=Absent("permission denied"), signatures=Absent("only root may read it")
)


def host(device: RawDevice = FREE, user: str = "ann") -> Facts:
    return replace(disk_host(user=user), devices=(device,))


def shown(device: RawDevice = FREE, **given: object) -> dict[str, CheckOutcome | NotChecked]:
    step = tuned_step(FIO, host(device), device=PATH, **given)
    ids = ("device-unusable", "device-in-use", "destroys-data", "device-never-written")
    return {name: outcome for name, outcome in outcomes(step).items() if name in ids}


def measured(outcome: CheckOutcome | NotChecked) -> str:
    assert isinstance(outcome, CheckOutcome)
    return outcome.measured


@pytest.mark.parametrize(
    ("disks", "node"),
    [((BlockDevice(name="sdb", sector=4096),), "/dev/sdb"),
     ((BlockDevice(name="sdb", sector=4096), BlockDevice(name="sdb1", kind="part", parent="sdb")), "/dev/sdb1"),
     ((BlockDevice(name="dm-0", kind="crypt", parent="sdb", sector=4096), BlockDevice(name="sdb", sector=512)),
      "/dev/dm-0")],
)  # fmt: skip
def test_blocks_of_a_raw_device_are_its_whole_sectors(disks: tuple[BlockDevice, ...], node: str) -> None:
    facts = replace(host(replace(FREE, node=node)), block_devices=disks)
    given = {"device": PATH, "direct": True, "ioengine": "libaio"}
    found = outcomes(tuned_step(FIO, facts, **given, block_size=512))
    assert "4096 B sector" in measured(found["unaligned-direct"])
    assert "unaligned-direct" not in outcomes(tuned_step(FIO, facts, **given, block_size=4096))
    for mixed in ("512-64k", "4k/60:512/40"):
        found = outcomes(tuned_step(FIO, facts, **given, block_sizes=mixed))
        assert all(size in measured(found["unaligned-direct"]) for size in ("512 B", "4096 B"))
    assert "unaligned-direct" not in outcomes(tuned_step(FIO, facts, **given, block_sizes="4k-64k"))


def words(facts: Facts | None = None, **given: object) -> str:
    (command,) = FIO.commands(complete_values(FIO, {"device": PATH, **given}), Context(facts))
    assert command.purpose is Purpose.MEASURE
    return command.line


def test_a_device_has_no_files_to_lay_out_and_no_directory() -> None:
    values = complete_values(FIO, {"device": PATH, "size": "4 GiB"})
    assert [command.purpose for command in FIO.commands(values, Context())] == [Purpose.MEASURE]
    estimate = FIO.estimate(values, Context())
    assert (estimate.space, estimate.prepared) == (0, 0)
    parameters = {parameter.name: parameter for parameter in FIO.parameters}
    assert not parameters["directory"].applies(values)


def test_the_command_names_the_device_and_a_reader_is_told_never_to_write() -> None:
    reading = words(host(), rw="randread", size="4 GiB", numjobs=2).split()
    assert f"--filename={PATH}" in reading
    assert "--offset_increment=4g" in reading
    assert "--readonly" in reading
    assert "--readonly" not in words(host(), rw="randwrite").split()
    assert "--offset_increment" not in words(host(), rw="randread")
    assert "--filename" not in " ".join(FIO.commands(complete_values(FIO, {}), Context())[1].argv)


def test_a_colon_in_the_name_does_not_begin_another_file() -> None:
    path = "/dev/disk/by-path/pci-0000:00:1f.2-ata-1"
    (command,) = FIO.commands(complete_values(FIO, {"device": path}), Context())
    assert "--filename=/dev/disk/by-path/pci-0000\\:00\\:1f.2-ata-1" in command.argv


@pytest.mark.parametrize(
    "path", ["/dev/../etc/passwd", "/etc/passwd", "sdb", "/dev/sdb --rw=write", "/dev/sdb;reboot", "/dev/"]
)
def test_what_is_no_path_of_a_device_is_refused(path: str) -> None:
    with pytest.raises(ParameterError):
        complete_values(FIO, {"device": path})


def test_whoever_may_read_it_needs_no_root_and_whoever_writes_does() -> None:
    assert words(host(), rw="randread").startswith("fio ")
    assert words(host(SEEN_BY_A_USER), rw="randread").startswith("sudo fio ")
    assert words(None, rw="randread").startswith("sudo fio ")  # nothing is known of the host yet
    assert words(host(), rw="randwrite").startswith("sudo fio ")
    assert words(host(user="root"), rw="randwrite").startswith("fio ")


@pytest.mark.parametrize("pattern", [choice.value for choice in RW.choices])
def test_every_pattern_but_the_two_that_only_read_counts_as_writing(pattern: str) -> None:
    values = complete_values(FIO, {"device": PATH, "rw": pattern})
    assert FIO.destroys(values) is (pattern not in {"read", "randread"})
    assert "destroys-data" in shown(rw=pattern) or pattern in {"read", "randread"}


@pytest.mark.parametrize("pattern", ["trim", "randtrim", "trimwrite", "randtrimwrite", "readwrite", "verify", ""])
def test_a_pattern_that_fio_may_learn_counts_as_writing(pattern: str) -> None:
    assert FIO.destroys({**complete_values(FIO, {"device": PATH}), "rw": pattern})


def test_only_what_works_on_a_device_destroys_one() -> None:
    assert not FIO.destroys(complete_values(FIO, {"rw": "randwrite"}))
    assert SysbenchCpu().device(complete_values(SysbenchCpu(), {})) == ""


def test_writing_says_everything_that_is_lost_and_how_it_is_confirmed() -> None:
    found = shown(rw="randrw")
    assert set(found) == {"destroys-data"}
    outcome = found["destroys-data"]
    assert measured(outcome) == (
        f"{PATH} (/dev/sdb): Samsung SSD 870, serial S6P1, ata-Samsung_SSD_870_S6P1, 931 GiB. "
        "randrw overwrites its content. Its first or last MiB is not empty: it holds data."
    )
    assert isinstance(outcome, CheckOutcome)
    assert "“S6P1”" in str(outcome.remedy)
    check = next(check for check in FIO.checks if check.id == "destroys-data")
    assert check.severity is Severity.ERROR


def test_what_is_in_use_is_not_offered_to_be_lost() -> None:
    found = shown(replace(FREE, uses=("mount sdb1 /srv", "part sdb1")), rw="write")
    assert set(found) == {"device-in-use"}
    assert "sdb1 is mounted on /srv." in measured(found["device-in-use"])


def test_reading_what_is_in_use_is_allowed_and_told() -> None:
    found = shown(replace(FREE, uses=("mount sdb1 /srv",)), rw="read")
    assert set(found) == {"device-in-use"}
    outcome = found["device-in-use"]
    assert isinstance(outcome, CheckOutcome)
    assert outcome.severity is Severity.INFO
    assert shown(rw="read") == {}


def test_what_a_user_cannot_see_is_looked_at_as_root_when_it_starts() -> None:
    assert set(shown(SEEN_BY_A_USER, rw="randwrite")) == {"destroys-data"}
    assert set(shown(replace(SEEN_BY_A_USER, uses=("swap sdb2",)), rw="randwrite")) == {"device-in-use"}


def test_a_device_that_is_none_or_too_small_is_unusable() -> None:
    missing = RawDevice(path=PATH, node=Absent("there is no such device"))
    assert set(shown(missing, rw="randwrite")) == {"device-unusable"}
    small = shown(replace(FREE, size=3 * GIB), rw="randread", size="2 GiB", numjobs=2)["device-unusable"]
    assert measured(small) == f"{PATH} has 3 GiB; the jobs work on 4 GiB."
    assert isinstance(small, CheckOutcome)
    assert small.changes == {"size": 3 * GIB // 2}


def test_reading_what_was_never_written_is_warned_of() -> None:
    assert "only zeros" in measured(shown(replace(FREE, written=False), rw="randread")["device-never-written"])
    assert "device-never-written" not in shown(replace(FREE, written=False), rw="randwrite")


def test_a_device_nobody_looked_at_is_not_judged() -> None:
    step = tuned_step(FIO, replace(disk_host(), devices=()), device=PATH, rw="randwrite")
    found = {name: outcome for name, outcome in outcomes(step).items() if isinstance(outcome, NotChecked)}
    assert {"device-unusable", "destroys-data"} <= set(found)


def test_no_directory_is_judged_where_there_is_none() -> None:
    step = tuned_step(FIO, host(), device=PATH, rw="randread", direct=True)
    assert "direct-refused" not in outcomes(step)


def test_a_raw_device_is_another_thing_than_a_file_whichever_device_it_is() -> None:
    on_file, first, second = (
        make_step("fio", given) for given in ({}, {"device": "/dev/sdb"}, {"device": "/dev/nvme1n1"})
    )
    assert first.fingerprint() == second.fingerprint() != on_file.fingerprint()
    old = replace(on_file, values={name: value for name, value in on_file.values.items() if name != "device"})
    assert old.fingerprint() == on_file.fingerprint()


def test_facts_without_a_user_are_not_taken_for_root() -> None:
    facts = replace(host(), system=SystemFacts())
    assert words(facts, rw="randwrite").startswith("sudo fio ")
