"""What somebody says of the findings of a run that is stored: it is kept with the plan that it ran."""

import json
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, select, update

from app.formats import FormatError, plan_from_json, plan_to_json
from app.plans.plan_remarks import Acknowledged, with_reason
from app.store import schema
from app.store.errors import StoreError
from app.store.rows import to_text

_KEY = "acknowledged"


def acknowledge(connection: Connection, run_id: str, given: Sequence[Acknowledged]) -> None:
    """Write into the plan of a run which of its findings may stand, and why; one without a reason is taken back.

    Only that part of the stored plan is written, and the hash of a plan does not count it. Raises StoreError where
    the plan cannot be read.
    """
    runs = schema.runs.c
    text = connection.execute(select(runs.plan).where(runs.id == run_id)).scalar_one()
    try:
        stored = json.loads(text)
        plan = plan_from_json(stored)
    except (FormatError, ValueError) as error:
        raise StoreError(
            f"The run {run_id} cannot be read: {error}", "The library is damaged; restore a copy."
        ) from error
    for each in given:
        plan = replace(plan, acknowledged=with_reason(plan.acknowledged, each))
    written = {name: value for name, value in plan_to_json(plan).items() if name in {"format", _KEY}}
    kept = {name: value for name, value in stored.items() if name != _KEY}
    connection.execute(update(schema.runs).where(runs.id == run_id).values(plan=to_text({**kept, **written})))
