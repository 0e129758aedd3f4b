"""Any words reach the command as they are, through whatever login shell the account has."""

import shutil
import subprocess
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.command_line import Gate, command_line, gates
from remote.errors import RemoteError

MARKER = "0123456789abcdef"
WORDS = st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=8), max_size=4)
AWKWARD = ["", " ", "a b", "it's", '"', "$HOME", "`id`", "$(id)", "a\\b", "\\\\", "a\\", "x!y", "!!", "a\nb\n"]
AWKWARD += ["#c", "~", "*", "-n", "é", "%s", "a;b", "a&b", "a|b", "<a>", "{a,b}", "[a]", "\t", "\r", "\x7f"]
SHELLS = {name: [name] for name in ("sh", "bash", "zsh", "fish", "tcsh")} | {"busybox": ["busybox", "sh"]}


def run(shell: list[str], argv: list[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*shell, "-c", command_line(argv, MARKER)], check=False, capture_output=True)


def printed(done: subprocess.CompletedProcess[bytes]) -> bytes:
    """Return what the command printed on stdout, past the marker."""
    return gates(MARKER)["stdout"].feed(done.stdout)


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_special_characters_arrive_unchanged_through_every_shell(shell: list[str]) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    done = run(shell, ["printf", "%s\\0", *AWKWARD])
    assert done.stderr == MARKER.encode()
    assert printed(done) == b"".join(word.encode() + b"\0" for word in AWKWARD)


@given(WORDS)
def test_all_arguments_arrive_unchanged(words: list[str]) -> None:
    done = run(["sh"], ["printf", "%s\\0", *words])
    assert printed(done) == b"".join(word.encode() + b"\0" for word in words or [""])


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 7", 7), ("exit 255", 255)])
def test_the_exit_status_is_the_command_s(script: str, status: int) -> None:
    assert run(["sh"], ["sh", "-c", script]).returncode == status


def test_a_missing_command_gives_the_shell_s_status() -> None:
    done = run(["sh"], ["no-such-command"])
    assert done.returncode == 127
    assert b"no-such-command" in done.stderr
    assert run(["sh"], ["/etc/passwd"]).returncode == 126


def test_what_looks_like_an_assignment_is_a_command() -> None:
    assert run(["sh"], ["A=b", "env"]).returncode == 127


def test_the_command_takes_the_shell_s_place() -> None:
    words = ["sh", "-c", command_line(["sleep", "60"], MARKER)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as done:
        assert done.stdout is not None
        found = gates(MARKER)["stdout"]
        while not found.open:
            found.feed(done.stdout.read(1))
        assert int(found.found) == done.pid
        done.terminate()  # would leave the sleep behind, holding the pipe open, if a shell waited for it
        assert done.stdout.read() == b""


def test_nul_cannot_be_carried() -> None:
    with pytest.raises(RemoteError):
        command_line(["a\0b"], MARKER)


def test_the_gate_opens_at_the_marker_only() -> None:
    gate = Gate(b"MARKER")
    assert gate.feed(b"Welcome\nMARK") == b""
    assert not gate.open
    assert gate.feed(b"ERout") == b"out"
    assert gate.open
    assert gate.feed(b"MARKER") == b"MARKER"
    assert gate.noise.startswith(b"Welcome")


@given(st.binary(max_size=40), st.binary(max_size=20), st.lists(st.integers(0, 60), max_size=5))
def test_the_gate_opens_however_the_bytes_arrive(noise: bytes, data: bytes, cuts: list[int]) -> None:
    gate = Gate(b"@@MARKER@@")
    whole = noise.replace(b"@", b"") + b"@@MARKER@@" + data
    edges = [0, *sorted(cuts), len(whole)]
    arrived = b"".join(gate.feed(whole[start:end]) for start, end in pairwise(edges))
    assert arrived == data


def test_endless_noise_is_not_kept() -> None:
    gate = Gate(b"MARKER")
    for _ in range(1000):
        assert gate.feed(b"x" * 1000) == b""
    assert len(gate.noise) == 1024
    assert len(gate._buffer) < 1000
