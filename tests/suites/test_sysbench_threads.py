"""sysbench threads and mutex: their commands, what they warn of, and what is read from the real tool's output."""

import re
from dataclasses import replace

import pytest

from suites.base import Context, Suite, complete_values, tuned_values
from suites.facts import Facts
from suites.outputs import ParsedTrial
from suites.sysbench.mutex import SysbenchMutex
from suites.sysbench.threads import SysbenchThreads
from suites.vocab import Better, Severity
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series
from tests.suites.host_facts import applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_sysbench_threads")

THREADS, MUTEX = SysbenchThreads(), SysbenchMutex()


def parsed(suite: Suite, name: str) -> ParsedTrial:
    return capture(f"sysbench/{name}").parse(suite.parser(complete_values(suite, {})))


def line(suite: Suite, context: Context, **given: object) -> str:
    (command,) = suite.commands(complete_values(suite, given), context)
    return " ".join(command.argv)


def test_the_defaults_are_the_tools_own() -> None:
    assert complete_values(THREADS, {}) == {
        "threads": 1, "thread_yields": 1000, "thread_locks": 8, "time": 10.0, "percentile": 95,
    }  # fmt: skip
    assert complete_values(MUTEX, {}) == {
        "threads": 1, "mutex_num": 4096, "mutex_locks": 50000, "mutex_loops": 10000, "percentile": 95,
    }  # fmt: skip


def test_the_commands_are_what_an_expert_types() -> None:
    assert line(THREADS, Context(), threads=4, time=30) == (
        "sysbench threads --thread-yields=1000 --thread-locks=8 --threads=4 --time=30 --percentile=95 "
        "--report-interval=1 run"
    )
    assert line(MUTEX, Context(), threads=4, mutex_num=1) == (
        "sysbench mutex --mutex-num=1 --mutex-locks=50000 --mutex-loops=10000 --threads=4 --time=0 --percentile=95 "
        "--report-interval=1 run"
    )


def test_older_versions_get_their_own_syntax() -> None:
    old = Context(host(sysbench="sysbench 0.4.12"))
    assert line(THREADS, old).startswith(
        "sysbench --test=threads --thread-yields=1000 --thread-locks=8 --num-threads=1 "
    )
    assert "--test=mutex" in line(MUTEX, old)
    assert "--max-time=0" in line(MUTEX, old)


@pytest.mark.parametrize("facts", [host(), host(cpus=1), host(cpus=64, quota=2)], ids=["8 CPUs", "1 CPU", "container"])
@pytest.mark.parametrize("suite", [THREADS, MUTEX], ids=lambda suite: suite.id)
def test_tuned_values_on_a_quiet_host_raise_nothing(suite: Suite, facts: Facts) -> None:
    context = Context(facts)
    step = evidence(suite, context, **tuned_values(suite, context))
    assert raised(step) == {}
    assert silent(step) == set()


def test_threads_need_company() -> None:
    assert tuned_values(THREADS, Context(host(cpus=1)))["threads"] == 2
    step = evidence(THREADS, Context(host(cpus=8)))
    assert raised(step)["sysbench-threads-alone"].changes == {"threads": 8}
    assert raised(applied(step, "sysbench-threads-alone")) == {}


@pytest.mark.parametrize(
    ("locks", "loops", "level"),
    [(50_000, 10_000, Severity.WARNING), (1_500_000, 10_000, Severity.INFO), (1, 2**30, Severity.WARNING)],
)
def test_work_that_is_over_at_once_is_warned_about(locks: int, loops: int, level: Severity) -> None:
    step = evidence(MUTEX, Context(host()), mutex_locks=locks, mutex_loops=loops)
    assert raised(step)["sysbench-mutex-short"].severity is level
    assert "sysbench-mutex-short" not in raised(applied(step, "sysbench-mutex-short"))


def test_the_work_of_locks_alone_is_not_guessed() -> None:
    assert raised(evidence(MUTEX, Context(host()), mutex_loops=0)) == {}


