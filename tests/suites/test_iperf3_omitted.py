"""The loss of UDP in the measured time, where iperf3 adds that of the omitted seconds."""

import pytest

from suites.iperf3.text import RECEIVER, SEND, SENDER, Row, summary_figures


@pytest.mark.parametrize(
    ("received", "reported", "lost"),
    [
        (19.4e6, 93.78, 80.6),  # 100 Mbit/s into 20, one of seven seconds omitted: its own server counts 80.6 %
        (19.4e6, 80.57, 80.57),
        (99.4e6, 0.7, 0.7),  # within the precision of the rates
        (101e6, 0.1, 0.1),
    ],
)
def test_the_loss_is_that_of_the_measured_time(received: float, reported: float, lost: float) -> None:
    rows = [
        Row(direction=SEND, end=SENDER, start=0.0, stop=6.0, rate=100e6),
        Row(direction=SEND, end=RECEIVER, start=0.0, stop=6.0, rate=received, lost=reported, datagrams=51781.0),
    ]
    found = {figure.metric.name: figure.value for figure in summary_figures(rows)}
    assert found["lost"] == pytest.approx(lost)
