"""Outputs of other options, versions and systems than those that the suites run themselves."""

from itertools import pairwise

import pytest

from app.parse import parse_output
from suites.iperf3.iperf2 import Iperf2Reader
from suites.iperf3.text import MAXIMUM_ROWS
from tests.suites.captured_outputs import DATA, figures
from tests.suites.captured_outputs import capture as captured

KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30


@pytest.mark.parametrize(
    ("name", "rate", "samples"),
    [
        ("3.12/tcp_text_f_M", 564 * 8 * MIB, 3),  # -f M: MBytes/sec of 2^20 bytes
        ("3.12/tcp_P2_text_f_K", 592015 * 8 * KIB, 2),
        ("iperf-2.1.8/tcp", 2.96e9, 3),
        ("iperf-2.1.8/tcp_P2_f_M", 423 * 8 * MIB, 2),
        ("iperf-2.1.8/tcp_e", 2.72e9, 2),
        ("iperf-2.1.8/udp", 10.5e6, 2),
        ("iperf-2.1.8/udp_P2", 210e6, 3),
        ("iperf-2.1.8/udp_R", 52.5e6, 0),
    ],
)
def test_iperf_in_bytes_and_iperf_2_give_the_rate_that_they_print(name: str, rate: float, samples: int) -> None:
    found = parse_output("iperf3", captured(f"iperf3/{name}").stdout)
    assert found.complete
    assert found.figures[0].value == pytest.approx(rate, rel=1e-9)
    rates = [sample for sample in found.samples if sample.metric.name == "throughput"]
    assert len(rates) == samples
    assert all(later.time > earlier.time for earlier, later in pairwise(rates))
    assert any("iperf 2" in note for note in found.notes) is name.startswith("iperf-2")


def test_gigabytes_of_a_reverse_test_are_read() -> None:
    found = figures(parse_output("iperf3", captured("iperf3/3.12/tcp_R_text_f_G").stdout))
    printed = [line.split() for line in captured("iperf3/3.12/tcp_R_text_f_G").stdout.decode().splitlines()]
    (received,) = (words for words in printed if words[-1:] == ["receiver"])
    rate, size = (float(received[received.index(unit) - 1]) for unit in ("GBytes/sec", "MBytes"))
    seconds = float(received[2].partition("-")[2])
    assert found["throughput receive receiver"] == pytest.approx(8 * GIB * rate, abs=0.005 * 8 * GIB)
    assert found["throughput receive receiver"] == pytest.approx(8 * MIB * size / seconds, rel=1e-9)


def test_the_server_end_of_udp_is_the_result_of_iperf_2() -> None:
    found = figures(parse_output("iperf3", captured("iperf3/iperf-2.1.8/udp").stdout))
    assert (found["lost send"], found["datagrams send"], found["jitter send"]) == (0.0, 1787.0, 0.001)


def test_the_output_of_the_server_is_not_a_second_test() -> None:
    found = parse_output("iperf3", captured("iperf3/3.12/udp_P2_get_server_output").stdout)
    rates = {name: value for name, value in figures(found).items() if name.startswith("throughput")}
    assert rates == {"throughput send receiver": 10.5e6, "throughput send sender": 10.5e6}
    assert found.complete


def test_the_reports_of_the_server_are_of_all_streams_or_of_none() -> None:
    whole = captured("iperf3/iperf-2.1.8/udp_P2").stdout
    found = figures(parse_output("iperf3", whole))
    assert found["throughput send receiver"] == found["throughput send sender"] == 210e6
    assert found["datagrams send"] == 26753 + 26752
    lossy = whole.replace(b"105 Mbits/sec   0.000 ms 0/26752 (0%)", b"50 Mbits/sec   0.020 ms 13376/26752 (50%)")
    found = figures(parse_output("iperf3", lossy))
    assert found["throughput send receiver"] == 155e6
    assert found["lost send"] == pytest.approx(25, abs=0.01)
    assert found["jitter send"] == 0.02
    summed = (
        whole + b"[SUM] Server Report:\n[SUM] 0.0000-3.0002 sec  75.0 MBytes   207 Mbits/sec   0.000 ms 9/53505 (0%)\n"
    )
    assert figures(parse_output("iperf3", summed))["throughput send receiver"] == 207e6
    one = parse_output("iperf3", whole[: whole.rindex(b"[  1] Server Report")])
    assert "throughput send receiver" not in figures(one)
    assert figures(one)["throughput send sender"] == 210e6
    assert any("Streams without a report" in note for note in one.notes)


def test_the_direction_of_iperf_2_is_named_and_both_at_once_give_no_figure() -> None:
    assert figures(parse_output("iperf3", captured("iperf3/iperf-2.1.8/udp_R").stdout)) == {
        "throughput receive receiver": 52.5e6, "lost receive": 0.0, "jitter receive": 0.0, "datagrams receive": 4460.0
    }  # fmt: skip
    for name in ("full_duplex", "tradeoff"):
        found = parse_output("iperf3", captured(f"iperf3/iperf-2.1.8/{name}").stdout)
        assert (found.complete, found.figures) == (False, ())
        assert "both directions" in found.notes[-1]


