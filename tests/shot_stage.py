"""The stage on which pictures of the window are taken: a home of its own, hosts, a store, and a way to wait."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.hosts.hosts import HostEntry
from app.services import Workstation
from tests.event_loop import process_events_while
from tests.shot_checks import problems_of
from widgets import jobs, theme
from widgets.compare.compare_page import ComparePage
from widgets.fleet.fleet_page import FleetPage
from widgets.hosts.hosts_page import HostsPage
from widgets.investigations.investigation_page import InvestigationPage
from widgets.library.library_page import LibraryPage
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.outputs.judge_page import JudgePage
from widgets.page import Page, PageName
from widgets.wizard.measure_page import MeasurePage

W = TypeVar("W", bound=QWidget)
P = TypeVar("P", bound=Page)

PATIENCE = 20.0
"""Seconds that what is under way may take before a picture is taken of it as it is."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to look at everything: colours, size of the window, density of the screen, size of the text."""

    name: str
    appearance: theme.Appearance
    size: tuple[int, int] = (1280, 800)
    scale: float = 1
    text: float = 1


VARIANTS = (
    Variant("light", theme.Appearance.LIGHT),
    Variant("dark", theme.Appearance.DARK),
    Variant("light-narrow", theme.Appearance.LIGHT, (900, 640)),
    Variant("dark-1024", theme.Appearance.DARK, (1024, 700)),
    Variant("light-1920", theme.Appearance.LIGHT, (1920, 1080)),
    Variant("dark-200", theme.Appearance.DARK, scale=2),
    Variant("light-large-text", theme.Appearance.LIGHT, text=1.5),
)


NAMES: dict[type[Page], PageName] = {
    HostsPage: PageName.HOSTS,
    MeasurePage: PageName.MEASURE,
    LivePage: PageName.LIVE,
    LibraryPage: PageName.LIBRARY,
    ComparePage: PageName.COMPARE,
    FleetPage: PageName.FLEET,
    JudgePage: PageName.JUDGE,
    InvestigationPage: PageName.INVESTIGATIONS,
}


def opened(window: MainWindow, page: type[P]) -> P:
    """Show a page of `window` and return it."""
    shown = window.show_page(NAMES[page])
    if not isinstance(shown, page):
        raise TypeError(f"{NAMES[page]} could not be opened")
    return shown


@dataclass(slots=True)
class Stage:
    """What a picture is made of. Widgets handed to keep() are closed after it was taken."""

    workstation: Workstation
    variant: Variant
    problems: list[str] = field(default_factory=list)
    _kept: list[QWidget] = field(default_factory=list)

    def window(self) -> MainWindow:
        """Return a fresh window, shown, with everything read that it reads by itself."""
        window = self.keep(MainWindow(self.workstation))
        window.resize(*self.variant.size)
        window.show()
        self.settle()
        return window

    def keep(self, widget: W) -> W:
        """Close `widget` after the picture."""
        self._kept.append(widget)
        return widget

    def settle(self, until: Callable[[], bool] = lambda: not jobs.running()) -> None:
        """Let Qt work until `until` holds and everything is painted."""
        deadline = time.monotonic() + PATIENCE
        process_events_while(lambda: not until() and time.monotonic() < deadline)
        for _ in range(20):  # a page may make its plots one after the other
            QApplication.processEvents()

    def clear(self) -> None:
        """Close everything."""
        for widget in self._kept:
            widget.close()
            widget.deleteLater()
        self._kept.clear()
        self.settle()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


Shot = tuple[str, Callable[[Stage], QWidget]]
"""A picture's name, and what makes the widget that is on it."""


@contextmanager
def stage(folder: Path, variant: Variant) -> Iterator[Stage]:
    """Give a stage with a home in `folder`: an ssh config with a few aliases and one saved host."""
    os.environ["HOME"] = str(folder)
    for part in ("config", "data", "state"):
        os.environ[f"XDG_{part.upper()}_HOME"] = str(folder / part)
    os.environ["BENCHWRIGHT_LEASES"] = str(folder / "leases")  # who else measures here does not keep us from pictures
    os.environ.pop("SSH_AUTH_SOCK", None)
    (folder / "leases").mkdir(exist_ok=True)
    _furnish(folder)
    workstation = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
    workstation.save_hosts(HostEntry("web-1", host_name="192.0.2.14", port=2222, user="ann", jump="bastion"))
    theme.set_appearance(variant.appearance)
    made = Stage(workstation, variant)
    try:
        yield made
    finally:
        made.clear()
        workstation.close()


def _furnish(folder: Path) -> None:
    ssh = folder / ".ssh"
    ssh.mkdir(parents=True, exist_ok=True)
    aliases = ("bastion", "db-primary", "db-replica")
    (ssh / "config").write_text("".join(f"Host {alias}\n  HostName 127.0.0.1\n  Port 1\n" for alias in aliases))


def take(shots: Sequence[Shot], made: Stage, folder: Path) -> list[Path]:
    """Take every picture of `shots` into `folder`; return the files."""
    taken = []
    for name, make in shots:
        widget = make(made)
        made.settle()
        made.problems += [f"{name}.{made.variant.name}: {problem}" for problem in problems_of(widget)]
        path = folder / f"{name}.{made.variant.name}.png"
        widget.grab().save(str(path))
        taken.append(path)
        made.clear()
    return taken
