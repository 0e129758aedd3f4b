"""A configuration means to us what it means to `ssh -G`."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from remote.ssh_config import load
from remote.ssh_lookup import Lookup
from remote.target import resolve

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed (Debian: openssh-client)")

NAMES = st.sampled_from(["lab", "web", "web1", "gate", "lab.example.org"])
PATTERNS = st.one_of(NAMES, st.sampled_from(["*", "web*", "web?", "!lab", "*.example.org", '"web"']))
SETTINGS = st.one_of(
    st.integers(1, 65535).map(lambda port: f"Port {port}"),
    st.sampled_from(["User ada", 'User "ada b"', "User=bob", "User 'c'  # comment", "user\tdora"]),
    st.sampled_from(["HostName 10.0.0.1", "HostName %h.example.org", "hostname = web.example.org"]),
    st.sampled_from(["IdentityFile /keys/a", "IdentityFile /keys/b", 'IdentityFile "/keys/a b"']),
    st.sampled_from(["IdentitiesOnly yes", "IdentitiesOnly no", "ConnectTimeout 3", "ConnectTimeout 1m"]),
    st.sampled_from(["ProxyJump gate", "ProxyJump none", "ProxyJump a@b:1,c", "ProxyCommand none", "ForwardX11 no"]),
    st.sampled_from(["# comment", "", "   "]),
)
BLOCKS = st.one_of(
    st.lists(PATTERNS, min_size=1, max_size=3).map(lambda patterns: "Host " + " ".join(patterns)),
    st.sampled_from(
        [
            "Match all",
            "Match host *.example.org",
            "Match originalhost lab,web*",
            "Match user ada",
            "Match !user ada host 10.*",
            "Match final host web*",
            "Match canonical",
            "Include {folder}/inner",
        ]
    ),
)


def by_ssh(path: Path, name: str) -> dict[str, list[str]]:
    printed = subprocess.run(["ssh", "-G", "-F", str(path), name], check=False, capture_output=True, text=True)
    assume("jumphost loop" not in printed.stderr)
    assert printed.returncode == 0, printed.stderr
    found: dict[str, list[str]] = {}
    for line in printed.stdout.splitlines():
        keyword, _, value = line.partition(" ")
        found.setdefault(keyword, []).append(value)
    return found


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    outer=st.lists(st.one_of(SETTINGS, BLOCKS), max_size=8),
    inner=st.lists(st.one_of(SETTINGS, BLOCKS.filter(lambda line: "Include" not in line)), max_size=4),
    name=NAMES,
)
def test_both_read_the_same(tmp_path: Path, outer: list[str], inner: list[str], name: str) -> None:
    path = tmp_path / "config"
    path.write_text("".join(f"{line.format(folder=tmp_path)}\n" for line in outer))
    (tmp_path / "inner").write_text("".join(f"{line}\n" for line in inner))
    expected = by_ssh(path, name)

    target = resolve(name, config=path, jump="none")
    assert target.host_name == expected["hostname"][0]
    assert str(target.port) == expected["port"][0]
    assert target.user == expected["user"][0]
    assert target.identities_only is (expected["identitiesonly"][0] == "yes")
    assert expected["connecttimeout"][0] in {f"{target.connect_timeout:g}", "none"}
    files = [str(file) for file in target.identity_files]
    assert files == [file for file in expected["identityfile"] if file.startswith("/keys")]
    lookup = Lookup(name)
    lookup.run(load(path))
    jump = lookup.first("proxyjump")
    assert (None if jump == "none" else jump) == expected.get("proxyjump", [None])[0]
