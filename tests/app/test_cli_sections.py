"""Every verb stands in one section of the help, with its whole sentence."""

import subprocess
import sys

import click
from click.testing import CliRunner

from app.cli.main import SECTIONS, VERBS, benchwright


def test_each_verb_is_listed_once_under_a_heading_with_its_whole_sentence() -> None:
    shown = CliRunner().invoke(benchwright, ["--help"]).output
    context = click.Context(benchwright)
    for name in benchwright.list_commands(context):
        command = benchwright.get_command(context, name)
        assert command is not None
        assert command.name == name
        lines = [line for line in shown.splitlines() if line.startswith(f"  {name} ")]
        assert len(lines) == 1, name
        assert " ".join(command.get_short_help_str(1000).split()) in " ".join(shown.split())
    assert all(f"{title}:" in shown for title in SECTIONS)
    assert "..." not in shown.partition("Measure:")[2]


def test_no_section_names_a_verb_that_is_none() -> None:
    assert {name for names in SECTIONS.values() for name in names} <= set(VERBS)


def test_a_verb_loads_no_other() -> None:
    script = (
        "import sys; from app.cli.main import benchwright\n"
        "benchwright.main(['checks', '--help'], standalone_mode=False)\n"
        "print([name for name in sys.modules if name in {'app.cli.library', 'sqlalchemy', 'scipy', 'PySide6'}])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
