"""A configuration means to us what it means to `ssh -G`."""

import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from remote.ssh.ssh_config import load
from remote.ssh.ssh_lookup import Lookup
from remote.ssh.target import SshTarget, resolve
from tests.lab_sshd import AnsweringAsker

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed (Debian: openssh-client)")

NAMES = st.sampled_from(["lab", "web", "web1", "gate", "lab.example.org"])
PATTERNS = st.one_of(NAMES, st.sampled_from(["*", "web*", "web?", "!lab", "*.example.org", '"web"']))
SETTINGS = st.one_of(
    st.integers(1, 65535).map(lambda port: f"Port {port}"),
    st.sampled_from(["User ada", 'User "ada b"', "User=bob", "User 'c'  # comment", "user\tdora"]),
    st.sampled_from(["HostName 10.0.0.1", "HostName %h.example.org", "hostname = web.example.org"]),
    st.sampled_from(["IdentityFile /keys/a", "IdentityFile /keys/b", 'IdentityFile "/keys/a b"']),
    st.sampled_from(["CertificateFile /keys/a-cert.pub", "CertificateFile /keys/b-cert.pub", "HostKeyAlias alias"]),
    st.sampled_from(["IdentitiesOnly yes", "IdentitiesOnly no", "ConnectTimeout 3", "ConnectTimeout 1m"]),
    st.sampled_from(["ProxyJump gate", "ProxyJump none", "ProxyJump a@b:1,c", "ProxyCommand none", "ForwardX11 no"]),
    st.sampled_from(["ProxyCommand nc -X 5 %h %p", 'ProxyCommand sh -c "nc %h  %p"  ', "ProxyCommand=connect '%n'"]),
    st.sampled_from(["IdentityAgent none", "IdentityAgent /run/agent", "IdentityAgent SSH_AUTH_SOCK"]),
    st.sampled_from(["UserKnownHostsFile /a /b", "UserKnownHostsFile none", 'GlobalKnownHostsFile "/c d"']),
    st.sampled_from(["StrictHostKeyChecking yes", "StrictHostKeyChecking no", "StrictHostKeyChecking ask"]),
    st.sampled_from(
        ["ServerAliveInterval 15", "ServerAliveInterval 2m", "ServerAliveCountMax 7", "HashKnownHosts yes"]
    ),
    st.sampled_from(["AddressFamily inet", "AddressFamily inet6", "AddressFamily any"]),
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
            "Match localuser root,nobody",
            "Match final host web*",
            "Match final all",
            "Match canonical",
            "Match exec true",
            'Match host web* exec "test %h = web1"',
            'Match user ada !exec "test %n = lab"',
            "Include {folder}/inner",
            "Include {folder}/inner {folder}/missing",
            "Include {folder}/*.conf",
        ]
    ),
)
INNER = st.lists(st.one_of(SETTINGS, BLOCKS.filter(lambda line: "Include" not in line)), max_size=4)


def by_ssh(path: Path, name: str) -> dict[str, list[str]]:
    printed = subprocess.run(["ssh", "-G", "-F", str(path), name], check=False, capture_output=True, text=True)
    assume("jumphost loop" not in printed.stderr)
    assert printed.returncode == 0, printed.stderr
    found: dict[str, list[str]] = {}
    for line in printed.stdout.splitlines():
        keyword, _, value = line.partition(" ")
        found.setdefault(keyword, []).append(value)
    return found


def check_where(target: SshTarget, expected: dict[str, list[str]]) -> None:
    assert target.host_name == expected["hostname"][0]
    assert str(target.port) == expected["port"][0]
    assert target.user == expected["user"][0]
    assert expected["connecttimeout"][0] in {f"{target.connect_timeout:g}", "none"}
    families = {socket.AF_UNSPEC: "any", socket.AF_INET: "inet", socket.AF_INET6: "inet6"}
    assert families[target.family] == expected["addressfamily"][0]
    interval = float(expected["serveraliveinterval"][0])
    if interval:
        assert target.alive.limit == interval * float(expected["serveralivecountmax"][0])


