"""A host that sends a byte every half second from the moment it is told to: in each command, or on the wire."""

import contextlib
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

PAUSE = 0.5

PROGRAM = """
import os, re, sys, time
command = os.environ["SSH_ORIGINAL_COMMAND"]
try:
    with open(sys.argv[1]) as sign:
        drips = sign.read() in command
except FileNotFoundError:
    drips = False
if not drips:
    os.execvp("sh", ["sh", "-c", command])
marker = re.findall(r"printf %s ([0-9a-f]{32})", command)[0]
os.write(1, f"{marker}{os.getpid()}:".encode())
os.write(2, marker.encode())
while True:
    os.write(1, b"@")
    time.sleep(0.5)
"""


def dripping_command(folder: Path) -> tuple[str, Path]:
    """Return what sshd is to run in place of every command, and the file from whose making on it drips.

    With a word in that file only commands that hold the word drip.
    """
    program, sign = folder / "drip.py", folder / "drip"
    program.write_text(PROGRAM)
    return shlex.join([sys.executable, "-S", "-E", str(program), str(sign)]), sign


class DrippingWire:
    """Passes every connection on to `port` of this computer; once told to drip, what comes back comes byte by byte."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._drip = threading.Event()
        self._closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._serve)

    def drip(self) -> None:
        self._drip.set()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, name="dripping wire", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            self._sockets += [near, far]
            self._start(self._pass_on, near, far, False)
            self._start(self._pass_on, far, near, True)

    def _pass_on(self, source: socket.socket, to: socket.socket, slowly: bool) -> None:  # noqa: FBT001
        try:
            while data := source.recv(1 if slowly and self._drip.is_set() else 65536):
                if slowly and self._drip.is_set():
                    for byte in data:
                        to.sendall(bytes([byte]))
                        if self._closed.wait(PAUSE):
                            return
                else:
                    to.sendall(data)
        except OSError:
            return

    def close(self) -> None:
        self._closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        deadline = time.monotonic() + 5.0
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
