"""Hosts that differ in their shell and tools: the same session, with another PATH before every command."""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from remote.local import LocalSession
from remote.session import LIMIT, Channel, Completed


class Prefixed:
    """A session that runs every command behind other words, such as ``env PATH=...``."""

    def __init__(self, prefix: Sequence[str]) -> None:
        self.prefix = list(prefix)
        self.session = LocalSession("testhost")

    @property
    def host(self) -> str:
        return self.session.host

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        return self.session.run([*self.prefix, *argv], stdin=stdin, timeout=timeout, limit=limit)

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        return self.session.open([*self.prefix, *argv], stdin=stdin, keep_input=keep_input)

    def close(self) -> None:
        self.session.close()


def shell_path(shell: str, folder: Path) -> str:
    """Return a PATH on which `sh` is `shell`; busybox brings all of its own tools and nothing else is found."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    if shell == "busybox":
        subprocess.run([program, "--install", "-s", str(folder)], check=True)
        return str(folder)
    (folder / "sh").symlink_to(program)
    return f"{folder}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


@pytest.fixture(params=["dash", "bash", "busybox"])
def shell_session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Prefixed]:
    """A host for each shell we support."""
    folder = tmp_path / "shell"
    folder.mkdir()
    session = Prefixed(["env", f"PATH={shell_path(request.param, folder)}"])
    yield session
    session.close()


@pytest.fixture
def behind() -> Iterator[Callable[..., Prefixed]]:
    """Return a function that gives a host whose commands all run behind the words it is called with."""
    sessions: list[Prefixed] = []

    def make(*prefix: str) -> Prefixed:
        sessions.append(Prefixed(prefix))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()
