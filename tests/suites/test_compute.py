"""The compute suite: its commands, and what is read from its probe."""

from dataclasses import replace
from typing import Any

import pytest

from suites.base import Context, complete_values, tuned_values
from suites.compute import Compute
from suites.facts import Facts
from suites.outputs import ParsedTrial
from suites.vocab import labels
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series
from tests.suites.host_facts import evidence, host, raised, silent

MESSAGES = messages("suites", "test_compute")

SUITE = Compute()
DEFAULTS = complete_values(SUITE, {})


def server(**given: Any) -> Facts:
    facts = host(gcc="gcc 12.2.0", **given)
    system = replace(facts.system, architecture="x86_64")
    cpu = replace(facts.cpu, flags=("sse2", "avx2", "fma"), frequency_maximum=3000.0, cores=2)
    return replace(facts, system=system, cpu=cpu)


def parsed(name: str) -> ParsedTrial:
    return capture(f"compute/1/{name}").parse(SUITE.parser(DEFAULTS))


def last_command(context: Context, **given: Any) -> tuple[str, ...]:
    return SUITE.commands(complete_values(SUITE, given), context)[-1].argv


def test_the_command_is_what_an_expert_types() -> None:
    assert last_command(Context(server(cpus=4)), operation="float", time="10 min", sweep="single") == (
        "./compute", "--time", "600", "--threads", "4", "--sweep", "single", "--kind", "float", "--peak",
        MESSAGES["48_gflops_a_core_2_cores_3"],
    )  # fmt: skip


def test_without_a_frequency_there_is_no_peak() -> None:
    assert last_command(Context(host(cpus=4))) == ("./compute", "--time", "10", "--threads", "4", "--sweep", "doubling")
    assert "--peak" not in last_command(Context())


def test_the_estimate_is_the_time_of_every_count_and_kind() -> None:
    context = Context(server(cpus=8))
    assert SUITE.estimate(DEFAULTS, context).duration == 2 * 4 * 10
    assert SUITE.estimate(complete_values(SUITE, {"operation": "integer"}), context).duration == 4 * 10
    assert SUITE.estimate(DEFAULTS, Context()).duration is None


def test_it_brings_its_tool() -> None:
    assert SUITE.program not in SUITE.programs(DEFAULTS, None)


@pytest.mark.parametrize("facts", [server(), server(cpus=1), server(cpus=64, quota=2)])
def test_tuned_values_on_a_quiet_host_raise_nothing(facts: Facts) -> None:
    context = Context(facts)
    step = evidence(SUITE, context, **tuned_values(SUITE, context))
    assert raised(step) == {}
    assert silent(step) == set()


def test_traps_are_warned_about() -> None:
    found = raised(evidence(SUITE, Context(server(cpus=4)), threads=9, time=2))
    assert set(found) == {"short-runtime", "more-threads-than-cpus"}


def test_figures_are_those_of_the_results() -> None:
    found = parsed("both")
    assert found.complete
    by_name = figures(found)
    assert by_name["floating_point_rate"] == pytest.approx(119.706723e9)
    assert by_name["integer_rate"] == pytest.approx(298.567714e9)
    assert by_name["floating_point_rate_by_threads 2"] == pytest.approx(110.265456e9)
    assert by_name["integer_rate_by_threads 1"] == pytest.approx(249.946546e9)
    assert by_name["peak_share 1"] == pytest.approx(100 * 119.706723 / 83.2)
    assert by_name["peak_share 2"] == pytest.approx(100 * 110.265456 / 166.4)
    assert found.figures[0].metric == SUITE.metrics[0]


def test_the_variation_is_the_deviation_of_the_samples() -> None:
    by_name = figures(parsed("both"))
    assert by_name["variation float 1"] == pytest.approx(100 * (193.358653171 * 4 / 3) ** 0.5 / 119.706723)
    assert not any(name.startswith("variation") for name in figures(parsed("four_threads")))


def test_every_second_is_a_sample() -> None:
    samples = parsed("both").samples
    first, second = series(samples, "floating_point_rate")[:2]
    assert first == pytest.approx((1.0, 128.990346e9))
    assert second == pytest.approx((2.0, 128.474674e9))
    assert len(series(samples, "floating_point_rate")) == len(series(samples, "integer_rate")) == 8
    assert series(samples, "integer_rate_by_threads", threads="2")[0] == pytest.approx((13.004, 385.959523e9))


def test_ten_minutes_of_samples_are_all_read() -> None:
    parser = SUITE.parser(DEFAULTS)
    parser.feed(b"# benchwright-compute 1\n")
    for second in range(1, 601):
        parser.feed(f"live time {second}.000 kind float threads 4 rate 100.5\n".encode())
    parser.feed(b"result kind float threads 4 rate 100.5 best 100.5 worst 100.5 variance 0.0 samples 600\ndone\n")
    found = parser.finish(0)
    assert found.complete
    assert series(found.samples, "floating_point_rate")[-1] == pytest.approx((600.0, 100.5e9))
    assert len(series(found.samples, "floating_point_rate")) == 600


def test_the_peak_is_told_with_its_formula_and_doubted_where_it_was_passed() -> None:
    notes = parsed("both").notes
    assert notes[0] == (MESSAGES["theoretical_peak_of_2_cores"])
    assert notes[1].startswith("More than 100 %")


def test_a_missing_peak_is_said_and_has_no_share() -> None:
    found = parsed("float_no_peak")
    assert found.notes == (MESSAGES["there_is_no_theoretical_peak"],)
    assert not any(name.startswith("peak_share") for name in figures(found))
    assert "integer_rate" not in figures(found)


def test_integers_have_no_peak_to_miss() -> None:
    found = parsed("four_threads")
    assert found.complete
    assert set(figures(found)) == {
        "integer_rate",
        "integer_rate_by_threads 1",
        "integer_rate_by_threads 2",
        "integer_rate_by_threads 4",
    }
    assert all("peak" not in note for note in found.notes)
    assert "knee" in found.notes[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [("bad_time", "compute failed: --time takes seconds from 0.01 to 1000000."), ("sigterm", "ended by SIGTERM")],
)
def test_a_failure_is_named_and_gives_no_figure(name: str, words: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert found.figures == ()
    assert words in " ".join(found.notes)


def test_a_run_that_was_stopped_keeps_its_samples() -> None:
    assert len(series(parsed("sigterm").samples, "floating_point_rate")) == 2


def test_figures_are_labelled_by_threads() -> None:
    best = next(figure for figure in parsed("both").figures if figure.metric.name == "floating_point_rate_by_threads")
    assert best.labels == labels(threads="1")


@pytest.mark.parametrize(("cpus", "seconds"), [(1, 30.0), (4, 30.0), (8, 22.0), (64, 12.0), (512, 10.0)])
def test_the_tuned_time_shares_a_bound_among_the_thread_counts(cpus: int, seconds: float) -> None:
    suite = Compute()
    assert tuned_values(suite, Context(host(cpus=cpus)))["time"] == seconds
    assert suite.tune(Context()) == {}
