"""Tasks that go on side by side in one thread: generators of events that yield IDLE where they wait."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from app.events import Event
from app.runs.mailbox import IDLE
from suites.errors import BenchwrightError


class DefectError(BenchwrightError):
    """A task failed by a defect of Benchwright, which is in the log: the other tasks go on."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"Benchwright failed ({type(error).__name__}).", "See the log.")


@dataclass(slots=True, eq=False)
class Task:
    """What is done on `hosts`. What it raises ends it."""

    work: Iterator[Event]
    hosts: frozenset[str] = frozenset()
    over: bool = False

    def step(self) -> Iterator[Event]:
        """Go on until it waits or is over; yield what happens."""
        try:
            for event in self.work:
                if event is IDLE:
                    return
                yield event
        except BaseException:
            self.over = True
            raise
        self.over = True


def stepped(tasks: list[Task]) -> Iterator[Event]:
    """Let each of `tasks` go on until it waits; yield what happens, and drop those that are over."""
    for task in tuple(tasks):
        try:
            yield from task.step()
        finally:
            if task.over and task in tasks:
                tasks.remove(task)


def together(works: Iterable[Iterator[Event]]) -> Iterator[Event]:
    """Do all `works` side by side to their ends; yield what happens."""
    tasks = [Task(work) for work in works]
    while tasks:
        yield from stepped(tasks)
        if tasks:
            yield IDLE
