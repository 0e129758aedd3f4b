"""Texts and JSON of fio as people give them, in part or damaged: never a wrong figure, and named what lacks."""

import re

import pytest

from app.outputs.files import judged_bytes
from suites.verdict import Trust
from tests.app.judged_text import ids, only, outputs, value
from tests.suites.captured_outputs import DATA


def test_the_block_size_of_fio_without_its_first_line_follows_from_its_figures() -> None:
    one = only("  read: IOPS=2000, BW=31.2MiB/s (32.8MB/s)(313MiB/10001msec)\n")
    assert one.record.plan.steps[0].values["block_size"] == 16384


@pytest.mark.parametrize("change", [("IOPS=8579", "IOPS=8,579"), ("avg=58.76", "avg=58,76"), ("BW=33.5", "BW=33,5")])
def test_a_comma_in_fios_text_is_refused_and_no_figure(change: tuple[str, str]) -> None:
    text = (DATA / "fio/3.33/normal_text.stdout").read_text()
    assert change[0] in text
    one = only(text.replace(*change))
    assert one.verdict.trust is Trust.UNDECIDED
    assert not one.found.output.parsed.figures
    assert change[1].rpartition(",")[0] in one.verdict.summary


def test_a_block_size_that_the_output_does_not_state_is_no_contradiction() -> None:
    rates = "   read: IOPS=12.2k, BW=760MiB/s (797MB/s)(22.3GiB/30001msec)\n"
    one = only(rates)
    assert one.record.plan.steps[0].values["block_size"] == pytest.approx(64 * 1024, rel=0.01)
    assert "rate-against-block" not in ids(one)


FIO_JSON = (DATA / "fio/2.21/json_final.stdout").read_text()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (re.sub(r'("bw_mean"\s*:) [\d.]+', r"\1 nan", FIO_JSON), "line 76"),
        (re.sub(r'("iops"\s*:) [\d.]+', r"\1 NaN", FIO_JSON), "NaN"),
        (re.sub(r'("iops"\s*:) [\d.]+', r"\1 1e999", FIO_JSON), "1e999"),
        (FIO_JSON.rstrip()[:-1] + ",}", "line 248"),
        ('{"fio version":"fio-3.33","jobs":' + "[" * 10_000 + "]" * 10_000 + "}", "deep"),
    ],
)
def test_a_document_that_is_no_json_is_named_with_its_error(text: str, seen: str) -> None:
    problem = judged_bytes("paste", f"Results:\n\n{text}".encode()).problem
    assert f"fio JSON in line {3}" in problem
    assert seen.replace("76", "78").replace("248", "250") in problem


TWO_REPORTS = """\
**Unpatched**
read : io=102120KB, bw=618740 B/s, iops=151 , runt=169006msec
slat (usec): min=275 , max=87560 , avg=6571.88, stdev=2799.57

write: io=102680KB, bw=622133 B/s, iops=151 , runt=169006msec
slat (usec): min=2 , max=196 , avg=24.66, stdev=20.35

**Patched**
read : io=102864KB, bw=504885 B/s, iops=123 , runt=208627msec
slat (usec): min=0 , max=120 , avg= 1.65, stdev= 3.46

write: io=101936KB, bw=500330 B/s, iops=122 , runt=208627msec
slat (usec): min=0 , max=131 , avg= 1.85, stdev= 3.27
"""


def test_reports_of_fio_without_heads_are_results_with_the_words_above_them() -> None:
    found = outputs(TWO_REPORTS)
    assert [one.found.output.name for one in found] == ["Unpatched", "Patched"]
    assert [value(one, "iops", operation="read") for one in found] == [151, 123]
    assert [value(one, "iops", operation="write") for one in found] == [151, 122]
    assert [one.found.output.seconds for one in found] == [169.006, 208.627]
    lines = TWO_REPORTS.splitlines()
    other_ways = outputs("\n".join((lines[0], *lines[4:9])))  # what was written, then what was read
    assert [(one.found.output.name, value(one, "iops")) for one in other_ways] == [("Unpatched", 151), ("Patched", 123)]
    bare = outputs(re.sub(r"(?m)^\*.*\n", "", TWO_REPORTS))
    assert [value(one, "iops", operation="read") for one in bare] == [151, 123]


def test_a_job_that_was_started_again_is_no_clone_of_the_first() -> None:
    text = (DATA / "fio/3.7/normal_final.stdout").read_text()
    report = text[text.index("job1: (groupid=0") :]
    again = re.sub(r"pid=\d+", "pid=99999", report)
    (one,) = outputs(report)
    figures = [each.found.output.parsed.figures for each in outputs(report + again)]
    assert figures == [one.found.output.parsed.figures] * 2
    assert len(outputs(report * 2)) == 1  # as --status-interval repeats them


SIZE_BOUND = "  write: IOPS=20.0k, BW=78.1MiB/s (81.9MB/s)({}msec); 0 zone resets\n"


@pytest.mark.parametrize(
    ("done", "finding"), [("80.0KiB/1", "too-brief"), ("160MiB/2052", "short-runtime"), ("1603MiB/20520", None)]
)
def test_a_job_without_a_runtime_is_as_short_as_fio_printed(done: str, finding: str | None) -> None:
    found = ids(only(SIZE_BOUND.format(done))) & {"too-brief", "short-runtime"}
    assert found == ({finding} if finding else set())


def test_mean_and_percentile_of_other_kinds_of_latency_are_named() -> None:
    one = only("""\
Rand-Read-4K: (groupid=4, jobs=1): err= 0: pid=25889: Sat Oct  7 20:49:46 2017
  read : io=22504KB, bw=384042B/s, iops=93, runt= 60004msec
    slat (usec): min=5, max=9300, avg=2018.98, stdev= 7.17
    clat (usec): min=142, max=327710, avg=10639.50, stdev=17862.58
     lat (usec): min=159, max=327718, avg=12658.76, stdev=17862.45
    clat percentiles (msec):
     |  1.00th=[    3],  5.00th=[    4], 10.00th=[    4], 20.00th=[    5],
     | 99.00th=[  130], 99.50th=[  135], 99.90th=[  147], 99.95th=[  206],
""")
    assert re.search(r"12\.7 ms .*, completion latency p99 130 ms", one.verdict.summary)


def test_what_an_unstated_option_may_change_is_a_finding() -> None:
    one = only(SIZE_BOUND.format("1603MiB/20520"))
    assert one.deciding == ("direct",)
    assert "unflushed-write" in ids(one)
