"""RRUL: its commands, and what is read from each class."""

import shlex

import pytest

from suites.base import Context, Purpose, complete_values
from suites.network_path import Rendezvous
from suites.outputs import ParsedTrial
from suites.ping import grade_note
from suites.rrul import CLASSES, UDP, Rrul
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures
from tests.suites.host_facts import evidence, host, raised

MESSAGES = messages("suites", "test_rrul")

SUITE = Rrul()
VALUES = complete_values(SUITE, {"interval": 0.05})
MEETING = Rendezvous(20001, "0123456789abcdef", 20002, (20003, 20004, 20005, 20006, 20007))
BOTH = Context(host("web-1", iperf3="iperf 3.12", gcc="gcc 12"), host("db-1", gcc="gcc 12"), "10.0.0.2", MEETING)


def parsed() -> ParsedTrial:
    return capture("rrul/1/router").parse(SUITE.parser(VALUES))


def test_each_class_has_its_ping_its_load_and_its_port() -> None:
    *_, run = commands = SUITE.commands(complete_values(SUITE, {}), BOTH)
    served = [shlex.join(command.argv) for command in commands if command.purpose is Purpose.SERVE]
    assert served == [
        *(
            f"./netblocks --serve --port {port} --nonce-file nonce{tos}"
            for port, tos in ((20001, ""), (20006, " --tos 32"), (20007, " --tos 184"))
        ),
        *(f"iperf3 -s -1 -p {port} --forceflush" for port in (20002, 20003, 20004, 20005)),
    ]
    assert run.argv[:4] == ("sh", "rrul.sh", "2", "32")
    assert [run.argv[at] for at in (4, 8, 12, 16)] == list(CLASSES)
    assert run.argv[17] == "ping -n -Q 0xb8 -i 0.2 -c 150 10.0.0.2"
    assert run.argv[18].startswith("iperf3 -c 10.0.0.2 -p 20005 --bidir ")
    assert run.argv[18].endswith(" -S 0xb8")
    assert [run.argv[at].partition(" --protocols")[0] for at in (7, 11, 15, 19)] == [
        "./netblocks --connect 10.0.0.2 --port 20001 --nonce-file nonce",
        "./netblocks --connect 10.0.0.2 --port 20006 --nonce-file nonce --tos 32",
        "",
        "./netblocks --connect 10.0.0.2 --port 20007 --nonce-file nonce --tos 184",
    ]
    assert {file.name for file in run.files} == {"nonce", "rrul.sh"}


def test_every_class_has_its_latency_and_its_throughput() -> None:
    found = parsed()
    values = figures(found)
    assert found.complete, found.notes
    assert dict(found.figures[0].labels) == {"class": "BE", "phase": "loaded"}
    for name in (*CLASSES, *UDP.values()):
        assert values[f"round_trip {name} idle"] < 3
        assert 10 < values[f"latency_increase {name}"] < 30
    for name in CLASSES:
        assert values[f"throughput {name} send receiver"] > 0.5e6
        assert values[f"throughput {name} receive receiver"] > values[f"throughput {name} send receiver"]
    assert any(MESSAGES["grade_a"] in note for note in found.notes)
    assert not {"EF", "BE"} & set(found.notes)  # tags of empty lines


def test_a_class_that_fails_is_named() -> None:
    data = capture("rrul/1/router").stdout
    parser = SUITE.parser(VALUES)
    parser.feed(b"".join(line for line in data.splitlines(True) if not line.startswith(b"EF iperf Done")))
    found = parser.finish(0)
    assert not found.complete
    assert any(note.startswith("EF: The load broke off") for note in found.notes)


def test_an_output_that_is_cut_off_is_not_complete() -> None:
    data = capture("rrul/1/router").stdout
    for length in range(0, len(data) // 2, 4001):
        parser = SUITE.parser(VALUES)
        parser.feed(data[:length])
        found = parser.finish()
        assert not found.complete
        assert found.notes


@pytest.mark.parametrize(
    ("increase", "grade"), [(-1, "A+"), (4.9, "A+"), (5, "A"), (59, "B"), (60, "C"), (399, "D"), (400, "F")]
)
def test_the_grade_is_that_of_dslreports(increase: float, grade: str) -> None:
    assert grade_note(increase).startswith(f"Bufferbloat grade {grade} (")


def test_what_would_fool_somebody_is_said_before() -> None:
    old = Context(host("web-1", iperf3="iperf 3.6"), host("db-1"), "10.0.0.2", MEETING)
    assert set(raised(evidence(SUITE, old, time=10))) == {"few-round-trips", "iperf3-bidir-too-old"}
