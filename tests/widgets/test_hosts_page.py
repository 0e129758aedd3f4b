"""The hosts page: found, tried, added, changed, removed; by mouse and by keys; whatever a host is called."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QWidget
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.events import RunEnded, RunStarted, State
from app.hosts.hosts import ConnectReport, HostEntry, Origin
from app.plans.plan import LOCAL, Plan
from app.questions import Asker, ConnectOutcome, RefusingAsker
from app.services import Workstation
from remote.errors import ConnectError
from suites.facts import Facts, SystemFacts
from tests.messages import messages
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.hosts.add_host_dialog import AddHostDialog, typed
from widgets.hosts.host_connections import HostStatus
from widgets.hosts.hosts_page import HostsPage
from widgets.hosts.hosts_table import address_text, connection_text, host_columns
from widgets.parts.table_model import TableModel

MESSAGES = messages("widgets-hosts", "test_hosts_page")

pytestmark = pytest.mark.usefixtures("idle")

Dialog = TypeVar("Dialog", bound=QDialog)

NOBODY_LISTENS = 1
HOSTILE = "<img_src=file:///etc/passwd>"


@pytest.fixture
def config() -> None:
    """Give ~/.ssh/config an alias at which nobody listens."""
    folder = Path.home() / ".ssh"
    folder.mkdir(mode=0o700)
    (folder / "config").write_text(f"Host bastion\n  HostName 127.0.0.1\n  Port {NOBODY_LISTENS}\n")


@pytest.fixture
def page(qtbot: QtBot, workstation: Workstation, config: None) -> Iterator[HostsPage]:
    made = HostsPage(workstation, RefusingAsker())
    qtbot.addWidget(made)
    made.resize(700, 600)
    made.show()
    yield made
    qtbot.waitUntil(lambda: not jobs.running())


def _names(page: HostsPage) -> list[str]:
    model = page.table.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


def _open(page: HostsPage, kind: type[Dialog]) -> Dialog:
    """Return the dialog of `kind` that is open over `page`."""
    return next(found for found in page.findChildren(kind) if found.isVisible())


def _press_in_table(qtbot: QtBot, page: HostsPage, key: Qt.Key) -> None:
    page.activateWindow()
    page.table.setFocus()
    qtbot.waitUntil(page.table.hasFocus)
    qtbot.keyClick(page.table, key)


def test_it_opens_on_this_computer_with_its_facts_and_one_obvious_next_step(qtbot: QtBot, page: HostsPage) -> None:
    page.activated()
    _settle(qtbot)
    assert _names(page) == ["This computer", "bastion"]
    assert page.table.current_host().name == LOCAL
    assert page.facts_view.facts is not None
    assert page.start_card.isVisible()
    with qtbot.waitSignal(page.quick_requested) as asked:
        qtbot.mouseClick(page.start_button, Qt.MouseButton.LeftButton)
    assert asked.args == [LOCAL]


def test_once_something_was_measured_the_start_card_is_gone(
    qtbot: QtBot, page: HostsPage, workstation: Workstation
) -> None:
    with workstation._store.recorder("20260114-140831-k3vd") as recorder:
        recorder.record(RunStarted("20260114-140831-k3vd", Plan("quick", (LOCAL,), ()), "2026-01-14T14:08:31+00:00"))
        recorder.record(RunEnded("20260114-140831-k3vd", State.DONE))
    page.activated()
    _settle(qtbot)
    assert not page.start_card.isVisible()


def test_a_bad_ssh_config_is_said_and_the_other_hosts_are_there(qtbot: QtBot, page: HostsPage) -> None:
    (Path.home() / ".ssh" / "config").write_text('Host db\n  Port nonsense\nHost "unclosed\n')
    page.activated()
    _settle(qtbot)
    assert _names(page) == ["This computer"]
    assert MESSAGES["ssh_config_are_not_listed"] in page.notice.text()


def test_a_refused_connection_says_what_happened_and_what_to_do(qtbot: QtBot, page: HostsPage) -> None:
    page.activated()
    _settle(qtbot)
    page.table.select("bastion")
    qtbot.mouseClick(page.card.test_button, Qt.MouseButton.LeftButton)
    assert page.card.working.isVisible()
    _settle(qtbot)
    assert page.connections.of("bastion").text == ConnectOutcome.REFUSED.value
    assert page.card.notice.isVisible()
    assert "refused" in page.card.notice.text()
    assert page.card.notice.accessibleName().startswith("Error: ")


def test_waiting_can_be_given_up(qtbot: QtBot, page: HostsPage) -> None:
    page.activated()
    _settle(qtbot)
    page.table.select("bastion")
    page.connections.test("bastion")
    qtbot.mouseClick(page.card.working.cancel_button, Qt.MouseButton.LeftButton)
    assert not page.card.working.isVisible()
    _settle(qtbot)
    assert page.connections.of("bastion").text == "not tried"


def test_several_hosts_are_measured_together_by_keys_alone(qtbot: QtBot, page: HostsPage) -> None:
    page.activated()
    _settle(qtbot)
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert page.card.new_test_button.text() == "New test"
    with qtbot.waitSignal(page.measure_requested) as asked:
        qtbot.keyClick(page.table, Qt.Key.Key_Return)
    assert asked.args == [[LOCAL, "bastion"]]


def test_a_host_is_added_tried_and_chosen(qtbot: QtBot, page: HostsPage) -> None:
    page.activated()
    _settle(qtbot)
    qtbot.mouseClick(page.add_button, Qt.MouseButton.LeftButton)
    dialog = _open(page, AddHostDialog)
    qtbot.keyClicks(dialog.fields["name"].edit, "web-1")
    qtbot.keyClicks(dialog.fields["host_name"].edit, "127.0.0.1")
    qtbot.keyClicks(dialog.fields["port"].edit, str(NOBODY_LISTENS))
    qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert "refused" in dialog.outcome.text()
    assert "web-1" not in [entry.name for entry in page.workstation.hosts()]
    dialog.fields["name"].edit.setFocus()
    qtbot.keyClick(dialog.fields["name"].edit, Qt.Key.Key_Return)
    _settle(qtbot)
    assert _names(page) == ["This computer", "web-1", "bastion"]
    assert page.table.current_host() == HostEntry("web-1", Origin.SAVED, "127.0.0.1", NOBODY_LISTENS)
    assert page.connections.of("web-1").text == ConnectOutcome.REFUSED.value


def test_faults_stand_beside_their_fields_and_nothing_is_saved(qtbot: QtBot, page: HostsPage) -> None:
    page.activated()
    _settle(qtbot)
    page.add_host()
    dialog = _open(page, AddHostDialog)
    dialog.fields["port"].edit.setText("99999")
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    assert dialog.isVisible()
    assert "name" in dialog.fields["name"].message.label.text()
    assert dialog.fields["port"].edit.accessibleDescription().startswith("Enter a port ")
    assert not dialog.fields["user"].message.isVisible()
    assert dialog.focusWidget() is dialog.fields["name"].edit


def test_a_destination_as_for_ssh_fills_the_fields_and_enter_adds_the_host(qtbot: QtBot, page: HostsPage) -> None:
    page.activated()
    _settle(qtbot)
    page.add_host()
    dialog = _open(page, AddHostDialog)
    qtbot.keyClicks(dialog.destinations, "bastion")
    assert "In ~/.ssh/config" in dialog.fields["name"].message.label.text()
    dialog.destinations.setPlainText(f"ssh ann@127.0.0.1 -p {NOBODY_LISTENS} -J bastion")
    assert typed(dialog.entry())["jump"] == "bastion"
    dialog.destinations.setPlainText("ssh -W x h")
    qtbot.keyClick(dialog.destinations, Qt.Key.Key_Return)
    assert "-W" in dialog.outcome.text()
    dialog.destinations.setPlainText(f"ann@127.0.0.1:{NOBODY_LISTENS}")
    qtbot.keyClick(dialog.destinations, Qt.Key.Key_Return)
    _settle(qtbot)
    assert page.table.current_host() == HostEntry("127.0.0.1", port=NOBODY_LISTENS, user="ann")


def test_several_lines_add_several_hosts(qtbot: QtBot, page: HostsPage) -> None:
    page.activated()
    _settle(qtbot)
    page.add_host()
    dialog = _open(page, AddHostDialog)
    dialog.destinations.setPlainText("a@127.0.0.1:1\nb@127.0.0.1:1\nssh://c d\nssh://c d")
    assert dialog.save_button.text() == "Add 2 hosts"
    dialog.save_button.click()
    assert dialog.isVisible()
    assert [line[:8] for line in dialog.outcome.text().splitlines()] == ["Line 3: ", "Line 4: "]
    dialog.destinations.setPlainText("a@127.0.0.1:1\nb@127.0.0.1:1")
    dialog.save_button.click()
    _settle(qtbot)
    assert [entry.name for entry in page.table.chosen()] == ["127.0.0.1", "127.0.0.1-1"]


def test_facts_of_selected_hosts_are_compared_and_filtered(qtbot: QtBot, tmp_path: Path) -> None:
    page = HostsPage(_Reachable(tmp_path), RefusingAsker())
    qtbot.addWidget(page)
    page.workstation.save_hosts(HostEntry("a"), HostEntry("b"))
    page.activated()
    _settle(qtbot)
    page.table.select("a", "b")
    view = page.compared_facts
    assert view.isVisibleTo(page)
    assert "a, b" in view.missing.text()
    view.read_button.click()
    _settle(qtbot)
    (kernel,) = view.table.content.shown
    assert (kernel.title, kernel.values) == ("System · Kernel", ("kernel of a", "kernel of b"))
    view.filter.setText("nothing")
    assert not view.table.content.shown
    page.table.select("a")
    page.facts_view.filter.setText("kernel of")
    assert page.facts_view.model.rowCount() == 1
    view.filter.clear()
    view.every.setChecked(True)
    view.show_hosts({"a": page.facts_view.facts, "b": None})
    assert not view.table.content.shown, "there is nothing to compare with"


def test_changing_renaming_and_removing_a_host_can_be_undone(qtbot: QtBot, page: HostsPage) -> None:
    saved = HostEntry("web-1", host_name="127.0.0.1", port=NOBODY_LISTENS)
    page.workstation.save_hosts(saved)
    page.activated()
    _settle(qtbot)
    page.table.select("web-1")
    _press_in_table(qtbot, page, Qt.Key.Key_F2)
    dialog = _open(page, AddHostDialog)
    dialog.fields["user"].edit.setText("ann")
    dialog.fields["name"].edit.setText("web-2")
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert _names(page) == ["This computer", "web-2", "bastion"]
    assert page.table.current_host().user == "ann"
    assert "web-2" in page.undo_bar.text.text()
    _press_in_table(qtbot, page, Qt.Key.Key_Delete)
    _settle(qtbot)
    assert _names(page) == ["This computer", "bastion"]
    for names in (["This computer", "web-2", "bastion"], ["This computer", "web-1", "bastion"]):
        qtbot.keyClick(page.table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        _settle(qtbot)
        assert _names(page) == names
    assert saved in page.workstation.hosts()
    assert not page.undo_bar.undo_button.isVisible()


def test_undo_replaces_no_newer_host_of_the_name(qtbot: QtBot, page: HostsPage) -> None:
    page.workstation.save_hosts(HostEntry("web-1", host_name="192.0.2.1"))
    page.activated()
    _settle(qtbot)
    page.table.select("web-1")
    _press_in_table(qtbot, page, Qt.Key.Key_Delete)
    _settle(qtbot)
    newer = HostEntry("web-1", host_name="192.0.2.2")
    page.workstation.save_hosts(newer)
    qtbot.keyClick(page.table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    _settle(qtbot)
    assert newer in page.workstation.hosts()
    assert "web-1" in page.notice.text()


def test_a_search_appears_with_many_hosts_and_keeps_the_matching_ones(qtbot: QtBot, page: HostsPage) -> None:
    for number in range(8):
        page.workstation.save_hosts(HostEntry(f"fleet-{number}", host_name=f"198.51.100.{number}"))
    page.activated()
    _settle(qtbot)
    assert page.search.isVisible()
    qtbot.keyClick(page, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClicks(page.search, "100.3")
    assert _names(page) == ["fleet-3"]
    assert page.table.current_host().name == "fleet-3"
    page.search.clear()
    assert len(_names(page)) == 10


def test_a_host_is_shown_under_the_very_name_it_has(qtbot: QtBot, page: HostsPage) -> None:
    page.workstation.save_hosts(HostEntry(HOSTILE, host_name="127.0.0.1", port=NOBODY_LISTENS))
    page.activated()
    _settle(qtbot)
    page.table.select(HOSTILE)
    index = page.table.currentIndex()
    assert index.data() == HOSTILE
    assert "<img" not in index.data(Qt.ItemDataRole.ToolTipRole)
    page.connections.test(HOSTILE)
    _settle(qtbot)
    labels = [label for label in page.card.findChildren(QWidget) if HOSTILE in str(label.property("text"))]
    assert labels
    assert {label.property("textFormat") for label in labels} == {Qt.TextFormat.PlainText}


def test_a_damaged_file_of_hosts_is_said_and_this_computer_stays(qtbot: QtBot, page: HostsPage, tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text("[web-1\n")
    page.activated()
    _settle(qtbot)
    assert "hosts.toml: not valid TOML" in page.notice.text()
    assert _names(page) == ["This computer"]
    (tmp_path / "hosts.toml").unlink()
    page.activated()
    _settle(qtbot)
    assert not page.notice.isVisible()
    assert _names(page) == ["This computer", "bastion"]


def test_every_button_without_words_has_a_name_and_a_tip(page: HostsPage) -> None:
    buttons = [page.card.edit_button, page.card.remove_button, page.facts_view.read_button, page.facts_view.copy_button]
    assert all(button.accessibleName() and button.toolTip() for button in buttons)


def test_tab_goes_where_the_eye_goes(qtbot: QtBot, page: HostsPage) -> None:
    page.activated()
    _settle(qtbot)
    page.table.select("bastion")
    page.add_button.setFocus()
    reached = []
    for _ in range(7):
        reached.append(page.focusWidget())
        qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Tab)
    card = page.card
    wanted = [page.add_button, page.start_button, page.table, card.edit_button, card.new_test_button]
    assert reached == [*wanted, card.quick_button, card.test_button]


def test_the_table_is_a_sound_model(qtmodeltester: ModelTester) -> None:
    model = TableModel(host_columns(lambda _name: HostStatus()))
    model.show_rows([HostEntry("a"), HostEntry("b", Origin.SSH_CONFIG)])
    qtmodeltester.check(model)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (HostEntry("web-1"), "web-1"),
        (HostEntry("web-1", Origin.SSH_CONFIG), "from ~/.ssh/config"),
        (HostEntry("web-1", host_name="192.0.2.1", port=22, user="ann", jump="b"), "ann@192.0.2.1:22 via b"),
        (HostEntry("web-1", user="ann"), "ann@web-1"),
    ],
)
def test_the_way_to_a_host_is_written_as_ssh_writes_it(entry: HostEntry, words: str) -> None:
    assert address_text(entry) == words


def test_this_computer_is_not_connected_to() -> None:
    here = HostEntry(LOCAL, Origin.THIS_COMPUTER)
    assert connection_text(here, HostStatus()) == "local"
    assert connection_text(here, HostStatus(facts=Facts(host=LOCAL, read_at=""))) == "ready"
    assert connection_text(HostEntry("web-1"), HostStatus()) == "not tried"


class _Reachable(Workstation):
    """A workstation whose hosts all answer; it counts how often they are connected to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path / "runs.sqlite3", path / "hosts.toml")
        self.asked: list[str] = []

    def test_connection(self, name: str, asker: Asker, entry: HostEntry | None = None) -> ConnectReport:
        assert entry is None
        self.asked.append(f"test {name} as {type(asker).__name__}")
        return ConnectReport(name, ConnectOutcome.CONNECTED, f"Connected to {name}.", "", 0.02)

    def facts(
        self, name: str, asker: Asker, directories: object = (), devices: object = (), *, watch: bool = True
    ) -> Facts:
        assert not directories
        assert not devices
        self.asked.append(f"facts {name} as {type(asker).__name__}")
        return Facts(host=name, read_at="2026-01-14T14:08:31+00:00", system=SystemFacts(kernel=f"kernel of {name}"))


