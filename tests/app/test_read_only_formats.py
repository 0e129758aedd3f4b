"""Outputs of tools that are never run: what is read of them, in which units, and what objects to it.

The texts are written after the formats that the tools document, with figures of their own.
"""

import gzip
import json

import pytest

from app.outputs.files import judged_bytes
from suites import registry
from tests.app.judged_text import ids, outputs
from tests.app.test_output_formats import DATA, figures

_PYPERF = {
    "benchmarks": [
        {
            "metadata": {"loops": 32, "name": "sort"},
            "runs": [{"warmups": [[1, 2e-3]]}, {"values": [2e-3, 2.1e-3, 2.2e-3]}, {"values": [2e-3, 2.1e-3, 2.9e-3]}],
        }
    ],
    "metadata": {"python_version": "3.11.2"},
    "version": "1.0",
}
_HYPERFINE = {
    "results": [
        {"command": "sleep 0.1", "mean": 0.102, "times": [0.101, 0.102, 0.103], "exit_codes": [0, 0, 0]},
        {"command": "false", "mean": 0.001, "times": [0.001, 0.003], "exit_codes": [0, 1]},
        {"command": "true", "mean": 0.001, "times": [0.001, 0.0012], "exit_codes": [0, 0]},
    ]
}
_HYPERFINE_2 = {
    "schema_version": 2,
    "results": [
        {
            "command": "sleep 1",
            "name": "one second",
            "measurements": [
                {"time_wall_clock": {"value": value, "unit": "second"}, "exit_code": 0} for value in (1.0, 1.01, 1.02)
            ],
        }
    ],
}
_FLENT = {
    "metadata": {"NAME": "rrul", "LENGTH": 60, "SERIES_META": {"Ping ICMP": {"UNITS": "ms"}}},
    "results": {"Ping ICMP": [1.0, 2.0, None, 30.0], "TCP download": [10.0, 20.0, 30.0]},
    "x_values": [0, 1, 2, 3],
}
_GO = """\
goos: linux
goarch: amd64
pkg: example.org/sum
BenchmarkSum-8   	 1000000	      1048 ns/op	  64 B/op	  2 allocs/op
BenchmarkSum-8   	 1000000	      1050 ns/op	  64 B/op	  2 allocs/op
BenchmarkSum-8   	 1000000	      1090 ns/op	  64 B/op	  2 allocs/op
BenchmarkOnce-8  	       1	2000000000 ns/op
PASS
ok  	example.org/sum	5.101s
"""
_PHORONIX = """\
<?xml version="1.0"?>
<PhoronixTestSuite>
  <Result>
    <Title>7-Zip Compression</Title><AppVersion>22.01</AppVersion><Description>Test: A &amp; B</Description>
    <Scale>MIPS</Scale><Proportion>HIB</Proportion>
    <Data><Entry><Identifier>host</Identifier><Value>51234</Value><RawString>51000:51300:51402</RawString></Entry></Data>
  </Result>
  <Result>
    <Title>Build</Title><Scale>Seconds</Scale><Proportion>LIB</Proportion>
    <Data><Entry><Value>41.5</Value><RawString>41.5</RawString></Entry></Data>
  </Result>
</PhoronixTestSuite>
"""
_ELBENCHO = """\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
READ        Elapsed time     :   1m11.500s   1m12.250s
            IOPS             :         221         219
            Throughput MiB/s :         885         876
            Total MiB        :       10240       10240
---
"""
_ELBENCHO_CSV = (
    "ISO date,label,path type,paths,hosts,threads,file size,block size,direct IO,IO depth,operation,"
    "IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],IO lat us [avg]\n"
    "2026-05-22T16:09:38,,dir,1,1,8,268435456,1048576,{direct},4,READ,500,480,500,480,612\n"
)
_ELBENCHO_JSON = (
    '{{"phase_type":"READ","phase_id":"4f","iso_start_date":"2026-05-22T16:09:38.120+0200","config":{{"path_type":"dir",'
    '"threads":"8","block_size":"1048576","direct_io":"{direct}","io_depth":"4"}},"first_done":{{"elapsed_time_ms":"2001",'
    '"iops":"500","bytes/s":"524288000"}},"last_done":{{"elapsed_time_ms":"2104","iops":"480","bytes/s":"503316480",'
    '"latency":{{"IO":{{"min_us":"80","avg_us":"612","max_us":"9001"}}}}}}}}\n'
)
_CRYSTAL_8 = """\
CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]
* KB = 1000 bytes, KiB = 1024 bytes

[Read]
  SEQ    1MiB (Q=  8, T= 1):   384.064 MB/s [    366.3 IOPS] < 21765.43 us>
  RND    4KiB (Q=  1, T= 1):    20.802 MB/s [   5078.6 IOPS] <   196.72 us>

[Write]
  SEQ    1MiB (Q=  8, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>

Profile: Default
   Test: 64 MiB (x5) [D: 0% (0/238GiB)]
"""
_CRYSTAL_6 = """\
CrystalDiskMark 6.0.2 x64 (C) 2007-2018 hiyohiyo

   Sequential Read (Q= 32,T= 1) :   561.023 MB/s
  Random Write 4KiB (Q=  8,T= 8) :   300.100 MB/s [  73266.6 IOPS]

  Test : 1024 MiB [C: 65.1% (77.4/118.9 GiB)] (x5)  [Interval=5 sec]
"""
_KDISKMARK = """\
                     KDiskMark (2.3.0): https://github.com/JonMagon/KDiskMark
                 Flexible I/O Tester (fio-3.28): https://github.com/axboe/fio
[Read]
Sequential 1 MiB (Q= 8, T= 1):   550.145 MB/s [    537.3 IOPS] < 14840.12 us>

Profile: Default
   Test: 1 GiB (x5) [Interval: 5 sec]
"""

