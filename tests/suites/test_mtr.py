"""mtr as a suite: its command, what is warned of, and what is read of its report."""

import shlex

import pytest

from suites.base import Context, complete_values, tuned_values
from suites.errors import ParameterError
from suites.mtr import Mtr, MtrParser
from suites.outputs import ParsedTrial
from tests.messages import messages
from tests.suites.captured_outputs import capture, captures, figures
from tests.suites.host_facts import applied, evidence, raised

MESSAGES = messages("suites", "test_mtr")
SUITE = Mtr()


def line(**given: object) -> str:
    (command,) = SUITE.commands(complete_values(SUITE, given), Context())
    return shlex.join(command.argv)


def parsed(name: str) -> ParsedTrial:
    return capture(f"mtr/{name}").parse(MtrParser())


def test_the_command_is_what_an_expert_types() -> None:
    assert line(target="192.0.2.1") == MESSAGES["plain"]
    assert line(target="db-1", protocol="tcp", port=443, cycles=100, interval=0.5) == MESSAGES["tcp"]
    assert tuned_values(SUITE, Context())["cycles"] == 100
    with pytest.raises(ParameterError, match="target"):
        complete_values(SUITE, {"target": "-x"})


def test_a_line_is_read_back() -> None:
    found = SUITE.parse_command(MESSAGES["tcp"], complete_values(SUITE, {"target": "web-1"}), Context())
    assert found is not None
    assert found.unread == ()
    assert found.values == complete_values(
        SUITE, {"target": "db-1", "protocol": "tcp", "port": 443, "cycles": 100, "interval": 0.5}
    )


@pytest.mark.parametrize("version", ["0.94", "0.95"])
def test_the_destination_leads_and_each_hop_has_its_figures(version: str) -> None:
    found = parsed(f"{version}/routed")
    values = figures(found)
    assert (found.complete, found.notes) == (True, ())
    assert [(one.metric.name, one.labels) for one in found.figures[:3]] == [
        ("round_trip_mean", ()), ("lost", ()), ("jitter", ()),
    ]  # fmt: skip
    assert (values["hops"], values["lost"]) == (2, 0)
    assert {one.labels[0][1][:2] for one in found.figures if one.labels} == {"1 "}


def test_loss_at_a_hop_that_does_not_go_on_is_a_limit_of_the_router() -> None:
    found = parsed("0.95/limited")
    assert found.complete
    assert figures(found)["lost"] == 0
    assert MESSAGES["limited"] in found.notes[0]


def test_loss_that_goes_on_is_loss_of_the_path() -> None:
    found = parsed("0.95/lossy")
    assert (found.complete, found.notes) == (True, ())
    assert figures(found)["lost"] > 10


@pytest.mark.parametrize(
    ("name", "words"),
    [("unreached", MESSAGES["unreached"]), ("missing", MESSAGES["missing"]), ("denied", MESSAGES["denied"])],
)
def test_how_it_failed_is_said(name: str, words: str) -> None:
    found = parsed(f"0.95/{name}")
    assert not found.complete
    assert words in " ".join(found.notes)
    assert all(one.labels for one in found.figures)


@pytest.mark.parametrize("name", captures("mtr"))
def test_an_output_cut_anywhere_is_never_complete(name: str) -> None:
    data = capture(name).stdout.rstrip()
    for length in range(0, len(data) - 1, 17):
        parser = MtrParser()
        parser.feed(data[:length])
        found = parser.finish(0)
        assert not found.complete
        assert found.notes


def test_what_is_warned_of() -> None:
    step = evidence(SUITE, Context(), target="db-1")
    assert raised(step).keys() == {"mtr-few-packets"}
    assert raised(applied(step, "mtr-few-packets")) == {}
    assert "mtr-no-target" in raised(evidence(SUITE, Context()))
