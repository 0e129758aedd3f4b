"""The installed command `benchwright`, run as its users run it: a process of its own, without a terminal or a display.

Whatever it is given, it prints no traceback and nothing that would colour a pipe: every call here checks that.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.paths import log_path
from tests import short_watch, warm_start

BENCHWRIGHT = (sys.executable, "-P", short_watch.__file__)
"""The command as a process of its own, whose start its callers do not wait for."""
DISPLAYS = frozenset({"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})

DONE, FAILED, BAD_INPUT = 0, 1, 2
"""The exit statuses as the README promises them."""

PATIENCE = 240.0
"""Seconds a command may take on a busy machine."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a call ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What standard output says as JSON."""
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a call: the test's own home, and no display."""
    return {name: value for name, value in os.environ.items() if name not in DISPLAYS} | more


def benchwright(*words: str | Path, stdin: bytes = b"", **variables: str) -> Ran:
    """Run `benchwright` with `words` to its end: a process of its own, which tests.warm_start starts in no time.

    With variables that Python reads at its start, such as PYTHONIOENCODING, it is started as from a shell.
    """
    if any(name.startswith(("PYTHON", "LC_", "LANG", "LD_")) for name in variables):
        return started(*words, stdin=stdin, **variables)
    return _ran(*warm_start.run([*map(str, words)], stdin, environment(**variables), PATIENCE))


def started(*words: str | Path, stdin: bytes = b"", **variables: str) -> Ran:
    """Run `benchwright` with `words` to its end, started as from a shell: it reads all its modules first."""
    command = [str(short_watch.SCRIPT), *map(str, words)]
    done = subprocess.run(
        command, input=stdin, capture_output=True, timeout=PATIENCE, check=False, env=environment(**variables)
    )
    return _ran(done.returncode, done.stdout, done.stderr)


def interrupted(*words: str | Path, when: Callable[[str], bool]) -> Ran:
    """Run `benchwright` and press Ctrl+C, as a terminal does, at the first line on standard error for which `when`."""
    command = [*BENCHWRIGHT, *map(str, words)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stderr is not None
        received = []
        for line in process.stderr:
            received.append(line)
            if when(line.decode()):
                process.send_signal(signal.SIGINT)
                break
        out, err = process.communicate(timeout=PATIENCE)
    return _ran(process.returncode, out, b"".join(received) + err)


def _ran(status: int, out: bytes, err: bytes) -> Ran:
    ran = Ran(status, out.decode(errors="replace"), err.decode(errors="replace"))
    for text in (ran.out, ran.err):
        assert "Traceback" not in text, text
        assert "\x1b" not in text, text
    assert "Internal error" not in ran.err, log_path().read_text()[-5000:]
    return ran
