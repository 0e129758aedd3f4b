"""Services on stored results: library, baselines, comparison, ranking, history, export."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from app.events import State
from app.margins import DEFAULTS, Margins
from app.plans.plan import ELSEWHERE
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
    from app.investigation import Investigation
    from app.library_location import Location, ServerUrl
    from app.library_rows import Annotation, LibraryRow, LibraryRows
    from app.outputs.files import Source
    from app.outputs.importing import ImportedOutput
    from app.outputs.judging import KnownHost
    from app.outputs.tables import GivenMapping
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
    from app.sharing.compared_runs import ComparedRuns
    from app.sharing.standing import Standing
    from app.step_results import ResultCard
    from app.store.backup import BackedUp
    from app.store.errors import StoreError
    from app.store.library_merge import Merged
    from app.store.library_version import LibraryVersion
    from app.store.retention import Deleted
    from app.store.run_transfer import Exported, FinishedRun, Imported
    from app.store.store import Store
    from app.summary import MetricSummary
    from suites.facts import Facts
    from suites.read_only.table_mapping import TableMapping
    from suites.vocab import Sample


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
        """Return why the library is read-only (newer format, disk full or read-only), or None."""
        return self._store.read_only()

    def check_writable(self) -> None:
        """Raise StoreError if the library is read-only; call it before touching a host."""
        refused = self.read_only()
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
        from app.run_filter import parse_filter

        parse_filter(search)
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

        Those in the bin are included. Raises FilterError, and StoreError if a run has no summary: see
        complete_summaries().
        """
        if self.library().missing:
            from app.store.errors import StoreError

            raise StoreError("Summaries of runs are missing: no filter can be trusted to choose them.", "Try again.")
        found = [row for bin_of in ("no", "yes") for row in self.matching(f"until:{older} {text} bin:{bin_of}")[1]]
        kept = self._store.kept()
        return sorted(found, key=lambda row: row.summary.started), {
            row.id: kept[row.id] for row in found if row.id in kept
        }

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
        return rank(selectors, self._selection.chosen(selectors), criteria)

    def compare(
        self, runs: Sequence[str], margins: Margins = DEFAULTS, overruled: str = "", tested: Collection[str] = ()
    ) -> Comparison:
        """Compare runs with the first. Each is a selector of app.comparison.selection: a run, or a group.

        `margins` are those given for this comparison; the user's own defaults are added. `overruled` is the reason to
        ignore fatal differences; the comparison repeats it. `tested` are the names of metrics, or ALL_METRICS, that get
        a verdict besides the headline and tail metrics.
        """
        return self._selection.compare(runs, self.margins(margins), overruled, tested)

    def duet_sides(self, run: str) -> tuple[str, ...]:
        """Return the selectors of both sides of a duet; empty if the run is none, or a side has no result."""
        from app.comparison.selectors import duet_sides

        return duet_sides(self._selection.record(run))

    def compared(
        self, runs: Sequence[str], margins: Margins = DEFAULTS, tested: Collection[str] = (), overruled: str = ""
    ) -> tuple[Comparison, tuple[RunRecord, ...]]:
        """Return the comparison of compare(), and each run, or group of runs as one, without samples."""
        return self._selection.compared(runs, self.margins(margins), tested, overruled)

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

    def export_csv(self, runs: Sequence[str], path: Path) -> list[Path]:
        """Write the metrics to `path` and the tidy samples beside it; return both."""
        from app.export import export_csv

        return export_csv(list(self._selection.read(runs)), path)

    def export_parquet(self, runs: Sequence[str], path: Path) -> list[Path]:
        """Write the metrics to `path` and the tidy samples beside it; return both."""
        from app.export import export_parquet

        return export_parquet(list(self._selection.read(runs)), path)

    def export_hyperfine(self, runs: Sequence[str], path: Path) -> Path:
        """Write the times of the runs' commands as JSON like hyperfine's; return `path`."""
        from app.export import export_hyperfine

        return export_hyperfine([record for record, *_ in self._selection.read(runs)], path)

    def export_image(
        self,
        runs: Sequence[str],
        path: Path,
        margins: Margins = DEFAULTS,
        overruled: str = "",
        tested: Collection[str] = (),
        *,
        kind: str = "png",
    ) -> Path:
        """Write the report image as ``png``, ``pdf`` or ``svg``.

        Several runs are compared as in compare(), and so are the sides of one duet.
        """
        sides = self.duet_sides(runs[0]) if len(runs) == 1 else ()
        return self._selection.export_image(sides or runs, path, self.margins(margins), overruled, tested, kind=kind)

    def export_library(self, runs: Sequence[str], path: Path) -> Generator[Exported]:
        """Write finished runs to a new library at `path`, which another Benchwright opens or imports.

        Yields what is done so far; closed before its end, it leaves no file.
        """
        yield from self._store.export_runs(self.run_names(runs), path)

    def run_names(self, selectors: Sequence[str]) -> list[str]:
        """Return the names of the runs of selectors, each once: those of baselines, groups and series."""
        return self._selection.run_names(selectors)

    def runs_to_import(self, path: Path) -> list[FinishedRun]:
        """Return the finished runs of the library at `path`, which is only read, the newest first."""
        from app.store.run_transfer import finished_runs

        return finished_runs(path)

    def import_runs(self, path: Path, runs: Sequence[str] = ()) -> Generator[Imported]:
        """Copy finished runs, by default all, from the library at `path`, which is only read.

        Yields what is done so far; what was imported stays if it is closed before its end.
        """
        self.check_writable()
        yield from self._store.import_runs(path, runs)

    def import_outputs(
        self,
        sources: Sequence[Source],
        host: str = ELSEWHERE,
        known: KnownHost | None = None,
        *,
        again: bool = False,
        mapping: GivenMapping | None = None,
    ) -> Generator[ImportedOutput]:
        """Import the outputs of tools that ran elsewhere, in files, folders or texts, as runs on `host`.

        A file that the library has on this host is not imported, unless `again` or something is `known` of the host.
        Tables are read through the remembered mapping of their columns, or `mapping`, which is then remembered.
        Yields each file as it is done; what was imported stays if it is closed before its end.
        """
        from app.outputs.importing import import_outputs
        from app.outputs.judging import UNKNOWN_HOST

        self.check_writable()
        forced = again or known not in {None, UNKNOWN_HOST}
        kept: dict[frozenset[str], TableMapping] = {}
        for one in import_outputs(
            sources,
            host,
            known or UNKNOWN_HOST,
            self._store.recorder,
            lambda sha256, at, started: None if forced else self._store.run_of_output(sha256, at, started),
            mappings=self.saved_mappings.find if mapping is None else mapping.of,
        ):
            if mapping is not None and one.run and one.mapping is not None:
                columns = one.mapping.header
                if columns not in kept:
                    named = replace(one.mapping, name=mapping.name or one.name.rpartition(".")[0])
                    kept[columns] = self.saved_mappings.keep(named)
                yield replace(one, mapping=kept[columns])
            else:
                yield one

    def merge_library(self, path: Path, margins: Path | None = None) -> Generator[Merged]:
        """Copy what this library lacks from the library at `path`, which is only read, and margins from a file of them.

        Runs, baselines, calibrations, saved searches and session series; what differs under the same name is named and
        unchanged. Yields what is done so far; each run is merged as a whole or not at all.
        """
        import json

        from app.baselines.reference_file import reference_from
        from app.saved_margins import SavedMargins

        self.check_writable()
        given = None if margins is None else SavedMargins(margins).read(must_exist=True)
        for found in self._store.merge(path, lambda text: reference_from(json.loads(text), "reference")):
            if found.finished and given:
                added, refused = self.saved_margins.merge(given)
                yield replace(found, added=(*found.added, *added), refused=(*found.refused, *refused))
            else:
                yield found

    def copy_library(self, source: Location, target: Location, runs: Sequence[str] = ()) -> Generator[Merged]:
        """Copy `runs`, or the whole library at `source`, to that at `target`, each a file or on a server.

        The content of each run is compared before it is committed. Yields what is done so far; what was copied stays
        if it is closed before its end, and copying again continues.
        """
        import json

        from app.baselines.reference_file import reference_from
        from app.store.library_merge import copy_library

        yield from copy_library(source, target, runs, lambda text: reference_from(json.loads(text), "reference"))

    def store_password(self, url: ServerUrl, password: str) -> None:
        """Store the password of a library on a server in the system keyring, after a connection. Raises StoreError."""
        from app.store.opening import check_driver

        check_driver(url)
        from app.store.server_connection import store_password

        store_password(url, password)

    def delete_password(self, url: ServerUrl) -> bool:
        """Delete the password of a library from the system keyring; return whether there was one. Raises StoreError."""
        from app.store.opening import check_driver

        check_driver(url)
        from app.store.server_connection import delete_password

        return delete_password(url)

    def back_up(self, path: Path) -> Generator[BackedUp]:
        """Copy the whole library, also while runs are recorded, to the new file `path`; yield what was verified.

        A failure leaves no file. Raises StoreError.
        """
        yield from self._store.back_up(path)

    def result_card(self, run: str) -> ResultCard:
        """Return the results of a run as text, and as a picture of 1200 x 630 pixels."""
        from app.report_image.card import result_card

        return result_card(self.load(run))

    def ticket_text(self, run: str, standings: Sequence[Standing] = ()) -> str:
        """Return the results of a run with a reproducer as Markdown, for a ticket; nothing in it is redacted.

        `standings` are those of standings().
        """
        from app.sharing.ticket import ticket_text

        record = self.load(run)
        return ticket_text(record, self.samples(record.summary.id), self.telemetry(record.summary.id), standings)

    def standings(self, run: str) -> list[Standing]:
        """Return the rank of a run among the hosts of the library with the same tests, and against its baselines.

        Nothing is returned of what cannot be ranked or compared.
        """
        from app.baselines.baselines import bands
        from app.ranking.candidates import RankingCriteria
        from app.sharing.standing import Standing, baseline_text, peers_of, rank_texts

        record = self.load(run)
        run, hosts = record.summary.id, record.plan.hosts
        own = [run] if len(hosts) == 1 else [f"{run}@{host}" for host in hosts]
        peers = peers_of(record, self.library().rows)
        found: list[Standing] = []
        for number, step in enumerate(record.plan.steps):
            with suppress(BenchwrightError):
                of_step = step.name if len(record.plan.steps) > 1 else ""
                criteria = RankingCriteria({step.headline.name: 1.0}, step=of_step)
                ranked = rank_texts(self.rank([*own, *peers], criteria), own)
                verdicts = {host: record.verdict_on(step.name, host) for host in hosts}
                doubted = {host for host, verdict in verdicts.items() if verdict is not None and verdict.trust.in_doubt}
                found += [Standing(number, host, text) for host, text in ranked if hosts[host] not in doubted]
        known = bands(self._store, record.plan.steps, hosts, record.facts_before)
        for (step_name, host), each in known.items():
            name = next((one.name for one in each if not one.reference and run not in one.run_id.split(",")), "")
            with suppress(BenchwrightError):
                step = record.plan.step(step_name)
                text = name and baseline_text(self.compare([f"baseline:{name}", run]), step, host)
                found += [Standing(record.plan.steps.index(step), hosts.index(host), text)] if text else []
        return sorted(found, key=lambda one: (one.step, one.host))

    def export_html(
        self,
        runs: Sequence[str],
        path: Path,
        margins: Margins = DEFAULTS,
        overruled: str = "",
        tested: Collection[str] = (),
        *,
        redacted: bool = False,
    ) -> Path:
        """Write a report as HTML that has the runs' library in it; `redacted` is what it says of itself.

        Several runs, and the sides of one duet, are compared as in compare(). Raises WriteError and StoreError.
        """
        from app.output import write_whole
        from app.sharing.html_report import html_report

        records = self._single_runs(runs)
        ids = [record.summary.id for record in records]
        content = self._library_of(ids)
        samples = {run: self.samples(run) for run in ids}
        compared = self._compared_runs(runs, margins, overruled, tested)
        return write_whole(path, html_report(records, samples, content, compared, redacted=redacted))

    def export_markdown(
        self,
        runs: Sequence[str],
        path: Path,
        margins: Margins = DEFAULTS,
        overruled: str = "",
        tested: Collection[str] = (),
    ) -> Path:
        """Write a report in Markdown, for a ticket or a pull request. Raises WriteError.

        Several runs, and the sides of one duet, are compared as in compare().
        """
        from app.output import write_whole
        from app.sharing.markdown_report import markdown_report

        text = markdown_report(self._single_runs(runs), self._compared_runs(runs, margins, overruled, tested))
        return write_whole(path, text.encode("utf-8", "replace"))

    def export_run_json(self, run: str, path: Path) -> Path:
        """Write a run as JSON, as ``show --json`` prints it. Raises WriteError."""
        from app.output import json_text, write_whole
        from app.summary import run_to_json

        record = self.load(run)
        content = run_to_json(record, self.within([run]), self.energy(record))
        return write_whole(path, f"{json_text(content)}\n".encode("utf-8", "replace"))

    def _single_runs(self, runs: Sequence[str]) -> list[RunRecord]:
        """Return each run of some selectors once; published tables are left out."""
        chosen = [record for group in self._selection.chosen(runs) for record in group if record.published is None]
        return [self.load(run) for run in dict.fromkeys(record.summary.id for record in chosen)]

    def _compared_runs(
        self, runs: Sequence[str], margins: Margins, overruled: str, tested: Collection[str]
    ) -> ComparedRuns | None:
        """Return the comparison of several runs, or of the sides of one duet; None for any other run."""
        from app.sharing.compared_runs import ComparedRuns

        sides = (self.duet_sides(runs[0]) if len(runs) == 1 else ()) or runs
        if len(sides) < 2:
            return None
        pairs = self._selection.joined(sides)
        comparison = self.compare(sides, margins, overruled, tested)
        samples = {record.summary.id: series for record, series in pairs}
        return ComparedRuns(comparison, [record for record, _ in pairs], samples)

    def _library_of(self, runs: Sequence[str], about: Sequence[Investigation] = ()) -> bytes:
        """Return a library file with some runs, and the investigations `about` them."""
        from pathlib import Path as FilePath
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="benchwright-") as folder:
            library = FilePath(folder) / "runs.sqlite3"
            for _ in self._store.export_runs(runs, library, about=about):
                pass
            return library.read_bytes()

    def export_card(self, run: str, path: Path) -> Path:
        """Write the picture of the results of a run to `path`. Raises WriteError."""
        from app.output import write_whole

        return write_whole(path, self.result_card(run).picture)

    @property
    def analyses(self) -> Analyses:
        """Analyses beyond the medians of runs: distributions, noise, scaling, heat maps, rounds."""
        from app.distributions.analyses import Analyses

        return Analyses(self._store, self._selection.chosen)

    @property
    def _selection(self) -> RunSelection:
        from app.comparison.selection import RunSelection

        return RunSelection(self._store)
