"""Background load as it is: a program that uses a CPU, or a disk, is found over SSH before the plan runs, by name."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.checks.before import check_plan
from app.hosts.load_probe import LoadProbe
from app.plans.plan import Plan, make_step
from remote.probe import read_facts
from remote.session import Session
from suites.facts import Facts, known
from suites.vocab import Finding
from tests.lab_sshd import LabHost


@contextmanager
def running(*argv: str) -> Iterator[None]:
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


@pytest.fixture
def session(lab_host: LabHost, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr("remote.probe.WATCH", 3.0)
    session = lab_host.connect()
    yield session
    session.close()


def loads(facts: Facts) -> dict[str, float]:
    return {load.name: known(load.cpus) or 0.0 for load in known(facts.measured.foreign_processes) or ()}


def finding(facts: Facts, check: str, directory: Path) -> Finding | None:
    steps = (make_step("sysbench-cpu", {}), make_step("fio", {"directory": str(directory)}, name="disk"))
    report = check_plan(Plan("p", ("lab",), steps), {"lab": facts})
    return next((found for found in report.findings if found.id == check), None)


@pytest.mark.slow
@pytest.mark.alone
def test_a_program_that_uses_a_cpu_is_named_and_one_of_ours_is_not(session: Session, tmp_path: Path) -> None:
    if shutil.which("dash") is None:
        pytest.skip("dash is not installed")
    for name in ("hog", "ours"):
        shutil.copy(shutil.which("dash") or "", tmp_path / name)
    busy = "while :; do :; done"
    own = session.open(["timeout", "6", str(tmp_path / "ours"), "-c", busy])
    with running(str(tmp_path / "hog"), "-c", busy):
        facts = read_facts(session, watch=True)
    own.close()
    found = loads(facts)
    assert found["hog"] > 0.05  # one CPU, or what a busy computer leaves of it
    assert "ours" not in found
    busy_host = finding(facts, "host-busy", tmp_path)
    assert busy_host is not None
    assert "over 3" in busy_host.measured
    assert "hog" not in loads(read_facts(session, watch=True))


@pytest.mark.alone
@pytest.mark.slow
def test_a_program_that_writes_to_the_disk_is_found(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "hog"
    writing = f"while :; do dd if=/dev/zero of={file} bs=1M count=16 oflag=direct conv=notrunc; done"
    with running("sh", "-c", writing):
        facts = read_facts(session, [str(tmp_path)], watch=True)
    directory = facts.directory(str(tmp_path))
    assert directory is not None
    if known(directory.device) is None:
        pytest.skip("no directory here is on a disk that the kernel counts")
    found = finding(facts, "disk-in-use", tmp_path)
    assert found is not None
    assert found.measured.startswith(f"{known(directory.device)}: ")


@pytest.mark.alone
def test_background_load_is_read_again_over_one_connection(lab_host: LabHost, tmp_path: Path) -> None:
    if shutil.which("dash") is None:
        pytest.skip("dash is not installed")
    shutil.copy(shutil.which("dash") or "", tmp_path / "hog")
    opened: list[Session] = []

    def connect() -> Session:
        opened.append(lab_host.connect())
        return opened[-1]

    facts = Facts(host="lab", read_at="2026-01-01T00:00:00+00:00")
    probe = LoadProbe(connect, Plan("p", ("lab",), (make_step("sysbench-cpu", {}),)), facts)
    with running(str(tmp_path / "hog"), "-c", "while :; do :; done"):
        reading = probe.read()
    assert reading is not None
    assert any("now" in found.measured and "hog" in found.measured for found in reading.findings)
    again = probe.read()
    assert again is not None
    assert not any("hog" in found.measured for found in again.findings)
    assert len(opened) == 1
    probe.close()
