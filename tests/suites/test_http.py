"""HTTP as a suite: its commands, what is warned of, and what is read of wrk's output."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from app.outputs.recognition import recognise
from suites.base import Context, complete_values, tuned_values
from suites.errors import ParameterError
from suites.http import FILE, Http, WrkParser
from suites.outputs import ParsedTrial
from tests.disk_host import disk_host, outcomes, tuned_step
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures
from tests.suites.host_facts import assert_warned, evidence

MESSAGES = messages("suites", "test_http")

SUITE = Http()
NAMED = {"server": "named", "url": "http://web-1/index.html"}


def line(**given: object) -> str:
    (command,) = SUITE.commands(complete_values(SUITE, given), Context())
    return shlex.join(command.argv)


def parsed(name: str) -> ParsedTrial:
    return capture(f"http/wrk-4.1.0/{name}").parse(WrkParser())


def test_nginx_runs_beside_the_command() -> None:
    assert line() == "sh nginx.sh 1024 wrk -t 2 -c 10 -d 10s --latency"
    assert "listen 127.0.0.1:$port" in FILE.text


def test_a_url_is_requested_as_a_person_would() -> None:
    assert line(**NAMED) == "wrk -t 2 -c 10 -d 10s --latency http://web-1/index.html"
    (effect,) = SUITE.effects(complete_values(SUITE, NAMED))
    assert effect.text == NAMED["url"]
    assert SUITE.effects(complete_values(SUITE, {})) == ()


def test_a_url_is_read_back() -> None:
    text = "wrk --threads 4 -c100 -d30s --latency https://web-2/a?b=c"
    found = SUITE.parse_command(text, complete_values(SUITE, NAMED), Context())
    assert found is not None
    assert found.unread == ()
    assert [found.values[name] for name in ("threads", "connections", "time")] == [4, 100, 30.0]
    assert found.values["url"] == "https://web-2/a?b=c"


@pytest.mark.parametrize(("name", "value"), [("url", "-x"), ("url", "file:///etc"), ("connections", 0), ("time", 0.5)])
def test_values_that_could_be_something_else_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(SUITE, {name: value})


def test_tuning_raises_nothing() -> None:
    values = tuned_values(SUITE, Context(disk_host()))
    assert (values["threads"], values["connections"], values["time"]) == (4, 128, 30.0)
    assert outcomes(tuned_step(SUITE)) == {}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"server": "named"}, "http-no-url"),
        ({"threads": 8, "connections": 4}, "http-few-connections"),
        ({"time": 3}, "short-runtime"),
    ],
)
def test_what_is_warned_of(given: dict[str, object], found: str) -> None:
    assert_warned(evidence(SUITE, Context(disk_host()), **given), found)


OF_WRK2 = """\
Running 30s test @ http://web/index.html
  2 threads and 100 connections
  Thread calibration: mean lat.: 9.747ms, rate sampling interval: 21ms
  Thread calibration: mean lat.: 9.631ms, rate sampling interval: 21ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.46ms    1.93ms  12.34ms   67.66%
    Req/Sec     1.05k     1.12k    2.50k    64.84%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    6.67ms
 75.000%    7.78ms
 90.000%    9.14ms
 99.000%   11.18ms
 99.900%   12.30ms
 99.990%   12.33ms
 99.999%   12.34ms
100.000%   12.34ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.921     0.000000            1         1.00
       4.053     0.100000         3951         1.11
      12.342     1.000000        39500          inf
#[Mean    =        6.456, StdDeviation   =        1.925]
#[Max     =       12.336, Total count    =        39500]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------

  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))
 50.000%    0.67ms
 75.000%    0.78ms
 90.000%    0.14ms
 99.000%    1.18ms
 99.900%    1.30ms
 99.990%    1.33ms
 99.999%    1.34ms
100.000%    1.34ms
----------------------------------------------------------
  60018 requests in 30.00s, 19.81MB read
