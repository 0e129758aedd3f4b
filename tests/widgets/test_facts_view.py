"""Facts as people read them: units, reasons, and words from a host that stay words."""

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.formats import facts_from_json
from app.hosts.facts_rows import FactRow, as_text, fact_rows, matching_rows
from suites.facts import (
    Absent,
    BlockDevice,
    Cache,
    CloudFacts,
    CpuFacts,
    Facts,
    Interface,
    MemoryFacts,
    SystemFacts,
    Tool,
)
from widgets.hosts.facts_view import FactsModel, FactsView

NOBODY = Absent("no metadata service answered within 300 ms")
HOSTILE = "<img src=file:///etc/passwd>\u202e\n"
FACTS = Facts(
    host="web-1",
    read_at="2026-01-14T14:08:31+00:00",
    system=SystemFacts(
        kernel="6.1.0-28-amd64",
        uptime=273912.0,
        load_1_minute=0.42,
        clock_offset=-0.0012,
        clock_offset_uncertainty=0.0004,
    ),
    cloud=CloudFacts(provider=NOBODY, instance_type=NOBODY, instance_id=NOBODY, region=NOBODY),
    cpu=CpuFacts(
        model=HOSTILE,
        frequency_maximum=3600.0,
        flags=("fpu", "avx2"),
        caches=(Cache(level=3, kind="Unified", size=32 * 2**20, shared_by=8, instances=2),),
    ),
    memory=MemoryFacts(total=16533848064, swap_total=0),
    block_devices=(BlockDevice(name="vda", kind="disk", size=100 * 2**30, rotational=False, readahead=131072),),
    interfaces=(Interface(name="eth0", speed=10_000_000_000, mtu=1500, state="up"),),
    tools=(Tool(name="fio", version="fio-3.33"), Tool(name="iperf3", version=Absent("not installed"))),
)


def _row(*path: str) -> FactRow:
    rows, found = fact_rows(FACTS), FactRow("")
    for title in path:
        found = next(row for row in rows if row.title == title)
        rows = found.children
    return found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("System", "Uptime"), "3 d 4 h"),
        (("System", "Load, 1 minute"), "0.42"),
        (("System", "Clock offset"), "−1.20 (−1.60 to −0.80) ms"),
        (("CPU", "Maximum frequency"), "3.6 GHz"),
        (("CPU", "Caches", "L3 unified"), "2 × 32 MiB · shared by 8"),
        (("CPU", "Flags"), "fpu, avx2"),
        (("Memory", "Total"), "15.4 GiB"),
        (("Memory", "Swap total"), "0 B"),
        (("Block devices", "vda"), "100 GiB · disk"),
        (("Block devices", "vda", "Rotational"), "no"),
        (("Block devices", "vda", "Readahead"), "128 KiB"),
        (("Network interfaces", "eth0", "Speed"), "10 Gbit/s"),
        (("Network interfaces", "eth0", "MTU"), "1500 B"),
        (("Tools", "fio"), "fio-3.33"),
    ],
)
def test_each_fact_has_the_unit_people_expect(path: tuple[str, ...], value: str) -> None:
    assert (_row(*path).value, _row(*path).absent) == (value, False)


def test_what_is_absent_keeps_its_reason() -> None:
    assert _row("Tools", "iperf3") == FactRow("iperf3", "not installed", absent=True)
    assert _row("CPU", "Governor").absent
    assert _row("Cloud") == FactRow("Cloud", NOBODY.reason, absent=True)
    assert "iperf3: absent (not installed)" in as_text(fact_rows(FACTS))


def test_facts_of_which_nothing_was_read_are_shown_all_the_same() -> None:
    titles = [row.title for row in fact_rows(Facts(host="dark", read_at=""))]
    assert titles == ["System", "Cloud", "CPU", "Memory", "Measured by the probe"]


def _cells(model: FactsModel, parent: QModelIndex) -> list[QModelIndex]:
    found = []
    if model.canFetchMore(parent):
        model.fetchMore(parent)
    for row in range(model.rowCount(parent)):
        found += [model.index(row, column, parent) for column in range(model.columnCount(parent))]
        found += _cells(model, model.index(row, 0, parent))
    return found


def test_the_tree_is_a_sound_model(qtmodeltester: ModelTester) -> None:
    model = FactsModel()
    model.show_rows(fact_rows(FACTS))
    qtmodeltester.check(model)
    assert [model.hasChildren(model.index(0, column)) for column in range(2)] == [True, False]


def test_words_of_a_host_are_never_markup_in_the_tree(qtbot: QtBot) -> None:
    view = FactsView()
    qtbot.addWidget(view)
    view.show_facts(FACTS)
    shown = [cell.data() for cell in _cells(view.model, QModelIndex())]
    tips = [cell.data(Qt.ItemDataRole.ToolTipRole) or "" for cell in _cells(view.model, QModelIndex())]
    assert "<img src=file:///etc/passwd>\\u202e\n" in shown
    assert not any("<img" in tip for tip in tips)
    assert any("&lt;img" in tip for tip in tips)


def test_everything_can_be_copied_as_text_and_as_json(qtbot: QtBot) -> None:
    view = FactsView()
    qtbot.addWidget(view)
    assert not view.copy_button.isEnabled()
    view.show_facts(FACTS, "web-1")
    text_action, json_action = view.copy_button.menu().actions()
    text_action.trigger()
    assert "  Total: 15.4 GiB" in QGuiApplication.clipboard().text()
    json_action.trigger()
    assert facts_from_json(json.loads(QGuiApplication.clipboard().text())) == FACTS


def test_selected_facts_are_copied_by_key(qtbot: QtBot) -> None:
    view = FactsView()
    qtbot.addWidget(view)
    view.show_facts(FACTS)
    view.show()
    view.tree.setFocus()
    group = next(index for index in _cells(view.model, QModelIndex()) if index.data() == "Tools")
    view.tree.setCurrentIndex(group)
    qtbot.keyClick(view.tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().splitlines()[:2] == ["Tools", "  fio: fio-3.33"]


def test_it_says_when_the_facts_were_read_and_asks_to_read_them_again(qtbot: QtBot) -> None:
    view = FactsView()
    qtbot.addWidget(view)
    view.show_facts(replace(FACTS, read_at="not a time"), "web-1")
    view.show()
    texts = [label.accessibleName() or label.text() for label in view.findChildren(type(view._title))]
    assert "Facts, read not a time" in texts
    with qtbot.waitSignal(view.read_requested):
        qtbot.mouseClick(view.read_button, Qt.MouseButton.LeftButton)


def test_without_facts_the_one_next_step_is_to_read_them(qtbot: QtBot) -> None:
    view = FactsView()
    qtbot.addWidget(view)
    view.show_nothing("web-1")
    view.show()
    assert view.empty.button is not None
    with qtbot.waitSignal(view.read_requested):
        qtbot.mouseClick(view.empty.button, Qt.MouseButton.LeftButton)
    assert view.as_text() == ""
    assert view.as_json() == ""


def test_a_filter_keeps_what_matches_with_the_groups_above_it() -> None:
    (group,) = matching_rows(fact_rows(FACTS), "6.1.0-28")
    assert (group.title, [row.title for row in group.children]) == ("System", ["Kernel"])
    (whole,) = matching_rows(fact_rows(FACTS), "block dev")
    assert whole.children
