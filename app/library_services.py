"""Services on stored results: library, baselines, comparison, ranking, history, export."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from app.comparison.criteria import DEFAULT_CRITERIA, ComparisonCriteria
from app.events import State
from app.margins import DEFAULTS, Margins
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from app.baselines.baselines import Baseline
    from app.calibration.sessions import SessionNoise
    from app.checks.energy import EnergyUse
    from app.comparison.comparison import Comparison
    from app.comparison.selection import RunSelection
    from app.crosscheck.agreement import Agreement
    from app.crosscheck.proposal import Proposal
    from app.distributions.analyses import Analyses
    from app.history import History, HistoryQuery
    from app.library_rows import Annotation, LibraryRow, LibraryRows
    from app.plans.plan import Plan
    from app.plans.plan_remarks import Acknowledged
    from app.ranking.candidates import RankingCriteria
    from app.ranking.ranking import Ranking
    from app.records import Band, Calibration, RunRecord, RunSummary, SampleSeries
    from app.rejudging.rejudge import JudgedRun
    from app.sample_size.pilot import Pilot, PilotQuery
    from app.sample_statistics import WithinTrials
    from app.saved_mappings import SavedMappings
    from app.saved_margins import SavedMargins
    from app.store.errors import StoreError
    from app.store.library_version import LibraryVersion
    from app.store.retention import Deleted
    from app.store.store import Store
    from app.summary import MetricSummary
    from suites.facts import Facts
    from suites.vocab import Sample


LATELY = 5.0
"""Seconds after a commit for which a library is shown as writable without trying it again."""


class LibraryServices(ABC):
    """The services that need no host. Threads, blocking and errors are as in app.services."""

    @property
    @abstractmethod
    def _store(self) -> Store:
        """The store, opened on first use."""

    @property
    @abstractmethod
    def saved_margins(self) -> SavedMargins:
        """The user's own margins by metric."""

    @property
    @abstractmethod
    def saved_mappings(self) -> SavedMappings:
        """The remembered mappings of tables."""

    @cached_property
    def _first_figures(self) -> dict[str, tuple[LibraryRow, Mapping[str, MetricSummary]]]:
        """What first_figures() read, by run."""
        return {}

    # Library

    def read_only(self) -> StoreError | None:
        """Return why the library is read-only (newer format, disk full or read-only), or None.

        A commit in the last LATELY seconds is enough: this is for what is shown, check_writable() for what is done.
        """
        return self._store.read_only(LATELY)

    def check_writable(self) -> None:
        """Raise StoreError if the library is read-only; call it before touching a host."""
        refused = self._store.read_only()
        if refused is not None:
            raise refused

    def runs(self) -> list[RunSummary]:
        """Return every stored run but those in the bin, newest first, with the verdicts computed so far."""
        return [row.summary for row in self.library().rows if not row.binned]

    def library(self) -> LibraryRows:
        """Return every run as a row, newest first, with the verdicts computed so far, and the saved searches."""
        found, computed = self._store.library(), self._store.computed
        if not computed:
            return found
        rows = (
            replace(row, summary=computed[row.id].complete(row.summary))
            if row.id in computed and not row.summary.trust
            else row
            for row in found.rows
        )
        return replace(found, rows=tuple(rows))

    def library_version(self, known: LibraryVersion | None = None) -> LibraryVersion:
        """Return the version of library(), whichever process wrote to it; cheap while it is still `known`."""
        return self._store.version(known)

    def matching(self, text: str) -> tuple[LibraryRows, list[LibraryRow]]:
        """Return the library and the rows that match a filter. Raises FilterError."""
        from app.run_filter import parse_filter
        from app.run_matching import matcher

        library = self.library()
        select = matcher(parse_filter(text), library, self.metric_values, datetime.now(UTC))
        return library, select(library.rows)

    def metric_values(self, metric: str) -> Mapping[str, tuple[float, ...]]:
        """Return the values of a metric by run, in the order of its steps."""
        return self._store.metric_values(metric)

    def complete_summaries(self) -> Iterator[tuple[int, int]]:
        """Write the summaries that older versions did not; yield how many of how many are written."""
        return self._store.complete_summaries()

    def pack_samples(self) -> Generator[tuple[int, int]]:
        """Pack the samples that older versions, or a recorder that was killed, left in rows; yield how many runs of how
        many are packed."""
        return self._store.pack_samples()

    def first_figures(self, row: LibraryRow) -> Mapping[str, MetricSummary]:
        """Return the first metric of a run by host, with the verdicts known; remembered while its row is unchanged."""
        from app.summary import summaries

        known = self._first_figures.get(row.id)
        if known is None or known[0] != row:
            found: dict[str, MetricSummary] = {}
            with suppress(BenchwrightError):  # a damaged run, or deleted meanwhile
                for one in summaries((self.load if row.summary.trust else self._store.load)(row.id)):
                    found.setdefault(one.host, one)
            known = self._first_figures[row.id] = row, found
        return known[1]

    def annotate(self, changed: Mapping[str, Annotation]) -> Mapping[str, Annotation]:
        """Replace names, notes and tags of runs, or put them into the bin; return what there was before."""
        return self._store.annotate(changed)

    def save_search(self, name: str, search: str) -> str:
        """Store a search; an empty one deletes it. Return the former one. Raises FilterError for a malformed one."""
        from app.library_rows import LONGEST_NAME
        from app.run_filter import parse_filter
        from app.user_texts import checked_text

        parse_filter(search)
        if search:
            name = checked_text("The name", name, LONGEST_NAME)
        return self._store.save_search(name, search)

    def load(self, run: str) -> RunRecord:
        """Return a run by id, unambiguous prefix of an id, baseline name, or "last"."""
        from app.verdict.stored import judged

        return judged(self._store, self._store.load(run))

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
        """Acknowledge findings of a stored run; return the run with them.

        An empty reason withdraws one. Raises PlanError for a finding that the run does not have, or that is an error.
        """
        from app.plans.plan_changes import acknowledge_of_run, with_reasons

        record = self.load(run)
        plan = acknowledge_of_run(record.plan, record.findings, given)
        self._store.change_acknowledged(record.summary.id, lambda stored: with_reasons(stored, given))
        return replace(record, plan=plan)

    def plan_to_repeat(self, run: str) -> Plan:
        """Return the plan of a stored run for another run.

        Acknowledgements of findings that only a run can raise are dropped: they belong to the old run.
        """
        from app.checks.catalogue import before_ids

        plan = self._store.load(run).plan
        known = before_ids()
        return replace(plan, acknowledged=tuple(each for each in plan.acknowledged if each.finding in known))

    def delete(self, run_id: str) -> None:
        """Delete a run for good."""
        self._store.delete(run_id)

    def lock(self, runs: Sequence[str], reason: str) -> list[str]:
        """Lock runs: they cannot be deleted, binned or forgotten. Return their ids. Raises StoreError."""
        return self._store.lock(runs, reason)

    def unlock(self, runs: Sequence[str]) -> list[str]:
        """Remove the locks of runs; return those that had one. Raises StoreError."""
        return self._store.unlock(runs)

    def expired(self, older: str, text: str = "") -> tuple[list[LibraryRow], Mapping[str, str]]:
        """Return the runs older than an age that match a filter, oldest first, and why some of them are kept, by run.

        An imported run is kept until its import is as old: it may have been measured long before. Those in the bin are
        included. Raises FilterError, BenchwrightError for `older`, and StoreError if a run has no summary: see
        complete_summaries().
        """
        from app.run_filter import FilterError

        if self.library().missing:
            from app.store.errors import StoreError

            raise StoreError("Summaries of runs are missing: no filter can be trusted to choose them.", "Try again.")
        until = f"until:{older}"
        try:
            found = [row for bin_of in ("no", "yes") for row in self.matching(f"{until} {text} bin:{bin_of}")[1]]
        except FilterError as error:
            if error.start > len(until):
                raise
            remedy = "Write an age such as 90d, 26w or 1y, or a date such as 2026-11-01."
            raise BenchwrightError(f"“{older}” is not an age or a date.", remedy) from error
        kept = {**self._imported_since(older, found), **self._store.kept()}
        return sorted(found, key=lambda row: row.summary.started), {
            row.id: kept[row.id] for row in found if row.id in kept
        }

    def _imported_since(self, moment: str, rows: Sequence[LibraryRow]) -> Mapping[str, str]:
        """Return which runs were imported after a moment or an age, with the days."""
        from app.run_filter import parse_filter
        from app.run_matching import matcher

        select = matcher(parse_filter(f"since:{moment}"), self.library(), self.metric_values, datetime.now(UTC))
        placed = [
            replace(
                row, summary=replace(row.summary, started=imported), annotation=replace(row.annotation, binned=None)
            )
            for row in rows
            if (imported := row.summary.imported) is not None
        ]
        return {row.id: f"imported {row.summary.started[:10]}" for row in select(placed)}

    def delete_runs(self, runs: Sequence[str]) -> Generator[Deleted]:
        """Delete runs for good, one transaction each; yield what is done so far, at last with the bytes freed.

        A run that is locked, pinned, recorded or detached is refused.
        """
        self.check_writable()
        yield from self._store.delete_runs(runs)

    # Verdicts of earlier versions of the checks

    def outdated_runs(self) -> list[str]:
        """Return the ended runs whose verdict is missing, or of an earlier version of the checks, newest first."""
        from app.checks.version import CHECKS_VERSION

        return self._store.outdated(CHECKS_VERSION)

    def rejudge(self, runs: Sequence[str] = (), *, every: bool = False, dry_run: bool = False) -> Iterator[JudgedRun]:
        """Judge runs again by the present checks, by default outdated_runs(), or `every` ended run; yield each.

        What the verdicts replace is kept. A `dry_run` stores nothing. Closed before its end, the rest stays outdated.
        """
        from app.rejudging.rejudge import rejudge

        if not dry_run:
            self.check_writable()
        wanted = [self._store.load(run).summary.id for run in runs]
        if every:
            wanted = [row.id for row in self.library().rows if row.summary.state is not State.RUNNING]
        chosen = bool(runs) or every
        wanted = wanted if chosen else self.outdated_runs()
        yield from rejudge(self._store, wanted, dry_run=dry_run, judged_too=chosen)

    def unjudged_runs(self) -> Mapping[str, str]:
        """Return why the present checks could not judge runs again, by run: they are tried again when asked for."""
        from app.checks.version import CHECKS_VERSION

        return self._store.unjudged(CHECKS_VERSION)

    def dismiss_recalls(self, runs: Sequence[str]) -> None:
        """Record that the user closed the notice of what later checks changed in runs."""
        self._store.dismiss_recalls(runs)

    def recorded_runs(self) -> frozenset[str]:
        """Return the runs that a process records now."""
        return self._store.recorded()

    # Baselines

    def pin(self, word: str, name: str, oldest: float | None = None, *, accept_invalid: bool = False) -> int:
        """Pin a run, a series or runs joined by commas as the next version of the baseline `name`; return the version.

        After `oldest` seconds it is too old. An invalid result is pinned with `accept_invalid` only. A published table,
        ``baseline:NAME``, is copied under the name.
        """
        from app.baselines.baselines import pin, pin_reference

        if word.startswith("baseline:") and (table := self.baseline(word).reference) is not None:
            return pin_reference(self._store, table, name, oldest)
        return pin(self._store, ",".join(self._selection.expanded(word)), name, oldest, accept_invalid=accept_invalid)

    def import_baseline(self, path: Path, name: str = "", oldest: float | None = None) -> Baseline:
        """Store the table of figures in a file as the next version of a baseline, and return it."""
        from app.baselines.baselines import pin_reference
        from app.baselines.reference_file import read_reference

        table = read_reference(path, name)
        version = pin_reference(self._store, table, table.name, oldest)
        return self.baseline(f"{table.name}@{version}")

    def unpin(self, name: str) -> None:
        """Remove the baseline `name`, or one version of it; its runs stay."""
        self._store.unpin(name)

    def baselines(self) -> list[Baseline]:
        """Return every version of every baseline, the newest pinned first, then the published tables."""
        return self._selection.baselines()

    def baseline(self, word: str) -> Baseline:
        """Return the baseline that ``NAME`` or ``NAME@VERSION`` means."""
        return self._selection.baseline(word)

    def bands(self, plan: Plan, facts: Mapping[str, Facts]) -> dict[tuple[str, str], list[Band]]:
        """Return the bands of the baselines comparable with each step on each host of `plan`, newest pinned first.

        `facts` are those of the hosts, to mark baselines of another environment.
        """
        from app.baselines.baselines import bands

        return bands(self._store, plan.steps, plan.hosts, facts)

    def calibrations(self, host: str | None = None) -> tuple[Calibration, ...]:
        """Return the calibrations of a host, or of all hosts, the newest first."""
        return self._store.calibrations(host)

    def session_noise(self, found: Calibration) -> tuple[SessionNoise, ...]:
        """Return the noise of each metric within and between all sessions of a calibration's parameter set."""
        from app.calibration.sessions import session_noise

        return session_noise(self._store, found)

    def margins(self, given: Margins = DEFAULTS) -> Margins:
        """Return the margins `given` for a comparison, with the user's own defaults."""
        return replace(given, kept=self.saved_margins.read())

    def metric_names(self) -> frozenset[str]:
        """Return the names of all metrics that runs of the library have."""
        return self._store.metric_names()

    def forget_calibrations(self, host: str) -> int:
        """Delete the calibrations of a host; return their number."""
        return self._store.forget_calibrations(host)

    def cross_check(self, run: str, step: str = "", other: str = "", trials: int = 6) -> Proposal:
        """Return the plan that cross-checks a step of a stored run by another tool. Raises CrossCheckError for none."""
        from app.crosscheck.proposal import propose

        return propose(self._store.load(run), step, other, trials)

    def agreements(self, run: str, margins: Margins = DEFAULTS) -> tuple[Agreement, ...]:
        """Return how far the results of equivalent tools in a run agree."""
        from app.crosscheck.agreement import agreements

        return agreements(self.load(run), self.margins(margins))

    def sample_pilot(self, runs: Sequence[str], query: PilotQuery, margins: Margins = DEFAULTS) -> Pilot:
        """Return the noise of a metric in runs, from which a sample size follows; each selector has its own mean."""
        from app.sample_size.pilot import pilot_of

        return pilot_of(self._selection.chosen(runs), query, self.margins(margins))

    def history(self, wanted: HistoryQuery) -> History:
        """Return a metric of hosts over all comparable runs, with its change points."""
        from app.history import read_history

        return read_history(self._store, replace(wanted, margins=self.margins(wanted.margins)))

    # Comparison and export

    def rank(self, selectors: Sequence[str], criteria: RankingCriteria) -> Ranking:
        """Rank runs, groups and baselines by `criteria`."""
        from app.ranking.ranking import rank

        criteria = replace(criteria, margins=self.margins(criteria.margins))
        sides = self._selection.chosen(selectors)
        return rank(selectors, sides, criteria, self._selection.moments(sides))

    def compare(self, runs: Sequence[str], criteria: ComparisonCriteria = DEFAULT_CRITERIA) -> Comparison:
        """Compare runs with the first. Each is a selector of app.comparison.selection: a run, or a group."""
        return self._selection.compare(runs, self._completed(criteria))

    def duet_sides(self, run: str) -> tuple[str, ...]:
        """Return the selectors of both sides of a duet; empty if the run is none, or a side has no result."""
        from app.comparison.selectors import duet_sides

        return duet_sides(self._selection.record(run))

    def compared(
        self, runs: Sequence[str], criteria: ComparisonCriteria = DEFAULT_CRITERIA
    ) -> tuple[Comparison, tuple[RunRecord, ...]]:
        """Return the comparison of compare(), and each run, or group of runs as one, without samples."""
        return self._selection.compared(runs, self._completed(criteria))

    def _completed(self, criteria: ComparisonCriteria) -> ComparisonCriteria:
        """Return the criteria with the user's own margins."""
        return replace(criteria, margins=self.margins(criteria.margins))

    def trial_samples(
        self, trials: Iterable[tuple[str, int]], metrics: Collection[str]
    ) -> Mapping[tuple[str, int], tuple[Sample, ...]]:
        """Return the samples of some metrics of trials (run id, trial id)."""
        return self._selection.trial_samples(trials, metrics)

    def joined_record(self, run: str) -> RunRecord:
        """Return a run, or a group of runs as one, without samples."""
        return self._selection.record(run)

    def within(self, runs: Sequence[str]) -> WithinTrials:
        """Return the sample statistics of each trial of some runs."""
        return self._selection.within(runs)

    def energy(self, record: RunRecord) -> Mapping[tuple[str, str], EnergyUse]:
        """Return the energy of a run by step and host."""
        from app.verdict.stored import energy_of_run

        return energy_of_run(record, self.samples(record.summary.id), self.telemetry(record.summary.id))

    @property
    def analyses(self) -> Analyses:
        """Analyses beyond the medians of runs: distributions, noise, scaling, heat maps, rounds."""
        from app.distributions.analyses import Analyses

        return Analyses(self._store, self._selection.chosen)

    @property
    def _selection(self) -> RunSelection:
        from app.comparison.selection import RunSelection

        return RunSelection(self._store)
