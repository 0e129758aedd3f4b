"""Text of the end of a study: who carries it, and whether somebody does."""

from dataclasses import replace
from datetime import UTC, datetime

from app.fleet_study import HostRunState
from tests.widgets.fleet_boards import made_board
from widgets.fleet.board_text import BoardHead, end_text


def test_a_study_of_workers_names_how_many_are_alive() -> None:
    study = replace(made_board(1, state=HostRunState.WAITING).study, by_workers=True)
    clock = datetime(2026, 11, 30, tzinfo=UTC)
    assert "no worker" in end_text(BoardHead(study), clock)
    assert end_text(BoardHead(study, workers=2), clock).endswith("run by 2 workers")
