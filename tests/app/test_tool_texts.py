"""Texts of ping, curl, cyclictest, hackbench, 7-Zip, openssl speed and hyperfine: real captures, and what objects."""

import re
from pathlib import Path

import pytest

from suites.verdict import Trust
from tests.app.judged_text import ids, outputs, value

DATA = Path(__file__).parents[1] / "data"


def captured(name: str) -> str:
    """Return a capture below its command line, as people paste it."""
    streams = (DATA / f"{name}{suffix}" for suffix in (".stderr", ".stdout"))
    command = re.search(r"^command: (.*)$", (DATA / f"{name}.txt").read_text(), re.MULTILINE)
    assert command is not None
    return f"$ {command[1]}\n" + "".join(each.read_text() for each in streams if each.exists())


WHOLE: tuple[tuple[str, str, str, float, dict[str, object]], ...] = (
    ("ping/iputils-20221126/loopback", "ping", "round_trip_mean", 0.019, {"packets": 25, "target": "127.0.0.1"}),
    ("ping/iputils-20221126/quiet", "ping", "round_trip_max", 0.038, {"packets": 50}),
    ("ping/busybox-1.35/loopback", "ping", "round_trip_max", 0.066, {"packets": 3}),
    ("cyclictest/2.40/two_threads", "cyclictest", "wake_up_max", 5847.0, {"priority": 0}),
    ("cyclictest/2.40/live", "cyclictest", "wake_up_max", 5128.0, {"cycles": 300}),
    ("cyclictest/2.40/histogram", "cyclictest", "wake_up_mean", 108.0, {"cycles": 295}),
    ("hackbench/2.40/threads", "hackbench", "time_mean", 0.088, {"tasks": 80, "groups": 2, "runs": 1}),
    ("hackbench/2.40/processes", "hackbench", "time_mean", 0.262, {"tasks": 80}),
    ("7zip/26.02/one_thread", "7-Zip", "rating", 3340e6, {"threads": 1, "usage": 70.0}),
    ("7zip/26.02/two_threads", "7-Zip", "rating", 4724e6, {"threads": 2}),
    ("openssl-speed/3.0.19/sha256", "OpenSSL speed", "throughput_by_block", 2000071.62, {"low_level": False}),
    ("openssl-speed/3.0.19/rsa2048", "OpenSSL speed", "signatures_per_second", 4628.1, {"cpu_share": 64.0}),
    ("openssl-speed/3.0.19/elapsed_evp", "OpenSSL speed", "throughput_by_block", 3673604.1, {}),
    ("curl-text/7.88.1/meter", "curl", "download_rate", 1661 * 2**20, {}),
    ("curl-text/7.88.1/times", "curl", "phase_p50", 0.02, {"requests": 1}),
    ("hyperfine/1.15.0/sleep", "hyperfine text", "time_mean", 0.0515, {"runs": 6}),
    ("hyperfine/1.15.0/once", "hyperfine text", "time_mean", 0.0507, {"runs": 1}),
)
"""Captures: the format, a metric and its value, and values that the output states."""


@pytest.mark.parametrize(("name", "title", "metric", "expected", "stated"), WHOLE, ids=[each[0] for each in WHOLE])
def test_a_capture_is_read_and_not_in_doubt(
    name: str, title: str, metric: str, expected: float, stated: dict[str, object]
) -> None:
    (one,) = outputs(captured(name))
    assert one.found.format == title
    assert value(one, metric) == pytest.approx(expected)
    values = one.found.output.stated
    assert {key: values.get(key) for key in stated} == pytest.approx(stated)
    assert not ids(one) & {"figures-contradict", "output-incomplete"}


CHANGED = (
    ("ping/iputils-20221126/loopback", r"= 0\.009/0\.019", "= 0.029/0.019"),
    ("ping/busybox-1.35/loopback", r"3 packets received", "4 packets received"),
    ("cyclictest/2.40/two_threads", r"Avg:  142", "Avg: 9142"),
    ("7zip/26.02/one_thread", r"3340", "5340"),
    ("openssl-speed/3.0.19/sha256", r"2000071\.62k", "9000071.62k"),
    ("curl-text/7.88.1/times", r"time_total:  0\.016168", "time_total:  0.000168"),
    ("hyperfine/1.15.0/sleep", r"51\.5 ms", "91.5 ms"),
)


