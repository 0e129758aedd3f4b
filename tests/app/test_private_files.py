"""What is the user's alone is nobody else's, whatever the umask; and no path keeps the program waiting."""

import csv
import json
import logging
import os
import re
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.common import start_log
from app.export import csv_text
from app.hosts.hosts import HostEntry, Origin, SavedHosts
from app.output import WriteError, escaped, json_text, make_folder, write_whole
from app.plans.consent import ConsentFile
from app.store.salvage import salvage
from app.store.store import Store
from remote.local_file import read_bounded
from tests.program import BAD_INPUT, BENCHWRIGHT, environment


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("no_umask")
def test_private_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    library = tmp_path / "data" / "runs.sqlite3"
    store = Store(library)
    with store.database.writing():
        assert {mode(path) for path in library.parent.iterdir()} == {0o600}  # with its log and the index of that
    store.close()
    salvage(library, tmp_path / "saved.sqlite3")
    SavedHosts(tmp_path / "config" / "hosts.toml").save(HostEntry("web", Origin.SAVED))
    assert mode(tmp_path / "saved.sqlite3") == mode(tmp_path / "config" / "hosts.toml") == 0o600
    assert mode(tmp_path / "config") == mode(library.parent) == 0o700
    assert mode(write_whole(tmp_path / "report.csv", b"")) == 0o664  # an export is not everybody's to write


@pytest.mark.slow
@pytest.mark.usefixtures("no_umask")
def test_the_log_is_private_also_one_of_before(tmp_path: Path) -> None:
    state = tmp_path / "state"
    run = environment() | {"XDG_STATE_HOME": str(state)}
    for _ in range(2):
        subprocess.run([*BENCHWRIGHT, "show", "nothing"], env=run, check=False, capture_output=True)
        (log,) = state.rglob("benchwright.log")
        assert mode(log) == 0o600
        assert mode(log.parent) == 0o700
        log.chmod(0o644)


def test_a_second_call_moves_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [tmp_path / name / "benchwright.log" for name in ("first", "second")]
    for log in logs:
        monkeypatch.setattr("app.cli.common.log_path", lambda log=log: log)
        start_log()
        logging.getLogger("app.queue").warning("written to %s", log.parent.name)
    first, second = (log.read_text() for log in logs)
    assert "written to first" in first
    assert "written to second" in second
    assert "written to second" not in first


