"""Outputs that contradict themselves are found, and no real capture is: each number may be as wrong as its rounding."""

import gzip
import json
import re
from pathlib import Path

import pytest

from app.outputs.files import GZIP
from suites.identities import CONTRADICTION
from suites.verdict import Trust
from tests.app.judged_text import outputs

DATA = Path(__file__).parents[1] / "data"


def _unpacked(data: bytes) -> bytes:
    return gzip.decompress(data) if data.startswith(GZIP) else data


def captured(name: str) -> str:
    streams = (DATA / f"{name}{suffix}" for suffix in (".stderr", ".stdout"))
    return "".join(_unpacked(each.read_bytes()).decode() for each in streams if each.exists())


def ids(text: str) -> set[str]:
    return {finding.id for one in outputs(text) for finding in one.verdict.findings}


CHANGED = (
    ("dd/9.1/zero_fdatasync", r"656 MB/s", "6.56 GB/s"),
    ("dd/9.1/zero_fdatasync", r"656 MB/s", "671 MB/s"),
    ("dd/9.1/zero_fdatasync", r"537 MB", "640 MB"),
    ("dd/9.7-de_DE/zero_null", r"[\d,]+ GB/s", "99,9 GB/s"),
    ("iperf3/3.12/tcp_P4_text", r"[\d.]+ Mbits/sec(?= +\d+ +sender)", "999 Mbits/sec"),
    ("iperf3/3.12/tcp_json", r'"bits_per_second":\s*[\d.e+]+', '"bits_per_second": 123456'),
    ("iperf3/3.12/udp_json", r'"lost_percent":\s*[\d.e+]+', '"lost_percent": 50'),
    ("iperf3/iperf-2.1.8/tcp", r"[\d.]+ Gbits/sec", "99.9 Gbits/sec"),
    ("fio/3.33/normal_text", r"BW=[\d.]+", "BW=9.99"),
    ("fio/3.33/normal_text", r"IOPS=[\d.]+", "IOPS=9.99"),
    ("fio/3.33/normal_text", r"max=[\d.]+", "max=1"),
    ("fio/3.33/normal_text", r"50.00th=\[ *\d+", "50.00th=[ 9999999"),
    ("fio/2.21/json_final", r'"iops" : [\d.]+', '"iops" : 1234567.0'),
    ("fio/2.21/json_final", r'"iops" : [\d.]+', '"iops" : -5.0'),
    ("fio/2.21/normal_final", r"IOPS=8113", "IOPS=9113"),
    ("judged/objected/fio-41-sequential-4k", r"bw=57875KB", "bw=67875KB"),
    ("fio/3.39/jsonplus_status1_randrw", r'"bw_bytes" : \d+', '"bw_bytes" : 1'),
    ("sysbench/1.0.20/cpu_default", r"5125\.12", "51251.2"),
    ("sysbench/1.0.20/cpu_default", r"51258", "61258"),
    ("sysbench/1.0.20/cpu_default", r"0\.21$", "0.11"),
    ("sysbench/1.0.20/cpu_default", r"0\.19$", "1.90"),
    ("sysbench/1.0.20/cpu_default", r"9\.9924", "4.9924"),
    ("sysbench/1.0.20/memory_read", r"82330\.20 MiB/sec", "8233.02 MiB/sec"),
    ("sysbench/1.0.20/memory_read", r"82330\.20 per", "8233.02 per"),
    ("sysbench/1.0.20/threads_report_interval", r"(total number of events: +)\d+", r"\g<1>99"),
    ("sysbench/1.0.20/mutex_default", r"avg: +[\d.]+", "avg: 9999.0"),
    ("sysbench/1.0.20/fileio_rndrw_direct", r"200\.65", "400.65"),
    ("sysbench/0.4.12/cpu_default", r"avg: +[\d.]+ms", "avg: 99999.00ms"),
    ("oltp/sysbench-1.0.20/pg_read_write", r"1287\.32", "2287.32"),
    ("oltp/sysbench-1.0.20/pg_read_write", r"25758\.12", "55758.12"),
    ("pgbench/15.18/tpcb", r"2477\.8", "24778.1"),
    ("pgbench/15.18/tpcb", r"0\.807 ms", "8.070 ms"),
    ("ioping/1.3/direct", r"2\.68 k iops", "268 k iops"),
    ("ioping/1.3/direct", r"/ 372\.9 us", "/ 972.9 us"),
    ("stream/5.10/one_thread", r"26738\.0", "46738.0"),
    ("stream/5.10/one_thread", r"0\.009003", "0.001003"),
    ("http/wrk-4.1.0/file", r"55386\.50", "155386.50"),
    ("redis/7.0.15/set_threads", r"99900\.09", "199900.09"),
)
"""Captures, and a change that makes one of their figures contradict others."""


@pytest.mark.parametrize(("name", "pattern", "to"), CHANGED, ids=[f"{one[0]}: {one[2]}" for one in CHANGED])
def test_a_changed_figure_contradicts_the_others(name: str, pattern: str, to: str) -> None:
    text = captured(name)
    changed = re.sub(pattern, to, text, flags=re.MULTILINE)
    assert changed != text
    assert "figures-contradict" not in ids(text)
    assert "figures-contradict" in ids(changed)
    assert any(one.verdict.trust is Trust.INVALID for one in outputs(changed))


