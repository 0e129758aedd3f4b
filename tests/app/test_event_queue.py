"""Events are taken while something else is waited for, in order and without loss, each trial's to it alone."""

import threading
import time
from collections.abc import Iterator

import pytest

from app.events import Activity, Event, FindingRaised, LinkChanged, OutputRead
from app.runs.event_queue import IDLE, MAX_QUEUED, EventQueue, Item, JobEnded
from app.runs.findings import no_lease
from remote.connection_state import LinkState
from remote.jobs.job import JobStart, RemoteJob
from remote.session import Chunk

BLOCK = 256 * 1024


class _Job(RemoteJob):
    """A job of which only its end matters here."""

    def __init__(self) -> None:
        pass


class _Printing(RemoteJob):
    """A job that prints `blocks` blocks as fast as it may. `paused` tells that it has printed all there is room for."""

    def __init__(self, blocks: int) -> None:
        self.began = JobStart(2, 2, 0, "boot", 0.0, 0.0)
        self.blocks = blocks
        self.paused = threading.Event()

    def follow(self) -> Iterator[Chunk | None]:
        for number in range(self.blocks):
            if number * BLOCK >= MAX_QUEUED:
                self.paused.set()
            yield Chunk("stdout", bytes(BLOCK))


def lost(host: str) -> LinkChanged:
    return LinkChanged(host, LinkState.LOST, 0.0)


def test_work_is_waited_for_without_keeping_anybody() -> None:
    queue, received = EventQueue(), threading.Event()

    def work() -> str:
        queue.put(Activity("from the thread"))
        assert received.wait(60.0)
        return "done"

    found: list[str] = []

    def waiting() -> Iterator[Event]:
        found.append((yield from queue.during(work)))

    generator = waiting()
    assert next(generator) is IDLE
    assert list(queue.arrived(60.0)) == [Activity("from the thread")]
    received.set()
    for event in generator:
        assert event is IDLE
        list(queue.arrived(0.1))
    assert found == ["done"]
    queue.join(60.0)


def test_what_goes_wrong_in_work_is_raised_where_it_was_asked_for() -> None:
    queue = EventQueue()

    def work() -> None:
        raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError, match="oh"):
        list(queue.during(work))
    queue.join(60.0)


def test_each_trial_gets_its_own_items_and_everybody_the_rest() -> None:
    queue = EventQueue()
    one, two = queue.of_trial(1, "web-1"), queue.of_trial(2, "web-2")
    ended = JobEnded(_Job(), None, 2)
    finding = FindingRaised(no_lease("web-1"))
    items: list[Item] = [
        OutputRead(1, "stdout", b"a"), ended, lost("web-2"), lost("web-3"), finding, OutputRead(3, "stdout", b"b"),
    ]  # fmt: skip
    for item in items:
        queue.put(item)
    passed: list[Event] = list(queue.arrived(1.0))
    assert passed == [items[2], items[3], items[5]]  # what becomes of a link concerns everybody
    assert list(one.take()) == [items[0], finding]
    assert list(two.take()) == [ended, items[2]]


def test_what_a_trial_did_not_take_is_for_everybody() -> None:
    queue = EventQueue()
    trial = queue.of_trial(1, "web-1")
    finding = FindingRaised(no_lease("web-1"))
    queue.put(finding)
    assert list(queue.arrived(1.0)) == []
    trial.close()
    queue.put(JobEnded(_Job(), None, 1))  # nobody waits for it any more
    assert list(queue.arrived(1.0)) == [finding]


def test_a_link_that_changes_is_told_once_and_at_once_though_its_trial_takes_no_items() -> None:
    queue = EventQueue()
    trial = queue.of_trial(1, "web-1")
    queue.put(lost("web-1"))
    assert list(queue.arrived(1.0)) == [lost("web-1")]
    trial.close()
    queue.put(Activity("later"))
    assert list(queue.arrived(1.0)) == [Activity("later")]


def test_a_flood_lets_whoever_takes_items_go_on() -> None:
    queue = EventQueue()
    queue.put(Activity("0"))
    taken = 0
    for _ in queue.arrived(1.0):
        taken += 1
        queue.put(Activity("more"))  # somebody writes faster than anybody reads
        assert taken < 10
    assert taken == 1
    assert len(list(queue.arrived(0.0))) == 1


def test_output_that_nobody_takes_is_held_up_and_none_is_lost() -> None:
    queue, job = EventQueue(), _Printing(3 * MAX_QUEUED // BLOCK)
    trial = queue.of_trial(1, "web-1")
    queue.follow(job, 1)
    assert job.paused.wait(60.0)
    list(queue.arrived(1.0))
    time.sleep(0.1)
    assert len(trial._items) * BLOCK <= MAX_QUEUED + BLOCK
    taken, ended = 0, False
    while not ended:
        for item in trial.take():
            ended = isinstance(item, JobEnded)
            taken += len(item.data) if isinstance(item, OutputRead) else 0
        list(queue.arrived(0.1))
    assert taken == 3 * MAX_QUEUED
    queue.join(60.0)


def test_a_job_that_still_prints_keeps_nobody_at_the_end() -> None:
    queue, job = EventQueue(), _Printing(3 * MAX_QUEUED // BLOCK)
    queue.follow(job, 1)
    assert job.paused.wait(60.0)
    queue.join(60.0)
    assert not any(thread.is_alive() for thread in queue._threads)


def test_a_thread_has_the_reader_of_items_do_something() -> None:
    queue, found = EventQueue(), []
    thread = threading.Thread(target=lambda: found.append(queue.call(threading.get_ident)))
    thread.start()
    while not found:
        list(queue.arrived(0.1))
    thread.join()
    assert found == [threading.get_ident()]


def test_where_nobody_reads_items_any_more_nothing_is_done() -> None:
    queue = EventQueue()
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            queue.call(lambda: None)
        except TimeoutError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    queue.close()
    thread.join(60.0)
    assert failed
