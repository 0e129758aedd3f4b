"""Questions of a run come one at a time, and are counted whoever asks them: a host that waits for one is not late."""

import threading

from app.runs.event_queue import EventQueue
from app.runs.questions import SerialAsker
from remote.questions import LossQuestion
from tests.lab_sshd import AnsweringAsker

QUESTION = LossQuestion("web-1", "/dev/sdb", (("size", "10 GB"),), "sdb", "name")


def test_a_question_counts_on_the_thread_that_hands_events_on_and_on_any_other() -> None:
    queue = EventQueue()
    asking = SerialAsker(AnsweringAsker(), queue)
    list(queue.arrived(0.0))  # this thread hands events on
    asking.confirm_loss(QUESTION)
    assert asking.question_count == 1
    thread = threading.Thread(target=asking.confirm_loss, args=(QUESTION,))
    thread.start()
    while thread.is_alive():
        list(queue.arrived(0.1))
    assert asking.question_count == 2
