"""What was left on a host is found, told apart by what lies within it, and never touched by looking."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from remote.jobs.job import RemoteJob, make_workspace, remove_workspace
from remote.jobs.leftovers import FoundWorkspace, find_workspaces
from remote.session import Session
from tests.host_shells import Prefixed


@pytest.fixture
def session(shell_session: Session) -> Session:
    return shell_session


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found = tmp_path / "a place"
    found.mkdir()
    return found


def found_in(session: Session, place: Path) -> list[FoundWorkspace]:
    return [found for found in find_workspaces(session, [str(place)]) if Path(found.path).parent == place]


def test_a_workspace_is_found_with_what_runs_in_it(session: Session, place: Path) -> None:
    made = make_workspace(session, str(place))
    RemoteJob.start(session, made, ["sleep", "60"])
    Path(made.path, "file").write_bytes(bytes(100_000))
    (found,) = found_in(session, place)
    assert (found.path, found.nonce, found.own) == (made.path, made.nonce, True)
    assert found.processes >= 1
    assert found.size is not None
    assert found.size >= 100_000
    assert found.age is not None
    assert 0 <= found.age < 60
    remove_workspace(session, made)
    assert found_in(session, place) == []


def test_only_a_nonce_identifies_a_workspace_of_this_library(session: Session, place: Path) -> None:
    for name, content in (("0" * 16, None), ("1" * 16, "another\n"), ("2" * 16, "2" * 16 + "\n")):
        (place / f"benchwright-{name}").mkdir()
        if content is not None:
            (place / f"benchwright-{name}" / ".benchwright").write_text(content)
    assert {found.nonce[0]: found.own for found in found_in(session, place)} == {"0": False, "1": False, "2": True}


def test_links_files_and_other_names_are_passed_over(session: Session, place: Path) -> None:
    (place / "benchwright-0123456789abcdef").symlink_to(place)
    (place / "benchwright-fedcba9876543210").touch()
    for name in ("benchwright-short", "benchwright-GGGGGGGGGGGGGGGG", "benchwright-lease-0123456789abcdef", "other"):
        (place / name).mkdir()
    assert found_in(session, place) == []


def test_a_marker_that_is_a_link_or_a_pipe_is_not_read(session: Session, place: Path) -> None:
    linked, piped = place / "benchwright-0123456789abcdef", place / "benchwright-fedcba9876543210"
    linked.mkdir()
    piped.mkdir()
    (place / "nonce").write_text("0123456789abcdef\n")
    (linked / ".benchwright").symlink_to(place / "nonce")
    os.mkfifo(piped / ".benchwright")
    assert [found.own for found in found_in(session, place)] == [False, False]


def test_a_crowd_is_bounded(session: Session, place: Path) -> None:
    for number in range(200):
        (place / f"benchwright-{number:016x}").mkdir()
    assert len(find_workspaces(session, [str(place)])) <= 64


def test_directories_that_are_none_are_passed_over(session: Session, place: Path) -> None:
    made = make_workspace(session, str(place))
    found = find_workspaces(session, ["/nowhere", "-x", "", f"{place}/", str(place), "/proc/self/status"])
    assert [workspace.path for workspace in found if workspace.nonce == made.nonce] == [made.path]
    remove_workspace(session, made)


@pytest.fixture
def nobody() -> Iterator[Session]:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    session = Prefixed(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
    yield session
    session.close()


def test_a_workspace_of_another_account_is_not_of_this_library(nobody: Session, session: Session) -> None:
    made = make_workspace(session, "/var/tmp")
    (found,) = [workspace for workspace in find_workspaces(nobody) if workspace.nonce == made.nonce]
    assert (found.own, found.account, found.size) == (False, "root", None)
    remove_workspace(session, made)


def test_root_is_not_taken_for_the_one_who_made_it(session: Session, place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can read what others made")
    made = place / "benchwright-0123456789abcdef"
    made.mkdir()
    (made / ".benchwright").write_text("0123456789abcdef\n")
    os.chown(made, 65534, 65534)
    assert [found.own for found in found_in(session, place)] == [False]
