"""Letters are handed on while something else is waited for, in order and without loss."""

import threading

import pytest

from app.events import Activity, Event
from app.runs.mailbox import JobEnded, Mailbox
from remote.jobs.job import Job


class _Job(Job):
    """A job of which only its end matters here."""

    def __init__(self) -> None:
        pass


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


def test_between_two_trials_nobody_waits_for_the_end_of_a_job() -> None:
    mailbox = Mailbox()
    mailbox.put(JobEnded(_Job()))
    mailbox.put(Activity("event"))
    assert [event for event in mailbox.arrived() if isinstance(event, Activity)]
    assert list(mailbox.take(0.01)) == []
