"""Nothing that a stage made is left when it ends: as planned, by an error half way, or with its process killed."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.guard import Guard, LeftBehindError
from tests.lab.staging import CGROUPS, NotStagedError, Stage, need_root
from tests.lab_sshd import LabHost
from tests.processes import until

ROOT = Path(__file__).parents[2]


def left(pid: int) -> set[str]:
    """Return what there is on this computer that a stage of process `pid` made."""
    stem = f"benchwright-stage-{pid}-"
    mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines() if stem in line}
    loops = {
        found for path in Path("/sys/block").glob("loop*/loop/backing_file") if stem in (found := path.read_text())
    }
    groups = {str(path) for path in CGROUPS.glob(f"*/benchwright-{pid}-*")}
    files = {str(path) for folder in ("/tmp", "/var/tmp") for path in Path(folder).glob(f"{stem}*")}
    networks = {str(path) for path in Path("/sys/class/net").glob(f"bl{pid % 100000}x*")}
    networks |= {str(path) for path in Path("/run/netns").glob(f"bl{pid % 100000}x*")}
    return mounts | loops | groups | files | networks


def fill(stage: Stage) -> None:
    """Make all that a stage can make, each in use, and copied into another mount namespace."""
    need_root("losetup", "mkfs.ext4", "tc")
    disk = stage.slow_disk(2**28, iops=100)
    name, host = stage.host("unshare", "-m")
    stage.beside("sh", "-c", f"cd {disk.folder} && exec sleep 600", host=host)
    until(
        lambda: (
            f"{disk.folder}"
            in subprocess.run(["fuser", "-mv", disk.folder], capture_output=True, text=True, check=False).stderr
        )
    )
    stage.file("extra", 2**20)
    stage.links(2)
    assert name


@pytest.fixture
def made(tmp_path: Path, start_lab_host: Callable[[], LabHost]) -> Iterator[Stage]:
    """Return a stage that the test leaves by itself."""
    stage = Stage(tmp_path, start_lab_host)
    yield stage
    stage.__exit__()


def test_nothing_is_left_when_a_stage_ends(made: Stage) -> None:
    try:
        fill(made)
    except NotStagedError as reason:
        pytest.skip(f"not staged, because {reason}")
    assert len(left(os.getpid())) >= 6
    made.__exit__()
    assert left(os.getpid()) == set()


def test_nothing_is_left_by_an_error_half_way(made: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    try:
        need_root("losetup")
        programs = tmp_path / "bin"
        programs.mkdir()
        (programs / "mkfs.ext4").symlink_to("/bin/false")
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        with pytest.raises(NotStagedError, match="mkfs"):
            made.slow_disk(2**28)
    except NotStagedError as reason:
        pytest.skip(f"not staged, because {reason}")
    made.__exit__()
    assert left(os.getpid()) == set()


KILLED = """
import os, signal, sys, tempfile
from pathlib import Path
from tests.lab.staging import Stage
from tests.lab.test_staging import fill
from tests.lab_sshd import LabHost
from tests.perf.host import make_keys, move_home
folder = Path(sys.argv[1])
move_home(folder / "home")
os.environ["BENCHWRIGHT_LEASES"] = str(folder)
keys = make_keys(folder)
def start():
    host = LabHost(Path(tempfile.mkdtemp(dir=folder)), keys)
    host.start()
    return host
fill(Stage(folder, start))
print("filled", flush=True)
signal.pause()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_its_process_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    if os.geteuid() != 0:
        pytest.skip("it needs root")
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "filled\n"
        hosts = [path.name for path in Path("/proc").glob("[0-9]*") if str(tmp_path).encode() in _words(path)]
        assert len(hosts) >= 3
        os.kill(running.pid, number)
    until(lambda: not left(running.pid))
    until(lambda: not any(str(tmp_path).encode() in _words(Path("/proc", pid)) for pid in hosts))


def _words(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_the_directory_of_a_killed_benchmark_is_removed() -> None:
    words = "import signal; from tests.lab.guard import guarded_directory as made\nwith made('test-') as found:\n"
    words += "    (found / 'file').touch(); print(found, flush=True); signal.pause()"
    with subprocess.Popen([sys.executable, "-c", words], cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        folder = Path(running.stdout.readline().strip())
        assert folder.is_dir()
        running.kill()
    until(lambda: not folder.exists())


def test_what_cannot_be_undone_is_named() -> None:
    guard = Guard(patience=0.1)
    guard.note("file", "/proc/self/status")
    with pytest.raises(LeftBehindError, match="file /proc/self/status"):
        guard.close()
