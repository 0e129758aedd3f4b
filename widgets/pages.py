"""The pages of the window, created on first use, and the navigation between them."""

import logging
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from app.comparison.criteria import DEFAULT_CRITERIA, ComparisonCriteria
from app.detached_runs import DetachedRun
from app.events import LibraryChanged
from app.fleet_study import FleetStudy
from app.investigation import Investigation
from app.paths import log_path
from app.plans.plan import Plan
from app.questions import Asker
from app.services import Workstation
from app.session_series import SessionSeries
from widgets.fleet.fleet_runs import FleetRuns, study_of
from widgets.jobs import BackgroundJob, collection_paused
from widgets.library_digests import LibraryDigests
from widgets.page import SIGNS, Page, PageName
from widgets.parts.dialogs import opened
from widgets.parts.empty_state import EmptyState
from widgets.parts.help_topics import set_help
from widgets.run_strip import StripLine
from widgets.undo import UndoStack

if TYPE_CHECKING:
    from app.fleet.watching import WatchedRun
    from widgets.compare.compare_page import ComparePage
    from widgets.fleet.fleet_page import FleetPage
    from widgets.help_page import HelpPage
    from widgets.hosts.hosts_page import HostsPage
    from widgets.investigations.investigation_page import InvestigationPage
    from widgets.library.library_page import LibraryPage
    from widgets.live.live_page import LivePage
    from widgets.outputs.judge_page import JudgePage
    from widgets.wizard.measure_page import MeasurePage

log = logging.getLogger(__name__)


PAGE_MODULES = tuple(
    f"widgets.{name}"
    for name in (
        "library.library_page", "wizard.measure_page", "outputs.judge_page", "compare.compare_page", "live.live_page",
        "investigations.investigation_page", "help_page", "fleet.fleet_page",
    )
)  # fmt: skip
"""The modules of the pages, those that are likely shown first before the others."""


def load_pages() -> Iterator[None]:
    """Import what the pages need, in steps: otherwise the window waits for it when a page is shown first."""
    for name in PAGE_MODULES:
        with collection_paused():
            import_module(name)
        yield


class WindowServices(Protocol):
    """Interface of the window that the pages use."""

    fleet_runs: FleetRuns

    def show_page(self, name: PageName) -> Page | None:
        """Show the page `name` and return it, or None if it could not be opened."""
        ...

    def show_running(self, summary: str) -> None:
        """Show the run of the page Live, if it is under way."""
        ...

    def show_lines(self, lines: Sequence[StripLine], front: str) -> None:
        """Show every run; `front` is the key of that on the page Live."""
        ...

    def run_ended(self) -> None:
        """Update the window after the end of a run."""
        ...

    def show_library_change(self, change: LibraryChanged) -> None:
        """Show whether the library can store the run under way."""
        ...

    def show_message(self, text: str, more: str) -> None:
        """Show a modal message."""
        ...

    def open_export(self, runs: Sequence[str], name: str, criteria: ComparisonCriteria = DEFAULT_CRITERIA) -> None:
        """Open the export dialog for `runs`."""
        ...

    def write_library(self, runs: Sequence[str], path: Path) -> None:
        """Write `runs` to a new library at `path`."""
        ...


