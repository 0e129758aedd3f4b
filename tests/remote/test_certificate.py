"""Certificates are read as ssh-keygen wrote them, and vouch for a host only where OpenSSH lets them."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remote.ssh.keys import HOST, USER, Certificate, CertificateError, parse, read
from remote.ssh.known_hosts import fingerprint
from tests.lab_sshd import make_key

NOW = time.time()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for kind in ("ed25519", "rsa", "ecdsa"):
        make_key(folder / kind, kind=kind)
    return folder


def signed(keys: Path, *options: str, key: str = "ed25519", authority: str = "ed25519", host: bool = True) -> Path:
    words = ["ssh-keygen", "-q", "-s", str(keys / authority), "-I", "test", *(["-h"] if host else []), *options]
    subprocess.run([*words, str(keys / f"{key}.pub")], check=True, stdin=subprocess.DEVNULL)
    return keys / f"{key}-cert.pub"


def printed(keys: Path, key: str) -> str:
    words = ["ssh-keygen", "-l", "-f", str(keys / f"{key}.pub")]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[1]


@pytest.mark.parametrize("key", ["ed25519", "rsa", "ecdsa"])
@pytest.mark.parametrize("authority", ["ed25519", "rsa", "ecdsa"])
def test_any_kind_of_key_signed_by_any_kind_of_authority(keys: Path, key: str, authority: str) -> None:
    certificate = read(signed(keys, "-n", "web.example.org", key=key, authority=authority))
    assert fingerprint(certificate.key) == printed(keys, key)
    assert fingerprint(certificate.authority) == printed(keys, authority)
    assert (certificate.role, certificate.principals, certificate.identity) == (HOST, ("web.example.org",), "test")
    assert certificate.problem_as_host("web.example.org", NOW) == ""


def test_a_certificate_of_a_user_vouches_for_no_host(keys: Path) -> None:
    certificate = read(signed(keys, "-n", "ada", host=False))
    assert certificate.role == USER
    assert "not a host certificate" in certificate.problem_as_host("ada", NOW)


def test_names_are_no_patterns_and_none_means_any(keys: Path) -> None:
    certificate = read(signed(keys, "-n", "web.example.org,10.0.0.1,*"))
    assert certificate.problem_as_host("Web.example.org", NOW) == ""
    assert certificate.problem_as_host("10.0.0.1", NOW) == ""
    assert certificate.problem_as_host("elsewhere", NOW) == "it is for web.example.org, 10.0.0.1, *"
    assert read(signed(keys)).problem_as_host("elsewhere", NOW) == ""


def test_it_is_valid_for_its_time_alone(keys: Path) -> None:
    certificate = read(signed(keys, "-V", "20200101:20300101"))
    assert certificate.time_problem(1_700_000_000) == ""
    assert "expired on 2030-01-0" in certificate.time_problem(2**33)
    assert "not valid before 20" in certificate.time_problem(0)
    assert read(signed(keys)).time_problem(2**62) == ""


def test_conditions_that_are_not_understood_are_not_passed_over(keys: Path) -> None:
    certificate = read(signed(keys, "-O", "critical:new@example.org=1"))
    assert "critical options" in certificate.problem_as_host("web", NOW)


def test_a_forged_signature_is_none(keys: Path) -> None:
    blob = bytearray(read(signed(keys, "-n", "web")).blob)
    position = blob.index(b"web")
    blob[position : position + 3] = b"bad"
    assert parse(bytes(blob)).problem_as_host("bad", NOW) == "its signature is invalid"


@pytest.fixture(scope="module")
def certificate(keys: Path) -> Certificate:
    return read(signed(keys, "-n", "web"))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 400), patch=st.binary(max_size=8), cut=st.integers(0, 500))
def test_no_damaged_certificate_vouches_for_anything(
    certificate: Certificate, position: int, patch: bytes, cut: int
) -> None:
    damaged = (certificate.blob[:position] + patch + certificate.blob[position + len(patch) :])[: 500 - cut]
    try:
        problem = parse(damaged).problem_as_host("web", NOW)
    except CertificateError:
        return
    assert problem or damaged == certificate.blob


def test_what_is_no_certificate(keys: Path, tmp_path: Path) -> None:
    for content in (b"", b"hello", b"ssh-ed25519 AAAA", (keys / "ed25519.pub").read_bytes()):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(CertificateError):
            read(tmp_path / "file")
    with pytest.raises(CertificateError, match="cannot be read"):
        read(tmp_path / "missing")
