"""Commands over one SSH connection keep the session's promises: streams, limits, many at once, and a clear end."""

import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from remote.errors import ConnectionLostError, OutputLimitError, RemoteError, RemoteTimeoutError
from remote.questions import RefusingAsker
from remote.session import Channel, Chunk, Session
from remote.ssh.connect import connect
from remote.ssh.target import ALIVE, Keepalive
from tests.lab_sshd import LabHost, read_on
from tests.messages import messages

MESSAGES = messages("lab", "test_ssh_session")

Start = Callable[..., LabHost]


@pytest.fixture
def session(lab_host: LabHost) -> Iterator[Session]:
    session = lab_host.connect()
    yield session
    session.close()


def read_all(channel: Channel) -> dict[str, bytes]:
    streams = {"stdout": b"", "stderr": b""}
    while not channel.ended:
        for chunk in channel.read(60.0):
            streams[chunk.stream] += chunk.data
    return streams


def first(channel: Channel) -> Chunk:
    """Return the first chunk that arrives."""
    while not channel.ended:
        chunks = channel.read(60.0)
        if chunks:
            return chunks[0]
    raise AssertionError("ended without a word")


# What a command gives and gets
@pytest.mark.parametrize("status", [0, 1, 127, 255])
def test_exit_status(session: Session, status: int) -> None:
    assert session.run(["sh", "-c", f"exit {status}"]).exit_status == status


def test_a_command_that_a_signal_ended_has_no_exit_status(session: Session) -> None:
    done = session.run(["sh", "-c", "echo before; kill -9 $$"])
    assert (done.stdout, done.exit_status) == (b"before\n", None)


def test_input_that_is_kept_open_is_fed_bit_by_bit(session: Session) -> None:
    channel = session.open(["sh", "-c", "read first; echo $first heard; cat"], stdin=b"one\n", keep_input=True)
    assert first(channel) == Chunk("stdout", b"one heard\n")
    data = bytes(range(256)) * 10_000  # more than the host's window takes at once
    channel.send(data[:1000], last=False)
    channel.send(data[1000:], last=True)
    assert read_all(channel)["stdout"] == data
    channel.close()


def test_a_missing_command(session: Session) -> None:
    done = session.run(["no-such-command"])
    assert done.exit_status == 127
    assert b"no-such-command" in done.stderr


def test_words_arrive_as_they_are(session: Session) -> None:
    words = ["a b", "it's", '"', "$HOME", "`id`", "$(id)", "a\\b", "\\", "x!y", "a\nb\n", "*", "é", "", ";", "-n"]
    done = session.run(["printf", "%s\\0", *words])
    assert done.stdout.decode().split("\0")[:-1] == words


@pytest.mark.parametrize("size", [0, 1, 70_000, 9_000_000])
def test_input_is_sent_and_closed(session: Session, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    done = session.run(["cat"], stdin=data[:size], limit=2 * 10**7)
    assert done.stdout == data[:size]


def test_a_command_that_does_not_read_its_input_does_no_harm(session: Session) -> None:
    assert session.run(["true"], stdin=b"x" * 9_000_000).exit_status == 0


def test_both_streams_are_drained(session: Session) -> None:
    script = "head -c 4000000 /dev/zero >&2; head -c 4000000 /dev/zero; head -c 4000000 /dev/zero >&2"
    done = session.run(["sh", "-c", script], limit=2 * 10**7)
    assert (len(done.stdout), len(done.stderr), done.exit_status) == (4_000_000, 8_000_000, 0)


def test_output_arrives_while_the_command_runs(session: Session) -> None:
    channel = session.open(["sh", "-c", "echo started; exec sleep 600"])
    assert first(channel) == Chunk("stdout", b"started\n")
    assert not channel.ended
    assert channel.read(0.0) == []
    channel.close()
    assert channel.ended
    assert channel.exit_status is None
    assert channel.read(1.0) == []
    channel.close()


def test_closing_wakes_whoever_reads(session: Session) -> None:
    channel = session.open(["sleep", "10"])
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(channel.read, 30.0)
        channel.close()
        assert reading.result(5.0) == []


def test_keys_are_renewed_while_output_arrives(start_lab_host: Start) -> None:
    session = start_lab_host(RekeyLimit="1M").connect()
    with ThreadPoolExecutor(2) as pool:
        sizes = pool.map(lambda _: len(session.run(["head", "-c", "6000000", "/dev/zero"]).stdout), range(4))
        assert list(sizes) == [6_000_000] * 4
    session.close()


# Bounds
def test_too_much_output_is_stopped(session: Session) -> None:
    with pytest.raises(OutputLimitError):
        session.run(["cat", "/dev/zero"], limit=100_000)
    assert session.run(["true"]).exit_status == 0


def test_a_command_that_takes_too_long_is_ended(session: Session, lab_host: LabHost) -> None:
    note = lab_host.directory / "pid"
    began = time.monotonic()
    with pytest.raises(RemoteTimeoutError):
        session.run(["sh", "-c", f"echo $$ > {note}; sleep 600; true"], timeout=0.3)
    assert time.monotonic() - began < 60.0  # the command takes 600
    assert session.run(["kill", "-0", note.read_text().strip()]).exit_status == 1


def test_what_nobody_reads_is_held_back_on_the_host(session: Session) -> None:
    channel = session.open(["cat", "/dev/zero"])
    first(channel)
    assert session.run(["true"]).exit_status == 0  # others are not held back
    held = channel._channel.in_buffer  # type: ignore[attr-defined]
    assert len(held) <= 2**21 + 2**16
    channel.close()


# The login shell
def test_what_the_login_shell_prints_is_not_the_command_s(lab_host: LabHost) -> None:
    (lab_host.home / ".bashrc").write_text("echo noise; echo noise >&2; printf 'no end'\n")
    session = lab_host.connect()
    done = session.run(["sh", "-c", "echo out; echo err >&2"])
    channel = session.open(["echo", "out"])
    streams = read_all(channel)
    session.close()
    assert (done.stdout, done.stderr, done.exit_status) == (b"out\n", b"err\n", 0)
    assert streams == {"stdout": b"out\n", "stderr": b""}


def test_an_account_that_runs_no_commands(start_lab_host: Start) -> None:
    session = start_lab_host(ForceCommand="echo 'This account is \x1b[1mnot available.'; exit 1").connect()
    with pytest.raises(RemoteError) as caught:
        session.run(["true"])
    session.close()
    assert MESSAGES["this_account_is_1mnot"] in caught.value.message
    assert caught.value.host == "lab"


@pytest.mark.parametrize("shell", ["dash", "busybox sh"])
def test_other_login_shells(start_lab_host: Start, shell: str) -> None:
    session = start_lab_host(ForceCommand=f'exec {shell} -c "$SSH_ORIGINAL_COMMAND"').connect()
    done = session.run(["sh", "-c", "printf '%s' \"$1\"; exit 3", "sh", "a'b\\c"])
    session.close()
    assert (done.stdout, done.exit_status) == (b"a'b\\c", 3)


# Many at once
def test_a_session_serves_many_threads(session: Session) -> None:
    def work(number: int) -> bytes:
        return session.run(["sh", "-c", f"head -c 100000 /dev/zero >&2; echo {number}"]).stdout

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(32))) == [f"{number}\n".encode() for number in range(32)]


