"""A library as large as wanted: some runs are recorded, the others are their rows with other ids, times and values."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from sqlalchemy import Connection, insert, select

from app.checks.version import CHECKS_VERSION
from app.events import FactsRead, Moment, RunEnded, RunStarted, State, TrialEnded, TrialStarted, VerdictReached
from app.library_location import Location
from app.library_rows import Annotation
from app.plans.plan import Plan, Repetition, Step
from app.store import schema
from app.store.opening import database_of
from app.store.store import Store
from suites.facts import Facts
from suites.outputs import ParsedTrial
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Figure
from tests.app import run_events
from tests.app.run_events import IOPS, P99, READ, trial
from tests.remote.test_facts_captured import captured, facts_of

HOSTS = ("web-1", "web-2", "db-1", "db-2", "build-7")
TYPES = ("c7i.2xlarge", "m5.large", "m7g.xlarge", "i4i.large", "t3.medium")
MODES = ("randread", "randwrite", "read", "write")
DEPTHS = (1, 4, 32, 64)
TRUSTS = (Trust.VALID, Trust.VALID, Trust.CAVEATS, Trust.DOUBTFUL)
LIMITERS = (Limiter.DEVICE, Limiter.PROVISIONED, Limiter.QUEUE_DEPTH, Limiter.CPU)
TAGS = ("before", "after", "nightly", "release 4.2")
TRIALS = 6
START = datetime(2026, 11, 26, 9, tzinfo=UTC)


def make_library(location: Location, runs: int, recorded: int = 80, seed: int = 1) -> None:
    """Create a library of `runs` runs of fio on five hosts, one an hour until START; the first are `recorded`."""
    store = Store(location)
    templates = [
        _record(store, number, host, mode, depth)
        for number, (mode, depth, host) in enumerate(product(MODES, DEPTHS, HOSTS))
        if number < min(runs, recorded)
    ]
    store.pin("nightly", [(templates[-1], "")])
    database = database_of(location)
    chance = random.Random(seed)
    with database.writing() as connection:
        _copy_runs(connection, templates, runs - len(templates), chance)
    rows = store.library().rows
    store.annotate(
        {
            row.id: Annotation("", "kernel parameter under test" if number % 3 else "", (chance.choice(TAGS),), None)
            for number, row in enumerate(rows[3::11])
        }
    )
    store.close()
    database.close()


def _record(store: Store, number: int, host: str, mode: str, depth: int) -> str:
    """Record a run of one step."""
    at = HOSTS.index(host)
    run = f"20261126-{number:06d}-tmpl"
    step = Step(f"{mode} 4k qd{depth}", "fio", {"rw": mode, "block_size": 4096, "iodepth": depth})
    plan = Plan(f"fio {step.name}", (host,), (step,), "", Repetition(TRIALS))
    began = START - timedelta(minutes=number)
    rate = 4000.0 * (1 + at) * depth**0.6
    with store.recorder(run) as recorder:
        recorder.record(RunStarted(run, plan, began.isoformat()))
        recorder.record(FactsRead(host, Moment.BEFORE, _facts(host, TYPES[at])))
        for one in range(1, TRIALS + 1):
            value = rate * (1 + 0.004 * (one - 3))
            recorder.record(TrialStarted(trial(one, host=host, step=step.name), 10.0))
            recorder.record(TrialEnded(one, State.DONE, 0, ParsedTrial(_figures(value, depth), ())))
        whole = Verdict(TRUSTS[number % 4], LIMITERS[number % 4], "Summary.", (run_events.FINDING,) * (number % 3 == 0))
        whole = replace(whole, checks=CHECKS_VERSION)
        recorder.record(VerdictReached(replace(whole, step=step.name, host=host)))
        recorder.record(VerdictReached(whole))
        recorder.record(RunEnded(run, State.DONE))
    return run


def _facts(host: str, kind: str) -> Facts:
    facts = facts_of(captured("aws-c7i"))
    return replace(facts, host=host, cloud=replace(facts.cloud, instance_type=kind))


def _figures(rate: float, depth: int) -> tuple[Figure, ...]:
    """Return the figures of a trial: as many as fio's."""
    unit = 1e6 * depth / rate
    others = [
        Figure(replace(P99, name=f"latency_p{at}", title=f"Latency, {at}", percentile=float(at)), share * unit, READ)
        for at, share in ((50, 0.8), (90, 1.4), (95, 1.9))
    ]
    return (Figure(IOPS, rate, READ), Figure(P99, 2.5 * unit, READ), *others)


COPIED = (
    schema.runs, schema.trials, schema.figures, schema.facts, schema.verdicts, schema.run_summaries, schema.run_metrics,
)  # fmt: skip


def _copy_runs(connection: Connection, templates: Sequence[str], number: int, chance: random.Random) -> None:
    """Add copies of the recorded runs."""
    rows = {run: {table: _rows(connection, table, run) for table in COPIED} for run in templates}
    batches: dict[Any, list[dict[str, Any]]] = {table: [] for table in COPIED}
    for copy in range(number):
        run = templates[copy % len(templates)]
        began = START - timedelta(hours=1 + copy)
        new = f"{began:%Y%m%d-%H%M%S}-{copy:05d}"
        factor = chance.lognormvariate(0.0, 0.02) * (1 + 0.1 * (copy % 7 == 0))
        times = {"started": began.isoformat(), "ended": (began + timedelta(minutes=4)).isoformat()}
        for table in COPIED:
            batches[table] += [_copied(table, row, new, times, factor) for row in rows[run][table]]
    for table, made in batches.items():
        for at in range(0, len(made), 5000):
            connection.execute(insert(table), made[at : at + 5000])


def _rows(connection: Connection, table: Any, run: str) -> list[dict[str, Any]]:
    key = table.c.id if table is schema.runs else table.c.run_id
    return [dict(row) for row in connection.execute(select(table).where(key == run)).mappings()]


def _copied(table: Any, row: dict[str, Any], new: str, times: dict[str, str], factor: float) -> dict[str, Any]:
    made = {**row, ("id" if table is schema.runs else "run_id"): new}
    if table in {schema.runs, schema.run_summaries}:
        made |= times
    if table is not schema.trials and table is not schema.runs and "id" in made:
        del made["id"]
    for name in ("value", "half"):
        if made.get(name) is not None:
            made[name] *= factor
    return made
