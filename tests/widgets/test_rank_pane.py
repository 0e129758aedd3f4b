"""The pane that ranks: what best means is asked above, the places stand below, and both leave as picture and CSV."""

import random
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.margins import Margins
from app.ranking.candidates import RankingGoal
from app.ranking.ranking import Ranking, rank
from app.ranking.report import HEAD, ranking_csv
from app.services import Workstation
from suites.verdict import Trust, Verdict
from tests.app.test_baselines import stored
from widgets.compare import rank_pane
from widgets.compare.pickers import BaselinePicker
from widgets.compare.rank_form import RankForm
from widgets.compare.rank_pane import RankPane

RUNS = ("20261101-a", "20261102-b", "20261103-c")


def trials(centre: float) -> tuple[float, ...]:
    """Return eight trials around `centre`, one in a hundred apart."""
    rng = random.Random(centre)
    return tuple(centre * (1 + rng.gauss(0, 0.01)) for _ in range(8))


@pytest.fixture
def workstation(tmp_path: Path) -> Workstation:
    """Return one with a run on each of three hosts, of which two are alike."""
    runs = {RUNS[0]: ("web-1", trials(1000)), RUNS[1]: ("web-2", trials(1004)), RUNS[2]: ("web-3", trials(700))}
    return stored(tmp_path / "runs.sqlite3", runs)


@pytest.fixture
def pane(qtbot: QtBot, workstation: Workstation) -> RankPane:
    """Return the window with a ranking in it."""
    made = RankPane(workstation)
    qtbot.addWidget(made)
    made.show_runs(RUNS)
    made.show()
    qtbot.waitUntil(lambda: made.ranking is not None)
    return made


def test_those_that_are_not_told_apart_share_a_place(pane: RankPane) -> None:
    head, *rows = pane.table.content.texts()
    assert head[:2] == ["Rank", "Candidate"]
    assert sorted(row[1] for row in rows[:2]) == ["web-1", "web-2"]
    assert [row[0] for row in rows] == ["1–2", "1–2", "3"]
    assert "tied at a margin of 5 %" in pane.notes.text()


def test_a_doubtful_candidate_is_marked_at_its_value_whatever_columns_are_scrolled_away(pane: RankPane) -> None:
    ranking = pane.ranking
    assert ranking is not None
    decoration, model = Qt.ItemDataRole.DecorationRole, pane.table.content
    first, *others = ranking.ranked
    for level in (Trust.VALID, Trust.DOUBTFUL):
        judged = Verdict(level, None, "Judged.")
        marked = replace(first, candidate=replace(first.candidate, verdict=judged))
        pane.table.show_ranking(replace(ranking, ranked=(marked, *others)))
        found = [
            model.index(row, HEAD.index("Value")).data(decoration) is not None for row in range(len(ranking.ranked))
        ]
        assert found == [level is Trust.DOUBTFUL, False, False]


def test_the_margin_is_that_of_the_metric_until_the_user_types_another(
    qtbot: QtBot, pane: RankPane, workstation: Workstation
) -> None:
    assert (pane.form.margin.value(), pane.form.origin.text()) == (5.0, "")
    runs = [[workstation.load(run)] for run in RUNS]
    own = rank(RUNS, runs, replace(pane.form.question(), margins=Margins(kept={"iops": 0.012})))
    pane.form.show_margin(own)
    assert (pane.form.margin.value(), pane.form.origin.text()) == (1.2, "yours")
    assert pane.form.question().margins == Margins()
    pane.form.margin.setValue(2.0)
    pane.form.margin.editingFinished.emit()
    qtbot.waitUntil(lambda: pane.ranking is not None and pane.ranking.criteria.margins.every == 0.02)
    assert (pane.form.margin.value(), pane.form.origin.text()) == (2.0, "")
    pane.form.show_margin(own)  # an answer that comes late does not take the user's word away
    assert pane.form.margin.value() == 2.0


