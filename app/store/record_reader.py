"""Reading of run records: many runs together, with one query per table."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import Column, Connection, Row, RowMapping, Select, Table, select

from app.detached_runs import DetachedRun
from app.events import Moment, OutputSource, State, Trial
from app.formats import FormatError, by_host_from_json, command_from_json, plan_from_json, stored_facts_reader
from app.records import EarlierVerdict, Recall, RunRecord, RunSummary, TrialRecord
from app.store import baselines, host_log, run_reader, schema
from app.store.errors import unreadable_run
from app.store.rows import recalls, verdict_of
from suites.facts import Facts
from suites.vocab import Figure, Finding, Labels, Metric, Severity

CHUNK = 200
"""Runs read together: a query per table for each costs little, and their rows take some megabytes."""

DECODED = 512
"""Most contents of each kind that are kept decoded: runs of one plan share it, and often their facts and commands."""


def record(connection: Connection, run_id: str) -> RunRecord:
    """Return the run `run_id` without samples and raw output. Raises StoreError for a damaged one."""
    reader = RecordReader(connection)
    return reader.record(reader.rows([run_id]), run_id)


def loader(connection: Connection, expected: Sequence[str]) -> Callable[[str], RunRecord]:
    """Return a reader of runs by the names of run_reader.find(); those whose ids are `expected` are read together."""
    reader = RecordReader(connection)
    ids = list(dict.fromkeys(expected))
    chunk_of = {run: at // CHUNK for at, run in enumerate(ids)}

    @lru_cache(maxsize=1)
    def rows(chunk: int) -> "RunRows":
        return reader.rows(ids[chunk * CHUNK : (chunk + 1) * CHUNK])

    def load(run: str) -> RunRecord:
        if run in chunk_of and run in (found := rows(chunk_of[run])).runs:
            return reader.record(found, run)
        return record(connection, run_reader.find(connection, run))

    return load


def detached_run(connection: Connection, run_id: str) -> DetachedRun:
    """Return the run as a detached run."""
    table = schema.runs.c
    query = select(table.started, table.touched, table.left_at).where(table.id == run_id)
    started, touched, left_at = connection.execute(query).one()
    return DetachedRun(
        record=record(connection, run_id),
        since=left_at or touched or started,
        by_choice=left_at is not None,
        jobs=host_log.jobs(connection, run_id),
        workspaces=host_log.workspaces(connection, run_id),
    )


_Found = Mapping[str, Sequence[Row[Any]]]
"""The rows of a table by run."""


@dataclass(frozen=True, slots=True)
class RunRows:
    """The rows of some runs."""

    runs: Mapping[str, RowMapping]
    summaries: Mapping[str, RunSummary]
    imported: Mapping[str, OutputSource]
    facts: _Found
    trials: _Found
    figures: _Found
    findings: _Found
    changes: _Found
    verdicts: _Found
    earlier: _Found
    annotations: _Found


class RecordReader:
    """Reader of run records from one snapshot of the library; decodes a content that several runs share once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._plan = _decoding(plan_from_json)
        self._facts = stored_facts_reader()
        self._commands = _decoding(lambda found: tuple(command_from_json(command) for command in found))
        self._labels: Callable[[str], Labels] = lru_cache(DECODED)(run_reader.read_labels)
        self._calibrations = lru_cache(DECODED)(lambda hosts: baselines.calibrations(connection, hosts))

    def rows(self, run_ids: Sequence[str]) -> RunRows:
        """Return the rows of `run_ids`; ids of no run are left out."""
        runs, facts = schema.runs.c, schema.facts
        columns = (runs.id, runs.plan, runs.plan_hash, runs.program_version, runs.reason)
        query = select(*columns, runs.telemetry_cost, runs.telemetry_program).where(runs.id.in_(run_ids))
        ordered = (
            schema.trials, schema.figures, schema.findings, schema.changes, schema.verdicts, schema.earlier_verdicts,
            schema.annotations,
        )  # fmt: skip
        return RunRows(
            {row["id"]: row for row in self._connection.execute(query).mappings()},
            {one.id: one for one in run_reader.summaries(self._connection, run_ids)},
            self._sources(run_ids),
            self._by_run(facts, facts.c.host, run_ids),
            *(self._by_run(table, table.c.get("id", table.c.run_id), run_ids) for table in ordered),
        )

    def record(self, rows: RunRows, run_id: str) -> RunRecord:
        """Return one of the runs of `rows`. Raises StoreError for a damaged one."""
        run = rows.runs[run_id]
        try:
            plan = self._plan(run["plan"])
            before, after = (self._facts_of(rows, run_id, moment) for moment in (Moment.BEFORE, Moment.AFTER))
            findings = rows.findings[run_id]
            return RunRecord(
                rows.summaries[run_id],
                plan,
                run["plan_hash"],
                run["program_version"],
                run["reason"],
                before,
                after,
                self._trials(rows, run_id),
                tuple(_finding(row) for row in findings),
                by_host_from_json(run["telemetry_cost"], float, "The cost of telemetry"),
                host_log.changes(rows.changes[run_id]),
                tuple(verdict_of(row._asdict()) for row in rows.verdicts[run_id]),
                tuple(row.trial for row in findings),
                tuple(_finite(row.clock) for row in findings),
                self._calibrations(plan.hosts),
                read_from=rows.imported.get(run_id),
                telemetry_program=_programs(run["telemetry_program"]),
                finding_checks=tuple(row.checks for row in findings),
                earlier=tuple(
                    EarlierVerdict(verdict_of(row._asdict()), row.replaced) for row in reversed(rows.earlier[run_id])
                ),
                recall=self._recalls.get(run_id),
                unjudged=self._unjudged.get(run_id, ""),
                note="".join(row.note for row in rows.annotations[run_id]),
                tags=tuple(tag for row in rows.annotations[run_id] for tag in json.loads(row.tags)),
            )
        except (FormatError, ValueError, TypeError, KeyError) as error:  # malformed JSON, unknown enum values
            raise unreadable_run(run_id, error) from error

    def _sources(self, run_ids: Sequence[str]) -> Mapping[str, OutputSource]:
        table = schema.imported_outputs.c
        query = select(table.run_id, table.name, table.sha256).where(table.run_id.in_(run_ids))
        return {row.run_id: OutputSource(row.name, row.sha256) for row in self._connection.execute(query)}

    def _by_run(self, table: Table, order: Column[Any], run_ids: Sequence[str]) -> _Found:
        found: dict[str, list[Row[Any]]] = defaultdict(list)
        query: Select[Any] = select(table).where(table.c.run_id.in_(run_ids)).order_by(order)
        for row in self._connection.execute(query):
            found[row.run_id].append(row)
        return found

    @cached_property
    def _recalls(self) -> Mapping[str, Recall]:
        return recalls(self._connection)

    @cached_property
    def _unjudged(self) -> Mapping[str, str]:
        table = schema.unjudged.c
        return {run: str(reason) for run, reason in self._connection.execute(select(table.run_id, table.reason))}

    @cached_property
    def _metrics(self) -> Mapping[int, Metric]:
        return run_reader.metrics_by_id(self._connection)

    def _facts_of(self, rows: RunRows, run_id: str, moment: Moment) -> dict[str, Facts]:
        return {row.host: self._facts(row.content) for row in rows.facts[run_id] if row.moment == moment.value}

    def _trials(self, rows: RunRows, run_id: str) -> tuple[TrialRecord, ...]:
        figures: dict[int, list[Figure]] = defaultdict(list)
        for row in rows.figures[run_id]:
            figures[row.trial].append(Figure(self._metrics[row.metric], row.value, self._labels(row.labels)))
        return tuple(self._trial(row, figures.get(row.id, ())) for row in rows.trials[run_id])

    def _trial(self, row: Row[Any], figures: Sequence[Figure]) -> TrialRecord:
        trial = Trial(
            row.id,
            row.host,
            row.step,
            row.number,
            row.warm_up,
            self._commands(row.commands),
            row.started,
            _finite(row.clock),
            row.tool_version,
            _finite(row.peer_clock),
        )
        notes = tuple(json.loads(row.notes))
        return TrialRecord(
            trial, State(row.state), row.ended, row.exit_status, tuple(figures), notes, row.reason,
            _finite(row.origin), _finite(row.ended_clock),
        )  # fmt: skip


def _decoding(read: Callable[[Any], Any]) -> Callable[[str], Any]:
    """Return a cached reader of JSON texts."""
    return lru_cache(DECODED)(lambda text: read(json.loads(text)))


def _programs(text: str) -> Mapping[str, str]:
    """Return the telemetry program of each host: SHA-256, or "script"."""
    found = by_host_from_json(text, str, "The telemetry program")
    if not all(program == "script" or re.fullmatch(r"[0-9a-f]{64}", program) for program in found.values()):
        raise FormatError("The telemetry program is neither a SHA-256 nor “script”.")
    return found


def _finite(value: object) -> float | None:
    """Return a number of a column; raise ValueError for text and infinities, which SQLite stores in any column."""
    if value is None or (isinstance(value, int | float) and math.isfinite(value)):
        return value
    raise ValueError(f"{str(value)[:60]!r} is not a number")


def _finding(row: Row[Any]) -> Finding:
    return Finding(
        row.check_id, Severity(row.level), row.title, row.measured, row.why, row.remedy, row.source, row.step,
        row.host, json.loads(row.changes), row.install,
    )  # fmt: skip
