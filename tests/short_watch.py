"""Runs the installed command, which watches the background load no longer than reading the facts takes, not for 3 s.

For processes that tests kill, stop or talk to; tests/lab/test_background_load.py watches for as long as users do.
"""

import runpy
import sys
from pathlib import Path

from remote import probe
from tests.short_probe import shorten_probe

SCRIPT = Path(sys.executable).parent / "benchwright"
"""What pip installed."""


def shorten_watch() -> None:
    """Shorten the watch of each run of this process."""
    probe.WATCH, probe.LOOK = 0.0, 0.1


if __name__ == "__main__":
    shorten_watch()
    shorten_probe()
    runpy.run_path(str(SCRIPT), run_name="__main__")
