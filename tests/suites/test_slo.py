"""SLO search: the driver on queues whose answer is known, its parser, and the commands."""

import math
import re
import shutil
import subprocess
from pathlib import Path
from statistics import mean

import pytest

import resources
from suites.base import Context, Purpose, Suite, complete_values
from suites.outputs import ParsedTrial
from suites.parameters import Values
from suites.slo.fio import FioSlo
from suites.slo.http import HttpSlo
from suites.slo.pgbench import PgbenchSlo
from suites.slo.search import DRIVER, READER, STEPS, SloParser
from tests.messages import messages
from tests.suites.captured_outputs import capture

MESSAGES = messages("suites", "test_slo")

FIO, PGBENCH, HTTP = FioSlo(), PgbenchSlo(), HttpSlo()

SHELLS = [words for words in (("dash",), ("bash",), ("busybox", "sh")) if shutil.which(words[0])]

SERVICE = 1000.0
"""Requests per second of the staged queue. M/M/1: the time in the system is exponential, of rate SERVICE - rate."""

QUEUE = r"""read -r rate && awk -v rate="$rate" -v seconds="$1" -v service=1000 'BEGIN {
    rate += 0
    if (rate >= service) { print int(service * seconds), seconds, 1e7, 1e7, 1e7, 1e7, 1e7, 1e7; exit }
    mean = 1e6 / (service - rate)
    print int(rate * seconds), seconds, mean, mean * 0.693147, mean * 2.995732, mean * 4.605170, mean * 6.907755, 9 }'
"""


def search(
    folder: Path, reader: str, *options: str, shell: tuple[str, ...] = ("sh",), tool: str = "echo @RATE@"
) -> str:
    """Return what the driver prints with this reader, of windows of 1000 s that take no time."""
    (folder / DRIVER.name).write_text(Path(resources.__path__[0], DRIVER.resource).read_text())
    (folder / READER).write_text(reader)
    usual = ("--limit=0.01", "--percentile=99", "--start=100", "--most=1000000", "--runtime=1000", "--confirm=3")
    argv = (*shell, DRIVER.name, *usual, *options, *tool.split())
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return f"{done.stdout}{done.stderr}exit {done.returncode}\n"


def parsed(text: str, suite: Suite = PGBENCH, **given: object) -> ParsedTrial:
    parser = suite.parser(complete_values(suite, given))
    output, _, status = text.rpartition("exit ")
    parser.feed(output.encode())
    return parser.finish(int(status))


def found(trial: ParsedTrial) -> dict[str, float]:
    return {f.metric.name: f.value for f in trial.figures if not f.labels}


@pytest.mark.parametrize(
    ("shell", "percentile", "of"),
    [
        *((shell, "99", 100.0) for shell in SHELLS),
        (("sh",), "50", 2.0),
        (("sh",), "95", 20.0),
        (("sh",), "99.9", 1000.0),
    ],
)
def test_the_highest_rate_of_a_known_queue(shell: tuple[str, ...], percentile: str, of: float, tmp_path: Path) -> None:
    trial = parsed(search(tmp_path, QUEUE, f"--percentile={percentile}", shell=shell), percentile=percentile)
    assert trial.complete, trial.notes
    right = SERVICE - math.log(of) / 0.01
    assert right * 2 ** (-1.1 / STEPS) <= found(trial)["slo_rate"] <= right * 1.001


def test_a_first_rate_that_misses_is_halved(tmp_path: Path) -> None:
    text = search(tmp_path, QUEUE, "--start=5000")
    assert "of 312/s" in text
    assert found(parsed(text))["slo_rate"] == pytest.approx(SERVICE - math.log(100) / 0.01, rel=0.025)


@pytest.mark.parametrize(("service", "windows"), [(900, 20), (600, 26)])
def test_fresh_windows_that_miss_lower_the_rate(service: int, windows: int, tmp_path: Path) -> None:
    # The last windows that bisect, and the fresh ones, are of a queue that has become slower.
    slower = f'echo >>windows; [ "$(wc -l <windows)" -lt 10 ] && service=1000 || service={service}\n' + QUEUE.replace(
        "service=1000 ", '"service=$service" '
    )
    text = search(tmp_path, slower)
    right = service - math.log(100) / 0.01
    assert right * 2 ** (-1.1 / STEPS) <= found(parsed(text))["slo_rate"] <= right * 1.001
    assert text.count(" to confirm,") <= windows
    best = [one.value for one in parsed(text).samples if one.metric.name == "slo_rate_so_far"]
    assert best[-1] == pytest.approx(found(parsed(text))["slo_rate"], rel=0.01)
    assert best[-1] < max(best)


