"""Another account of the host renames and imitates what is ours: nothing of its own is run, read or removed."""

import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from remote.errors import JobError
from remote.jobs.files import put_file
from remote.jobs.job import RemoteJob, Workspace, make_workspace, remove_workspace
from remote.jobs.leftovers import find_workspaces
from remote.jobs.workspace import unsafe, unsafe_text
from remote.probe import read_facts
from remote.script import script
from remote.session import Session
from suites.facts import SAFE
from tests.messages import messages
from tests.processes import ends, processes_with

MESSAGES = messages("remote", "test_shared_directory")

OTHER = 65534


@pytest.fixture
def session(shell_session: Session) -> Session:
    return shell_session


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory below /tmp that belongs to root; nothing above it is in an attacker's hands."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    folder = Path(tempfile.mkdtemp(prefix="shared-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def attack(script: str, *words: str) -> None:
    """Run a script as another account of the host; it must succeed."""
    become = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]
    subprocess.run([*become, "sh", "-euc", script, "sh", *words], check=True)


IMITATE = """
mv -- "$1" "$1.away"
mkdir -m 700 -- "$1"
echo "$2" >"$1/.benchwright"
printf '#!/bin/sh\necho owned >&2; touch "$0.ran"\n' >"$1/probe"
chmod 755 "$1/probe"
"""


@pytest.fixture
def imitated(session: Session, shared: Path) -> Callable[[], tuple[Workspace, Path]]:
    """Return a function that makes a workspace whose parent is then opened to everybody, and swaps it."""

    def swap() -> tuple[Workspace, Path]:
        made = make_workspace(session, str(shared))
        put_file(session, made, "probe", b"#!/bin/sh\necho genuine\n", executable=True)
        shared.chmod(0o777)
        attack(IMITATE, made.path, made.nonce)
        return made, Path(made.path)

    return swap


def test_what_was_put_in_its_place_is_never_started(
    session: Session, imitated: Callable[[], tuple[Workspace, Path]]
) -> None:
    made, place = imitated()
    with pytest.raises(JobError, match=r"not the workspace that was created.*nobody"):
        RemoteJob.start(session, made, ["./probe"])
    with pytest.raises(JobError, match="not the workspace that was created"):
        put_file(session, made, "data", b"secret")
    assert sorted(path.name for path in place.iterdir()) == [".benchwright", "probe"]


def test_what_was_put_in_its_place_is_never_removed(
    session: Session, imitated: Callable[[], tuple[Workspace, Path]]
) -> None:
    made, place = imitated()
    with pytest.raises(JobError, match=r"not removed: it is not the workspace that was created.*nobody"):
        remove_workspace(session, made)
    assert (place / "probe").exists()
    assert [found.own for found in find_workspaces(session, [str(place.parent)]) if found.path == made.path] == [False]


def test_a_job_under_way_ends_though_its_directory_was_replaced(session: Session, shared: Path) -> None:
    made = make_workspace(session, str(shared))
    job = RemoteJob.start(session, made, ["sleep", "60"])
    victim = subprocess.Popen(["sleep", "60"], start_new_session=True)  # a process that the attacker wants ended
    started = Path(f"/proc/{victim.pid}/stat").read_text().rsplit(")")[1].split()[19]
    shared.chmod(0o777)
    attack(IMITATE, made.path, made.nonce)
    begun = f"1 {victim.pid} {started} {job.began.boot_id} 1.0 1.0 ."
    attack('mkdir "$1"; echo "$2" >"$1/begun"; echo "0 1 ." >"$1/rc"', f"{made.path}/.job-{job.directory}", begun)
    job.stop()
    assert ends(job.pid)
    assert (job.exit_status, job.reason) == (None, MESSAGES["its_directory_on_the_host"])
    assert victim.poll() is None
    victim.kill()
    victim.wait()


def test_removing_ends_the_job_of_a_replaced_directory(session: Session, shared: Path) -> None:
    made = make_workspace(session, str(shared))
    job = RemoteJob.start(session, made, ["sleep", "60"])
    shared.chmod(0o777)
    attack(IMITATE, made.path, made.nonce)
    with pytest.raises(JobError, match="not the workspace that was created"):
        remove_workspace(session, made)
    assert ends(job.pid)
    assert processes_with(made.nonce) == []


