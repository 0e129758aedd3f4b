"""known_hosts is read as OpenSSH reads it, judged as it judges, and only ever appended to."""

import base64
import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from remote.errors import ConnectError, ConnectOutcome
from remote.ssh.known_hosts import (
    HostKeyStatus,
    Marker,
    append,
    authorities,
    fingerprint,
    global_files,
    known_types,
    read,
    user_files,
    verdict,
)

KEYS = {name: base64.b64encode(name.encode() * 8).decode() for name in ("one", "two", "three")}


def key(name: str) -> bytes:
    return base64.b64decode(KEYS[name])


def written(folder: Path, *lines: str, name: str = "known_hosts") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def status_of(path: Path, host: str, port: int, shown: str) -> HostKeyStatus:
    return verdict(read([path]), host, port, key(shown)).status


def test_a_host_nobody_wrote_down_is_unknown(tmp_path: Path) -> None:
    path = written(tmp_path, f"other ssh-ed25519 {KEYS['one']}")
    assert status_of(path, "host", 22, "one") is HostKeyStatus.UNKNOWN
    assert status_of(tmp_path / "missing", "host", 22, "one") is HostKeyStatus.UNKNOWN


def test_the_same_key_is_trusted_and_another_has_changed(tmp_path: Path) -> None:
    path = written(tmp_path, "# a comment", "", f"host,10.0.0.1 ssh-ed25519 {KEYS['one']} a comment")
    assert status_of(path, "host", 22, "one") is HostKeyStatus.TRUSTED
    assert status_of(path, "HOST", 22, "one") is HostKeyStatus.TRUSTED
    assert status_of(path, "10.0.0.1", 22, "one") is HostKeyStatus.TRUSTED
    changed = verdict(read([path]), "host", 22, key("two"))
    assert changed.status is HostKeyStatus.CHANGED
    assert changed.line is not None
    assert (changed.line.path, changed.line.number) == (path, 3)


def test_a_key_of_another_type_has_changed_too(tmp_path: Path) -> None:
    # OpenSSH says so as well: to shift a host to a type that is not known yet would be an easy way in.
    path = written(tmp_path, f"host ssh-rsa {KEYS['one']}")
    assert status_of(path, "host", 22, "two") is HostKeyStatus.CHANGED


def test_a_second_line_may_hold_the_right_key(tmp_path: Path) -> None:
    path = written(tmp_path, f"host ssh-rsa {KEYS['one']}", f"host ssh-ed25519 {KEYS['two']}")
    assert status_of(path, "host", 22, "two") is HostKeyStatus.TRUSTED


def test_another_port_is_another_host_unless_the_very_key_is_known(tmp_path: Path) -> None:
    path = written(tmp_path, f"host ssh-ed25519 {KEYS['one']}", f"[host]:2222 ssh-ed25519 {KEYS['two']}")
    assert status_of(path, "host", 2222, "two") is HostKeyStatus.TRUSTED
    assert status_of(path, "host", 2222, "one") is HostKeyStatus.CHANGED
    assert status_of(path, "host", 2200, "one") is HostKeyStatus.TRUSTED
    assert status_of(path, "host", 2200, "two") is HostKeyStatus.UNKNOWN


def test_wildcards_and_negation(tmp_path: Path) -> None:
    path = written(tmp_path, f"*.example.org,!bad.example.org ssh-ed25519 {KEYS['one']}")
    assert status_of(path, "web.example.org", 22, "one") is HostKeyStatus.TRUSTED
    assert status_of(path, "bad.example.org", 22, "one") is HostKeyStatus.UNKNOWN


def test_a_revoked_key_is_refused_whatever_else_is_written(tmp_path: Path) -> None:
    path = written(tmp_path, f"host ssh-ed25519 {KEYS['one']}", f"@revoked * ssh-ed25519 {KEYS['one']}")
    judged = verdict(read([path]), "host", 22, key("one"))
    assert judged.status is HostKeyStatus.REVOKED
    assert judged.line is not None
    assert judged.line.number == 2
    assert status_of(path, "host", 22, "two") is HostKeyStatus.CHANGED


