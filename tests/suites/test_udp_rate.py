"""The search for the highest UDP rate: its commands, and what is read from each test of it."""

import shlex
import subprocess
from pathlib import Path

import pytest

from suites.base import Context, Purpose, complete_values
from suites.network_path import Rendezvous
from suites.outputs import ParsedTrial
from suites.udp_rate import UdpRate
from tests.messages import messages
from tests.suites.captured_outputs import capture, captures, figures, series
from tests.suites.host_facts import applied, evidence, host, raised

MESSAGES = messages("suites", "test_udp_rate")

SUITE = UdpRate()
BOTH = Context(host("web-1", speed=10**10), host("db-1", speed=10**10), "10.0.0.2", Rendezvous(20001, "n"))


def parsed(name: str) -> ParsedTrial:
    return capture(f"iperf3-udp/1/{name}").parse(SUITE.parser({}))


def test_one_server_serves_every_test_of_the_search() -> None:
    serve, search = SUITE.commands(complete_values(SUITE, {}), BOTH)
    assert (serve.purpose, serve.on_peer) == (Purpose.SERVE, True)
    assert shlex.join(serve.argv) == "iperf3 -s -p 20001 --forceflush"
    assert shlex.join(search.argv) == "sh udp-rate.sh 0.1 iperf3 -c 10.0.0.2 -p 20001 -t 5 -f k"
    given = {"direction": "receive", "loss": 1, "streams": 4, "length": 512, "time": 10}
    _, search = SUITE.commands(complete_values(SUITE, given), BOTH)
    assert shlex.join(search.argv) == "sh udp-rate.sh 1 iperf3 -c 10.0.0.2 -p 20001 -t 10 -R -P 4 -l 512 -f k"
    assert {name: tuned.value for name, tuned in SUITE.tune(BOTH).items()} == {"streams": 2}


def test_the_received_rate_of_the_last_good_test_is_the_figure() -> None:
    found = parsed("search")
    values = figures(found)
    assert (found.complete, found.notes) == (True, ())
    assert found.figures[0].metric.name == "udp_rate"
    assert values["udp_rate"] == values["throughput 19382"] == 19.365e6
    assert values["tcp_rate"] == 19.144e6
    assert values["lost 21536"] == pytest.approx(8.8)
    assert [name for name in values if name.startswith("throughput")] == [
        f"throughput {rate}" for rate in (17229, 21536, 19382, 20459, 19920, 19651)
    ]


def test_the_tests_are_on_one_axis() -> None:
    times = [time for time, _rate in series(parsed("search").samples, "throughput")]
    assert times == sorted(times)
    assert times[3] == pytest.approx(3.05 + 1, abs=0.1)


def test_the_sum_of_the_streams_counts() -> None:
    assert figures(parsed("streams"))["udp_rate"] == pytest.approx(19.6e6, rel=0.02)


@pytest.mark.parametrize(
    ("name", "why"),
    [("lossy", MESSAGES["lossy"]), ("refused", MESSAGES["refused"]), ("missing", MESSAGES["missing"])],
)
def test_a_search_without_a_result_says_why(name: str, why: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert why in " ".join(found.notes)
    assert "udp_rate" not in figures(found)


@pytest.mark.parametrize("name", captures("iperf3-udp"))
def test_an_output_that_is_cut_off_is_not_complete(name: str) -> None:
    data = capture(name).stdout
    for length in range(0, len(data) - 30, 97):
        parser = SUITE.parser({})
        parser.feed(data[:length])
        found = parser.finish()
        assert not found.complete
        assert found.notes


def test_a_short_search_is_warned_of() -> None:
    step = evidence(SUITE, BOTH, time=1)
    assert set(raised(step)) == {"udp-search-short"}
    assert raised(applied(step, "udp-search-short")) == {}


SCRIPT = Path(__file__).parents[2] / "resources/udp-rate.sh"

LOST_ONCE = """#!/bin/sh
[ ! -e failed ] && [ "$4" = -b ] && touch failed &&
    { echo "iperf3: error - unable to read from stream socket: Resource temporarily unavailable" >&2; exit 1; }
printf '[  5]   0.00-1.00   sec  1.00 MBytes  8000 Kbits/sec  0.01 ms  0/9000 (0%%)  sender\\n'
printf '[  5]   0.00-1.00   sec  1.00 MBytes  8000 Kbits/sec  0.01 ms  0/9000 (0%%)  receiver\\n'
"""
"""Stands for a client whose first UDP test loses the datagram that opens its stream."""


def test_a_test_whose_first_datagram_was_lost_is_repeated(tmp_path: Path) -> None:
    client = tmp_path / "client"
    client.write_text(LOST_ONCE)
    client.chmod(0o755)
    done = subprocess.run(
        ("sh", str(SCRIPT), "0.1", str(client), "-c", "server"),
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("repeated\n") == 1
    assert "unable to read" not in done.stdout