def test_a_link_to_ours_is_not_followed(session: Session, shared: Path) -> None:
    made = make_workspace(session, str(shared))
    shared.chmod(0o777)
    attack('mv -- "$1" "$1.away"; ln -s -- "$1.away" "$1"', made.path)
    with pytest.raises(JobError, match="not the workspace that was created"):
        RemoteJob.start(session, made, ["true"])


def test_another_directory_of_the_same_account_is_not_taken_for_it(session: Session, shared: Path) -> None:
    made = make_workspace(session, str(shared))
    Path(made.path).rename(shared / "away")
    Path(made.path).mkdir(mode=0o700)
    Path(made.path, ".benchwright").write_text(f"{made.nonce}\n")
    with pytest.raises(JobError, match="not the workspace that was created"):
        RemoteJob.start(session, made, ["true"])
    RemoteJob.start(session, replace(made, identity=""), ["true"])  # a library of before knows no identity
    boot, _, rest = made.identity.partition(":")
    of_another_boot = replace(made, identity=f"{boot[::-1]}:{rest}")
    RemoteJob.start(session, of_another_boot, ["true"])  # device numbers may change
    remove_workspace(session, of_another_boot)


def test_a_workspace_that_others_may_write_in_is_refused(session: Session, shared: Path) -> None:
    made = make_workspace(session, str(shared))
    Path(made.path).chmod(0o770)
    with pytest.raises(JobError, match="other accounts may write in it"):
        RemoteJob.start(session, made, ["true"])
    Path(made.path).chmod(0o755)  # looked into, not written in
    RemoteJob.start(session, made, ["true"])
    remove_workspace(session, made)


OPEN = pytest.mark.parametrize(
    ("how", "words"),  # mode, owner and group
    [
        ((0o777, 0, 0), "is writable by every account and has no sticky bit"),
        ((0o757, 0, 0), "is writable by every account and has no sticky bit"),
        ((0o775, 0, OTHER), "is writable by the group nogroup and has no sticky bit"),
        ((0o755, OTHER, 0), "belongs to nobody"),
        ((0o1777, OTHER, 0), "belongs to nobody"),
    ],
)


@OPEN
def test_a_directory_in_which_others_may_rename_is_refused_in_words(
    session: Session, shared: Path, how: tuple[int, int, int], words: str
) -> None:
    refuse(session, shared, shared, how, words)


@OPEN
def test_a_directory_below_one_in_which_others_may_rename_is_refused_in_words(
    session: Session, shared: Path, how: tuple[int, int, int], words: str
) -> None:
    (shared / "data").mkdir()
    refuse(session, shared / "data", shared, how, words)


def refuse(session: Session, directory: Path, open_one: Path, how: tuple[int, int, int], words: str) -> None:
    """Make sure that nothing is made in `directory` once `open_one` has this mode, owner and group."""
    mode, owner, group = how
    before = list(directory.iterdir())
    os.chown(open_one, owner, group)
    open_one.chmod(mode)
    with pytest.raises(JobError, match=f"{open_one} {words}") as caught:
        make_workspace(session, str(directory))
    assert "/var/tmp" in caught.value.remedy
    assert owner or f"chmod +t {open_one}" in caught.value.remedy
    assert list(directory.iterdir()) == before


@pytest.mark.parametrize("mode", [0o1777, 0o1775, 0o755, 0o775, 0o700])
def test_a_directory_that_only_the_account_can_change_is_taken(session: Session, shared: Path, mode: int) -> None:
    os.chown(shared, 0, OTHER if mode == 0o1775 else 0)
    shared.chmod(mode)
    made = make_workspace(session, str(shared))
    RemoteJob.start(session, made, ["true"])
    remove_workspace(session, made)
    assert list(shared.iterdir()) == []


def test_a_directory_that_is_opened_between_two_trials_is_refused(session: Session, shared: Path) -> None:
    made = make_workspace(session, str(shared))
    RemoteJob.start(session, made, ["true"])
    shared.chmod(0o777)
    with pytest.raises(JobError, match="has no sticky bit"):
        RemoteJob.start(session, made, ["true"])
    remove_workspace(session, made)
    assert list(shared.iterdir()) == []


def test_a_link_to_a_shared_directory_is_judged_by_where_it_leads(session: Session, shared: Path) -> None:
    (shared / "open").mkdir()
    (shared / "open").chmod(0o777)
    (shared / "link").symlink_to("open")
    with pytest.raises(JobError, match=f"{shared}/open is writable by every account"):
        make_workspace(session, str(shared / "link"))


