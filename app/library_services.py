"""What the workstation does with what was measured: the library, baselines, comparison, ranking, history, export."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from app.baselines.baselines import Baseline
    from app.calibration.calibration import Calibration
    from app.comparing.compare import Comparison
    from app.comparing.gathering import Gathering
    from app.comparing.levels import WithinTrials
    from app.distributions.describing import Describing
    from app.history.history import History, Wanted
    from app.opinion.agreement import Agreement
    from app.opinion.proposing import Proposal
    from app.plans.plan import Plan, Step
    from app.plans.plan_remarks import Acknowledged
    from app.ranking.ranking import Question, Ranking
    from app.records import Band, RunRecord, RunSummary, SampleSeries
    from app.store import Store
    from app.store.errors import StoreError
    from suites.facts import Facts
    from suites.vocab import Sample


class LibraryServices(ABC):
    """The part of the workstation that needs no host. Its promises are those of app.services."""

    _judged: dict[str, RunSummary]
    """Runs without a stored verdict that were judged when they were read, by id; nothing of it is stored."""

    @property
    @abstractmethod
    def _store(self) -> Store:
        """The store, opened on first use."""

    # Library

    def read_only(self) -> StoreError | None:
        """Return why the library can only be read: its format is newer, or its disk takes nothing. None for neither."""
        return self._store.read_only()

    def check_writable(self) -> None:
        """Raise StoreError where nothing can be kept, before anything is measured or done to a host for nothing."""
        refused = self.read_only()
        if refused is not None:
            raise refused

    def runs(self) -> list[RunSummary]:
        """Return every stored run, the newest first; one that was judged when it was read keeps that verdict."""
        from dataclasses import replace

        return [
            run
            if run.trust or (known := self._judged.get(run.id)) is None
            else replace(run, trust=known.trust, limited_by=known.limited_by)
            for run in self._store.runs()
        ]

    def load(self, run: str) -> RunRecord:
        """Return a run by id, by an unambiguous beginning of it, by the name it is pinned under, or "last"."""
        from app.events import State
        from app.judging.judging import judged

        record = self._store.load(run)
        if record.verdicts or record.summary.state is State.RUNNING:
            return record
        found = judged(record, self._store.samples(record.summary.id), self._store.telemetry(record.summary.id))
        self._judged[found.summary.id] = found.summary
        return found

    def samples(self, run_id: str) -> SampleSeries:
        """Return the samples of every trial of a run."""
        return self._store.samples(run_id)

    def telemetry(self, run_id: str) -> Mapping[str, tuple[Sample, ...]]:
        """Return the telemetry of every host of a run; times are the host's monotonic clock."""
        return self._store.telemetry(run_id)

    def output(self, run_id: str, trial: int) -> Mapping[str, bytes]:
        """Return the raw output of a trial, byte for byte, by stream."""
        return self._store.output(run_id, trial)

    def acknowledge(self, run: str, given: Sequence[Acknowledged]) -> RunRecord:
        """Keep with a stored run which of its findings may stand, and why; return the run as it stands then.

        What has no reason is taken back. Raises PlanError for a finding that the run has not, or that is an error.
        """
        from app.plans.plan_changes import acknowledge_of_run

        record = self.load(run)
        plan = record.plan
        for each in given:
            plan = acknowledge_of_run(plan, record.findings, each)
        self._store.acknowledge(record.summary.id, given)
        return replace(record, plan=plan)

    def plan_again(self, run: str) -> Plan:
        """Return the plan of a stored run, to be run again.

        Why a finding may stand that only a run can raise is said of that run: the next one has to raise it first.
        """
        from app.checks.catalogue import before_ids

        plan = self._store.load(run).plan
        known = before_ids()
        return replace(plan, acknowledged=tuple(each for each in plan.acknowledged if each.finding in known))

    def delete(self, run_id: str) -> None:
        """Delete a run for good."""
        self._store.delete(run_id)

    # Baselines

    def pin(self, word: str, name: str, oldest: float | None = None) -> int:
        """Pin a run, or runs joined by commas, as the next version of the baseline `name`; return the version.

        After `oldest` seconds it counts as too old. A published table, ``baseline:NAME``, is copied under the name.
        """
        if word.startswith("baseline:") and (table := self.baseline(word).reference) is not None:
            return self._store.pin_reference(table, name, oldest)
        return self._store.pin(word, name, oldest)

    def import_baseline(self, path: Path, name: str = "", oldest: float | None = None) -> Baseline:
        """Keep the table in a TOML or CSV file as the next version of a baseline, and return it."""
        from app.baselines.reference_file import read_reference

        table = read_reference(path, name)
        version = self._store.pin_reference(table, table.name, oldest)
        return self.baseline(f"{table.name}@{version}")

    def unpin(self, name: str) -> None:
        """Remove the baseline `name`, or one version of it; its runs stay."""
        self._store.unpin(name)

    def baselines(self) -> list[Baseline]:
        """Return every version of every baseline, the newest pinned first, then the published tables."""
        return self._gathering.baselines()

    def baseline(self, word: str) -> Baseline:
        """Return the baseline that ``NAME`` or ``NAME@VERSION`` means."""
        return self._gathering.baseline(word)

    def bands(self, step: Step, host: str, facts: Facts | None = None) -> list[Band]:
        """Return the bands of the baselines that measured the same as `step`, the newest pinned first.

        `facts` are those of the host, to tell whether a baseline is of another universe.
        """
        return self._store.bands(step, host, facts)

    def calibrations(self, host: str | None = None) -> tuple[Calibration, ...]:
        """Return the calibrations of a host, or of all hosts, the newest first."""
        return self._store.calibrations(host)

    def forget_calibrations(self, host: str) -> int:
        """Forget the calibrations of a host, so that none decides a margin; return how many there were."""
        return self._store.forget_calibrations(host)

    def second_opinion(self, run: str, step: str = "", other: str = "", trials: int = 6) -> Proposal:
        """Return the plan that asks another tool what a step of a stored run asked. Raises OpinionError for none."""
        from app.opinion.proposing import propose

        return propose(self._store.load(run), step, other, trials)

    def agreements(self, run: str, margin: float | None = None) -> tuple[Agreement, ...]:
        """Return what the tools of a run that ask one question say of each other."""
        from app.opinion.agreement import agreements

        return agreements(self._store.load(run), margin)

    def history(self, wanted: Wanted) -> History:
        """Return a metric of a host, or of several, over all comparable runs, and where its level changed."""
        return self._store.history(wanted)

    # Comparison and export

    def rank(self, words: Sequence[str], question: Question) -> Ranking:
        """Rank runs, groups and baselines by what `question` calls best."""
        from app.ranking.ranking import rank

        return rank(words, self._gathering.chosen(words), question)

    def compare(self, runs: Sequence[str], margin: float | None = None, overruled: str = "") -> Comparison:
        """Compare runs with the first of them. Each is a word for app.comparing.choosing: a run, or a group.

        `margin` is the share that does not matter; None leaves it to the calibrations of the hosts.
        `overruled` is the reason for which what forbids to compare is let by; it stands in the comparison.
        """
        return self._gathering.compare(runs, margin, overruled)

    def joined(self, runs: Sequence[str]) -> list[tuple[RunRecord, SampleSeries]]:
        """Return each run, or group of runs as one, with the samples of its trials."""
        return self._gathering.joined(runs)

    def joined_record(self, run: str) -> RunRecord:
        """Return a run, or a group of runs as one, without samples."""
        return self._gathering.record(run)

    def within(self, runs: Sequence[str]) -> WithinTrials:
        """Return how the samples within each trial of some runs spread."""
        return self._gathering.within(runs)

    def export_csv(self, runs: Sequence[str], path: Path) -> list[Path]:
        """Write the summary to `path` and the tidy samples beside it; return both."""
        return self._gathering.export_csv(runs, path)

    def export_png(self, runs: Sequence[str], path: Path, margin: float | None = None, overruled: str = "") -> Path:
        """Write the report picture; several runs are compared with the first of them as in compare()."""
        return self._gathering.export_png(runs, path, margin, overruled)

    @property
    def describing(self) -> Describing:
        """What tells of runs more than their medians: distributions, noise, scaling."""
        from app.distributions.describing import Describing

        return Describing(self._store)

    @property
    def _gathering(self) -> Gathering:
        from app.comparing.gathering import Gathering

        return Gathering(self._store)
