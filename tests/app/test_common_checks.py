"""The checks that hold for every suite: tool, directory, space."""

from dataclasses import replace

import pytest

from app.checks.catalogue import blocks
from app.checks.plans import TOOL_MISSING
from app.checks.storage import DIRECTORY_NOT_WRITABLE, DIRECTORY_UNSAFE, LOW_SPACE, NO_SPACE, NOT_A_DISK
from app.plans.context import work_directory
from suites.base import Context, StepCheck, StepEvidence, Suite
from suites.checks import NotChecked
from suites.facts import Absent, Directory, DirectoryFault, Facts
from suites.fio.suite import Fio
from suites.registry import SUITES
from suites.sysbench.cpu import SysbenchCpu
from suites.vocab import Finding, Severity
from tests.disk_host import DATA, GIB, HOME, SHM, disk_host, tuned_step, without_tool
from tests.messages import messages

MESSAGES = messages("app-checks", "test_common_checks")

FIO = Fio()


def finding(check: StepCheck, step: StepEvidence) -> Finding:
    shown = check.finding(step)
    assert isinstance(shown, Finding), shown
    return shown


def unsure(check: StepCheck, step: StepEvidence) -> str:
    shown = check.finding(step)
    assert isinstance(shown, NotChecked), shown
    return shown.because


def without_facts(step: StepEvidence) -> StepEvidence:
    return replace(step, context=Context())


def test_a_missing_tool_comes_with_the_command_that_installs_it_and_with_what_works_without() -> None:
    found = finding(TOOL_MISSING, tuned_step(FIO, without_tool(disk_host(distribution="fedora"), "fio")))
    assert found.severity is Severity.ERROR
    assert found.install == "sudo dnf install -y fio"
    assert found.remedy.startswith(MESSAGES["install_it_sudo_dnf_install"])
    assert "dd" in found.remedy
    assert found.measured == MESSAGES["fio_was_not_found_on_web_1"]


def test_of_an_unknown_distribution_only_the_package_is_named() -> None:
    found = finding(TOOL_MISSING, tuned_step(FIO, without_tool(disk_host(distribution="haiku"), "fio")))
    assert found.install is None
    assert "package fio" in found.remedy


def test_a_tool_that_is_there_raises_nothing_and_one_that_was_not_looked_for_is_not_judged() -> None:
    assert TOOL_MISSING.finding(tuned_step(FIO)) is None
    assert unsure(TOOL_MISSING, tuned_step(SysbenchCpu())) == MESSAGES["not_checked_on_this_host"]
    assert "not been read" in unsure(TOOL_MISSING, without_facts(tuned_step(FIO)))


def test_files_that_do_not_fit_are_an_error() -> None:
    found = finding(NO_SPACE, tuned_step(FIO, size="40 GiB", numjobs=4))
    assert found.severity is Severity.ERROR
    assert found.measured == MESSAGES["the_files_take_160_gib_100"]
    assert NO_SPACE.finding(tuned_step(FIO, size="25 GiB", numjobs=4)) is None


