"""sysbench cpu: its commands, and what is read from the real tool's output."""

import pytest

from suites.base import Context, complete_values, tuned_values
from suites.errors import ParameterError
from suites.outputs import ParsedTrial
from suites.sysbench.cpu import SysbenchCpu
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series
from tests.suites.host_facts import host

MESSAGES = messages("suites", "test_sysbench_cpu")

SUITE = SysbenchCpu()
DEFAULTS = complete_values(SUITE, {})


def parsed(name: str) -> ParsedTrial:
    return capture(f"sysbench/{name}").parse(SUITE.parser(DEFAULTS))


def test_the_defaults_are_the_tools_own() -> None:
    """They are those that `sysbench --help` and `sysbench cpu help` of 1.0.20 print in brackets."""
    assert DEFAULTS == {"cpu_max_prime": 10000, "threads": 1, "time": 10.0, "events": 0, "percentile": 95}


def test_the_command_is_what_an_expert_types() -> None:
    (command,) = SUITE.commands(
        complete_values(SUITE, {"threads": 8, "cpu_max_prime": 20000, "time": "30 s"}), Context()
    )
    assert " ".join(command.argv) == (
        "sysbench cpu --cpu-max-prime=20000 --threads=8 --time=30 --percentile=95 --report-interval=1 run"
    )


def test_a_limit_of_events_is_asked_for_only_where_given() -> None:
    (command,) = SUITE.commands(complete_values(SUITE, {"events": 500}), Context())
    assert "--events=500" in command.argv


@pytest.mark.parametrize("version", ["0.4.12", "0.5"])
def test_older_versions_get_their_own_syntax(version: str) -> None:
    (command,) = SUITE.commands(DEFAULTS, Context(host(sysbench=f"sysbench {version}")))
    assert " ".join(command.argv) == (
        "sysbench --test=cpu --cpu-max-prime=10000 --num-threads=1 --max-time=10 --max-requests=2147483647 "
        "--percentile=95 run"
    )


def test_tuned_values_use_every_cpu_and_say_how_many() -> None:
    context = Context(host(cpus=8))
    assert tuned_values(SUITE, context) == {**DEFAULTS, "cpu_max_prime": 20000, "threads": 8, "time": 30.0}
    assert "8 usable CPUs" in SUITE.tune(context)["threads"].why


def test_tuned_threads_keep_within_the_quota() -> None:
    assert tuned_values(SUITE, Context(host(cpus=64, quota=2.5)))["threads"] == 2


def test_what_is_not_known_is_not_tuned() -> None:
    assert "threads" not in SUITE.tune(Context(host(cpus=None)))
    assert "threads" not in SUITE.tune(Context())


def test_the_estimate_is_the_time() -> None:
    estimate = SUITE.estimate(DEFAULTS, Context())
    assert (estimate.duration, estimate.written, estimate.network) == (10.0, 0, 0)


