"""Read the facts of a host with one script and parse its output."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from remote.errors import RemoteError
from remote.facts.block import Disks, block_devices
from remote.facts.cpu import cpu_facts
from remote.facts.items import Items, parse_items
from remote.facts.mounts import directories as found_directories
from remote.facts.mounts import file_systems, parse_mounts
from remote.facts.system import cloud_facts, interfaces, memory_facts, system_facts
from remote.facts.tools import measured, probe_arguments, tools
from remote.questions import plain
from remote.script import new_mark, run_script
from remote.session import Session
from suites import registry
from suites.facts import Facts

SCRIPT = "facts.sh"

TIMEOUT = 15.0
"""Seconds; the script takes under 1 s, and kills a hanging program after 1-2 s."""

ANSWER_LIMIT = 2**20
"""Largest output in bytes; typical is 15 kB."""


class ProbeError(RemoteError):
    """A host returned no facts."""


def read_facts(session: Session, directories: Sequence[str] = ()) -> Facts:
    """Read the facts of the session's host, of the test `directories` and of the suites' programs.

    Takes under 1 s, needs no root and changes nothing. A fact that cannot be read is absent with the reason. Raises
    ProbeError if the host runs no shell script, and what `run_script` raises.
    """
    mark, programs = new_mark(), probe_arguments(registry.programs())
    read_at = datetime.now(UTC).isoformat(timespec="seconds")
    sent = time.time()
    completed = run_script(session, SCRIPT, mark, mark, *programs, *directories, timeout=TIMEOUT, limit=ANSWER_LIMIT)
    received = time.time()
    items = parse_items(completed.stdout, mark)
    if not items.values:
        output = plain(completed.stderr or completed.stdout)
        raise ProbeError(
            f"{session.host}: facts could not be read{f': “{output}”' if output else ''}.",
            "Check that the account has a POSIX shell and may run commands.",
            host=session.host,
        )
    return understand(items, session.host, read_at, sent, received)


def understand(items: Items, host: str, read_at: str, sent: float, received: float) -> Facts:
    """Return the facts in `items`; `sent` and `received` are this computer's clock (epoch seconds) around the probe."""
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
        tools=tools(items, registry.programs()),
    )
