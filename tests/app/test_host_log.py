"""What was done to hosts is kept: settings until they are put back, and commands with their output."""

from app.events import HostChange, HostChanged, SettingRestored
from app.records import OUTPUT_LIMIT
from app.store.store import Store
from app.summary import run_to_json
from tests.app import run_events
from tests.app.stores import any_store, postgresql, store_in_both

__all__ = ["any_store", "postgresql", "store_in_both"]

RUN = "20261119-141530-k3f9"
AT = "2026-11-20T14:15:31.000+00:00"
LATER = "2026-11-20T14:16:31.000+00:00"
SCHEDULER = HostChange("web-1", "I/O scheduler of vdb", "/sys/block/vdb/queue/scheduler", "none", "mq-deadline")
DROPPED = HostChange("web-1", "page cache dropped", "/proc/sys/vm/drop_caches", None, "3", 1)


def record(store: Store, *more: HostChanged | SettingRestored) -> None:
    """Record a run that does `more` before it ends."""
    events = list(run_events.run_events(RUN))
    with store.recorder(RUN) as recorder:
        for event in (*events[:-1], *more, events[-1]):
            recorder.record(event)


def test_a_change_is_pending_until_it_is_put_back(store: Store) -> None:
    record(store, HostChanged(SCHEDULER, AT), HostChanged(DROPPED, AT))
    (pending,) = store.pending_changes("web-1")
    assert (pending.run_id, pending.change, pending.changed, pending.put_back) == (RUN, SCHEDULER, AT, None)
    assert store.pending_changes("web-2") == []
    store.put_back(RUN, SettingRestored("web-1", SCHEDULER.path, LATER, "the host is gone", pending=True))
    assert store.pending_changes()[0].problem == "the host is gone"
    store.put_back(RUN, SettingRestored("web-1", SCHEDULER.path, LATER))
    assert store.pending_changes() == []
    assert [change.put_back for change in store.load(RUN).changes] == [LATER, None]


def test_a_later_run_may_put_back_what_an_earlier_one_left(store: Store) -> None:
    record(store, HostChanged(SCHEDULER, AT))
    later = "20261120-141530-zzzz"
    with store.recorder(later) as recorder:
        for event in run_events.run_events(later):
            recorder.record(event)
        recorder.record(SettingRestored("web-1", SCHEDULER.path, LATER, "it was changed since", run=RUN))
    assert store.pending_changes() == []
    (change,) = store.load(RUN).changes
    assert (change.put_back, change.problem) == (LATER, "it was changed since")


def test_what_a_run_under_way_has_changed_is_its_own(store: Store) -> None:
    events = list(run_events.run_events(RUN))
    with store.recorder(RUN) as recorder:
        recorder.record(events[0])
        recorder.record(HostChanged(SCHEDULER, AT))
        assert store.pending_changes() == []
    assert [change.change for change in store.pending_changes()] == [SCHEDULER]


def test_the_runs_json_tells_what_was_changed(store: Store) -> None:
    record(store, HostChanged(SCHEDULER, AT), SettingRestored("web-1", SCHEDULER.path, LATER))
    assert run_to_json(store.load(RUN))["changes"] == [
        {
            "host": "web-1",
            "what": "I/O scheduler of vdb",
            "path": "/sys/block/vdb/queue/scheduler",
            "before": "none",
            "during": "mq-deadline",
            "trial": None,
            "changed": AT,
            "put_back": LATER,
            "problem": "",
        }
    ]


def test_a_command_is_noted_before_it_runs_and_its_end_after(store: Store) -> None:
    number = store.begin_action("web-1", "install fio", "sudo apt-get install -y fio")
    (begun,) = store.actions("web-1")
    assert (begun.id, begun.what, begun.ended, begun.exit_status) == (number, "install fio", None, None)
    shown = b"E: Unable to locate package fio\n\xff"
    store.end_action(number, 100, shown, "it failed")
    (ended,) = store.actions("web-1")
    assert (ended.exit_status, ended.output, ended.reason) == (
        100,
        b"E: Unable to locate package fio\n\xff",
        "it failed",
    )
    assert ended.ended is not None
    assert store.actions("web-2") == []


def test_output_is_kept_within_bounds_and_the_newest_comes_first(store: Store) -> None:
    for name in ("first", "second"):
        store.end_action(store.begin_action("web-1", name, "true"), 0, b"x" * (OUTPUT_LIMIT + 1), "")
    assert [action.what for action in store.actions("web-1")] == ["second", "first"]
    assert len(store.actions("web-1")[0].output) == OUTPUT_LIMIT
