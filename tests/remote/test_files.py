"""Files arrive on a host whole or not at all, under every shell."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from remote.errors import JobError
from remote.jobs import files
from remote.jobs.files import put_file
from remote.jobs.job import Workspace, make_workspace, remove_workspace
from remote.session import Session

EVERY_BYTE = bytes(range(256)) * 1000


@pytest.fixture
def workspace(shell_session: Session, tmp_path: Path) -> Iterator[Workspace]:
    directory = tmp_path / "it's a $(directory)"
    directory.mkdir()
    made = make_workspace(shell_session, str(directory))
    yield made
    remove_workspace(shell_session, made)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"one line\n", EVERY_BYTE], ids=["empty", "text", "bytes"])
def test_every_byte_arrives(shell_session: Session, workspace: Workspace, content: bytes) -> None:
    put_file(shell_session, workspace, "data", content)
    assert Path(workspace.path, "data").read_bytes() == content
    assert [entry.name for entry in Path(workspace.path).iterdir() if not entry.name.startswith(".")] == ["data"]


def test_only_the_owner_may_use_it(shell_session: Session, workspace: Workspace) -> None:
    put_file(shell_session, workspace, "probe", b"#!/bin/sh\n", executable=True)
    put_file(shell_session, workspace, "data", b"")
    modes = {name: stat.S_IMODE(Path(workspace.path, name).stat().st_mode) for name in ("probe", "data")}
    assert modes == {"probe": 0o700, "data": 0o600}


def test_a_file_is_replaced(shell_session: Session, workspace: Workspace) -> None:
    put_file(shell_session, workspace, "probe", b"old and longer")
    put_file(shell_session, workspace, "probe", b"new")
    assert Path(workspace.path, "probe").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["../outside", "a/b", ".hidden", "", "-rf", "a b", "a\nb", "x" * 200])
def test_a_name_that_leads_elsewhere_is_refused(shell_session: Session, workspace: Workspace, name: str) -> None:
    with pytest.raises(JobError, match="Invalid file name"):
        put_file(shell_session, workspace, name, b"")


def test_a_file_that_is_too_large_is_refused(
    shell_session: Session, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST", 3)
    with pytest.raises(JobError, match="4 bytes, limit 3"):
        put_file(shell_session, workspace, "large", b"1234")


def test_a_directory_that_is_gone_is_said(shell_session: Session, workspace: Workspace) -> None:
    missing = Workspace(f"{workspace.path}-gone", workspace.nonce)
    with pytest.raises(JobError, match="was not copied"):
        put_file(shell_session, missing, "data", b"x")


def test_a_truncated_file_is_not_treated_as_complete(shell_session: Session, workspace: Workspace) -> None:
    words = ["sh", "-c", files._PUT, "benchwright", f"{workspace.path}/data", "10", "600"]
    assert shell_session.run(words, stdin=b"half").exit_status != 0
    assert not Path(workspace.path, "data").exists()