Requests/sec:   2000.28
Transfer/sec:    676.18KB
"""


def test_the_recorded_latencies_of_wrk2_are_read_and_the_rest_is_named() -> None:
    (found,) = recognise("$ wrk -t2 -c100 -d30s -R2000 --u_latency http://web/index.html\n" + OF_WRK2).found
    parsed = found.output.parsed
    shown = figures(parsed)
    assert [shown[f"latency_p{rank}"] for rank in (50, 75, 90, 99, 999, 9999)] == [6.67, 7.78, 9.14, 11.18, 12.3, 12.33]
    assert (shown["latency_max"], shown["requests_per_second"]) == (12.34, 2000.28)
    assert parsed.complete
    left_out, rate = parsed.notes
    assert all(text in left_out for text in ("p99.999", "percentile spectrum", "uncorrected"))
    assert "-R 2000" in rate
    (found,) = recognise(OF_WRK2.partition("  Latency Distribution")[0] + OF_WRK2.rpartition("-\n")[2]).found
    assert found.output.parsed.notes == ()


def test_the_figures_are_those_that_are_printed() -> None:
    found = parsed("file")
    assert (found.complete, found.notes) == (True, ())
    assert figures(found) == pytest.approx({
        "requests_per_second": 55386.50,
        "latency_mean": 0.26694,
        "latency_p50": 0.093,
        "latency_p75": 0.243,
        "latency_p90": 0.660,
        "latency_p99": 2.44,
        "latency_max": 8.11,
        "transfer_rate": 66.77 * 2**20,
        "failed_responses": 0.0,
        "socket_errors": 0.0,
        "total_requests": 116285.0,
        "elapsed": 2.1,
    })  # fmt: skip


def test_errors_are_counted_and_remarked_upon() -> None:
    found = parsed("not_found")
    assert (found.complete, found.figures) == (False, ())
    assert found.notes == (MESSAGES["all_are_errors"],)
    parser = WrkParser()
    parser.feed(capture("http/wrk-4.1.0/not_found").stdout.replace(b"responses: 88052", b"responses: 52"))
    some = parser.finish(0)
    assert (some.complete, figures(some)["failed_responses"]) == (True, 52.0)
    assert some.notes == (MESSAGES["some_are_errors"],)


def test_socket_errors_are_counted_and_remarked_upon() -> None:
    found = parsed("server_died")
    assert not found.complete
    assert figures(found)["socket_errors"] > 0
    assert "102,054 connections" in found.notes[0]
    assert "socket errors" in found.notes[1]
    parser = WrkParser()
    parser.feed(capture("http/wrk-4.1.0/server_died").stdout.replace(b"write 102054", b"write 54"))
    assert parser.finish(0).complete


def test_errors_in_a_broken_line_are_not_read_as_none() -> None:
    parser = WrkParser()
    text = capture("http/wrk-4.1.0/server_died").stdout
    parser.feed(text.replace(b"write 102054", b"write 54").replace(b", timeout", b",\ntimeout"))
    found = parser.finish(0)
    assert "socket_errors" not in figures(found)
    assert "requests_per_second" in figures(found)
    assert found.notes == ("Not read: socket errors.",)


def test_how_it_failed_is_said() -> None:
    found = parsed("no_server")
    assert (found.complete, found.figures) == (False, ())
    assert "unable to connect to 127.0.0.1:21877 Connection refused" in " ".join(found.notes)


def _run(folder: Path, *words: str, path: str = "/usr/bin:/bin:/usr/sbin") -> subprocess.CompletedProcess[str]:
    (folder / FILE.name).write_text(FILE.text)
    return subprocess.run(
        ("sh", FILE.name, "2000", *words), cwd=folder, capture_output=True, text=True, env={"PATH": path}, timeout=30,
        check=False,
    )  # fmt: skip


def test_a_server_that_does_not_start_gives_the_reason(tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "nginx"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho no memory\nexit 1\n")
    fake.chmod(0o755)
    done = _run(tmp_path, "true", path=f"{fake.parent}:/usr/bin:/bin")
    parser = WrkParser()
    parser.feed(done.stderr.encode(), "stderr")
    assert MESSAGES["no_memory"] in parser.finish(done.returncode).notes[0]


@pytest.mark.skipif(shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="nginx is not installed")
def test_nginx_serves_the_file_and_ends_with_the_command(tmp_path: Path) -> None:
    done = _run(tmp_path, "sh", "-c", 'curl -s "$0" | wc -c; exit 3')
    assert (done.returncode, done.stdout.strip()) == (3, "2000")
    assert "benchwright-server nginx version: nginx/" in done.stderr
    assert not (tmp_path / "nginx.pid").exists()
