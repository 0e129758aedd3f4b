"""Events on their way to the window: announced at once when it is quiet, in few batches when they flood."""

from collections.abc import Iterator

from app.events import Activity, Event, OutputRead
from widgets.live.inbox import OUTPUT_LIMIT, Inbox


def test_the_first_event_is_announced_and_the_others_wait_for_it() -> None:
    inbox = Inbox()
    assert inbox.put(Activity("a"))
    assert not inbox.put(Activity("b"))
    assert not inbox.put(OutputRead(1, "stdout", b"x"))
    batch = inbox.take()
    assert batch.events == (Activity("a"), Activity("b"))
    assert batch.output == (OutputRead(1, "stdout", b"x"),)


def test_after_a_batch_the_window_looks_again_before_anything_is_announced() -> None:
    inbox = Inbox()
    inbox.put(Activity("a"))
    assert inbox.take().events
    assert not inbox.put(Activity("b"))
    assert inbox.take().events == (Activity("b"),)
    assert not inbox.take().events
    assert inbox.put(Activity("c"))


def test_a_flood_of_output_keeps_its_end_and_counts_the_rest() -> None:
    inbox = Inbox()
    for number in range(100):
        inbox.put(OutputRead(1, "stdout", bytes([number]) * 10_000))
    inbox.put(OutputRead(1, "stderr", b"e" * (OUTPUT_LIMIT * 3)))
    batch = inbox.take()
    kept = sum(len(output.data) for output in batch.output)
    assert kept <= OUTPUT_LIMIT
    assert batch.unshown == 100 * 10_000 + OUTPUT_LIMIT * 3 - kept
    assert batch.output[-1].data == b"e" * OUTPUT_LIMIT
    assert inbox.take().unshown == 0


def test_the_pump_yields_only_when_the_window_has_to_be_told() -> None:
    inbox = Inbox()
    assert len(list(inbox.pump(iter([Activity(str(number)) for number in range(5000)])))) == 1
    assert len(inbox.take().events) == 5000


def test_closing_the_pump_closes_the_run() -> None:
    closed: list[bool] = []

    def events() -> Iterator[Event]:
        try:
            while True:
                yield Activity("x")
        finally:
            closed.append(True)

    pump = Inbox().pump(events())
    next(pump)
    pump.close()  # type: ignore[attr-defined]  # a generator
    assert closed == [True]
