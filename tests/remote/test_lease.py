"""One measures at a time: a lease is seen by everybody, trusted by nobody, and ends with whoever held it."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remote.jobs.job import RemoteJob, make_workspace, remove_workspace
from remote.jobs.lease import (
    ESTABLISHED,
    FRESH,
    WATCH_SECONDS,
    Claim,
    Holder,
    claim,
    live_holder,
    mark_unwatched,
    release,
    sweep,
)
from remote.local import LocalSession
from remote.session import Session
from remote.telemetry.telemetry import Telemetry
from tests.host_shells import Prefixed


@pytest.fixture
def session(shell_session: Session) -> Session:
    return shell_session


@pytest.fixture
def leases() -> Path:
    """The place of leases; everybody may write in it."""
    place = Path(os.environ["BENCHWRIGHT_LEASES"])
    for path in (place, *place.parents):
        if path.stat().st_uid == os.getuid():
            path.chmod(0o1777 if path == place else path.stat().st_mode | 0o755)
    return place


@pytest.fixture
def nobody(leases: Path) -> Iterator[Session]:
    """Another account of the same host."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    session = Prefixed(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={leases}"])
    yield session
    session.close()


def the_holder(claimed: Claim) -> Holder:
    assert claimed.lease is None
    (holder,) = claimed.holders
    return holder


def grow_old(leases: Path, seconds: float) -> None:
    """Let every lease be without a sign of life for some time."""
    for touched in leases.glob("*/touched"):
        then = time.time() - seconds
        os.utime(touched, (then, then))


def test_a_claim_is_told_to_the_next(session: Session, leases: Path) -> None:
    claimed = claim(session, "run-1")
    assert claimed.lease is not None
    assert claimed.holders == ()
    holder = the_holder(claim(session, "run-2"))
    assert (holder.run, holder.counts, holder.working) == ("run-1", True, False)
    assert "@" in holder.workstation
    assert 0 <= holder.silent <= 2
    assert [path.name for path in leases.iterdir()] == [f"benchwright-lease-{claimed.lease.nonce}"]
    release(session, "run-1")
    assert list(leases.iterdir()) == []
    assert claim(session, "run-2").lease is not None


def test_leases_of_one_run_are_not_in_each_others_way(session: Session, leases: Path) -> None:
    assert claim(session, "run-1").lease is not None
    assert claim(session, "run-1").lease is not None
    release(session, "run-1")
    assert list(leases.iterdir()) == []


def test_a_claim_can_be_made_sure_of(session: Session) -> None:
    first = claim(session, "run-1")
    assert first.lease is not None
    assert claim(session, "run-1", nonce=first.lease.nonce) == first


def test_a_claim_can_be_kept_beside_another(session: Session) -> None:
    claim(session, "run-1")
    both = claim(session, "run-2", anyway=True)
    assert both.lease is not None
    assert [holder.run for holder in both.holders] == ["run-1"]


def test_a_lease_without_a_sign_of_life_ends(session: Session, leases: Path) -> None:
    claim(session, "run-1")
    grow_old(leases, FRESH + 5)
    assert claim(session, "run-2").lease is not None
    grow_old(leases, 120)
    sweep(session)
    assert list(leases.iterdir()) == []


