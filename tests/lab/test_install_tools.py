"""Tools are installed by the real package manager, as root, and what that printed is kept."""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.hosts.packages import InstallCommand, InstallError, installation_of
from app.plans.plan import LOCAL
from app.questions import RefusingAsker
from app.services import Workstation
from app.store.store import Store
from remote.privilege import PrivilegeError
from remote.probe import read_facts
from suites.facts import known
from suites.programs import Program
from suites.registry import suite
from tests.lab.probe_runs import workstation
from tests.lab_sshd import AnsweringAsker
from tests.messages import messages
from tests.sudo_host import PASSWORD, WITH_PASSWORD, WITHOUT_PASSWORD, StartSudoHost, files_with, start_sudo_host

MESSAGES = messages("lab", "test_install_tools")

__all__ = ["start_sudo_host", "workstation"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "runs.sqlite3")
    yield made
    made.close()


@pytest.fixture
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let apt have no source of packages: nothing is fetched, what is installed stays known."""
    settings = tmp_path / "apt.conf"
    settings.write_text('Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "/dev/null";\n')
    monkeypatch.setenv("APT_CONFIG", str(settings))


@pytest.mark.usefixtures("no_network")
def test_apt_says_that_what_is_there_is_there(workstation: Workstation) -> None:
    facts = workstation.facts(LOCAL, RefusingAsker())
    command = installation_of([suite("dd").program], facts).command
    if command is None or "apt-get" not in command or known(facts.system.user) != "root":
        pytest.skip("needs apt and root")
    lines = list(workstation.install(LOCAL, command, RefusingAsker(), "install dd"))
    assert any(MESSAGES["coreutils_is_already_the"] in line for line in lines)
    (action,) = workstation.host_log(LOCAL)
    assert (action.what, action.command, action.exit_status, action.reason) == ("install dd", command, 0, "")
    assert b"coreutils is already the newest version" in action.output


@pytest.mark.usefixtures("no_network")
def test_a_package_that_cannot_be_had_is_told_with_what_works_without(workstation: Workstation) -> None:
    if shutil.which("apt-get") is None:
        pytest.skip("needs apt")
    with pytest.raises(InstallError, match="ended with exit status 100") as caught:
        list(workstation.install(LOCAL, "apt-get install -y no-such-package-at-all", RefusingAsker()))
    assert MESSAGES["without_it_these_tests_work"] in caught.value.remedy
    (action,) = workstation.host_log(LOCAL)
    assert action.exit_status == 100
    assert b"Unable to locate package" in action.output


def test_what_is_let_go_of_is_noted_as_that(workstation: Workstation) -> None:
    lines = workstation.install(LOCAL, "sh -c 'echo begun; sleep 60'", RefusingAsker())
    assert next(lines) == "begun"
    lines.close()
    (action,) = workstation.host_log(LOCAL)
    assert (action.exit_status, action.output, action.reason) == (None, b"begun\n", "interrupted")


def test_a_password_is_given_to_sudo_alone_and_kept_nowhere(
    start_sudo_host: StartSudoHost, store: Store, tmp_path: Path
) -> None:
    session = start_sudo_host().connect()
    asker = AnsweringAsker(secrets=[PASSWORD])
    words = InstallCommand(session, asker, store, "sudo sh -c 'id -un; cat; echo done'", "install x").lines()
    assert list(words) == ["root", "done"]
    assert MESSAGES["install_a_tool_sudo_sh_c"] in asker.secret_questions[0].purpose
    (action,) = store.actions(session.host)
    assert (action.exit_status, action.output) == (0, b"root\ndone\n")
    session.close()
    store.close()
    assert files_with(PASSWORD, [tmp_path, Path.home()]) == []


def test_without_a_password_nothing_is_installed(start_sudo_host: StartSudoHost, store: Store) -> None:
    session = start_sudo_host().connect()
    with pytest.raises(PrivilegeError, match="sudo needs a password"):
        list(InstallCommand(session, AnsweringAsker(), store, "sudo touch /made", "install x").lines())
    (action,) = store.actions(session.host)
    assert (action.exit_status, action.output) == (None, b"")
    assert "sudo needs a password" in action.reason
    session.close()


def test_the_exact_command_works_for_a_user_who_may_use_sudo(start_sudo_host: StartSudoHost, store: Store) -> None:
    if shutil.which("apt-get") is None:
        pytest.skip("needs apt")
    empty = "mount -t tmpfs none /etc/apt/sources.list.d && mount --bind /dev/null /etc/apt/sources.list || true"
    host = start_sudo_host(WITHOUT_PASSWORD, prepare=empty)
    session = host.connect()
    command = installation_of([suite("dd").program], read_facts(session)).command
    assert command is not None
    assert command.startswith(MESSAGES["sudo_sh_c_apt_get_update"])
    lines = list(InstallCommand(session, AnsweringAsker(), store, command, "install dd").lines())
    assert any(MESSAGES["coreutils_is_already_the"] in line for line in lines)
    session.close()


PAIR = Program("pair", ("bw-lab-alpha",), {"apt": "bw-lab-alpha bw-lab-beta"})

NOTHING_STAYS = """
mount -t tmpfs none /mnt
mkdir /mnt/up /mnt/work
mount -t overlay none -o lowerdir=/var,upperdir=/mnt/up,workdir=/mnt/work /var
rm -rf /var/lib/apt/lists && mkdir /var/lib/apt/lists
mount -t tmpfs none /etc/apt/sources.list.d
mount --bind {sources} /etc/apt/sources.list || cp {sources} /etc/apt/sources.list.d/lab.list
"""
"""What apt and dpkg write goes into memory of this host's own; it knows one repository, and has no lists yet."""


