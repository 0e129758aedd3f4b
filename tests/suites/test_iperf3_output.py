"""iperf3's output, in each of its forms and versions, whole and broken."""

import json

import pytest

from suites.iperf3.output import MAXIMUM_DOCUMENT, Iperf3Parser
from suites.outputs import ParsedTrial
from tests.messages import messages
from tests.suites.captured_outputs import DATA, capture, figures, series

MESSAGES = messages("suites", "test_iperf3_output")

RECEIVED, SENT = {"direction": "send", "end": "receiver"}, {"direction": "send", "end": "sender"}


def parsed(name: str) -> ParsedTrial:
    return capture(f"iperf3/{name}").parse(Iperf3Parser())


def read(data: bytes, exit_status: int | None = None) -> ParsedTrial:
    parser = Iperf3Parser()
    parser.feed(data)
    return parser.finish(exit_status)


def test_text_gives_the_received_rate_first() -> None:
    found = parsed("3.12/tcp_text")
    assert found.complete
    assert found.notes == ()
    assert list(figures(found).items()) == [
        ("throughput send receiver", 31573e6),
        ("throughput send sender", 31596e6),
        ("retransmits send", 77),
    ]
    assert series(found.samples, "throughput", **SENT) == [(1, 32054e6), (2, 33133e6), (3, 29600e6)]
    assert series(found.samples, "retransmits", direction="send") == [(1, 19), (2, 46), (3, 12)]


@pytest.mark.parametrize("rate", ["0.01 Tbits", "0.00 TBytes", "1.30 GBytes", "11.2 Gbits"])
def test_a_rate_with_few_digits_is_read_by_the_size(rate: str) -> None:
    rows = [
        "[  5] local 127.0.0.1 port 37412 connected to 127.0.0.1 port 5998",
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
        f"[  5]   0.00-1.00   sec  1.30 GBytes  {rate}/sec    1   5.32 MBytes",
        "[ ID] Interval           Transfer     Bitrate         Retr",
        *(f"[  5]   0.00-1.00   sec  1.30 GBytes  {rate}/sec    1             {end}" for end in ("sender", "receiver")),
        "", "iperf Done.", "",
    ]  # fmt: skip
    found = read("\n".join(rows).encode(), 0)
    assert found.complete
    assert figures(found)["throughput send receiver"] == pytest.approx(1.3 * 2**30 * 8, rel=0.005)
    assert next(sample.value for sample in found.samples) == pytest.approx(1.3 * 2**30 * 8, rel=0.005)


@pytest.mark.parametrize(
    ("case", "received"),
    [
        ("3.9/tcp_text", 14.9e9),
        ("3.9/udp_text", 1.03e6),
        ("3.21/tcp_text", 5.68e9),
        ("3.21/udp_text", 1.04e6),
        ("3.21/jsonstream_tcp", 5858791362.0132627),
        ("3.21/jsonstream_udp", 161185880.33536583),
        ("3.21/jsonstream_full", 6270163830.43952),
        ("3.12/tcp_json", 23965638255.256775),
        ("3.12/tcp_P4_text", 30085e6),
        ("3.12/tcp_omit_text", 33398e6),
        ("3.12/udp_text", 1.05e6),
    ],
)
def test_every_version_and_form_gives_the_received_rate(case: str, received: float) -> None:
    found = parsed(case)
    assert found.complete
    assert figures(found)["throughput send receiver"] == received
    assert found.figures[0].value == received
    assert [time for time, _rate in series(found.samples, "throughput", **SENT)] != []


@pytest.mark.parametrize("case", ["3.12/tcp_reverse_text", "3.12/tcp_reverse_json", "3.12/udp_reverse_text"])
def test_reverse_is_what_the_client_receives(case: str) -> None:
    found = parsed(case)
    assert found.complete
    assert {name.split()[1] for name in figures(found) if name.startswith("throughput")} == {"receive"}
    assert len(series(found.samples, "throughput", direction="receive", end="receiver")) == 2


