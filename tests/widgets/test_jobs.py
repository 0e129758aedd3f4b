"""Work off the window's thread: told in order, ended when asked, harmless when its owner is gone."""

import threading
from collections.abc import Iterator

import pytest
import shiboken6
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from suites.errors import BenchwrightError
from widgets import jobs
from widgets.jobs import BackgroundJob


def _reported(job: BackgroundJob) -> list[object]:
    reported: list[object] = []
    job.yielded.connect(lambda value: reported.append(("yielded", value)))
    job.returned.connect(lambda value: reported.append(("returned", value)))
    job.failed.connect(lambda error: reported.append(("failed", str(error))))
    job.finished.connect(lambda: reported.append("finished"))
    return reported


def test_what_is_yielded_arrives_in_order_and_the_end_last(qtbot: QtBot) -> None:
    job = BackgroundJob(lambda: iter(range(3)))
    reported = _reported(job)
    with qtbot.waitSignal(job.finished):
        job.start()
    assert reported == [("yielded", 0), ("yielded", 1), ("yielded", 2), "finished"]
    assert job not in jobs.running()


def test_a_job_that_was_not_started_is_not_waited_for(qtbot: QtBot) -> None:
    assert BackgroundJob(lambda: None) not in jobs.running()


def test_an_error_for_people_arrives_as_it_is_and_a_defect_as_a_sentence(qtbot: QtBot) -> None:
    def refuse() -> object:
        raise BenchwrightError("The host is down.", "Start it.")

    def break_down() -> object:
        raise ZeroDivisionError

    for work, shown in ((refuse, "The host is down. Start it."), (break_down, "ZeroDivisionError")):
        job = BackgroundJob(work)
        reported = _reported(job)
        with qtbot.waitSignal(job.finished):
            job.start()
        assert shown in str(reported[0])


def test_a_cancelled_generator_is_closed_at_its_next_yield(qtbot: QtBot) -> None:
    closed = threading.Event()

    def count() -> Iterator[int]:
        try:
            number = 0
            while True:
                yield number
                number += 1
        finally:
            closed.set()

    job = BackgroundJob(count)
    job.yielded.connect(lambda _value: job.cancel())
    with qtbot.waitSignal(job.finished):
        job.start()
    assert closed.is_set()


def test_work_knows_the_job_it_is_done_for(qtbot: QtBot) -> None:
    job = BackgroundJob(jobs.current)
    with qtbot.waitSignal(job.returned) as returned:
        job.start()
    assert returned.args == [job]
    assert jobs.current() is None
    qtbot.waitUntil(lambda: job not in jobs.running())


def test_a_job_whose_owner_is_gone_ends_in_silence(qtbot: QtBot) -> None:
    going_on = threading.Event()
    owner = QObject()
    job = BackgroundJob(going_on.wait, owner)
    reported = _reported(job)
    job.start()
    with qtbot.waitSignal(owner.destroyed):
        owner.deleteLater()
    assert job.cancelled
    assert job not in jobs.running()
    going_on.set()
    assert job.wait(60.0)
    assert reported == []


@pytest.mark.slow
def test_owners_may_go_while_their_jobs_speak(qtbot: QtBot) -> None:
    def speak() -> Iterator[int]:
        yield from range(2000)

    for _ in range(100):
        owner = QObject()
        work = [BackgroundJob(speak, owner) for _ in range(2)]
        for job in work:
            job.start()
        qtbot.wait(1)
        shiboken6.delete(owner)
    qtbot.waitUntil(lambda: not jobs.running())