def test_a_disk_left_nearly_full_is_warned_of() -> None:
    step = tuned_step(FIO, size=100 * GIB - GIB // 2, numjobs=1)
    assert finding(LOW_SPACE, step).measured == MESSAGES["the_files_take_99_5_gib_and"]
    assert LOW_SPACE.finding(tuned_step(FIO, size="99 GiB", numjobs=1)) is None
    assert LOW_SPACE.finding(tuned_step(FIO, size="200 GiB", numjobs=1)) is None  # the error says enough


def test_files_of_earlier_steps_count_while_they_stay() -> None:
    first = replace(tuned_step(FIO, size="60 GiB", numjobs=1), name="first")
    elsewhere = replace(tuned_step(FIO, size="15 GiB", numjobs=1, directory="/home/ann"), name="elsewhere")
    second = tuned_step(FIO, size="60 GiB", numjobs=1)
    assert NO_SPACE.finding(replace(second, earlier=(first, elsewhere))) is None
    staying = replace(second, earlier=(first, elsewhere), earlier_files_stay=True)
    assert MESSAGES["40_gib_are_free_beside_those"] in finding(NO_SPACE, staying).measured


def test_space_that_is_not_known_is_not_judged() -> None:
    unknown = disk_host(replace(DATA, free=Absent("df did not answer for it")))
    assert MESSAGES["how_much_space_is_free_in"] in unsure(NO_SPACE, tuned_step(FIO, unknown))
    assert LOW_SPACE.finding(tuned_step(FIO, unknown)) is None
    assert NO_SPACE.finding(tuned_step(SysbenchCpu())) is None


def test_a_directory_that_was_not_tried_is_judged_by_its_file_system() -> None:
    step = tuned_step(FIO, directory="/srv/bench", size="200 GiB", numjobs=1)
    assert MESSAGES["100_gib_are_free_in_srv"] in finding(NO_SPACE, step).measured
    assert NOT_A_DISK.finding(step) is None
    assert "nfs4" in finding(NOT_A_DISK, tuned_step(FIO, directory="/srv/nfs/x")).measured
    assert NOT_A_DISK.finding(tuned_step(FIO, directory="/srv/nfsx")) is None
    assert "was not tested" in unsure(DIRECTORY_NOT_WRITABLE, step)


def test_a_directory_nothing_is_known_of_is_not_judged() -> None:
    facts = replace(disk_host(), file_systems=())
    assert unsure(NO_SPACE, tuned_step(FIO, facts, directory="/data")) == MESSAGES["nothing_was_read_about_data"]


def of_kind(kind: str) -> Facts:
    return disk_host(HOME, Directory(path="/x", mount="/x", kind=kind, free=GIB, writable=True, direct=True))


@pytest.mark.parametrize("kind", ["tmpfs", "ramfs"])
def test_files_in_memory_are_no_disk(kind: str) -> None:
    found = finding(NOT_A_DISK, tuned_step(FIO, of_kind(kind), directory="/x"))
    assert found.severity is Severity.WARNING
    assert found.measured == f"/x is on {kind}: its files are in memory."
    assert found.changes == {"directory": "/home/ann"}


def test_an_overlay_is_judged_by_its_upper_directory() -> None:
    directory = Directory(path="/x", mount="/x", kind="overlay", upper="tmpfs", free=50 * GIB, writable=True)
    found = finding(NOT_A_DISK, tuned_step(FIO, disk_host(DATA, directory), directory="/x"))
    assert found.severity is Severity.WARNING
    assert "an overlay on tmpfs" in found.measured
    on_disk = disk_host(DATA, replace(directory, upper="ext4"))
    assert finding(NOT_A_DISK, tuned_step(FIO, on_disk, directory="/x")).severity is Severity.INFO


@pytest.mark.parametrize("kind", ["nfs4", "virtiofs", "overlay"])
def test_what_stands_between_file_and_disk_is_told(kind: str) -> None:
    found = finding(NOT_A_DISK, tuned_step(FIO, of_kind(kind), directory="/x"))
    assert found.severity is Severity.INFO
    assert kind in found.measured


def test_a_file_system_of_its_own_kind_is_not_judged() -> None:
    assert NOT_A_DISK.finding(tuned_step(FIO, of_kind("zfs"), directory="/x")) is None
    unknown = disk_host(replace(DATA, kind=Absent("its mount is not in the host's list of mounts")))
    assert "unknown" in unsure(NOT_A_DISK, tuned_step(FIO, unknown))


def test_a_directory_without_permission_is_an_error() -> None:
    closed = Directory(path="/root", mount="/", kind="ext4", free=GIB, writable=False)
    found = finding(DIRECTORY_NOT_WRITABLE, tuned_step(FIO, disk_host(closed, DATA), directory="/root"))
    assert found.severity is Severity.ERROR
    assert found.measured == MESSAGES["the_user_ann_may_not_write"]
    assert found.changes == {"directory": "/srv"}


@pytest.mark.parametrize("reason", DirectoryFault)
def test_a_directory_that_is_not_there_is_an_error(reason: str) -> None:
    absent = Absent(reason)
    missing_path = Directory(path="/nowhere", mount=absent, kind=absent, free=absent, writable=absent, direct=absent)
    step = tuned_step(FIO, disk_host(SHM, missing_path), directory="/nowhere")
    assert finding(DIRECTORY_NOT_WRITABLE, step).measured == f"/nowhere: {reason}."
    assert finding(DIRECTORY_NOT_WRITABLE, step).changes == {}


OPEN = "unsafe others - /srv"


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.id)
def test_a_directory_in_which_others_replace_files_is_an_error_of_every_suite(suite: Suite) -> None:
    facts = disk_host(*(replace(one, guard=OPEN) for one in (DATA, HOME, SHM)))
    named = {suite.directory_parameter: "/srv"} if suite.directory_parameter else {}
    found = finding(DIRECTORY_UNSAFE, tuned_step(suite, facts, **named))
    assert found.measured == MESSAGES["srv_may_be_written_by_every"]
    assert found.remedy == MESSAGES["run_chmod_t_srv_there_or"]
    assert blocks(found)


def test_a_step_without_a_directory_of_its_own_runs_where_nobody_replaces_files() -> None:
    facts = disk_host(replace(DATA, guard=OPEN), HOME)
    step = tuned_step(SysbenchCpu(), facts)
    assert DIRECTORY_UNSAFE.finding(step) is None
    assert work_directory(step.suite, step.values, facts) == "/home/ann"
    named = tuned_step(FIO, facts, directory="/srv")
    assert finding(DIRECTORY_UNSAFE, named).changes == {"directory": "/home/ann"}


def test_a_suite_that_writes_nothing_is_not_asked_for_a_directory() -> None:
    assert NOT_A_DISK.finding(tuned_step(SysbenchCpu())) is None
    assert DIRECTORY_NOT_WRITABLE.finding(tuned_step(SysbenchCpu())) is None
