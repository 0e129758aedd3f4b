"""The library vanishes while a run is recorded: moved, removed, replaced, emptied, unmounted, without its log."""

import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from app.events import (
    Activity,
    Event,
    LibraryChanged,
    RunAttached,
    RunDetached,
    RunEnded,
    SampleRead,
    State,
    TrialAttached,
    TrialStarted,
)
from app.runs import recording
from app.runs.control import Control
from app.services import Workstation
from app.store import run_connection
from app.store.errors import StoreError, StoreLostError
from app.store.rows import Written
from app.store.run_connection import read_back
from tests.lab.counting import counting_plan
from tests.lab.survival import assert_no_leftovers, assert_whole, attach, end, lab, run, workstation
from tests.lab_sshd import LabHost
from tests.loop_devices import loops_to_itself
from tests.messages import messages

MESSAGES = messages("lab", "test_faults_library")

__all__ = ["lab", "workstation"]

COUNT = 40


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "FULL_RETRY", 0.1)


@pytest.fixture
def library(workstation: Workstation) -> Path:
    """Return a library that holds a run from before."""
    assert end(run(workstation, counting_plan(3, host="local"))).state is State.DONE
    return workstation.library_path


def remove(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


def remove_main_file(path: Path) -> None:
    path.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere.sqlite3"))


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


def empty(path: Path) -> None:
    os.truncate(path, 0)


def replace_by_other(path: Path) -> None:
    other = path.with_name("other.sqlite3")
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    other.rename(path)


def replace_by_earlier_copy(path: Path) -> None:
    shutil.copyfile(path.with_name("before.sqlite3"), path.with_name("copy"))
    path.with_name("copy").rename(path)


LOSSES = [remove, remove_main_file, move, empty, replace_by_other, replace_by_earlier_copy]

FAST = (empty,)


def after_loss(
    library: Path, lose: Callable[[Path], None], act: Callable[[Control], None], problems: list[LibraryChanged]
) -> Callable[[Event, Control], None]:
    """Return a hand that loses the library once the trial has counted to ten, and acts once that is said."""
    lost: list[bool] = []

    def hand(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value >= 10 and not lost:
            lost.append(True)
            lose(library)
        elif isinstance(event, LibraryChanged):
            if event.problem and not any(one.problem for one in problems):
                act(control)
            problems.append(event)

    return hand


@pytest.mark.slow
def test_a_missing_library_is_reported_and_nothing_is_called_saved(
    workstation: Workstation, library: Path, lab: LabHost
) -> None:
    shown: list[LibraryChanged] = []
    began: list[Event] = []

    def act(_control: Control) -> None:
        assert not library.exists()  # nobody made a new one
        with pytest.raises(StoreLostError, match="is gone"):
            workstation.runs()

    def hand(event: Event, control: Control) -> None:
        watch(event, control)
        if isinstance(event, TrialStarted):
            began.append(event)
        if len(shown) > 3:
            control.stop()

    watch = after_loss(library, remove, act, shown)
    events = run(workstation, counting_plan(3000, trials=2), hand)
    words = [event.text for event in events if isinstance(event, Activity)]
    paused = next(text for text in words if text.startswith("paused: "))
    assert "is gone" in paused
    assert "is stored up to" not in paused
    assert len(began) == 1  # nothing else began
    # Stopped, it is saved beside the place where the library was, read back, and used from then on.
    assert end(events).state is State.PARTIAL
    saved = shown[-1]
    assert (saved.problem, saved.path) == ("", workstation.library_path)
    assert saved.path != library
    assert stat.S_IMODE(workstation.library_path.stat().st_mode) == 0o600
    assert len(workstation.runs()) == 2  # the run from before as well: the file was still open
    values = [sample.value for sample in workstation.samples("last")[1]]
    assert values == [float(number) for number in range(1, len(values) + 1)]
    assert len(values) >= 10
    assert not library.exists()
    assert_no_leftovers(lab.home)


@pytest.mark.parametrize(
    "lose", [each if each in FAST else pytest.param(each, marks=pytest.mark.slow) for each in LOSSES]
)
def test_what_is_measured_is_saved_to_another_file(
    workstation: Workstation, library: Path, lab: LabHost, lose: Callable[[Path], None]
) -> None:
    shutil.copyfile(library, library.with_name("before.sqlite3"))
    target = library.parent.parent / f"{library.parent.name}-saved.sqlite3"
    shown: list[LibraryChanged] = []
    events = run(
        workstation,
        counting_plan(COUNT, trials=2),
        after_loss(library, lose, lambda control: control.save_to(target), shown),
    )
    try:
        assert end(events).state is State.DONE
        assert workstation.library_path == target
        for trial in (1, 2):
            assert_whole(workstation, trial, COUNT)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert len(workstation.runs()) == (1 if lose is empty else 2)
    finally:
        target.unlink(missing_ok=True)
    assert_no_leftovers(lab.home)


def measured(events: list[Event]) -> list[float]:
    """Return what was measured in the first trial, before it was attached as well as after."""
    before = [[one.value for one in event.samples] for event in events if isinstance(event, TrialAttached)]
    return [value for each in before for value in each] + [
        event.sample.value for event in events if isinstance(event, SampleRead)
    ]


def name_of(case: tuple[str, Callable[[Path], None], str]) -> str:
    began, lose, act = case
    return f"{began}-{lose.__name__}-{act}"


ALL_CASES = [
    (began, lose, act)
    for began in ("new", "attached")
    for lose in (empty, remove, move, replace_by_other)
    for act in ("stop", "detach")
]


@pytest.mark.slow
@pytest.mark.parametrize("case", ALL_CASES, ids=name_of)
def test_what_was_measured_is_saved_however_the_run_began(
    workstation: Workstation, library: Path, lab: LabHost, case: tuple[str, Callable[[Path], None], str]
) -> None:
    """Stopped (TERM) or let go of (HUP) while the library is lost: the run is whole where it was saved to."""
    began, lose, act = case
    plan = counting_plan(3000 if act == "stop" else 250)
    hand = after_loss(library, lose, lambda control: getattr(control, act)(), [])
    if began == "attached":

        def leave_early(event: Event, control: Control) -> None:
            if isinstance(event, SampleRead) and event.sample.value >= 5:
                control.detach()

        assert isinstance(run(workstation, plan, leave_early)[-1], RunDetached)
        events = attach(workstation, hand)
    else:
        events = run(workstation, plan, hand)
    assert workstation.library_path != library
    values = measured(events)
    assert values == [float(number) for number in range(1, len(values) + 1)]
    record = workstation.load("last")
    stored = [sample.value for sample in workstation.samples(record.summary.id)[1]]
    assert stored[: len(values)] == values  # what was seen is there; a sample may have come after the last that was
    words = " ".join(event.text for event in events if isinstance(event, Activity))
    assert "run resumed" not in words
    if act == "stop":
        assert end(events).state is State.PARTIAL
        assert [trial.state for trial in record.trials] == [State.PARTIAL]
        printed = workstation.output(record.summary.id, 1)["stdout"].splitlines()
        assert printed[: len(values)] == [b"n %d" % number for number in range(1, len(values) + 1)]
        assert record.summary.state is State.PARTIAL
    else:
        assert isinstance(events[-1], RunDetached)
        (left,) = workstation.detached_runs()
        assert [trial.trial.id for trial in left.under_way] == [1]
        assert len(left.jobs) == len(left.workspaces) == 1
        assert end(attach(workstation)).state is State.DONE
        assert_whole(workstation, 1, 250)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_run_stays_left_where_it_was_saved_to_if_its_host_is_not_reached(
    workstation: Workstation, library: Path, lab: LabHost
) -> None:
    """The library is emptied while the host of a run that is to be gone on with is sought."""

    def leave_early(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value >= 5:
            control.detach()

    def lose(event: Event, _control: Control) -> None:
        if isinstance(event, RunAttached):
            empty(library)

    run(workstation, counting_plan(60), leave_early)
    lab.stop()
    with pytest.raises(StoreLostError, match="refused the connection") as caught:
        attach(workstation, lose)
    lab.start()
    assert "was emptied" in caught.value.message
    (saved,) = library.parent.glob("runs-*.sqlite3")
    assert str(saved) in caught.value.remedy
    workstation.open_library(saved)
    assert end(attach(workstation)).state is State.DONE
    assert_whole(workstation, 1, 60)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_folder_that_was_renamed_and_comes_back_goes_on_there(
    workstation: Workstation, library: Path, lab: LabHost
) -> None:
    shown: list[LibraryChanged] = []

    def back(_control: Control) -> None:
        library.parent.with_name("moved").rename(library.parent)

    events = run(workstation, counting_plan(COUNT), after_loss(library, move_folder, back, shown))
    assert end(events).state is State.DONE
    assert_whole(workstation, 1, COUNT)
    assert workstation.library_path == library
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_run_whose_folder_is_gone_is_saved_elsewhere(workstation: Workstation, library: Path) -> None:
    """A folder in the place of the one that was renamed would be in the way of its coming back."""
    shown: list[LibraryChanged] = []
    events = run(workstation, counting_plan(3000, host="local"), after_loss(library, move_folder, Control.stop, shown))
    assert end(events).state is State.PARTIAL
    saved = workstation.library_path
    try:
        assert not library.parent.exists()
        assert len(workstation.runs()) == 2
    finally:
        library.parent.with_name("moved").rename(library.parent)
        saved.unlink()


@pytest.mark.slow
def test_a_complete_copy_of_the_library_continues_the_run(
    workstation: Workstation, library: Path, lab: LabHost
) -> None:
    """As programs that keep folders in step do: copied, and the copy moved over the library."""

    def copied_over(path: Path) -> None:
        source = sqlite3.connect(path)
        copy = sqlite3.connect(path.with_name("copy"))
        source.backup(copy)
        copy.close()
        source.close()
        path.with_name("copy").rename(path)

    shown: list[LibraryChanged] = []
    events = run(workstation, counting_plan(COUNT), after_loss(library, copied_over, lambda _control: None, shown))
    assert end(events).state is State.DONE
    assert_whole(workstation, 1, COUNT)
    assert workstation.library_path == library


@pytest.mark.slow
def test_a_removed_write_ahead_log_loses_nothing(workstation: Workstation, library: Path, lab: LabHost) -> None:
    def without_log(path: Path) -> None:
        for end_of_name in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end_of_name}").unlink()

    shown: list[LibraryChanged] = []
    events = run(workstation, counting_plan(COUNT), after_loss(library, without_log, lambda _control: None, shown))
    assert end(events).state is State.DONE
    assert_whole(workstation, 1, COUNT)
    assert workstation.library_path == library
    connection = sqlite3.connect(library)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.mark.slow
def test_a_run_deleted_by_another_program_is_not_a_silent_success(workstation: Workstation, library: Path) -> None:
    def deleted(path: Path) -> None:
        connection = sqlite3.connect(path, timeout=10)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM runs WHERE state = 'running'")
        connection.commit()
        connection.close()

    target = library.with_name("saved.sqlite3")
    shown: list[LibraryChanged] = []
    act: Callable[[Control], None] = lambda control: control.save_to(target)  # noqa: E731 (typed)
    events = run(workstation, counting_plan(COUNT, host="local"), after_loss(library, deleted, act, shown))
    assert end(events).state is State.DONE
    assert "no longer contains" in shown[0].problem
    assert_whole(workstation, 1, COUNT)
    assert workstation.library_path == target


@pytest.mark.slow
def test_a_file_that_is_there_is_not_overwritten(workstation: Workstation, library: Path) -> None:
    taken = library.with_name("taken.sqlite3")
    taken.write_bytes(b"mine")
    tried: list[Activity] = []
    shown: list[LibraryChanged] = []
    watch = after_loss(library, remove, lambda control: control.save_to(taken), shown)

    def hand(event: Event, control: Control) -> None:
        watch(event, control)
        if isinstance(event, Activity) and event.text.startswith("not saved: "):
            tried.append(event)
            control.stop()

    run(workstation, counting_plan(3000, host="local"), hand)
    assert "exists already" in tried[0].text
    assert taken.read_bytes() == b"mine"


@pytest.mark.slow
def test_a_stopped_run_whose_library_cannot_be_saved_anywhere_says_so(
    workstation: Workstation, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> None:
        raise StoreError("There is no room anywhere.")

    monkeypatch.setattr("app.store.recorder.create_file", refuse)
    shown: list[LibraryChanged] = []
    with pytest.raises(StoreError, match="no room anywhere"):
        run(workstation, counting_plan(3000, host="local"), after_loss(library, remove, Control.stop, shown))


@pytest.fixture
def mounted(tmp_path: Path, workstation: Workstation) -> Iterator[Path]:
    """Mount a file system from a file, and keep the library there."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    image, mount = tmp_path / "disk.img", tmp_path / "mounted"
    mount.mkdir()
    image.write_bytes(b"")
    os.truncate(image, 16 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    with loops_to_itself():
        tried = subprocess.run(["mount", "-o", "loop", str(image), str(mount)], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("loop devices cannot be mounted here")
    workstation.open_library(mount / "runs.sqlite3")
    yield mount
    workstation.close()
    while subprocess.run(["umount", "-l", str(mount)], capture_output=True, check=False).returncode == 0:
        continue


@pytest.mark.slow
def test_a_file_system_that_is_unmounted_and_mounted_again(
    workstation: Workstation, mounted: Path, tmp_path: Path, lab: LabHost
) -> None:
    library, shown = mounted / "runs.sqlite3", list[LibraryChanged]()

    def unmount(_path: Path) -> None:
        subprocess.run(["umount", "-l", str(mounted)], check=True)

    def mount(_control: Control) -> None:
        assert list(mounted.iterdir()) == []  # nothing was made below the mount point
        with loops_to_itself():
            subprocess.run(["mount", "-o", "loop", str(tmp_path / "disk.img"), str(mounted)], check=True)

    events = run(workstation, counting_plan(COUNT), after_loss(library, unmount, mount, shown))
    assert end(events).state is State.DONE
    assert workstation.library_path == library
    assert_whole(workstation, 1, COUNT)


@pytest.mark.slow
def test_the_end_is_reported_after_the_stored_data_was_read_back(
    workstation: Workstation, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that swallows the last commit: what another connection finds decides, not what was sent."""
    target = library.with_name("saved.sqlite3")
    events: list[Event] = []

    def hand(event: Event, control: Control) -> None:
        events.append(event)
        if isinstance(event, LibraryChanged) and event.problem:
            assert MESSAGES["holds_only_a_part_of_the_run"] in event.problem
            assert not any(isinstance(one, RunEnded) for one in events)
            monkeypatch.undo()
            control.save_to(target)

    def swallowed(connection: Connection, run_id: str) -> Written | None:
        found = read_back(connection, run_id)
        if found is not None:
            found.samples[1] -= 1
        return found

    monkeypatch.setattr(run_connection, "read_back", swallowed)
    assert end(run(workstation, counting_plan(5, host="local"), hand)).state is State.DONE
    assert_whole(workstation, 1, 5)