def test_a_tool_that_falls_behind_is_no_open_loop_any_more(tmp_path: Path) -> None:
    behind = (
        'read -r rate && echo "$rate" "$1" | awk \'{ print int(($1 > 400 ? 400 : $1) * $2), $2, 1, 1, 1, 1, 1, 1 }\''
    )
    text = search(tmp_path, behind)
    assert ": behind" in text
    assert found(parsed(text))["slo_rate"] == pytest.approx(400, rel=0.03)
    assert MESSAGES["rate_limits"] in " ".join(parsed(text).notes)
    assert MESSAGES["rate_limits"] not in " ".join(parsed(search(tmp_path, QUEUE)).notes)


def test_searches_without_an_answer_say_which(tmp_path: Path) -> None:
    below = parsed(search(tmp_path, QUEUE, "--most=300"))
    above = parsed(search(tmp_path, QUEUE, "--limit=0.0005"), limit=0.0005)
    assert "exceeds “highest rate”" in parsed(search(tmp_path, QUEUE, "--start=100", "--most=50")).notes[0]
    assert [(one.complete, found(one)) for one in (below, above)] == [(False, {}), (False, {})]
    assert MESSAGES["stays_below"] in below.notes[0]
    assert MESSAGES["exceeds"] in above.notes[0]


def test_a_tool_that_fails_ends_the_search_with_its_message(tmp_path: Path) -> None:
    trial = parsed(search(tmp_path, QUEUE, tool="pgbench-that-is-not-there -R @RATE@"))
    assert (trial.complete, trial.figures) == (False, ())
    assert "pgbench-that-is-not-there" in trial.notes[0]
    silent = parsed(search(tmp_path, "exit 65\n"))
    assert MESSAGES["no_latencies"] in silent.notes[0]


def test_offered_and_achieved_rate_and_all_percentiles_are_by_rate(tmp_path: Path) -> None:
    trial = parsed(search(tmp_path, QUEUE))
    rates = [dict(f.labels)["offered_rate"] for f in trial.figures if f.metric.name == "achieved_rate"]
    assert rates[:3] == ["100", "200", "400"]
    assert {f.metric.name for f in trial.figures if dict(f.labels).get("offered_rate") == "400"} == {
        "achieved_rate", "open_latency_p50", "open_latency_p95", "open_latency_p99", "open_latency_p99_9",
    }  # fmt: skip
    assert [sample.time for sample in trial.samples] == sorted(sample.time for sample in trial.samples)


def test_a_running_search_has_the_best_rate_so_far(tmp_path: Path) -> None:
    trial = parsed(search(tmp_path, QUEUE))
    of = {name: [one.value for one in trial.samples if one.metric.name == name] for name in
          ("slo_rate_so_far", "slo_rate_offered", "achieved_rate")}  # fmt: skip
    best, offered, achieved = of.values()
    assert {one.labels for one in trial.samples} == {()}
    assert best[:3] == achieved[:3]
    assert max(best) < max(achieved)
    assert best[-3:] == achieved[-3:]
    assert mean(best[-3:]) == pytest.approx(found(trial)["slo_rate"])
    missed = parsed(search(tmp_path, QUEUE, "--limit=0.0005"), limit=0.0005)
    assert {one.value for one in missed.samples if one.metric.name == "slo_rate_so_far"} == {0.0}
    assert offered[:3] == [100, 200, 400]


def test_busy_senders_are_named_as_coordinated_omission(tmp_path: Path) -> None:
    text = search(tmp_path, QUEUE, tool="echo @RATE@ --numjobs=@SENDERS@ --rate_iops=@EACH@")
    assert not any(MESSAGES["senders"] in note for note in parsed(text, FIO).notes)
    few = re.sub(r"--numjobs=\d+", "--numjobs=5", text)
    assert any(MESSAGES["senders"] in note for note in parsed(few, FIO).notes)


