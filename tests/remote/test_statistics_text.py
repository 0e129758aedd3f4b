"""Telemetry from the text of vmstat, iostat and sar."""

from remote.telemetry.statistics_text import statistics_samples

VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 7  0      0 21219100   8960 397944    0    0 12319 21175  882 2861 20 12 62  6  0
 4  0      0 21219100   8960 397944    0    2  3580 10404 2650 9427 62 32  6  1  0
 4  1      0 21219100   8960 397944    0    0    12  5652 1704 6780 63 28  0  1  8
"""

IOSTAT = """\
Linux 6.1.0-18-amd64 (web-1) 	11/28/2026 	_x86_64_	(2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           9.00    0.00    3.00    1.00    0.00   87.00

Device            r/s     rkB/s   rrqm/s r_await     w/s     wkB/s   wrqm/s w_await  aqu-sz  %util
vda             99.00    999.00     0.00    0.10    9.00     90.00     0.00    0.20    0.10   9.00

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           5.00    0.00   10.00    2.50   12.50   70.00

Device            r/s     rkB/s   rrqm/s r_await     w/s     wkB/s   wrqm/s w_await  aqu-sz  %util
vda           5000.00  20000.00     0.00    0.10    0.00      0.00     0.00    0.00    1.00  98.50
"""

SAR = """\
Linux 6.1.0-18-amd64 (web-1) 	11/28/2026 	_x86_64_	(2 CPU)

12:00:01 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:00:02 AM     all     50,00      0,00     10,00      0,00     20,00     20,00
12:00:03 AM     all     51,00      0,00     10,00      0,00     19,00     20,00
Average:        all     50,50      0,00     10,00      0,00     19,50     20,00
"""


def values(text: str, metric: str, **at: str) -> list[tuple[float, float]]:
    return [
        (sample.time, sample.value)
        for sample in statistics_samples(text)
        if sample.metric.name == metric and dict(sample.labels) == at
    ]


def test_reports_of_vmstat_count_from_the_second() -> None:
    assert values(VMSTAT, "cpu_user") == [(1.0, 62.0), (2.0, 63.0)]
    assert values(VMSTAT, "cpu_steal") == [(1.0, 0.0), (2.0, 8.0)]
    assert values(VMSTAT, "swap_out") == [(1.0, 2048.0), (2.0, 0.0)]
    assert values(VMSTAT, "tasks_blocked") == [(1.0, 0.0), (2.0, 1.0)]


def test_iostat_has_the_host_and_its_disks() -> None:
    assert values(IOSTAT, "cpu_steal") == [(1.0, 12.5)]
    assert values(IOSTAT, "disk_read_ios", device="vda") == [(1.0, 5000.0)]
    assert values(IOSTAT, "disk_read_rate", device="vda") == [(1.0, 20000.0 * 1024)]
    assert values(IOSTAT, "disk_busy", device="vda") == [(1.0, 98.5)]


def test_sar_counts_from_the_first_without_the_average() -> None:
    assert values(SAR, "cpu_steal") == [(1.0, 20.0), (2.0, 19.0)]


def test_the_interval_is_that_between_reports() -> None:
    assert [one.time for one in statistics_samples(VMSTAT, 5.0) if one.metric.name == "cpu_user"] == [5.0, 10.0]


def test_other_text_has_no_samples() -> None:
    assert statistics_samples("We ran fio: us sy id wa st\n 1 2 3 4 5\n") == []
    assert statistics_samples(VMSTAT.replace("62 32", "nan inf")) != []
