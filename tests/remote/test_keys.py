"""Key files of every kind OpenSSH writes are understood, and what cannot be used is named."""

import shutil
import subprocess
from pathlib import Path

import pytest

from remote.ssh.keys import UnusableKeyError, WrongPassphraseError, default_files, inspect, load

KINDS = {"ed25519": "ssh-ed25519", "rsa": "ssh-rsa", "ecdsa": "ecdsa-sha2-nistp256"}
PASSPHRASE = "ä secret"

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


def make(folder: Path, kind: str, passphrase: str = "", *options: str) -> Path:
    path = folder / f"id_{kind}"
    words = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-f", str(path), *options]
    subprocess.run([*words, *(["-b", "2048"] if kind == "rsa" else [])], check=True)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_key(tmp_path: Path, kind: str) -> None:
    file = inspect(make(tmp_path, kind))
    assert file.public is not None
    assert file.public.kind == KINDS[kind]
    assert not file.encrypted
    key = load(file, None)
    assert key.can_sign()
    assert key.asbytes() == file.public.blob


@pytest.mark.parametrize("kind", KINDS)
def test_the_public_half_of_an_encrypted_key_is_known_without_its_passphrase(tmp_path: Path, kind: str) -> None:
    path = make(tmp_path, kind, PASSPHRASE)
    path.with_suffix(".pub").unlink()
    file = inspect(path)
    assert file.encrypted
    assert file.public is not None
    assert load(file, PASSPHRASE).asbytes() == file.public.blob
    for wrong in ("wrong", ""):
        with pytest.raises(WrongPassphraseError):
            load(file, wrong)
    with pytest.raises(WrongPassphraseError):
        load(file, None)


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
def test_the_older_format(tmp_path: Path, kind: str) -> None:
    path = make(tmp_path, kind, PASSPHRASE, "-m", "PEM")
    file = inspect(path)
    assert file.encrypted
    assert file.public is not None  # from the .pub beside it
    assert load(file, PASSPHRASE).asbytes() == file.public.blob
    with pytest.raises(WrongPassphraseError):
        load(file, "wrong")
    path.with_suffix(".pub").unlink()
    assert inspect(path).public is None
    assert load(inspect(path), PASSPHRASE).asbytes() == file.public.blob


def test_a_public_key_alone_stands_for_one_in_the_agent(tmp_path: Path) -> None:
    path = make(tmp_path, "ed25519")
    file = inspect(path.with_suffix(".pub"))
    assert not file.private
    assert file.public == inspect(path).public


def test_what_is_no_key(tmp_path: Path) -> None:
    cases: dict[str, bytes] = {
        "no key": b"hello",
        "empty": b"",
        "binary": bytes(range(256)) * 8,
        "large": b"x" * 300_000,
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UnusableKeyError):
            inspect(tmp_path / name)
    with pytest.raises(UnusableKeyError, match="no such file"):
        inspect(tmp_path / "missing")
    with pytest.raises(UnusableKeyError, match="cannot be read"):
        inspect(tmp_path)


@pytest.mark.parametrize("cut", [40, 120, 200, 300])
def test_a_key_that_is_cut_off_cannot_be_used(tmp_path: Path, cut: int) -> None:
    path = make(tmp_path, "ed25519")
    path.write_text(path.read_text()[:cut])
    with pytest.raises(UnusableKeyError):
        load(inspect(path), None)


def test_a_format_that_is_not_supported_says_how_to_change_it(tmp_path: Path) -> None:
    path = make(tmp_path, "rsa", "", "-m", "PKCS8")
    with pytest.raises(UnusableKeyError, match="ssh-keygen -p"):
        load(inspect(path), None)


def test_the_default_keys_are_those_that_exist() -> None:
    folder = Path.home() / ".ssh"
    folder.mkdir()
    assert default_files() == []
    make(folder, "ed25519")
    make(folder, "rsa")
    assert default_files() == [folder / "id_rsa", folder / "id_ed25519"]
