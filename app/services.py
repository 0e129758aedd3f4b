"""The only door the window and the command line use: hosts, facts, plans, runs, library, comparison, export.

Every method may block on a network, a file or the database, and is called from a worker thread, never from the
window's own. All of them may be called from several threads at once. They raise BenchwrightError for people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from app.compare import Comparison
    from app.events import Event
    from app.hosts import ConnectReport, HostEntry
    from app.plan import Plan, Step
    from app.records import Band, RunRecord, RunSummary, SampleSeries
    from app.run import Control
    from remote.questions import Asker
    from suites.facts import Facts
    from suites.vocab import Finding, Sample


class Workstation:
    """Everything the workstation does."""

    def __init__(self, store: Path | None = None) -> None:
        """Use the store at `store`, or the one in the user's data folder. Nothing is opened yet."""

    # Hosts
    def hosts(self) -> list[HostEntry]:
        """Return this computer, the saved hosts, and the aliases of ~/.ssh/config, in this order."""

    def save_host(self, entry: HostEntry) -> None:
        """Add or replace a host."""

    def remove_host(self, name: str) -> None:
        """Forget a saved host. Its runs stay in the library."""

    def test_connection(self, name: str, asker: Asker) -> ConnectReport:
        """Connect and say how it went; never raises for a failure to connect."""

    def facts(self, name: str, asker: Asker, directories: Sequence[str] = ()) -> Facts:
        """Read the facts of a host, and of the `directories` a disk test is to write in."""

    def install(self, name: str, command: str, asker: Asker) -> Iterator[str]:
        """Run the command that installs a tool, which the user has agreed to; yield its output line by line."""

    # Plans
    def new_plan(self, hosts: Sequence[str], suites: Sequence[str], facts: Mapping[str, Facts], name: str) -> Plan:
        """Return a plan with every suite's parameters tuned to the first host."""

    def quick_plan(self, host: str, facts: Facts) -> Plan:
        """Return the quick benchmark: CPU, memory and disk within about a minute and a half."""

    def load_plan(self, path: Path) -> Plan: ...

    def save_plan(self, plan: Plan, path: Path) -> None: ...

    def check(self, plan: Plan, facts: Mapping[str, Facts]) -> list[Finding]:
        """Run the checks of *before*."""

    def apply(self, plan: Plan, finding: Finding) -> Plan:
        """Return the plan with the finding's changes made to its step."""

    def preview(self, plan: Plan, facts: Mapping[str, Facts]) -> list[StepPreview]:
        """Return for each host and step the exact commands and what they will take."""

    # Runs
    def run(self, plan: Plan, asker: Asker, control: Control) -> Iterator[Event]:
        """Run the plan, storing every event before yielding it. Closing the iterator stops the run."""

    # Library
    def runs(self) -> list[RunSummary]: ...

    def load(self, run: str) -> RunRecord:
        """Return a run by id, by an unambiguous beginning of it, by the name it is pinned under, or "last"."""

    def samples(self, run_id: str) -> SampleSeries: ...

    def telemetry(self, run_id: str) -> Mapping[str, tuple[Sample, ...]]: ...

    def output(self, run_id: str, trial: int) -> Mapping[str, bytes]: ...

    def delete(self, run_id: str) -> None: ...

    # Baselines
    def pin(self, run_id: str, name: str) -> None: ...

    def unpin(self, name: str) -> None: ...

    def bands(self, step: Step, host: str) -> list[Band]:
        """Return the bands of the pinned baseline that measured the same as `step`, the newest pinned first."""

    # Comparison and export
    def compare(self, runs: Sequence[str], margin: float = 0.05) -> Comparison:
        """Compare runs with the first of them."""

    def export_csv(self, runs: Sequence[str], path: Path) -> list[Path]:
        """Write the summary to `path` and the tidy samples beside it; return both."""

    def export_png(self, runs: Sequence[str], path: Path) -> Path:
        """Write the report picture."""
