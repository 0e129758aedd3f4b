"""The file of the queue, shared by all processes of the user on this computer."""

import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from app.queue.entries import EntryState, QueueEntry
from app.queue.machines import Machine
from app.runs.control import BusyPolicy
from app.store.ownership import Owner, this_process
from remote.locked_file import hold, is_held, locked
from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

T = TypeVar("T")

QUEUE_FORMAT = "benchwright-queue-file/1"

LARGEST = 32 * 2**20
"""Size limit of the file in bytes."""

MOST_BOOTS = 1000
"""Boot ids kept, the newest."""


@dataclass(slots=True)
class QueueContent:
    """The entries in order, and the boot id last seen at each address."""

    entries: list[QueueEntry] = field(default_factory=list)
    boots: dict[str, str] = field(default_factory=dict)


class QueueFile:
    """The queue's content in the JSON file at `path`. Methods may be called from any thread.

    Without a usable file the content is that of this process alone: a run must not fail because of the queue.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._content = QueueContent()

    def update(self, change: Callable[[QueueContent], T]) -> T:
        """Return what `change` returns for the content, and store the content if it changed."""
        try:
            with locked(self.path):
                return self._change(change)
        except OSError as error:
            log.warning("the queue is not shared: %s", error)
            return change(self._content)

    def _change(self, change: Callable[[QueueContent], T]) -> T:
        before = self._read()
        content = _content(before)
        self._drop_dead(content)
        self._content = content
        made = change(content)
        after = _document(self._content)
        if after != before:
            self._write(after)
        return made

    def _drop_dead(self, content: QueueContent) -> None:
        """Remove what ended processes left: runs under way (see detached runs), what they alone would have started."""
        me, alive = this_process(), self.path.with_suffix(".alive")
        hold(alive, me.number)
        owners = {entry.owner for entry in content.entries if entry.owner is not None} - {me}
        dead = {owner for owner in owners if not is_held(alive, owner.number)}
        content.entries = [
            replace(entry, owner=None) if entry.owner in dead else entry
            for entry in content.entries
            if entry.owner not in dead or (entry.stays and not entry.running)
        ]

    def _read(self) -> dict[str, Any]:
        try:
            with self.path.open("rb") as file:
                found = json.loads(file.read(LARGEST))
            if isinstance(found, dict) and found.get("format") == QUEUE_FORMAT:
                return found
        except FileNotFoundError:
            return {}
        except ValueError:
            log.warning("the queue in %s is damaged", self.path)
        with suppress(OSError):  # kept for the user, and out of the way
            self.path.replace(self.path.with_suffix(".damaged"))
        return {}

    def _write(self, document: Mapping[str, Any]) -> None:
        """Replace the file. Not synchronised to the disk, which could disturb a run; a crash may lose the queue."""
        handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(document, file)
            Path(name).replace(self.path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise


def _document(content: QueueContent) -> dict[str, Any]:
    boots = dict(list(content.boots.items())[-MOST_BOOTS:])
    return {"format": QUEUE_FORMAT, "entries": [_entry_to_json(entry) for entry in content.entries], "boots": boots}


def _content(document: Mapping[str, Any]) -> QueueContent:
    """Return the content of a document; entries that this version cannot read are left out and logged."""
    made = QueueContent(boots=dict(document.get("boots", {})))
    for written in document.get("entries", ()):
        try:
            made.entries.append(_entry_from_json(written))
        except (KeyError, TypeError, ValueError, BenchwrightError):
            log.warning("an entry of the queue cannot be read", exc_info=True)
    return made


_PLAIN = (
    "id", "library", "session_series", "detached", "waits", "stays", "run", "done", "ends", "lost", "refused",
    "retry_at",
)  # fmt: skip


def _entry_to_json(entry: QueueEntry) -> dict[str, Any]:
    from app.formats import plan_to_json

    owner = entry.owner
    return {
        **{name: getattr(entry, name) for name in _PLAIN},
        "plan": plan_to_json(entry.plan),
        "machines": [[machine.name, sorted(machine.keys)] for machine in entry.machines],
        "state": entry.state.value,
        "busy": entry.busy.value,
        "owner": None if owner is None else [owner.pid, owner.boot, owner.started, owner.space, owner.where],
    }


def _entry_from_json(written: Mapping[str, Any]) -> QueueEntry:
    from app.formats import plan_from_json

    return QueueEntry(
        **{name: written[name] for name in _PLAIN if name in written},
        plan=plan_from_json(written["plan"]),
        machines=_machines(written["machines"]),
        state=EntryState(written["state"]),
        busy=BusyPolicy(written["busy"]),
        owner=None if written["owner"] is None else Owner(*written["owner"]),
    )


def _machines(written: Sequence[Sequence[Any]]) -> tuple[Machine, ...]:
    return tuple(Machine(name, frozenset(keys)) for name, keys in written)
