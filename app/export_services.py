"""Services that write stored results as files and texts: tables, images, reports, cards, tickets."""

from __future__ import annotations

from abc import ABC
from contextlib import suppress
from typing import TYPE_CHECKING

from app.comparison.criteria import DEFAULT_CRITERIA, ComparisonCriteria
from app.transfer_services import TransferServices
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from app.investigation import Investigation
    from app.records import RunRecord
    from app.sharing.compared_runs import ComparedRuns
    from app.sharing.standing import Standing
    from app.step_results import ResultCard


class ExportServices(TransferServices, ABC):
    """Threads, blocking and errors are as in app.services."""

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
        criteria: ComparisonCriteria = DEFAULT_CRITERIA,
        *,
        kind: str = "png",
    ) -> Path:
        """Write the report image as ``png``, ``pdf`` or ``svg``.

        Several runs are compared as in compare(), and so are the sides of one duet.
        """
        sides = self.duet_sides(runs[0]) if len(runs) == 1 else ()
        return self._selection.export_image(sides or runs, path, self._completed(criteria), kind=kind)

    def export_html(
        self,
        runs: Sequence[str],
        path: Path,
        criteria: ComparisonCriteria = DEFAULT_CRITERIA,
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
        compared = self._compared_runs(runs, criteria)
        return write_whole(path, html_report(records, samples, content, compared, redacted=redacted))

    def export_markdown(
        self,
        runs: Sequence[str],
        path: Path,
        criteria: ComparisonCriteria = DEFAULT_CRITERIA,
    ) -> Path:
        """Write a report in Markdown, for a ticket or a pull request. Raises WriteError.

        Several runs, and the sides of one duet, are compared as in compare().
        """
        from app.output import write_whole
        from app.sharing.markdown_report import markdown_report

        text = markdown_report(self._single_runs(runs), self._compared_runs(runs, criteria))
        return write_whole(path, text.encode("utf-8", "replace"))

    def export_run_json(self, run: str, path: Path) -> Path:
        """Write a run as JSON, as ``show --json`` prints it. Raises WriteError."""
        from app.output import json_text, write_whole
        from app.summary import run_to_json

        record = self.load(run)
        content = run_to_json(record, self.within([run]), self.energy(record))
        return write_whole(path, f"{json_text(content)}\n".encode("utf-8", "replace"))

    def export_card(self, run: str, path: Path) -> Path:
        """Write the picture of the results of a run to `path`. Raises WriteError."""
        from app.output import write_whole

        return write_whole(path, self.result_card(run).picture)

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

    def _single_runs(self, runs: Sequence[str]) -> list[RunRecord]:
        """Return each run of some selectors once; published tables are left out."""
        chosen = [record for group in self._selection.chosen(runs) for record in group if record.published is None]
        return [self.load(run) for run in dict.fromkeys(record.summary.id for record in chosen)]

    def _compared_runs(self, runs: Sequence[str], criteria: ComparisonCriteria) -> ComparedRuns | None:
        """Return the comparison of several runs, or of the sides of one duet; None for any other run."""
        from app.sharing.compared_runs import ComparedRuns

        sides = (self.duet_sides(runs[0]) if len(runs) == 1 else ()) or runs
        if len(sides) < 2:
            return None
        pairs = self._selection.joined(sides)
        comparison = self.compare(sides, criteria)
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
