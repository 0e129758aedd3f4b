"""Verdicts that a later version of the checks replaces: those to judge again, those replaced, what changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select, update

from app.events import FindingRaised, State
from app.records import Recall, RunRecord
from app.store import run_summaries, schema, stored_evidence
from app.store.rows import raised_row, recalls, storable, verdict_of, verdict_row
from app.timestamps import now
from suites.verdict import Verdict


@dataclass(frozen=True, slots=True)
class NewVerdicts:
    """The verdicts of a later version of the checks on the run of `record`, all its findings, and what changed."""

    record: RunRecord
    verdicts: tuple[Verdict, ...]
    raised: tuple[FindingRaised, ...]
    recall: Recall | None

    @property
    def differ(self) -> bool:
        """Whether any of them is not as stored."""
        return set(map(_place, self.record.verdicts)) != set(map(_place, self.verdicts)) or any(
            self.record.verdict_on(one.step, one.host) != one for one in self.verdicts
        )


def _place(verdict: Verdict) -> tuple[str | None, str | None]:
    return verdict.step, verdict.host


def outdated(connection: Connection, version: int) -> list[str]:
    """Return the ended runs without a verdict, or with one of a version of the checks before `version`, newest first.

    An imported run whose file is not stored, as in a redacted export, is left out: it cannot be judged again. So is one
    that these checks, or later ones, could not judge.
    """
    runs, verdicts, imported = schema.runs.c, schema.verdicts.c, schema.imported_outputs.c
    kept = schema.unjudged.c
    older = select(verdicts.run_id).where(verdicts.checks < version)
    without = select(imported.run_id).where(func.length(imported.content) == 0)
    query = select(runs.id).where(
        runs.state != State.RUNNING.value,
        runs.id.in_(older) | runs.id.not_in(select(verdicts.run_id)),
        runs.id.not_in(without),
        runs.id.not_in(select(kept.run_id).where(kept.checks >= version)),
    )
    return list(connection.execute(query.order_by(runs.started.desc(), runs.id.desc())).scalars())


def replace_verdicts(connection: Connection, found: NewVerdicts, version: int) -> bool:
    """Store verdicts of `version`, and keep those that they replace; return False if the run has changed meanwhile.

    So it has if it was deleted, is recorded again, or was judged by another process, or if the notice of what the
    checks before changed was dismissed.
    """
    run, runs, table = found.record.summary.id, schema.runs.c, schema.verdicts
    state = connection.execute(select(runs.state).where(runs.id == run)).scalar()
    query = select(table).where(table.c.run_id == run).order_by(table.c.id)
    rows = [row._asdict() for row in connection.execute(query)]
    stored = tuple(verdict_of(row) for row in rows)
    before = found.record.verdicts
    as_read = stored == before and [one.checks for one in stored] == [one.checks for one in before]
    if state in {None, State.RUNNING.value} or not as_read or recalls(connection, run).get(run) != found.record.recall:
        return False
    connection.execute(delete(schema.unjudged).where(schema.unjudged.c.run_id == run))
    if not found.differ:
        connection.execute(update(table).where(table.c.run_id == run).values(checks=version))
        return True
    moment = now()
    for row, verdict in zip(rows, stored, strict=True):
        if verdict not in found.verdicts:
            kept = {name: value for name, value in row.items() if name != "id"}
            connection.execute(insert(schema.earlier_verdicts).values({**kept, "replaced": moment}))
    connection.execute(delete(table).where(table.c.run_id == run))
    for verdict in found.verdicts:
        connection.execute(insert(table), storable(verdict_row(run, verdict)))
    connection.execute(delete(schema.findings).where(schema.findings.c.run_id == run))
    for raised in found.raised:
        connection.execute(insert(schema.findings), storable(raised_row(run, raised)))
    _write_recall(connection, run, found.recall)
    run_summaries.write(connection, run)
    stored_evidence.write(connection, [run])
    return True


def keep_verdicts(connection: Connection, reasons: Mapping[str, str], version: int) -> None:
    """Store why the checks of a `version` cannot judge runs again, by run; those deleted meanwhile are left out."""
    table, runs = schema.unjudged, schema.runs.c
    for run in connection.execute(select(runs.id).where(runs.id.in_(reasons))).scalars().all():
        connection.execute(delete(table).where(table.c.run_id == run))
        connection.execute(insert(table).values(run_id=run, checks=version, reason=reasons[run]))


def unjudged(connection: Connection, version: int) -> dict[str, str]:
    """Return why the checks of a `version`, or later ones, could not judge runs again, by run."""
    table = schema.unjudged.c
    query = select(table.run_id, table.reason).where(table.checks >= version).order_by(table.run_id)
    return {str(run): str(reason) for run, reason in connection.execute(query)}


def _write_recall(connection: Connection, run: str, recall: Recall | None) -> None:
    table = schema.recalls
    connection.execute(delete(table).where(table.c.run_id == run))
    if recall is not None:
        row = {
            "run_id": run, "was": recall.was, "now": recall.now, "reason": recall.reason, "checks": recall.checks,
            "replaced": recall.replaced, "dismissed": recall.dismissed,
        }  # fmt: skip
        connection.execute(insert(table), storable(row))


def dismiss_recalls(connection: Connection, runs: Sequence[str]) -> None:
    """Record that the user closed the notice of what changed in runs."""
    table, moment = schema.recalls, now()
    for run in runs:
        connection.execute(update(table).where(table.c.run_id == run).values(dismissed=moment))