def run_with(home: Path, umask: int, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Benchwright as a new user of `home` would, without any XDG directory named."""
    own = {name: value for name, value in environment().items() if not name.startswith("XDG_")} | {"HOME": str(home)}
    command = [*BENCHWRIGHT, *map(str, words)]
    return subprocess.run(command, env=own, umask=umask, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir(0o700)
    return made


def test_every_directory_is_private_with_no_umask(home: Path) -> None:
    run_with(home, 0, "hosts", "add", "web")
    run_with(home, 0, "list")
    assert {mode(path) for path in home.rglob("*") if path.is_dir()} == {0o700}
    assert {mode(path) for path in home.rglob("*") if path.is_file()} == {0o600}


@pytest.mark.slow
def test_directories_that_others_may_write_are_tightened(home: Path) -> None:
    run_with(home, 0o022, "list")
    share, state = home / ".local/share/benchwright", home / ".local/state/benchwright"
    (state / "consent").write_text("0" * 64 + "\n")
    (state / "consent").chmod(0o600)
    (share / "runs.sqlite3").chmod(0o666)
    share.chmod(0o777)
    state.chmod(0o777)
    assert run_with(home, 0o022, "list").returncode == 0
    assert mode(share) == mode(state) == 0o700
    assert mode(share / "runs.sqlite3") == 0o600
    assert not (state / "consent").exists()  # anybody may have put it there


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_account_is_refused(home: Path) -> None:
    state = home / ".local/state/benchwright"
    state.mkdir(parents=True)
    os.chown(state, 65534, 65534)
    done = run_with(home, 0o022, "list")
    assert done.returncode == BAD_INPUT
    assert f"The directory {state} belongs to the account nobody" in done.stderr
    assert "sudo chown -R root" in done.stderr


def test_consent_below_a_directory_that_everybody_may_write_is_not_believed(tmp_path: Path) -> None:
    memory = ConsentFile(tmp_path / "above" / "state" / "consent")
    memory.add(["0" * 64])
    assert ConsentFile(tmp_path / "above" / "state" / "consent").known()
    (tmp_path / "above").chmod(0o777)
    assert not ConsentFile(tmp_path / "above" / "state" / "consent").known()
    (tmp_path / "above").chmod(0o1777)
    assert ConsentFile(tmp_path / "above" / "state" / "consent").known()


@pytest.mark.usefixtures("no_umask")
def test_folders_of_reports_are_not_everybodys_to_write(tmp_path: Path) -> None:
    make_folder(tmp_path / "new" / "reports", "")
    assert mode(tmp_path / "new") == mode(tmp_path / "new" / "reports") == 0o775
    write_whole(tmp_path / "other" / "plan.toml", b"")
    assert mode(tmp_path / "other") == 0o775
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="file cannot be created"):
        make_folder(tmp_path / "file", "Name another.")


def test_directories_are_made_in_one_place() -> None:
    """Every other way makes those above them with the umask alone."""
    root = Path(__file__).parents[2]
    makes = re.compile(r"\.mkdir\(|makedirs\(")
    found = [
        str(path.relative_to(root))
        for part in ("app", "widgets", "remote")
        for path in (root / part).rglob("*.py")
        if makes.search(path.read_text())
    ]
    assert found == ["remote/local_directory.py"]


PATHS = [
    ("--store", "PATH", "list"),
    ("run", "PATH"),
    ("check", "PATH"),
    ("plan", "show", "PATH"),
    ("plan", "new", "--suite", "dd", "--facts", "PATH"),
    ("plan", "new", "--defaults", "--fio-job", "PATH"),
    ("baseline", "import", "PATH", "--name", "x"),
    ("best", "one", "two", "--prices", "PATH"),
    ("parse", "dd", "PATH"),
    ("salvage", "PATH", "new.sqlite3"),
]


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "words", [*PATHS[:3], *(pytest.param(words, marks=pytest.mark.slow) for words in PATHS[3:])], ids=str
)
def test_a_pipe_without_a_writer_does_not_block(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    command = [*BENCHWRIGHT, *("pipe" if word == "PATH" else word for word in words)]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode in {BAD_INPUT, 1}, ran
    assert ran.stderr.startswith(("benchwright: ", "Usage: ", "incomplete")) or "figure" in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)


def test_hosts_in_a_pipe_are_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "hosts.toml")
    assert SavedHosts(tmp_path / "hosts.toml").entries() == []


def test_a_pipe_that_somebody_writes_to_is_read(tmp_path: Path) -> None:
    """As a shell makes it of <(…)."""
    reading, writing = os.pipe()

    def write_the_rest() -> None:
        os.write(writing, b"later")
        os.close(writing)

    slow = threading.Timer(0.3, write_the_rest)
    os.write(writing, b"now, ")
    slow.start()
    assert read_bounded(Path(f"/proc/self/fd/{reading}"), 100) == b"now, later"
    slow.join()
    os.close(reading)


def test_a_pipe_that_stays_open_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remote.local_file.PATIENCE", 0.1)
    reading, writing = os.pipe()
    with pytest.raises(TimeoutError, match="no data for"):
        read_bounded(Path(f"/proc/self/fd/{reading}"), 100)
    os.close(reading)
    os.close(writing)


def test_no_more_is_read_than_is_wanted() -> None:
    assert read_bounded(Path("/dev/zero"), 70_000) == bytes(70_001)


UNSEEN = [chr(code) for code in (0x00, 0x08, 0x1B, 0x7F, 0x85, 0x9B, 0x200B, 0x202E, 0x2066, 0x2028, 0xFEFF, 0xE0001)]


@pytest.mark.parametrize("character", UNSEEN)
def test_what_controls_or_turns_text_is_written_out(character: str) -> None:
    hostile = f"a{character}b"
    assert character not in escaped(hostile)
    text = csv_text([{"one": hostile}], ["one"])
    assert character not in text
    assert list(csv.reader(text.splitlines()))[1] == [escaped(hostile)]
    printed = json_text({"one": hostile, "ä": "€ 東京"})
    assert character not in printed
    assert "€ 東京" in printed
    assert json.loads(printed) == {"one": hostile, "ä": "€ 東京"}


def test_plain_words_and_lines_of_a_cell_stay() -> None:
    assert csv_text([{"one": "ä\nb"}], ["one"]) == 'one\n"ä\nb"\n'
