"""The trials of a fleet study as rows of a table, with the attributes of their hosts."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.fleet.results import FleetResults
from app.fleet_study import HostRun

TRIAL_COLUMNS = (
    "study", "group", "host", "type", "zone", "image", "price", "currency", "session", "run", "step", "metric",
    "labels", "unit", "better", "trial", "value",
)  # fmt: skip
"""The columns of the CSV file, which has a row for each counted trial."""


def trial_rows(found: FleetResults, host_runs: Sequence[HostRun]) -> Iterator[dict[str, Any]]:
    """Yield a row of TRIAL_COLUMNS for each trial of the metrics of a study; `run` is the run that measured it.

    `trial` is its place among the counted trials of the session, from 1; in a mesh a session has several runs.
    """
    runs: dict[tuple[str, str, bool], list[str]] = {}
    for each in host_runs:
        for host in each.hosts:
            runs.setdefault((host, str(each.session), each.peer is not None), []).append(each.run)
    paired = {step.name for step in found.study.plan.network_steps}
    for one in found.metrics:
        for group, hosts in one.groups.items():
            for host, sessions in hosts.items():
                for session, values in sessions.items():
                    measured = {
                        **_stated(found, host), "study": found.study.id, "group": group, "session": session,
                        "run": " ".join(runs.get((host, session, one.step in paired), ())), "step": one.step,
                        "metric": one.metric.name, "labels": " ".join(f"{key}={text}" for key, text in one.labels),
                        "unit": one.metric.unit, "better": one.metric.better.value,
                    }  # fmt: skip
                    for number, value in enumerate(values, 1):
                        yield {**measured, "trial": number, "value": value}


def _stated(found: FleetResults, host: str) -> dict[str, Any]:
    known = found.study.with_replaced.by_name.get(host)
    stated = None if known is None else known.attributes
    return {
        "host": host,
        "type": "" if stated is None else stated.instance_type,
        "zone": "" if stated is None else stated.zone,
        "image": "" if stated is None else stated.image,
        "price": None if stated is None else stated.price,
        "currency": "" if stated is None else stated.currency,
    }
