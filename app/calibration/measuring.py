"""Measures the instrument on a host: its clock, its timers, and the way to it. Takes a second; leaves nothing."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.calibration.calibration import Instrument
from app.plans.context import ON_EVERY_HOST
from remote.errors import RemoteError
from remote.jobs.build import BuildError, build_program
from remote.jobs.files import put_file
from remote.jobs.workspace import Workspace, make_workspace, remove_workspace
from remote.plain import plain
from remote.session import Session
from resources import read_bytes
from suites.facts import Facts, known
from suites.probe.probe import shipped_resource

ROUND_TRIPS = 20
"""Commands that do nothing, of which the median and the worst are told."""

PATIENCE = 20.0
"""Seconds the probe may take; it takes under one where timers keep their time."""

BUILD_PATIENCE = 60.0
"""Seconds a compiler on the host may take."""

_SOURCES = ("probes/clock.c", "probes/probe.h")
_OPTIONS = ("-std=gnu11", "-O2", "-pthread")
_CLOCK = ("clock_resolution", "clock_cost", "sleep_late", "sleep_late_worst")


def measure_instrument(session: Session, facts: Facts) -> Instrument:
    """Return what measuring costs on the session's host; what cannot be measured is absent with the reason.

    Raises what `Session.run` raises where the connection is lost.
    """
    found: dict[str, Any] = {"clock_source": known(facts.system.clock_source)}
    absent: dict[str, str] = {}
    trips = [_round_trip(session) for _ in range(ROUND_TRIPS)]
    found |= {"round_trip": statistics.median(trips), "round_trip_worst": max(trips)}
    try:
        found |= _clock(session, known(facts.system.architecture) or "")
    except RemoteError as error:
        absent["clock"] = error.message
    return Instrument(**found, absent=absent)


def _round_trip(session: Session) -> float:
    began = time.monotonic()
    session.run(["true"])
    return time.monotonic() - began


def _clock(session: Session, architecture: str) -> dict[str, float]:
    """Return what the probe of clocks and timers prints; raise RemoteError where it cannot be built or run."""
    with _workspace(session) as workspace:
        _bring(session, workspace, architecture)
        done = session.run([f"{workspace.path}/clock"], timeout=PATIENCE, limit=65536)
    if done.exit_status != 0:
        raise RemoteError(f"The probe of the clock failed: {plain(done.stderr) or 'it said nothing'}.")
    return dict(_results(done.stdout.decode("utf-8", "replace")))


def _results(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines()[:100]:
        words = line.split()
        if len(words) == 3 and words[0] == "result" and words[1] in _CLOCK:
            try:
                value = float(words[2])
            except ValueError:
                continue
            if 0 < value < PATIENCE:  # not what overflowed, nor what is no number
                yield words[1], value


@contextmanager
def _workspace(session: Session) -> Iterator[Workspace]:
    workspace = make_workspace(session, ON_EVERY_HOST)
    try:
        yield workspace
    finally:
        remove_workspace(session, workspace)


def _bring(session: Session, workspace: Workspace, architecture: str) -> None:
    """Put the probe into the workspace: the shipped one, else built here, or there where this computer cannot."""
    try:
        shipped = shipped_resource("clock", architecture)
        program = read_bytes(shipped) if shipped else build_program(_SOURCES, architecture, _OPTIONS)
    except BuildError:
        for source in _SOURCES:
            put_file(session, workspace, source.rpartition("/")[2], read_bytes(source))
        words = ["cc", *_OPTIONS, "-o", f"{workspace.path}/clock", f"{workspace.path}/clock.c"]
        done = session.run(words, timeout=BUILD_PATIENCE)
        if done.exit_status == 0:
            return
        raise
    put_file(session, workspace, "clock", program, executable=True)
