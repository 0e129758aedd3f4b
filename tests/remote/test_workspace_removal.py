"""What is removed with a workspace: its own files, never what is mounted in it; what stays is found again."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from remote.errors import JobError
from remote.jobs.job import RemoteJob, Workspace, make_workspace, remove_workspace
from remote.jobs.leftovers import find_workspaces
from remote.session import Session


@pytest.fixture
def session(shell_session: Session) -> Session:
    return shell_session


@pytest.fixture
def workspace(session: Session, tmp_path: Path) -> Workspace:
    (tmp_path / "bench").mkdir()
    return make_workspace(session, str(tmp_path / "bench"))


@pytest.fixture
def mounted(workspace: Workspace, tmp_path: Path) -> Iterator[Path]:
    """Return a file of somebody else's, which is mounted below the workspace, in a directory with a blank."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    data, point = tmp_path / "data", Path(workspace.path) / "a b" / "m"
    data.mkdir()
    point.mkdir(parents=True)
    kept = data / "precious"
    kept.write_text("precious", encoding="ascii")
    if subprocess.run(["mount", "--bind", str(data), str(point)], capture_output=True, check=False).returncode:
        pytest.skip("the kernel lets nobody have mounts of their own")
    yield kept
    subprocess.run(["umount", "-l", str(point)], check=False, capture_output=True)


def test_what_is_mounted_in_a_workspace_is_not_removed(session: Session, workspace: Workspace, mounted: Path) -> None:
    with pytest.raises(JobError, match=r"a\\040b/m is mounted in it") as refused:
        remove_workspace(session, workspace)
    assert "Unmount" in refused.value.remedy
    assert mounted.read_text(encoding="ascii") == "precious"
    subprocess.run(["umount", str(Path(workspace.path) / "a b" / "m")], check=True)
    remove_workspace(session, workspace)
    assert not Path(workspace.path).exists()
    assert mounted.exists()


def test_a_workspace_that_cannot_go_is_found_again(session: Session, workspace: Workspace) -> None:
    """Its parent lets go of no name: the attribute is the one that also holds for root."""
    parent = str(Path(workspace.path).parent)
    if os.geteuid() != 0 or subprocess.run(["chattr", "+a", parent], capture_output=True, check=False).returncode:
        pytest.skip("the file system keeps no attribute that holds for root")
    try:
        with pytest.raises(JobError, match="was not removed"):
            remove_workspace(session, workspace)
        found = [
            one for one in find_workspaces(session, [parent]) if one.path.startswith(parent)
        ]  # others use /var/tmp
        assert [(one.nonce, one.own) for one in found] == [(workspace.nonce, True)]
    finally:
        subprocess.run(["chattr", "-a", parent], check=True)
    remove_workspace(session, workspace)
    assert list(Path(parent).iterdir()) == []


def test_groups_below_the_group_of_a_job_go_with_it(session: Session, workspace: Workspace) -> None:
    at = next((path for path in (Path("/sys/fs/cgroup/devices"), Path("/sys/fs/cgroup")) if path.exists()), None)
    group = Path("/none") if at is None else at / f"benchwright-{workspace.nonce}-x"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("no control group can be made here")
    (group / "own" / "below").mkdir(parents=True)
    job = RemoteJob.start(session, workspace, ["true"])
    for _ in job.follow():
        pass
    (Path(workspace.path) / f".job-{job.directory}" / "cgroup").write_text(f"{group}\n", encoding="ascii")
    remove_workspace(session, workspace)
    assert not group.exists()


def test_a_process_of_another_environment_is_counted(session: Session, workspace: Workspace) -> None:
    """Its control group says whose it is."""
    group = Path("/sys/fs/cgroup/devices") / f"benchwright-{workspace.nonce}-x"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("no control group can be made here")
    with subprocess.Popen(["sleep", "60"], env={}) as process:
        try:
            (group / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
            all_found = find_workspaces(session, [str(Path(workspace.path).parent)])
            (found,) = (one for one in all_found if one.nonce == workspace.nonce)
            assert found.processes == 1
        finally:
            process.kill()
            process.wait()
            group.rmdir()
    remove_workspace(session, workspace)