def test_prices_and_a_threshold_make_the_cheapest_win(qtbot: QtBot, pane: RankPane) -> None:
    form = pane.form
    form.threshold.setText("900")
    form.prices.setText("web-1=0.4 USD, web-2=0.2 USD, web-3=0.1 USD")
    form.goal.setCurrentText("Cheapest that meets the threshold")
    qtbot.waitUntil(lambda: pane.ranking is not None and pane.ranking.criteria.goal is RankingGoal.CHEAPEST)
    assert [row[1] for row in pane.table.content.texts()[1:]] == ["web-2", "web-1", "web-3"]
    assert pane.table.content.texts()[0][-1] == "Threshold"


@pytest.mark.parametrize(
    ("typed", "at_least"), [("5 ms", True), ("> 5 ms", True), ("≥ 5 ms", True), ("< 5 ms", False), ("<= 5 ms", False)]
)
def test_a_threshold_is_an_upper_limit_with_any_less_than_sign(qtbot: QtBot, typed: str, *, at_least: bool) -> None:
    form = RankForm()
    qtbot.addWidget(form)
    form.threshold.setText(typed)
    threshold = form._threshold()
    assert threshold is not None
    assert (threshold.value, threshold.at_least) == (5.0, at_least)


def test_prices_come_from_a_table_too(qtbot: QtBot, pane: RankPane, tmp_path: Path) -> None:
    table = tmp_path / "prices.csv"
    table.write_text("host,price,currency\nweb-1,0.4,USD\nweb-2,0.4,USD\nweb-3,0.1,USD\n")
    pane.form.goal.setCurrentText("Best price/performance")
    qtbot.waitUntil(lambda: "No price is given" in pane.notice.text())
    pane.read_prices(table)
    qtbot.waitUntil(lambda: pane.ranking is not None)
    assert pane.table.content.texts()[1][1] == "web-3"
    table.write_text("host\nweb-1\n")
    pane.read_prices(table)
    qtbot.waitUntil(lambda: "header lacks price" in pane.notice.text())


def test_what_cannot_be_read_is_said_and_nothing_old_stays(qtbot: QtBot, pane: RankPane) -> None:
    pane.form.limit.setText("latency")
    qtbot.keyClick(pane.form.limit, Qt.Key.Key_Return)
    assert "is not a limit" in pane.notice.text()
    assert not pane.table.isVisible()
    assert not pane.export_button.isEnabled()


def test_the_ranking_is_written_as_picture_and_table(
    qtbot: QtBot, pane: RankPane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def written(ranking: Ranking) -> str:
        threads.append(threading.current_thread())
        return ranking_csv(ranking)

    monkeypatch.setattr(rank_pane, "ranking_csv", written)
    for name in ("best.png", "best.csv"):
        pane.export_to(tmp_path / name)
        qtbot.waitUntil((tmp_path / name).exists)
    assert QImage(str(tmp_path / "best.png")).width() == 2400
    assert (tmp_path / "best.csv").read_text().splitlines()[1].startswith("1–2,web-")
    qtbot.waitUntil(lambda: pane.notice.text().startswith("Written: "))
    assert threads
    assert threading.main_thread() not in threads


def test_a_baseline_is_chosen_and_a_table_imported(qtbot: QtBot, workstation: Workstation, tmp_path: Path) -> None:
    workstation.pin(",".join(RUNS), "fleet")
    picker = BaselinePicker(workstation, None)
    qtbot.addWidget(picker)
    qtbot.waitUntil(lambda: picker.table.content.rowCount() == 5)
    assert picker.chosen() == "baseline:fleet@1"
    assert picker.about.text() == f"Runs {', '.join(RUNS)}"
    table = tmp_path / "lab.csv"
    table.write_text("metric,unit,value,source\niops,1/s,900,our lab\n")
    picker.import_file(table)
    qtbot.waitUntil(lambda: picker.chosen() == "baseline:lab@1")
    assert picker.about.text() == "Source: our lab."
    picker.import_button.click()
    (chooser,) = picker.findChildren(QFileDialog)
    assert {"*.csv", "*.txt", "*.json"} <= set(chooser.nameFilters()[0].rstrip(")").split("(")[1].split())
    chooser.reject()
    table.write_text("metric\n")
    picker.import_file(table)
    qtbot.waitUntil(lambda: "header lacks" in picker.notice.text())