def check_who(target: SshTarget, expected: dict[str, list[str]]) -> None:
    assert target.identities_only is (expected["identitiesonly"][0] == "yes")
    files = [str(file) for file in target.identity_files]
    assert files == [file for file in expected["identityfile"] if file.startswith("/keys")]
    assert [str(file) for file in target.certificate_files] == expected.get("certificatefile", [])
    agent = {None: "SSH_AUTH_SOCK", "": "none"}.get(target.agent, target.agent)
    assert agent == expected.get("identityagent", ["SSH_AUTH_SOCK"])[0]


def check_host_key(target: SshTarget, expected: dict[str, list[str]]) -> None:
    rules = target.host_key
    assert rules.alias == expected.get("hostkeyalias", [""])[0]
    assert rules.ask is (expected["stricthostkeychecking"][0] != "true")
    assert bool(rules.note) is (expected["stricthostkeychecking"][0] == "false")
    assert rules.hashed is (expected["hashknownhosts"][0] == "yes")
    for files, keyword in ((rules.user_files, "userknownhostsfile"), (rules.global_files, "globalknownhostsfile")):
        if files is not None:
            assert (" ".join(map(str, files)) or "none") == expected[keyword][0]


def check_way(path: Path, name: str, expected: dict[str, list[str]]) -> None:
    lookup = Lookup(
        name, consult=lambda _entry, command: subprocess.run(["sh", "-c", command], check=False).returncode == 0
    )
    lookup.run(load(path))
    for keyword in ("proxyjump", "proxycommand"):
        shown = lookup.first(keyword)
        assert (None if shown is None or shown == "none" else shown) == expected.get(keyword, [None])[0]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(outer=st.lists(st.one_of(SETTINGS, BLOCKS), max_size=9), inner=INNER, globbed=INNER, name=NAMES)
@example(
    outer=["Include {folder}/*.conf", "Host *", "User bob"], inner=[], globbed=["Host web", "User ada"], name="lab"
)
@example(outer=["HostName web.example.org", "Host web*", "Port 5", "Match final all"], inner=[], globbed=[], name="lab")
@example(outer=["ProxyJump none", "ProxyCommand nc -X 5 %h %p"], inner=[], globbed=[], name="lab")
def test_both_read_the_same(tmp_path: Path, outer: list[str], inner: list[str], globbed: list[str], name: str) -> None:
    path = tmp_path / "config"
    path.write_text("".join(f"{line.format(folder=tmp_path)}\n" for line in outer))
    (tmp_path / "inner").write_text("".join(f"{line}\n" for line in inner) + f"Include {tmp_path}/deeper\n")
    (tmp_path / "a.conf").write_text("".join(f"{line}\n" for line in globbed))
    (tmp_path / "b.conf").write_text("Host web1\n User eve\n")
    (tmp_path / "deeper").write_text("Match host gate\n Port 2222\n")
    expected = by_ssh(path, name)

    target = resolve(name, config=path, jump="none", asker=AnsweringAsker(allow_programs=True))
    check_where(target, expected)
    check_who(target, expected)
    check_host_key(target, expected)
    check_way(path, name, expected)


@pytest.mark.parametrize("name", ["lab", "ada@lab", "lab:2222", "[::1]:22"])
@pytest.mark.parametrize("alias", ["", "HostKeyAlias alias\n"])
def test_tokens_are_those_of_ssh(tmp_path: Path, name: str, alias: str) -> None:
    # Of the settings with tokens, `ssh -G` fills in those of this one and of the next.
    tokens = "%h-%i-%k-%L-%l-%n-%p-%r-%u-%C-100%%"
    path = tmp_path / "config"
    path.write_text(f"HostName %h\n{alias}UserKnownHostsFile /a/{tokens} /b-%r\nIdentityAgent /run/{tokens}\n")
    user, _, host = name.rpartition("@")
    host, _, port = host.rpartition(":") if ":" in host else (host, "", "")
    words = [*(["-l", user] if user else []), *(["-p", port] if port else []), host.strip("[]")]
    printed = subprocess.run(["ssh", "-G", "-F", str(path), *words], check=True, capture_output=True, text=True).stdout
    expected = dict(line.split(" ", 1) for line in printed.splitlines() if " " in line)
    target = resolve(name, config=path)
    assert target.host_key.user_files is not None
    assert " ".join(map(str, target.host_key.user_files)) == expected["userknownhostsfile"]
    assert target.agent == expected["identityagent"]