CASES: tuple[tuple[str, str, int, tuple[str, float, str], set[str]], ...] = (
    ("pyperf JSON", json.dumps(_PYPERF), 1, ("time_median", 2.1e-3, "s"), {"runs-vary"}),
    ("hyperfine JSON", json.dumps(_HYPERFINE), 3, ("time_median", 0.102, "s"), set()),
    ("hyperfine JSON", json.dumps(_HYPERFINE_2, indent=2), 1, ("time_median", 1.01, "s"), set()),
    ("flent", json.dumps(_FLENT), 1, ("latency_p99", 30.0, "ms"), set()),
    ("Go benchmark", _GO, 2, ("time", 1050.0, "ns"), set()),
    ("Phoronix composite.xml", _PHORONIX, 2, ("score", 51234.0, "1"), set()),
    ("elbencho text", _ELBENCHO, 1, ("elapsed", 72.25, "s"), set()),
    ("elbencho JSON", _ELBENCHO_JSON.format(direct="true"), 1, ("bandwidth", 480.0, "MiB/s"), set()),
    ("elbencho JSON", _ELBENCHO_JSON.format(direct="false"), 1, ("iops", 480.0, "1/s"), {"page-cache"}),
    ("elbencho JSON", _ELBENCHO_JSON.format(direct="true") * 2, 2, ("latency_mean", 612.0, "us"), set()),
    ("elbencho CSV", _ELBENCHO_CSV.format(direct=1), 1, ("bandwidth", 480.0, "MiB/s"), set()),
    ("elbencho CSV", _ELBENCHO_CSV.format(direct=0), 1, ("bandwidth", 480.0, "MiB/s"), {"page-cache"}),
    ("CrystalDiskMark, KDiskMark", _CRYSTAL_8, 3, ("iops", 366.3, "1/s"), {"small-working-set", "best-of-runs"}),
    ("CrystalDiskMark, KDiskMark", _CRYSTAL_6, 2, ("bandwidth", 561.023, "MB/s"), {"small-working-set"}),
    ("CrystalDiskMark, KDiskMark", _KDISKMARK, 1, ("latency_mean", 14840.12, "us"), {"small-working-set"}),
)
"""Format, text, number of results, and of the first one a figure and findings."""


@pytest.mark.parametrize(("title", "text", "count", "figure", "findings"), CASES)
def test_a_result_has_its_figure_unit_and_findings(
    title: str, text: str, count: int, figure: tuple[str, float, str], findings: set[str]
) -> None:
    found = outputs(text)
    assert [one.found.format for one in found] == [title] * count
    of_first = found[0].found.output.parsed.figures
    assert figure in {(one.metric.name, one.value, str(one.metric.unit)) for one in of_first}
    assert findings <= ids(found[0])
    assert all(one.value > 0 for each in found for one in each.found.output.parsed.figures)
    assert [figures(one) for one in outputs(f"> {text}".replace("\n", "\n> "))] == [figures(one) for one in found]


