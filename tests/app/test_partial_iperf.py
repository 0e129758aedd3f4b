"""Rows of iperf and iperf3 as people give them, without their sum or summary: never a wrong figure."""

import re

import pytest

from suites.verdict import Trust
from tests.app.judged_text import ids, only, outputs, value
from tests.suites.captured_outputs import DATA


def _streams(name: str, *, without: str = r"\[SUM\]") -> tuple[str, str]:
    text = (DATA / f"iperf3/{name}.stdout").read_text()
    return text, "".join(line for line in text.splitlines(keepends=True) if not re.match(without, line))


def test_streams_without_their_sum_are_added_up() -> None:
    whole, streams = _streams("3.12/tcp_P4_text")
    expected, one = only(whole), only(streams)
    for end in ("sender", "receiver"):
        assert value(one, "throughput", end=end) == pytest.approx(value(expected, "throughput", end=end), rel=0.001)
    assert value(one, "retransmits") == value(expected, "retransmits")
    assert any("sum of 4 streams" in note for note in one.found.output.parsed.notes)
    times = {
        (each.time, each.metric.name) for each in one.found.output.parsed.samples if each.metric.name == "throughput"
    }
    assert times == {
        (each.time, each.metric.name)
        for each in expected.found.output.parsed.samples
        if each.metric.name == "throughput"
    }


def test_the_summary_rows_of_the_streams_alone_are_added_up() -> None:
    whole, streams = _streams("3.12/tcp_P4_text")
    rows = "".join(line for line in streams.splitlines(keepends=True) if "receiver" in line)
    assert value(only(rows), "throughput") == pytest.approx(value(only(whole), "throughput", end="receiver"), rel=0.001)


def test_the_rows_of_some_streams_are_not_the_total() -> None:
    _whole, streams = _streams("3.12/tcp_P4_text")
    assert (
        value(only("".join(line for line in streams.splitlines(keepends=True) if "[ 11]   " not in line)), "throughput")
        is None
    )


def test_a_sum_that_is_not_that_of_its_streams_contradicts_them() -> None:
    whole, _streams_alone = _streams("3.12/tcp_P4_text")
    doubled = re.sub(r"(?m)^(\[SUM\]   0\.00-2\.00 .*?)7\.03 GBytes  30168", r"\g<1>14.06 GBytes  60336", whole)
    assert doubled != whole
    assert "figures-contradict" in ids(only(doubled))
    assert "figures-contradict" not in ids(only(whole))


IPERF2 = """\
------------------------------------------------------------
Client connecting to 192.168.1.1, UDP port 5001
Sending 1470 byte datagrams
------------------------------------------------------------
[  3] local 192.168.1.2 port 40000 connected with 192.168.1.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-10.0 sec   125 MBytes   105 Mbits/sec
[  3] Sent 89285 datagrams
"""
ANSWER = """\
[  3] Server Report:
[  3]  0.0-10.0 sec  62.5 MBytes  52.4 Mbits/sec   0.050 ms 44642/89285 (50%)
"""
NO_ANSWER = "[  3] WARNING: did not receive ack of last datagram after 10 tries.\n"


def test_udp_without_an_answer_of_the_server_is_a_sent_rate() -> None:
    one = only(IPERF2 + NO_ANSWER)
    assert one.verdict.trust is Trust.DOUBTFUL
    assert "sent-rate-only" in ids(one)
    answered = only(IPERF2 + ANSWER)
    assert "sent-rate-only" not in ids(answered)
    assert value(answered, "throughput", end="receiver") == 52.4e6


def test_a_test_of_no_duration_has_no_rate() -> None:
    one = only(IPERF2.replace("0.0-10.0", "0.0- 0.0"))
    assert one.verdict.trust is Trust.INVALID
    assert value(one, "throughput") is None
    iperf3 = (DATA / "iperf3/3.12/tcp_P4_text.stdout").read_text().replace("0.00-2.00", "0.00-0.00")
    assert all("0.00-0.00" not in str(each) for each in only(iperf3).found.output.parsed.figures)
    assert "output-incomplete" in ids(only(iperf3))


@pytest.mark.parametrize("name", ["tcp_omit_json", "tcp_omit_text"])
def test_seconds_that_iperf3_omitted_did_not_end_it_early(name: str) -> None:
    (one,) = outputs((DATA / f"iperf3/3.12/{name}.stdout").read_text())
    assert float(one.record.plan.steps[0].values["omit"]) > 0
    assert "ended-early" not in ids(one)