@pytest.mark.parametrize(
    "case",
    ["3.12/tcp_bidir_text", "3.12/tcp_bidir_P2_text", "3.12/tcp_bidir_json", "3.12/udp_bidir_text",
     "3.21/jsonstream_P2_bidir"],
)  # fmt: skip
def test_both_directions_stay_apart(case: str) -> None:
    found = parsed(case)
    assert found.complete
    assert list(figures(found))[:4] == [
        "throughput send receiver",
        "throughput receive receiver",
        "throughput send sender",
        "throughput receive sender",
    ]
    for direction, end in (("send", "sender"), ("receive", "receiver")):
        assert len(series(found.samples, "throughput", direction=direction, end=end)) == 2


def test_streams_are_summed_once() -> None:
    assert series(parsed("3.12/tcp_P4_text").samples, "throughput") == [(1, 32746e6), (2, 27590e6)]
    assert figures(parsed("3.12/tcp_bidir_P2_text"))["throughput receive receiver"] == 11904e6
    assert figures(parsed("3.12/udp_P2_text"))["datagrams send"] == 154


@pytest.mark.parametrize("case", ["3.12/tcp_omit_text", "3.12/tcp_omit_json"])
def test_omitted_intervals_are_warm_up_on_one_time_axis(case: str) -> None:
    rates = [sample for sample in parsed(case).samples if sample.metric.name == "throughput"]
    assert [(round(sample.time), sample.warm_up) for sample in rates] == [(1, True), (2, True), (3, False), (4, False)]


def test_udp_counts_what_the_receiver_lost_and_says_what_it_means() -> None:
    found = parsed("3.12/udp_unlimited_text")
    assert figures(found) == {
        "throughput send receiver": 65738e6,
        "throughput send sender": 68266e6,
        "lost send": 3.7,
        "jitter send": 0.003,
        "datagrams send": 520823,
    }
    assert found.notes == (MESSAGES["3_7_of_the_datagrams_were"],)


def test_a_slow_rate_has_all_its_digits_in_kbits() -> None:
    found = parsed("3.12/udp_kbits")
    assert found.complete
    assert figures(found)["throughput send receiver"] == 1_029_000  # with -f m it is 1.03 Mbits/sec
    assert series(found.samples, "throughput", **SENT)[0] == (1, 1_047_000)


def test_live_loss_and_jitter_come_where_the_client_receives() -> None:
    samples = parsed("3.12/udp_reverse_text").samples
    assert series(samples, "jitter", direction="receive") == [(1, 0.005), (2, 0.007)]
    assert series(samples, "lost", direction="receive") == [(1, 0), (2, 0)]


def test_a_server_draws_no_remainder_of_an_interval() -> None:
    found = read((DATA / "iperf3/3.9/tcp_text.server.out").read_bytes())
    assert series(found.samples, "throughput", **RECEIVED) == [(1, 14.6e9), (2, 15.3e9), (3, 14.9e9)]


def test_a_server_whose_client_was_stopped_knows_no_result() -> None:
    found = read((DATA / "iperf3/3.12/client_sigterm_text.server.out").read_bytes())
    assert not found.complete
    assert figures(found) == {"throughput send receiver": pytest.approx(32.65e9)}  # its own summary says 43.3


def test_a_servers_summary_that_lacks_a_direction_was_cut_off() -> None:
    lines = (DATA / "iperf3/3.12/tcp_bidir_text.server.out").read_bytes().splitlines(keepends=True)
    assert read(b"".join(lines)).complete
    found = read(b"".join(lines[:-1]))
    assert not found.complete
    assert found.notes[-1].startswith(MESSAGES["the_output_lacks_iperf3_s"])


def test_reverse_is_told_even_without_intervals() -> None:
    lines = capture("iperf3/3.12/tcp_reverse_text").stdout.decode().splitlines(keepends=True)
    found = read("".join([*lines[:3], *lines[7:]]).encode())
    assert list(figures(found)) == ["throughput receive receiver", "throughput receive sender", "retransmits receive"]


def test_the_full_document_after_the_events_adds_nothing() -> None:
    data = capture("iperf3/3.21/jsonstream_full").stdout
    events = b"".join(line for line in data.splitlines(keepends=True) if line.startswith(b'{"event"'))
    assert len(events) < len(data)
    assert read(events) == read(data)


def test_a_server_tells_its_own_end_only() -> None:
    data = (DATA / "iperf3/3.21/jsonstream_udp.server.out").read_bytes()
    found = read(data)
    assert found.complete
    assert figures(found)["throughput send receiver"] == 161e6
    assert "throughput send sender" not in figures(found)
    assert series(found.samples, "lost", direction="send") == [(1, 25), (2.01, 12)]
    assert figures(parsed("3.12/server_bidir_json")).keys() == {
        "throughput send receiver",
        "throughput receive sender",
        "retransmits receive",
    }