@pytest.mark.slow
def test_no_capture_of_a_real_run_contradicts_itself_or_is_valid() -> None:
    """What was measured elsewhere is at best not verified."""
    judged = 0
    for path in sorted(path for suffix in ("stdout", "json", "out") for path in DATA.rglob(f"*.{suffix}")):
        if "objected" in path.parts:
            continue
        name = str(path.relative_to(DATA).with_suffix(""))
        for one in outputs(captured(name) if path.suffix == ".stdout" else _unpacked(path.read_bytes()).decode()):
            judged += 1
            found = [note for note in one.found.output.parsed.notes if note.startswith(CONTRADICTION)]
            assert not found, path
            assert one.verdict.trust is not Trust.VALID, path
    assert judged > 250


TERSE = sorted(path.stem for path in (DATA / "fio-text" / "3.33").glob("*.stdout"))


def terse(name: str) -> list[str]:
    """Return the fields of the first terse line of a capture."""
    found = re.search(r"^[345];fio-.*$", captured(f"fio-text/3.33/{name}"), re.MULTILINE)
    assert found is not None, name
    return found[0].split(";")


def test_no_terse_line_of_a_real_run_contradicts_itself() -> None:
    assert len(TERSE) > 8
    for name in TERSE:
        assert "figures-contradict" not in ids(";".join(terse(name)) + "\n"), name


@pytest.mark.parametrize(
    ("field", "to"),
    [(5, "1"), (6, "999999999"), (8, "99999999"), (13, "88888888"), (14, "1"), (15, "77777777"), (23, "50%=99999999")],
    ids=["size", "bandwidth", "runtime", "min", "max", "mean", "percentile"],
)
def test_a_changed_field_of_a_terse_line_contradicts_the_others(field: int, to: str) -> None:
    fields = terse("psync")
    assert float(fields[5]) > 0
    before = re.sub(r"=.*", "", fields[field])
    fields[field] = f"{before}={to.partition('=')[2]}" if "=" in to else to
    assert "figures-contradict" in ids(";".join(fields) + "\n")


def test_a_contradiction_of_one_job_is_not_that_of_another() -> None:
    document = json.loads(captured("fio/2.21/json_final"))
    first = document["jobs"][0]
    second = {**first, "jobname": "second", "groupid": 1, "read": {**first["read"], "iops": 9e9}}
    document["jobs"] = [first, second]
    found = {
        one.found.output.name: any(note.startswith(CONTRADICTION) for note in one.found.output.parsed.notes)
        for one in outputs(json.dumps(document))
    }
    assert found == {first["jobname"]: False, "second": True}


def test_hyperfine_states_the_mean_of_its_runs() -> None:
    run = {"command": "sleep 1", "mean": 1.1, "median": 1.1, "min": 1.0, "max": 1.2, "times": [1.0, 1.1, 1.2]}
    assert "figures-contradict" not in ids(json.dumps({"results": [run]}))
    for name, value in (("mean", 0.5), ("max", 1.05), ("median", 1.15), ("mean", -1.1)):
        assert "figures-contradict" in ids(json.dumps({"results": [{**run, name: value}]})), name


def test_a_printed_digit_is_as_wrong_as_its_rounding() -> None:
    report = "1+0 records in\n1+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, {} s, {}\n"
    agreeing = (("1.2", "894 MB/s"), ("1.2", "870 MB/s"), ("0.11", "9.6 GB/s"), ("1.20123", "894 MB/s"))
    for seconds, rate in agreeing:
        assert "figures-contradict" not in ids(report.format(seconds, rate)), (seconds, rate)
    for seconds, rate in (("1.2", "800 MB/s"), ("1.20123", "904 MB/s"), ("0.11", "9.0 GB/s"), ("1.2", "894 kB/s")):
        assert "figures-contradict" in ids(report.format(seconds, rate)), (seconds, rate)


def test_failed_transactions_are_a_finding_with_their_share() -> None:
    text = captured("pgbench/15.18/tpcb")
    (one,) = outputs(text.replace("transactions: 0 (0.000%)", "transactions: 12000 (49.221%)"))
    finding = next(each for each in one.verdict.findings if each.id == "work-failed")
    assert "12000 of 24380" in finding.measured
    assert "49 %" in finding.measured
    assert one.verdict.trust is Trust.DOUBTFUL
    (few,) = outputs(text.replace("transactions: 0 (0.000%)", "transactions: 12 (0.097%)"))
    assert few.verdict.trust is Trust.CAVEATS
    assert "work-failed" not in ids(text)


def test_a_contradiction_is_that_of_its_job_where_jobs_share_a_name() -> None:
    def job(group: int, iops: float) -> dict[str, object]:
        read = {"io_bytes": 40960000, "bw_bytes": 4096000, "iops": iops, "runtime": 10000, "total_ios": 10000}
        return {"jobname": "j", "groupid": group, "error": 0, "job options": {"rw": "randread"}, "read": read}

    def contradictory(*jobs: dict[str, object]) -> list[bool]:
        found = outputs(json.dumps({"fio version": "fio-3.33", "jobs": jobs}))
        return [any(CONTRADICTION in note for note in one.found.output.parsed.notes) for one in found]

    assert contradictory(job(0, 1000.0), job(1, 3000.0)) == [False, True]
    assert contradictory(job(0, 3000.0), job(1, 1000.0)) == [True, False]
    assert contradictory(job(0, 1000.0), job(0, 3000.0)) == [True]
