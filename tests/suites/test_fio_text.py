"""fio's output for people, of three versions and the format of 2.2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.fio.output import FioParser
from suites.fio.text import read_text
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures

MESSAGES = messages("suites", "test_fio_text")

OF_2_2_10 = b"""benchwright: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=psync, iodepth=1
fio-2.2.10
Starting 1 thread

benchwright: (groupid=0, jobs=1): err= 0: pid=713: Fri Nov 20 13:42:23 2026
  read : io=64808KB, bw=32387KB/s, iops=8096, runt=  2001msec
    clat (usec): min=37, max=4400, avg=60.67, stdev=174.50
     lat (usec): min=37, max=4400, avg=60.70, stdev=174.50
    clat percentiles (usec):
     |  1.00th=[   38], 50.00th=[   48], 99.00th=[  111], 99.90th=[ 3792],
  cpu          : usr=0.55%, sys=33.05%, ctx=32479, majf=0, minf=1
     issued    : total=r=16202/w=0/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0

Run status group 0 (all jobs):
   READ: io=64808KB, aggrb=32387KB/s, minb=32387KB/s, maxb=32387KB/s, mint=2001msec, maxt=2001msec
"""


def test_figures_of_2_21() -> None:
    parsed = capture("fio/2.21/normal_final").parse(FioParser())
    found = figures(parsed)
    assert parsed.complete
    assert "rounds" in parsed.notes[0]
    assert found["iops read"] == pytest.approx(16236 / 2.001)  # computed: fio writes 8113
    assert found["bandwidth write"] == pytest.approx(31.8 * 2**20)
    assert found["latency_mean read"] == pytest.approx(60_670)
    assert found["latency_p99_9 read"] == 3_792_000
    assert found["latency_max write"] == 5_259_000
    assert found["cpu_system"] == 33.05
    assert found["device_ios write"] == 15_646


@pytest.mark.parametrize("path", ["fio/3.7/normal_final", "fio/3.33/normal_text"])
def test_figures_of_3(path: str) -> None:
    parsed = capture(path).parse(FioParser())
    assert parsed.complete
    for name in ("iops", "bandwidth", "latency_mean", "latency_p50", "latency_p99", "latency_p99_9", "latency_max"):
        assert figures(parsed)[f"{name} read"] > 0
        assert figures(parsed)[f"{name} write"] > 0


def test_figures_of_2_2() -> None:
    parser = FioParser()
    parser.feed(OF_2_2_10)
    parsed = parser.finish(0)
    found = figures(parsed)
    assert parsed.complete
    assert found["iops read"] == pytest.approx(16202 / 2.001)
    assert found["bandwidth read"] == 32387 * 1024
    assert found["latency_p50 read"] == 48_000
    assert "iops write" not in found


def test_a_text_without_its_summary_is_cut_off() -> None:
    stdout = capture("fio/3.33/normal_text").stdout
    parser = FioParser()
    parser.feed(stdout[: stdout.index(b"Run status")])
    parsed = parser.finish(None)
    assert not parsed.complete
    assert MESSAGES["closing_summary_is_missing"] in parsed.notes[0]


def test_figures_in_thousands_are_scaled() -> None:
    lines = [
        "x: (groupid=0, jobs=1): err= 0: pid=1: now",
        "  read: IOPS=10.3k, BW=1.5GiB/s (1.6GB/s)(80.2MiB/2001msec)",
        "    clat (nsec): min=36, max=21.4k, avg=50.18, stdev=25.83",
    ]
    report = read_text(lines)
    assert report is not None
    direction = report.jobs[0].directions["read"]
    assert direction.iops == 10_300
    assert direction.bandwidth == 1.5 * 2**30
    assert direction.latency.maximum == 21_400


@given(st.lists(st.sampled_from(OF_2_2_10.decode().splitlines()) | st.text(max_size=30), max_size=30))
def test_any_lines_are_read(lines: list[str]) -> None:
    read_text(lines)
