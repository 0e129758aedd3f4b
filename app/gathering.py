"""Runs and groups of runs, read together: for a comparison, a picture, a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from app.choosing import choose
from app.comparison import Comparison
from app.joining import join
from app.levels import WithinTrials
from app.records import Band, RunRecord, SampleSeries
from app.store import Store
from suites.vocab import Sample


class Gathering:
    """Reads what words mean, as choose() takes them, out of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def chosen(self, words: Sequence[str]) -> list[tuple[RunRecord, ...]]:
        """Return the runs that each of `words` means."""
        with self._store.loading() as load:
            return [choose(load, word) for word in words]

    def joined(self, word: str) -> tuple[RunRecord, SampleSeries]:
        """Return a run, or a group of runs as one, with the samples of its trials."""
        (group,) = self.chosen([word])
        return join(group, {record.summary.id: self._store.samples(record.summary.id) for record in group})

    def within(self, words: Sequence[str]) -> WithinTrials:
        """Return how the samples within each trial spread."""
        return self._within(self.chosen(words))

    def compare(self, words: Sequence[str], margin: float, overruled: str) -> Comparison:
        """Compare what `words` mean with the first of them."""
        from app.compare import compare

        groups = self.chosen(words)
        return compare(groups, margin, overruled=overruled, within=self._within(groups))

    def export_csv(self, words: Sequence[str], path: Path) -> list[Path]:
        """Write the summary to `path` and the tidy samples beside it; return both."""
        from app.export import export_csv

        records = [record for group in self.chosen(words) for record in group]
        ids = {record.summary.id for record in records}
        samples = {run_id: self._store.samples(run_id) for run_id in ids}
        telemetry = {run_id: self._store.telemetry(run_id) for run_id in ids}
        return export_csv(records, samples, telemetry, path)

    def export_png(self, words: Sequence[str], path: Path, margin: float, overruled: str) -> Path:
        """Write the report picture; several sides are compared with the first of them."""
        from app.picture import report_picture

        pairs = [self.joined(word) for word in words]
        records = [record for record, _ in pairs]
        samples = {record.summary.id: series for record, series in pairs}
        telemetry = {record.summary.id: self._telemetry_of(record) for record in records}
        comparison = self.compare(words, margin, overruled) if len(words) > 1 else None
        return report_picture(records, samples, telemetry, self._bands(records), path, comparison=comparison)

    def _within(self, groups: Sequence[Sequence[RunRecord]]) -> WithinTrials:
        return self._store.within([record.summary.id for group in groups for record in group])

    def _telemetry_of(self, record: RunRecord) -> Mapping[str, tuple[Sample, ...]]:
        """Return the telemetry of the runs that `record` was joined from, one after the other."""
        found: dict[str, tuple[Sample, ...]] = {}
        for run_id in record.summary.id.split(","):
            for host, samples in self._store.telemetry(run_id).items():
                found[host] = found.get(host, ()) + samples
        return found

    def _bands(self, records: Sequence[RunRecord]) -> list[Band]:
        """Return the bands of the baselines that are not shown themselves."""
        own = {run_id for record in records for run_id in record.summary.id.split(",")}
        plan = records[0].plan
        bands = (band for step in plan.steps for host in plan.hosts for band in self._store.bands(step, host))
        return [band for band in bands if band.run_id not in own]
