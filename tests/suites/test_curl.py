"""curl as a suite: its command, what is warned of, and what is read of its times."""

import pytest

from suites.base import Context, complete_values, tuned_values
from suites.curl import FILE, FORMAT, Curl
from suites.errors import ParameterError
from suites.outputs import ParsedTrial
from tests.messages import messages
from tests.suites.captured_outputs import capture, captures, figures, series
from tests.suites.host_facts import applied, evidence, raised

MESSAGES = messages("suites", "test_curl")
SUITE = Curl()
URL = "https://localhost:4433/"


def parsed(name: str, url: str = URL) -> ParsedTrial:
    return capture(f"curl/{name}").parse(SUITE.parser(complete_values(SUITE, {"url": url})))


def test_the_command_repeats_what_an_expert_types() -> None:
    (command,) = SUITE.commands(complete_values(SUITE, {"url": URL, "requests": 20, "insecure": True}), Context())
    assert command.argv == ("sh", "repeat.sh", "20", "0.1", *MESSAGES["curl"].split(), "-w", FORMAT, URL)
    assert command.files == (FILE,)
    (effect,) = SUITE.effects(complete_values(SUITE, {"url": URL}))
    assert effect.text == URL
    assert tuned_values(SUITE, Context())["requests"] == 100


@pytest.mark.parametrize("text", ["-x", "file:///etc/passwd", "https:// x"])
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="url"):
        complete_values(SUITE, {"url": text})


@pytest.mark.parametrize("name", ["7.88.1/tls", "7.74.0/tls", "8.14.1/tls"])
def test_each_phase_has_its_time_and_the_handshake_leads(name: str) -> None:
    found = parsed(name)
    values = figures(found)
    assert (found.complete, found.notes) == (True, ())
    assert dict(found.figures[0].labels) == {"phase": "TLS handshake"}
    parts = sum(values[f"phase_p50 {phase}"] for phase in ("DNS", "TCP connect", "TLS handshake", "first byte"))
    assert parts == pytest.approx(values["phase_p50 total"], rel=0.2)
    assert values["failed_requests"] == 0
    assert values["first_lookup"] == series(found.samples, "phase_time", phase="DNS")[0][1]


def test_an_address_is_not_looked_up_and_http_has_no_handshake() -> None:
    assert not any("DNS" in name or "lookup" in name for name in figures(parsed("7.88.1/tls", "https://[::1]:4433/")))
    values = figures(parsed("7.88.1/http"))
    assert "phase_p50 TLS handshake" not in values
    assert values["phase_p50 TCP connect"] > 0


def test_a_p99_needs_a_hundred_requests() -> None:
    assert not any(name.startswith("phase_p99") for name in figures(parsed("8.14.1/tls")))
    assert "phase_p99 TLS handshake" in figures(parsed("7.88.1/tls"))


def test_failed_requests_are_counted_and_other_responses_named() -> None:
    found = parsed("7.88.1/some_failed")
    assert found.complete
    assert figures(found)["failed_requests"] == pytest.approx(40)
    assert MESSAGES["some_failed"] in found.notes[0]
    assert MESSAGES["not_found"] in parsed("7.88.1/not_found").notes[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refused", MESSAGES["refused"]),
        ("no_name", MESSAGES["no_name"]),
        ("certificate", MESSAGES["certificate"]),
        ("certificate", MESSAGES["insecure"]),
        ("missing", MESSAGES["missing"]),
    ],
)
def test_how_it_failed_is_said(name: str, words: str) -> None:
    found = parsed(f"7.88.1/{name}")
    assert (found.complete, found.figures) == (False, ())
    assert words in " ".join(found.notes)


@pytest.mark.parametrize("name", captures("curl"))
def test_an_output_cut_anywhere_is_never_complete(name: str) -> None:
    data = capture(name).stdout.rstrip()
    for length in range(0, len(data) - 1, 97):
        parser = SUITE.parser({"url": URL})
        parser.feed(data[:length])
        found = parser.finish(0)
        assert not found.complete
        assert found.notes


def test_what_is_warned_of() -> None:
    step = evidence(SUITE, Context(), url=URL)
    assert raised(step).keys() == {"curl-few-requests"}
    assert raised(applied(step, "curl-few-requests")) == {}
    assert "curl-no-url" in raised(evidence(SUITE, Context()))