class Pages:
    """Creates pages and forwards requests between them. Its only state is the pages."""

    def __init__(
        self,
        workstation: Workstation,
        asker: Asker,
        services: WindowServices,
        undo: UndoStack,
        digests: LibraryDigests,
    ) -> None:
        self._workstation = workstation
        self._asker = asker
        self._services = services
        self._undo, self._digests = undo, digests
        self._pages: dict[PageName, Page] = {}
        self._makers: dict[PageName, Callable[[], Page]] = {
            PageName.HOSTS: self._make_hosts,
            PageName.MEASURE: self._make_measure,
            PageName.LIVE: self._make_live,
            PageName.LIBRARY: self._make_library,
            PageName.COMPARE: self._make_compare,
            PageName.FLEET: self._make_fleet,
            PageName.JUDGE: self._make_judge,
            PageName.INVESTIGATIONS: self._make_investigations,
            PageName.HELP: self._make_help,
        }

    def existing(self, name: PageName) -> Page | None:
        """Return the page `name` if it exists already."""
        return self._pages.get(name)

    def page(self, name: PageName) -> Page | None:
        """Return the page `name`, creating it if necessary; None if that failed (see the log)."""
        if name not in self._pages:
            try:
                self._pages[name] = self._makers[name]()
                self._pages[name].help_requested.connect(self.show_help)
                set_help(self._pages[name], SIGNS[name].topic)
            except Exception:
                # A bug in one page must not affect the others or a run under way.
                log.exception("the page %s could not be opened", name.value)
                return None
        return self._pages[name]

    @property
    def live(self) -> "LivePage | None":
        """The live page, if it exists already."""
        return cast("LivePage | None", self._pages.get(PageName.LIVE))

    @property
    def investigations(self) -> "InvestigationPage | None":
        """The page of investigations, if it exists already."""
        return cast("InvestigationPage | None", self._pages.get(PageName.INVESTIGATIONS))

    # Requests between pages

    def measure(self, hosts: list[str]) -> None:
        """Start a plan for `hosts`."""
        if page := self._services.show_page(PageName.MEASURE):
            cast("MeasurePage", page).begin(hosts)

    def measure_quickly(self, host: str) -> None:
        """Run the quick benchmark of `host` at once and show it live."""
        if page := self._services.show_page(PageName.LIVE):
            cast("LivePage", page).start_quick(host)

    def open_plan(self, plan: Plan) -> None:
        """Open `plan` on New test."""
        if page := self._services.show_page(PageName.MEASURE):
            cast("MeasurePage", page).load(plan)

    def open_plan_file(self, path: Path) -> None:
        """Open the plan at `path` on New test, which shows why it cannot be read."""
        if page := self._services.show_page(PageName.MEASURE):
            cast("MeasurePage", page).open_from(path)

    def open_job_file(self, path: Path) -> None:
        """Open a fio job file on New test."""
        if page := self._services.show_page(PageName.MEASURE):
            cast("MeasurePage", page).load_job_file(path)

    def judge(self, paths: Sequence[Path]) -> None:
        """Judge the outputs in files and folders."""
        if page := self._services.show_page(PageName.JUDGE):
            cast("JudgePage", page).judge(paths)

    def run(self, plan: Plan, basis: Plan | None) -> None:
        """Run `plan`, which was made in this window from `basis`, as soon as its hosts are free; show it live."""
        consents = self._workstation.consents
        if page := self._services.show_page(PageName.LIVE):
            cast("LivePage", page).start_run(plan, made=lambda: consents.remember_made(plan, basis))

    def run_again(self, plan: Plan) -> None:
        """Run the plan of a stored run as soon as its hosts are free; show it live."""
        if page := self._services.show_page(PageName.LIVE):
            cast("LivePage", page).start_run(plan)

    def run_session(self, series: SessionSeries, *, show: bool) -> None:
        """Run the next session of `series` as soon as its hosts are free; `show` it live."""
        page = self._services.show_page(PageName.LIVE) if show else self.page(PageName.LIVE)
        if page is not None:
            cast("LivePage", page).start_run(series.session_plan(), series=series.id, show=show)

    def attach(self, run: DetachedRun, *, stop: bool = False) -> None:
        """Attach a detached run, or `stop` it, and show it live."""
        if page := self._services.show_page(PageName.LIVE):
            cast("LivePage", page).attach_run(run, stop=stop)

    def run_queue(self) -> None:
        """Start what an earlier Benchwright left in the queue, and show it live."""
        if page := self._services.show_page(PageName.LIVE):
            cast("LivePage", page).runs.adopt()

    def show_live(self, key: str) -> None:
        """Show the run with a key of the strip live, or the board of the fleet study with it."""
        if study := study_of(key):
            self.show_study(study)
        elif page := self._services.show_page(PageName.LIVE):
            cast("LivePage", page).show_key(key)

    def show_study(self, study: str) -> None:
        """Show the board of a fleet study."""
        if page := self._services.show_page(PageName.FLEET):
            cast("FleetPage", page).show_study(study)

    def resume_study(self, study: FleetStudy) -> None:
        """Run a fleet study that no process runs, and show it."""
        if page := self._services.show_page(PageName.FLEET):
            cast("FleetPage", page).resume(study)

    def watch(self, watched: "WatchedRun") -> None:
        """Show a run that a fleet study of this window carries live."""
        if page := self._services.show_page(PageName.LIVE):
            cast("LivePage", page).watch(watched)

    def new_study(self, plan: Plan | None, words: str = "") -> None:
        """Ask for a new fleet study of `plan`, by default on its hosts."""
        if page := self._services.show_page(PageName.FLEET):
            hosts = () if plan is None else plan.hosts
            cast("FleetPage", page).new_study(plan, words or " ".join(hosts))

    def stop_study(self, study: str) -> None:
        """Ask whether to stop or detach a fleet study that this window runs."""
        if page := self._services.show_page(PageName.FLEET):
            cast("FleetPage", page).ask_to_stop(study)

    def show_host(self, name: str) -> None:
        """Show a host."""
        if page := self._services.show_page(PageName.HOSTS):
            cast("HostsPage", page).table.select(name)

    def show_run(self, run_id: str) -> None:
        """Show a run in the library."""
        if page := self._services.show_page(PageName.LIBRARY):
            cast("LibraryPage", page).show_run(run_id)

    def show_filter(self, text: str) -> None:
        """Show the runs that match a filter in the library."""
        if page := self._services.show_page(PageName.LIBRARY):
            cast("LibraryPage", page).filter_bar.show_search(text)

    def show_trials(self, run_id: str, step: str, host: str) -> None:
        """Show the plots of a step of a run on a host in the library."""
        if page := self._services.show_page(PageName.LIBRARY):
            cast("LibraryPage", page).show_trials(run_id, step, host)

    def compare(self, runs: list[str]) -> None:
        """Compare `runs` with the first one."""
        if page := self._services.show_page(PageName.COMPARE):
            cast("ComparePage", page).compare(runs)

    def investigate(self, selectors: Sequence[str], *, compared: bool | None = None) -> None:
        """Ask for an investigation and add runs, or a comparison of them, to it."""
        from widgets.investigations.add_dialog import AddDialog

        parent = self._services.show_page(PageName.COMPARE if compared else PageName.LIBRARY)
        dialog = AddDialog(self._workstation, selectors, parent, compared=compared)
        dialog.accepted.connect(lambda: self._add(dialog.adder(), dialog.note.text().strip()))
        opened(dialog)

    def _add(self, add: Callable[[], tuple[Investigation, tuple[str, ...]]], note: str) -> None:
        change = self._workstation.change_investigation
        typed = f" Your note: {note}" if note else ""
        self._undo.do(
            add,
            lambda made: change(made[0].id, lambda now: now.without(made[1])),
            "Added to the investigation",
            lambda _text: self.refresh_library(),
            lambda error: self._services.show_message(error.message, f"{error.remedy}{typed}".strip()),
        )

    def show_help(self, topic: str) -> None:
        """Show the help page of `topic`."""
        if page := self._services.show_page(PageName.HELP):
            cast("HelpPage", page).show_topic(topic)

    def add_host(self) -> None:
        """Open the dialog to add a host."""
        if page := self._services.show_page(PageName.HOSTS):
            cast("HostsPage", page).add_host()

    def finish_run(self) -> None:
        """Update the window and the library after the end of a run or of a fleet study."""
        self._services.run_ended()
        self.refresh_library()

    def _end_interrupted(self, page: Page) -> None:
        """Show what is left of a run of another process that has ended: a result, or a run to attach."""
        BackgroundJob(self._workstation.end_interrupted, page).start(finished=self.finish_run)

    def refresh_library(self) -> None:
        """Refresh what is shown of the library; a hidden page is refreshed when it is shown."""
        self._digests.refresh()
        library = cast("LibraryPage | None", self._pages.get(PageName.LIBRARY))
        if library is not None and library.isVisible():
            library.follow()
        compare = cast("ComparePage | None", self._pages.get(PageName.COMPARE))
        if compare is not None and compare.isVisible():
            compare.follow()
        if self.investigations is not None and self.investigations.isVisible():
            self.investigations.follow()

    def _make_hosts(self) -> Page:
        from widgets.hosts.hosts_page import HostsPage

        page = HostsPage(self._workstation, self._asker, self._undo, self._digests)
        page.measure_requested.connect(self.measure)
        page.quick_requested.connect(self.measure_quickly)
        page.fleet_requested.connect(lambda hosts: self.new_study(None, " ".join(hosts)))
        for action in page.actions_of_hosts.on_page():  # it shows their result
            action.triggered.connect(lambda: self._services.show_page(PageName.HOSTS))
        return page

    def _make_measure(self) -> Page:
        from widgets.wizard.measure_page import MeasurePage

        page = MeasurePage(self._workstation, self._asker)
        page.run_requested.connect(self.run)
        page.fleet_requested.connect(self.new_study)
        self._digests.hosts_changed.connect(page.list_hosts)
        return page

    def _make_live(self) -> Page:
        from widgets.live.live_page import LivePage

        page = LivePage(self._workstation, self._asker)
        page.summary_changed.connect(self._services.show_running)
        page.lines_changed.connect(self._services.show_lines)
        page.run_finished.connect(lambda _run_id: self.finish_run())
        page.library_changed.connect(self._services.show_library_change)
        page.runs.others_ended.connect(lambda: self._end_interrupted(page))
        page.show_run_requested.connect(self.show_run)
        page.measure_requested.connect(lambda: self._services.show_page(PageName.MEASURE))
        page.plan_chosen.connect(self.open_plan)
        page.compare_requested.connect(self.compare)
        page.export_requested.connect(lambda run_id: self._services.open_export([run_id], run_id))
        return page

    def _make_library(self) -> Page:
        from widgets.library.library_page import LibraryPage

        page = LibraryPage(self._workstation, self._asker, self._undo)
        page.commands.changed.connect(self._digests.refresh)
        page.compare_requested.connect(self.compare)
        page.again_requested.connect(self.run_again)
        page.repeat_requested.connect(self.open_plan)
        page.export_requested.connect(self._services.open_export)
        page.investigate_requested.connect(self.investigate)
        page.library_export_requested.connect(self._services.write_library)
        page.measure_requested.connect(lambda: self._services.show_page(PageName.MEASURE))
        page.quick_requested.connect(self.measure_quickly)
        return page

    def _make_compare(self) -> Page:
        from widgets.compare.compare_page import ComparePage

        page = ComparePage(self._workstation, self._asker)
        page.show_run_requested.connect(self.show_run)
        page.trials_requested.connect(self.show_trials)
        page.plan_chosen.connect(self.open_plan)
        page.library_requested.connect(lambda: self._services.show_page(PageName.LIBRARY))
        page.export_requested.connect(self._services.open_export)
        page.investigate_requested.connect(lambda sides: self.investigate(sides, compared=True))
        return page

    def _make_fleet(self) -> Page:
        from widgets.fleet.fleet_page import FleetPage

        page = FleetPage(self._workstation, self._asker, self._undo, self._services.fleet_runs)
        page.show_run_requested.connect(self.show_run)
        page.watch_requested.connect(self.watch)
        page.filter_requested.connect(self.show_filter)
        return page

    def _make_judge(self) -> Page:
        from widgets.outputs.judge_page import JudgePage

        page = JudgePage(self._workstation, self._asker)
        page.imported.connect(self.refresh_library)
        return page

    def _make_investigations(self) -> Page:
        from widgets.investigations.investigation_page import InvestigationPage

        page = InvestigationPage(self._workstation, self._asker, self._undo)
        page.show_run_requested.connect(self.show_run)
        page.compare_requested.connect(self.compare)
        page.library_requested.connect(lambda: self._services.show_page(PageName.LIBRARY))
        return page

    def _make_help(self) -> Page:
        from widgets.help_page import HelpPage

        return HelpPage(self._workstation, self._asker)


def failed_page(name: PageName, retry: Callable[[], object]) -> EmptyState:
    """Return what is shown instead of a page that could not be opened."""
    text = f"This is a bug in Benchwright. The other pages work. The traceback is in {log_path()}."
    return EmptyState(f"Cannot open {name.value}", text, "Retry", retry, icon="error")