def test_facts_are_read_right_after_a_connection_that_went_well(qtbot: QtBot, tmp_path: Path) -> None:
    workstation = _Reachable(tmp_path)
    page = HostsPage(workstation, RefusingAsker())
    qtbot.addWidget(page)
    page.connections.test("web-1")
    _settle(qtbot)
    assert workstation.asked == [f"{what} web-1 as RefusingAsker" for what in ("test", "facts")]
    assert page.connections.of("web-1").text == "connected"
    assert page.connections.of("web-1").facts is not None


class _Keeping(Workstation):
    """A workstation that keeps two secrets of a host."""

    kept = 2

    def forget_secrets(self, name: str) -> int:
        assert name == "bastion"
        forgotten, self.kept = self.kept, 0
        return forgotten


@pytest.mark.usefixtures("config")
def test_what_is_kept_for_a_host_can_be_forgotten(qtbot: QtBot, tmp_path: Path) -> None:
    page = HostsPage(_Keeping(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml"), RefusingAsker())
    qtbot.addWidget(page)
    page.activated()
    _settle(qtbot)
    page.table.select("bastion")
    forget = page.actions_of_hosts.forget
    for shown in ("Forgot 2 secrets of bastion.", "No passwords or passphrases stored for bastion."):
        forget.trigger()
        _settle(qtbot)
        assert shown in page.notice.text()
    page.table.select(LOCAL)
    assert not forget.isEnabled()


def test_a_cancelled_sign_in_is_no_error() -> None:
    report = ConnectReport("web-1", ConnectOutcome.CANCELLED, "Connecting to web-1 was cancelled.")
    assert HostStatus(report=report).level == "info"
    refused = ConnectReport("web-1", ConnectOutcome.AUTH_REFUSED, "No.")
    assert HostStatus(report=refused).level == "error"
    assert ConnectError(ConnectOutcome.CANCELLED, "").cancelled


def test_the_last_result_of_a_host_is_shown_with_its_verdict(qtbot: QtBot, page: HostsPage) -> None:
    copied_library(page.workstation)
    page.workstation.save_hosts(HostEntry("web-1"))
    page.activated()
    _settle(qtbot)
    newest = next(row for row in page.workstation.library().rows if "web-1" in row.summary.hosts and row.headline)
    figure = page.workstation.first_figures(newest)["web-1"]
    cell = page.table.content.at(page.table.row_of("web-1"), "Last result")
    assert cell.data() == figure.estimate_text
    tip = cell.data(Qt.ItemDataRole.ToolTipRole)
    assert all(part in tip for part in (figure.metric.title, f"n={figure.n}", newest.summary.name))