def test_a_failed_command_has_no_time() -> None:
    _good, failed, brief = outputs(json.dumps(_HYPERFINE))
    assert (failed.verdict.trust.value, failed.found.output.parsed.figures) == ("invalid", ())
    assert "command-too-short" in ids(brief)


def test_an_operation_that_was_timed_once_is_named() -> None:
    of_three, once = outputs(_GO)
    assert of_three.found.output.stated["runs"] == 3
    assert {"one-iteration", "few-runs"} <= ids(once)


def test_the_time_of_phoronix_has_its_unit_and_direction() -> None:
    _rate, build = outputs(_PHORONIX)
    (figure,) = build.found.output.parsed.figures
    assert (str(figure.metric.unit), figure.metric.better.value, figure.value) == ("s", "lower", 41.5)


def test_a_document_type_is_refused_and_one_cut_off_is_incomplete() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    assert outputs(_PHORONIX.replace("<PhoronixTestSuite>", f"<PhoronixTestSuite>{bomb}")) == ()
    (cut,) = outputs(_PHORONIX[: _PHORONIX.index("<Title>Build")])
    assert "output-incomplete" in ids(cut)


def test_reads_without_direct_are_decided_by_the_command_line() -> None:
    (open_one,) = outputs(_ELBENCHO)
    assert (open_one.verdict.trust.value, open_one.deciding) == ("cannot tell", ("direct",))
    (direct,) = outputs(f"$ elbencho -r --direct -t 8 /data\n{_ELBENCHO}")
    assert direct.verdict.trust.value == "unverified"
    (buffered,) = outputs(f"$ elbencho -r -t 8 /data\n{_ELBENCHO}")
    assert buffered.verdict.trust.value == "doubtful"


def test_the_blocks_of_crystaldiskmark_6_are_those_of_its_default() -> None:
    sequential, random = outputs(_CRYSTAL_6)
    assert (sequential.found.output.stated["block_size"], random.found.output.stated["block_size"]) == (131072, 4096)
    assert (sequential.found.output.stated["operation"], random.found.output.stated["operation"]) == ("read", "write")


def test_a_packed_file_is_unpacked_within_bounds() -> None:
    packed = gzip.compress(json.dumps(_FLENT).encode())
    assert [one.found.format for one in judged_bytes("x.flent.gz", packed).outputs] == ["flent"]
    assert judged_bytes("x.gz", packed[:2] + b"broken").problem == "Not a valid gzip file."


@pytest.mark.parametrize("name", ["documented-2022-08-17.json", "documented-2020-09-21.txt"])
def test_the_tests_of_yabs_are_results_of_their_tools(name: str) -> None:
    found = outputs((DATA / "yabs" / name).read_text())
    suites = [one.found.output.suite_id for one in found]
    assert suites.count("fio") == 4
    assert {"iperf3", "geekbench"} <= set(suites)
    fio = found[suites.index("fio")]
    assert fio.found.output.stated["rw"] == "randrw"
    assert fio.found.output.stated["iodepth"] == 64
    assert fio.found.output.stated["direct"] is True


def test_what_is_only_read_is_offered_nowhere() -> None:
    only_read = {suite.id for suite in registry.READ_ONLY}
    assert only_read.isdisjoint(suite.id for suite in registry.SUITES)
    searched = {name for program in registry.programs() for name in program.names}
    assert searched.isdisjoint({"hyperfine", "elbencho", "flent", "kdiskmark"})
    assert all(registry.suite(name).title for name in only_read)


def test_absurd_numbers_are_no_figures_and_fail_nothing() -> None:
    """Digits beyond what Python converts, and a row that makes a pattern try each way to divide it."""
    digits = "9" * 6000
    assert outputs(f"$ elbencho -r -t {digits} /data\n{_ELBENCHO}")
    assert outputs(_ELBENCHO_CSV.replace(",1,1,8,", f",1,1,{digits},").format(direct=1))
    assert outputs(_ELBENCHO.replace("1m12.250s", f"{digits}s"))
    hop = f"HOST: a   Loss%   Snt   Last\n  1.|-- 192.0.2.1  {'1' * 5000} x\n"
    assert outputs(hop) == ()
