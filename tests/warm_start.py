"""The installed command, started by a fork of a process that has read its modules once: a start without half a second.

Each call is a process of its own with its own arguments, environment, folder and streams, runs the script that pip
installed, and ends as every Python process ends. What is not the same as in a process from a shell: the modules were
read before, the background load is watched as in tests.short_watch, and `/proc/PID` shows the words and the environment
of the server. Run as a program, this is the server.
"""

import atexit
import functools
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import NoReturn

from tests.printed_json import check_printed_json
from tests.short_probe import shorten_probe
from tests.short_watch import SCRIPT, shorten_watch

HEAVY = ("app.report_image.report", "app.export", "remote.ssh.connect", "pandas", "scipy.stats")
"""What verbs read when they need it."""
_LARGEST = 2**17
_READY = b"ready"
_alone = threading.Lock()


def run(
    words: Sequence[str], stdin: bytes, environment: Mapping[str, str], patience: float
) -> tuple[int, bytes, bytes]:
    """Run the command with `words` and return its exit status, negative for a signal, and what it wrote.

    Raises subprocess.TimeoutExpired, after ending it, where it takes longer than `patience` seconds.
    """
    umask = os.umask(0)
    os.umask(umask)
    message = json.dumps([list(words), dict(environment), str(Path.cwd()), umask]).encode()
    with _alone, TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        server = _server()
        socket.send_fds(server, [message], [file.fileno() for file in (given, out, err)])
        pid = int(server.recv(_LARGEST))
        in_time = select.select([server], [], [], patience)[0]
        if not in_time:
            os.kill(pid, signal.SIGKILL)
        status = int(server.recv(_LARGEST))
        if not in_time:
            raise subprocess.TimeoutExpired([str(SCRIPT), *words], patience)
        out.seek(0)
        err.seek(0)
        return status, out.read(), err.read()


@functools.cache
def _server() -> socket.socket:
    """Start the server; it ends with this process. Its streams are pipes, as those of a command in a test are."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm_start", str(theirs.fileno())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            cwd="/",
            env=_of_no_test(os.environ) | {"HOME": "/", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip

    def end() -> None:
        ours.close()
        process.communicate()

    atexit.register(end)
    if ours.recv(_LARGEST) != _READY:
        raise RuntimeError(process.communicate()[1].decode(errors="replace"))
    return ours


def _of_no_test(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that do not name the home of the test that happens to be the first."""
    home = str(Path.home())
    return {name: value for name, value in environment.items() if home not in value}


def _serve(control: socket.socket) -> None:
    """Answer each request with the process and its exit status. Returns in that process, and there alone."""
    control.send(_READY)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _LARGEST, 3)
        if not message:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            control.close()
            words, environment, folder, umask = json.loads(message)
            _become(words, environment, folder, umask, descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(str(pid).encode())
        control.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _become(words: list[str], environment: dict[str, str], folder: str, umask: int, descriptors: Sequence[int]) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(environment)
    shorten_probe()
    time.tzset()
    sys.argv = [str(SCRIPT), *words]


def _status() -> int:
    """Run the script and return what it ends with; a defect is printed, as Python does."""
    try:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
            return 1
        return end.code or 0
    except BaseException:  # noqa: BLE001 (the end of the process)
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(status: int) -> NoReturn:
    """End as Python does, but without taking every module apart: that would copy all the memory of the server."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    from app.cli.main import VERBS

    for _name in ("app.__main__", *(f"app.cli.{place.partition(':')[0]}" for place in VERBS.values()), *HEAVY):
        import_module(_name)
    shorten_watch()
    check_printed_json()
    gc.collect()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.path[0] = str(SCRIPT.parent)
    _end(_status())