def test_a_crowd_of_others_hides_nothing_of_ours(session: Session, shared: Path) -> None:
    shared.chmod(0o1777)
    attack('cd "$1"; for n in $(seq 1000 1200); do mkdir "benchwright-000000000000$n"; done', str(shared))
    made = make_workspace(session, str(shared))
    assert made.path in [found.path for found in find_workspaces(session, [str(shared)]) if found.own]
    remove_workspace(session, made)


@pytest.mark.parametrize("group", ["daemon", "root"])
def test_a_group_directory_is_taken_where_the_account_is_alone_in_the_group(
    behind: Callable[..., Session], shared: Path, group: str
) -> None:
    daemon, directory = account_with(behind, shared, group)
    made = make_workspace(daemon, str(directory))
    RemoteJob.start(daemon, made, ["true"])
    remove_workspace(daemon, made)
    assert list(directory.iterdir()) == []


def test_a_directory_of_another_group_is_refused(behind: Callable[..., Session], shared: Path) -> None:
    daemon, directory = account_with(behind, shared, "nogroup")
    with pytest.raises(JobError, match="is writable by the group nogroup"):
        make_workspace(daemon, str(directory))


def account_with(behind: Callable[..., Session], shared: Path, group: str) -> tuple[Session, Path]:
    """Return an account that is not root, and a directory of it in which `group` may write."""
    directory = shared / "data"
    directory.mkdir()
    shutil.chown(directory, "daemon", group)
    directory.chmod(0o775)
    return behind("setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups"), directory


def test_an_acl_is_seen_behind_a_private_group(behind: Callable[..., Session], shared: Path) -> None:
    """With an ACL the group's bits of the mode are the most that anybody named in it may do."""
    undefined = 2**32 - 1
    entries = [(1, 7, undefined), (2, 7, OTHER), (4, 5, undefined), (16, 7, undefined), (32, 5, undefined)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.setxattr(shared, "system.posix_acl_access", acl)  # as `setfacl -m u:65534:rwx` does; acl(5)
    assert shared.stat().st_mode & 0o777 == 0o775
    with pytest.raises(JobError, match="is writable by the group root"):
        make_workspace(behind("env"), str(shared))


@pytest.mark.slow
@pytest.mark.usefixtures("few_programs")
@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1777, 0o775, 0o707])
def test_the_facts_say_of_a_directory_what_a_run_says(session: Session, shared: Path, mode: int) -> None:
    below = shared / "below"
    below.mkdir(0o755)
    os.chown(shared, 0, OTHER if mode == 0o775 else 0)
    shared.chmod(mode)
    found = read_facts(session, [str(below)]).directory(str(below))
    assert found is not None
    assert found.unsafe == (mode in {0o777, 0o775, 0o707})
    if not found.unsafe:
        assert found.guard == SAFE
        remove_workspace(session, make_workspace(session, str(below)))
        return
    words = unsafe_text(str(found.guard))
    assert words is not None
    with pytest.raises(JobError, match=re.escape(words[0])) as caught:
        make_workspace(session, str(below))
    assert caught.value.remedy == words[1]


def complaints() -> list[str]:
    """Return what guard.sh says of directories that are not safe, one example for each place that says so."""
    shown = re.findall(r'unsafe="(unsafe [^\n]*)"(?:$|[ ;&])', script("job.sh").decode(), re.MULTILINE)
    assert len(shown) == script("job.sh").count(b'"unsafe ')
    return [re.sub(r"\$\([^)]*\)", "NAME", one).replace("$parent", "/srv/bench") for one in shown]


@pytest.mark.parametrize("complaint", complaints())
@pytest.mark.parametrize("name", ["staff", "domain users", "UNKNOWN", ""])
@pytest.mark.parametrize("parent", ["/srv/bench", "/", "/srv/a b/c"])
def test_each_complaint_about_a_directory_has_its_words(complaint: str, name: str, parent: str) -> None:
    shown = complaint.replace("NAME", name).replace("/srv/bench", parent)
    error = unsafe("web-1", shown)
    assert error is not None, shown
    assert error.message.startswith(f"Nothing was run on web-1: {parent} ")
    assert MESSAGES["so_another_account_could"] in error.message
    assert "unsafe" not in error.message
    assert name in error.message or "NAME" not in complaint