def test_the_client_knows_the_cpu_use_of_both_ends_from_json() -> None:
    found = figures(parsed("3.12/tcp_json"))
    assert (found["cpu_utilization client"], found["cpu_utilization server"]) == (52.490907200803925, 60.60313796508506)


@pytest.mark.parametrize(
    ("case", "mean"),
    [
        ("3.12/client_sigterm_text", (32492 + 32767 + 0.6 * 35863) / 2.6 * 1e6),
        ("3.12/client_sigterm_json", 32208275048.4),
        ("3.12/server_killed_text", (33617 + 34478) / 2 * 1e6),
        ("3.12/server_killed_json", 31546361012.6),
        ("3.21/client_sigterm_jsonstream", 5291422396.35),
    ],
)
def test_a_test_that_was_broken_off_gives_the_mean_of_its_intervals(case: str, mean: float) -> None:
    found = parsed(case)
    assert not found.complete
    assert figures(found) == {"throughput send sender": pytest.approx(mean)}
    assert any("mean of the intervals" in note for note in found.notes)
    assert len(series(found.samples, "throughput")) == len({time for time, _ in series(found.samples, "throughput")})


def test_what_was_omitted_has_no_part_in_the_mean() -> None:
    lines = capture("iperf3/3.12/tcp_omit_text").stdout.splitlines(keepends=True)
    assert figures(read(b"".join(lines[:6]))) == {"throughput send sender": 34341e6}


def test_an_exit_status_that_is_not_0_is_a_failure_whatever_was_printed() -> None:
    found = read(capture("iperf3/3.12/tcp_text").stdout, 137)
    assert not found.complete
    assert found.notes[-1] == MESSAGES["iperf3_was_ended_by_sigkill"]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("3.12/fail_refused", "Nothing listens on that port"),
        ("3.12/fail_refused_json", "Nothing listens on that port"),
        ("3.21/fail_refused_jsonstream", "Nothing listens on that port"),
        ("3.9/fail_refused_text", "nothing listens on that port"),
        ("3.12/fail_busy", "serving another client"),
        ("3.12/fail_busy_json", "serving another client"),
        ("3.12/fail_block_size", "16 to 65507 bytes for UDP"),
        ("3.12/fail_bad_option", "does not know the option"),
        ("3.12/fail_json_stream", "does not know the option"),
        ("3.12/fail_unknown_host", "does not resolve"),
        ("3.12/server_address_in_use", "Another program listens on that port"),
    ],
)
def test_a_failure_is_named_whatever_the_exit_status(case: str, words: str) -> None:
    found = parsed(case)
    assert not found.complete
    assert found.figures == ()
    assert words in found.notes[0]


@pytest.mark.parametrize(
    "words", ["unable to write to stream socket: Broken pipe", "control socket has closed unexpectedly"]
)
def test_a_server_that_died_is_named_whichever_socket_noticed_first(words: str) -> None:
    found = read(f"iperf3: error - {words}\n".encode(), 1)
    assert found.notes[0] == f"iperf3: {words}. The server end exited before the test ended."


def test_a_missing_tool_is_named() -> None:
    found = read(b"bash: line 1: iperf3: command not found\n", 127)
    assert not found.complete
    assert "not installed" in found.notes[0]


def test_a_warning_is_a_note_and_no_failure() -> None:
    parser = Iperf3Parser()
    parser.feed(b"warning: UDP block size 9000 exceeds TCP MSS 1448, may result in fragmentation / drops\n", "stderr")
    parser.feed(capture("iperf3/3.12/udp_fragments").stdout)
    found = parser.finish(0)
    assert found.complete
    assert found.notes[0].startswith(MESSAGES["iperf3_warns_udp_block_size"])


def test_all_datagrams_lost_is_a_rate_of_zero_that_was_measured() -> None:
    text = capture("iperf3/3.12/udp_text").stdout.decode()
    row = "[  5]   0.00-2.00   sec   256 KBytes  1.05 Mbits/sec  0.007 ms  0/8 (0%)  receiver"
    assert row in text
    found = read(
        text.replace(
            row, row.replace("256 KBytes  1.05", "0.00 Bytes  0.00").replace("0/8 (0%)", "8/8 (100%)")
        ).encode()
    )
    assert found.complete
    assert figures(found)["throughput send receiver"] == 0
    assert figures(found)["lost send"] == 100


