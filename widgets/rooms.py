"""Which page stands in which room, and what each may ask of the others. Pages are made when first visited."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from app.events import LibraryChanged
from app.plans.plan import Plan
from app.questions import Asker
from app.runs.left import LeftRun
from app.services import Workstation
from widgets.page import Page
from widgets.rail import Room

if TYPE_CHECKING:
    from widgets.compare.compare_page import ComparePage
    from widgets.help_page import HelpPage
    from widgets.hosts.hosts_page import HostsPage
    from widgets.library.library_page import LibraryPage
    from widgets.live.live_page import LivePage
    from widgets.measure.measure_page import MeasurePage

log = logging.getLogger(__name__)


class Door(Protocol):
    """What the window does for its pages."""

    def show_room(self, room: Room) -> Page | None:
        """Bring the page of `room` to the front and return it, or None where it could not be opened."""
        ...

    def show_running(self, summary: str) -> None:
        """Show everywhere what is running."""
        ...

    def run_ended(self) -> None:
        """The run under way has ended."""
        ...

    def show_library_change(self, change: LibraryChanged) -> None:
        """Say whether the library takes the run under way."""
        ...

    def say(self, text: str, more: str) -> None:
        """Tell something that must be read before one goes on."""
        ...

    def ask_where_to_export(
        self, runs: Sequence[str], name: str, margin: float | None = None, overruled: str = ""
    ) -> None:
        """Ask where `runs` are to be written, and write them; several are compared by `margin`, `overruled` or not."""
        ...


class Rooms:
    """Makes pages and passes on what one asks of another. It keeps no state but the pages themselves."""

    def __init__(self, workstation: Workstation, asker: Asker, door: Door) -> None:
        self._workstation = workstation
        self._asker = asker
        self._door = door
        self._pages: dict[Room, Page] = {}
        self._makers: dict[Room, Callable[[], Page]] = {
            Room.HOSTS: self._make_hosts,
            Room.MEASURE: self._make_measure,
            Room.LIVE: self._make_live,
            Room.LIBRARY: self._make_library,
            Room.COMPARE: self._make_compare,
            Room.HELP: self._make_help,
        }

    def made(self, room: Room) -> Page | None:
        """Return the page of `room` if it was visited already."""
        return self._pages.get(room)

    def page(self, room: Room) -> Page | None:
        """Return the page of `room`, made now if need be; None where it could not be opened, which the log explains."""
        if room not in self._pages:
            try:
                self._pages[room] = self._makers[room]()
                self._pages[room].help_requested.connect(self.show_help)
            except Exception:
                # Whatever is wrong with one page, the others and a running measurement must stay usable.
                log.exception("the page %s could not be opened", room.value)
                return None
        return self._pages[room]

    @property
    def live(self) -> "LivePage | None":
        """The live page, if it was visited already."""
        return cast("LivePage | None", self._pages.get(Room.LIVE))

    # What pages ask of each other, in the order of the story

    def measure(self, hosts: list[str]) -> None:
        """Begin a plan for `hosts`."""
        if page := self._door.show_room(Room.MEASURE):
            cast("MeasurePage", page).begin(hosts)

    def measure_quickly(self, host: str) -> None:
        """Begin the quick benchmark of `host`."""
        if page := self._door.show_room(Room.MEASURE):
            cast("MeasurePage", page).begin_quick(host)

    def open_plan(self, plan: Plan) -> None:
        """Begin with a plan there is."""
        if page := self._door.show_room(Room.MEASURE):
            cast("MeasurePage", page).load(plan)

    def run(self, plan: Plan, basis: Plan | None) -> None:
        """Run `plan`, which was made here of `basis`, and show it live."""
        consents = self._workstation.consents
        page = cast("LivePage | None", self._door.show_room(Room.LIVE))
        if page is not None and not page.start_run(plan, made=lambda: consents.made_here(plan, basis)):
            self._door.say(
                "A measurement is running",
                "Two at a time would disturb each other. Stop it or wait for its end; the plan stays on Measure.",
            )

    def attach(self, left: LeftRun, *, stop: bool = False) -> None:
        """Go on with a detached run, or end it in order, and show it live."""
        if (page := self._door.show_room(Room.LIVE)) and not cast("LivePage", page).attach_run(left, stop=stop):
            self._door.say(
                "A measurement is running",
                "Stop it or wait for its end; the detached run stays as it is.",
            )

    def show_run(self, run_id: str) -> None:
        """Show a run in the library."""
        if page := self._door.show_room(Room.LIBRARY):
            cast("LibraryPage", page).show_run(run_id)

    def compare(self, runs: list[str]) -> None:
        """Compare `runs` with the first of them."""
        if page := self._door.show_room(Room.COMPARE):
            cast("ComparePage", page).compare(runs)

    def show_help(self, topic: str) -> None:
        """Show the help page about `topic`."""
        if page := self._door.show_room(Room.HELP):
            cast("HelpPage", page).show_topic(topic)

    def add_host(self) -> None:
        """Ask for a host."""
        if page := self._door.show_room(Room.HOSTS):
            cast("HostsPage", page).add_host()

    def _run_finished(self) -> None:
        """Let everybody who shows runs know of the one that has ended."""
        self._door.run_ended()
        self.refresh_library()

    def refresh_library(self) -> None:
        """Let the library, if it was visited already, show which runs there are by now."""
        library = cast("LibraryPage | None", self._pages.get(Room.LIBRARY))
        if library is not None:
            library.refresh()

    def _make_hosts(self) -> Page:
        from widgets.hosts.hosts_page import HostsPage

        page = HostsPage(self._workstation, self._asker)
        page.measure_requested.connect(self.measure)
        page.quick_requested.connect(self.measure_quickly)
        return page

    def _make_measure(self) -> Page:
        from widgets.measure.measure_page import MeasurePage

        page = MeasurePage(self._workstation, self._asker)
        page.run_requested.connect(self.run)
        return page

    def _make_live(self) -> Page:
        from widgets.live.live_page import LivePage

        page = LivePage(self._workstation, self._asker)
        page.summary_changed.connect(self._door.show_running)
        page.run_finished.connect(lambda _run_id: self._run_finished())
        page.library_changed.connect(self._door.show_library_change)
        page.show_run_requested.connect(self.show_run)
        page.measure_requested.connect(lambda: self._door.show_room(Room.MEASURE))
        page.plan_chosen.connect(self.open_plan)
        page.export_requested.connect(lambda run_id: self._door.ask_where_to_export([run_id], run_id))
        return page

    def _make_library(self) -> Page:
        from widgets.library.library_page import LibraryPage

        page = LibraryPage(self._workstation, self._asker)
        page.compare_requested.connect(self.compare)
        page.repeat_requested.connect(self.open_plan)
        page.export_requested.connect(self._door.ask_where_to_export)
        page.measure_requested.connect(lambda: self._door.show_room(Room.MEASURE))
        page.quick_requested.connect(self.measure_quickly)
        return page

    def _make_compare(self) -> Page:
        from widgets.compare.compare_page import ComparePage

        page = ComparePage(self._workstation, self._asker)
        page.show_run_requested.connect(self.show_run)
        page.library_requested.connect(lambda: self._door.show_room(Room.LIBRARY))
        page.export_requested.connect(self._door.ask_where_to_export)
        return page

    def _make_help(self) -> Page:
        from widgets.help_page import HelpPage

        return HelpPage(self._workstation, self._asker)
