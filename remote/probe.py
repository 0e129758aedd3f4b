"""Read the facts of a host with one script and parse its output."""

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from remote.errors import RemoteError
from remote.facts.block import Disks, block_devices
from remote.facts.cpu import cpu_facts
from remote.facts.items import Items, number, parse_items
from remote.facts.load import foreign_cpu, foreign_disks, foreign_processes, watched_seconds
from remote.facts.mounts import directories as found_directories
from remote.facts.mounts import file_systems, parse_mounts
from remote.facts.system import Exchange, cloud_facts, interfaces, memory_facts, system_facts
from remote.facts.tools import probe_arguments, tools, urandom_rate
from remote.questions import plain
from remote.script import new_mark, run_script
from remote.session import Session
from suites import registry
from suites.facts import Absent, Facts, ProbeMeasurements

SCRIPT = "facts.sh"

WATCH = 3.0
"""Seconds in which background load is counted before a plan is judged or run."""

LOAD_WATCH = 1.0
"""Seconds in which it is counted by read_load()."""

LOOK = 0.3
"""Seconds in which it is counted at least where only the other facts matter."""

EXCHANGES = 6
"""Readings of the host's clock; the one with the shortest round trip counts."""

CLOCK_TIMEOUT = 2.0
"""Seconds for all of them."""

_CLOCK = 'while read -r n; do printf "@@%s %s " "$0" "$n"; date +%s.%N; done'
"""Prints the time for each line read. Without backslash, exclamation mark and line break: see command_line."""

TIMEOUT = 15.0
"""Seconds; the script takes under 1 s, and kills a hanging program after 1-2 s."""

ANSWER_LIMIT = 2**20
"""Largest output in bytes; typical is 15 kB."""


class ProbeError(RemoteError):
    """A host returned no facts."""


def read_facts(session: Session, directories: Sequence[str] = (), *, watch: bool = False) -> Facts:
    """Read the facts of the session's host, of the test `directories` and of the suites' programs.

    Takes under 1 s, or with `watch` WATCH seconds, in which background load is counted; needs no root and changes
    nothing. A fact that cannot be read is absent with the reason. Raises ProbeError if the host runs no shell script,
    and what `run_script` raises.
    """
    mark, programs = new_mark(), (str(round(100 * (WATCH if watch else LOOK))), *probe_arguments(registry.programs()))
    read_at = datetime.now(UTC).isoformat(timespec="seconds")
    completed = run_script(session, SCRIPT, mark, mark, *programs, *directories, timeout=TIMEOUT, limit=ANSWER_LIMIT)
    items = parse_items(completed.stdout, mark)
    if not items.values:
        output = plain(completed.stderr or completed.stdout)
        raise ProbeError(
            f"{session.host}: facts could not be read{f': “{output}”' if output else ''}.",
            "Check that the account has a POSIX shell and may run commands.",
            host=session.host,
        )
    return understand(items, session.host, read_at, read_clock(session))


def read_load(session: Session, container: str | Absent) -> ProbeMeasurements:
    """Return the background load of the session's host in the next LOAD_WATCH seconds, and nothing else of it.

    `container` is that of its facts. Absent with the reason is what cannot be read. Raises what `run_script` raises.
    """
    mark, hundredths = new_mark(), str(round(100 * LOAD_WATCH))
    completed = run_script(session, SCRIPT, mark, mark, hundredths, timeout=TIMEOUT, limit=ANSWER_LIMIT)
    items = parse_items(completed.stdout, mark)
    return _load(items, container, Disks.parse(items))


def _load(items: Items, container: str | Absent, disks: Disks) -> ProbeMeasurements:
    return ProbeMeasurements(
        urandom_rate=urandom_rate(items),
        watched=watched_seconds(items),
        foreign_cpu=foreign_cpu(items),
        foreign_processes=foreign_processes(items, container),
        foreign_disks=foreign_disks(items, disks),
    )


def read_clock(session: Session) -> list[Exchange]:
    """Return readings of the host's clock; none if its date prints whole seconds, or nothing in time."""
    mark, found, text = new_mark(), list[Exchange](), b""
    deadline = time.monotonic() + CLOCK_TIMEOUT
    channel = session.open(["sh", "-c", _CLOCK, mark], keep_input=True)
    try:
        for number_of_line in range(EXCHANGES):
            sent, line = time.time(), None
            channel.send(b"%d\n" % number_of_line, last=False)
            wanted = re.compile(rb"@@%s %d ([^\n]{1,64})\n" % (mark.encode(), number_of_line))
            while line is None and not channel.ended and time.monotonic() < deadline and len(text) < LONGEST_CLOCK:
                text += b"".join(chunk.data for chunk in channel.read(0.2) if chunk.stream == "stdout")
                line = wanted.search(text)
            whole_seconds = line is None or line[1].endswith(b".")  # busybox may omit an unknown %N
            epoch = None if whole_seconds or line is None else number(line[1].decode("ascii", "replace"), high=1e11)
            if epoch is None:
                break
            found.append(Exchange(sent, epoch, time.time()))
    finally:
        channel.close()
    return found


LONGEST_CLOCK = 64 * 1024
"""Most bytes read while the clock is read, the greeting of a shell included."""


def understand(items: Items, host: str, read_at: str, exchanges: Sequence[Exchange] = ()) -> Facts:
    """Return the facts in `items`; `exchanges` are readings of the host's clock."""
    system = system_facts(items, exchanges)
    disks = Disks.parse(items)
    mounts = parse_mounts(items.text("mounts"))
    return Facts(
        host=host,
        read_at=read_at,
        system=system,
        cloud=cloud_facts(items),
        cpu=cpu_facts(items, system.virtualisation),
        memory=memory_facts(items),
        measured=_load(items, system.container, disks),
        block_devices=block_devices(items, disks),
        file_systems=file_systems(items, mounts),
        directories=found_directories(items, mounts, disks),
        interfaces=interfaces(items),
        tools=tools(items, registry.programs()),
    )
