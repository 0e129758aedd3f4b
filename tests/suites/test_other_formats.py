"""Outputs of other options, versions and systems than those that the suites run themselves."""

from itertools import pairwise

import pytest

from app.parse import parse_output
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
    assert found["throughput receive receiver"] == float(received[received.index("GBytes/sec") - 1]) * 8 * GIB


def test_the_server_end_of_udp_is_the_result_of_iperf_2() -> None:
    found = figures(parse_output("iperf3", captured("iperf3/iperf-2.1.8/udp").stdout))
    assert (found["lost send"], found["datagrams send"], found["jitter send"]) == (0.0, 1787.0, 0.001)


def test_several_tests_of_an_iperf_2_server_and_a_cut_client_say_so() -> None:
    server = parse_output("iperf3", captured("iperf3/iperf-2.1.8/server").stdout)
    assert (server.complete, server.figures, len(server.notes)) == (False, (), 2)
    whole = captured("iperf3/iperf-2.1.8/tcp").stdout
    cut = parse_output("iperf3", whole[: whole.rindex(b"[  1] 0.0000")])
    assert not cut.complete
    assert cut.figures[0].value == pytest.approx(2.97e9, rel=0.01)


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
    comma = german.replace(b"5052.143476", b"5052,143476").replace(b"0.395", b"0,395")
    assert figures(parse_output("pgbench", comma)) == found
