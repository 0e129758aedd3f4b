"""What was asked of a host and not answered is asked again: nothing is made or started twice."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from remote.errors import JobError, RebootedError
from remote.jobs.job import RemoteJob, Workspace, job_directory, make_workspace, remove_workspace
from remote.jobs.job_record import JobStart
from remote.session import Chunk, Session


@pytest.fixture
def workspace(shell_session: Session, tmp_path: Path) -> Iterator[Workspace]:
    made = make_workspace(shell_session, str(tmp_path))
    yield made
    remove_workspace(shell_session, made)


def test_a_workspace_is_made_once(shell_session: Session, workspace: Workspace, tmp_path: Path) -> None:
    assert make_workspace(shell_session, str(tmp_path), workspace.nonce) == workspace
    assert len(list(tmp_path.glob("benchwright-*"))) == 1


def test_a_job_is_started_once(shell_session: Session, workspace: Workspace) -> None:
    directory = job_directory("measure")
    words = ["sh", "-c", "echo once >>../count; exec sleep 60"]
    first = RemoteJob.start(shell_session, workspace, words, directory=directory)
    again = RemoteJob.start(shell_session, workspace, words, directory=directory)
    assert again.began == first.began
    found = RemoteJob.find(shell_session, workspace, directory)
    assert found is not None
    assert found.began == first.began
    first.stop()
    Path(workspace.path).with_name("count").unlink()


def test_a_job_that_never_began_is_not_found(shell_session: Session, workspace: Workspace) -> None:
    assert RemoteJob.find(shell_session, workspace, job_directory("measure")) is None


def test_reading_goes_on_at_the_byte_it_is_told(shell_session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(shell_session, workspace, ["sh", "-c", "printf abcdef >&2; printf 0123456789"])
    next(chunk for chunk in job.follow() if chunk is not None and chunk.data == b"0123456789")
    again = RemoteJob(shell_session, workspace, job.directory, job.began, received={"stdout": 4, "stderr": 6})
    assert b"".join(chunk.data for chunk in again.follow() if chunk is not None) == b"456789"
    assert again.exit_status == 0


def began_before_the_last_boot(job: RemoteJob) -> JobStart:
    """Return the job's beginning, as if it had been in an earlier boot."""
    began = job.began
    return JobStart(began.pid, began.group, began.leader_started, "another-boot", began.clock, began.epoch)


def test_a_restart_is_reported_after_all_output_was_read(shell_session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(shell_session, workspace, ["sh", "-c", "echo kept; exec sleep 60"])
    next(chunk for chunk in job.follow() if chunk is not None)
    path = Path(workspace.path, f".job-{job.directory}")
    job.stop()
    (path / "rc").unlink()
    begun = (path / "begun").read_text().replace(job.began.boot_id, "another-boot")
    (path / "begun").write_text(begun)
    again = RemoteJob(shell_session, workspace, job.directory, began_before_the_last_boot(job))
    read: list[Chunk | None] = []
    with pytest.raises(RebootedError, match=r"testhost restarted at \d\d:\d\d:\d\d UTC, which ended the command"):
        read.extend(again.follow())
    assert b"".join(chunk.data for chunk in read if chunk is not None) == b"kept\n"
    assert (again.exit_status, again.reason) == (None, "the host restarted")


def test_a_job_that_had_ended_before_the_restart_is_whole(shell_session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(shell_session, workspace, ["echo", "kept"])
    assert b"".join(chunk.data for chunk in job.follow() if chunk is not None) == b"kept\n"
    again = RemoteJob(shell_session, workspace, job.directory, began_before_the_last_boot(job))
    assert b"".join(chunk.data for chunk in again.follow() if chunk is not None) == b"kept\n"
    assert again.exit_status == 0


# A start that is still on its way when somebody else goes on with the run


def test_a_job_that_was_ended_before_it_began_never_begins(shell_session: Session, workspace: Workspace) -> None:
    directory = job_directory("measure")
    RemoteJob.end(shell_session, workspace, directory)
    RemoteJob.end(shell_session, workspace, directory)
    assert RemoteJob.find(shell_session, workspace, directory) is None
    with pytest.raises(JobError, match=r"was not started .* another Benchwright ended it before it started"):
        RemoteJob.start(shell_session, workspace, ["touch", "../begun"], directory=directory)
    assert not Path(workspace.path, "begun").exists()
    assert not Path(workspace.path).with_name("begun").exists()


def test_a_start_that_is_cut_off_half_way_is_ended(
    shell_session: Session, workspace: Workspace, tmp_path: Path
) -> None:
    """What makes the job's directory may be slow to begin its command: ended meanwhile, it begins none."""
    directory = job_directory("measure")
    Path(workspace.path, f".job-{directory}").mkdir()
    RemoteJob.end(shell_session, workspace, directory)
    assert Path(workspace.path, f".job-{directory}", "never").exists()
    with pytest.raises(JobError, match="ended it before it started"):
        RemoteJob.start(shell_session, workspace, ["true"], directory=directory)


def test_a_job_that_has_begun_is_ended_without_having_been_found(shell_session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(shell_session, workspace, ["sleep", "60"])
    other = RemoteJob.start(shell_session, workspace, ["sleep", "60"])
    assert RemoteJob.under_way(shell_session, workspace) == {job.directory, other.directory}
    RemoteJob.end(shell_session, workspace, job.directory)
    assert RemoteJob.under_way(shell_session, workspace) == {other.directory}
    other.stop()
    assert RemoteJob.under_way(shell_session, workspace) == set()


def test_of_two_that_start_a_job_at_once_one_starts_it(shell_session: Session, workspace: Workspace) -> None:
    """A start whose answer was lost is asked again while the first may still be under way."""
    counted = Path(workspace.path).with_name("count")
    words = ["sh", "-c", f"echo once >>{counted}; exec sleep 60"]
    for _ in range(4):
        directory = job_directory("measure")
        with ThreadPoolExecutor(2) as pool:
            starts = [
                pool.submit(RemoteJob.start, shell_session, workspace, words, directory=directory) for _ in range(2)
            ]
        one, two = (start.result() for start in starts)
        assert one.began == two.began
        one.stop()
    assert counted.read_text().splitlines() == ["once"] * 4
    counted.unlink()
