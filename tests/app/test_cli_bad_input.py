"""What the command line says to what it cannot use: the thing by name, what to do, exit status 2, nothing else."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from app.cli.main import benchwright as benchwright_group
from tests.program import BAD_INPUT, BENCHWRIGHT, DONE, FAILED, benchwright, environment

CPU = ("plan", "new", "--defaults", "--suite", "sysbench-cpu")
PLAN = """\
format = "benchwright-plan/1"
hosts = ["local"]
[[step]]
suite = "sysbench-cpu"
"""


@pytest.fixture(autouse=True)
def in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("plan", "new", "--defaults", "--suite", "bonnie"), ["bonnie", "sysbench-cpu"]),
        ((*CPU, "--set", "prime=3"), ["prime", "cpu_max_prime"]),
        ((*CPU, "--set", "threads=0"), ["threads", "1 to 4096"]),
        ((*CPU, "--set", "time=4 potatoes"), ["time", "4 potatoes"]),
        ((*CPU, "--set", "threads"), ["NAME=VALUE"]),
        ((*CPU, "--set", "disk.threads=2"), ["disk", "sysbench-cpu"]),
        ((*CPU, "--suite", "dd", "--set", "time=2"), ["STEP.time", "dd"]),
        ((*CPU, "--trials", "0"), ["--trials", "1<=x<=1000"]),
        ((*CPU, "--host", ""), ["Invalid host name"]),
        ((*CPU, "--host", "web", "--host", "web"), ["web twice"]),
        ((*CPU, "--output", "/proc/plan.toml"), ["/proc/plan.toml"]),
        (("plan", "new", "--suite", "dd", "--facts", "nothing.json"), ["nothing.json", "facts HOST --json"]),
        (("plan", "show", "nothing.toml"), ["nothing.toml", "No such file"]),
        (("check", "nothing.toml"), ["nothing.toml"]),
        (("run", "nothing.toml"), ["nothing.toml"]),
        (("run", "."), ["directory"]),
        (("run", "/dev/zero"), ["/dev/zero", "1 MiB"]),
        (("show", "nothing"), ["nothing", "benchwright list"]),
        (("compare", "one"), ["no run “one”"]),
        (("compare", "one", "two"), ["one"]),
        (("export", "nothing"), ["--csv, "]),
        (("export", "nothing", "--csv", "a.csv"), ["nothing"]),
        (("delete", "nothing", "--yes"), ["nothing"]),
        (("baseline", "pin", "nothing", "name"), ["nothing"]),
        (("baseline", "unpin", "nothing"), ["nothing"]),
        (("hosts", "add", "local"), ["local"]),
        (("hosts", "add", "-x"), ["-x"]),
        (("facts", "two words"), ["Invalid host name “two words”"]),
        (("facts", "web:99999"), ["Invalid port"]),
        (("hosts", "remove", "nothing"), ["nothing"]),
        (("quick", "--output", "/proc/folder"), ["/proc/folder", "--output"]),
        (("--store", "/proc/runs.sqlite3", "list"), ["/proc/runs.sqlite3", "--store"]),
        (("--store", ".", "list"), ["is a directory"]),
        (("measure",), ["measure"]),
        (("show", "\udcff"), ["UTF-8"]),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_used_is_named(words: tuple[str, ...], named: list[str]) -> None:
    ran = benchwright(*words)
    assert (ran.status, ran.out) == (BAD_INPUT, "")
    for name in named:
        assert name in ran.err


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "no host"),
        (b"garbage [", "not valid TOML"),
        (bytes(range(256)), "not a text file"),
        (PLAN.replace("plan/1", "plan/9").encode(), "benchwright-plan/9"),
        (PLAN.replace("sysbench-cpu", "bonnie").encode(), "bonnie"),
        (PLAN.replace('"local"', '""').encode(), "Invalid host name"),
        (f"{PLAN}parameters = {{ threads = 0 }}\n".encode(), "1 to 4096"),
        (f"{PLAN}parameters = {{ prime = 3 }}\n".encode(), "prime"),
        (f"{PLAN}colour = 3\n".encode(), "colour"),
        (b"a" * (2**20 + 1), "1 MiB"),
    ],
)
def test_a_plan_that_cannot_be_read_is_never_run(content: bytes, named: str) -> None:
    Path("plan.toml").write_bytes(content)
    ran = benchwright("run", "plan.toml")
    assert (ran.status, ran.out) == (BAD_INPUT, "")
    assert "plan.toml" in ran.err
    assert named in ran.err
    assert "empty" in benchwright("list").out


@pytest.mark.parametrize("content", ["garbage", "[]", '{"format": "benchwright-facts/7"}', '{"a": 1, "a": 2}'])
def test_facts_that_cannot_be_read_are_named(content: str) -> None:
    Path("plan.toml").write_text(PLAN)
    Path("facts.json").write_text(content)
    ran = benchwright("check", "plan.toml", "--facts", "facts.json")
    assert (ran.status, ran.out) == (BAD_INPUT, "")
    assert "facts.json" in ran.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("local", "--sessions", "2", "--every", "soon"), "soon"),
        (("local", "--sessions", "2", "--every", "5s"), "10 min"),
        (("nowhere-*",), "nowhere-*"),
        (("one:=local", "two:=local"), "two groups"),
        (("local", "--network", "mesh"), "mesh"),
        (("local", "--at-once", "0"), "--at-once"),
    ],
)
def test_a_fleet_that_cannot_be_planned_names_why(words: tuple[str, ...], named: str) -> None:
    Path("plan.toml").write_text(PLAN)
    ran = benchwright("fleet", "estimate", "plan.toml", *words)
    assert (ran.status, ran.out) == (BAD_INPUT, "")
    assert named in ran.err
    assert "Internal error" not in ran.err


def test_a_file_that_is_no_library_is_left_as_it_is() -> None:
    Path("notes.txt").write_text("these are notes\n" * 100)
    ran = benchwright("--store", "notes.txt", "list")
    assert ran.status == BAD_INPUT
    assert "notes.txt" in ran.err
    assert Path("notes.txt").read_text() == "these are notes\n" * 100


def test_a_host_that_is_not_found_is_no_bad_input() -> None:
    for words in (("facts", "nowhere.invalid"), ("quick", "nowhere.invalid"), ("hosts", "test", "nowhere.invalid")):
        ran = benchwright(*words)
        assert ran.status == FAILED
        assert "nowhere.invalid" in ran.out + ran.err


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output_is_said_in_words(unbuffered: str) -> None:
    variables = {**environment(), "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*BENCHWRIGHT, "hosts"], stdout=full, stderr=subprocess.PIPE, check=False, env=variables)
    assert done.returncode == FAILED
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command below `group` with the words that call it."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_no_option_takes_another_option_as_its_value(tmp_path: Path) -> None:
    tried = 0
    for words, command in commands(benchwright_group):
        arguments = ["x"] * sum(max(1, one.nargs) for one in command.params if isinstance(one, click.Argument))
        required = [one for one in command.params if isinstance(one, click.Option) and one.required]
        for option in (one for one in command.params if isinstance(one, click.Option) and not one.is_flag):
            given = [word for one in required if one is not option for word in (one.opts[0], "x")]
            called = [*words, *arguments, *given, option.opts[0], "--help-me"]
            ran = CliRunner().invoke(benchwright_group, ["--store", str(tmp_path / "runs.sqlite3"), *called])
            assert ran.exit_code == BAD_INPUT, (called, ran.output)
            assert "--help-me" in ran.stderr, (called, ran.output)
            tried += 1
    assert tried > 100
    assert not list(Path().iterdir())


def test_a_missing_library_is_created_by_verbs_that_add_to_it_only(tmp_path: Path) -> None:
    missing = tmp_path / "nodir" / "sub" / "x.sqlite3"
    for words in (
        ("list",),
        ("show", "last"),
        ("library", "backup", "copy.sqlite3"),
        ("investigation", "list"),
        ("rejudge",),
    ):
        ran = benchwright("--store", missing, *words)
        assert (ran.status, ran.out) == (BAD_INPUT, "")
        assert f"There is no library at {missing}." in ran.err
    assert list(tmp_path.iterdir()) == []
    made = benchwright("--store", missing, "investigation", "new", "question")
    assert (made.status, f"Created the library {missing}." in made.err) == (DONE, True)
    again = benchwright("--store", missing, "list")
    assert (again.status, again.err) == (DONE, "")


@pytest.mark.parametrize(
    "words",
    [
        ("gate", "plan.toml", "--against", "last", "--fail-if", "iops < 5", "--markdown", "./plan.toml"),
        ("best", "last", "--metric", "iops", "--prices", "plan.toml", "--csv", "plan.toml"),
    ],
)
def test_no_output_replaces_what_is_read(words: tuple[str, ...]) -> None:
    Path("plan.toml").write_text(PLAN)
    result = CliRunner().invoke(benchwright_group, words)
    assert result.exit_code == BAD_INPUT
    assert "would replace" in result.stderr
    assert Path("plan.toml").read_text() == PLAN