def test_text_whose_receiver_never_answered_is_not_complete() -> None:
    text = capture("iperf3/3.12/client_sigterm_text").stdout + b"\niperf Done.\n"
    found = read(text, 0)
    assert not found.complete
    assert set(figures(found)) == {"throughput send sender"}


def test_text_without_a_row_has_no_result() -> None:
    found = read(b"Connecting to host 127.0.0.1, port 5201\n\niperf Done.\n", 0)
    assert (found.complete, found.figures, found.notes) == (False, (), ("The test gave no result.",))


def test_events_arrive_one_by_one() -> None:
    parser = Iperf3Parser()
    lines = capture("iperf3/3.21/jsonstream_tcp").stdout.splitlines(keepends=True)
    assert [len(series(parser.feed(line), "throughput")) for line in lines] == [0, 1, 1, 1, 0]


def test_a_message_amid_a_document_does_not_spoil_it() -> None:
    document = capture("iperf3/3.12/tcp_json").stdout
    head, tail = document.split(b'\t"intervals":', 1)
    found = read(head + b"warning: something on stderr\n" + b'\t"intervals":' + tail)
    assert found.complete
    assert figures(found) == figures(parsed("3.12/tcp_json"))
    assert found.notes[0] == MESSAGES["iperf3_warns_something_on"]


def test_a_document_on_one_line_is_read_too() -> None:
    compact = json.dumps(json.loads(capture("iperf3/3.12/tcp_json").stdout)).encode()
    assert figures(read(compact)) == figures(parsed("3.12/tcp_json"))


def test_a_document_that_is_cut_off_says_so() -> None:
    document = capture("iperf3/3.12/tcp_json").stdout
    found = read(document[: len(document) // 2])
    assert not found.complete
    assert "truncated" in found.notes[0]


@pytest.mark.parametrize("value", ["NaN", "-1", "1e999", "9" * 5000, '"much"', "null", "true", "[" * 100_000, "1e30"])
def test_a_rate_that_is_no_figure_is_none(value: str) -> None:
    found = read(
        b'{"event":"end","data":{"sum_received":{"start":0,"end":1,"bits_per_second":' + value.encode() + b"}}}\n"
    )
    assert not found.complete
    assert found.figures == ()


def test_an_endless_document_is_not_kept() -> None:
    parser = Iperf3Parser()
    parser.feed(b"{\n")
    for _ in range(MAXIMUM_DOCUMENT // 2**20 + 2):
        parser.feed(b"\t" + b"x" * (2**20 - 2) + b"\n")
    assert sum(map(len, parser._document)) <= MAXIMUM_DOCUMENT
    parser.feed(b"}\n")
    found = parser.finish()
    assert not found.complete
    assert "longer than 32 MB" in found.notes[0]


def test_a_verbose_report_tells_the_processors_and_the_window() -> None:
    found = parsed("3.12/tcp_verbose_text")
    assert figures(found)["cpu_utilization client"] == 17.6
    assert figures(found)["cpu_utilization server"] == 34.6
    assert series(found.samples, "congestion_window") == [(1.0, 895 * 1024), (2.0, round(2.37 * 2**20))]
    assert found.notes == (MESSAGES["tcp_s_congestion_control_at"],)


def test_json_tells_the_round_trip_that_tcp_sees() -> None:
    found = parsed("3.12/tcp_bidir_json")
    assert figures(found)["tcp_round_trip send"] == 27
    assert figures(found)["tcp_round_trip receive"] == 163
    assert series(found.samples, "congestion_window", direction="send")[0] == (1.00007, 1309660)
    assert series(found.samples, "congestion_window", direction="receive") == []


def test_omitted_seconds_that_are_not_printed_are_on_the_time_axis() -> None:
    found = parsed("3.12/omit_unprinted")
    times = [(sample.time, sample.warm_up) for sample in found.samples if sample.metric.name == "throughput"]
    assert times == [(1.0, True), (4.0, False), (5.01, False)], "the tool's own axis has a gap of two seconds"
