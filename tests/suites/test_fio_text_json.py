"""fio's text and terse output against the JSON of the same run, in every combination of its latencies."""

import json

import pytest

from suites.fio.output import FioParser
from suites.outputs import ParsedTrial
from tests.suites.captured_outputs import capture, captures, figures


def parsed(output: bytes) -> ParsedTrial:
    parser = FioParser()
    parser.feed(output)
    return parser.finish(0)


def parts(path: str) -> tuple[bytes, bytes, bytes]:
    """Return text, terse lines and JSON of a recording."""
    output = capture(path).stdout
    start, end = output.index(b"\n{\n") + 1, output.index(b"\n}\n") + 3
    lines = (output[:start] + output[end:]).splitlines(keepends=True)
    terse = [line for line in lines if line[:2] in {b"3;", b"4;", b"5;"}]
    return b"".join(line for line in lines if line not in terse), b"".join(terse), output[start:end]


RECORDINGS = captures("fio-text")


@pytest.mark.parametrize("path", RECORDINGS)
def test_text_gives_the_figures_of_json(path: str) -> None:
    text, _, document = parts(path)
    exact, found = figures(parsed(document)), figures(parsed(text))
    assert parsed(text).complete
    assert {name for name in exact if "clone" not in name} - found.keys() <= {"steady_iops"}
    assert found.keys() <= exact.keys()
    for name, value in found.items():
        assert value == pytest.approx(exact[name], rel=0.03, abs=0.01), name


@pytest.mark.parametrize("path", [path for path in RECORDINGS if "unified_mixed" not in path])
def test_terse_gives_the_figures_of_json(path: str) -> None:
    _, terse, document = parts(path)
    exact, found = figures(parsed(document)), figures(parsed(terse))
    assert parsed(terse).complete
    known = {name for name in exact if not name.startswith(("issued", "device")) and not name.endswith(" sync")}
    if "unified" in path:  # whose third direction is not read
        known = {name for name in known if "mixed" not in name}
    if "percentiles" in path:  # of which latency is not known
        known = {name for name in known if "latency_p" not in name}
    assert known <= found.keys()
    for name in known:
        rounding = 1001 if "latency" in name else 0.01  # whole microseconds
        assert found[name] == pytest.approx(exact[name], rel=0.03, abs=rounding), name


def test_terse_lines_that_a_status_interval_repeats_are_not_added() -> None:
    _, terse, _ = parts("fio-text/3.33/psync")
    fields = terse.split(b";")
    before = b";".join([*fields[:8], b"%d" % (int(fields[8]) // 2), *fields[9:]])
    found = parsed(before + terse)
    assert not found.figures
    assert any("--status-interval" in note for note in found.notes)


@pytest.mark.parametrize(("field", "text"), [(7, b"1e999"), (8, b"9" * 400), (7, b"inf"), (6, b"nan"), (15, b"-1")])
def test_a_terse_line_with_a_number_that_fio_cannot_print_is_not_read(field: int, text: bytes) -> None:
    _, terse, _ = parts("fio-text/3.33/psync")
    fields = terse.split(b";")
    fields[field] = text
    assert not parsed(b";".join(fields)).figures


def test_the_percentiles_of_the_total_latency_are_its_own() -> None:
    text, _, document = parts("fio-text/3.33/lat_percentiles")
    found = figures(parsed(text))
    p99 = json.loads(document)["jobs"][0]["read"]["lat_ns"]["percentile"]["99.000000"]
    assert found["total_latency_p99 read"] == pytest.approx(p99, rel=0.01)
    assert "latency_p99 read" not in found


def test_reads_and_writes_reported_as_one_have_figures() -> None:
    text, _, document = parts("fio-text/3.33/unified_mixed")
    done = json.loads(document)["jobs"][0]["mixed"]
    for form in (text, document):
        found = figures(parsed(form))
        assert found["total_iops"] == found["iops mixed"] == pytest.approx(done["iops"], rel=0.01)
        assert found["total_latency_p99 mixed"] == pytest.approx(done["lat_ns"]["percentile"]["99.000000"], rel=0.01)
    _, _, document = parts("fio-text/3.33/unified_both")
    both = figures(parsed(document))
    assert both["total_iops"] == both["iops read"] + both["iops write"]
    assert "iops mixed" not in both


@pytest.mark.parametrize("pattern", ["randread", "write", "", "rw:8"])
def test_one_direction_that_is_reported_as_mixed_has_no_rate_of_both_ways(pattern: str) -> None:
    report = json.loads(parts("fio-text/3.33/unified_mixed")[2])
    for options in (report.get("global options", {}), report["jobs"][0]["job options"]):
        options.pop("rw", None)
    report["jobs"][0]["job options"] |= {"rw": pattern} if pattern else {}
    found = figures(parsed(json.dumps(report, indent=2).encode()))
    assert "iops mixed" in found
    assert ("total_iops" in found) is (pattern == "rw:8")


def test_a_disabled_latency_is_not_labelled_as_another() -> None:
    for form in parts("fio-text/3.33/disable_clat"):
        found = figures(parsed(form))
        assert "total_latency_mean read" in found
        assert "latency_mean read" not in found
    for form in parts("fio-text/3.33/disable_lat"):
        found = figures(parsed(form))
        assert "latency_mean read" in found
        assert "total_latency_mean read" not in found


def test_a_terse_line_cut_off_has_no_figure() -> None:
    _, terse, _ = parts("fio-text/3.33/psync")
    for length in range(1, terse.rindex(b";vda") - 8, 37):
        assert not parsed(terse[:length]).complete
