"""Puts back what runs left changed on a host, once the user has agreed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from app.events import HostPutBack
from app.moments import now
from app.plans.tuning import path_title
from remote.privilege import as_root
from remote.tuning import PutBack, notes, put_back
from suites.errors import BenchwrightError

if TYPE_CHECKING:  # the window's first page needs the words below, and no database
    from app.store import Store
    from remote.questions import Asker
    from remote.session import Session
    from remote.tuning import Note

NO_NOTE = "the host has no note of it any more: it has restarted since, or the setting was put back"


def note_text(note: Note) -> str:
    """Return in words what is noted down: ``CPU governor of CPU 0: performance, before powersave``."""
    return f"{path_title(note.path)}: {note.during}, before {note.before}"


def restore(session: Session, asker: Asker, store: Store) -> tuple[PutBack, ...]:
    """Put back whatever is noted down on the session's host; return what became of each setting.

    It is written down in the host's log, and with the runs that had changed the settings, as far as they are in this
    library. Raises PrivilegeError where nobody becomes root.
    """
    host = session.host
    found = notes(session)
    done: tuple[PutBack, ...] = ()
    if found:
        number = store.begin_action(host, "put back settings", f"benchwright hosts restore {shlex.quote(host)}")
        reason = "it did not end"
        try:
            root = as_root(session, asker, f"put back {len(found)} setting{'s' if len(found) > 1 else ''}")
            done = put_back(root)
            reason = ""
        except BenchwrightError as error:
            reason = error.message
            raise
        finally:
            said = "".join(f"{path_title(each.path)}: {each.problem or 'put back'}\n" for each in done)
            store.end_action(number, None if reason else 0, said.encode(), reason)
    known = {each.path: each for each in done}
    for change in store.pending_changes(host):
        path = change.change.path
        back = known.get(path, PutBack(path, change.run_id, NO_NOTE))
        store.put_back(change.run_id, HostPutBack(host, path, now(), back.problem, back.kept))
    return done
