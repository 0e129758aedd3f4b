"""A library with redacted copies of runs, from which every export is made."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from app.hosts.hosts import HostEntry
from app.library_rows import NO_ANNOTATION, Annotation
from app.outputs.pasted_text import decoded
from app.records import RunRecord
from app.sharing.ordinary_words import UTILITIES
from app.sharing.preview import KeptText, RedactionPreview, kept_texts, unknown_words
from app.sharing.redaction import Redaction
from app.store.run_transfer import RowChange
from app.store.store import Store
from suites import registry
from suites.quantities import count_text


class Keep(StrEnum):
    """Texts that a redacted export has only on request; the values in them that identify are replaced nevertheless."""

    TEXTS = "texts"  # the user's own titles, questions, notes, tags and reasons
    IMPORTED = "imported"  # the text of imported outputs


def redacted_copy(
    store: Store,
    runs: Sequence[str],
    hosts: Sequence[HostEntry],
    path: Path,
    keep: Collection[Keep] = (),
    *,
    texts: Sequence[str] = (),
) -> Redaction:
    """Write redacted copies of finished runs to a new library at `path`; return what was replaced. Raises StoreError.

    `texts` are others about the runs, whose addresses, accounts and paths are replaced too.

    The values of all runs are collected before the first is written, so that they are replaced in each.
    """
    redaction = Redaction(texts=Keep.TEXTS in keep)
    annotations = _annotations(store)
    free = frozenset(key for each in registry.output_formats() for key in each.free_text)
    programs = {*UTILITIES, *(name for suite in registry.readable() for name in suite.program.names)}
    for record in map(store.load, runs):
        redaction.add_record(record, annotations.get(record.summary.id, NO_ANNOTATION), hosts)
        run = record.summary.id
        series = [*store.samples(run).values(), *store.telemetry(run).values()]
        labels = {pair for samples in series for sample in samples for pair in sample.labels}
        with redaction.origin("label"):
            redaction.add_labels(sorted(labels))
        with redaction.origin("imported text"):
            imported = decoded(store.imported_content(run))  # with prompts, which name users and hosts
            redaction.add_prompts(imported, programs)
            redaction.add_named(imported)
            redaction.add_output(imported, free)
            redaction.add_text(imported)
        with redaction.origin("raw output"):
            for trial in record.trials:
                for data in store.output(run, trial.trial.id).values():
                    redaction.add_output(data.decode("utf-8", "replace"), free)
    with redaction.origin("investigation"):
        for text in texts:
            redaction.add_output(text, frozenset())
            redaction.add_text(text)
    redaction.add_this_computer()
    replacement = redaction.replacement
    change = RowChange(replacement.stored, replacement.data, texts=Keep.TEXTS in keep, imported=Keep.IMPORTED in keep)
    for _ in store.export_runs(runs, path, change):
        pass
    return redaction


def preview_of(
    redaction: Redaction, store: Store, copy: Store, runs: Sequence[str], keep: Collection[Keep]
) -> RedactionPreview:
    """Return what `redaction` replaced and left out in the `copy` of `runs` of `store`, and the texts that stay."""
    annotations = _annotations(copy)
    records = [copy.load(run) for run in runs]
    texts = [one for record in records for one in kept_texts(record, annotations.get(record.summary.id, NO_ANNOTATION))]
    texts += [KeptText("investigation", text) for one in copy.investigations() for text in one.texts if text]
    left_out = [text for run in runs for text in _left_out(store, store.load(run), keep)]
    return RedactionPreview(
        redaction.replaced(),
        tuple(dict.fromkeys(left_out)),
        redaction.ordinary(),
        tuple(dict.fromkeys(texts)),
        unknown_words(_outputs(copy, records)),
    )


def _annotations(store: Store) -> Mapping[str, Annotation]:
    return {row.id: row.annotation for row in store.library().rows}


def _outputs(store: Store, records: Sequence[RunRecord]) -> Iterator[str]:
    for record in records:
        for trial in record.trials:
            for data in store.output(record.summary.id, trial.trial.id).values():
                yield data.decode("utf-8", "replace")


def _left_out(store: Store, record: RunRecord, keep: Collection[Keep]) -> Iterator[str]:
    """Yield what a copy of a run lacks as a whole."""
    annotation = _annotations(store).get(record.summary.id, NO_ANNOTATION)
    if Keep.TEXTS not in keep:
        own = {"run name": annotation.name, "note": annotation.note, "tags": annotation.tags}
        yield from (name for name, text in own.items() if text)
    if record.summary.id in store.kept() and store.kept()[record.summary.id].startswith("locked"):
        yield "reason of the lock"
    if record.read_from is not None:
        lines = count_text(len(decoded(store.imported_content(record.summary.id)).splitlines()), "line")
        yield f"the file that was imported, {lines}"
        if Keep.IMPORTED not in keep:
            yield "the output in it, which may have any text of others between its lines"