def repository(folder: Path) -> Path:
    """Make a repository of two packages; return a list of sources that names it."""
    index = []
    for name in ("bw-lab-alpha", "bw-lab-beta"):
        tree = folder / name
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "mnt").mkdir()
        (tree / "mnt" / name).write_text("here\n")
        control = (
            f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: lab <lab@example.com>\nDescription: lab\n"
        )
        (tree / "DEBIAN" / "control").write_text(control)
        package = folder / f"{name}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, package], check=True, capture_output=True)
        content = package.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        index.append(f"{control}Filename: ./{package.name}\nSize: {len(content)}\nSHA256: {digest}\n")
    (folder / "Packages").write_text("\n".join(index))
    sources = folder / "lab.list"
    sources.write_text(f"deb [trusted=yes] file:{folder} ./\n")
    return sources


@pytest.mark.slow
@pytest.mark.parametrize("sudoers", [WITHOUT_PASSWORD, WITH_PASSWORD], ids=["no password", "password"])
def test_several_packages_are_really_installed_on_a_host_without_lists(
    start_sudo_host: StartSudoHost, store: Store, sudoers: str
) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        pytest.skip("needs apt")
    with tempfile.TemporaryDirectory(prefix="benchwright-lab-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # apt fetches as an account of its own
        host = start_sudo_host(sudoers, prepare=NOTHING_STAYS.format(sources=repository(folder)))
        session = host.connect()
        command = installation_of([PAIR], read_facts(session)).command
        assert command is not None
        asker = AnsweringAsker(secrets=[PASSWORD])
        lines = list(InstallCommand(session, asker, store, command, "install pair").lines())
        assert any("Setting up bw-lab-beta" in line for line in lines), lines
        there = session.run(["ls", "/mnt/bw-lab-alpha", "/mnt/bw-lab-beta"])
        assert there.exit_status == 0, there.stderr
        (action,) = store.actions(session.host)
        assert (action.command, action.exit_status) == (command, 0)
        session.close()
    assert not Path("/var/lib/dpkg/info/bw-lab-alpha.list").exists()
