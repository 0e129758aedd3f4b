"""No output of any sort makes a probe's parser raise, and no way of arriving changes what an output means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.base import Suite, complete_values
from suites.compute import Compute
from suites.memory_blocks import MemoryBlocks
from suites.net_blocks.suite import NetBlocks
from suites.stream.suite import Stream
from tests.suites.captured_outputs import capture, captures

SUITES: dict[str, Suite] = {
    "stream": Stream(),
    "compute": Compute(),
    "memory-blocks": MemoryBlocks(),
    "net-blocks": NetBlocks(),
}
CASES = [(tool, case) for tool in SUITES for case in captures(tool)]
PIECES = [
    b"# benchwright-stream 1\n",
    b"# benchwright-compute 1\n",
    b"# benchwright-blocks 1\n",
    b"# benchwright-netblocks 1\n",
    b"# peer 127.0.0.1\n",
    b"live time 1.0 test latency protocol udp block 1 threads 1 trips 0 rate 0.0 lost 0\n",
    b"result test latency protocol udp block 1 threads 1 trips 0 rate 0.0 lost 9 local 1.0 remote 2.0\n",
    b"result test upload protocol udp block 9000 threads 1 rate 0 took 1.0 sent 5 lost 9 local 1.0 remote 2.0\n",
    b"result test download protocol tcp block 9000 threads 1 rate 0 took 1.0 local nan remote 2.0\n",
    b"live time 1.0 threads 1 iteration 1 copy 1.0 scale 2.0 add 3.0 triad 4.0\n",
    b"live time " + b"9" * 5000 + b" threads 1\n",
    b"live time 1.0 threads 999999999999999999999 iteration 1 triad nan\n",
    b"result threads 0 kernel triad best 0.0 mean 0.0 worst 0.0 time 0.0 ticks 0\n",
    b"result threads 2 kernel triad best 5.0 mean 5.0 worst 0.0 time 0.0 ticks 0\n",
    b"valid threads 2 error 0.000e+00\n",
    b"# peak 83.2 GFLOPS a core, 2 cores: 2.6 GHz x 32\n",
    b"# peak 0.0 GFLOPS a core, 0 cores: nothing\n",
    b"live time 2.0 kind float threads 2 rate 99.5\n",
    b"result kind float threads 2 rate 99.5 best 99.5 worst 1.0 variance 2.0 samples 3\n",
    b"result kind integer threads 0 rate 0.0 best 0.0 worst 0.0 variance 0.0 samples 1\n",
    b"result threads 1 operation copy pattern random block 0 rate 1.0 each 1.0\n",
    b"result threads 1 operation copy pattern random block 4096 rate 1.0 each 1.0\n",
    b"live time 3.0 threads 1 operation copy pattern random block 4096 rate 1.0 each 1.0\n",
    b"chase time 4.0 set 0 steps 1 ns 1.0\n",
    b"chase time 4.0 set 4096 steps 1 ns 1.0\n",
    b"STREAM version $Revision: 5.10 $\n",
    b"Triad:  1.0 0.000000 0.000000 0.000000\n",
    b"Solution Validates: \n",
    b"error \x1b[2J\n",
    b"done\n",
    b"\xff\xfe\x00",
]


@pytest.mark.parametrize("tool", SUITES)
@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes_are_accepted(tool: str, data: bytes) -> None:
    parser = SUITES[tool].parser(complete_values(SUITES[tool], {}))
    live = list(parser.feed(data))
    found = parser.finish()
    assert list(found.samples) in ([], live)
    assert all(figure.value >= 0 for figure in found.figures)


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "case"), CASES)
def test_an_output_cut_anywhere_is_never_complete_nor_wrong(tool: str, case: str) -> None:
    suite = SUITES[tool]
    data = capture(case).stdout.rstrip()
    whole = suite.parser(complete_values(suite, {}))
    whole.feed(data + b"\n")
    truth = whole.finish()
    for length in range(0, len(data), 7):
        parser = suite.parser(complete_values(suite, {}))
        parser.feed(data[:length])
        found = parser.finish()
        assert set(found.samples) <= set(truth.samples)
        assert not found.complete or found == truth
