"""Tables of the command line: rows without a fold are written directly, as rich would."""

import random

import pytest
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.cli.common import print_table

HEAD = ["Run", "Value", "±"]


def by_rich(rows: list[list[str]], right: list[int]) -> str:
    """Return the table that rich draws."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, title in enumerate(HEAD):
        table.add_column(title, justify="right" if index in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(highlight=False, width=160)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_written_as_rich_does(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(seed)
    words = ["", "a", " 528/s", "± 3", "web-1", "測定", "[bold]", "é", "x" * 30]
    rows = [[chance.choice(words) for _ in HEAD] for _ in range(40)]
    print_table(HEAD, rows, right=[1])
    assert capsys.readouterr().out == by_rich(rows, [1])


def test_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(HEAD, [])
    assert capsys.readouterr().out == by_rich([], [])


def test_a_cell_of_two_lines_and_a_long_one_stay_in_their_column(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(HEAD, [["one\ntwo", "x" * 400, "3"]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("one")
    assert lines[3].startswith("two")
    assert "".join(lines).count("x") == 400
    assert max(map(len, lines)) <= 160


def test_control_characters_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(HEAD, [["\x1b[31mred", "1", "2"]])
    assert "\x1b" not in (found := capsys.readouterr().out)
    assert r"\x1b[31mred" in found
