"""The program as it is started on a desktop: a process of its own, a real X server, pixels on its screen."""

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.program import BENCHWRIGHT, environment

pytestmark = pytest.mark.usefixtures("few_programs")

XVFB = shutil.which("Xvfb")
PATIENCE = 60.0
WIDTH, HEIGHT = 1400, 900


@dataclass(frozen=True, slots=True)
class Screen:
    """An X server without a monitor; `frame` is the file that holds what it shows."""

    display: str
    frame: Path

    def pixels(self) -> bytes:
        """Return the picture: an XWD file, whose first word is the length of its header and whose 20th that of its
        colours."""
        content = self.frame.read_bytes()
        header = struct.unpack(">25I", content[:100])
        return content[header[0] + 12 * header[19] :]


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    if XVFB is None:
        pytest.skip("Xvfb is not installed (Debian: xvfb)")
    reading, writing = os.pipe()
    size = f"{WIDTH}x{HEIGHT}x24"
    words = [XVFB, "-displayfd", str(writing), "-screen", "0", size, "-fbdir", str(tmp_path), "-nolisten", "tcp"]
    with subprocess.Popen(words, pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        with os.fdopen(reading) as reported:
            number = reported.readline().strip()  # printed once it takes connections
        assert number, "Xvfb did not start"
        yield Screen(f":{number}", tmp_path / "Xvfb_screen0")
        server.terminate()


def _colours(pixels: bytes) -> int:
    return len({pixels[index : index + 4] for index in range(0, len(pixels), 4 * 97)})


@pytest.mark.gui
def test_the_window_is_painted_and_closes_at_ctrl_c(screen: Screen) -> None:
    assert _colours(screen.pixels()) <= 2
    with subprocess.Popen(
        BENCHWRIGHT, env=environment(DISPLAY=screen.display), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        deadline = time.monotonic() + PATIENCE
        while _colours(screen.pixels()) < 10:
            # Looks again ten times a second; the end of the program is seen at once.
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(0.1)
                pytest.fail(f"the program ended: {program.communicate()}")
            assert time.monotonic() < deadline, "nothing was painted"
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=PATIENCE)
    assert (out, err) == (b"", b"")
    assert program.returncode == 0
