"""The commands of the sysbench suites, run for real, give the figures a person would read off the screen."""

import re
import signal
import subprocess

import pytest

from suites.base import Context, Suite, complete_values
from suites.sysbench.cpu import SysbenchCpu
from suites.sysbench.memory import SysbenchMemory
from suites.sysbench.mutex import SysbenchMutex
from suites.sysbench.threads import SysbenchThreads
from tests.messages import messages

MESSAGES = messages("lab", "test_sysbench_real")

pytestmark = pytest.mark.skipif(
    subprocess.run(["sh", "-c", "command -v sysbench"], capture_output=True, check=False).returncode != 0,
    reason="sysbench is not installed",
)

SHORT = {"time": 2, "threads": 1}


def argv(suite: Suite, **given: object) -> list[str]:
    (command,) = suite.commands(complete_values(suite, given), Context())
    return list(command.argv)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("suite", "given", "line"),
    [
        (SysbenchCpu(), {"percentile": 99}, r"events per second: +([\d.]+)"),
        (SysbenchMemory(), {"block_size": "1 MiB", "total_size": "100 TiB"}, r"\(([\d.]+) MiB/sec\)"),
        (SysbenchMemory(), {"operation": "read", "scope": "local", "total_size": "100 TiB"}, r"\(([\d.]+) MiB/sec\)"),
    ],
    ids=["cpu", "memory write", "memory read"],
)
def test_the_figure_is_the_one_on_the_screen(suite: Suite, given: dict[str, object], line: str) -> None:
    done = subprocess.run(argv(suite, **SHORT, **given), capture_output=True, check=False)
    parser = suite.parser(complete_values(suite, {**SHORT, **given}))
    parser.feed(done.stdout)
    parser.feed(done.stderr, "stderr")
    found = parser.finish(done.returncode)
    (on_screen,) = re.findall(line, done.stdout.decode())
    assert found.complete
    assert found.figures[0].metric == suite.metrics[0]
    assert found.figures[0].value == float(on_screen)
    live = [sample.value for sample in found.samples if sample.metric == suite.metrics[0]]
    assert live
    assert sum(live) / len(live) == pytest.approx(float(on_screen), rel=0.5)


@pytest.mark.quick(1)
@pytest.mark.parametrize("suite", [SysbenchCpu(), SysbenchMemory()], ids=lambda suite: suite.id)
def test_samples_arrive_while_it_runs_and_outlive_a_stop(suite: Suite) -> None:
    given = {"time": 60, "total_size": "100 TiB"} if suite.id == "sysbench-memory" else {"time": 60}
    parser = suite.parser(complete_values(suite, given))
    with subprocess.Popen(argv(suite, **given), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if list(parser.feed(line)):
                process.send_signal(signal.SIGTERM)
                break
        parser.feed(process.stdout.read())
        status = process.wait()
    found = parser.finish(status)
    assert not found.complete
    assert found.samples
    assert found.notes[-1] == MESSAGES["sysbench_was_ended_by"]


def test_what_the_checks_call_refused_is_refused() -> None:
    suite = SysbenchMemory()
    done = subprocess.run(argv(suite, block_size="96 MiB", time=1), capture_output=True, check=False)
    parser = suite.parser(complete_values(suite, {}))
    parser.feed(done.stdout)
    parser.feed(done.stderr, "stderr")
    assert MESSAGES["invalid_value_for_memory"] in parser.finish(done.returncode).notes[0]


@pytest.mark.parametrize(
    ("suite", "given"),
    [(SysbenchThreads(), {"time": 1, "threads": 2}), (SysbenchMutex(), {"mutex_locks": 20000, "threads": 2})],
    ids=["threads", "mutex"],
)
def test_threads_and_mutexes_are_counted_and_timed(suite: Suite, given: dict[str, object]) -> None:
    done = subprocess.run(argv(suite, **given), capture_output=True, check=False)
    parser = suite.parser(complete_values(suite, given))
    parser.feed(done.stdout)
    parser.feed(done.stderr, "stderr")
    found = parser.finish(done.returncode)
    seconds, events = (
        float(*re.findall(line, done.stdout.decode()))
        for line in (r"total time: +([\d.]+)s", r"total number of events: +(\d+)")
    )
    assert found.complete
    assert found.figures[0].metric == suite.metrics[0]
    assert found.figures[0].value == pytest.approx(seconds if suite.id == "sysbench-mutex" else events / seconds)
