"""Shared by all tests: markers that set themselves, and a check that nothing outlives its test."""

import contextlib
import gc
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, settings
from pytestqt.qtbot import QtBot

from tests.allowed_skips import complaint
from tests.host_shells import behind, shell_session
from tests.lab_sshd import lab_host, lab_keys, start_lab_host
from tests.printed_json import checked_json_text
from tests.processes import job_groups, members, processes_with, removed, until
from tests.short_probe import few_programs

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# Tests start Benchwright hundreds of times. Without compiled modules each start compiles all of it anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shim of pyenv starts twenty processes to name its version, each time this computer's facts are read.
_without_shims = os.pathsep.join(each for each in os.environ["PATH"].split(os.pathsep) if not each.endswith("/shims"))
if shutil.which("python3", path=_without_shims):
    os.environ["PATH"] = _without_shims

# Under nohup, or in the background of a script, signals are ignored, and so they would be in every program that a test
# starts and then interrupts. A handler of our own ends with exec.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else lambda _number, _frame: None)

# Thousands of collected tests stay until the end: the collector of garbage need not look through them again and again.
gc.disable()

EXPLORING = bool(os.environ.get("BENCHWRIGHT_EXPLORE"))

# A busy computer is slow, not wrong. What decides whether a change may land is the same each time, and takes a quarter
# of hypothesis' own number of examples; the long tests look for inputs that nobody thought of.
settings.register_profile(
    "patient",
    deadline=None,
    max_examples=100 if EXPLORING else 25,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not EXPLORING,
)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _short_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watch a host's background load for as long as reading its facts takes, not for seconds before each run."""
    monkeypatch.setattr("remote.probe.WATCH", 0.0)
    monkeypatch.setattr("remote.probe.LOOK", 0.1)


@pytest.fixture(autouse=True)
def _printed_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the JSON of every verb against its published schema."""
    monkeypatch.setattr("app.cli.common.json_text", checked_json_text)


@pytest.fixture(autouse=True)
def _no_check_fails(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which a check raises an exception, which the program survives."""
    failed = _Collected()
    log = logging.getLogger("suites.checks")
    log.addHandler(failed)
    yield
    log.removeHandler(failed)
    assert request.node.get_closest_marker("failing_check") or not failed.messages, failed.messages


class _Collected(logging.Handler):
    """Collects the messages of a log."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one message with its exception."""
        self.messages.append(f"{record.getMessage()}: {record.exc_info and record.exc_info[1]!r}")


__all__ = [
    "behind",
    "few_programs",
    "lab_host",
    "lab_keys",
    "shell_session",
    "start_lab_host",
]  # fixtures for every test

GRACE = 30.0
"""Seconds a thread that was told to end may take to do so, on a computer that is busy with other tests."""

LONGEST = ("lab", "widgets")
"""The folders whose files take longest, longest first."""

PATIENCE = 60_000
"""Milliseconds to wait for what a window does; a limit against hanging only."""


@pytest.fixture
def qtbot(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[QtBot]:
    """Yield the bot of pytest-qt, whose own limit is 5 s; fail the test that leaves a mouse button pressed."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QGuiApplication

    for wait in ("waitSignal", "waitUntil", "waitExposed"):
        monkeypatch.setattr(qtbot, wait, partial(getattr(qtbot, wait), timeout=PATIENCE))
    yield qtbot
    assert QGuiApplication.mouseButtons() == Qt.MouseButton.NoButton, "the next test would begin with a drag"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for a Qt fixture as `gui`, and what is under tests/lab as `lab`; put the longest files first."""
    items.sort(key=lambda item: next((at for at, name in enumerate(LONGEST) if name in item.path.parts), len(LONGEST)))
    for item in items:
        names = getattr(item, "fixturenames", ())
        if "qapp" in names or "qtbot" in names:
            item.add_marker(pytest.mark.gui)
        if "lab" in item.path.parts:
            item.add_marker(pytest.mark.lab)
    _mark_slow_cases(items)


def _mark_slow_cases(items: list[pytest.Item]) -> None:
    """Mark the cases of a test that are not among its quick ones as `slow`."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("quick") is not None and item.get_closest_marker("slow") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for found in cases.values():
        marker = found[0].get_closest_marker("quick")
        assert marker is not None
        (count,) = marker.args
        chosen = {place * (len(found) - 1) // max(1, count - 1) for place in range(count)}
        for place, item in enumerate(found):
            if place not in chosen:
                item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Collect garbage from here on, among what the tests themselves make."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that is skipped for what a package would mend, where that decides whether a change lands."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and call.excinfo is not None:
        needless = complaint(str(call.excinfo.value))
        if needless:
            report.outcome, report.longrepr = "failed", needless
    return report


_broken: list[str] = []
"""Crashed workers of xdist and failed collections, for which xdist ends with the exit status of a failed test."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a crashed worker, which xdist reports as a test without a phase."""
    if report.failed and report.when not in {"setup", "call", "teardown"}:
        _broken.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a failed collection."""
    if report.failed:
        _broken.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Do not end with the status of a failed test if tests did not run: `make test` repeats failed tests only."""
    if _broken and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    """Fail the test that leaves a thread running, naming the thread."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + GRACE
    left: list[threading.Thread] = []
    while time.monotonic() < deadline:
        left = [thread for thread in threading.enumerate() if thread not in before and thread.is_alive()]
        if not left:
            return
        left[0].join(0.05)
    pytest.fail(f"threads outlive the test: {', '.join(thread.name for thread in left)}")


@pytest.fixture(autouse=True)
def no_timer_outlives_its_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the gui test that leaves a QTimer running without a parent widget to stop it."""
    if "qapp" not in request.fixturenames and "qtbot" not in request.fixturenames:
        yield
        return
    from PySide6.QtCore import QTimer

    started: list[QTimer] = []
    original = QTimer.start

    def start(timer: QTimer, *arguments: object) -> None:
        started.append(timer)
        original(timer, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QTimer, "start", start)
        yield
    import shiboken6

    left = [timer for timer in started if shiboken6.isValid(timer) and timer.isActive() and timer.parent() is None]
    assert not left, f"{len(left)} timers without a parent outlive the test"


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all homes. Pytest would read the names of all before it to make one."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def own_home(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give every test a home of its own, so that none reads or writes the user's hosts, keys or library.

    A job outlives the Benchwright that a test has killed, and the connection that it has cut. Whatever still measures
    when the test has ended would take the processors from the others: it is ended.
    """
    home = Path(mkdtemp(prefix="", dir=homes))
    monkeypatch.setenv("HOME", str(home))
    for variable, folder in (
        ("XDG_DATA_HOME", "data"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_STATE_HOME", "state"),
    ):
        monkeypatch.setenv(variable, str(home / folder))
    leases = home / "leases"
    leases.mkdir()
    monkeypatch.setenv("BENCHWRIGHT_LEASES", str(leases))  # two tests at once do not measure one host
    monkeypatch.setenv("MPLCONFIGDIR", str(homes / "fonts"))  # listed once, not by each call
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.delenv("BENCHWRIGHT_STORE", raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    yield
    if leases.is_dir() and any(leases.iterdir()):
        left = processes_with(f"BENCHWRIGHT_LEASES={leases}")
        groups = {group for pid in left for group in job_groups(pid)}
        for pid in {*left, *(pid for group in groups for pid in members(group))}:
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, signal.SIGKILL)
        for group in sorted(groups, reverse=True):  # which the leader of the job would have removed
            until(partial(removed, group))
