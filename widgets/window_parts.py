"""Interface of the window that its menus, actions and sidebar links use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QMenuBar

from widgets.hosts.host_bars import DetachedBar
from widgets.library_digests import LibraryDigests
from widgets.page import Page, PageName
from widgets.pages import Pages
from widgets.presence import Presence
from widgets.queue_bar import QueueBar
from widgets.sidebar.sidebar import Sidebar, SidebarSplitter
from widgets.undo import UndoStack

if TYPE_CHECKING:
    from widgets.live.live_page import LivePage


class WindowParts(Protocol):
    """The parts of the window, and what can be done with it; see MainWindow."""

    pages: Pages
    undo: UndoStack
    digests: LibraryDigests
    sidebar: Sidebar
    frame: SidebarSplitter
    presence: Presence
    detached_bar: DetachedBar
    queue_bar: QueueBar

    @property
    def runs_changed(self) -> SignalInstance:
        """Emitted when a run of the window has changed."""
        ...

    @property
    def page_created(self) -> SignalInstance:
        """Emitted when a page was shown for the first time."""
        ...

    def menuBar(self) -> QMenuBar:
        """Return the menu bar."""
        ...

    def show_page(self, name: PageName) -> Page | None:
        """Show the page `name` and return it, or None if it could not be opened."""
        ...

    def show_help(self, topic: str) -> None:
        """Show the help page of `topic`."""
        ...

    def help_here(self) -> None:
        """Show the help on the focused widget, else on the page that is shown."""
        ...

    def show_message(self, text: str, more: str) -> None:
        """Show a modal message."""
        ...

    def toggle_issues(self) -> None:
        """Fold or open the issues drawer of the page, if it has one."""
        ...

    def choose_plan_file(self) -> None:
        """Ask for a plan file and open it."""
        ...

    def import_runs(self) -> None:
        """Ask for the library file of another Benchwright, and whether to import its runs."""
        ...

    def export_library(self) -> None:
        """Export the selected runs of the library as a library file."""
        ...

    def choose_library(self) -> None:
        """Ask for another library, in a file or on a server, and open it."""
        ...

    def back_up(self) -> None:
        """Ask for a new file and copy the whole library to it."""
        ...

    def export(self) -> None:
        """Export the content of the current page."""
        ...

    def close(self) -> bool:
        """Close the window; return whether it was closed."""
        ...

    def open_palette(self) -> None:
        """Open the palette over every command, host, run and setting."""
        ...

    def next_run(self, step: int = 1) -> None:
        """Show the next run live, or the previous one (`step` -1)."""
        ...

    def on_live(self, act: Callable[["LivePage"], object]) -> None:
        """Apply `act` to the page Live, if it exists."""
        ...
