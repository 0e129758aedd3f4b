"""Redis as a suite: its commands, what is warned of, and what is read of redis-benchmark's output."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from suites.base import Context, complete_values, tuned_values
from suites.errors import ParameterError
from suites.outputs import ParsedTrial
from suites.redis import FILE, Redis
from tests.disk_host import disk_host, outcomes, tuned_step
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series
from tests.suites.host_facts import assert_warned, evidence, raised

MESSAGES = messages("suites", "test_redis")

SUITE = Redis()
NAMED = {"server": "named", "address": "db-1"}


def line(**given: object) -> str:
    (command,) = SUITE.commands(complete_values(SUITE, given), Context())
    return shlex.join(command.argv)


def parsed(name: str, **given: object) -> ParsedTrial:
    return capture(f"redis/{name}").parse(SUITE.parser(complete_values(SUITE, given)))


def test_a_server_of_its_own_runs_beside_the_command() -> None:
    assert line() == "sh redis.sh redis-benchmark -s redis.sock -t set -n 100000 -c 50 -P 1 -d 3"
    assert line(keyspace=9, client_threads=2, test="get").endswith(
        "-t set,get -n 100000 -c 50 -P 1 -d 3 -r 9 --threads 2"
    )
    assert "--save '' --appendonly no" in FILE.text


def test_a_server_that_runs_already_is_asked_as_a_person_would() -> None:
    assert line(**NAMED, port=7000, database=3).startswith("redis-benchmark -h db-1 -p 7000 --dbnum 3 -t set ")
    assert line(server="named").startswith(MESSAGES["by_port"])
    assert line(server="named", address="/run/redis.sock").startswith(MESSAGES["by_socket"])
    (effect,) = SUITE.effects(complete_values(SUITE, NAMED))
    assert effect.text == "redis-benchmark -h db-1 -p 6379"
    assert "stay" in effect.what
    assert SUITE.effects(complete_values(SUITE, {})) == ()


@pytest.mark.parametrize(("name", "value"), [("address", "-x"), ("test", "flushall"), ("clients", 0), ("pipeline", 0)])
def test_values_that_could_be_something_else_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(SUITE, {name: value})


def test_tuning_raises_nothing() -> None:
    values = tuned_values(SUITE, Context(disk_host()))
    assert (values["requests"], values["keyspace"], values["clients"]) == (1_000_000, 100_000, 50)
    assert outcomes(tuned_step(SUITE)) == {}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, "redis-few-requests"),
        ({"requests": 1_000_000, "pipeline": 16}, "redis-few-requests"),
        ({}, "redis-one-key"),
        ({"pipeline": 16}, "redis-pipelined"),
        ({"server": "named"}, "redis-same-host"),
        ({"server": "named", "address": "127.0.0.1"}, "redis-same-host"),
    ],
)
def test_what_is_warned_of(given: dict[str, object], found: str) -> None:
    assert_warned(evidence(SUITE, Context(disk_host()), **given), found)


def test_no_key_is_needed_without_data() -> None:
    assert "redis-one-key" not in raised(evidence(SUITE, Context(disk_host()), test="ping_mbulk"))
    assert "redis-same-host" not in raised(evidence(SUITE, Context(disk_host()), **NAMED))


def test_the_figures_are_those_that_are_printed() -> None:
    found = parsed("7.0.15/set")
    assert (found.complete, found.notes) == (True, ())
    assert figures(found) == {
        "requests_per_second": 115606.94,
        "latency_mean": 0.224,
        "latency_p50": 0.215,
        "latency_p95": 0.303,
        "latency_p99": 0.375,
        "latency_max": 2.303,
        "elapsed": 0.87,
    }
    assert series(found.samples, "requests_per_second") == [(0.25, 123067.7), (0.5, 106340.0), (0.75, 121384.0)]
    assert not any(sample.warm_up for sample in found.samples)
    threads = parsed("7.0.15/set_threads")
    assert (threads.complete, figures(threads)["requests_per_second"]) == (True, 99900.09)
    assert figures(parsed("8.0.2/set"))["latency_p99"] == 0.615


def test_before_6_2_there_are_only_bounds_of_percentiles() -> None:
    found = parsed("6.0.16/set")
    assert (found.complete, found.notes) == (True, (MESSAGES["no_percentiles"],))
    assert figures(found) == {"requests_per_second": 110864.74, "elapsed": 0.9}


def test_the_test_that_fills_the_server_is_no_figure() -> None:
    found = parsed("7.0.15/lpop", test="lpop")
    assert found.complete
    fills = max(one.time for one in found.samples if one.warm_up)
    rates = [time for time, _rate in series((one for one in found.samples if not one.warm_up), "requests_per_second")]
    ramp, end = SUITE.counted(complete_values(SUITE, {"test": "lpop"}), found.figures, found.samples) or (0.0, 0.0)
    assert ramp == fills
    assert end - ramp == pytest.approx(figures(found)["elapsed"])
    assert min(rates) > fills
    assert parsed("7.0.15/lpop", test="lpush").complete is False
    assert figures(parsed("7.0.15/lrange_100", test="lrange_100"))["requests_per_second"] > 0


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("7.0.15/no_server", "No such file or directory"),
        ("8.0.2/no_server", "No such file or directory"),
        ("7.0.15/server_died", "Connection reset by peer"),
        ("7.0.15/password", "NOAUTH Authentication required."),
    ],
)
def test_how_it_failed_is_said(name: str, shown: str) -> None:
    found = parsed(name)
    assert (found.complete, found.figures) == (False, ())
    assert shown in " ".join(found.notes)


def test_a_server_that_writes_to_disk_is_remarked_upon() -> None:
    parser = SUITE.parser(complete_values(SUITE, {}))
    text = capture("redis/7.0.15/set").stdout
    parser.feed(text.replace(b'"save": ', b'"save": 3600 1'))
    assert parser.finish(0).notes == (MESSAGES["writes_to_disk"],)


def _run(folder: Path, *words: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    (folder / FILE.name).write_text(FILE.text)
    environment = {"PATH": path}
    return subprocess.run(("sh", FILE.name, *words), cwd=folder, capture_output=True, text=True, env=environment,
                          timeout=20, check=False)  # fmt: skip


def test_a_server_that_does_not_start_gives_the_reason(tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "redis-server"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho no memory\nexit 1\n")
    fake.chmod(0o755)
    done = _run(tmp_path, "true", path=f"{fake.parent}:/usr/bin:/bin")
    assert done.returncode == 1
    parser = SUITE.parser(complete_values(SUITE, {}))
    parser.feed(done.stderr.encode(), "stderr")
    found = parser.finish(1)
    assert not found.complete
    assert MESSAGES["no_memory"] in found.notes[0]


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
def test_the_server_ends_with_the_command_whose_status_is_kept(tmp_path: Path) -> None:
    done = _run(tmp_path, "sh", "-c", "cat /proc/*/cmdline | tr '\\0' ' ' | grep -c 'redis-server [*]:0'; exit 3")
    assert done.returncode == 3
    assert not (tmp_path / "redis.sock").exists()
    assert "benchwright-server Redis server v=" in done.stderr