@pytest.mark.parametrize(
    "given", [{"threads": 0}, {"cpu_max_prime": 2}, {"percentile": 101}, {"time": 0}, {"bogus": 1}]
)
def test_values_the_tool_would_refuse_are_refused_before(given: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        complete_values(SUITE, given)


def test_figures_are_those_of_the_summary() -> None:
    found = parsed("1.0.20/cpu_report_interval")
    assert found.complete
    assert found.notes == ()
    assert figures(found) == {
        "events_per_second": 3656.61,
        "total_time": 3.0013,
        "total_events": 10977,
        "latency_mean": 0.55,
        "latency_p95": 0.56,
        "latency_max": 9.49,
    }
    assert found.figures[0].metric == SUITE.metrics[0]


def test_samples_are_those_of_the_report_lines() -> None:
    found = parsed("1.0.20/cpu_report_interval")
    assert series(found.samples, "events_per_second") == [(1, 3710.15), (2, 3492.20), (3, 3769.96)]
    assert series(found.samples, "latency_p95") == [(1, 0.56), (2, 0.59), (3, 0.55)]
    assert not any(sample.warm_up for sample in found.samples)


def test_samples_arrive_as_their_lines_do() -> None:
    parser = SUITE.parser(DEFAULTS)
    assert list(parser.feed(b"Threads started!\n\n[ 1s ] thds: 2 eps: 3710.15 lat (ms,9")) == []
    assert series(parser.feed(b"5%): 0.56\n"), "events_per_second") == [(1, 3710.15)]


def test_the_percentile_is_the_one_that_was_printed() -> None:
    found = parsed("1.0.20/cpu_percentile_99")
    metric = next(figure.metric for figure in found.figures if figure.metric.name.startswith("latency_p"))
    assert (metric.name, metric.percentile) == ("latency_p99", 99)
    assert figures(found)["latency_p99"] == 0.23


def test_a_percentile_that_is_switched_off_is_missing() -> None:
    assert not any(name.startswith("latency_p") for name in figures(parsed("1.0.20/cpu_percentile_0")))


@pytest.mark.parametrize("case", ["cpu_default", "cpu_histogram", "cpu_old_syntax"])
def test_other_ways_to_run_read_alike(case: str) -> None:
    found = parsed(f"1.0.20/{case}")
    assert found.complete
    assert {"events_per_second", "latency_mean", "latency_p95", "latency_max"} <= set(figures(found))


def test_the_old_generation_tells_a_time_which_is_converted_and_said() -> None:
    found = parsed("0.4.12/cpu_default")
    assert found.complete
    assert figures(found)["total_time"] == 1.8521
    assert figures(found)["events_per_second"] == pytest.approx(10000 / 1.8521)
    assert figures(found)["latency_p95"] == 0.20
    assert any("0.4.12 prints no rate" in note and "do not compare" in note for note in found.notes)


def test_a_run_that_was_stopped_keeps_its_samples_and_says_so() -> None:
    found = parsed("1.0.20/cpu_sigterm")
    assert not found.complete
    assert found.figures == ()
    assert len(series(found.samples, "events_per_second")) == 2
    assert found.notes == (MESSAGES["sysbench_was_cut_off_it"], MESSAGES["sysbench_was_ended_by"])


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("1.0.20/cpu_bad_option", "invalid option: --bogus=1"),
        ("1.0.20/cpu_bad_value", "FATAL: Invalid value of cpu-max-prime: 0."),
        ("1.0.20/cpu_init_rng", "invalid option: --init-rng=on"),
        ("1.0.20/cpu_forced_shutdown", "forcing shutdown"),
        ("1.0.20/memory_default", "it is of sysbench's memory test"),
        ("0.4.12/threads_default", "it is of sysbench's threads test"),
        ("1.0.20/threads_default", "of another test, or its beginning is missing"),
    ],
)
def test_a_failure_is_named_and_gives_no_figure(case: str, words: str) -> None:
    found = parsed(case)
    assert not found.complete
    assert found.figures == ()
    assert words in " ".join(found.notes)


def test_stderr_may_be_mixed_in() -> None:
    case = capture("sysbench/1.0.20/cpu_init_rng")
    separate, mixed = case.parse(SUITE.parser(DEFAULTS)), case.parse(SUITE.parser(DEFAULTS), mixed=True)
    assert separate == mixed


def test_a_missing_tool_is_named() -> None:
    parser = SUITE.parser(DEFAULTS)
    parser.feed(b"sh: 1: sysbench: not found\n", "stderr")
    found = parser.finish(127)
    assert not found.complete
    assert "sysbench: not found" in found.notes[0]


def test_an_exit_status_that_is_not_0_is_a_failure_whatever_was_printed() -> None:
    parser = SUITE.parser(DEFAULTS)
    parser.feed(capture("sysbench/1.0.20/cpu_default").stdout)
    found = parser.finish(1)
    assert not found.complete
    assert figures(found)["events_per_second"] == 5125.12
