"""What a hostile host runs in place of every command: ``hostile_program.py MODE CAPTURE``, as sshd's ForceCommand.

CAPTURE is a sound host's answer to the facts probe; a mode answers with it, bent in some way.
"""

import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

COMMAND = os.environ.get("SSH_ORIGINAL_COMMAND", "")
MARKUP = "<img src=file:///etc/passwd><b>EPYC</b> \u202eexe.txt\u200b \x1b]52;c;aGVsbG8=\x07\x1b[31m =1+1"


def out(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def begin() -> None:
    """Say on both streams what tells a command's output from the login shell's."""
    marker = re.findall(r"printf %s ([0-9a-f]{32})", COMMAND)[0]
    out(f"{marker}{os.getpid()}:".encode())
    sys.stderr.write(marker)
    sys.stderr.flush()


def facts(changes: Mapping[str, str | bytes]) -> None:
    """Answer the facts probe as the captured host did, with some of its items replaced."""
    mark = re.findall(r"sh -s ([0-9a-f]{8,})", COMMAND)
    begin()
    if not mark:
        return
    captured = Path(sys.argv[2]).read_bytes()
    for found in re.finditer(rb"@@[0-9a-f]+ (-?[a-z0-9_.-]+) (\d+)\n", captured):
        name = found[1].decode()
        value = captured[found.end() : found.end() + int(found[2])]
        changed = changes.get(name, value)
        reported = changed.encode() if isinstance(changed, str) else changed
        out(f"@@{mark[0]} {name} {len(reported)}\n".encode() + reported + b"\n")


def flood(stream: int) -> None:
    begin()
    while True:
        os.write(stream, b"x" * 65536)


def really() -> None:
    """Run the command, as a sound host would."""
    os.execvp("sh", ["sh", "-c", COMMAND])  # noqa: S606 (there is a shell: the one the host would have)


def noisy() -> None:
    forged = "f" * 32
    out(f"Welcome\x1b]0;owned\x07\n{forged}1:@@{forged} uname 9\nevil 1 x86\n@@0123456789abcdef end 1\n.\n".encode())
    sys.stderr.write(f"warning: {forged}\n" * 200)
    sys.stderr.flush()
    really()


def die() -> None:
    facts({})
    os.kill(os.getpid(), signal.SIGKILL)


def many_disks() -> None:
    attributes = "".join(f"d{number}/size:1000\nd{number}/dev:8:{number}\n" for number in range(1_000_000))
    facts({"block": attributes[:60_000], "mounts": ("1 1 8:1 / /m rw - ext4 /dev/sda rw\n" * 100_000)[:60_000]})


def more_disks() -> None:
    mark = re.findall(r"sh -s ([0-9a-f]{8,})", COMMAND)
    begin()
    for number in range(1_000_000):
        out(f"@@{mark[0]} directory.{number}.path 1\n/\n".encode())


MODES: Mapping[str, Callable[[], None]] = {
    "endless output": lambda: flood(1),
    "endless errors": lambda: flood(2),
    "noisy login shell": noisy,
    "markup": lambda: facts({"cpuinfo": f"processor\t: 0\nmodel name\t: {MARKUP}\n", "uname": "<b>h</b> 6 x86_64"}),
    "bad UTF-8": lambda: facts({"os_release": b'PRETTY_NAME="Deb\xff\xc3(ian \xed\xa0\x80"\n'}),
    "no exit status": die,
    "a million disks": many_disks,
    "a million disks in one answer": lambda: facts({"block": "sda/size:1\n" * 1_000_000}),
    "a million directories": more_disks,
}

if __name__ == "__main__":
    MODES[sys.argv[1]]()
