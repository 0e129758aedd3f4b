"""Events on their way to the window: announced at once when it is quiet, in few batches when they flood."""

import threading
from collections.abc import Iterator

from pytestqt.qtbot import QtBot

from app.events import Activity, Event, OutputRead
from widgets.jobs import OUTPUT_LIMIT, BackgroundJob, PendingEvents


def test_the_first_event_is_announced_and_the_others_wait_for_it() -> None:
    inbox = PendingEvents()
    assert inbox.put(Activity("a"))
    assert not inbox.put(Activity("b"))
    assert not inbox.put(OutputRead(1, "stdout", b"x"))
    batch = inbox.take()
    assert batch.events == (Activity("a"), Activity("b"))
    assert batch.output == (OutputRead(1, "stdout", b"x"),)


def test_after_a_batch_the_window_looks_again_before_anything_is_announced() -> None:
    inbox = PendingEvents()
    inbox.put(Activity("a"))
    assert inbox.take().events
    assert not inbox.put(Activity("b"))
    assert inbox.take().events == (Activity("b"),)
    assert not inbox.take().events
    assert inbox.put(Activity("c"))


def test_a_flood_of_output_keeps_its_end_and_counts_the_rest() -> None:
    inbox = PendingEvents()
    for number in range(100):
        inbox.put(OutputRead(1, "stdout", bytes([number]) * 10_000))
    inbox.put(OutputRead(1, "stderr", b"e" * (OUTPUT_LIMIT * 3)))
    batch = inbox.take()
    kept = sum(len(output.data) for output in batch.output)
    assert kept <= OUTPUT_LIMIT
    assert batch.unshown == 100 * 10_000 + OUTPUT_LIMIT * 3 - kept
    assert batch.output[-1].data == b"e" * OUTPUT_LIMIT
    assert inbox.take().unshown == 0


def test_a_job_yields_only_when_the_window_has_to_be_told(qtbot: QtBot) -> None:
    inbox, reported = PendingEvents(), list[object]()
    job = BackgroundJob(lambda: iter([Activity(str(number)) for number in range(5000)]), put=inbox.put)
    job.yielded.connect(reported.append)
    with qtbot.waitSignal(job.finished):
        job.start()
    assert len(reported) == 1
    assert len(inbox.take().events) == 5000


def test_a_cancelled_job_closes_the_run(qtbot: QtBot) -> None:
    closed = threading.Event()

    def events() -> Iterator[Event]:
        try:
            while True:
                yield Activity("x")
        finally:
            closed.set()

    job = BackgroundJob(events, put=PendingEvents().put)
    with qtbot.waitSignal(job.finished):
        job.start()
        job.cancel()
    assert closed.is_set()
