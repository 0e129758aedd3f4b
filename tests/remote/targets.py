"""A client configuration of a test's own, and what a name means in it."""

from pathlib import Path

import pytest

from remote.ssh.target import SshTarget, resolve


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def resolved(config: Path, text: str, name: str = "lab", **given: str) -> SshTarget:
    config.write_text(text)
    return resolve(name, config=config, **given)  # type: ignore[arg-type]  # only the text keywords are given this way
