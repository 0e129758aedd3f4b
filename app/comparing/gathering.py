"""Runs and groups of runs, read together: for a comparison, a picture, a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app.baselines.baselines import PREFIX, Baseline, by_name, remarks, title
from app.baselines.reference import as_run
from app.baselines.references import built_in
from app.chart import Chart
from app.comparing.choosing import choose
from app.comparing.comparison import Comparison
from app.comparing.joining import join
from app.comparing.levels import WithinTrials
from app.distributions import Distribution
from app.judging.judging import judged
from app.records import Band, RunRecord, SampleSeries
from app.store import Store
from suites.vocab import Sample


class Gathering:
    """Reads what words mean, as choose() takes them, out of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def chosen(self, words: Sequence[str]) -> list[tuple[RunRecord, ...]]:
        """Return the runs that each of `words` means, a published table as a run like those of the other words."""
        pinned = self._pinned(words)
        tables = {word: one.reference for word, one in pinned.items() if one.reference is not None}
        with self._store.loading() as load:
            found = {
                word: tuple(run for part in self._parts(pinned.get(word), word) for run in choose(load, part))
                for word in words
                if word not in tables
            }
        like = [run for runs in found.values() for run in runs]
        return [(as_run(tables[word], pinned[word].word, like),) if word in tables else found[word] for word in words]

    def _pinned(self, words: Sequence[str]) -> dict[str, Baseline]:
        """Return the baselines among `words`; without ``baseline:`` only those that a run's name cannot mean."""
        known = self.baselines()
        parts = [one for one in reversed(known) if one.kind != "run" or one.parts != one.runs]
        named = {name: one for one in parts for name in _names(one)}
        return {
            word: by_name(known, word, tuple) if word.startswith(PREFIX) else named[word]
            for word in words
            if word.startswith(PREFIX) or word in named
        }

    def _parts(self, baseline: Baseline | None, word: str) -> tuple[str, ...]:
        return (word,) if baseline is None else baseline.parts

    def baseline(self, word: str) -> Baseline:
        """Return the baseline that ``NAME`` or ``NAME@VERSION`` means, ``baseline:`` before it or not."""
        return by_name(self._store.baselines(), word, built_in)

    def baselines(self) -> list[Baseline]:
        """Return every version of every baseline, the newest pinned first, then the published tables."""
        return [*self._store.baselines(), *built_in()]

    def record(self, word: str) -> RunRecord:
        """Return a run, or a group of runs as one, without samples."""
        (group,) = self.chosen([word])
        return join(group, {record.summary.id: {} for record in group})[0]

    def joined(self, words: Sequence[str]) -> list[tuple[RunRecord, SampleSeries]]:
        """Return each run, or group of runs as one, with the samples of its trials.

        Together, for a published table is told in the words of the runs beside it.
        """
        return [
            join(group, {record.summary.id: self._samples(record) for record in group}) for group in self.chosen(words)
        ]

    def _samples(self, record: RunRecord) -> SampleSeries:
        return {} if record.published else self._store.samples(record.summary.id)

    def within(self, words: Sequence[str]) -> WithinTrials:
        """Return how the samples within each trial spread."""
        return self._within(self.chosen(words))

    def compare(self, words: Sequence[str], margin: float | None, overruled: str) -> Comparison:
        """Compare what `words` mean with the first of them."""
        from app.comparing.compare import compare

        groups = self.chosen(words)
        found = compare(groups, margin, overruled=overruled, within=self._within(groups))
        return replace(found, notes=tuple(dict.fromkeys([*self._of_baselines(words), *found.notes])))

    def _of_baselines(self, words: Sequence[str]) -> Iterator[str]:
        """Yield what has to be known of the baselines among `words`."""
        for baseline in self._pinned(words).values():
            said = "; ".join(remarks(baseline))
            yield f"Baseline {title(baseline)}{f': {said}' if said else ''}"

    def export_csv(self, words: Sequence[str], path: Path) -> list[Path]:
        """Write the summary to `path` and the tidy samples beside it; return both."""
        from app.export import export_csv

        records = [record for group in self.chosen(words) for record in group if record.published is None]
        ids = {record.summary.id for record in records}
        samples = {run_id: self._store.samples(run_id) for run_id in ids}
        telemetry = {run_id: self._store.telemetry(run_id) for run_id in ids}
        whole = [judged(one, samples[one.summary.id], telemetry[one.summary.id]) for one in records]
        return export_csv(whole, samples, telemetry, path)

    def export_png(self, words: Sequence[str], path: Path, margin: float | None, overruled: str) -> Path:
        """Write the report picture; several sides are compared with the first of them."""
        from app.picture import report_picture

        pairs = self.joined(words)
        telemetry = {record.summary.id: self._telemetry_of(record) for record, _ in pairs}
        records = [
            record if "," in record.summary.id else judged(record, series, telemetry[record.summary.id])
            for record, series in pairs
        ]
        samples = {record.summary.id: series for record, series in pairs}
        comparison = self.compare(words, margin, overruled) if len(words) > 1 else None
        return report_picture(
            records,
            samples,
            telemetry,
            self._bands(records),
            path,
            comparison=comparison,
            distributions=self._distributions(words, comparison),
            charts=self._charts(records, samples),
        )

    def _charts(
        self, records: Sequence[RunRecord], samples: Mapping[str, SampleSeries]
    ) -> Mapping[str, Sequence[Chart]]:
        """Return the rounds and heat maps of a run alone, by step; beside others there is no room for them."""
        from app.distributions.heat import last_heats
        from app.rounds import in_report, rounds_charts

        run = records[0].summary.id
        if len(records) > 1 or "," in run or records[0].published is not None:
            return {}
        heats = last_heats(records[0], lambda trial: self._store.output(run, trial))
        return in_report(rounds_charts(records[0], samples.get(run, {})), heats)

    def _distributions(self, words: Sequence[str], comparison: Comparison | None) -> list[Distribution]:
        """Return the distributions that a picture of a comparison shows."""
        from app.distributions.describing import Describing

        return [] if comparison is None else Describing(self._store).pictured(words, comparison.rows)

    def _within(self, groups: Sequence[Sequence[RunRecord]]) -> WithinTrials:
        return self._store.within([record.summary.id for group in groups for record in group])

    def _telemetry_of(self, record: RunRecord) -> Mapping[str, tuple[Sample, ...]]:
        """Return the telemetry of the runs that `record` was joined from, one after the other."""
        found: dict[str, tuple[Sample, ...]] = {}
        for run_id in () if record.published else record.summary.id.split(","):
            for host, samples in self._store.telemetry(run_id).items():
                found[host] = found.get(host, ()) + samples
        return found

    def _bands(self, records: Sequence[RunRecord]) -> list[Band]:
        """Return the bands of the baselines that are not shown themselves."""
        own = {run_id for record in records for run_id in record.summary.id.split(",")}
        plan, facts = records[0].plan, records[0].facts_before
        bands = (
            band
            for step in plan.steps
            for host in plan.hosts
            for band in self._store.bands(step, host, facts.get(host))
        )
        return [band for band in bands if not own.intersection(band.run_id.split(","))]


def _names(baseline: Baseline) -> tuple[str, ...]:
    """Return the words that mean a baseline without saying that it is one."""
    whole = f"{baseline.name}@{baseline.version}"
    return (whole, baseline.name) if baseline.newest else (whole,)