def test_a_certificate_authority_is_understood_and_makes_no_plain_key_trusted(tmp_path: Path) -> None:
    path = written(tmp_path, f"@cert-authority * ssh-ed25519 {KEYS['one']}", f"host ssh-ed25519 {KEYS['two']}")
    assert [line.number for line in authorities(read([path]), "host", 22)] == [1]
    assert [line.number for line in authorities(read([path]), "host", 2222)] == [1]
    assert [line.marker for line in read([path])] == [Marker.CERTIFICATE_AUTHORITY, Marker.NONE]
    assert status_of(path, "host", 22, "two") is HostKeyStatus.TRUSTED
    assert status_of(path, "elsewhere", 22, "one") is HostKeyStatus.UNKNOWN


@pytest.mark.parametrize(
    "line",
    [
        "host",
        "host ssh-ed25519",
        "host ssh-ed25519 not*base64",
        f"@unheard-of host ssh-ed25519 {KEYS['one']}",
        f"|1|salt ssh-ed25519 {KEYS['one']}",
        f"|2|c2FsdA==|c2FsdA== ssh-ed25519 {KEYS['one']}",
        f"|1|sa*t|c2FsdA== ssh-ed25519 {KEYS['one']}",
        "\x00\xff" * 20,
    ],
)
def test_what_cannot_be_understood_harms_no_other_line(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, line, f"good ssh-ed25519 {KEYS['one']}")
    assert status_of(path, "host", 22, "one") is HostKeyStatus.UNKNOWN
    assert status_of(path, "good", 22, "one") is HostKeyStatus.TRUSTED


def test_all_of_several_files_are_read(tmp_path: Path) -> None:
    first = written(tmp_path, f"a ssh-ed25519 {KEYS['one']}")
    second = written(tmp_path, f"@revoked a ssh-ed25519 {KEYS['one']}", name="known_hosts2")
    assert verdict(read([first, second]), "a", 22, key("one")).status is HostKeyStatus.REVOKED


def test_openssh_files_are_read_in_its_order() -> None:
    home = Path.home()
    assert user_files() == (home / ".ssh/known_hosts", home / ".ssh/known_hosts2")
    assert global_files() == (Path("/etc/ssh/ssh_known_hosts"), Path("/etc/ssh/ssh_known_hosts2"))


def test_the_types_known_for_a_host_come_in_order_and_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"@revoked host ssh-dss {KEYS['three']}",
        f"host ecdsa-sha2-nistp256 {KEYS['one']}",
        f"host ssh-ed25519 {KEYS['two']}",
        f"host ssh-ed25519 {KEYS['three']}",
    )
    assert known_types(read([path]), "host", 22) == ["ecdsa-sha2-nistp256", "ssh-ed25519"]
    assert known_types(read([path]), "host", 2222) == ["ecdsa-sha2-nistp256", "ssh-ed25519"]
    assert known_types(read([path]), "other", 22) == []


def test_an_unreadable_file_is_an_error_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(ConnectError) as caught:
        read([tmp_path])
    assert str(tmp_path) in caught.value.message


def test_a_key_is_appended_to_a_new_file_that_only_the_user_can_read(tmp_path: Path) -> None:
    path = tmp_path / "home" / ".ssh" / "known_hosts"
    append(path, "Host", 2222, "ssh-ed25519", key("one"))
    assert path.read_text() == f"[host]:2222 ssh-ed25519 {KEYS['one']}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert status_of(path, "host", 2222, "one") is HostKeyStatus.TRUSTED


def test_what_was_there_stays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    before = b"# mine\n@cert-authority * ssh-rsa AAAA\n\xff\xfe strange\nhost ssh-ed25519 " + KEYS["one"].encode()
    path.write_bytes(before)  # its last line has no end
    path.chmod(0o644)
    append(path, "other", 22, "ssh-ed25519", key("two"))
    assert path.read_bytes() == before + b"\nother ssh-ed25519 " + KEYS["two"].encode() + b"\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_the_line_is_on_the_disk_before_it_is_relied_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synchronised: list[int] = []
    monkeypatch.setattr(os, "fsync", synchronised.append)
    append(tmp_path / "known_hosts", "host", 22, "ssh-ed25519", key("one"))
    assert len(synchronised) == 1