def test_several_tests_of_an_iperf_2_server_and_a_cut_client_say_so() -> None:
    server = parse_output("iperf3", captured("iperf3/iperf-2.1.8/server").stdout)
    assert (server.complete, server.figures, len(server.notes)) == (False, (), 2)
    whole = captured("iperf3/iperf-2.1.8/tcp").stdout
    cut = parse_output("iperf3", whole[: whole.rindex(b"[  1] 0.0000")])
    assert not cut.complete
    assert cut.figures[0].value == pytest.approx(2.97e9, rel=0.01)


@pytest.mark.slow
def test_an_iperf_2_client_cut_anywhere_gives_no_rate_of_one_stream() -> None:
    whole = captured("iperf3/iperf-2.1.8/tcp_P2_f_M").stdout
    sums = [377 * 8 * MIB, 423 * 8 * MIB, 470 * 8 * MIB]
    for at in range(len(whole)):
        for figure in parse_output("iperf3", whole[:at]).figures:
            assert figure.value >= 0.99 * sums[0], whole[:at].splitlines()[-1]
    assert not parse_output("iperf3", whole[: whole.rindex(b"[SUM]")]).complete
    without_intervals = b"".join(line for line in whole.splitlines(True) if b"-1.0" not in line and b" 1.0" not in line)
    assert parse_output("iperf3", without_intervals).complete
    for cut in (b"[SUM]", b"[  2] 0.0"):
        found = parse_output("iperf3", without_intervals[: without_intervals.rindex(cut)])
        assert (found.complete, found.figures) == (False, ())


@pytest.mark.slow
def test_an_endless_iperf_2_report_is_bounded() -> None:
    reader = Iperf2Reader()
    reader.read("Client connecting to 127.0.0.1, TCP port 5001")
    for second in range(MAXIMUM_ROWS + 5):
        reader.read(f"[  1] {second}.0-{second + 1}.0 sec  1.00 MBytes  8.39 Mbits/sec")
    assert len(reader._rows) == MAXIMUM_ROWS + 1
    assert reader._rows[-1].start == MAXIMUM_ROWS + 4


PUBLISHED = """2911+1 records in
2911+1 records out
3053371392 bytes transferred in 2151.132182 secs (1419425 bytes/sec)
"""
"""dd of macOS, as published in the notes of a Raspberry Pi image."""

FREEBSD = """  3219128320 bytes (3219 MB, 3070 MiB) transferred 1.000s, 3219 MB/s
10+0 records in
10+0 records out
10485760 bytes transferred in 0.028418 secs (368981986 bytes/sec)
"""
"""The form of FreeBSD's with status=progress, as in its source."""


def test_dd_of_bsd_and_macos_is_read() -> None:
    found = parse_output("dd", PUBLISHED.encode())
    assert found.complete
    assert figures(found)["bandwidth"] == pytest.approx(1.419425, rel=1e-6)
    human = PUBLISHED.replace("bytes transferred", "bytes (2.8 GB) transferred").replace("1419425 bytes", "1.35 MB")
    assert figures(parse_output("dd", human.encode()))["bandwidth"] == pytest.approx(1.419425, rel=1e-6)
    progress = parse_output("dd", FREEBSD.encode())
    assert (progress.complete, figures(progress)["copied"]) == (True, 10485760.0)


def test_busybox_says_that_it_prints_no_time() -> None:
    found = parse_output("dd", (DATA / "dd/busybox-1.35/zero_fsync.stderr").read_bytes())
    assert (found.complete, "busybox" in found.notes[0]) == (False, True)


def test_fio_in_bits_gives_bytes() -> None:
    found = figures(parse_output("fio", captured("fio/3.33/text_unit_base_bits").stdout))
    assert found["bandwidth read"] == pytest.approx(115 * MIB / 8)
    assert found["bandwidth read"] == pytest.approx(found["iops read"] * 4096, rel=0.01)


def test_pgbench_in_a_german_locale_is_read() -> None:
    german = captured("pgbench/15.18-de_DE/select").stdout
    found = figures(parse_output("pgbench", german))
    assert found["transactions_per_second"] == 5052.143476
    for language in (
        {b"latency average": b"Latenz-Durchschnitt", b"without initial connection time": b"ohne Verbindungszeit"},
        {b"transaction type:": b"Transaktionstyp:", b"number of transactions actually processed": b"Anzahl"},
        {b"number of": b"nombre de", b"latency average": b"latence moyenne", b"tps =": b"tps ="},
        {b"transaction type:": b"\xe3\x83\x88:", b"(without initial connection time)": b"(\xe5\x88\x9d)"},
    ):
        translated = german
        for english, word in language.items():
            translated = translated.replace(english, word)
        refused = parse_output("pgbench", translated)
        assert (refused.complete, refused.figures) == (False, ())
        assert "LC_ALL=C" in refused.notes[0]
    comma = german.replace(b"5052.143476", b"5052,143476").replace(b"0.395", b"0,395")
    assert figures(parse_output("pgbench", comma)) == found
