"""Runs as lines of words: found, sorted, and told in the reader's own time. No window."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.events import State
from app.library_rows import LibraryRow
from app.records import RunSummary
from tests.app.run_events import IOPS
from widgets.library.run_rows import baseline_first, local_time, run_duration
from widgets.library.run_table import RunTable

RUN = RunSummary(
    "20260112-081502-a1b2", "volume check", "Fast enough?", ("web-1", "local"), ("random read",), State.DONE,
    "2026-01-12T08:15:02+00:00", "2026-01-12T08:17:12+00:00", 8, "412k IOPS", None, ("fio",),
)  # fmt: skip


def rows_of(runs: Iterable[RunSummary]) -> list[LibraryRow]:
    return [LibraryRow(run) for run in runs]


@pytest.fixture
def table(qtbot: QtBot) -> RunTable:
    made = RunTable()
    qtbot.addWidget(made)
    return made


def _sorted(table: RunTable, name: str, *, descending: bool) -> list[RunSummary]:
    """Return the runs as the head of the column `name` sorts them."""
    order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
    table.sortByColumn([column.name for column in table.content.columns].index(name), order)
    return [row.summary for row in table.lines.matched]


def _found(table: RunTable, words: str) -> list[str]:
    table.search(words)
    return [row.id for row in table.lines.matched]


@pytest.mark.parametrize(
    "words", ["volume", "VOLUME check", "web-1", "This computer", "local", "fio", "random", "done", "a1b2", "fast", ""]
)
def test_a_run_is_found_by_name_host_test_state_and_whatever_else_is_known_of_it(table: RunTable, words: str) -> None:
    table.show_lines(rows_of([RUN]))
    assert _found(table, words)


def test_every_word_has_to_occur(table: RunTable) -> None:
    table.show_lines(rows_of([RUN, replace(RUN, id="other", hosts=("web-2",))]))
    assert _found(table, "web-2 fio") == ["other"]
    assert not _found(table, "web-2 sysbench")


def test_lines_are_sorted_by_what_they_mean_not_by_how_it_is_written(table: RunTable) -> None:
    rows = [
        LibraryRow(
            replace(RUN, trials=trials, started=f"2026-01-{10 + trials:02}T00:00:00+00:00"), metric=IOPS, value=value
        )
        for trials, value in ((10, 9.1e3), (9, 41e3), (2, 950.0), (1, None))
    ]
    table.show_lines(rows)
    assert [run.trials for run in _sorted(table, "Headline", descending=True)] == [9, 10, 2, 1]
    assert table.content.at(0, "Headline").data() == "41000"
    assert [run.trials for run in _sorted(table, "Trials", descending=False)] == [1, 2, 9, 10]
    assert [run.trials for run in _sorted(table, "Started", descending=True)] == [10, 9, 2, 1]


def test_runs_that_agree_stay_with_the_newest_first(table: RunTable) -> None:
    lines = rows_of([replace(RUN, id=f"run-{day}", started=f"2026-01-1{day}T00:00:00+00:00") for day in (3, 2, 1)])
    table.show_lines(lines)
    for descending in (True, False):
        assert [run.id for run in _sorted(table, "Name", descending=descending)] == ["run-3", "run-2", "run-1"]


def test_a_pinned_run_is_the_baseline_else_the_oldest() -> None:
    old, new = replace(RUN, id="old"), replace(RUN, id="new", started="2026-02-01T00:00:00+00:00")
    assert baseline_first(rows_of([new, old])) == ["old", "new"]
    assert baseline_first(rows_of([replace(new, baseline="gold"), old])) == ["new", "old"]


def test_moments_are_told_in_the_readers_time_and_kept_as_written_where_they_make_no_sense() -> None:
    expected = datetime.fromisoformat(RUN.started).astimezone().strftime("%Y-%m-%d %H:%M")
    assert local_time(RUN.started) == expected
    assert local_time("yesterday\n") == "yesterday\n"


@pytest.mark.parametrize(("ended", "expected"), [(RUN.ended, "2 min 10 s"), (None, ""), ("?", ""), ("2026-01-12", "")])
def test_how_long_a_run_took_is_told_where_it_is_known(ended: str | None, expected: str) -> None:
    assert run_duration(replace(RUN, ended=ended)) == expected


def test_names_are_one_line_bounded_and_without_letters_that_hide(table: RunTable) -> None:
    table.show_lines(rows_of([replace(RUN, name="a\nb\u202ec" + "x" * 500)]))
    shown = table.content.at(0, "Name").data()
    assert shown.startswith("a b\\u202ec")
    assert len(shown) < 250


def test_a_headline_of_other_words_is_no_fault(table: RunTable) -> None:
    table.show_lines(rows_of([replace(RUN, headline=text) for text in ("1.2.3 GB/s", "—", "fast")]))
    assert len(_sorted(table, "Headline", descending=True)) == 3
