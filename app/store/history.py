"""What a history needs of many runs, read as rows: a library may hold a thousand of them."""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from app.events import Moment, State
from app.formats import facts_from_json, plan_from_json
from app.history.history import HistoryRow
from app.plans.plan import Plan
from app.store import schema
from app.store.reading import metrics_by_id, read_labels
from suites.facts import Facts
from suites.vocab import Labels


def rows(connection: Connection, hosts: Sequence[str], metric: str) -> list[HistoryRow]:
    """Return every figure of `metric` on `hosts`, of trials that count, in the order in which their runs began."""
    runs, trials, figures = schema.runs.c, schema.trials.c, schema.figures.c
    known = {number: one for number, one in metrics_by_id(connection).items() if one.name == metric}
    query = (
        select(
            runs.id, runs.started, runs.plan_hash, trials.host, trials.step, trials.tool_version, figures.metric,
            figures.labels, figures.value,
        )
        .join(schema.trials, (trials.run_id == figures.run_id) & (trials.id == figures.trial))
        .join(schema.runs, runs.id == figures.run_id)
        .where(
            figures.metric.in_(known),
            trials.host.in_(hosts),
            trials.warm_up.is_(False),
            trials.state == State.DONE.value,
        )
        .order_by(runs.started, runs.id, figures.id)
    )  # fmt: skip
    labels: dict[str, Labels] = {}
    found = []
    for run, started, plan, host, step, version, number, text, value in connection.execute(query):
        if text not in labels:
            labels[text] = read_labels(text)
        found.append(HistoryRow(run, started, plan, host, step, version, known[number], labels[text], value))
    return found


def plans(connection: Connection, found: Sequence[HistoryRow]) -> Mapping[str, Plan]:
    """Return the plans behind some figures by their hash, each read once."""
    runs = schema.runs.c
    one_of_each = {row.plan: row.run for row in found}
    chosen = select(runs.plan_hash, runs.plan).where(runs.id.in_(one_of_each.values()))
    return {plan_hash: plan_from_json(json.loads(text)) for plan_hash, text in connection.execute(chosen)}


def facts(connection: Connection, run_id: str, hosts: Sequence[str]) -> tuple[Facts, ...]:
    """Return the facts that a run read of `hosts` before it measured."""
    table = schema.facts.c
    query = select(table.content).where(
        table.run_id == run_id, table.moment == Moment.BEFORE.value, table.host.in_(hosts)
    )
    return tuple(facts_from_json(json.loads(content)) for content in connection.execute(query).scalars())
