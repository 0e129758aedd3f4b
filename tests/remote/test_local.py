"""This computer as a host keeps the session's promises: streams, limits, timeouts, and nothing left behind."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remote.errors import ConnectionLostError, OutputLimitError, RemoteTimeoutError
from remote.local import LocalSession
from remote.session import Channel, Chunk
from tests.processes import ends


@pytest.fixture
def session() -> Iterator[LocalSession]:
    session = LocalSession()
    yield session
    session.close()


def read_all(channel: Channel) -> list[Chunk]:
    chunks = []
    while not channel.ended:
        chunks += channel.read(60.0)
    return chunks


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_both_streams_and_the_status_come_back(session: LocalSession) -> None:
    completed = session.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert completed.stdout == b"out\n"
    assert completed.stderr == b"err\n"
    assert completed.exit_status == 3


def test_words_are_not_read_by_a_shell(session: LocalSession) -> None:
    assert session.run(["printf", "%s|", "a b", "$HOME", "`id`", "*"]).stdout == b"a b|$HOME|`id`|*|"


def test_input_is_sent_whole_and_closed(session: LocalSession) -> None:
    data = os.urandom(300_000)
    assert session.run(["cat"], stdin=data).stdout == data
    assert session.run(["cat"]).stdout == b""


def test_input_that_is_kept_open_is_fed_bit_by_bit(session: LocalSession) -> None:
    channel = session.open(["sh", "-c", "read first; echo $first heard; cat"], stdin=b"one\n", keep_input=True)
    assert b"".join(chunk.data for chunk in channel.read(60.0)) == b"one heard\n"
    data = os.urandom(300_000)  # more than a pipe takes at once
    channel.send(data[:1000], last=False)
    channel.send(data[1000:], last=True)
    assert b"".join(chunk.data for chunk in read_all(channel)) == data
    channel.close()


def test_input_that_nobody_takes_is_no_error(session: LocalSession) -> None:
    channel = session.open(["true"], keep_input=True)
    read_all(channel)
    channel.send(b"late", last=True)
    assert channel.exit_status == 0
    channel.close()


def test_both_streams_are_drained_at_once(session: LocalSession) -> None:
    script = "head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero"
    completed = session.run(["sh", "-c", script], timeout=10.0)
    assert (len(completed.stdout), len(completed.stderr)) == (1_000_000, 1_000_000)


def test_a_signal_is_no_exit_status(session: LocalSession) -> None:
    assert session.run(["sh", "-c", "kill -s KILL $$"]).exit_status is None


def test_a_missing_program_ends_as_in_a_shell(session: LocalSession) -> None:
    completed = session.run(["no-such-program"])
    assert completed.exit_status == 127
    assert b"no-such-program" in completed.stderr
    assert session.run(["/etc/passwd"]).exit_status == 126


def test_a_command_that_takes_too_long_is_ended(session: LocalSession) -> None:
    started = time.monotonic()
    with pytest.raises(RemoteTimeoutError, match=r"did not end within 0\.2 s"):
        session.run(["sh", "-c", "trap '' HUP; sleep 60"], timeout=0.2)
    assert time.monotonic() - started < 20.0


def test_endless_output_is_cut_off(session: LocalSession) -> None:
    with pytest.raises(OutputLimitError, match="more than 1000000 bytes"):
        session.run(["yes"], limit=1_000_000)


def test_lines_arrive_while_the_command_runs(session: LocalSession) -> None:
    channel = session.open(["sh", "-c", "echo first; exec sleep 60"])
    assert channel.read(60.0) == [Chunk("stdout", b"first\n")]
    assert not channel.ended
    assert channel.exit_status is None
    assert channel.read(0.0) == []
    channel.close()
    assert channel.ended


def test_closing_ends_the_whole_group(session: LocalSession) -> None:
    channel = session.open(["sh", "-c", "trap '' HUP; sleep 60 & echo $!; wait"])
    (chunk,) = channel.read(60.0)
    channel.close()
    channel.close()
    assert ends(int(chunk.data))


def test_closing_from_another_thread_ends_a_read(session: LocalSession) -> None:
    channel = session.open(["sleep", "60"])
    closer = threading.Timer(0.1, channel.close)
    closer.start()
    started = time.monotonic()
    assert channel.read(50.0) == []
    assert time.monotonic() - started < 40.0
    assert channel.ended
    closer.join()


def test_closing_the_session_closes_what_it_opened() -> None:
    session = LocalSession()
    channel = session.open(["sleep", "60"])
    session.close()
    session.close()
    assert channel.ended
    with pytest.raises(ConnectionLostError, match="is closed"):
        session.run(["true"])


def test_many_threads_share_one_session(session: LocalSession) -> None:
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(session.run(["printf", "%s", str(n)]).stdout))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [str(n).encode() for n in range(8)]


def test_nothing_is_inherited_or_left_open(session: LocalSession) -> None:
    before = open_files()
    for _ in range(5):
        session.run(["true"], stdin=b"x")
    assert open_files() == before


def test_the_command_has_no_terminal_and_its_own_group(session: LocalSession) -> None:
    completed = session.run(["sh", "-c", "cut -d' ' -f5,7 /proc/self/stat; echo $$"])
    group, terminal, pid = completed.stdout.split()
    assert group == pid
    assert terminal == b"0"
    assert int(group) != os.getpgrp()