def test_more_commands_than_the_host_allows_wait_for_their_turn(start_lab_host: Start) -> None:
    session = start_lab_host(MaxSessions="2").connect()
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda number: session.run(["echo", str(number)]), range(12)))
    session.close()
    assert [result.stdout for result in done] == [f"{number}\n".encode() for number in range(12)]


def test_a_host_that_allows_no_more_sessions_at_all(start_lab_host: Start) -> None:
    session = start_lab_host(MaxSessions="1").connect()
    channel = session.open(["cat", "/dev/zero"])  # ends once nobody reads it
    with pytest.raises(RemoteError, match="MaxSessions"):
        session.run(["true"], timeout=0.3)
    channel.close()
    assert session.run(["true"]).exit_status == 0
    session.close()


# The end
def test_a_closed_session_says_so(lab_host: LabHost) -> None:
    session = lab_host.connect()
    channel = session.open(["sleep", "10"])
    session.close()
    session.close()
    assert channel.ended or channel.read(1.0) == []
    for use in (lambda: session.run(["true"]), lambda: session.open(["true"])):
        with pytest.raises(ConnectionLostError, match="is closed"):
            use()


def test_a_connection_that_is_cut_is_noticed_at_once(lab_host: LabHost) -> None:
    session = lab_host.connect()
    channel = session.open(["sh", "-c", "echo started; exec sleep 600"])
    first(channel)
    began = time.monotonic()
    lab_host.cut()
    with pytest.raises(ConnectionLostError) as caught:
        read_on(channel)
    assert time.monotonic() - began < 60.0
    assert caught.value.host == "lab"
    assert channel.exit_status is None
    with pytest.raises(ConnectionLostError):
        session.run(["true"])
    session.close()


def test_what_arrived_before_the_cut_can_still_be_read(lab_host: LabHost) -> None:
    session = lab_host.connect()
    channel = session.open(["sh", "-c", "printf %01000d 0; exec sleep 10"])
    event, held = channel._data, channel._channel.in_buffer  # type: ignore[attr-defined]
    while len(held) < 1000:  # the marker comes first, or with it
        event.reset()
        event.wait(0.1)
    lab_host.cut()
    session._transport.join(5.0)  # type: ignore[attr-defined]
    assert first(channel) == Chunk("stdout", b"0" * 1000)
    with pytest.raises(ConnectionLostError):
        channel.read(1.0)
    session.close()


def watched(host: LabHost, alive: Keepalive) -> Session:
    return connect(replace(host.target(), alive=alive), RefusingAsker(), known_hosts=host.known_hosts)


def test_a_host_that_falls_silent_is_noticed(lab_host: LabHost) -> None:
    session = watched(lab_host, Keepalive(0.2, 1.0))
    channel = session.open(["sleep", "600"])
    lab_host.cut(signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(ConnectionLostError, match="no data for"):
        read_on(channel)
    assert 0.5 < time.monotonic() - began < 60.0
    session.close()


@pytest.mark.slow
def test_a_quiet_command_is_no_silent_host(lab_host: LabHost) -> None:
    session = watched(lab_host, Keepalive(0.1, 1.5))
    channel = session.open(["sh", "-c", "read line; echo alive"])
    assert channel.read(2.0) == [Chunk("stdout", b"alive\n")] or read_all(channel)["stdout"] == b"alive\n"
    quiet = session.open(["sleep", "10"])
    assert quiet.read(3.0) == []  # twice the limit
    assert not quiet.ended
    session.close()


def test_the_limits_find_a_dead_host_within_half_a_minute() -> None:
    assert ALIVE.interval < ALIVE.limit < 30


def test_nothing_is_left_running(lab_host: LabHost) -> None:
    before = threading.active_count()
    session = lab_host.connect()
    session.open(["sleep", "10"])
    session.close()
    assert threading.active_count() == before


@pytest.mark.alone
def test_a_command_takes_milliseconds(session: Session) -> None:
    def seconds() -> float:
        began = time.perf_counter()
        session.run(["true"])
        return time.perf_counter() - began

    # About 3 ms on a quiet machine; Nagle's algorithm alone would make it 45.
    assert statistics.median(seconds() for _ in range(30)) < 0.03
