"""The window as a process: it opens, and a signal closes it in order."""

import select
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from app.services import Workstation
from widgets.window_start import open_window

application = QApplication([])
QTimer.singleShot(0, lambda: print("open", flush=True))
sys.exit(open_window(Workstation(Path(sys.argv[1]) / "runs.sqlite3", Path(sys.argv[1]) / "hosts.toml")))
"""


@pytest.mark.gui
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_closes_the_window_in_order(tmp_path: object, number: signal.Signals) -> None:
    words = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert select.select([process.stdout], [], [], 30)[0]
            assert process.stdout.readline() == "open\n"
            process.send_signal(number)
            assert process.wait(timeout=60) == 0
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()


FROZEN = """
import gc
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from app.services import Workstation
from widgets import window_start

window_start.LOADED = 0
application = QApplication([])
QTimer.singleShot(500, application.quit)
window_start.open_window(Workstation(Path(sys.argv[1]) / "runs.sqlite3", Path(sys.argv[1]) / "hosts.toml"))
print(gc.get_freeze_count())
"""


@pytest.mark.slow
@pytest.mark.gui
def test_what_is_loaded_is_left_out_of_full_collections(tmp_path: object) -> None:
    words = [sys.executable, "-c", FROZEN, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) > 10_000


AHEAD = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from app.services import Workstation
from widgets import jobs, window_start
from widgets.pages import PAGE_MODULES

window_start.SETTLED = 0
application = QApplication([])
timer = QTimer()
timer.timeout.connect(lambda: application.quit() if set(PAGE_MODULES) <= sys.modules.keys() else None)
timer.start(20)
window_start.open_window(Workstation(Path(sys.argv[1]) / "runs.sqlite3", Path(sys.argv[1]) / "hosts.toml"))
"""


@pytest.mark.slow
@pytest.mark.gui
def test_pages_are_imported_before_they_are_shown(tmp_path: object) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", AHEAD, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert "QObject" not in ended.stderr, "none belongs to the thread that imports"
