"""The commands that the window proposes work as they are printed, also where `--store` names the library."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from pytestqt.qtbot import QtBot

from app.cli.main import benchwright
from app.services import Workstation
from widgets.parts.notice import Notice
from widgets.parts.text import Text, tool_tip

RUN = "20261122-141530-k3f9"


def shown(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Return what labels, tool tips and notices of a window show that is opened with `words`."""
    texts: list[str] = []

    def look(_workstation: Workstation) -> None:
        notice = Notice()
        qtbot.addWidget(notice)
        notice.show_message("error", "The run was detached.", f"Resume it with: benchwright attach {RUN}")
        label = Text(f"Resume it with: benchwright attach {RUN}")
        qtbot.addWidget(label)
        texts.extend([notice.text(), label.text(), tool_tip(f"benchwright attach {RUN}")])

    done = CliRunner().invoke(benchwright, words, obj=look)
    assert done.exit_code == 0, done.output
    return texts


def test_a_command_in_the_window_names_the_library(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    notice, label, tip = shown(qtbot, monkeypatch, "--store", "own runs;x.sqlite3")
    command = ["benchwright", "--store", str(tmp_path / "own runs;x.sqlite3"), "attach", RUN]
    assert shlex.split(label.partition(": ")[2]) == command
    assert notice.endswith(shlex.join(command))
    assert "--store" in tip


def test_the_default_library_is_not_named(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    assert all("--store" not in text for text in shown(qtbot, monkeypatch))
