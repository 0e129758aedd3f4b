"""Started by nohup, or in the background of a script: what is ignored stays so, and nobody inherits it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import allowed_skips
from tests.program import FAILED, environment

ROOT = Path(__file__).parents[2]
INHERITED = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT}

CHILD = """
import signal
from app.signals import replace_ignored_signals, survives_hang_up
from remote.local import LocalSession
replace_ignored_signals()
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.raise_signal(number)
print(survives_hang_up())
print(LocalSession().run(["grep", "SigIgn", "/proc/self/status"]).stdout.decode().split()[1])
"""


def ignored(*words: str, traps: str = "HUP INT QUIT", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with `words` as nohup and a background shell do it."""
    command = ["sh", "-c", f'trap "" {traps}; exec "$@"', "sh", sys.executable, *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=environment(**variables), cwd=ROOT
    )


def test_signals_stay_ignored_here_and_nowhere_else() -> None:
    done = ignored("-c", CHILD)
    assert (done.returncode, done.stderr) == (0, "")
    survives, mask = done.stdout.split()
    assert survives == "True"
    assert [number for number in INHERITED if int(mask, 16) >> (number - 1) & 1] == []


def test_a_hang_up_is_minded_unless_it_was_ignored() -> None:
    words = "from app.signals import replace_ignored_signals as keep, survives_hang_up as survives; keep()"
    assert ignored("-c", f"{words}; print(survives())", traps="INT").stdout == "False\n"


WINDOW = """
import os, signal, sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from app.signals import replace_ignored_signals
from widgets.shutdown import signals_handled
replace_ignored_signals()
application = QApplication([])
QTimer.singleShot(100, lambda: os.kill(os.getpid(), signal.SIGHUP))
QTimer.singleShot(600, lambda: os.kill(os.getpid(), signal.SIGTERM))
QTimer.singleShot(300, lambda: print("goes on", flush=True))
with signals_handled(application.quit):
    application.exec()
"""


@pytest.mark.gui
@pytest.mark.parametrize(("traps", "shown"), [("HUP", "goes on\n"), ("QUIT", "")], ids=["nohup", "plain"])
def test_a_window_under_nohup_stays_open_when_its_terminal_closes(traps: str, shown: str) -> None:
    done = ignored("-c", WINDOW, traps=traps, QT_QPA_PLATFORM="offscreen")
    assert (done.returncode, done.stdout) == (0, shown), done.stderr


TESTS = """
import signal
import subprocess

import pytest

def test_signals() -> None:
    said = subprocess.run(["grep", "SigIgn", "/proc/self/status"], capture_output=True, check=True).stdout
    assert not int(said.split()[1], 16) & 0b111
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

@pytest.mark.skipif(True, reason="hpcc is not installed")
def test_marked() -> None: ...

def test_skipped() -> None:
    pytest.skip("needs root, sudo and unshare")

def test_of_the_kernel() -> None:
    pytest.skip("this kernel counts no disks")

@pytest.mark.xfail(reason="known")
def test_known() -> None:
    assert False
"""


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("ci", "counts"),
    [("true", "1 failed, 1 passed, 1 skipped, 1 xfailed, 1 error"), ("", "1 passed, 3 skipped, 1 xfailed")],
)
def test_tests_set_their_signals_and_what_a_package_would_mend_is_not_skipped(
    tmp_path: Path, ci: str, counts: str
) -> None:
    (tmp_path / "test_x.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    folders = (f"--basetemp={tmp_path / 'base'}", str(tmp_path))  # or it would remove those of earlier runs
    words = ("-m", "pytest", "-p", "tests.conftest", "-c", str(tmp_path / "pytest.ini"), *folders)
    done = ignored(*words, CI=ci, PYTHONPATH=str(ROOT))
    assert counts in done.stdout, done.stdout + done.stderr
    assert ("hpcc is not installed" in done.stdout) == bool(ci)


@pytest.mark.parametrize(
    ("reason", "may"),
    [
        ("Skipped: this kernel takes no swap file here", True),
        ("root may write everywhere", True),
        ("not staged, because it needs root", True),
        ("not staged, because stress-ng is not installed", False),
        ("zsh is not installed", False),
        ("needs root, sudo and unshare", False),
        ("could not import 'nothing'", False),
    ],
)
def test_the_reasons_for_which_a_test_may_be_skipped(
    reason: str, *, may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    assert (allowed_skips.complaint(reason) == "") is may
    monkeypatch.delenv("CI")
    assert allowed_skips.complaint(reason) == ""


INTERRUPTED = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)
from app.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["app.services", "app.cli.main", "click"])
def test_an_interrupt_while_modules_are_imported_ends_without_a_traceback(module: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=environment(), cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (FAILED, "\nAborted!\n")
