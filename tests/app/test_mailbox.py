"""Letters are handed on while something else is waited for, in order and without loss, each trial's to it alone."""

import threading
import time
from collections.abc import Iterator

import pytest

from app.events import Activity, Event, FindingRaised, LinkChanged, OutputRead
from app.runs.findings import no_lease
from app.runs.mailbox import IDLE, MOST_HELD, JobEnded, Letter, Mailbox
from remote.jobs.job import Began, Job
from remote.link import LinkState
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


def lost(host: str) -> LinkChanged:
    return LinkChanged(host, LinkState.LOST, 0.0)


def test_work_is_waited_for_without_keeping_anybody() -> None:
    mailbox, heard = Mailbox(), threading.Event()

    def work() -> str:
        mailbox.put(Activity("from the thread"))
        assert heard.wait(5.0)
        return "done"

    found: list[str] = []

    def waiting() -> Iterator[Event]:
        found.append((yield from mailbox.during(work)))

    generator = waiting()
    assert next(generator) is IDLE
    assert list(mailbox.arrived(5.0)) == [Activity("from the thread")]
    heard.set()
    for event in generator:
        assert event is IDLE
        list(mailbox.arrived(0.1))
    assert found == ["done"]
    mailbox.join(5.0)


def test_what_goes_wrong_in_work_is_raised_where_it_was_asked_for() -> None:
    mailbox = Mailbox()

    def work() -> None:
        raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError, match="oh"):
        list(mailbox.during(work))
    mailbox.join(5.0)


def test_each_trial_gets_its_own_letters_and_everybody_the_rest() -> None:
    mailbox = Mailbox()
    one, two = mailbox.inbox(1, "web-1"), mailbox.inbox(2, "web-2")
    ended = JobEnded(_Job(), None, 2)
    finding = FindingRaised(no_lease("web-1"))
    letters: list[Letter] = [
        OutputRead(1, "stdout", b"a"), ended, lost("web-2"), lost("web-3"), finding, OutputRead(3, "stdout", b"b"),
    ]  # fmt: skip
    for letter in letters:
        mailbox.put(letter)
    passed: list[Event] = list(mailbox.arrived(1.0))
    assert passed == [letters[2], letters[3], letters[5]]  # what becomes of a link concerns everybody
    assert list(one.take()) == [letters[0], finding]
    assert list(two.take()) == [ended, letters[2]]


def test_what_a_trial_did_not_take_is_for_everybody() -> None:
    mailbox = Mailbox()
    inbox = mailbox.inbox(1, "web-1")
    finding = FindingRaised(no_lease("web-1"))
    mailbox.put(finding)
    assert list(mailbox.arrived(1.0)) == []
    inbox.close()
    mailbox.put(JobEnded(_Job(), None, 1))  # nobody waits for it any more
    assert list(mailbox.arrived(1.0)) == [finding]


def test_a_link_that_changes_is_told_once_and_at_once_though_its_trial_takes_no_letters() -> None:
    mailbox = Mailbox()
    inbox = mailbox.inbox(1, "web-1")
    mailbox.put(lost("web-1"))
    assert list(mailbox.arrived(1.0)) == [lost("web-1")]
    inbox.close()
    mailbox.put(Activity("later"))
    assert list(mailbox.arrived(1.0)) == [Activity("later")]


def test_a_flood_lets_whoever_takes_letters_go_on() -> None:
    mailbox = Mailbox()
    mailbox.put(Activity("0"))
    taken = 0
    for _ in mailbox.arrived(1.0):
        taken += 1
        mailbox.put(Activity("more"))  # somebody writes faster than anybody reads
        assert taken < 10
    assert taken == 1
    assert len(list(mailbox.arrived(0.0))) == 1


def test_output_that_nobody_takes_is_held_up_and_none_is_lost() -> None:
    mailbox, job = Mailbox(), _Printing(3 * MOST_HELD // BLOCK)
    inbox = mailbox.inbox(1, "web-1")
    mailbox.follow(job, 1)
    assert job.paused.wait(10.0)
    list(mailbox.arrived(1.0))
    time.sleep(0.1)
    assert len(inbox._letters) * BLOCK <= MOST_HELD + BLOCK
    taken, ended = 0, False
    while not ended:
        for letter in inbox.take():
            ended = isinstance(letter, JobEnded)
            taken += len(letter.data) if isinstance(letter, OutputRead) else 0
        list(mailbox.arrived(0.1))
    assert taken == 3 * MOST_HELD
    mailbox.join(5.0)


def test_a_job_that_still_prints_keeps_nobody_at_the_end() -> None:
    mailbox, job = Mailbox(), _Printing(3 * MOST_HELD // BLOCK)
    mailbox.follow(job, 1)
    assert job.paused.wait(10.0)
    mailbox.join(10.0)
    assert not any(thread.is_alive() for thread in mailbox._threads)


def test_a_thread_has_the_reader_of_letters_do_something() -> None:
    mailbox, found = Mailbox(), []
    thread = threading.Thread(target=lambda: found.append(mailbox.call(threading.get_ident)))
    thread.start()
    while not found:
        list(mailbox.arrived(0.1))
    thread.join()
    assert found == [threading.get_ident()]


def test_where_nobody_reads_letters_any_more_nothing_is_done() -> None:
    mailbox = Mailbox()
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            mailbox.call(lambda: None)
        except TimeoutError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    mailbox.close()
    thread.join(5.0)
    assert failed