def test_output_that_ends_early_has_no_figure(tmp_path: Path) -> None:
    text = search(tmp_path, QUEUE)
    for part in (text[: len(text) // 2], text.replace(" to confirm,", " to bisect,")):
        trial = SloParser(values=complete_values(FIO, {}))
        trial.feed(part.encode())
        assert not trial.finish(0).complete


def words(suite: Suite, **given: object) -> list[tuple[Purpose, str]]:
    values: Values = complete_values(suite, given)
    return [(command.purpose, command.line) for command in suite.commands(values, Context())]


def test_fio_sends_at_random_moments_from_many_threads() -> None:
    layout, measure = words(FIO, limit=0.002, size="64 MiB")
    assert layout[0] is Purpose.PREPARE
    assert "--numjobs=@SENDERS@ --rate_iops=@EACH@ --rate_process=poisson" in measure[1]
    assert measure[1].startswith("sh slo-search.sh --limit=0.002 --percentile=99 ")


def test_pgbench_is_driven_beside_its_own_server_or_a_named_one() -> None:
    make, own = words(PGBENCH, clients=8)
    assert "make postgresql" in make[1]
    assert own[1].startswith("sh database.sh run postgresql sh slo-search.sh --limit=0.01 ")
    assert MESSAGES["pgbench_of_a_window"] in own[1]
    named = words(PGBENCH, server="named", address="db-1", database="bench", tables="keep")
    assert [line.split()[1] for _, line in named][-1] == "slo-search.sh"


def test_wrk_sends_at_random_moments_inside_the_script_of_its_server() -> None:
    ((_, own),) = words(HTTP, connections=64)
    assert own.startswith("sh nginx.sh 1024 sh slo-search.sh --limit=0.01 ")
    assert own.endswith(
        "env RATE=@RATE@ THREADS=2 wrk -s open-loop.lua --timeout @SECONDS@s -t 2 -c 64 -d @SECONDS@s --latency"
    )
    (window,) = (known for known in HTTP.parameters if known.name == "runtime")
    assert "not counted" not in window.help  # wrk counts from the start
    assert HTTP.parser(complete_values(HTTP, {})).settle == 0
    ((_, named),) = words(HTTP, server="named", url="http://web-1/")
    assert named.endswith(" --latency http://web-1/")


def test_errors_of_http_are_no_latencies(tmp_path: Path) -> None:
    (tmp_path / READER).write_text(reader_of(HTTP))

    def read(errors: int) -> str:
        times = "375.8 121.0 1955.0 5811.0 10682.0 12353.0 us"
        line = f"open loop: 2496 requests in 5.020 s: {times}, 0 of 2752 late, {errors} errors\n"
        argv = ("sh", READER, "5")
        return subprocess.run(argv, cwd=tmp_path, input=line, capture_output=True, text=True, check=True).stdout

    assert read(0) == "2496 5.020 375.8 121.0 1955.0 5811.0 10682.0 12353.0\n"
    assert read(3) == ""


def reader_of(suite: Suite) -> str:
    commands = suite.commands(complete_values(suite, {}), Context())
    return next(file.text for command in commands for file in command.files if file.name == READER)


def test_the_readers_leave_the_first_seconds_out(tmp_path: Path) -> None:
    def read(suite: Suite, name: str, log: str) -> list[float]:
        (tmp_path / READER).write_text(reader_of(suite))
        (tmp_path / name).write_text(log)
        done = subprocess.run(("sh", READER, "4"), cwd=tmp_path, capture_output=True, text=True, check=True)
        assert not (tmp_path / name).exists()
        return [float(word) for word in done.stdout.split()]

    counted = [(2000 + 20 * n, 100_000 * (n + 1)) for n in range(100)]
    early = [(100 * n, 9_000_000_000) for n in range(20)]
    expected = [100, 2.0, 5050, 5000, 9500, 9900, 10000, 10000]
    log = "".join(f"{at}, {latency}, 0, 4096, 0, 0\n" for at, latency in (*early, *counted, (4001, 9_000_000_000)))
    assert read(FIO, "benchwright_lat.log", log) == expected
    log = "".join(
        f"0 {n} {latency // 1000} 0 {1_700_000_000 + at // 1000} {at % 1000 * 1000} 5\n"
        for n, (at, latency) in enumerate((*early, *counted, (4001, 9_000_000_000)))
    )
    assert read(PGBENCH, "pgbench_log.4711", log) == expected


def test_captured_searches() -> None:
    disk = capture("fio-slo/3.33/random_reads").parse(FIO.parser(complete_values(FIO, {"limit": 0.001})))
    assert (disk.complete, found(disk)) == (True, {"slo_rate": 11932.0})
    assert {dict(f.labels)["offered_rate"] for f in disk.figures if f.labels} > {"200", "400", "11995"}
    database = capture("pgbench-slo/15.18/select").parse(PGBENCH.parser(complete_values(PGBENCH, {"limit": 0.02})))
    assert (database.complete, found(database)) == (True, {"slo_rate": 24284.0})
    assert database.tool_version == "PostgreSQL 15.18"
    http = capture("http-slo/4.1.0/nginx").parse(HTTP.parser(complete_values(HTTP, {"limit": 0.02})))
    assert (http.complete, http.tool_version) == (True, "nginx 1.22.1")
    assert found(http)["slo_rate"] == pytest.approx(36441, rel=0.05)
    killed = capture("fio-slo/3.33/killed").parse(FIO.parser(complete_values(FIO, {})))
    assert (killed.complete, found(killed)) == (False, {})
    assert killed.samples
