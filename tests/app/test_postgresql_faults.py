"""A library in PostgreSQL whose server or network fails: what was acknowledged is there, once, and runs go on."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from app.events import FindingRaised, OutputRead, RunEnded, RunStarted, SampleRead, State, TrialStarted
from app.library_location import ServerUrl, location_of
from app.store.errors import StoreError, StoreLostError
from app.store.recorder import Recorder
from app.store.server_errors import translated
from app.store.store import Store
from suites.vocab import Sample
from tests.app import run_events
from tests.app.server_faults import Proxy, as_role, proxy
from tests.app.stores import RUN, opened, postgresql, url
from tests.app.stores import store_on_server as store
from tests.app.test_store_crash import SCRIPT
from tests.messages import messages
from tests.postgresql import Server

__all__ = ["postgresql", "proxy", "store", "url"]  # fixtures

MESSAGES = messages("app-store", "test_postgresql_faults")


@contextmanager
def own_server(*, durable: bool) -> Iterator[Server]:
    server = Server(durable=durable)
    try:
        yield server
    finally:
        server.close()


@pytest.mark.slow
def test_a_run_outlasts_a_server_that_is_read_only_for_a_while(
    postgresql: Server, url: ServerUrl, store: Store
) -> None:
    store.runs()
    with as_role(postgresql, url) as (role, own), own.recorder(RUN) as recorder:

        def set_read_only(setting: str) -> None:
            postgresql.execute(f"ALTER ROLE {role} {setting}")
            postgresql.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'")

        begin, *events = run_events.run_events(RUN)
        recorder.record(begin)
        set_read_only("SET default_transaction_read_only = on")
        for event in events:
            recorder.defer(event)
        with pytest.raises(StoreLostError, match="read-only"):
            recorder.flush()
        set_read_only("RESET default_transaction_read_only")
        recorder.flush()
    assert store.load(RUN).summary.state is State.DONE


@pytest.mark.parametrize("code", ["08006", "25006", "25P03", "25P04", "53300", "57P01"])
def test_a_connection_that_the_server_ends_is_lost(code: str) -> None:
    assert isinstance(
        translated(psycopg.errors.lookup(code)("ended"), ServerUrl("postgresql://db/bench")), StoreLostError
    )


def numbered(recorder: Recorder, first: int, last: int) -> None:
    """Record samples and output that show which of them are stored, once or twice."""
    for index in range(first, last):
        recorder.record(SampleRead(1, Sample(float(index), run_events.IOPS, float(index))))
        recorder.record(OutputRead(1, "stdout", b"%08d" % index))


@contextmanager
def recording_through(proxy: Proxy, url: ServerUrl) -> Iterator[Recorder]:
    """Give the recorder of a run with a hundred numbered events, which reaches the server through `proxy`."""
    through = location_of(url.url.replace(url.url.split("@")[1].split("/")[0], f"127.0.0.1:{proxy.port}"))
    for other in opened(through):
        with other.recorder(RUN) as recorder:
            recorder.patience = 0.0
            recorder.record(RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00"))
            recorder.record(TrialStarted(run_events.trial(1), None))
            numbered(recorder, 0, 100)
            yield recorder


def check_numbered(store: Store, count: int) -> None:
    (samples,) = store.samples(RUN).values()
    assert [sample.value for sample in samples] == [float(index) for index in range(count)]
    assert store.output(RUN, 1)["stdout"] == b"".join(b"%08d" % index for index in range(count))


@pytest.mark.parametrize("lost_part", ["answer", "commit", "all"])
def test_a_cut_during_a_commit_stores_its_events_once(
    proxy: Proxy, url: ServerUrl, store: Store, lost_part: str
) -> None:
    cut = {"answer": proxy.cut_at_commit, "commit": proxy.swallow_commit, "all": proxy.cut}[lost_part]
    with recording_through(proxy, url) as recorder:
        cut.set()
        with pytest.raises(StoreLostError) as lost:
            recorder.record(FindingRaised(run_events.FINDING))
        assert (MESSAGES["outcome_unknown"] in str(lost.value)) is (lost_part != "all")
        assert MESSAGES["rest_in_memory"] in str(lost.value)
        assert f"127.0.0.1:{proxy.port}" in str(lost.value)
        numbered_deferred(recorder, 100, 150)
        with pytest.raises(StoreLostError):
            recorder.flush()
        cut.clear()
        proxy.cut.clear()
        recorder.flush()
        recorder.record(RunEnded(RUN, State.DONE))
        recorder.verify()
    check_numbered(store, 150)
    assert [finding.id for finding in store.load(RUN).findings] == [run_events.FINDING.id]


def numbered_deferred(recorder: Recorder, first: int, last: int) -> None:
    for index in range(first, last):
        recorder.defer(SampleRead(1, Sample(float(index), run_events.IOPS, float(index))))
        recorder.defer(OutputRead(1, "stdout", b"%08d" % index))


def test_a_run_that_ends_while_the_server_is_gone_is_saved_to_a_file(
    proxy: Proxy, url: ServerUrl, tmp_path: Path
) -> None:
    with recording_through(proxy, url) as recorder:
        recorder.flush()
        proxy.cut.set()
        with pytest.raises(StoreLostError):
            recorder.record(RunEnded(RUN, State.PARTIAL, "stopped"))
        missing = recorder.save_as(tmp_path / "saved.sqlite3")
        assert MESSAGES["others_stay"] in missing
    saved = Store(tmp_path / "saved.sqlite3")
    check_numbered(saved, 100)
    assert saved.load(RUN).reason == "stopped"
    saved.close()


@pytest.mark.usefixtures("postgresql")  # which skips where PostgreSQL is not installed
def test_a_killed_server_loses_nothing_acknowledged_and_the_run_goes_on() -> None:
    with own_server(durable=True) as server:
        server.make_template()
        url = server.library()
        acknowledged: list[int] = []
        for store in opened(url):
            with store.recorder(RUN) as recorder:
                recorder.patience = 0.0
                recorder.record(RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00"))
                recorder.record(TrialStarted(run_events.trial(1), None))
                index = failures = 0
                for crash in range(2):
                    killer = threading.Timer(0.2 + 0.13 * crash, server.kill)
                    killer.start()
                    while True:
                        numbered_deferred(recorder, index, index + 20)
                        recorder.defer(FindingRaised(replace(run_events.FINDING, id=str(index))))
                        index += 20
                        try:
                            recorder.flush()
                        except StoreLostError:
                            failures += 1
                            break
                        acknowledged.append(index - 20)
                    killer.join()
                    server.start()
                    # What was acknowledged is there before the recorder writes again.
                    stored = {int(finding.id) for finding in store.load(RUN).findings}
                    assert set(acknowledged) <= stored
                    recorder.flush()
                assert failures == 2
                recorder.record(RunEnded(RUN, State.DONE))
                recorder.verify()
            check_numbered(store, index)
            assert [int(finding.id) for finding in store.load(RUN).findings] == list(range(0, index, 20))


@pytest.mark.slow
def test_two_processes_record_at_once_and_a_killed_one_loses_nothing_acknowledged(store: Store, url: ServerUrl) -> None:
    names = [f"20261120-141530-{letter * 4}" for letter in "abc"]
    folders = os.pathsep.join([str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": folders}
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(url), name, str(count)],
            stdout=subprocess.PIPE, text=True, env=environment,
        )
        for name, count in zip(names, (30, 30, 0), strict=True)
    ]  # fmt: skip
    *finite, endless = processes
    for process in finite:
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert store.mark_interrupted() == []
    with pytest.raises(StoreError, match="in progress"):
        store.delete(names[2])
    endless.send_signal(signal.SIGKILL)
    assert endless.stdout is not None
    lines = [line.split() for line in endless.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    endless.wait()
    endless.stdout.close()
    assert store.mark_interrupted() == [names[2]]
    for name in names[:2]:
        (samples,) = store.samples(name).values()
        assert [sample.value for sample in samples] == [float(index) for index in range(1500)]
    findings = {int(number) for word, number in lines if word == "finding"}
    assert findings <= {int(finding.id) for finding in store.load(names[2]).findings}
    (samples,) = store.samples(names[2]).values()
    last = max(float(number) for word, number in lines if word == "clock")
    assert last - samples[-1].time < 2.0  # a busy computer doubles the second between writes
