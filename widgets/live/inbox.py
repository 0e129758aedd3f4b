"""Between the thread that runs and the window's: thousands of events a second become a few dozen deliveries.

The thread announces only the first event since the window last looked, so a lone event arrives at once, and a flood
cannot fill the window's queue. Raw output for the eye is bounded here; the store has every byte.
"""

import threading
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from app.events import Event, OutputRead

PERIOD = 0.03
"""Seconds between two deliveries while events keep coming."""

OUTPUT_LIMIT = 64 * 1024
"""Bytes of raw output shown of one delivery: 2 MB/s, more than anybody reads."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What arrived since the last look. `unshown` bytes of raw output were too many to show."""

    events: tuple[Event, ...]
    output: tuple[OutputRead, ...]
    unshown: int


class Inbox:
    """Events on their way to the window. `put` belongs to the thread that runs, `take` to the window's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._output: deque[OutputRead] = deque()
        self._waiting = 0
        self._unshown = 0
        self._armed = True

    def put(self, event: Event) -> bool:
        """Take an event in; return whether the window has to be told."""
        with self._lock:
            if isinstance(event, OutputRead):
                self._keep(event)
            else:
                self._events.append(event)
            tell, self._armed = self._armed, False
            return tell

    def take(self) -> Batch:
        """Return what has arrived. After an empty batch, the next event is announced again."""
        with self._lock:
            batch = Batch(tuple(self._events), tuple(self._output), self._unshown)
            self._armed = not self._events and not self._output
            self._events.clear()
            self._output.clear()
            self._waiting = self._unshown = 0
            return batch

    def pump(self, events: Iterator[Event]) -> Iterator[None]:
        """Take in `events`; yield whenever the window has to be told. Closing this closes `events`."""
        try:
            for event in events:
                if self.put(event):
                    yield None
        finally:
            if isinstance(events, Generator):
                events.close()

    def _keep(self, output: OutputRead) -> None:
        """Keep the newest OUTPUT_LIMIT bytes."""
        cut = output.data[-OUTPUT_LIMIT:]
        self._unshown += len(output.data) - len(cut)
        self._output.append(OutputRead(output.trial, output.stream, cut))
        self._waiting += len(cut)
        while self._waiting > OUTPUT_LIMIT and len(self._output) > 1:
            dropped = len(self._output.popleft().data)
            self._waiting -= dropped
            self._unshown += dropped
