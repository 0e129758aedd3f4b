"""What is read from our own STREAM kernels, and from John McCalpin's program."""

import pytest

from suites.outputs import ParsedTrial
from suites.stream.metrics import METRICS
from suites.stream.output import StreamParser
from suites.vocab import labels
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series

MESSAGES = messages("suites", "test_stream_output")

ORIGINAL = capture("stream/5.10/one_thread")


def parsed(name: str) -> ParsedTrial:
    return capture(f"stream/{name}").parse(StreamParser())


def test_figures_are_those_of_the_results() -> None:
    found = parsed("1/sweep")
    assert (found.complete, found.notes) == (True, ())
    reported = capture("stream/1/sweep").stdout.decode()
    assert found.figures[0].metric == METRICS[0]
    assert f"kernel triad best {found.figures[0].value:.1f} " in reported
    by_name = figures(found)
    for kernel in ("copy", "scale", "add", "triad"):
        for threads in (1, 2):
            assert f"threads {threads} kernel {kernel} best {by_name[f'{kernel} {threads}']:.1f} " in reported
    assert by_name["bandwidth"] == max(by_name["triad 1"], by_name["triad 2"])


def test_the_best_thread_count_comes_first() -> None:
    triads = [figure for figure in parsed("1/sweep").figures if figure.metric.name == "triad"]
    assert {figure.labels for figure in triads} == {labels(threads="1"), labels(threads="2")}
    assert triads[0].value == max(figure.value for figure in triads)


def test_the_build_is_told() -> None:
    assert parsed("1/sweep").tool_version == "1, gcc 12.2.0, -std=gnu11 -O3 -pthread -march=native"


def test_the_spread_is_of_the_times() -> None:
    parser = StreamParser()
    parser.feed(
        b"# benchwright-stream 1\nresult threads 1 kernel triad best 110.0 mean 105.0 worst 100.0 time 0.1 ticks 99\n"
        b"valid threads 1 error 0.000e+00\ndone\n"
    )
    assert figures(parser.finish(0))["spread triad 1"] == pytest.approx(10.0)


def test_iterations_are_samples_and_the_first_does_not_count() -> None:
    samples = parsed("1/sweep").samples
    assert [sample.warm_up for sample in samples if sample.metric.name == "triad"] == [True, *[False] * 4] * 2
    assert len(series(samples, "bandwidth")) == 2 * 4
    assert len(series(samples, "copy", threads="2")) == 5
    assert [sample.time for sample in samples] == sorted(sample.time for sample in samples)


def test_samples_arrive_as_their_lines_do() -> None:
    parser = StreamParser()
    line = b"live time 0.209190 threads 1 iteration 1 copy 37947.4 scale 38312.9 add 40652.1 triad 39604.8\n"
    assert list(parser.feed(b"# benchwright-stream 1\n" + line[:-1])) == []
    samples = list(parser.feed(line[-1:]))
    assert [sample.metric.name for sample in samples] == ["bandwidth", "triad", "add", "scale", "copy"]


def test_a_sweep_tells_its_knee() -> None:
    (note,) = parsed("1/four_threads").notes
    assert note == MESSAGES["triad_still_grows_at_4"]


def test_wrong_arrays_give_no_figure() -> None:
    found = parsed("1/invalid")
    assert not found.complete
    assert found.figures == ()
    assert MESSAGES["stream_failed_the_arrays_are"] in found.notes
    assert MESSAGES["with_2_threads_the_arrays"] in found.notes


def test_a_time_that_the_clock_cannot_resolve_is_said() -> None:
    parser = StreamParser()
    parser.feed(
        b"# benchwright-stream 1\nresult threads 1 kernel triad best 9.0 mean 9.0 worst 9.0 time 0.04 ticks 10\n"
        b"valid threads 1 error 0.000e+00\ndone\n"
    )
    assert MESSAGES["only_10_steps_of_the_clock"] in parser.finish(0).notes[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("1/bad_option", "stream failed: --bogus is no option."),
        ("1/no_memory", "Cannot allocate memory"),
        ("1/sigterm", "stream was cut off: its last line is missing. The live figures up to "),
        ("1/sigterm", "stream was ended by SIGTERM."),
    ],
)
def test_a_failure_is_named_and_gives_no_figure(name: str, words: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert not any(figure.metric.name == "bandwidth" and name != "1/sigterm" for figure in found.figures)
    assert words in " ".join(found.notes)


def test_a_run_that_was_stopped_keeps_its_samples_and_no_half_figure() -> None:
    found = parsed("1/sigterm")
    assert found.samples
    assert {dict(figure.labels).get("threads") for figure in found.figures} <= {None, "1"}


@pytest.mark.parametrize(
    ("shown", "status", "words"),
    [
        (b"sh: 1: exec: ./stream: Permission denied\n", 126, "mounted with noexec"),
        (b"env: '/opt/stream': No such file or directory\n", 127, "No such file or directory"),
        (b"# benchwright-stream 1\nIllegal instruction (core dumped)\n", 132, "set build to “shipped”"),
        (b"", 0, "Not the output of Benchwright's probe stream"),
        (b"Triad: 1.0\n", 0, "Not the output of Benchwright's probe stream"),
    ],
)
def test_a_probe_that_cannot_run_is_explained(shown: bytes, status: int, words: str) -> None:
    parser = StreamParser()
    parser.feed(shown, "stderr")
    found = parser.finish(status)
    assert not found.complete
    assert found.figures == ()
    assert words in " ".join(found.notes)


def test_the_original_is_recognised() -> None:
    found = ORIGINAL.parse(StreamParser())
    assert found.complete
    assert found.tool_version == "STREAM 5.10"
    by_name = figures(found)
    assert by_name["bandwidth"] == by_name["triad 1"] == 26738.0
    assert by_name["copy 1"] == 37682.6
    assert by_name["spread copy 1"] == pytest.approx(100 * (0.009003 / 0.008492 - 1))
    assert found.samples == ()
    assert found.notes == (MESSAGES["its_arrays_have_152_6_mib"],)


def test_several_runs_of_the_original_are_a_sweep() -> None:
    text = ORIGINAL.stdout
    parser = StreamParser()
    for threads in (1, 2, 4):
        parser.feed(text.replace(b"Threads counted = 1", b"Threads counted = %d" % threads))
    found = parser.finish(0)
    assert found.complete
    assert {dict(figure.labels).get("threads") for figure in found.figures} == {None, "1", "2", "4"}


@pytest.mark.parametrize(
    ("valid", "words"),
    [
        (b"Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)", "did not validate"),
        (b"", "its validation line is missing"),
    ],
)
def test_the_original_without_a_valid_solution_gives_no_figure(valid: bytes, words: str) -> None:
    line = b"Solution Validates: avg error less than 1.000000e-13 on all three arrays"
    parser = StreamParser()
    parser.feed(ORIGINAL.stdout.replace(line, valid))
    found = parser.finish(0)
    assert not found.complete
    assert found.figures == ()
    assert words in " ".join(found.notes)


def test_too_few_clock_ticks_of_the_original_are_said() -> None:
    parser = StreamParser()
    parser.feed(ORIGINAL.stdout.replace(b"(= 6100 clock ticks)", b"(= 6 clock ticks)"))
    assert MESSAGES["only_6_steps_of_the_clock"] in " ".join(parser.finish(0).notes)
