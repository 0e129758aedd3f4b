"""stress-ng: its commands, what it warns of, and what is read from the real tool's output of several versions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.outputs.files import judged_bytes
from suites.base import Context, complete_values, tuned_values
from suites.facts import Facts
from suites.outputs import ParsedTrial
from suites.stress_ng import StressNg, StressNgParser
from suites.units import Unit
from suites.verdict import Trust
from suites.vocab import Severity
from tests.messages import messages
from tests.suites.captured_outputs import capture, captures, figures
from tests.suites.host_facts import GIB, MIB, applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_stress_ng")

SUITE = StressNg()
CASES = captures("stress-ng")
PIECES = [
    b"stress-ng: info:  [1] stream: memory rate: 1.00 MB read/sec, 2.00 MB write/sec, 3.00 Mflop/sec (instance 0)\n",
    b"stress-ng: metrc: [1] memrate 5.00 read64 MB per sec (harmonic mean of 0 instances)\n",
    b"stress-ng: metrc: [1] memrate " + b"9" * 400 + b" read64 MB per sec\n",
    b"stress-ng: fail:  [1] \x1b[2J\n",
    b"stress-ng: info:  [1] successful run completed in 3.00s\n",
    b"\xff\xfe",
]


def parsed(name: str, *, mixed: bool = False) -> ParsedTrial:
    return capture(f"stress-ng/{name}").parse(StressNgParser(), mixed=mixed)


def line(**given: object) -> str:
    (command,) = SUITE.commands(complete_values(SUITE, given), Context())
    return " ".join(command.argv)


def test_the_commands_are_what_an_expert_types() -> None:
    assert line(threads=2, time=30) == "stress-ng --stream 2 --timeout 30s --metrics"
    assert line(method="memrate", threads=4, time=30, memrate_bytes="128 MiB") == (
        "stress-ng --memrate 4 --memrate-bytes 134217728 --timeout 30s --metrics"
    )


@pytest.mark.parametrize("facts", [host(), host(cpus=1), host(cpus=192, cache=768 * MIB, available=700 * GIB)])
@pytest.mark.parametrize("method", ["stream", "memrate"])
def test_tuned_values_on_a_quiet_host_raise_nothing(facts: Facts, method: str) -> None:
    context = Context(facts)
    step = evidence(SUITE, context, **{**tuned_values(SUITE, context), "method": method})
    assert raised(step) == {}
    assert silent(step) == set()


def test_the_tools_own_day_is_warned_about() -> None:
    step = evidence(SUITE, Context(host()))
    assert raised(step)["stress-ng-endless"].measured == "time is 24 h."
    assert raised(applied(step, "stress-ng-endless")) == {}


def test_a_run_too_short_for_a_rate_is_warned_about() -> None:
    step = evidence(SUITE, Context(host()), time=9)
    assert raised(step)["stress-ng-short"].severity is Severity.WARNING
    assert raised(applied(step, "stress-ng-short")) == {}


def test_memory_within_the_cache_is_warned_about() -> None:
    step = evidence(SUITE, Context(host(cache=32 * MIB)), method="memrate", memrate_bytes="1 MiB", threads=2, time=30)
    assert raised(step)["stress-ng-in-cache"].measured == MESSAGES["2_x_1_mib_for_32_mib_of_last"]
    assert raised(applied(step, "stress-ng-in-cache")) == {}


def test_memory_that_does_not_fit_is_an_error() -> None:
    given_values = {"method": "memrate", "memrate_bytes": "1 GiB", "threads": 4, "time": 30}
    step = evidence(SUITE, Context(host(available=GIB)), **given_values)
    assert raised(step)["memory-too-small"].measured == MESSAGES["all_instances_take_4_gib_1"]
    assert "memory-too-small" not in raised(applied(step, "memory-too-small"))


def test_what_is_not_known_is_not_judged() -> None:
    step = evidence(SUITE, Context(host(cache=None, available=None)), method="memrate", time=30)
    assert silent(step) == {"stress-ng-in-cache", "memory-too-small"}


@pytest.mark.parametrize("mixed", [False, True], ids=["apart", "mixed"])
def test_the_instances_of_stream_are_added(mixed: bool) -> None:  # noqa: FBT001 (pytest hands it over)
    found = parsed("0.15.06/stream_two", mixed=mixed)
    assert (found.complete, found.notes) == (True, ())
    assert figures(found) == {
        "read_bandwidth": pytest.approx(7709.07 + 8162.94),
        "write_bandwidth": pytest.approx(5139.38 + 5441.96),
    }
    assert found.figures[0].metric.unit is Unit.MIB_PER_SECOND


def test_every_method_of_memrate_is_a_figure() -> None:
    found = parsed("0.19.02/memrate_one")
    assert found.complete
    by_name = figures(found)
    assert by_name["method_bandwidth write64stoq"] == 34512.76
    assert by_name["write_bandwidth"] == 39439.64
    assert by_name["read_bandwidth"] == max(rate for name, rate in by_name.items() if " read" in name)
    assert sum(name.startswith("method_bandwidth") for name in by_name) >= 23


def test_a_mean_of_instances_is_multiplied_and_said() -> None:
    found = parsed("0.15.06/memrate_two")
    reported = capture("stress-ng/0.15.06/memrate_two").stderr.decode()
    (mean,) = (float(each.split()[4]) for each in reported.splitlines() if " memset MB per sec" in each)
    assert figures(found)["method_bandwidth memset"] == pytest.approx(2 * mean)
    assert found.notes == (MESSAGES["stress_ng_prints_the_mean_of"],)


def test_the_lines_of_early_versions_are_read() -> None:
    """After stress-memrate.c of 0.12 and 0.13, which print a line for each instance."""
    parser = StressNgParser()
    for pid in (7, 8):
        parser.feed(b"stress-ng: info:  [%d] stress-ng-memrate:    write64:     11000.50 MB/sec\n" % pid, "stderr")
    parser.feed(b"stress-ng: info:  [7] stress-ng-memrate:     read64:     12000.00 MB/sec\n", "stderr")
    parser.feed(b"stress-ng: info:  [6] successful run completed in 12.00s\n", "stderr")
    assert figures(parser.finish(0)) == {
        "read_bandwidth": 12000.0,
        "write_bandwidth": 22001.0,
        "method_bandwidth write64": 22001.0,
        "method_bandwidth read64": 12000.0,
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("0.12.06/stream_short", "too short for a memory rate"),
        ("0.15.06/stream_short", "too short for a memory rate"),
        ("0.15.06/sigterm", "too short for a memory rate"),
        ("0.15.06/bad_option", "unrecognized option '--bogus'"),
        ("0.15.06/bad_size", "is out of range for memrate-bytes"),
    ],
)
def test_a_failure_is_named_and_gives_no_figure(name: str, words: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert found.figures == ()
    assert words in " ".join(found.notes)


@pytest.mark.parametrize(("stressors", "remedy"), [("1 cpu, 1 matrix", "--stream"), ("1 cpu, 2 stream", "--metrics")])
def test_without_a_memory_rate_what_gives_one_is_named(stressors: str, remedy: str) -> None:
    start = f"stress-ng: info:  [6] dispatching hogs: {stressors}\n"
    (one,) = judged_bytes("a", f"{start}stress-ng: info:  [6] successful run completed in 12.00s\n".encode()).outputs
    assert one.verdict.trust is Trust.UNDECIDED
    assert remedy in one.verdict.summary


@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes_are_accepted(data: bytes) -> None:
    parser = StressNgParser()
    assert list(parser.feed(data)) == []
    assert all(figure.value >= 0 for figure in parser.finish().figures)


def test_an_output_cut_anywhere_is_never_complete() -> None:
    data = capture("stress-ng/0.15.06/stream_two").stderr
    whole = parsed("0.15.06/stream_two")
    for length in range(len(data) - 10):
        parser = StressNgParser()
        parser.feed(data[:length], "stderr")
        found = parser.finish()
        assert not found.complete or found.figures == whole.figures
