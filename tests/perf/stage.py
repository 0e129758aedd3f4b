"""The stage of the lab for a benchmark: a home, a library, hosts and leases of its own, gone in the end."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from tests.lab.guard import guarded_directory
from tests.lab.staging import NotStagedError, Stage
from tests.lab_sshd import LabHost
from tests.perf.host import going_first, make_keys, move_home

Found = TypeVar("Found")


@contextmanager
def staged() -> Iterator[Stage]:
    """Open a stage."""
    with guarded_directory("benchwright-bench-") as folder, ExitStack() as stack:
        stack.enter_context(going_first())
        move_home(folder / "home")
        (folder / "leases").mkdir()
        os.environ["BENCHWRIGHT_LEASES"] = str(folder / "leases")
        stack.callback(os.environ.pop, "BENCHWRIGHT_LEASES")
        keys = make_keys(folder)

        def start() -> LabHost:
            host = LabHost(Path(tempfile.mkdtemp(dir=folder)), keys)
            stack.callback(host.stop)
            host.start()
            return host

        yield stack.enter_context(Stage(folder, start))


def on_a_stage(act: Callable[[Stage], Found], tools: Sequence[str]) -> Found | str:
    """Return what `act` finds on a stage of its own, or why it cannot be staged here."""
    reason_missing = [tool for tool in tools if shutil.which(tool) is None]
    if reason_missing:
        return f"{reason_missing[0]} is not installed"
    try:
        with staged() as stage:
            return act(stage)
    except NotStagedError as reason:
        return str(reason)
    except pytest.skip.Exception as reason:  # of what the lab's fixtures share with the tests
        return str(reason)
