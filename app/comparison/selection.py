"""Selection of runs by name, run id or baseline, read for a comparison, a report or an export."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app.baselines.baselines import Baseline, BaselineError, bands, built_in, by_name, remarks, stored_baselines, title
from app.baselines.reference import as_run
from app.chart import Chart
from app.comparison.comparison import CompareError, Comparison
from app.comparison.criteria import ComparisonCriteria
from app.comparison.joined import join
from app.comparison.moments import Moments
from app.comparison.selectors import choose
from app.distributions.distribution import Distribution
from app.events import State
from app.fleet_study import PREFIX as FLEET
from app.fleet_study import FleetStudy
from app.records import PREFIX, Band, RunRecord, SampleSeries
from app.sample_statistics import WithinTrials
from app.session_series import PREFIX as SERIES
from app.store.errors import StoreError
from app.store.store import Store
from app.verdict.stored import loading_judged
from suites.vocab import Sample


def _check_marks(study: FleetStudy, marks: str, chosen: str) -> None:
    """Raise CompareError for a mark that is neither a group nor a step of a study, or no host of it."""
    groups, steps = study.plan.groups, [step.name for step in study.plan.plan.steps]
    hosts = {*study.with_replaced.by_name}
    if marks.startswith(":") and not any(f":{name}" == marks[: len(name) + 1] for name in (*groups, *steps)):
        names = f"Groups: {', '.join(groups)[:200]}. Steps: {', '.join(steps)[:200]}."
        raise CompareError(f"{study.id} has no group or step “{chosen[:60]}”.", names)
    if marks.startswith("@") and chosen not in hosts:
        raise CompareError(f"{study.id} has no host “{chosen[:60]}”.", "List them: benchwright fleet show")


def _cut(word: str) -> tuple[str, str]:
    """Return what is before the first mark, and the rest with it."""
    at = next((at for at, mark in enumerate(word) if mark in "@:"), len(word))
    return word[:at], word[at:]


class RunSelection:
    """A reader of selectors from a store: those of choose(), baselines, ``series:NAME`` and ``fleet:STUDY``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def moments(self, groups: Iterable[Iterable[RunRecord]]) -> Moments:
        """Return the moments of those runs that are sessions: host-runs of one session of a study share it."""
        return self._store.moments_of([record.summary.id for group in groups for record in group])

    def chosen(self, selectors: Sequence[str]) -> list[tuple[RunRecord, ...]]:
        """Return the runs of each selector, a published table as a run like those of the other selectors."""
        pinned = self._pinned(selectors)
        tables = {word: one.reference for word, one in pinned.items() if one.reference is not None}
        parts = {word: self._parts(pinned.get(word), word) for word in selectors if word not in tables}
        with loading_judged(self._store, _possible_ids(parts.values())) as load:
            found = {word: tuple(run for part in of for run in choose(load, part)) for word, of in parts.items()}
        like = [run for runs in found.values() for run in runs]
        return [
            (as_run(tables[word], pinned[word].selector, like),) if word in tables else found[word]
            for word in selectors
        ]

    def _pinned(self, selectors: Sequence[str]) -> dict[str, Baseline]:
        """Return the baselines among `selectors`; without the prefix ``baseline:`` only those that are no run names."""
        known = self.baselines()
        parts = [one for one in reversed(known) if one.kind != "run" or one.parts != one.runs]
        named = {name: one for one in parts for name in _names(one)}
        return {
            word: by_name(known, word, tuple) if word.startswith(PREFIX) else named[word]
            for word in selectors
            if word.startswith(PREFIX) or word in named
        }

    def _parts(self, baseline: Baseline | None, word: str) -> tuple[str, ...]:
        if baseline is not None:
            return baseline.parts
        return self.expanded(word)

    def run_names(self, selectors: Sequence[str]) -> list[str]:
        """Return the names of the runs of selectors, each once: those of baselines, groups and series.

        Raises BaselineError for a baseline without runs.
        """
        pinned = self._pinned(selectors)
        found: dict[str, None] = {}
        for word in selectors:
            one = pinned.get(word)
            if one is not None and not one.runs:
                raise BaselineError(f"The baseline “{one.name}” has no run.", "Name a baseline of runs, or a run.")
            names = [piece.strip() for part in self.expanded(word) for piece in part.split(",")]
            found.update(dict.fromkeys(names if one is None else one.runs))
        return list(found)

    def expanded(self, word: str) -> tuple[str, ...]:
        """Return the selectors that `word` joins by commas; `word` itself without any of several runs.

        ``series:NAME``, ``fleet:STUDY``, ``fleet:STUDY:GROUP`` and ``fleet:STUDY@HOST`` are their runs.
        """
        whole = word.startswith(SERIES) and self._sessions_named(word.removeprefix(SERIES)) is not None
        pieces = [word] if whole else [piece.strip() for piece in word.split(",")]
        if not any(piece.startswith((SERIES, FLEET)) for piece in pieces):
            return (word,)
        return tuple(run for piece in pieces for run in self._expanded(piece))

    def _expanded(self, piece: str) -> tuple[str, ...]:
        if piece.startswith(SERIES):
            return self._sessions(piece.removeprefix(SERIES))
        return self._host_runs(piece.removeprefix(FLEET)) if piece.startswith(FLEET) else (piece,)

    def _host_runs(self, word: str) -> tuple[str, ...]:
        """Return the done runs of a study, of one of its groups or hosts, each with the marks that follow."""
        name, marks = _cut(word)
        study = self._store.find_fleet_study(name)
        done = self._store.measured_host_runs(study.id)
        chosen, rest = _cut(marks[1:])
        _check_marks(study, marks, chosen)
        if marks.startswith(":") and chosen in study.plan.groups:
            done, marks = [one for one in done if one.group == chosen], rest
        elif marks.startswith("@"):
            done, marks = [one for one in done if one.host == chosen], rest
        if not done:
            raise CompareError(
                f"No run of “{word[:60]}” is done.", f"Its groups: {', '.join(study.plan.groups)[:200]}."
            )
        return tuple(f"{one.run}{marks}" for one in done)

    def _sessions(self, word: str) -> tuple[str, ...]:
        """Return the done sessions of a series, or those of the same plan as a run, each with the marks of `word`.

        The longest beginning of `word` that names a series or a run is the name.
        """
        for end in (len(word), *(at for at in range(len(word) - 1, 0, -1) if word[at] in "@:")):
            found = self._sessions_named(word[:end])
            if found:
                return tuple(f"{run}{word[end:]}" for run in found)
            if found is not None:
                raise CompareError(
                    f"No session of “{word[:60]}” is done.", "List the series with: benchwright sessions"
                )
        self._store.find_series(word)  # raises the error
        return ()

    def _sessions_named(self, word: str) -> list[str] | None:
        """Return the done sessions of a series, or of the same plan as a run; None if `word` names neither."""
        try:
            return [run.run for run in self._store.find_series(word).runs if run.state is State.DONE]
        except StoreError:
            pass
        try:
            return list(self._store.sessions_of(word))
        except StoreError:
            return None

    def baseline(self, word: str) -> Baseline:
        """Return the baseline ``NAME`` or ``NAME@VERSION``, with or without the prefix ``baseline:``."""
        return by_name(stored_baselines(self._store), word, built_in)

    def baselines(self) -> list[Baseline]:
        """Return every version of every baseline, the newest pinned first, then the published tables."""
        return [*stored_baselines(self._store), *built_in()]

    def record(self, word: str) -> RunRecord:
        """Return a run, or a group of runs as one, without samples."""
        return self.record_with_sessions(word)[0]

    def record_with_sessions(self, word: str) -> tuple[RunRecord, int]:
        """Return a run, or a group of runs as one, without samples; and the most sessions that it has on a host."""
        (group,) = self.chosen([word])
        runs = Counter(host for record in group for host in record.plan.hosts)
        return join(group, {record.summary.id: {} for record in group})[0], max(runs.values(), default=1)

    def joined(self, selectors: Sequence[str]) -> list[tuple[RunRecord, SampleSeries]]:
        """Return each run, or joined group of runs, with the samples of its trials.

        All selectors are read together, for a published table takes steps and hosts from the other runs.
        """
        return [
            join(group, {record.summary.id: self._samples(record) for record in group})
            for group in self.chosen(selectors)
        ]

    def _samples(self, record: RunRecord) -> SampleSeries:
        return {} if record.published else self._store.samples(record.summary.id)

    def within(self, selectors: Sequence[str]) -> WithinTrials:
        """Return the sample statistics of each trial."""
        return self._within(self.chosen(selectors))

    def compare(self, selectors: Sequence[str], criteria: ComparisonCriteria) -> Comparison:
        """Compare the runs of `selectors` with those of the first."""
        return self._compare(self.chosen(selectors), selectors, criteria)

    def compared(
        self, selectors: Sequence[str], criteria: ComparisonCriteria
    ) -> tuple[Comparison, tuple[RunRecord, ...]]:
        """Return the comparison, and each run or joined group of runs without samples."""
        groups = self.chosen(selectors)
        records = tuple(join(group, {record.summary.id: {} for record in group})[0] for group in groups)
        return self._compare(groups, selectors, criteria), records

    def trial_samples(
        self, trials: Iterable[tuple[str, int]], metrics: Collection[str]
    ) -> Mapping[tuple[str, int], tuple[Sample, ...]]:
        """Return the samples of some metrics of trials (run id, trial id); published tables have none."""
        found: dict[tuple[str, int], tuple[Sample, ...]] = dict.fromkeys(trials, ())
        for run in dict.fromkeys(run for run, _ in found if not run.startswith(PREFIX)):
            samples = self._store.samples(run, [trial for own, trial in found if own == run], metrics)
            found |= {(run, trial): one for trial, one in samples.items()}
        return found

    def _compare(
        self, groups: Sequence[Sequence[RunRecord]], selectors: Sequence[str], criteria: ComparisonCriteria
    ) -> Comparison:
        from app.comparison.compare import compare

        found = compare(
            groups,
            criteria.margins,
            overruled=criteria.overruled,
            within=self._within(groups),
            tested=criteria.tested,
            moments=self.moments(groups),
            together=criteria.together,
        )
        return replace(found, notes=tuple(dict.fromkeys([*self._of_baselines(selectors), *found.notes])))

    def _of_baselines(self, selectors: Sequence[str]) -> Iterator[str]:
        """Yield a note on each baseline among `selectors`: its title and remarks."""
        for baseline in self._pinned(selectors).values():
            notes = "; ".join(remarks(baseline))
            yield f"Baseline {title(baseline)}{f': {notes}' if notes else ''}"

    def read(
        self, selectors: Sequence[str]
    ) -> Iterator[tuple[RunRecord, SampleSeries, Mapping[str, tuple[Sample, ...]]]]:
        """Yield each run, its samples, and its hosts' telemetry; published tables are left out."""
        for record in [record for group in self.chosen(selectors) for record in group if record.published is None]:
            yield record, self._store.samples(record.summary.id), self._store.telemetry(record.summary.id)

    def export_image(
        self,
        selectors: Sequence[str],
        path: Path,
        criteria: ComparisonCriteria,
        *,
        kind: str = "png",
    ) -> Path:
        """Write the report image as ``png``, ``pdf`` or ``svg``; several sides are compared with the first."""
        from app.report_image.report import write_report

        pairs = self.joined(selectors)
        telemetry = {record.summary.id: self._telemetry_of(record) for record, _ in pairs}
        records = [record for record, _ in pairs]
        samples = {record.summary.id: series for record, series in pairs}
        comparison = self.compare(selectors, criteria) if len(selectors) > 1 else None
        return write_report(
            records,
            samples,
            telemetry,
            self._bands(records),
            path,
            kind=kind,
            comparison=comparison,
            distributions=self._distributions(selectors, comparison),
            charts=self._charts(records, samples),
        )

    def _charts(
        self, records: Sequence[RunRecord], samples: Mapping[str, SampleSeries]
    ) -> Mapping[str, Sequence[Chart]]:
        """Return the round charts and heat maps by step, for the report of a single run only."""
        from app.chart import in_report, rounds_charts
        from app.distributions.charts import last_heats

        run = records[0].summary.id
        if len(records) > 1 or "," in run or records[0].published is not None:
            return {}
        heats = last_heats(records[0], lambda trial: self._store.output(run, trial))
        return in_report(rounds_charts(records[0], samples.get(run, {})), heats)

    def _distributions(self, selectors: Sequence[str], comparison: Comparison | None) -> list[Distribution]:
        """Return the distributions for the report image of a comparison."""
        from app.distributions.analyses import Analyses

        return [] if comparison is None else Analyses(self._store, self.chosen).pictured(selectors, comparison.rows)

    def _within(self, groups: Sequence[Sequence[RunRecord]]) -> WithinTrials:
        return self._store.within([record.summary.id for group in groups for record in group])

    def _telemetry_of(self, record: RunRecord) -> Mapping[str, tuple[Sample, ...]]:
        """Return the telemetry of the runs that `record` was joined from, concatenated by host."""
        found: dict[str, tuple[Sample, ...]] = {}
        for run_id in () if record.published else record.summary.ids:
            for host, samples in self._store.telemetry(run_id).items():
                found[host] = found.get(host, ()) + samples
        return found

    def _bands(self, records: Sequence[RunRecord]) -> list[Band]:
        """Return the bands of the baselines that are not in the report themselves."""
        own = {run_id for record in records for run_id in record.summary.ids}
        plan = records[0].plan
        found = bands(self._store, plan.steps, plan.hosts, records[0].facts_before)
        return [each for one in found.values() for each in one if not own.intersection(each.run_id.split(","))]


def _possible_ids(parts: Iterable[Sequence[str]]) -> list[str]:
    """Return what may be ids of runs in the parts of selectors."""
    return [re.split("[@:]", piece)[0].strip() for of in parts for part in of for piece in part.split(",")]


def _names(baseline: Baseline) -> tuple[str, ...]:
    """Return the selectors of a baseline without its prefix."""
    whole = f"{baseline.name}@{baseline.version}"
    return (whole, baseline.name) if baseline.newest else (whole,)
