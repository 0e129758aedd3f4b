"""The sidebar lists hosts, queue, library and saved searches; its items lead to pages, runs, bars and filters."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QAccessible
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.host_attributes import HostAttributes
from app.hosts.hosts import THIS_COMPUTER, ConnectReport, HostEntry
from app.library_digest import ALL, BASELINES, BIN, TODAY, LibraryDigest
from app.questions import ConnectOutcome, SecretQuestion
from app.services import Workstation
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.hosts.host_connections import HostStatus
from widgets.hosts.hosts_page import HostsPage
from widgets.jobs import BackgroundJob
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.run_strip import ASKS, LineState, StripLine, with_questions
from widgets.sidebar.items import SideItem, SideState
from widgets.sidebar.side_model import ITEM, SideModel
from widgets.sidebar.sidebar import TOOL_ICON
from widgets.theme import scaled
from widgets.wizard.measure_page import MeasurePage

RUN = StripLine("a", "web-1 · fio", "trial 2 of 6", LineState.RUNNING, left="4:10 left", hosts=("web-1",), plan="fio")
HOSTS = [THIS_COMPUTER, HostEntry("web-1"), HostEntry("db-1"), HostEntry("db-2")]


def listed(state: SideState, title: str) -> Sequence[SideItem]:
    """Return the items of a section."""
    return next((section.items for section in state.sections() if section.head.title == title), ())


def test_a_host_shows_what_matters_most_there() -> None:
    refused = HostStatus(report=ConnectReport("db-1", ConnectOutcome.REFUSED, "No."))
    connected = HostStatus(report=ConnectReport("db-2", ConnectOutcome.CONNECTED, ""))
    states = {"db-1": refused, "db-2": connected}
    early = replace(RUN, key="b", hosts=("db-2",), state=LineState.EARLY)
    state = SideState(HOSTS, lambda name: states.get(name, HostStatus()), [RUN, early])
    shown = {item.title: (item.icon, item.detail, item.run) for item in listed(state, "Hosts")}
    assert shown == {
        "This computer": ("this-computer", "", ""),
        "web-1": ("live", "4:10 left", "a"),
        "db-1": ("error", ConnectOutcome.REFUSED.value, ""),
        "db-2": ("good", "connected", ""),
    }
    state.lines = with_questions([RUN, replace(RUN, key="b", hosts=("db-2",))], {"web-1"})
    asking = {item.title: (item.icon, item.detail) for item in listed(state, "Hosts")}
    assert asking["web-1"] == ("warning", ASKS)
    assert asking["db-2"] == ("live", "4:10 left")
    assert next(section.head.detail for section in state.sections() if section.head.key == PageName.LIVE) == ASKS


def test_a_host_of_a_fleet_study_runs_and_leads_to_the_study() -> None:
    study = replace(RUN, key="fleet-f1", left="about 3 h left", fleet=True)
    (host,) = [item for item in listed(SideState(HOSTS, lines=[study]), "Hosts") if item.run]
    assert (host.key, host.detail, host.run) == ("web-1", "running", "fleet-f1")


def test_the_queue_lists_what_waits_and_for_what() -> None:
    state = SideState(
        lines=[
            RUN,
            replace(RUN, key="b", title="web-1 · stream", detail="waits for web-1", state=LineState.WAITING),
            replace(RUN, key="c", state=LineState.QUEUED, detail="waits for db-1"),
            replace(RUN, key="d", state=LineState.EARLY),
        ],
        left={"q1": "disk on web-1"},
        detached=["cpu on db-1"],
    )
    found = [(item.key, item.detail) for item in listed(state, "Queue")]
    assert found[:2] == [("b", "waits for web-1"), ("c", "waits for db-1")]
    assert [key for key, _ in found[2:]] == ["left:q1", "detached:0"]
    assert next(section.head.detail for section in state.sections() if section.head.title == "Queue") == "4"


def test_a_host_whose_connection_is_lost_does_not_run() -> None:
    state = SideState(HOSTS, lines=[replace(RUN, left="", lost=("web-1",))])
    (host,) = [item for item in listed(state, "Hosts") if item.key == "web-1"]
    assert (host.detail, host.icon) == ("connection lost", "warning")


def test_the_library_shows_its_filters_and_searches() -> None:
    digest = LibraryDigest({TODAY: 12, BASELINES: 4, ALL: 230, BIN: 0}, {"slow disks": "suite:fio iops<1k"})
    state = SideState(digest=digest)
    assert [(item.title, item.detail) for item in listed(state, "Library")] == [
        ("Today", "12"),
        ("Baselines", "4"),
        ("All", "230"),
    ]
    assert [item.key for item in listed(state, "Saved searches")] == ["suite:fio iops<1k"]
    assert not listed(SideState(), "Saved searches")


def many_hosts(window: MainWindow) -> None:
    """Show 30 hosts of three groups, one of which has a single host."""
    names = [f"web-{number:02}" for number in range(1, 20)] + [f"db-{number:02}" for number in range(1, 11)]
    entries = [THIS_COMPUTER, *map(HostEntry, names), HostEntry("cache-1")]
    stated = {name: HostAttributes("c7i.large", groups=(name.partition("-")[0],)) for name in names}
    stated["cache-1"] = HostAttributes(instance_type="r7i.large")
    window.sidebar.show_hosts(entries, lambda _name: HostStatus())
    window.sidebar.show_attributes(stated)
    window.sidebar.show_now()


def test_groups_of_many_hosts_are_folded_until_they_are_opened(qtbot: QtBot, window: MainWindow) -> None:
    many_hosts(window)
    view = window.sidebar.view
    state = window.sidebar.state
    assert [item.title for item in listed(state, "Hosts")] == ["This computer", "cache-1"]
    assert (len(listed(state, "web")), len(listed(state, "db"))) == (19, 10)
    assert find(window, "web").data(Qt.ItemDataRole.AccessibleTextRole) == "web, 19"
    assert not view.isExpanded(find(window, "web"))
    click(qtbot, window, "web")
    assert view.isExpanded(find(window, "web"))
    press(qtbot, window, "db")
    assert view.isExpanded(find(window, "db"))
    press(qtbot, window, "db")
    assert not view.isExpanded(find(window, "db"))
    click(qtbot, window, "web-07")
    assert isinstance(window.front, HostsPage)
    again = MainWindow(window.workstation)
    qtbot.addWidget(again)
    again.resize(1280, 700)
    again.show()
    many_hosts(again)
    assert again.sidebar.view.isExpanded(find(again, "web"))
    assert not again.sidebar.view.isExpanded(find(again, "db"))
    again.frame.set_folded(folded=True)
    assert again.sidebar.view.isRowHidden(find(again, "web").row(), QModelIndex())


def test_the_head_of_a_group_counts_its_runs() -> None:
    hosts = [HostEntry(f"web-{number}") for number in range(30)]
    state = SideState(hosts, groups={host.name: "web" for host in hosts}, lines=[RUN])
    heads = {section.head.title: section.head.detail for section in state.sections()}
    assert heads["web"] == "1 running"
    state.lines = with_questions([RUN], {"web-1"})
    assert next(section.head.detail for section in state.sections() if section.head.title == "web") == ASKS


def test_few_hosts_have_no_groups() -> None:
    state = SideState(HOSTS, groups=dict.fromkeys(("web-1", "db-1", "db-2"), "all"))
    assert len(listed(state, "Hosts")) == len(HOSTS)


def test_the_model_is_sound_and_changes_in_place(qtmodeltester: ModelTester) -> None:
    model, state = SideModel(), SideState(HOSTS)
    model.show_sections(list(state.sections()))
    qtmodeltester.check(model)
    state.hosts, state.lines = HOSTS[:2], [RUN]
    model.show_sections(list(state.sections()))
    found = model.find(next(item for item in listed(state, "Hosts") if item.key == "web-1"))
    assert found.data(Qt.ItemDataRole.AccessibleTextRole) == "web-1, 4:10 left"
    qtmodeltester.check(model)


@pytest.fixture
def window(qtbot: QtBot, workstation: Workstation) -> Iterator[MainWindow]:
    copied_library(workstation)
    workstation.save_hosts(HostEntry("web-1", host_name="127.0.0.1", port=1))
    made = MainWindow(workstation)
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.show()
    made.activateWindow()
    qtbot.waitUntil(lambda: len(made.sidebar.state.hosts) > 1 and not jobs.running())
    made.sidebar.show_now()
    yield made
    made.close()
    qtbot.waitUntil(lambda: not jobs.running())


def find(window: MainWindow, title: str) -> QModelIndex:
    """Return the index of the item with a title."""
    view = window.sidebar.view
    return view.content.match(
        view.content.index(0, 0),
        Qt.ItemDataRole.DisplayRole,
        title,
        1,
        Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive,
    )[0]


def press(qtbot: QtBot, window: MainWindow, title: str) -> None:
    """Choose an item by the keyboard."""
    view = window.sidebar.view
    view.setFocus()
    view.setCurrentIndex(find(window, title))
    qtbot.keyClick(view, Qt.Key.Key_Return)


def click(qtbot: QtBot, window: MainWindow, title: str) -> QPoint:
    """Click an item; return where it is."""
    view = window.sidebar.view
    at = view.visualRect(find(window, title)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    return at


def test_items_lead_to_their_page_host_and_filter(qtbot: QtBot, window: MainWindow) -> None:
    click(qtbot, window, "web-1")
    page = window.front
    assert isinstance(page, HostsPage)
    assert page.table.current_host().name == "web-1"
    window.workstation.save_search("fio only", "suite:fio")
    window.digests.refresh()
    qtbot.waitUntil(lambda: bool(window.sidebar.state.digest.searches) and not jobs.running())
    window.sidebar.show_now()
    press(qtbot, window, "fio only")
    library = window.front
    assert isinstance(library, LibraryPage)
    qtbot.waitUntil(lambda: not jobs.running())
    assert str(library.filter_bar.shown) == "suite:fio"
    assert {"fio" in row.summary.suites for row in library.table.lines.matched} == {True}
    press(qtbot, window, "All")
    assert len(library.table.lines.matched) == window.sidebar.state.digest.counts[ALL]
    press(qtbot, window, "New test")
    assert isinstance(window.front, MeasurePage)


def test_a_host_offers_its_actions_and_two_clicks_plan_a_test(qtbot: QtBot, window: MainWindow) -> None:
    view = window.sidebar.view
    menu = window.links.menu_of(find(window, "web-1").data(ITEM))
    assert menu is not None
    assert {"New test", "Quick benchmark", "Test connection", "Read facts"} <= {one.text() for one in menu.actions()}
    assert window.links.menu_of(find(window, "Live").data(ITEM)) is None
    at = click(qtbot, window, "web-1")
    qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=at)  # a double click of Qt's tests ends pressed
    measure = window.front
    assert isinstance(measure, MeasurePage)
    assert measure.draft.hosts == ["web-1"]
    qtbot.waitUntil(lambda: not jobs.running())


def test_it_folds_by_key_and_in_a_narrow_window_each_remembered(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1280, 700)
    assert not window.frame.folded
    window.resize(1024, 700)
    assert window.frame.folded
    assert window.sidebar.width() < 50
    assert not window.sidebar.view.isExpanded(find(window, "Hosts"))
    window.actions_of_window.sidebar.trigger()
    assert not window.frame.folded
    window.resize(1280, 700)
    window.sidebar.fold_button.click()
    assert window.frame.folded
    again = MainWindow(window.workstation)
    qtbot.addWidget(again)
    again.resize(1280, 700)
    again.show()
    assert again.frame.folded
    again.resize(1024, 700)
    assert not again.frame.folded
    assert again.sidebar.view.isExpanded(find(again, "Hosts"))


@pytest.mark.usefixtures("large_text")
def test_its_icons_grow_with_the_text_and_fit_when_it_is_folded(window: MainWindow) -> None:
    window.frame.set_folded(folded=True)
    button = window.sidebar.help_button
    assert button.iconSize().width() == scaled(TOOL_ICON) > TOOL_ICON
    assert button.width() >= scaled(TOOL_ICON)
    assert window.sidebar.width() >= button.sizeHint().width()


def test_a_question_of_a_run_is_seen_in_strip_and_sidebar_until_it_is_answered(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.show_lines([RUN, replace(RUN, key="b", hosts=("db-1",))], RUN.key)
    question = SecretQuestion("web-1", "ann", "Password:")
    with qtbot.waitSignal(window.asker.asked) as asked:
        BackgroundJob(lambda: window.asker.secret(question), window).start()
    assert [card.line.detail for card in window.strip.cards] == [ASKS, RUN.detail]
    window.sidebar.show_now()
    assert find(window, "web-1").data(Qt.ItemDataRole.AccessibleTextRole) == f"web-1, {ASKS}"
    asked.args[0].reject()
    qtbot.waitUntil(lambda: not jobs.running())
    assert [card.line.detail for card in window.strip.cards] == [RUN.detail, RUN.detail]
    window.show_lines([], "")


def test_a_collapsed_section_stays_collapsed(qtbot: QtBot, window: MainWindow) -> None:
    view = window.sidebar.view
    view.setFocus()
    view.setCurrentIndex(find(window, "Hosts"))
    qtbot.keyClick(view, Qt.Key.Key_Left)
    assert not view.isExpanded(find(window, "Hosts"))
    window.sidebar.show_now()
    assert not view.isExpanded(find(window, "Hosts"))
    again = MainWindow(window.workstation)
    qtbot.addWidget(again)
    assert not again.sidebar.view.isExpanded(find(again, "Hosts"))


def test_the_cursor_stays_on_its_item_when_the_list_changes(window: MainWindow) -> None:
    view = window.sidebar.view
    view.setCurrentIndex(find(window, "web-1"))
    window.sidebar.show_hosts(
        [THIS_COMPUTER, HostEntry("a"), HostEntry("b"), HostEntry("web-1")], lambda _: HostStatus()
    )
    window.sidebar.show_now()
    assert view.currentIndex().data() == "web-1"


def test_a_screen_reader_finds_a_tree_with_names(window: MainWindow) -> None:
    view = window.sidebar.view
    read = QAccessible.queryAccessibleInterface(view)
    assert read is not None
    assert read.role() is QAccessible.Role.Tree
    assert read.text(QAccessible.Text.Name) == "Sidebar"
    names = [read.child(number).text(QAccessible.Text.Name) for number in range(read.childCount())]
    assert "This computer" in names