def test_of_two_at_the_same_moment_one_gets_it(leases: Path) -> None:
    for _ in range(3):
        claims: list[Claim] = []
        ready = threading.Barrier(2)

        def try_it(run: str, ready: threading.Barrier = ready, claims: list[Claim] = claims) -> None:
            session = LocalSession()
            ready.wait()
            claims.append(claim(session, run))
            session.close()

        threads = [threading.Thread(target=try_it, args=(f"run-{number}",)) for number in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(claimed.lease is not None for claimed in claims) == 1
        assert len(list(leases.iterdir())) == 1
        session = LocalSession()
        for run in ("run-1", "run-2"):
            release(session, run)
        session.close()


def test_a_holder_that_releases_slowly_is_waited_for(leases: Path) -> None:
    other = leases / f"benchwright-lease-{'f' * 16}"
    other.mkdir()
    for name in ("run=run-2", "touched", f"since={int(time.time())}"):
        (other / name).touch()
    giving_way = threading.Timer(2.5, shutil.rmtree, [other])  # as on a busy host
    giving_way.start()
    session = LocalSession()
    assert claim(session, "run-1", nonce="0" * 16).lease is not None
    giving_way.join()
    session.close()


def test_who_has_the_host_is_not_waited_for(session: Session) -> None:
    assert claim(session, "run-1", nonce="f" * 16).lease is not None
    began = time.monotonic()
    assert the_holder(claim(session, "run-2", nonce="0" * 16)).settled
    assert time.monotonic() - began < ESTABLISHED


def test_a_lease_that_is_being_made_is_not_swept_away(session: Session, leases: Path) -> None:
    made = leases / "benchwright-lease-0000000000000001"
    made.mkdir()
    sweep(session)
    assert claim(session, "run-1").lease is not None
    assert made.is_dir()
    then = time.time() - 120  # broken off while it was made
    os.utime(made, (then, then))
    sweep(session)
    assert not made.exists()


def test_a_job_keeps_the_lease_that_nobody_touches(session: Session, leases: Path, tmp_path: Path) -> None:
    claimed = claim(session, "run-1")
    assert claimed.lease is not None
    workspace = make_workspace(session, str(tmp_path))
    job = RemoteJob.start(session, workspace, ["sleep", "60"], lease=claimed.lease.path)
    grow_old(leases, 3600)
    holder = the_holder(claim(session, "run-2"))
    assert holder.working
    assert holder.silent > 3000
    job.stop()
    assert claim(session, "run-2").lease is not None
    remove_workspace(session, workspace)


def test_telemetry_keeps_the_lease_fresh(session: Session, leases: Path) -> None:
    claimed = claim(session, "run-1")
    assert claimed.lease is not None
    grow_old(leases, 3600)
    telemetry = Telemetry.start(session, 0.1, claimed.lease.path)
    for _ in range(2):
        assert telemetry.read(60.0)
    assert the_holder(claim(session, "run-2")).silent < 10
    telemetry.stop()


# Who goes on with a run that somebody may still watch


@pytest.mark.slow
def test_a_lease_that_telemetry_touches_has_a_living_keeper(
    session: Session, leases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remote.jobs.lease.WATCH_SECONDS", 2.0)
    first, second = claim(session, "run-1").lease, claim(session, "run-1").lease
    assert first is not None
    assert second is not None
    own = {second.nonce}
    assert live_holder(session, "run-1", own) is None  # fresh, but nobody touches it
    telemetry = Telemetry.start(session, 0.1, first.path)
    holder = live_holder(session, "run-1", own)
    assert holder is not None
    assert (holder.nonce, holder.run) == (first.nonce, "run-1")
    assert live_holder(session, "run-1", {first.nonce, second.nonce}) is None
    assert live_holder(session, "run-2", own) is None
    telemetry.stop()
    assert live_holder(session, "run-1", own) is None


def test_a_lease_that_was_let_go_of_keeps_nobody_waiting(session: Session, leases: Path) -> None:
    lease = claim(session, "run-1").lease
    assert lease is not None
    mark_unwatched(session, lease.nonce)
    began = time.monotonic()
    assert live_holder(session, "run-1", ()) is None
    assert time.monotonic() - began < WATCH_SECONDS
    assert claim(session, "run-1", nonce=lease.nonce).lease == lease
    assert not (Path(lease.path) / "left=yes").exists()


def test_another_account_cannot_keep_a_run_from_being_attached(nobody: Session, session: Session, leases: Path) -> None:
    lease = claim(nobody, "run-1").lease
    assert lease is not None
    telemetry = Telemetry.start(nobody, 0.1, lease.path)
    assert live_holder(session, "run-1", ()) is None
    telemetry.stop()
    release(nobody, "run-1")


# Other accounts, and what they may try


def test_another_account_is_told_and_named(nobody: Session, leases: Path) -> None:
    session = LocalSession()
    assert claim(nobody, "run-1").lease is not None
    holder = the_holder(claim(session, "run-2"))
    assert holder.account == "nobody"
    release(session, "run-1")  # not ours: it stays
    assert the_holder(claim(session, "run-2")).run == "run-1"
    grow_old(leases, 3600)
    assert claim(session, "run-2").lease is not None
    assert the_holder(claim(nobody, "run-3")).account == "root"
    session.close()


def test_another_account_can_neither_keep_nor_remove_our_lease(nobody: Session, leases: Path) -> None:
    session = LocalSession()
    claimed = claim(session, "run-1")
    assert claimed.lease is not None
    for words in (["rm", "-rf"], ["touch"], ["mkdir"]):
        target = claimed.lease.path if words[0] == "rm" else f"{claimed.lease.path}/touched2"
        assert nobody.run([*words, target]).exit_status != 0
    release(nobody, "run-1")
    assert len(list(leases.iterdir())) == 1
    release(session, "run-1")
    session.close()


Trap = Callable[[Path], None]


def fifo(lease: Path) -> None:
    os.mkfifo(lease / "run=fifo")
    os.mkfifo(lease / "touched")


def symlinks(lease: Path) -> None:
    (lease / "touched").symlink_to("/etc/passwd")
    (lease / "run=x").symlink_to("/etc/passwd")


def crowd(lease: Path) -> None:
    (lease / "touched").touch()
    for number in range(3000):
        (lease / f"run={number}").touch()


def words(lease: Path) -> None:
    (lease / "touched").touch()
    for name in ("run=$(id)\n@@mark taken /", "from=\x1b[31m<b>", "job=1-1-1", "job=x-y-z", f"since={'9' * 20}"):
        (lease / name).touch()


def far_future(lease: Path) -> None:
    (lease / "touched").touch()
    os.utime(lease / "touched", (2**33, 2**33))


@pytest.mark.parametrize("trap", [fifo, symlinks, crowd, words, far_future])
def test_what_others_write_is_bounded_and_never_opened(session: Session, leases: Path, trap: Trap) -> None:
    lease = leases / "benchwright-lease-0000000000000001"
    lease.mkdir()
    trap(lease)
    began = time.monotonic()
    claimed = claim(session, "run-1")
    assert time.monotonic() - began < 25.0
    for holder in claimed.holders:
        assert holder.nonce == "0000000000000001"
        assert all(text.isprintable() and len(text) <= 64 for text in (holder.run, holder.workstation, holder.account))
        assert holder.age is None or holder.age < 0


DECOYS = """
cd "$1"
mkdir $(seq -f 'benchwright-lease-%016.0f' 1 1500)
for lease in benchwright-lease-*; do : >"$lease/touched"; : >"$lease/run=run-1"; done 2>/dev/null
touch -d '1 hour ago' benchwright-lease-0000*/touched 2>/dev/null || true
"""


def test_many_old_leases_do_not_hide_a_valid_one(session: Session, nobody: Session, leases: Path) -> None:
    assert nobody.run(["bash", "-c", DECOYS, "sh", str(leases)]).exit_status == 0
    claimed = claim(session, "run-1")
    assert claimed.lease is not None
    assert the_holder(claim(session, "run-2")).run == "run-1"
    assert claim(session, "run-1", nonce=claimed.lease.nonce).lease == claimed.lease
    release(session, "run-1")
    assert claim(session, "run-3").lease is not None


def test_many_old_leases_do_not_hide_one_with_a_running_command(
    session: Session, nobody: Session, leases: Path, tmp_path: Path
) -> None:
    claimed = claim(session, "run-1")
    assert claimed.lease is not None
    workspace = make_workspace(session, str(tmp_path))
    job = RemoteJob.start(session, workspace, ["sleep", "60"], lease=claimed.lease.path)
    grow_old(leases, 3600)
    assert nobody.run(["bash", "-c", DECOYS, "sh", str(leases)]).exit_status == 0
    assert the_holder(claim(session, "run-2")).working
    job.stop()
    remove_workspace(session, workspace)


@pytest.mark.slow
def test_more_fresh_leases_than_are_named_never_make_a_host_free(
    session: Session, nobody: Session, leases: Path
) -> None:
    """Those of one run are in nobody's way: a crowd that calls itself so must not stand for the rest."""
    crowd = DECOYS.replace("1 hour ago", "now").replace("1500", "100").replace("run-1", "run-2")
    assert nobody.run(["bash", "-c", crowd, "sh", str(leases)]).exit_status == 0
    claimed = claim(session, "run-2")
    assert (claimed.lease, claimed.holders, claimed.unread) == (None, (), True)
    assert claim(session, "run-2", anyway=True).unread


@pytest.mark.slow
def test_a_list_that_is_not_read_in_time_is_not_treated_as_empty(
    leases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "find").write_text("#!/bin/sh\nexec sleep 60\n")
    (folder / "find").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    session = LocalSession()
    began = time.monotonic()
    assert claim(session, "run-1") == Claim(None, (), unread=True)
    assert time.monotonic() - began < 25.0
    assert list(leases.iterdir()) == []
    session.close()


def test_no_lease_is_made_where_others_may_rename_it(session: Session, leases: Path) -> None:
    leases.chmod(0o777)
    assert claim(session, "run-1") == Claim(None, ())
    assert list(leases.iterdir()) == []


def test_a_link_in_place_of_a_lease_is_left_alone(session: Session, leases: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "run=run-1").touch()
    (leases / "benchwright-lease-0000000000000001").symlink_to(target)
    assert claim(session, "run-1").lease is not None
    release(session, "run-1")
    assert [path.name for path in target.iterdir()] == ["run=run-1"]


def test_without_a_place_there_is_no_lease(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_LEASES", "/proc")
    assert claim(session, "run-1") == Claim(None, ())


def test_the_script_knows_no_other_answer(leases: Path) -> None:
    script = Path(__file__).parents[2] / "resources" / "lease.sh"
    with script.open("rb") as source:
        done = subprocess.run(
            ["sh", "-s", "look", "mark", "0" * 16], stdin=source, capture_output=True, check=True, text=True
        )
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [["@@mark", "now"]]
    assert list(leases.iterdir()) == []