ODD_FILES = {
    "empty": b"",
    "comments": b"# mine\n\n   # indented\n",
    "bad lines": b"host\nhost ssh-ed25519 not*base64\n@unheard-of x y z\n\x00\xff\xfe\n",
    "carriage returns": b"a ssh-ed25519 " + KEYS["one"].encode() + b"\r\n# comment\r\n",
    "no last line break": b"a ssh-ed25519 " + KEYS["one"].encode(),
    "markers": b"@cert-authority *.example.org ssh-ed25519 AAAA\n@revoked * ssh-rsa AAAA\n",
}


@pytest.mark.parametrize("before", list(ODD_FILES.values()), ids=list(ODD_FILES))
@pytest.mark.parametrize("hashed", [False, True])
def test_no_line_is_ever_dropped(tmp_path: Path, before: bytes, *, hashed: bool) -> None:
    path = tmp_path / "known_hosts"
    path.write_bytes(before)
    append(path, "new", 2222, "ssh-ed25519", key("two"), hashed=hashed)
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == before.count(b"\n") + (0 if before.endswith(b"\n") or not before else 1) + 1
    assert status_of(path, "new", 2222, "two") is HostKeyStatus.TRUSTED
    if KEYS["one"].encode() in before:
        assert status_of(path, "a", 22, "one") is HostKeyStatus.TRUSTED


def test_a_hashed_name_is_found_by_ssh_keygen_and_by_nobody_who_reads(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    append(path, "Host.example.org", 22, "ssh-ed25519", key("one"), hashed=True)
    append(path, "host.example.org", 2222, "ssh-ed25519", key("one"), hashed=True)
    assert "example" not in path.read_text()
    for name in ("host.example.org", "[host.example.org]:2222"):
        words = ["ssh-keygen", "-F", name, "-f", str(path)]
        assert subprocess.run(words, check=True, capture_output=True, text=True).stdout.count("found: line") == 1


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    path.write_bytes(b"# mine, without an end")
    hosts = [f"host{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as writers:
        list(writers.map(lambda host: append(path, host, 22, "ssh-ed25519", key("one")), hosts))
    lines = path.read_text().splitlines()
    assert lines[0] == "# mine, without an end"
    assert sorted(lines[1:]) == sorted(f"{host} ssh-ed25519 {KEYS['one']}" for host in hosts)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = written(tmp_path, "# mine", name="real")
    link = tmp_path / "known_hosts"
    link.symlink_to(real)
    append(link, "host", 22, "ssh-ed25519", key("one"))
    assert link.is_symlink()
    assert real.read_text() == f"# mine\nhost ssh-ed25519 {KEYS['one']}\n"


def test_a_disk_that_takes_only_a_part_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda _descriptor, data: len(data) - 1)
    with pytest.raises(ConnectError, match="No space left"):
        append(tmp_path / "known_hosts", "host", 22, "ssh-ed25519", key("one"))


def test_a_file_that_refuses_to_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    path.symlink_to("/proc/version")  # not even root can
    with pytest.raises(ConnectError) as caught:
        append(path, "host", 22, "ssh-ed25519", key("one"))
    assert str(path) in caught.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_named_and_stays_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, "# mine")
    path.chmod(0o400)
    with pytest.raises(ConnectError, match="Permission denied"):
        append(path, "host", 22, "ssh-ed25519", key("one"))
    assert path.read_text() == "# mine\n"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConnectError) as caught:
        append(tmp_path / "file" / "known_hosts", "host", 22, "ssh-ed25519", key("one"))
    assert caught.value.outcome is ConnectOutcome.KEY_UNKNOWN
    assert str(tmp_path / "file") in caught.value.message


def test_fingerprints_are_openssh_s(tmp_path: Path) -> None:
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    printed = subprocess.run(["ssh-keygen", "-l", "-f", str(path)], check=True, capture_output=True, text=True).stdout
    blob = base64.b64decode(path.with_suffix(".pub").read_text().split()[1])
    assert fingerprint(blob) == printed.split()[1]
