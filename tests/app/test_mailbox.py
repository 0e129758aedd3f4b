"""Letters are handed on while something else is waited for, in order and without loss."""

import threading
from collections.abc import Iterator

import pytest

from app.events import Activity, Event, OutputRead
from app.runs.mailbox import MOST_HELD, JobEnded, Mailbox
from remote.jobs.job import Began, Job
from remote.session import Chunk

BLOCK = 256 * 1024


class _Job(Job):
    """A job of which only its end matters here."""

    def __init__(self) -> None:
        pass


class _Printing(Job):
    """A job that prints `blocks` blocks as fast as it may. `paused` tells that it has printed all there is room for."""

    def __init__(self, blocks: int) -> None:
        self.began = Began(2, 2, 0, "boot", 0.0, 0.0)
        self.blocks = blocks
        self.paused = threading.Event()

    def follow(self) -> Iterator[Chunk | None]:
        for number in range(self.blocks):
            if number * BLOCK >= MOST_HELD:
                self.paused.set()
            yield Chunk("stdout", bytes(BLOCK))


def test_what_arrives_during_work_is_handed_on_before_its_end() -> None:
    mailbox, heard = Mailbox(), threading.Event()

    def work() -> str:
        for number in range(3):
            mailbox.put(Activity(str(number)))
        assert heard.wait(5.0)
        return "done"

    generator = mailbox.during(work)
    events: list[Event] = [next(generator) for _ in range(3)]
    heard.set()
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert [event.text for event in events if isinstance(event, Activity)] == ["0", "1", "2"]
    assert stopped.value.value == "done"
    mailbox.join(5.0)


def test_what_goes_wrong_in_work_is_raised_where_it_was_asked_for() -> None:
    mailbox = Mailbox()

    def work() -> None:
        raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError, match="oh"):
        list(mailbox.during(work))
    mailbox.join(5.0)


def test_the_end_of_a_job_stays_for_whoever_waits_for_it() -> None:
    mailbox, job = Mailbox(), _Job()
    mailbox.put(JobEnded(job))
    mailbox.put(Activity("between"))
    assert [event for event in mailbox.during(lambda: None) if isinstance(event, Activity)]
    (letter,) = mailbox.take(1.0)
    assert isinstance(letter, JobEnded)
    assert letter.job is job
    mailbox.join(5.0)


def test_a_flood_lets_whoever_takes_letters_go_on() -> None:
    mailbox = Mailbox()
    mailbox.put(Activity("0"))
    taken = 0
    for _ in mailbox.take(1.0):
        taken += 1
        mailbox.put(Activity("more"))  # somebody writes faster than anybody reads
        assert taken < 10
    assert taken == 1
    assert len(list(mailbox.take(0.0))) == 1


def test_output_that_nobody_takes_is_held_up_and_none_is_lost() -> None:
    mailbox, job = Mailbox(), _Printing(3 * MOST_HELD // BLOCK)
    mailbox.follow(job, 1)
    assert job.paused.wait(10.0)
    waiting = mailbox._letters.qsize() * BLOCK
    assert waiting <= MOST_HELD + BLOCK
    taken = 0
    while not isinstance(letter := next(mailbox.take(10.0)), JobEnded):
        assert isinstance(letter, OutputRead)
        taken += len(letter.data)
    assert taken == 3 * MOST_HELD
    mailbox.join(5.0)


def test_a_job_that_still_prints_keeps_nobody_at_the_end() -> None:
    mailbox, job = Mailbox(), _Printing(3 * MOST_HELD // BLOCK)
    mailbox.follow(job, 1)
    assert job.paused.wait(10.0)
    mailbox.join(10.0)
    assert not any(thread.is_alive() for thread in mailbox._threads)


def test_between_two_trials_nobody_waits_for_the_end_of_a_job() -> None:
    mailbox = Mailbox()
    mailbox.put(JobEnded(_Job()))
    mailbox.put(Activity("event"))
    assert [event for event in mailbox.arrived() if isinstance(event, Activity)]
    assert list(mailbox.take(0.01)) == []
