"""No output of any sort raises, and no way of arriving changes what an output means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.iperf3.output import Iperf3Parser
from suites.outputs import ParsedTrial
from tests.suites.captured_outputs import capture

PIECES = [
    b"[  5]   0.00-1.00   sec  1.78 GBytes  15.3 Gbits/sec    0   2.06 MBytes       \n",
    b"[SUM]   1.00-2.00   sec  1.78 GBytes  15.3 Gbits/sec    0             sender\n",
    b"[  7][RX-C]   0.00-1.00   sec  783 MBytes  6565 Mbits/sec\n",
    b"[  5]   0.00-2.00   sec   256 KBytes  1.03 Mbits/sec  0.091 ms  0/0 (-nan%)  receiver\n",
    b"[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n",
    b"Server listening on 5201\n",
    b"iperf Done.\n",
    b"iperf3: error - \x1b[2J\xe2\x80\xae\n",
    b'{"event":"interval","data":{"sum":{"start":0,"end":1,"bits_per_second":5,"sender":[]}}}\n',
    b'{"event":"end","data":{"sum_received":{"start":{},"end":1}}}\n',
    b'{"event":["end"],"data":7}\n',
    b"{\n",
    b'\t"intervals": [1, {"sum": 7}],\n',
    b"}\n",
    b"\xff\xfe\x00",
]


def read(data: bytes) -> ParsedTrial:
    parser = Iperf3Parser()
    parser.feed(data)
    return parser.finish()


@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes_are_accepted(data: bytes) -> None:
    parser = Iperf3Parser()
    live = list(parser.feed(data + b"\n"))
    assert list(parser.finish().samples) == live


@given(data=st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=9), st.lists, max_leaves=9))
def test_any_event_is_accepted(data: object) -> None:
    parser = Iperf3Parser()
    for event in ("start", "interval", "end", "error"):
        parser._json.read_event({"event": event, "data": data})
        parser._json.read_event({"event": event, "data": {"sum": data, "sum_sent": data, "test_start": data}})
    assert not parser.finish().complete


@pytest.mark.parametrize(
    "case", ["3.12/tcp_P4_text", "3.12/udp_reverse_text", "3.12/tcp_reverse_json", "3.21/jsonstream_udp"]
)
def test_an_output_cut_anywhere_is_never_complete_nor_wrong(case: str) -> None:
    data = capture(f"iperf3/{case}").stdout.rstrip()
    truth = read(data)
    assert truth.complete
    for length in range(0, len(data), 1 if len(data) < 5000 else 7):
        found = read(data[:length])
        assert not found.complete
        assert set(found.samples) <= set(truth.samples)