LONG_BOTH_WAYS = """\
[  6][TX-S] 153320.00-153321.00 sec   312 MBytes  2.62 Gbits/sec            227543
[  5][RX-S] 153321.00-153322.00 sec   509 MBytes  4.27 Gbits/sec  0.001 ms  62207/432494 (14%)
[  6][TX-S] 153321.00-153322.00 sec   321 MBytes  2.69 Gbits/sec            233730
[  5][RX-S] 153322.00-153323.00 sec   511 MBytes  4.29 Gbits/sec  0.001 ms  61612/433844 (14%)
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID][Role] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5][RX-S]   0.00-153323.00 sec  68.3 TBytes  3.92 Gbits/sec  0.001 ms  6568527827/58732443141 (11%)  receiver
"""


def test_a_summary_counts_for_its_direction_whatever_rows_are_shown() -> None:
    one = only(LONG_BOTH_WAYS)
    assert value(one, "throughput", direction="send", end="receiver") == 3.92e9
    assert value(one, "throughput", direction="receive", end="sender") == pytest.approx(2.655e9)
    (incomplete,) = (each for each in one.verdict.findings if each.id == "output-incomplete")
    assert re.search("figure of receive .* mean of the 2 s", incomplete.measured)
    assert one.record.plan.steps[0].values["time"] == 86_400  # the longest that can be set


ROWS = """\
$ iperf3 -c 192.0.2.1 -t 10
Connecting to host 192.0.2.1, port 5291
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  4]   0.00-1.00   sec  84.8 MBytes   711 Mbits/sec    2   1.41 KBytes
[  4]   1.00-2.00   sec  85.0 MBytes   713 Mbits/sec    1   1.41 KBytes
"""
SENT_SUMMARY = "[  4]   0.00-10.00  sec   900 MBytes   755 Mbits/sec   12             sender\n"


def test_rows_without_their_summary_are_not_called_a_test_that_ended_early() -> None:
    one = only(ROWS)
    assert value(one, "throughput", end="sender") == pytest.approx(712e6)
    notes = " ".join(one.found.output.parsed.notes)
    assert re.search("figure is the mean of the 2 s", notes)
    assert "ended early" not in notes
    whole = only(ROWS + SENT_SUMMARY)  # of ten seconds, of which two are shown
    assert value(whole, "throughput", end="sender") == 755e6
    assert "mean" not in " ".join(whole.found.output.parsed.notes)


def test_the_port_that_iperf3_prints_is_read() -> None:
    assert only(ROWS).record.plan.steps[0].values["port"] == 5291
    document = (DATA / "iperf3/3.12/tcp_json.stdout").read_text()
    asked = re.sub(r'("connecting_to":[^}]*"port":\s*)\d+', r"\g<1>5291", document)
    assert asked != document
    assert only(asked).record.plan.steps[0].values["port"] == 5291
    server = only((DATA / "iperf3/3.12/server_tcp_json.stdout").read_text())
    assert server.record.plan.steps[0].values["port"] == 5333


def test_a_received_rate_is_not_the_requested_one() -> None:
    server = (DATA / "iperf3/3.12/udp_text.server.out").read_text()
    assert only(server).record.plan.steps[0].values["bitrate"] == 1.0  # what arrives whole at the default was sent so
    in_seconds = server.replace(" 128 KBytes  1.05 Mbits", "87.3 KBytes   715 Kbits")
    slow = only(in_seconds.replace("256 KBytes  1.05 Mbits", "175 KBytes   715 Kbits"))
    assert value(slow, "throughput", end="receiver") == 715e3
    assert slow.record.plan.steps[0].values["bitrate"] == 0
    assert slow.verdict.limited_by is None


SUMMARY_OF_30 = """\
Connecting to host 10.0.0.2, port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   112 MBytes   941 Mbits/sec    0    400 KBytes
[  5]   1.00-2.00   sec   112 MBytes   940 Mbits/sec    0    400 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-30.00  sec  3.28 GBytes   939 Mbits/sec    0             sender
[  5]   0.00-30.04  sec  3.28 GBytes   937 Mbits/sec                  receiver

iperf Done.
"""


