"""A wall clock that is set during a run is noticed, said, and changes neither order nor rates."""

import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.events import Event, FindingRaised, State
from app.plans.plan import LOCAL
from app.runs.findings import CLOCK_STEPPED, clock_offset_changed
from app.services import Workstation
from remote.local import LocalSession
from remote.probe import read_facts
from suites.facts import Facts
from tests.app.test_false_warnings import server
from tests.lab.counting import counting_plan
from tests.lab.survival import at_count, end, run

HOUR = 3600


@pytest.fixture
def ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that says how many seconds the clock of this computer goes ahead, as far as `date` tells.

    Telemetry's program reads the clock itself; its script uses `date`.
    """
    monkeypatch.setattr("remote.telemetry.telemetry.program", lambda _architecture: b"")
    offset, folder = tmp_path / "ahead", tmp_path / "bin"
    offset.write_text("0")
    folder.mkdir()
    date = folder / "date"
    date.write_text(f"""#!/bin/sh
case $* in
    +%s.%N) /bin/date -d "$(cat {offset}) seconds" +%s.%N ;;
    *) exec /bin/date "$@" ;;
esac
""")
    date.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return offset


@pytest.mark.slow
def test_a_step_is_a_finding_of_its_trial(workstation: Workstation, ahead: Path) -> None:
    def set_clock() -> None:
        ahead.write_text(str(HOUR))

    events = run(workstation, counting_plan(230, host=LOCAL), at_count(60, set_clock))
    assert end(events).state is State.DONE
    (step,) = [event for event in events if stepped(event)]
    assert isinstance(step, FindingRaised)
    assert (step.trial, step.finding.host) == (1, LOCAL)
    assert re.search(r"stepped forward by (3599\.9|3600\.[01]) s", step.finding.measured)
    (stored,) = [found for found in workstation.load("last").findings if found.id == CLOCK_STEPPED]
    assert stored == step.finding
    times = [sample.time for sample in workstation.telemetry("last")[LOCAL] if sample.metric.name == "cpu_idle"]
    assert times == sorted(times)
    assert times[-1] - times[0] < 60
    assert all(0 <= sample.value < 1e12 for sample in workstation.telemetry("last")[LOCAL])


def stepped(event: Event) -> bool:
    return isinstance(event, FindingRaised) and event.finding.id == CLOCK_STEPPED


@pytest.mark.slow
def test_a_clock_step_without_telemetry_is_found_by_the_offsets(ahead: Path) -> None:
    session = LocalSession()
    before = read_facts(session)
    assert clock_offset_changed(LOCAL, before, read_facts(session)) == []
    ahead.write_text("-30")
    (finding,) = clock_offset_changed(LOCAL, before, read_facts(session))
    assert finding.id == CLOCK_STEPPED
    assert re.search(r"before, −(29\.\d+|30\S*) \(\S+ to \S+\) s after the run", finding.measured)
    session.close()


def test_a_change_of_the_offset_counts_beyond_its_uncertainty() -> None:
    def at(offset: float, uncertainty: float) -> Facts:
        given = server()
        system = replace(given.system, clock_offset=offset, clock_offset_uncertainty=uncertainty)
        return replace(given, system=system, read_at=datetime.now(UTC).isoformat())

    for uncertainty, silent, reported in ((0.001, 0.2, 0.3), (0.5, 1.2, 1.3), (5.0, 10.2, 10.3)):
        before = at(0.1, uncertainty)
        assert clock_offset_changed("web-1", before, at(0.1 + silent, uncertainty)) == []
        assert clock_offset_changed("web-1", before, at(0.1 - silent, uncertainty)) == []
        (finding,) = clock_offset_changed("web-1", before, at(0.1 + reported, uncertainty))
        assert " to " in finding.measured
