"""A sudo that is not what it should be gets no password, and everything that is wrong with it is said."""

from collections.abc import Callable
from pathlib import Path

import pytest

from remote import privilege
from remote.privilege import PrivilegeError, as_root
from remote.session import Session
from tests.host_shells import Prefixed
from tests.lab_sshd import AnsweringAsker

SECRET = "planted-canary-93b1"

ID = "#!/bin/sh\ncase $* in -u) echo 1000 ;; *) echo ann ;; esac\n"

ASKING = """#!/bin/sh
[ "$1" != -n ] || { echo 'sudo: a password is required' >&2; exit 1; }
prompt=$3
while [ "$1" != -- ]; do shift; done
shift
"""

Behind = Callable[..., Prefixed]


def host(behind: Behind, folder: Path, sudo: str | None) -> Session:
    """Return a host where ann signs in, and whose sudo is the given script."""
    for name, text in (("id", ID), ("sudo", sudo)):
        if text is not None:
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
    tools = folder / "tools"
    tools.mkdir()
    for name in ("sh", "cat", "head", "sleep"):
        (tools / name).symlink_to(f"/bin/{name}")
    return behind("/usr/bin/env", f"PATH={folder}:{tools}")


def received(folder: Path) -> str:
    """Return what the fake sudo read on its input."""
    path = folder / "heard"
    return path.read_text() if path.exists() else ""


def test_a_host_without_sudo_says_so(behind: Behind, tmp_path: Path) -> None:
    with pytest.raises(PrivilegeError, match="ann cannot become root on testhost to set it: sudo is not installed"):
        as_root(host(behind, tmp_path, None), AnsweringAsker(secrets=[SECRET]), "set it")


def test_a_sudo_that_wants_no_password_but_refuses_is_quoted(behind: Behind, tmp_path: Path) -> None:
    refusing = '#!/bin/sh\nprintf "ann may not run sudo\\033[31m here" >&2\nexit 1\n'
    asker = AnsweringAsker(secrets=[SECRET])
    with pytest.raises(PrivilegeError, match="sudo prints “ann may not run sudo \\[31m here”"):
        as_root(host(behind, tmp_path, refusing), asker, "set it")
    assert asker.secret_questions == []


def test_a_prompt_of_another_program_gets_no_password(
    behind: Behind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privilege, "PATIENCE", 0.5)
    fake = f"{ASKING}printf '[sudo] password for ann: ' >&2\ncat >{tmp_path}/heard\n"
    with pytest.raises(PrivilegeError, match=r"did not start the command within .*password for ann"):
        as_root(host(behind, tmp_path, fake), AnsweringAsker(secrets=[SECRET]), "set it")
    assert received(tmp_path) == ""


def test_a_prompt_on_standard_output_gets_no_password(
    behind: Behind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privilege, "PATIENCE", 0.5)
    fake = f'{ASKING}printf %s "$prompt"\ncat >{tmp_path}/heard\n'
    with pytest.raises(PrivilegeError):
        as_root(host(behind, tmp_path, fake), AnsweringAsker(secrets=[SECRET]), "set it")
    assert received(tmp_path) == ""


def test_a_command_that_repeats_the_prompt_gets_no_password(behind: Behind, tmp_path: Path) -> None:
    """The prompt's nonce can be read in the host's list of processes; the command has begun by then."""
    fake = (
        f'{ASKING}printf "%s" "$prompt" >&2; read -r secret\n'
        f'printf %s "$4" >&2; printf "%s%s" "$prompt" "$prompt" >&2; cat >>{tmp_path}/heard\n'
    )
    root = as_root(host(behind, tmp_path, fake), AnsweringAsker(secrets=[SECRET]), "set it")
    root.run(["anything"], stdin=b"only this")
    assert received(tmp_path) == "only this"


def test_a_sudo_that_never_stops_talking_is_let_go_of(behind: Behind, tmp_path: Path) -> None:
    fake = f"{ASKING}head -c 300000 /dev/zero >&2\ncat >{tmp_path}/heard\n"
    with pytest.raises(PrivilegeError, match="did not start the command"):
        as_root(host(behind, tmp_path, fake), AnsweringAsker(secrets=[SECRET]), "set it")
    assert received(tmp_path) == ""


def test_a_sudo_that_ends_before_the_command_begins_is_no_success(behind: Behind, tmp_path: Path) -> None:
    fake = f'{ASKING}printf "%s" "$prompt" >&2; read -r secret\necho lost its way >&2\nexit 0\n'
    with pytest.raises(PrivilegeError, match=r"did not start the command\. It printed: “lost its way”"):
        as_root(host(behind, tmp_path, fake), AnsweringAsker(secrets=[SECRET]), "set it")


def test_a_host_that_does_not_say_who_its_user_is(behind: Behind, tmp_path: Path) -> None:
    session = host(behind, tmp_path, None)
    (tmp_path / "id").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(PrivilegeError, match="no answer to id and sudo"):
        as_root(session, AnsweringAsker(), "set it")
