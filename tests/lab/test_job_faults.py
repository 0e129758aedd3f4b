"""Jobs on file systems and accounts that refuse: full, read-only, not ours."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from remote.errors import JobError
from remote.jobs.job import Job, make_workspace, remove_workspace
from remote.local import LocalSession

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
    assert "Free some space" in caught.value.remedy
    assert [path.name for path in small.iterdir()] == ["fill"]


def test_a_job_whose_output_fills_the_disk_says_so_and_keeps_its_status(session: LocalSession, small: Path) -> None:
    workspace = make_workspace(session, str(small))
    job = Job.start(session, workspace, ["sh", "-c", "head -c 200000 /dev/zero; exit 5"])
    received = sum(len(chunk.data) for chunk in job.follow() if chunk is not None)
    assert 0 < received < 200_000
    assert job.exit_status == 5
    assert "file system that holds its output is full" in job.reason
    fill(small)
    with pytest.raises(JobError, match="was not started on local: the file system is full"):
        Job.start(session, workspace, ["true"])
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

    with pytest.raises(JobError, match="may not be written in") as caught:
        make_workspace(Nobody(), "/usr")
    assert "Name a directory you may write in" in caught.value.remedy
