"""The commands of the iperf3 suite, run for real over loopback, give what the server itself counted."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from suites.base import Context, complete_values
from suites.facts import Facts, Tool
from suites.iperf3.suite import Iperf3
from suites.outputs import ParsedTrial
from suites.vocab import labels
from tests.lab_sshd import free_port
from tests.messages import messages

MESSAGES = messages("lab", "test_iperf3_real")

VERSION = subprocess.run(
    ["sh", "-c", "iperf3 --version || true"], capture_output=True, check=False, text=True
).stdout.partition("\n")[0]
pytestmark = pytest.mark.skipif(not VERSION, reason="iperf3 is not installed")

SUITE = Iperf3()


def commands(**given: object) -> tuple[list[str], list[str]]:
    """Return the server's and the client's words, on a free port of loopback."""
    facts = Facts(host="here", read_at="", tools=(Tool(name="iperf3", version=VERSION),))
    values = complete_values(SUITE, {"port": free_port(), "time": 2, **given})
    serve, measure = SUITE.commands(values, Context(facts, facts, "127.0.0.1"))
    return list(serve.argv), list(measure.argv)


@contextmanager
def serving(argv: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run the server until the test is over; it has said that it listens."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            assert any("Server listening" in line for line in server.stdout)
            yield server
        finally:
            server.kill()


def run(argv: list[str]) -> ParsedTrial:
    done = subprocess.run(argv, capture_output=True, check=False)
    parser = SUITE.parser({})
    parser.feed(done.stdout)
    parser.feed(done.stderr, "stderr")
    return parser.finish(done.returncode)


def received(found: ParsedTrial, direction: str) -> float:
    """Return the received rate, the first figure of its direction."""
    mark = labels(direction=direction, end="receiver")
    return next(figure.value for figure in found.figures if figure.labels == mark)


@pytest.mark.parametrize(
    ("given", "direction"),
    [
        ({}, "send"),
        pytest.param({"streams": 4}, "send", marks=pytest.mark.slow),
        ({"omit": 1}, "send"),
        pytest.param({"direction": "receive"}, "receive", marks=pytest.mark.slow),
        pytest.param({"protocol": "udp", "bitrate": 50}, "send", marks=pytest.mark.alone),
        pytest.param(
            {"protocol": "udp", "bitrate": 50, "direction": "receive", "streams": 2},
            "receive",
            marks=[pytest.mark.alone, pytest.mark.slow],
        ),
    ],
    ids=["tcp", "streams", "omit", "receive", "udp", "udp receive"],
)
def test_a_trial_is_complete_with_live_samples(given: dict[str, object], direction: str) -> None:
    serve, measure = commands(**given)
    with serving(serve) as server:
        found = run(measure)
        assert server.wait(timeout=60) == 0
    assert found.complete, found.notes
    assert received(found, direction) == found.figures[0].value > 0
    rates = [sample for sample in found.samples if sample.metric is SUITE.metrics[0]]
    assert [round(sample.time) for sample in rates] == list(range(1, 3 + int("omit" in given)))
    assert [sample.warm_up for sample in rates] == [True] * int("omit" in given) + [False, False]
    if "bitrate" in given:
        asked = 50e6 * int(str(given.get("streams", 1)))
        assert found.figures[0].value == pytest.approx(asked, rel=0.05)


@pytest.mark.slow
def test_both_directions_are_measured_at_once() -> None:
    serve, measure = commands(direction="both")
    with serving(serve):
        found = run(measure)
    assert found.complete, found.notes
    assert received(found, "send") > 0
    assert received(found, "receive") > 0


@pytest.mark.slow
def test_the_rate_is_the_one_the_server_counted() -> None:
    """The server's own JSON of the same run is read here by hand. With -J it says nothing before the end: ask again."""
    serve, measure = commands()
    with subprocess.Popen([*serve[: serve.index("--forceflush")], "-J"], stdout=subprocess.PIPE, text=True) as server:
        found = next(found for _ in range(500) if "refused" not in " ".join((found := run(measure)).notes))
        counted = json.loads(server.communicate(timeout=60)[0])["end"]["sum_received"]["bits_per_second"]
    assert found.complete, found.notes
    assert received(found, "send") == pytest.approx(counted, rel=0.01)


def test_the_rate_is_the_one_on_the_screen() -> None:
    serve, measure = commands()
    if "--json-stream" in measure:
        measure = [*measure[: measure.index("--json-stream")], "--forceflush", "-f", "k"]
    with serving(serve):
        done = subprocess.run(measure, capture_output=True, check=False)
    parser = SUITE.parser({})
    parser.feed(done.stdout)
    (on_screen,) = re.findall(r"([\d.]+) Kbits/sec +receiver", done.stdout.decode())
    assert received(parser.finish(done.returncode), "send") == pytest.approx(float(on_screen) * 1e3)


def test_a_client_that_is_stopped_keeps_what_it_measured() -> None:
    serve, measure = commands(time=60)
    parser = SUITE.parser({})
    with serving(serve), subprocess.Popen(measure, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        assert client.stdout is not None
        for line in client.stdout:
            if list(parser.feed(line)):
                client.send_signal(signal.SIGTERM)
                break
        rest, errors = client.communicate(timeout=60)
        parser.feed(rest)
        parser.feed(errors, "stderr")
        found = parser.finish(client.returncode)
    assert not found.complete
    assert found.samples
    assert [figure.labels for figure in found.figures] == [labels(direction="send", end="sender")]


def test_a_server_that_dies_is_named() -> None:
    serve, measure = commands(time=60)
    parser = SUITE.parser({})
    with serving(serve) as server, subprocess.Popen(measure, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        assert client.stdout is not None
        for line in client.stdout:
            if list(parser.feed(line)):
                server.kill()
                break
        rest, errors = client.communicate(timeout=60)
        parser.feed(rest)
        parser.feed(errors, "stderr")
        found = parser.finish(client.returncode)
    assert not found.complete
    assert MESSAGES["the_server_end_ended_before"] in found.notes[0]


def test_nobody_listening_is_named() -> None:
    _serve, measure = commands()
    found = run(measure)
    assert not found.complete
    assert "listens on that port" in found.notes[0]
