"""Jobs on file systems and accounts that refuse: full, read-only, not ours."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from remote.errors import JobError
from remote.jobs.job import RemoteJob, make_workspace, remove_workspace
from remote.local import LocalSession
from tests.messages import messages

MESSAGES = messages("lab", "test_job_faults")

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@pytest.fixture
def session() -> Iterator[LocalSession]:
    session = LocalSession()
    yield session
    session.close()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True).returncode:  # noqa: PLW1510 (its failure is what we ask for)
        pytest.skip("mounting a small file system needs root")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(place: Path) -> None:
    with (place / "fill").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_full_file_system_is_named(session: LocalSession, small: Path) -> None:
    fill(small)
    with pytest.raises(JobError, match="the file system is full") as caught:
        make_workspace(session, str(small))
    assert "Free space" in caught.value.remedy
    assert [path.name for path in small.iterdir()] == ["fill"]


def test_a_job_whose_output_fills_the_disk_reports_it_and_keeps_its_status(session: LocalSession, small: Path) -> None:
    workspace = make_workspace(session, str(small))
    job = RemoteJob.start(session, workspace, ["sh", "-c", "head -c 200000 /dev/zero; exit 5"])
    received = sum(len(chunk.data) for chunk in job.follow() if chunk is not None)
    assert 0 < received < 200_000
    assert job.exit_status == 5
    assert MESSAGES["file_system_that_holds_its"] in job.reason
    fill(small)
    with pytest.raises(JobError, match="was not started on local: the file system is full"):
        RemoteJob.start(session, workspace, ["true"])
    remove_workspace(session, workspace)
    assert [path.name for path in small.iterdir()] == ["fill"]


def test_a_read_only_file_system_is_named(session: LocalSession, small: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small], check=True)
    with pytest.raises(JobError, match="mounted read-only"):
        make_workspace(session, str(small))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_directory_of_others_is_named() -> None:
    class Nobody(LocalSession):
        def run(self, argv, **options):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN202 (hands on what it is given)
            return super().run([*NOBODY, *argv], **options)

    with pytest.raises(JobError, match="permission denied") as caught:
        make_workspace(Nobody(), "/usr")
    assert MESSAGES["name_a_directory_you_may"] in caught.value.remedy


# Output that is lost on the host, and what is wrong with its other files

TWENTY = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo line $i; {act}; sleep 0.02; done"


def twenty_lines(session: LocalSession, tmp_path: Path, act: str) -> tuple[RemoteJob, bytes]:
    """Run a job that prints 20 lines; in the tenth second of fifty it does `act` with $out, the file it prints to."""
    workspace = make_workspace(session, str(tmp_path))
    when = f'out=$(echo "$PWD"/.job-*/out); rc=${{out%out}}rc; [ $i != 10 ] || {{ {act}; }}'
    job = RemoteJob.start(session, workspace, ["sh", "-c", TWENTY.format(act=when)])
    read = b"".join(chunk.data for chunk in job.follow() if chunk is not None)
    remove_workspace(session, workspace)
    return job, read


@pytest.mark.parametrize(
    "act",
    [
        pytest.param("sleep 0.4; : >$out", id="emptied once it was read"),
        pytest.param(": >$out", id="emptied while it is read"),
        pytest.param("truncate -s 10 $out", id="shortened"),
        pytest.param("sleep 0.4; truncate -s 10 $out; truncate -s 200 $out", id="shortened and grown"),
    ],
)
def test_output_emptied_while_the_job_writes_is_reported(session: LocalSession, tmp_path: Path, act: str) -> None:
    job, _ = twenty_lines(session, tmp_path, act)
    assert job.exit_status == 0
    assert "standard output" in job.truncated
    assert "were read" in job.truncated


def test_output_truncated_before_it_is_read_is_reported(session: LocalSession, tmp_path: Path) -> None:
    workspace = make_workspace(session, str(tmp_path))
    job = RemoteJob.start(session, workspace, ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done"])
    while job.running():
        pass
    (out,) = Path(workspace.path).glob(".job-*/out")
    out.write_bytes(out.read_bytes()[:-7])
    read = b"".join(chunk.data for chunk in job.follow() if chunk is not None)
    assert len(read) == 56
    assert job.truncated == MESSAGES["56_bytes_of_its_standard"]
    remove_workspace(session, workspace)


@pytest.mark.parametrize("replaced", ["rm", "mv"])
def test_output_replaced_before_it_is_read_is_reported(session: LocalSession, tmp_path: Path, replaced: str) -> None:
    workspace = make_workspace(session, str(tmp_path))
    job = RemoteJob.start(
        session, workspace, ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.02; done"]
    )
    (out,) = Path(workspace.path).glob(".job-*/out")
    out.unlink()
    if replaced == "mv":
        (tmp_path / "other").write_text("line 1\n")
        (tmp_path / "other").rename(out)
    while job.running():
        pass
    list(job.follow())
    assert job.exit_status == 0
    assert "of 63 written" in job.truncated
    remove_workspace(session, workspace)


@pytest.mark.parametrize(
    "act", ["true", "mv $out $out.old; echo other >$out", "rm $out", "tee /dev/stderr </dev/null", "cp $out $out.copy"]
)
def test_output_that_was_read_whole_is_whole_whatever_became_of_the_file(
    session: LocalSession, tmp_path: Path, act: str
) -> None:
    job, read = twenty_lines(session, tmp_path, act)
    assert read == b"".join(b"line %d\n" % number for number in range(1, 21))
    assert (job.exit_status, job.truncated) == (0, "")


def test_nuls_of_the_tool_itself_are_output(session: LocalSession, tmp_path: Path) -> None:
    workspace = make_workspace(session, str(tmp_path))
    job = RemoteJob.start(session, workspace, ["printf", r"a\0b\0\0\0c\n"])
    read = b"".join(chunk.data for chunk in job.follow() if chunk is not None)
    assert read == b"a\0b\0\0\0c\n"
    assert job.truncated == ""
    remove_workspace(session, workspace)


@pytest.mark.parametrize(
    ("garbled", "reason"),
    [
        ("", "the file with its exit status was changed"),
        ("0", "the file with its exit status was changed"),
        ("\0\0\0", "the file with its exit status was changed"),
        (f"{'9' * 5000} 1.0 1 1 .", "the file with its exit status was changed"),
        (None, "no exit status"),
    ],
)
def test_an_exit_status_that_cannot_be_read_is_no_success(
    session: LocalSession, tmp_path: Path, garbled: str | None, reason: str
) -> None:
    workspace = make_workspace(session, str(tmp_path))
    job = RemoteJob.start(session, workspace, ["echo", "done"])
    while job.running():
        pass
    (status,) = Path(workspace.path).glob(".job-*/rc")
    status.unlink() if garbled is None else status.write_text(garbled)
    list(job.follow())
    assert job.exit_status is None
    assert reason in job.reason
    remove_workspace(session, workspace)