@pytest.mark.parametrize(("cpus", "locks"), [(2, 150_000_000), (8, 37_500_000), (512, 600_000)])
def test_tuned_mutexes_are_contended(cpus: int, locks: int) -> None:
    tuned = tuned_values(MUTEX, Context(host(cpus=cpus)))
    assert (tuned["threads"], tuned["mutex_num"], tuned["mutex_loops"], tuned["mutex_locks"]) == (cpus, 1, 0, locks)
    alone = tuned_values(MUTEX, Context(host(cpus=1)))
    assert (alone["threads"], alone["mutex_num"], alone["mutex_loops"]) == (1, 4096, 10_000)


def test_the_threads_figures_are_those_of_the_summary() -> None:
    found = parsed(THREADS, "1.0.20/threads_report_interval")
    assert found.complete
    assert figures(found) == {
        "events_per_second": pytest.approx(2271 / 3.0034),
        "total_time": 3.0034,
        "total_events": 2271,
        "latency_mean": 2.64,
        "latency_p95": 7.84,
        "latency_max": 43.50,
    }
    assert found.notes == (MESSAGES["sysbench_prints_no_rate_for"],)
    assert series(found.samples, "events_per_second") == [(1, 1003.87), (2, 599.78), (3, 664.88)]


def test_the_threads_of_the_old_generation_are_read_too() -> None:
    found = parsed(THREADS, "0.4.12/threads_default")
    assert found.complete
    assert figures(found)["events_per_second"] == pytest.approx(7616 / 3.0002)
    assert figures(found)["latency_p95"] == 0.42


def test_the_mutex_figure_is_a_time_and_less_is_better() -> None:
    found = parsed(MUTEX, "1.0.20/mutex_report_interval")
    assert found.complete
    assert (found.figures[0].metric.name, found.figures[0].value) == ("total_time", 7.3902)
    assert found.figures[0].metric.better is Better.LOWER
    assert figures(found)["latency_max"] == 7368.89
    assert found.samples == ()


def test_defaults_are_read() -> None:
    assert parsed(THREADS, "1.0.20/threads_default").complete
    assert parsed(MUTEX, "1.0.20/mutex_default").complete


@pytest.mark.parametrize(
    ("suite", "case", "words"),
    [
        (THREADS, "1.0.20/mutex_default", "it is of sysbench's mutex test"),
        (MUTEX, "1.0.20/threads_default", "it is of sysbench's threads test"),
        (MUTEX, "0.4.12/threads_default", "it is of sysbench's threads test"),
        (THREADS, "1.0.20/cpu_default", "it is of sysbench's cpu test"),
        (MUTEX, "1.0.20/memory_default", "it is of sysbench's memory test"),
        (MUTEX, "1.0.20/mutex_bad_option", "invalid option: --mutex-bogus=1"),
        (THREADS, "1.0.20/threads_sigterm", "was cut off"),
    ],
)
def test_a_failure_is_named_and_gives_no_figure(suite: Suite, case: str, words: str) -> None:
    found = parsed(suite, case)
    assert not found.complete
    assert found.figures == ()
    assert words in " ".join(found.notes)


def test_one_event_per_thread_is_the_threads_test_if_it_ran_for_its_whole_time() -> None:
    quiet = capture("sysbench/1.0.20/threads_default")
    (threads,) = re.findall(rb"Number of threads: (\d+)", quiet.stdout)
    busy = replace(quiet, stdout=re.sub(rb"(number of events: +)\d+", rb"\g<1>" + threads, quiet.stdout))
    whole_time = busy.parse(THREADS.parser(complete_values(THREADS, {"time": 2})))
    assert whole_time.complete
    assert MESSAGES["only_one_event_per_thread"] in whole_time.notes
    assert not busy.parse(THREADS.parser(complete_values(THREADS, {"time": 10}))).complete


def test_a_run_that_was_stopped_keeps_its_samples() -> None:
    assert len(series(parsed(THREADS, "1.0.20/threads_sigterm").samples, "events_per_second")) == 2
