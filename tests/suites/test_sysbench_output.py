"""No output of any sort raises, and no way of arriving changes what an output means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.base import Suite, complete_values
from suites.sysbench.cpu import SysbenchCpu
from suites.sysbench.memory import SysbenchMemory
from suites.sysbench.mutex import SysbenchMutex
from suites.sysbench.threads import SysbenchThreads
from tests.suites.captured_outputs import capture

SUITES: tuple[Suite, ...] = (SysbenchCpu(), SysbenchMemory(), SysbenchThreads(), SysbenchMutex())
PIECES = [
    b"[ 1s ] thds: 2 eps: 1.00 lat (ms,95%): 0.56\n",
    b"[ 2s ] 7623.69 MiB/sec\n",
    b"    total time:                          1.8521s\n",
    b"    total number of events:              10000\n",
    b"    total number of events:              " + b"9" * 5000 + b"\n",
    b"         avg:                                    nan\n",
    b"        999th percentile:                        0.56\n",
    b"    execution time (avg/stddev):   2.9991/0.00\n",
    b"Prime numbers limit: 20000\n",
    b"sysbench 0.4.12:  multi-threaded system evaluation benchmark\n",
    b"FATAL: \x1b[2J\n",
    b"\xff\xfe\x00",
]


@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes_are_accepted(data: bytes) -> None:
    for suite in SUITES:
        parser = suite.parser(complete_values(suite, {}))
        live = list(parser.feed(data))
        assert list(parser.finish().samples) == live


@pytest.mark.parametrize("case", ["1.0.20/cpu_report_interval", "1.0.20/memory_report_interval", "0.4.12/cpu_default"])
def test_an_output_cut_anywhere_is_never_complete_nor_wrong(case: str) -> None:
    suite = SUITES["memory" in case]
    data = capture(f"sysbench/{case}").stdout.rstrip()
    whole = suite.parser(complete_values(suite, {}))
    whole.feed(data)
    truth = whole.finish()
    assert truth.complete
    for length in range(len(data)):
        parser = suite.parser(complete_values(suite, {}))
        parser.feed(data[:length])
        found = parser.finish()
        assert not found.complete
        assert set(found.figures) <= set(truth.figures)
        assert set(found.samples) <= set(truth.samples)


def test_samples_whose_time_goes_back_are_dropped() -> None:
    suite = SysbenchCpu()
    parser = suite.parser(complete_values(suite, {}))
    line = b"[ %ds ] thds: 1 eps: 10.00 lat (ms,0%%): 0.00\n"
    parser.feed(b"".join(line % second for second in (1, 2, 2, 1, 3)))
    assert [sample.time for sample in parser.finish().samples] == [1, 2, 3]


def test_a_percentile_that_is_none_gives_no_sample() -> None:
    suite = SysbenchCpu()
    parser = suite.parser(complete_values(suite, {}))
    samples = list(parser.feed(b"[ 1s ] thds: 1 eps: 10.00 lat (ms,999%): 0.20\n"))
    assert [sample.metric.name for sample in samples] == ["events_per_second"]
