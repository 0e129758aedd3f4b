"""Read the facts of a host: one script sent, its answer understood here."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from remote.errors import RemoteError
from remote.facts.block import Disks, block_devices
from remote.facts.cloud import cloud_facts
from remote.facts.cpu import cpu_facts
from remote.facts.items import Items, parse_items
from remote.facts.memory import memory_facts
from remote.facts.mounts import directories as found_directories
from remote.facts.mounts import file_systems, parse_mounts
from remote.facts.network import interfaces
from remote.facts.system import system_facts
from remote.facts.tools import measured, tools
from remote.plain import plain
from remote.script import new_mark, run_script
from remote.session import Session
from suites.facts import Facts

SCRIPT = "facts.sh"

TIMEOUT = 15.0
"""Seconds; the script takes under one, and kills what hangs after one or two."""

ANSWER_LIMIT = 2**20
"""Bytes of the whole answer; an ordinary host's has about 15,000."""


class ProbeError(RemoteError):
    """A host did not answer the probe."""


def read_facts(session: Session, directories: Sequence[str] = ()) -> Facts:
    """Read the facts of the session's host, and of the `directories` a disk test is to write in.

    Takes well under a second, needs no root, and leaves nothing behind. What cannot be read is absent with the
    reason. Raises ProbeError where the host runs no shell script, and what `run_script` raises.
    """
    mark = new_mark()
    read_at = datetime.now(UTC).isoformat(timespec="seconds")
    sent = time.time()
    completed = run_script(session, SCRIPT, mark, mark, *directories, timeout=TIMEOUT, limit=ANSWER_LIMIT)
    received = time.time()
    items = parse_items(completed.stdout, mark)
    if not items.values:
        said = plain(completed.stderr or completed.stdout)
        raise ProbeError(
            f"{session.host} did not answer when asked what it is{f': “{said}”' if said else ''}.",
            "Check that the account has a POSIX shell and may run commands.",
            host=session.host,
        )
    return understand(items, session.host, read_at, sent, received)


def understand(items: Items, host: str, read_at: str, sent: float, received: float) -> Facts:
    """Return the facts in `items`; `sent` and `received` are the workstation's epoch around the probe."""
    system = system_facts(items, sent, received)
    disks = Disks.parse(items)
    mounts = parse_mounts(items.text("mounts"))
    return Facts(
        host=host,
        read_at=read_at,
        system=system,
        cloud=cloud_facts(items),
        cpu=cpu_facts(items, system.virtualisation),
        memory=memory_facts(items),
        measured=measured(items),
        block_devices=block_devices(items, disks),
        file_systems=file_systems(items, mounts),
        directories=found_directories(items, mounts, disks),
        interfaces=interfaces(items),
        tools=tools(items),
    )
