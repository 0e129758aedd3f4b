"""A library that is named by a symbolic link: made where the link leads, or refused with the name of what is there."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.errors import StoreError
from app.store.store import Store


def test_a_library_is_made_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link = tmp_path / "runs.sqlite3"
    link.symlink_to("disk/real.db")
    store = Store(link)
    assert store.runs() == []
    store.close()
    assert link.is_symlink()
    real = tmp_path / "disk" / "real.db"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert Store(link).read_only() is None


def test_a_link_through_links_is_followed(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("real.db")
    Store(tmp_path / "one").runs()
    assert (tmp_path / "real.db").is_file()


def test_a_link_into_a_missing_folder_is_reported(tmp_path: Path) -> None:
    link = tmp_path / "runs.sqlite3"
    link.symlink_to(tmp_path / "disk" / "real.db")
    with pytest.raises(StoreError, match=f"is a link to {tmp_path}/disk/real.db, which does not exist") as caught:
        Store(link).runs()
    assert f"Create the folder {tmp_path}/disk" in caught.value.remedy
    assert not (tmp_path / "disk").exists()  # a disk that is not mounted


def test_a_folder_that_is_a_dangling_link_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").symlink_to(tmp_path / "disk")
    with pytest.raises(StoreError, match=f"{tmp_path}/folder is a link to {tmp_path}/disk, which does not exist"):
        Store(tmp_path / "folder" / "runs.sqlite3").runs()


@pytest.mark.parametrize("target", ["loop", "other"])
def test_a_loop_of_links_is_said(tmp_path: Path, target: str) -> None:
    (tmp_path / "loop").symlink_to(target)
    (tmp_path / "other").symlink_to("loop")
    with pytest.raises(StoreError, match="symbolic link loop") as caught:
        Store(tmp_path / "loop").runs()
    assert "Fix the link" in caught.value.remedy


def test_a_link_to_a_directory_names_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=rf"a link to {tmp_path}/folder\) cannot be opened: it is a directory"):
        Store(tmp_path / "link").runs()


@pytest.mark.usefixtures("unprivileged")
def test_a_link_to_a_file_of_another_account_names_it(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=rf"link to {tmp_path}/real.db\) cannot be opened"):
        Store(tmp_path / "link").runs()


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[None]:
    """Be an account that may not read the file: root may read all."""
    Store(tmp_path / "real.db").runs()
    (tmp_path / "link").symlink_to(tmp_path / "real.db")
    (tmp_path / "real.db").chmod(0)
    before = os.geteuid()
    if before == 0:
        for folder in (tmp_path, *tmp_path.parents):
            if not folder.stat().st_mode & stat.S_IXOTH:
                folder.chmod(0o755)
        os.seteuid(65534)
    yield
    os.seteuid(before)
