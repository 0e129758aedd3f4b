"""A library with redacted copies of runs, from which every export is made."""

from collections.abc import Sequence
from pathlib import Path

from app.hosts.hosts import HostEntry
from app.library_rows import NO_ANNOTATION
from app.outputs.pasted_text import decoded
from app.sharing.redaction import Redaction
from app.store.run_transfer import RowChange
from app.store.store import Store


def redacted_copy(
    store: Store, runs: Sequence[str], hosts: Sequence[HostEntry], path: Path, texts: Sequence[str] = ()
) -> Redaction:
    """Write redacted copies of finished runs to a new library at `path`; return what was replaced. Raises StoreError.

    `texts` are others about the runs, whose addresses, accounts and paths are replaced too.

    The values of all runs are collected before the first is written, so that they are replaced in each.
    """
    annotations = {row.id: row.annotation for row in store.library().rows}
    redaction = Redaction()
    for record in map(store.load, runs):
        redaction.add_record(record, annotations.get(record.summary.id, NO_ANNOTATION), hosts)
        run = record.summary.id
        series = [*store.samples(run).values(), *store.telemetry(run).values()]
        labels = {value for samples in series for sample in samples for _, value in sample.labels}
        redaction.add_labels(sorted(labels))
        if imported := decoded(store.imported_content(run)):  # with prompts, which name users and hosts
            redaction.add_output(imported)
            redaction.add_text(imported)
            for trial in record.trials:
                for command in trial.trial.commands:
                    redaction.add_command(command.argv)
        for trial in record.trials:
            for data in store.output(run, trial.trial.id).values():
                redaction.add_output(data.decode("utf-8", "replace"))
    for text in texts:
        redaction.add_output(text)
        redaction.add_text(text)
    redaction.add_this_computer()
    replacement = redaction.replacement
    for _ in store.export_runs(runs, path, RowChange(replacement.stored, replacement.data)):
        pass
    return redaction
