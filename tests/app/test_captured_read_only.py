"""Real outputs of the tools that Benchwright never runs, and of fio --client: the tool’s own figures, in its units."""

import gzip
import json
import statistics

import pytest

from app.outputs.files import judged_bytes
from app.outputs.judging import JudgedOutput
from tests.suites.captured_outputs import DATA


def judged(path: str) -> tuple[JudgedOutput, ...]:
    return judged_bytes(path, (DATA / f"{path}.stdout").read_bytes()).outputs


def headline(one: JudgedOutput) -> float:
    return one.found.output.parsed.figures[0].value


def problems(one: JudgedOutput) -> set[str]:
    return {finding.id for finding in one.verdict.findings}


def test_hyperfine_has_its_own_means() -> None:
    path = "hyperfine/1.15.0/two_commands"
    results = json.loads((DATA / f"{path}.stdout").read_text())["results"]
    assert [headline(one) for one in judged(path)] == pytest.approx([one["mean"] for one in results])


def test_pyperf_has_the_mean_of_its_values_without_warm_ups() -> None:
    path = "pyperf/2.11.0/timeit_sorted"
    (benchmark,) = json.loads((DATA / f"{path}.stdout").read_text())["benchmarks"]
    values = [value for run in benchmark["runs"] for value in run.get("values", ())]
    assert len(values) == 12
    (one,) = judged(path)
    assert headline(one) == pytest.approx(statistics.mean(values))


def test_go_has_the_median_of_the_repetitions() -> None:
    sums, copies = judged("go/1.26/bench_count4")
    assert headline(sums) == pytest.approx(statistics.median((5859, 10085, 12554, 3316)))
    assert headline(copies) == pytest.approx(statistics.median((6238, 6270, 3273, 3381)))


def test_flent_has_the_median_of_its_series() -> None:
    path = "flent/2.3.0/ping_icmp"
    content = json.loads(gzip.decompress((DATA / f"{path}.stdout").read_bytes()))
    values = [one for one in content["results"]["Ping (ms) ICMP"] if one is not None]
    (one,) = judged(path)
    assert headline(one) == pytest.approx(statistics.median(values), rel=0.01)


def test_two_servers_on_one_host_are_told_apart_by_their_ports_from_their_sum() -> None:
    first, second, whole = judged("fio-client/3.33/two_servers_json")
    names = [one.found.output.name for one in (first, second, whole)]
    assert names == ["127.0.0.1:8765 read", "127.0.0.1:8766 read", "All clients"]
    assert headline(whole) == pytest.approx(headline(first) + headline(second), rel=0.01)
    assert whole.found.output.stated["numjobs"] == 2
    for one in (first, second, whole):
        assert {"little", "short"}.isdisjoint(problems(one))
        assert one.verdict.trust.value == "cannot tell"  # the page cache


def test_the_ramp_is_no_early_end() -> None:
    (one,) = judged("fio-client/3.33/ramp_json")
    assert not any("early" in finding.title.lower() for finding in one.verdict.findings)
    assert one.verdict.trust.value == "cannot tell"
