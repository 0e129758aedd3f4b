"""Calibrations in the store: kept, found, forgotten."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from app.calibration.calibration import Calibration, applying
from app.calibration.to_json import calibration_from_json, calibration_to_json
from app.plans.plan import Plan
from app.store import schema
from app.store.rows import storable, to_text
from suites.facts import Facts


def keep(connection: Connection, found: Calibration) -> None:
    """Keep a calibration; an older one of the same host and suite stays, and no longer counts."""
    row = {"host": found.host, "suite": found.suite, "made": found.made}
    content = to_text(calibration_to_json(found))
    connection.execute(insert(schema.calibrations).values(storable({**row, "content": content})))


def calibrations(connection: Connection, hosts: Sequence[str] | None = None) -> tuple[Calibration, ...]:
    """Return the calibrations of `hosts`, or all, the newest first. Raises FormatError for one that is damaged."""
    table = schema.calibrations
    query = select(table.c.content).order_by(table.c.made.desc(), table.c.id.desc())
    if hosts is not None:
        query = query.where(table.c.host.in_(hosts))
    return tuple(calibration_from_json(json.loads(content)) for content in connection.execute(query).scalars())


def of_run(connection: Connection, plan: Plan, facts: dict[str, Facts], started: str) -> tuple[Calibration, ...]:
    """Return the calibrations that speak of the suites of a run on its hosts as they were then."""
    known = calibrations(connection, plan.hosts)
    if not known:
        return ()
    places = {(host, step.suite_id) for step in plan.steps for host in plan.hosts}
    found = (applying(known, host, suite, facts.get(host), started) for host, suite in sorted(places))
    return tuple(one for one in found if one is not None)


def forget(connection: Connection, host: str) -> int:
    """Forget the calibrations of a host; return how many there were. Their runs stay."""
    return connection.execute(delete(schema.calibrations).where(schema.calibrations.c.host == host)).rowcount
