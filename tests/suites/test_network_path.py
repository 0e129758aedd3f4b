"""The path of a network test in words, and where its ends meet."""

import pytest

from suites.network_path import NONCE_BYTES, PORTS, NetworkPath, draw_meeting


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (
            NetworkPath("10.0.0.3", "10.0.0.2", "eth0", on_link=True, mtu=1500, same_host=False),
            "web-1 (10.0.0.2, eth0, MTU 1500 B) to db-1 (10.0.0.3): same subnet, two hosts.",
        ),
        (
            NetworkPath("10.1.0.3", "10.0.0.2", "eth0", "10.0.0.1", on_link=False, mtu=9001, same_host=True),
            "web-1 (10.0.0.2, eth0, MTU 9001 B) to db-1 (10.1.0.3): via router 10.0.0.1, one host.",
        ),
        (
            NetworkPath("127.0.0.1", "127.0.0.1", "lo", on_link=True, mtu=65536, same_host=True),
            "web-1 (127.0.0.1, lo, MTU 65536 B) to db-1 (127.0.0.1): over the loopback, one host.",
        ),
        (NetworkPath(), "web-1 (MTU not known) to db-1: route not known, not known whether two hosts."),
    ],
)
def test_a_path_is_told_with_what_is_known_of_it(path: NetworkPath, words: str) -> None:
    assert path.words("web-1", "db-1") == words


def test_a_meeting_is_at_a_port_that_is_free() -> None:
    meeting = draw_meeting(set(PORTS) - {PORTS[7], PORTS[9]})
    assert meeting is not None
    assert {meeting.port, meeting.second_port} == {PORTS[7], PORTS[9]}
    assert len(meeting.nonce) == 2 * NONCE_BYTES
    assert draw_meeting(PORTS) is None