@pytest.mark.parametrize("text", [SUMMARY_OF_30, SUMMARY_OF_30.removesuffix("\niperf Done.\n")])
def test_the_summary_of_iperf3_states_the_time_not_the_rows_that_are_shown(text: str) -> None:
    one = only(text)
    assert one.record.plan.steps[0].values["time"] == 30
    assert not {"took-too-long", "short-runtime"} & ids(one)
    assert not any("2 s" in finding.measured for finding in one.verdict.findings)


def test_a_summary_of_no_bytes_contradicts_the_rows_and_keeps_the_loss() -> None:
    """The report of a server in iperf3's issue 905."""
    row = "[  5]   {0}.00-{1}.00   sec   129 KBytes  1.05 Mbits/sec  0.494 ms  0/91 (0%)\n"
    rows = "".join(row.format(at, at + 1) for at in range(9))
    one = only(
        "Server listening on 5201\n"
        "Accepted connection from 192.168.56.1, port 55011\n"
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
        f"{rows}"
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
        "[  5]   0.00-10.00  sec  0.00 Bytes  0.00 bits/sec  0.203 ms  4/906 (0.44%)\n"
    )
    assert value(one, "throughput", end="receiver") == pytest.approx(1.05e6)
    assert (value(one, "lost"), value(one, "datagrams")) == (0.44, 906)
    assert any("0 bytes of 906" in note for note in one.found.output.parsed.notes)


SENT = "[ 5] 0.00-10.00 sec 1.10 GBytes 943 Mbits/sec 120 sender"
RECEIVED = "[ 5] 0.00-10.04 sec 556 MBytes 466 Mbits/sec receiver"


@pytest.mark.parametrize("between", [" ", ", ", "\n"])
def test_both_rates_of_iperf3_in_one_line_keep_their_ends(between: str) -> None:
    one = only(f"{SENT}{between}{RECEIVED}\n")
    assert value(one, "throughput", end="sender") == 943e6
    assert value(one, "throughput", end="receiver") == 466e6


def test_a_sent_rate_with_words_after_it_is_no_received_one() -> None:
    one = only(f"{SENT} (from my laptop)\n")
    assert value(one, "throughput", end="sender") == 943e6
    assert value(one, "throughput", end="receiver") is None


SERVER = """Accepted connection from 127.0.0.1, port 46766
[  5] local 127.0.0.1 port 5977 connected to 127.0.0.1 port 54920
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec   102 MBytes   857 Mbits/sec  0.007 ms  162/3431 (4.7%)
[  5]   1.00-2.00   sec   105 MBytes   881 Mbits/sec  0.010 ms  73/3434 (2.1%)
[  5]   2.00-3.00   sec   105 MBytes   883 Mbits/sec  0.009 ms  64/3434 (1.9%)
[  5]   2.00-3.00   sec   105 MBytes   883 Mbits/sec  0.009 ms  64/3434 (1.9%)
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-3.00   sec   362 MBytes  1.01 Gbits/sec  0.013 ms  398/11990 (3.3%)  receiver
"""


def test_an_iperf3_server_whose_client_was_stopped_has_the_rate_of_its_rows() -> None:
    one = only(SERVER)  # its summary has the bytes of 3.5 s in 3 s
    assert value(one, "throughput", end="receiver") == pytest.approx(873.7e6, rel=1e-3)
    assert value(one, "lost") == 3.3
    assert {"output-incomplete", "datagrams-lost"} <= ids(one)


def test_ctrl_c_before_a_row_of_iperf3_hides_neither_it_nor_that_it_ended_early() -> None:
    one = only(
        "Connecting to host 10.0.0.2, port 5201\n"
        "[  5] local 10.0.0.1 port 45264 connected to 10.0.0.2 port 5201\n"
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
        "[  5]   0.00-1.00   sec   112 MBytes   940 Mbits/sec    0    400 KBytes       \n"
        "^C[  5]   1.00-2.00   sec   112 MBytes   980 Mbits/sec    0    400 KBytes       \n"
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
        "[ ID] Interval           Transfer     Bitrate         Retr\n"
        "[  5]   0.00-2.00   sec   224 MBytes   960 Mbits/sec    0             sender\n"
        "[  5]   0.00-2.00   sec  0.00 Bytes  0.00 bits/sec                  receiver\n"
        "iperf3: interrupt - the client has terminated\n"
    )
    assert value(one, "throughput") == 960e6
    assert "output-incomplete" in ids(one)