@pytest.mark.parametrize(("name", "pattern", "to"), CHANGED, ids=[each[0] for each in CHANGED])
def test_a_changed_figure_contradicts_the_others(name: str, pattern: str, to: str) -> None:
    text = captured(name)
    changed = re.sub(pattern, to, text)
    assert changed != text
    assert not any("figures-contradict" in ids(one) for one in outputs(text))
    assert any("figures-contradict" in ids(one) for one in outputs(changed))


MAC = """\
PING example.com (93.184.216.34): 56 data bytes
64 bytes from 93.184.216.34: icmp_seq=0 ttl=56 time=11.632 ms

--- example.com ping statistics ---
40 packets transmitted, 38 packets received, 5.0% packet loss
round-trip min/avg/max/stddev = 11.632/11.902/12.107/0.301 ms
"""
LOST = """\
PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.

--- 192.0.2.1 ping statistics ---
3 packets transmitted, 0 received, 100% packet loss, time 2031ms

"""


def test_ping_of_macos_is_read_and_its_loss_is_a_finding() -> None:
    (one,) = outputs(MAC)
    assert value(one, "round_trip_deviation") == 0.301
    assert value(one, "lost") == 5.0
    assert "datagrams-lost" in ids(one)


def test_several_pings_are_several_results() -> None:
    found = outputs(f"{MAC}\n{LOST}\n{captured('ping/busybox-1.35/loopback')}")
    assert [one.found.output.stated["target"] for one in found] == ["example.com", "192.0.2.1", "127.0.0.1"]
    assert found[1].verdict.trust is Trust.INVALID
    assert found[1].found.output.parsed.figures == ()


def test_what_objects_to_each_tool() -> None:
    assert "ping-own-host" in ids(outputs(captured("ping/iputils-20221126/quiet"))[0])
    assert "ping-few-packets" in ids(outputs(captured("ping/iputils-20221126/remote"))[0])
    assert "cyclictest-not-real-time" in ids(outputs(captured("cyclictest/2.40/two_threads"))[0])
    real_time = re.sub(r"P: ?0", "P:80", captured("cyclictest/2.40/two_threads"))
    assert "cyclictest-not-real-time" not in ids(outputs(real_time)[0])
    assert "few-runs" in ids(outputs(captured("hackbench/2.40/threads"))[0])
    assert "7zip-cpu-shared" in ids(outputs(captured("7zip/26.02/one_thread"))[0])
    quiet = re.sub(r"Tot: +70", "Tot:              99", captured("7zip/26.02/one_thread"))
    assert "7zip-cpu-shared" not in ids(outputs(quiet)[0])
    assert "openssl-cpu-time" in ids(outputs(captured("openssl-speed/3.0.19/rsa2048"))[0])
    assert "openssl-cpu-time" not in ids(outputs(captured("openssl-speed/3.0.19/elapsed_evp"))[0])


def test_openssl_before_3_without_evp_is_named() -> None:
    table = (
        "OpenSSL 1.1.1k  25 Mar 2021\n"
        "The 'numbers' are in 1000s of bytes per second processed.\n"
        "type             16 bytes     64 bytes    256 bytes   1024 bytes   8192 bytes  16384 bytes\n"
        "aes-256 cbc     128166.35k   132043.47k   133201.32k   133585.92k   133693.44k   133698.90k\n"
        "aes-256-cbc     558166.35k   732043.47k   833201.32k   853585.92k   853693.44k   853698.90k\n"
    )
    plain, evp = outputs(table)
    assert "openssl-without-evp" in ids(plain)
    assert "openssl-without-evp" not in ids(evp)
    assert value(evp, "throughput_by_block", block="16 B") == 558166.35


def test_a_failed_request_of_curl_has_no_figure() -> None:
    (one,) = outputs(captured("curl-text/7.88.1/refused"))
    assert one.verdict.trust is Trust.INVALID
    assert one.found.output.parsed.figures == ()


def test_repeated_hackbenches_are_runs_of_one_result() -> None:
    one_run = captured("hackbench/2.40/threads").partition("\n")[2]
    (one,) = outputs(one_run * 3 + one_run.replace("0.088", "0.188") * 3)
    assert one.found.output.stated["runs"] == 6
    assert "runs-vary" in ids(one)
