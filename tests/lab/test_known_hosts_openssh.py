"""Our reader of known_hosts finds the lines that ssh-keygen finds, and judges as ssh does."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from remote.ssh.known_hosts import HostKeyStatus, host_pattern, read, verdict
from tests.lab_sshd import LabHost, LabKeys

NAMES = st.sampled_from(["a", "ab", "host", "Host", "host.example.org", "10.0.0.1", "::1", "[host]:2222", "[a]:22"])
PATTERNS = st.one_of(NAMES, st.text("ab*?!.[]:2", min_size=1, max_size=6), NAMES.map(lambda name: f"!{name}"))
FIELDS = st.lists(PATTERNS, min_size=1, max_size=3).map(",".join)
MARKERS = st.sampled_from(["", "@revoked ", "@cert-authority "])
LINES = st.one_of(
    st.tuples(MARKERS, FIELDS).map(lambda pair: f"{pair[0]}{pair[1]} KEY a comment"),
    st.sampled_from(["# comment", "", "  ", "host", "broken line here"]),
)


def found_by_ssh_keygen(path: Path, name: str) -> list[int]:
    printed = subprocess.run(["ssh-keygen", "-F", name, "-f", str(path)], check=False, capture_output=True, text=True)
    return [int(number) for number in re.findall(r"found: line (\d+)", printed.stdout)]


@pytest.mark.slow
@pytest.mark.usefixtures("lab_keys")
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=5), name=NAMES, hashed=st.booleans())
@example(lines=["host,[host]:2222 KEY", "@revoked * KEY"], name="[host]:2222", hashed=True)
def test_the_lines_found_are_those_of_ssh_keygen(
    tmp_path: Path, lab_keys: LabKeys, lines: list[str], name: str, *, hashed: bool
) -> None:
    public = " ".join(lab_keys.host.with_suffix(".pub").read_text().split()[:2])
    path = tmp_path / "known_hosts"
    path.write_text("".join(line.replace("KEY", public) + "\n" for line in lines))
    if hashed:
        subprocess.run(["ssh-keygen", "-H", "-f", str(path)], check=False, capture_output=True)
    ours = [line.number for line in read([path]) if line.is_for(name.lower())]
    assert ours == found_by_ssh_keygen(path, name.lower())


CASES = [
    (["{name} {host}"], HostKeyStatus.TRUSTED),
    (["127.0.0.1 {host}"], HostKeyStatus.TRUSTED),  # at another port, the bare name still counts
    (["{name} {other}"], HostKeyStatus.CHANGED),
    (["{name} {other}", "{name} {host}"], HostKeyStatus.TRUSTED),
    (["{name} {other}", "127.0.0.1 {host}"], HostKeyStatus.CHANGED),
    (["{name} {host}", "@revoked * {host}"], HostKeyStatus.REVOKED),
    (["@cert-authority {name} {other}"], HostKeyStatus.UNKNOWN),
    (["@cert-authority {name} {host}", "elsewhere {host}"], HostKeyStatus.UNKNOWN),
    (["[127.0.0.*]:* {host}"], HostKeyStatus.TRUSTED),
    (["[127.*]:*,!{name} {host}"], HostKeyStatus.UNKNOWN),
]
SHOWN_TEXT = {HostKeyStatus.CHANGED: "HOST IDENTIFICATION HAS CHANGED", HostKeyStatus.REVOKED: "REVOKED HOST KEY"}


@pytest.mark.parametrize(("lines", "expected"), CASES)
def test_the_verdict_is_that_of_ssh(lab_host: LabHost, lines: list[str], expected: HostKeyStatus) -> None:
    name = host_pattern("127.0.0.1", lab_host.port)
    host, other = (
        " ".join(path.with_suffix(".pub").read_text().split()[:2])
        for path in (lab_host.keys.host, lab_host.keys.other_host)
    )
    path = lab_host.directory / "judged"
    path.write_text("".join(line.format(name=name, host=host, other=other) + "\n" for line in lines))
    lab_host.target()  # writes the configuration
    options = [f"UserKnownHostsFile={path}", "GlobalKnownHostsFile=/dev/null", "UpdateHostKeys=no", "BatchMode=yes"]
    words = ["ssh", "-F", str(lab_host.directory / "config"), *(word for option in options for word in ("-o", option))]
    ssh = subprocess.run([*words, "lab", "true"], check=False, capture_output=True, text=True)

    shown = read([lab_host.known_hosts])[0].key
    assert verdict(read([path]), "127.0.0.1", lab_host.port, shown).status is expected
    assert (ssh.returncode == 0) is (expected is HostKeyStatus.TRUSTED)
    for status_of, words_of_ssh in SHOWN_TEXT.items():
        assert (words_of_ssh in ssh.stderr) is (expected is status_of)


def test_a_host_known_by_one_type_of_key_is_asked_for_that_type(
    start_lab_host: Callable[..., LabHost], tmp_path: Path
) -> None:
    path = tmp_path / "ecdsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", str(path)], check=True)
    host = start_lab_host()
    host.stop()
    both = host.directory / "both"
    both.write_text(f"HostKey {path}\n")
    host.start(Include=str(both))
    public = " ".join(path.with_suffix(".pub").read_text().split()[:2])
    host.known_hosts.write_text(f"{host_pattern('127.0.0.1', host.port)} {public}\n")
    host.connect().close()  # the key that comes first in the client's own order is the unknown one
