"""Backups of the whole library: complete, verified, never over another file, never half of one."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import delete

from app.library_rows import Annotation
from app.services import Workstation
from app.store import backup, library_file, schema
from app.store.errors import StoreError, StoreFullError
from app.store.store import Store
from tests.program import BAD_INPUT, benchwright
from tests.small_disk import fill, small_disk
from tests.widgets.library_runs import Made, record

__all__ = ["small_disk"]  # a fixture

RUN = Made("20260101-000000-0001", iops=(1000.0, 1010.0), samples=200, output=b"\x00raw \xff")


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "library.sqlite3", tmp_path / "hosts.toml")
    record(made, RUN)
    made.annotate({RUN.run_id: Annotation(note="kept")})
    made.pin(RUN.run_id, "nightly")
    made.save_search("fast", "iops>1k")
    yield made
    made.close()


def content(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_a_backup_is_the_whole_library(workstation: Workstation, tmp_path: Path) -> None:
    target = tmp_path / "backup.sqlite3"
    (found,) = workstation.back_up(target)
    assert (found.runs, found.size) == (1, target.stat().st_size)
    assert f"Backed up 1 run to {target}" in found.text
    assert content(target) == content(tmp_path / "library.sqlite3")
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == ["backup.sqlite3"]
    assert target.stat().st_mode & 0o777 == 0o600
    with closing(Workstation(target, tmp_path / "hosts.toml")) as restored:
        assert restored.load("nightly").summary.id == RUN.run_id
        assert restored.samples(RUN.run_id) == workstation.samples(RUN.run_id)


def test_an_existing_file_is_never_replaced(workstation: Workstation, tmp_path: Path) -> None:
    target = tmp_path / "backup.sqlite3"
    target.write_bytes(b"mine")
    link = tmp_path / "link.sqlite3"
    link.symlink_to(tmp_path / "missing")
    for path in (target, link, tmp_path / "library.sqlite3"):
        with pytest.raises(StoreError, match="exists already"):
            list(workstation.back_up(path))
    assert target.read_bytes() == b"mine"


def test_a_file_made_meanwhile_stays(workstation: Workstation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, verified = tmp_path / "backup.sqlite3", backup._verified

    def slowly(*given: object) -> object:
        target.write_bytes(b"mine")
        return verified(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(backup, "_verified", slowly)
    with pytest.raises(StoreError, match="exists already"):
        list(workstation.back_up(target))
    assert target.read_bytes() == b"mine"
    assert not list(tmp_path.glob(".*"))


def test_a_damaged_library_has_no_backup(workstation: Workstation, tmp_path: Path) -> None:
    workstation.close()
    path, size = tmp_path / "library.sqlite3", 4096
    pages = path.stat().st_size // size
    with path.open("r+b") as file:
        for page in range(pages // 2, pages):
            file.seek(page * size + 8)
            file.write(os.urandom(64))
    with pytest.raises(StoreError):
        list(workstation.back_up(tmp_path / "backup.sqlite3"))
    assert not list(tmp_path.glob("*backup*"))


def test_missing_rows_are_found(workstation: Workstation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = library_file.copy_open

    def lossy(connection: sqlite3.Connection, target: Path) -> None:
        copied(connection, target)
        with closing(sqlite3.connect(target)) as copy:
            copy.execute("DELETE FROM packed_samples WHERE id = 2")
            copy.commit()

    monkeypatch.setattr(backup, "copy_open", lossy)
    with pytest.raises(StoreError, match="rows are missing"):
        list(workstation.back_up(tmp_path / "backup.sqlite3"))
    assert not list(tmp_path.glob("*backup*"))


def test_a_full_disk_keeps_no_part(workstation: Workstation, small_disk: Path) -> None:
    fill(small_disk).write_bytes(bytes(2**21 - 2**17))
    with pytest.raises(StoreFullError, match="No space left"):
        list(workstation.back_up(small_disk / "backup.sqlite3"))
    assert [path.name for path in small_disk.iterdir()] == ["ballast"]


@pytest.mark.parametrize("verb", ["backup", "export"])
def test_on_a_small_disk_a_copy_is_whole_alone_or_nothing(
    workstation: Workstation,
    small_disk: Path,
    verb: str,
) -> None:
    large = replace(RUN, run_id="20260102-000000-0002", output=os.urandom(2**18))
    record(workstation, large)
    ballast, target = fill(small_disk), small_disk / "copy.sqlite3"
    faults, left = list[str](), set[str]()
    for size in range(2**21 - 2**19, 0, -(2**16)):
        os.truncate(ballast, size)
        try:
            list(
                workstation.back_up(target) if verb == "backup" else workstation.export_library([large.run_id], target)
            )
            break
        except StoreFullError as error:
            faults.append(error.message)
            left |= {path.name for path in small_disk.iterdir()}
    assert faults
    assert all(str(target) in fault for fault in faults)
    assert left == {"ballast"}
    alone = Path(shutil.copy(target, small_disk.parent / "alone.sqlite3"))
    with closing(Workstation(alone)) as copy:
        assert copy.samples(large.run_id) == workstation.samples(large.run_id)


def test_a_library_is_backed_up_while_it_is_written(workstation: Workstation, tmp_path: Path) -> None:
    before = content(tmp_path / "library.sqlite3")
    with closing(Store(tmp_path / "library.sqlite3")) as store, store.database.writing() as connection:
        connection.execute(delete(schema.runs))
        (found,) = workstation.back_up(tmp_path / "backup.sqlite3")
    assert found.runs == 1
    assert content(tmp_path / "backup.sqlite3") == before
    assert workstation.library().rows == ()


def test_the_command_says_what_was_verified(workstation: Workstation, tmp_path: Path) -> None:
    target = tmp_path / "backup.sqlite3"
    words = ("--store", tmp_path / "library.sqlite3", "library", "backup", target)
    done = benchwright(*words)
    assert "Verified: integrity check" in done.out
    again = benchwright(*words)
    assert again.status == BAD_INPUT
    assert "exists already" in again.err
    missing = benchwright(*words[:-1], tmp_path / "missing" / "backup.sqlite3")
    assert missing.status == BAD_INPUT
    assert "does not exist" in missing.err
    assert not (tmp_path / "missing").exists()
