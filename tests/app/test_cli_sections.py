"""Every verb stands in one section of the help, with its whole sentence."""

from click.testing import CliRunner

from app.cli.main import benchwright
from app.cli.sections import SECTIONS


def test_each_verb_is_listed_once_under_a_heading_with_its_whole_sentence() -> None:
    said = CliRunner().invoke(benchwright, ["--help"]).output
    for name, command in benchwright.commands.items():
        lines = [line for line in said.splitlines() if line.startswith(f"  {name} ")]
        assert len(lines) == 1, name
        assert " ".join(command.get_short_help_str(1000).split()) in " ".join(said.split())
    assert all(f"{title}:" in said for title in SECTIONS)
    assert "..." not in said.partition("Measure:")[2]


def test_no_section_names_a_verb_that_is_none() -> None:
    assert {name for names in SECTIONS.values() for name in names} <= set(benchwright.commands)
