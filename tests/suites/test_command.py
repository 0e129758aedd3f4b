"""A command of the user's own: what runs, what is warned of, and what is read of its output."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from suites.base import Context, Purpose, complete_values
from suites.command.output import MAXIMUM_JSON
from suites.command.suite import _TIMED, UserCommand
from suites.errors import ParameterError
from suites.outputs import ParsedTrial
from suites.units import Unit
from suites.vocab import Better, MetricKind
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures
from tests.suites.host_facts import applied, evidence, raised

MESSAGES = messages("suites", "test_command")

SUITE = UserCommand()
SCORE = {"figure": "pattern", "pattern": "score = ([0-9.]+)", "metric": "Own score", "unit": "MB/s"}
TIMED = b"\nbenchwright-timed 1.500000 s, status 0, resolution 0.000001 s, accepted\n"


def lines(**given: object) -> list[tuple[Purpose, str]]:
    commands = SUITE.commands(complete_values(SUITE, given), Context())
    return [(command.purpose, shlex.join(command.argv)) for command in commands]


def parsed(name: str, **given: object) -> ParsedTrial:
    return capture(f"command/1/{name}").parse(SUITE.parser(complete_values(SUITE, given)))


def read(output: bytes, **given: object) -> ParsedTrial:
    parser = SUITE.parser(complete_values(SUITE, given))
    parser.feed(output)
    parser.feed(TIMED, "stderr")
    return parser.finish(0)


def findings(**given: object) -> set[str]:
    return set(raised(evidence(SUITE, Context(), **given)))


def test_words_go_to_the_program_as_they_are() -> None:
    assert lines(command="prog 'a b' *.txt") == [(Purpose.MEASURE, "sh timed.sh 0 0 '' prog 'a b' '*.txt'")]


def test_a_shell_reads_the_line_only_where_that_is_said() -> None:
    given = {"command": "a | b", "shell": True}
    assert lines(**given) == [(Purpose.MEASURE, "sh timed.sh 0 0 '' sh -c 'a | b'")]


@pytest.mark.parametrize(("given", "shown"), [
    ({"shell": True}, "a b; c"),
    ({"shell": True, "environment": "X=1"}, "env X=1 sh -c 'a b; c'"),
    ({"shell": True, "working_directory": "/d", "environment": "X=1"}, "cd -- /d && env X=1 sh -c 'a b; c'"),
    ({"working_directory": "/d"}, "cd -- /d && a b; c"),
])  # fmt: skip
def test_the_consent_shows_what_runs(given: dict[str, object], shown: str) -> None:
    """The variables are those of the whole line, not of its first command."""
    (effect,) = SUITE.effects(complete_values(SUITE, {"command": "a b; c", **given}))
    assert effect.text == shown


def test_all_that_surrounds_the_command() -> None:
    given = {"environment": "A=1 B='x y'", "working_directory": "/srv/a b", "accepted": "0 3", "timeout": "5 min"}
    before, timed, after = lines(command="prog", prepare="make -s", clean_up="make clean", **given)
    there = "sh -c 'cd -- '\"'\"'/srv/a b'\"'\"' && exec \"$@\"' command env A=1 'B=x y'"
    assert before == (Purpose.PREPARE, f"{there} make -s")
    assert timed == (Purpose.MEASURE, "sh timed.sh '0 3' 300 '/srv/a b' env A=1 'B=x y' prog")
    assert after == (Purpose.CLEAN_UP, f"{there} make clean")


def test_what_runs_before_each_trial_is_not_timed_and_seen_only_where_it_fails() -> None:
    before, timed = lines(command="make", before="make clean", working_directory="/src")
    assert (before[0], timed[0]) == (Purpose.MEASURE, Purpose.MEASURE)
    assert before[1].endswith(" command make clean")
    parser = SUITE.parser(complete_values(SUITE, {}))
    parser.feed(b"No rule for clean\nbenchwright-before failed\n")
    found = parser.finish(2)
    assert (found.complete, found.figures) == (False, ())
    assert found.notes == (MESSAGES["what_runs_before_each_trial"],)


def test_a_figure_without_a_line_break_is_found() -> None:
    assert figures(read(b"score = 7", **SCORE))["own_own_score"] == 7
    parser = SUITE.parser(complete_values(SUITE, SCORE))
    parser.feed(b"score = 7")
    assert parser.finish(None).figures == ()  # it was cut off: it may have been 71


def test_by_hand_the_locale_is_that_of_a_run_or_as_given(tmp_path: Path) -> None:
    """The job of a run has LC_ALL=C: sort took 47 ms with it, 172 ms in the locale of a login."""
    script = tmp_path / "timed.sh"
    script.write_text(_TIMED)
    for given, shown in (([], "C"), (["env", "LC_ALL=C.UTF-8"], "C.UTF-8")):
        words = ["sh", str(script), "0", "0", "", *given, "printenv", "LC_ALL"]
        env = {**os.environ, "LC_ALL": "POSIX"}
        assert subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout == f"{shown}\n"


@pytest.mark.parametrize(
    ("name", "value"), [("working_directory", "srv"), ("accepted", "none"), ("unit", "tps"), ("metric", " ")]
)
def test_values_that_mean_nothing_are_refused(name: str, value: str) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(SUITE, {name: value})


def test_the_metric_is_the_users() -> None:
    figure, wall = SUITE.metrics_of(complete_values(SUITE, {**SCORE, "better": "lower"}))
    assert (figure.name, figure.title, figure.unit) == ("own_own_score", "Own score", Unit.MB_PER_SECOND)
    assert (figure.better, figure.kind) == (Better.LOWER, MetricKind.RATE)
    assert SUITE.metrics_of(complete_values(SUITE, {})) == (wall,)
    assert (wall.unit, wall.better) == (Unit.SECOND, Better.LOWER)


def test_the_wall_time_is_the_figure_unless_another_is_asked_for() -> None:
    found = parsed("sleep")
    assert found.complete
    assert figures(found)["wall_time"] == pytest.approx(0.25, abs=0.02)
    assert found.notes == ()


def test_without_perl_the_clock_is_coarser_and_says_so() -> None:
    found = parsed("uptime")
    assert figures(found)["wall_time"] == pytest.approx(0.25, abs=0.02)
    assert found.notes == ()
    assert (found.tool_version, parsed("sleep").tool_version) == ("clock of 0.01 s", "clock of 1e-06 s")


def test_the_pattern_reads_the_last_line_or_the_first() -> None:
    assert figures(parsed("score", **SCORE))["own_own_score"] == 300.5
    assert figures(parsed("score", **SCORE, occurrence="first"))["own_own_score"] == 100.5
    assert "wall_time" in figures(parsed("score", **SCORE))


def test_a_pattern_that_finds_nothing_or_no_number_gives_no_figure() -> None:
    nothing = parsed("score", **{**SCORE, "pattern": "rate = (.*)"})
    assert (nothing.complete, set(figures(nothing))) == (False, {"wall_time"})
    assert MESSAGES["no_line_of_the_output"] in nothing.notes[0]
    word = parsed("score", **{**SCORE, "pattern": "score = [0-9.]+ (.*)"})
    assert (word.complete, word.notes[0]) == (False, MESSAGES["what_the_pattern_found_is_no"])
    broken = parsed("score", **{**SCORE, "pattern": "score = ("})
    assert (broken.complete, broken.notes[0]) == (False, MESSAGES["a_parenthesis_of_the_pattern"])


@pytest.mark.parametrize(
    ("output", "path"),
    [
        (b'{"results": [{"rate": 1}, {"rate": 12.5}]}', "results.1.rate"),
        (b'{\n "results": [\n{"rate": 12.5}]\n}\n', "$.results.-1.rate"),
        (b'starting\n{"rate": "12.5"}\n', "rate"),
        (b"12.5", "$"),
    ],
)
def test_json_is_read_at_its_path(output: bytes, path: str) -> None:
    found = read(output, figure="json", json_path=path)
    assert (found.complete, figures(found)) == (True, {"own_figure": 12.5, "wall_time": 1.5})


@pytest.mark.parametrize(
    ("output", "path", "shown"),
    [
        (b'{"rate": 1}', "rates", "there is no “rates”"),
        (b'{"rate": true}', "rate", "not a number"),
        (b'{"rate": NaN}', "rate", "NaN is not a number"),
        (b'{"rate": 1e999}', "rate", "not a number"),
        (b'{"rate": 1', "rate", "cannot be read"),
        (b"[" * 100_000, "0", "cannot be read"),
        (b"x" * 1000 + b"\n", "0", "cannot be read"),
        ((b"x" * 4095 + b"\n") * (MAXIMUM_JSON // 4095 + 2), "0", "exceeds 4 MiB"),
        (b"", "0", "cannot be read"),
    ],
)
def test_json_that_has_no_number_there_gives_no_figure(output: bytes, path: str, shown: str) -> None:
    found = read(output, figure="json", json_path=path)
    assert (found.complete, set(figures(found))) == (False, {"wall_time"})
    assert shown in found.notes[0]


def test_how_it_failed_is_said() -> None:
    late = parsed("timeout", timeout=1)
    assert (late.complete, late.notes) == (False, (MESSAGES["the_command_took_longer_than"],))
    missing = parsed("missing")
    assert not missing.complete
    assert "exit status 127" in missing.notes[0]
    assert "no-such-program: No such file or directory" in missing.notes[0]
    killed = SUITE.parser(complete_values(SUITE, {})).finish(137)
    assert killed.notes == (MESSAGES["the_command_was_cut_off_its"],)


def test_a_time_of_a_few_steps_is_named_and_one_of_none_is_no_figure() -> None:
    parser = SUITE.parser(complete_values(SUITE, {}))
    parser.feed(b"\nbenchwright-timed 0.05 s, status 0, resolution 0.01 s, accepted\n", "stderr")
    found = parser.finish(0)
    assert (found.complete, figures(found)) == (True, {"wall_time": 0.05})
    assert MESSAGES["less_than_10_steps_of_the"] in found.notes[0]
    parser = SUITE.parser(complete_values(SUITE, {}))
    parser.feed(b"\nbenchwright-timed 0.00 s, status 0, resolution 0.01 s, accepted\n", "stderr")
    nothing = parser.finish(0)
    assert (nothing.complete, nothing.figures) == (False, ())


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"command": "sleep 1"}, set()),
        ({"command": " "}, {"command-empty"}),
        ({"command": "echo 'a"}, {"command-unreadable"}),
        ({"command": "a", "environment": "A"}, {"command-unreadable"}),
        ({"command": "a", "figure": "pattern"}, {"command-no-figure"}),
        ({"command": "a", "figure": "pattern", "pattern": "(a)(b)"}, {"command-no-figure"}),
        ({"command": "a", "figure": "json"}, {"command-no-figure"}),
        ({"command": "a | b"}, {"command-shell-signs"}),
        ({"command": "make -C $HOME/x"}, {"command-shell-signs"}),
        ({"command": "grep 'a|b' file"}, set()),
        ({"command": "a", "prepare": "rm *.o"}, {"command-shell-signs"}),
        ({"command": "a | b", "shell": True}, set()),
        ({"command": "a b", "shell": True}, {"command-shell-timed"}),
        ({"command": "a --password=x"}, {"command-secret"}),
        ({"command": "a", "environment": "PGPASSWORD=x"}, {"command-secret"}),
        ({"command": "a --password x"}, {"command-secret"}),
        ({"command": "a", "environment": "SECRETVAR=tokengrault99"}, {"command-secret"}),
        ({"command": "a", "before": "curl https://ann:x1@web-1/"}, {"command-secret"}),
        ({"command": "curl --url=https://web-1/x?token=x1y2z3"}, {"command-secret"}),
        ({"command": "curl -H 'Authorization: Bearer x1' web-1"}, {"command-secret"}),
        ({"command": "sh -c 'curl -H \"Authorization: Bearer $TOKEN\" web-1'"}, set()),
        ({"command": "a", "environment": "PASSES=3 TOKENS=4 pass=2"}, set()),
        ({"command": "a --password-file=/run/x --secret=$X", "shell": True}, set()),
    ],
)
def test_what_is_warned_of(given: dict[str, object], found: set[str]) -> None:
    assert findings(**given) == found


def test_the_remedy_for_signs_is_the_shell() -> None:
    assert applied(evidence(SUITE, Context(), command="a | b"), "command-shell-signs").values["shell"] is True


def test_a_scan_runs_the_command_once_for_each_value() -> None:
    given = {"command": "make -j{n} {}", "scan": "n=1,2,2", "before": "make clean", "environment": "N={n}"}
    found = [line for _, line in lines(**given) if "timed.sh" in line]
    assert found == [f"sh timed.sh -v n={n} 0 0 '' env N={n} make -j{n} '{{}}'" for n in (1, 2)]
    assert len(lines(**given)) == 4
    assert len(lines(command="{a}{b}", scan="a=1,2 b=3,4,5")) == 6


@pytest.mark.parametrize("text", ["n", "n=", "n=1, 2", "n=1,,2", "1=2", "n=a=b", "n={m}"])
def test_a_scan_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        complete_values(SUITE, {"scan": text})


def scan(*parts: tuple[str, bytes], exit_status: int = 0, given: dict[str, str] | None = None) -> ParsedTrial:
    parser = SUITE.parser(complete_values(SUITE, {"command": "p {n}", "scan": "n=1,2,4", **(given or {})}))
    for stream, data in parts:
        parser.feed(data, stream)
    return parser.finish(exit_status)


def run_of(value: str, *printed: tuple[str, bytes]) -> list[tuple[str, bytes]]:
    begin = f"\nbenchwright-value n={value}\n".encode()
    return [("stdout", begin), ("stderr", begin), *printed]


def test_each_value_of_a_scan_has_figures_of_its_own_whatever_stream_arrives_first() -> None:
    parts = [
        *run_of("1", ("stderr", TIMED), ("stdout", b"score = 10 MB/s")),
        *run_of("2", ("stdout", b"score = 20\n"), ("stderr", TIMED.replace(b"1.5", b"0.5"))),
        *run_of("4", ("stderr", TIMED), ("stdout", b"score = 30")),
    ]
    ended = scan(*parts, given=SCORE)
    found = {(figure.metric.name, dict(figure.labels)["n"]): figure.value for figure in ended.figures}
    assert [found["own_own_score", n] for n in "124"] == [10.0, 20.0, 30.0]
    assert [found["wall_time", n] for n in "124"] == [1.5, 0.5, 1.5]
    assert ended.complete


def test_a_scan_that_ends_early_says_what_failed_and_what_was_not_run() -> None:
    failed = TIMED.replace(b"status 0", b"status 2").replace(b"accepted", b"not accepted")
    ended = scan(*run_of("1", ("stderr", TIMED)), *run_of("2", ("stderr", failed)), exit_status=2)
    assert not ended.complete
    assert [dict(figure.labels)["n"] for figure in ended.figures] == ["1", "2"]
    assert ended.notes[-2].startswith("n=2: The command ")
    assert ended.notes[-1] == "Not run: n=4."
    ended = scan(*run_of("1", ("stderr", TIMED)), ("stdout", b"no disk\nbenchwright-before failed\n"), exit_status=1)
    assert ended.notes[-2:] == (MESSAGES["before_of_a_value"], "Not run: n=4.")
    assert scan(exit_status=1).notes[0].startswith("n=1: The command was cut off")


def test_checks_see_every_value_of_a_scan() -> None:
    writes = {"command": "dd if=/dev/zero of={to} count=1", "scan": "to=/tmp/x,/dev/sdb"}
    assert "command-writes-device" in findings(**writes)
    assert "command-scan" not in findings(**writes)
    assert "command-scan" in findings(command="true", scan="n=1,2")
    assert "command-scan" in findings(command="echo {n}", scan="n=1..3")
    assert "command-scan" not in findings(command="taskset -c {n} true", scan="n=0-3,4-7")
    many = ",".join(map(str, range(65)))
    assert "command-scan" in findings(command="echo {n}", scan=f"n={many}")
    assert len(lines(command="echo {n}", scan=f"n={many}")) == 64


@pytest.mark.parametrize(
    ("given", "titles"),
    [
        ({"command": "7z b -mmt1"}, ["7-Zip"]),
        ({"command": "numactl -N 0 zstd -b3 x | tail -1", "shell": True}, ["zstd", "numactl"]),
        ({"command": "true", "prepare": "make"}, ["make"]),
        ({"command": "/opt/7z/7z b"}, []),
        ({"command": "./mine 7z"}, []),
    ],
)
def test_packages_of_known_programs_are_known(given: dict[str, object], titles: list[str]) -> None:
    found = SUITE.programs(complete_values(SUITE, given), None)
    assert [program.title for program in found] == titles
    assert all(program.packages["apt"] for program in found)


def test_the_lines_of_a_scan_are_read_back_as_its_values() -> None:
    values = complete_values(SUITE, {"command": "p {n}", "scan": "n=1,2"})
    text = "\n".join(command.line for command in SUITE.commands(values, Context()))
    read_back = SUITE.parse_command(text, values, Context())
    assert read_back is not None
    assert (read_back.values, read_back.unread) == (values, ())
    other = SUITE.parse_command(text.replace("p 1", "q 1"), values, Context())
    assert other is not None
    assert other.unread
