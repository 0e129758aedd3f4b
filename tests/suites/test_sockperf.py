"""sockperf as a suite: its commands, what is warned of, and what is read of its output."""

import shlex

import pytest

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.network_path import Rendezvous
from suites.outputs import ParsedTrial
from suites.sockperf import Sockperf, SockperfParser
from tests.messages import messages
from tests.suites.captured_outputs import capture, captures, figures
from tests.suites.host_facts import applied, evidence, host, raised

MESSAGES = messages("suites", "test_sockperf")
SUITE = Sockperf()
BOTH = Context(host("web-1"), host("db-1"), "10.0.0.2", Rendezvous(20001, "n"))


def lines(**given: object) -> list[str]:
    return [shlex.join(command.argv) for command in SUITE.commands(complete_values(SUITE, given), BOTH)]


def parsed(name: str) -> ParsedTrial:
    return capture(f"sockperf/{name}").parse(SockperfParser())


def test_the_commands_are_what_an_expert_types() -> None:
    serve, _client = SUITE.commands(complete_values(SUITE, {}), BOTH)
    assert (serve.purpose, serve.on_peer) == (Purpose.SERVE, True)
    assert lines() == MESSAGES["plain"].split("; ")
    assert lines(port=0, mode="under-load", protocol="tcp", time=30, size=64, full_rtt=True, reply_every=10) == (
        MESSAGES["under_load"].split("; ")
    )
    assert {tuned: tuned_values(SUITE, BOTH)[tuned] for tuned in SUITE.tune(BOTH)} == {
        "time": 30.0, "full_rtt": True, "port": 0,
    }  # fmt: skip


def test_the_half_and_the_whole_round_trip_are_different_figures() -> None:
    half, whole = figures(parsed("3.7/half")), figures(parsed("3.7/ping_pong"))
    assert [name for name in half if "round_trip" in name] == [
        f"half_{name}" for name in whole if name.startswith("round_trip")
    ]
    names = {one.name for given in (True, False) for one in SUITE.metrics_of({"full_rtt": given})}
    assert names >= half.keys() | whole.keys()
    assert next(iter(whole)) == "round_trip_p50"
    assert "round_trip_p99" in figures(parsed("3.6/ping_pong"))


def test_a_percentile_needs_an_observation_beyond_it() -> None:
    """Of 253 observations 2 are beyond p99 and none beyond p99.9, which sockperf prints nevertheless."""
    data = capture("sockperf/3.7/under_load").stdout
    assert b"percentile 99.999" in data
    found = figures(parsed("3.7/under_load"))
    assert "round_trip_p99" in found
    assert "round_trip_p999" not in found
    assert found["messages"] == pytest.approx(10_000, rel=0.01)


def test_lost_replies_are_counted_and_named() -> None:
    found = parsed("3.7/loss")
    assert b"\x1b[" in capture("sockperf/3.7/loss").stdout
    assert found.complete
    assert figures(found)["dropped"] > 0
    assert MESSAGES["never_arrived"] in found.notes[-1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("3.7/no_server", MESSAGES["no_server"]),
        ("3.7/tcp_refused", MESSAGES["tcp_refused"]),
        ("3.7/missing", MESSAGES["missing"]),
        ("3.7/interrupted", MESSAGES["interrupted"]),
        ("3.7/lost_reply", MESSAGES["lost_reply"]),
        ("3.7/stalled", MESSAGES["stalled"]),
    ],
)
def test_how_it_failed_is_said(name: str, words: str) -> None:
    """Sockperf exits with 0 if no server answers."""
    found = parsed(name)
    assert not found.complete
    assert words in " ".join(found.notes)


@pytest.mark.parametrize("name", captures("sockperf"))
def test_an_output_cut_anywhere_is_never_complete_nor_wrong(name: str) -> None:
    data, whole = capture(name).stdout.rstrip(), figures(parsed(name.partition("/")[2]))
    for length in range(0, len(data) - 1, 23):
        parser = SockperfParser()
        parser.feed(data[:length])
        found = parser.finish(0)
        assert not found.complete
        assert figures(found).items() <= whole.items()


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"full_rtt": True, "time": 30}, set()),
        ({"time": 30}, {"sockperf-half"}),
        ({"full_rtt": True, "time": 2}, {"short-runtime"}),
        ({"full_rtt": True, "time": 3600}, {"sockperf-memory"}),
        ({"full_rtt": True, "mode": "under-load", "time": 30, "rate": 1000}, {"sockperf-few-observations"}),
    ],
)
def test_what_would_fool_a_reader_is_warned_of(given: dict[str, object], found: set[str]) -> None:
    step = evidence(SUITE, BOTH, **given)
    assert raised(step).keys() == found
    for each in found:
        assert each not in raised(applied(step, each))


@pytest.mark.parametrize(("status", "words"), [(1, MESSAGES["status"]), (137, MESSAGES["killed"])])
def test_an_exit_status_is_a_note_of_an_incomplete_trial(status: int, words: str) -> None:
    parser = SockperfParser()
    parser.feed(capture("sockperf/3.7/ping_pong").stdout)
    found = parser.finish(status)
    assert (found.notes, found.complete) == ((words,), False)
